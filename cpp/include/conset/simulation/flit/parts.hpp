// Parts of the flit model's clockwork: where ports lead, mailboxes, sets of what is busy, sources.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "conset/array.hpp"
#include "conset/simulation/flit/router.hpp"

namespace conset {

// Where a port leads: whose mailbox lies behind it, and the first of the lanes there, counted in that router.
struct FlitFar {
    std::uint32_t box = 0, lane = 0;
};

// What reaches a router in each of the next cycles (cycle mod 4): flits by input lane, credits by output lane.
template <class Mask>
struct FlitMailbox {
    std::array<Mask, 4> flits{}, credits{};
};

// A node as a source: what it is sending, and on which lane.
struct FlitSource {
    std::int32_t message = -1, worm = -1, worm_left = 0;
    std::int64_t message_left = 0;  // flits that are in no worm yet
    std::uint32_t lane = 0, next_lane = 0;
    std::array<std::uint8_t, 64> credits{};
};

// Sets of routers or nodes that have something to do.
class FlitBusy {
public:
    explicit FlitBusy(std::uint32_t count) : words_((count + 63) / 64, 0) {}
    void add(std::uint32_t k) { words_[k >> 6U] |= std::uint64_t{1} << (k & 63U); }
    void remove(std::uint32_t k) { words_[k >> 6U] &= ~(std::uint64_t{1} << (k & 63U)); }
    bool any() const { return any_below(static_cast<std::uint32_t>(words_.size() * 64)); }
    bool any_below(std::uint32_t k) const {
        return std::any_of(words_.begin(), words_.begin() + k / 64, [](std::uint64_t word) { return word != 0; });
    }
    // Adds those of `other` from `first` on that there is room for, and takes them out of it.
    void take(FlitBusy& other, std::uint32_t first = 0) {
        for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= std::exchange(other.words_[first / 64 + w], 0);
    }
    template <class Visit>  // visit(k); may remove k
    void each(Visit&& visit) {
        for (std::size_t w = 0; w < words_.size(); ++w)
            for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
                visit(static_cast<std::uint32_t>(w * 64) + lowest_bit(rest));
    }

private:
    Array<std::uint64_t> words_;
};

// Events of the next cycles: what is put in for cycle t comes out at t; at most three cycles ahead.
class FlitComing {
public:
    void put(std::int64_t cycle, std::uint32_t what) { slots_[cycle & 3].push_back(what); }
    Array<std::uint32_t>& at(std::int64_t cycle) { return slots_[cycle & 3]; }
    bool empty(std::int64_t cycle) const { return slots_[cycle & 3].empty(); }

private:
    std::array<Array<std::uint32_t>, 4> slots_;
};

}  // namespace conset
