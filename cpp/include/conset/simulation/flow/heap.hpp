// FlowHeap: a heap of small integers by a key that may change; ties go to the smaller integer.
#pragma once

#include <cstdint>
#include <utility>

#include "conset/array.hpp"

namespace conset {

// Four children to a node: half the depth of a binary heap, and a node's children lie in one or two cache lines.
class FlowHeap {
public:
    bool empty() const { return heap_.empty(); }
    std::int32_t top() const { return heap_[0].second; }
    double top_key() const { return heap_[0].first; }
    bool contains(std::int32_t item) const {
        return item < static_cast<std::int32_t>(place_.size()) && place_[item] >= 0;
    }

    // Puts `item` in, or changes its key.
    void set(std::int32_t item, double key) {
        if (item >= static_cast<std::int32_t>(place_.size())) place_.resize(static_cast<std::size_t>(item) + 1, -1);
        if (place_[item] < 0) {
            heap_.emplace_back(key, item);
            place_[item] = static_cast<std::int32_t>(heap_.size()) - 1;
            up(heap_.size() - 1);
            return;
        }
        const auto at = static_cast<std::size_t>(place_[item]);
        const double old = heap_[at].first;
        heap_[at].first = key;
        if (key < old) {
            up(at);
        } else {
            down(at);
        }
    }

    void erase(std::int32_t item) {
        const auto at = static_cast<std::size_t>(place_[item]);
        place_[item] = -1;
        const Entry last = heap_.back();
        heap_.pop_back();
        if (at == heap_.size()) return;
        heap_[at] = last;
        place_[last.second] = static_cast<std::int32_t>(at);
        up(at);
        down(static_cast<std::size_t>(place_[last.second]));
    }

private:
    using Entry = std::pair<double, std::int32_t>;

    void up(std::size_t at) {
        const Entry entry = heap_[at];
        while (at > 0) {
            const std::size_t parent = (at - 1) / 4;
            if (heap_[parent] <= entry) break;
            put(at, heap_[parent]);
            at = parent;
        }
        put(at, entry);
    }

    void down(std::size_t at) {
        const Entry entry = heap_[at];
        for (;;) {
            const std::size_t first = 4 * at + 1;
            if (first >= heap_.size()) break;
            std::size_t least = first;
            for (std::size_t k = first + 1; k < first + 4 && k < heap_.size(); ++k)
                if (heap_[k] < heap_[least]) least = k;
            if (entry <= heap_[least]) break;
            put(at, heap_[least]);
            at = least;
        }
        put(at, entry);
    }

    void put(std::size_t at, Entry entry) {
        heap_[at] = entry;
        place_[entry.second] = static_cast<std::int32_t>(at);
    }

    Array<Entry> heap_;
    Array<std::int32_t> place_;
};

}  // namespace conset
