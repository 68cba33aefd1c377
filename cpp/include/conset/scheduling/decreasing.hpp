// Decreasing: annealing of phases separated by barriers, each as long as its longest transfer.
//
// The method is described in conset/methods/decreasing.py.
// Complexity: time O(steps * (hops + messages of a phase)), memory O(phases * contended resources + messages * hops).
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset {

struct Annealing {
    std::int64_t steps;
    double hot, cold;  // temperatures, in parts of the mean length of a phase
    std::uint64_t seed;
};

// No phases under these limits take less than this: with `opening` for each, the sum of the i-th longest transfers.
double least_length(const Resources& resources, View<const double> duration, double opening);

// The sum over phases that hold a transfer of `opening` and the longest duration[k] of phase[k].
double phases_length(View<const std::int32_t> phase, View<const double> duration, double opening);

// Better phases from `phase`, by moves within as many: the sum over phases that hold a transfer of `opening` and its
// longest duration[k]. `phase` must keep the limits (no exchanges) and the order given by pairs (first[k], second[k]).
Array<std::int32_t> anneal_lengths(const Resources& resources, View<const double> duration, double opening,
                                   Array<std::int32_t> phase, View<const std::int32_t> first,
                                   View<const std::int32_t> second, const Annealing& annealing);

}  // namespace conset
