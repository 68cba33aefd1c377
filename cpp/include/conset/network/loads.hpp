// Loads: the most messages at any port, link or node in every phase.
//
// Complexity: time O(sum of hops), memory O(nodes + links) beside the result.
#pragma once

#include <vector>

#include "conset/network/routes.hpp"

namespace conset {

struct Loads {                                                // one entry per phase
    std::vector<std::int32_t> send, receive, link, channels;  // link: messages per unit of width, rounded up
};

// `width[link]` for every link slot, or a single entry for all of them.
Loads count_loads(const Routes& routes, std::span<const std::int64_t> phase_offsets,
                  std::span<const std::int32_t> width);

}  // namespace conset
