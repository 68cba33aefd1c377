// Coloring: messages cut into exactly as many phases as the busiest port has messages.
//
// The method is described in conset/methods/coloring.py: contract, pad to a regular bipartite multigraph, halve even
// degrees along Euler partitions, take a perfect matching by random walks off odd ones.
// Complexity: expected time O(messages * (log degree + log nodes)), memory 20 bytes a slot; slots <= 2 * messages + 2 *
// degree.
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

// The phase of each message from node source[m] to node target[m]. No two messages of a phase leave one node or enter
// one node; messages inside a node stand in phase 0. The number of phases is the largest number of messages at any
// port. Throws Interrupted where a stop is asked for in a long run.
Array<std::int32_t> color_ports(std::int32_t nodes, View<const std::int32_t> source, View<const std::int32_t> target,
                                std::uint64_t seed);

}  // namespace conset
