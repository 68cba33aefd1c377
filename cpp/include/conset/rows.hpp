// Rows: lists of lists in two arrays (compressed sparse rows).
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

struct Rows {
    Array<std::int64_t> offsets;
    Array<std::int32_t> items;

    bool empty() const { return offsets.empty(); }
    View<const std::int32_t> of(std::int32_t k) const {
        return {items.data() + offsets[k], static_cast<std::size_t>(offsets[k + 1] - offsets[k])};
    }

    // Item k, or order[k] where there is an order, goes into row `row(item)`, in that order.
    template <class RowOf>
    static Rows by(std::size_t rows, std::size_t count, View<const std::int32_t> order, RowOf&& row) {
        Rows result;
        result.offsets.assign(rows + 1, 0);
        for (std::size_t k = 0; k < count; ++k) ++result.offsets[row(static_cast<std::int32_t>(k)) + 1];
        for (std::size_t r = 0; r < rows; ++r) result.offsets[r + 1] += result.offsets[r];
        result.items.resize(count);
        Array<std::int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
        for (std::size_t k = 0; k < count; ++k) {
            const std::int32_t item = order.empty() ? static_cast<std::int32_t>(k) : order[k];
            result.items[next[row(item)]++] = item;
        }
        return result;
    }
};

}  // namespace conset
