// Exchange search: packs messages, or orbits of messages under a symmetry of the network, into few phases.
//
// Problem. Each item is placed once, as one of its alternatives (messages), in a phase in which neither its source nor
// its target nor a link of its route is full. Without symmetry an item has one alternative, its message. With a group G
// of symmetries of the network and its routes an item is an orbit of messages: K phases of representatives and their
// images under G make |G| K phases of everything, so the search is |G| times smaller. Idea. (1) Iterated greedy: first
// fit again and again, phases of the last result as a whole in another order (last first, largest first, shuffled); no
// round takes more phases, because a phase fits where it stood. (2) Ejection: one phase fewer, its items have to find a
// place; an item takes the place that throws out the fewest, what is thrown out may not return there for a while. (3)
// Peel, an alternative start: fill phase after phase, messages through the busiest remaining resources first.
// Complexity. A round costs O(hops * phases / 64) per alternative, a move of (2) O(hops * phases) per alternative;
// memory O(hops) per alternative and, for (2), one number for each resource and phase. Deterministic in the seed;
// effort is counted in rounds and moves, never in seconds. Reference. Culberson, Luo, Exploring the k-colorable
// landscape with iterated greedy, DIMACS Series 26 (1996); Blochliger, Zufferey, A graph coloring heuristic using
// partial solutions and a reactive tabu scheme, doi:10.1016/j.cor.2006.05.014.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/network/network.hpp"

namespace conset {

// Item i is one of message[offsets[i]] ... message[offsets[i + 1] - 1]; the message from s to t of N nodes has the
// index s (N-1) + t - (t > s).
struct ExchangeItems {
    View<const std::int64_t> offsets;
    View<const std::int32_t> message;
};

// Where each item stands: its phase, and the position in `message` of the alternative taken.
struct ExchangePacking {
    Array<std::int32_t> phase;
    Array<std::int64_t> chosen;
};

class ExchangeSearch {
public:
    ExchangeSearch(const Network& network, std::int32_t contention, const ExchangeItems& items);

    // First fit, longest routes first; items with start[i] >= 0 are kept there as far as they fit, phase by phase.
    ExchangePacking fill(View<const std::int32_t> start) const;

    // Fills phase after phase from the busiest remaining resources.
    ExchangePacking peel(std::uint64_t seed) const;

    // Iterated greedy from a packing, `rounds` rounds or until `target` phases.
    ExchangePacking reorder(ExchangePacking packing, std::int32_t target, std::int64_t rounds,
                            std::uint64_t seed) const;

    // Ejection from a packing, phase by phase fewer until `target`; gives up after `moves` moves in all.
    ExchangePacking eject(ExchangePacking packing, std::int32_t target, std::int64_t moves, std::uint64_t seed) const;

    std::int32_t items() const { return static_cast<std::int32_t>(items_.offsets.size()) - 1; }

private:
    friend class Ejection;
    View<const std::int32_t> rows(std::int64_t alternative) const {
        return {rows_.data() + row_offsets_[alternative], rows_.data() + row_offsets_[alternative + 1]};
    }
    template <class Occupied>
    std::int32_t place(Occupied& occupied, std::int32_t item, std::int64_t first, std::int64_t& chosen) const;

    ExchangeItems items_;
    Array<std::int64_t> row_offsets_;
    Array<std::int32_t> rows_, capacity_;  // rows of resources of each alternative; capacity of each row
};

}  // namespace conset
