// FlowLevels: resources in rising order of the level at which they fill, where levels only rise while one looks.
//
// Resources lie in buckets of about the same level, sixty-four to an octave; only the bucket that is looked at is in
// order, by a heap. A key is a bound from below: the top is asked for its level again, and sinks or moves on to a later
// bucket where that has risen. Ties go to no one in particular: order among equal levels does not matter to rates.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "conset/array.hpp"
#include "conset/simulation/flow/table.hpp"

namespace conset {

class FlowLevels {
public:
    // Calls `fill(r, level)` for resources in rising order of `level_of(r)`, which a call may raise; a resource is out
    // once it was called, or where its level is negative. Ends where `done()`.
    template <class LevelOf, class Fill, class Done>
    void each(std::int32_t resources, LevelOf&& level_of, Fill&& fill, Done&& done);

private:
    static constexpr std::size_t kBuckets = 4096;  // sixty-four octaves
    using Entry = std::pair<double, std::int32_t>;

    static std::int64_t coarse(double level) { return std::bit_cast<std::int64_t>(std::max(level, 0.0)) >> 46; }

    // Four children to a node; only the top changes, and sinks no further than it must.
    void sink(std::size_t at) {
        const Entry entry = heap_[at];
        const std::size_t size = heap_.size();
        for (;;) {
            const std::size_t first = 4 * at + 1;
            if (first >= size) break;
            std::size_t least = first;
            const std::size_t last = std::min(first + 4, size);
            for (std::size_t k = first + 1; k < last; ++k)
                if (heap_[k].first < heap_[least].first) least = k;
            if (entry.first <= heap_[least].first) break;
            heap_[at] = heap_[least];
            at = least;
        }
        heap_[at] = entry;
    }

    void drop_top() {
        heap_.front() = heap_.back();
        heap_.pop_back();
        if (!heap_.empty()) sink(0);
    }

    void put(std::int32_t r, double level, std::int64_t least) {
        const std::int64_t at = std::clamp(coarse(level) - base_, least, std::int64_t{kBuckets - 1});
        next_[r] = bucket_[at];
        bucket_[at] = r;
    }

    // What lies in a bucket, as far as it has not risen out of it, into the heap.
    template <class LevelOf>
    void open(std::int64_t at, LevelOf&& level_of) {
        heap_.clear();
        std::int32_t next = -1;
        for (std::int32_t r = bucket_[at]; r >= 0; r = next) {
            next = next_[r];
            const double level = level_of(r);
            if (level < 0) continue;
            if (leaves(level, at)) {
                put(r, level, at + 1);
            } else {
                heap_.emplace_back(level, r);
            }
        }
        for (std::size_t k = heap_.size() / 4 + 1; k-- > 0;)
            if (k < heap_.size()) sink(k);
    }

    bool leaves(double level, std::int64_t at) const {
        return at < std::int64_t{kBuckets - 1} && coarse(level) - base_ > at;
    }

    std::int64_t base_ = 0;
    Array<std::int32_t> bucket_, next_;
    Array<Entry> heap_;
};

template <class LevelOf, class Fill, class Done>
void FlowLevels::each(std::int32_t resources, LevelOf&& level_of, Fill&& fill, Done&& done) {
    bucket_.assign(kBuckets, -1);
    next_.resize(static_cast<std::size_t>(resources));
    double least = ServiceClock::kNever;
    for (std::int32_t r = 0; r < resources; ++r) {
        const double level = level_of(r);
        if (level >= 0) least = std::min(least, level);
    }
    base_ = coarse(least);
    for (std::int32_t r = 0; r < resources; ++r) {
        const double level = level_of(r);
        if (level >= 0) put(r, level, 0);
    }
    for (std::int64_t at = 0; !done() && at < std::int64_t{kBuckets}; ++at) {
        open(at, level_of);
        while (!heap_.empty()) {
            const auto [key, r] = heap_.front();
            const double level = level_of(r);
            if (level > key * (1 + ServiceClock::kSame)) {
                if (leaves(level, at)) {
                    put(r, level, at + 1);
                } else {
                    heap_.front().first = level;
                    sink(0);
                    continue;
                }
            } else if (level >= 0) {
                fill(r, level);
            }
            drop_top();
        }
    }
}

}  // namespace conset
