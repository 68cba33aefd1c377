// Rows: lists of lists in two arrays (compressed sparse rows).
#pragma once

#include <cstdint>
#include <numeric>

#include "conset/array.hpp"

namespace conset {

// Where each of `rows` rows begins, and the last one ends, if entry k of `count` lies in row `row(k)`; a negative row
// is none. O(rows + count).
template <std::signed_integral Index, class RowOf>
Array<Index> row_offsets(std::size_t rows, std::size_t count, RowOf&& row) {
    Array<Index> offsets(rows + 1, 0);
    for (std::size_t k = 0; k < count; ++k)
        if (const auto r = row(k); r >= 0) ++offsets[r + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    return offsets;
}

// The same offsets; calls put(place, k) for every entry in a row, in rising order, so that a row keeps the order of its
// entries.
template <std::signed_integral Index, class RowOf, class Put>
Array<Index> fill_rows(std::size_t rows, std::size_t count, RowOf&& row, Put&& put) {
    Array<Index> offsets = row_offsets<Index>(rows, count, row);
    Array<Index> next(offsets.begin(), offsets.end() - 1);
    for (std::size_t k = 0; k < count; ++k)
        if (const auto r = row(k); r >= 0) put(next[r]++, k);
    return offsets;
}

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
        result.items.resize(count);
        const auto item = [&](std::size_t k) { return order.empty() ? static_cast<std::int32_t>(k) : order[k]; };
        result.offsets = fill_rows<std::int64_t>(
            rows, count, [&](std::size_t k) { return row(item(k)); },
            [&](std::int64_t at, std::size_t k) { result.items[at] = item(k); });
        return result;
    }
};

}  // namespace conset
