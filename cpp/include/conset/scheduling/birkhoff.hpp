// Birkhoff: phases of split messages that take exactly as long as the busiest port.
//
// The method is described in conset/methods/birkhoff.py.
// Complexity: time O(pieces * log(bytes) * nodes * messages) at worst and far less in practice, memory O(messages).
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

// Phase p sends `part[k]` bytes of transfer `transfer[k]`, offsets[p] <= k < offsets[p + 1]. Every node sends and
// receives at most one in a phase; the largest parts of all phases add up to the most bytes out of or into a node.
struct Pieces {
    Array<std::int64_t> offsets;
    Array<std::int32_t> transfer;
    Array<std::int64_t> part;
};

// No transfer may stay in its node: source[k] != target[k].
Pieces decompose_birkhoff(std::int32_t nodes, View<const std::int32_t> source, View<const std::int32_t> target,
                          View<const std::int64_t> size);

}  // namespace conset
