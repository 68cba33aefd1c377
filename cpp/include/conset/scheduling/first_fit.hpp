// First fit: every message goes into the first phase in which all its ports, links and channels have room.
//
// The method is described in conset/methods/first_fit.py. Occupied phases are bits: those in which no resource of a
// route is full are found 64 at a time.
// Complexity: time O(messages * hops * phases / 64) with words known to be full left out, memory one bit for each phase
// and contended resource (1 + log2(capacity) bits where more than one message fits), no stored route.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset {

// Transfers in the order longest route, largest size, heaviest resource (load relative to capacity) first, ties by
// index. `size[k]`, or an empty span where all are equal.
Array<std::int32_t> order_longest_first(const Resources& resources, View<const std::int64_t> size);

// The phase of each transfer, from 0, when they are placed in `order`. Where pairs (first[k], second[k]) are given a
// transfer waits until all before it are placed, then those ready go by `order`, into phases after their predecessors'.
// Throws Interrupted where a stop is asked for before many are placed.
Array<std::int32_t> first_fit(const Resources& resources, View<const std::int32_t> order,
                              View<const std::int32_t> first, View<const std::int32_t> second);

// First fit around transfers with start[k] >= 0, which stay in that phase as far as there is room, by rising k; the
// others follow, longest routes first. No order between transfers, no exchanges; never interrupted.
Array<std::int32_t> first_fit_around(const Resources& resources, View<const std::int32_t> start);

// The fewest phases of `sweeps` of them (at least one is made): the first in `order_longest_first`, the others phase by
// phase of the one before, the phases last first, largest first or shuffled in turn. Ends at the bound, or early where
// a stop is asked for.
Array<std::int32_t> first_fit_sweeps(const Resources& resources, View<const std::int64_t> size,
                                     View<const std::int32_t> first, View<const std::int32_t> second,
                                     std::int64_t sweeps, std::uint64_t seed);

}  // namespace conset
