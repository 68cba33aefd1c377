// Queues of events by tick: a wheel of buckets where all delays are short, a heap where they are not.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "conset/array.hpp"

namespace conset {

inline constexpr std::int64_t kNoTick = std::numeric_limits<std::int64_t>::max();

// Events less than `span` ticks away.
class TickWheel {
public:
    static constexpr std::int64_t kMost = 4096;

    explicit TickWheel(std::int64_t span)
        : buckets_(std::bit_ceil(static_cast<std::size_t>(std::max<std::int64_t>(span, 64)))),
          full_(buckets_.size() / 64) {}

    void push(std::int64_t tick, std::int32_t event) {
        const std::size_t b = static_cast<std::size_t>(tick) & (buckets_.size() - 1);
        buckets_[b].push_back(event);
        full_[b / 64] |= std::uint64_t{1} << (b % 64);
        ++size_;
    }

    // The tick of the next event, not before `now`.
    std::int64_t next(std::int64_t now) const {
        if (size_ == 0) return kNoTick;
        const std::size_t from = static_cast<std::size_t>(now) & (buckets_.size() - 1);
        std::size_t word = from / 64;
        std::uint64_t bits = full_[word] & (~std::uint64_t{0} << (from % 64));
        while (bits == 0) {
            word = word + 1 == full_.size() ? 0 : word + 1;
            bits = full_[word];
        }
        const std::size_t b = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        return now + static_cast<std::int64_t>((b - from) & (buckets_.size() - 1));
    }

    // Moves all events of a tick to `events`.
    void take(std::int64_t tick, Array<std::int32_t>& events) {
        const std::size_t b = static_cast<std::size_t>(tick) & (buckets_.size() - 1);
        events.clear();
        std::swap(events, buckets_[b]);
        full_[b / 64] &= ~(std::uint64_t{1} << (b % 64));
        size_ -= events.size();
    }

private:
    Array<Array<std::int32_t>> buckets_;
    Array<std::uint64_t> full_;
    std::size_t size_ = 0;
};

// Events any time away.
template <class Event>
class TickHeap {
public:
    explicit TickHeap(std::int64_t /*span*/ = 0) {}

    void push(std::int64_t tick, Event event) {
        heap_.emplace_back(tick, event);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }

    std::int64_t next(std::int64_t /*now*/ = 0) const { return heap_.empty() ? kNoTick : heap_.front().first; }

    void take(std::int64_t tick, Array<Event>& events) {
        events.clear();
        while (next() == tick) {
            events.push_back(heap_.front().second);
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            heap_.pop_back();
        }
    }

private:
    Array<std::pair<std::int64_t, Event>> heap_;
};

}  // namespace conset
