// Path search: the cheapest (slot, path) for one item, best first over all slots together.
//
// A* with the hops that are left as heuristic: the price of a node is at least 1, of everything else at least 0. All
// slots share one heap, so that no slot is searched beyond the price that wins. Ties go to the state nearest to the
// target, then at random (numbers of states are masked anew in every search). Searching all slots is worth it: a sample
// of 8 of 34 slots searched further in each of them and needed more time and more slots.
// Complexity: O(states with a price below the winner's * log) time, O(nodes * slots) memory.
#pragma once

#include <bit>
#include <cstdint>

#include "conset/array.hpp"
#include "conset/scheduling/negotiated.hpp"

namespace conset {

class PathSearch {
public:
    PathSearch(const NegotiatedItems& items, std::int32_t slots)
        : items_(items),
          states_(static_cast<std::size_t>(slots) * static_cast<std::size_t>(items.nodes_)),
          slots_(slots),
          state_bits_(static_cast<std::uint32_t>(std::bit_width(states_.size()))),
          most_left_((1U << std::min(16U, 32U - state_bits_)) - 1) {}

    // The slot for `message`, whose `path` (positions in the list of links by node) is found with it; `order` (a price
    // for each slot) may be null.
    std::int32_t find(std::size_t message, const Ledger& ledger, const float* order, Random& random,
                      Array<std::int32_t>& path);

    std::int64_t steps() const { return steps_; }

private:
    struct State {
        float price = 0;         // from the start
        std::uint32_t mark = 0;  // 2 * run: seen; 2 * run + 1: done
        std::int32_t came = 0;   // position in out_link_ of the link into it
    };

    // Price and heuristic, hops left, masked state: one number, because heaps of numbers are fast.
    std::uint64_t key(float price, std::uint16_t left, std::uint32_t state) const {
        const std::uint64_t bits = std::bit_cast<std::uint32_t>(price + static_cast<float>(left));
        return bits << 32U | std::uint64_t{std::min<std::uint32_t>(left, most_left_)} << state_bits_ | (state ^ mask_);
    }
    void start(std::size_t message, const Ledger& ledger, const float* order, Random& random);
    std::int32_t trace(std::uint32_t state, std::int32_t source, Array<std::int32_t>& path) const;

    const NegotiatedItems& items_;
    Array<State> states_;        // slot * nodes + node
    Array<std::uint64_t> heap_;  // the least key on top
    std::int32_t slots_;
    std::uint32_t state_bits_, most_left_, mask_ = 0, run_ = 0;
    std::int64_t steps_ = 0;
};

}  // namespace conset
