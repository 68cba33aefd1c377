// Loads: the most messages at any port, link or node in every phase.
//
// Complexity: time O(sum of hops), memory O(nodes + links) beside the result.
#pragma once

#include "conset/array.hpp"
#include "conset/network/routes.hpp"

namespace conset {

struct Loads {                                          // one entry per phase
    Array<std::int32_t> send, receive, link, channels;  // link: messages per unit of width, rounded up
};

// `width[link]` for every link slot, or a single entry for all of them.
Loads count_loads(const Routes& routes, View<const std::int64_t> phase_offsets, View<const std::int32_t> width);

}  // namespace conset
