// Random schedule: partial permutations filled row by row from a random start (RS_N and RS_NL of Wang and Ranka).
//
// The methods are described in conset/methods/random_schedule.py and rs_nl.py.
// Complexity: expected time O(phases * nodes * log degree), with links times their hops; memory O(messages + nodes +
// links).
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset {

// The permutation of each transfer. A node sends and receives one transfer in each; a link carries
// resources.limits().link of them per unit of width (0: any number). `exchanges`: a node takes
// a transfer with that back where both fit, before others. Where pairs (first[k], second[k]) are given a transfer waits
// for all before it.
Array<std::int32_t> schedule_random(const Resources& resources, bool exchanges, View<const std::int32_t> first,
                                    View<const std::int32_t> second, std::uint64_t seed);

}  // namespace conset
