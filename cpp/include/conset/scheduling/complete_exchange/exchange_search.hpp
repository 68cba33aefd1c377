// Exchange search: packs the messages of a complete exchange into few phases.
//
// Problem. Each message is placed once, in a phase in which neither its source nor its target nor a link of its route
// is full. Message s (N-1) + t - (t > s) goes from s to t, of N nodes.
// Idea. (1) Iterated greedy: first fit again and again, phases of the last result as a whole in another order (last
// first, largest first, shuffled); no round takes more phases, because a phase fits where it stood. (2) Peel, an
// alternative start: fill phase after phase, messages through the busiest remaining resources first.
// Complexity. A round costs O(hops * phases / 64) per message; memory O(hops) per message and a bit for each resource
// and phase. Deterministic in the seed; effort is counted in rounds, never in seconds.
// `search_phases` is the general fallback, for boxes on which no construction meets the bound, in turn, each from the
// best so far and each ending at the bound: negotiation of orbits (`exchange_orbits.hpp`), upwards from the bound;
// iterated greedy from the constructions' best, which fits their leftovers into earlier phases; peeling, then iterated
// greedy. Never worse than what it was given. Effort is a factor on budgets of elementary operations that grow with the
// messages up to a limit, at least one round of greedy; boxes of more than 400 000 messages are not searched. Of
// the meshes up to 24 x 24 at contention 1 only 5 x 7 needs it for its bound, 60. Reference. Culberson, Luo, Exploring
// the k-colorable landscape with iterated greedy, DIMACS Series 26 (1996).
#pragma once

#include <cstdint>
#include <optional>

#include "conset/array.hpp"
#include "conset/network/network.hpp"
#include "conset/scheduling/complete_exchange/exchange_box.hpp"
#include "conset/scheduling/phases.hpp"

namespace conset {

class ExchangeSearch {
public:
    ExchangeSearch(const Network& network, std::int32_t contention);

    // Each returns the phase of every message.

    // First fit, longest routes first; messages with start[m] >= 0 are kept there as far as they fit, phase by phase.
    Array<std::int32_t> fill(View<const std::int32_t> start) const;

    // Fills phase after phase from the busiest remaining resources.
    Array<std::int32_t> peel(std::uint64_t seed) const;

    // Iterated greedy, `rounds` rounds or until `target` phases.
    Array<std::int32_t> reorder(Array<std::int32_t> phase, std::int32_t target, std::int64_t rounds,
                                std::uint64_t seed) const;

    std::size_t messages() const { return row_offsets_.size() - 1; }

private:
    View<const std::int32_t> rows(std::integral auto message) const {
        return {rows_.data() + row_offsets_[message], rows_.data() + row_offsets_[message + 1]};
    }
    template <class Occupied>
    std::int32_t place(Occupied& occupied, std::int32_t message) const;

    Array<std::int64_t> row_offsets_;
    Array<std::int32_t> rows_, capacity_;  // rows of resources of each message; capacity of each row
};

// The number of steps, one more than the largest.
std::int32_t steps_in(View<const std::int32_t> step);

// Fewer phases than the first, best of `starts`, by `effort` sweeps, each from the best so far; nothing where it finds
// none.
std::optional<Phases> search_phases(const ExchangeBox& box, const Array<const Phases*>& starts, std::int32_t effort,
                                    std::uint64_t seed);

}  // namespace conset
