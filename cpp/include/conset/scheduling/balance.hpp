// Balance: annealing of which transfer stands in which phase, until all phases load the busiest line alike.
//
// The method is described in conset/methods/balance.py.
// Complexity: time O(steps * (hops + nodes where routes may change)), memory O(phases * (nodes + links) + sum of hops).
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset {

// What makes a phase long: the busiest port (or node, `serial`) by `work[k]` of its transfers, or the busiest link by
// `size[k]` times link_work[link] (one entry for all links, or none where links cost nothing).
struct TransferWork {
    bool serial;
    View<const double> work, size, link_work;
};

struct BalanceSearch {
    std::int64_t steps;
    double hot, cold;  // temperatures, in parts of the mean length of a phase
    std::uint64_t seed;
    // Where routes may change: the nodes each link slot joins (a slot that is no link joins a node to itself).
    View<const std::int32_t> link_source, link_target;
};

struct Balanced {
    Array<std::int32_t> phase;
    Array<std::int64_t> offsets;  // routes: links[offsets[k]] ... of transfer k
    Array<std::int32_t> links;
    double length;  // the sum over phases of the busiest line
};

// Better phases than `phase`, as many at most, within the limits of `resources`; `pinned` transfers stay where they
// are.
Balanced balance_loads(const Resources& resources, const TransferWork& work, Array<std::int32_t> phase,
                       View<const std::uint8_t> pinned, const BalanceSearch& search);

}  // namespace conset
