// Precedence: which messages must wait for which, in compressed sparse rows, and how many each still waits for.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/rows.hpp"

namespace conset {

class Precedence {
public:
    // Message first[k] ends before message second[k] starts; the order must have no cycle.
    Precedence(std::size_t messages, View<const std::int32_t> first, View<const std::int32_t> second) {
        if (first.empty()) return;
        waits_.assign(messages, 0);
        for (const std::int32_t m : second) ++waits_[m];
        successor_.resize(first.size());
        offsets_ = fill_rows<std::int64_t>(
            messages, first.size(), [&](std::size_t k) { return first[k]; },
            [&](std::int64_t at, std::size_t k) { successor_[at] = second[k]; });
    }

    bool empty() const { return waits_.empty(); }
    bool ready(std::integral auto message) const { return waits_.empty() || waits_[message] == 0; }

    // Message is placed: calls visit(successor, whether it is ready now).
    template <class Visit>
    void release(std::integral auto message, Visit&& visit) {
        if (waits_.empty()) return;
        for (std::int64_t k = offsets_[message]; k < offsets_[message + 1]; ++k)
            visit(successor_[k], --waits_[successor_[k]] == 0);
    }

private:
    Array<std::int32_t> waits_, successor_;
    Array<std::int64_t> offsets_;
};

}  // namespace conset
