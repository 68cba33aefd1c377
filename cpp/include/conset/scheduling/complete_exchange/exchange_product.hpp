// Exchange product: a complete exchange on a box from one decomposition of the ordered pairs of each side.
//
// Problem. A step of every message, such that no step loads a link twice, from one-dimensional answers.
// Idea. Each side's ordered pairs (x, y) are cut into permutations, and the arcs of a permutation are labelled so that
// arcs with one label share no link. In the product of one permutation per side, the messages whose labels add to s
// modulo T, the largest label count, form a step: along any line of any dimension the other arcs, hence their labels,
// are fixed, so one label's arcs remain. Sources and targets are distinct because permutations are.
// Steps of one product ("group") may be merged c at a time: contention c, and still one send and one receive.
//
// Complexity. Time O(messages), memory 4 bytes a message for the step and 4 for the sorted index.
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

// The last axis leads: its permutation chooses, for every other axis, which of `variants` decompositions is used.
struct ExchangeProduct {
    View<const std::int32_t> sides, strides;  // per axis; node = sum of coordinate * stride
    std::int32_t variants;
    View<const std::int32_t> permutation, label;    // axis after axis: [variant][x][y]
    View<const std::int32_t> group_stride;          // [axis][variant]
    View<const std::int32_t> variant;               // [permutation of the last axis]
    View<const std::int32_t> base, modulus, shift;  // [group]: first step, T, what is added to the sum of labels
    View<const std::int32_t> cells;                 // two axes: slot of labels (a, b) at a * cell_columns + b; or empty
    std::int32_t cell_columns;
    std::int32_t merge;  // consecutive slots of a group that share a step
};

// The step of each message s (N-1) + t - (t > s).
Array<std::int32_t> product_steps(const ExchangeProduct& product);

// Merges consecutive phases: at most `most` of them, and never a sender or receiver twice. Greedy, which is optimal for
// a given order because a shorter window is never harder to fill. Returns the new offsets.
Array<std::int64_t> merge_phases(std::int32_t nodes, View<const std::int64_t> offsets, View<const std::int32_t> message,
                                 std::int32_t most);

}  // namespace conset
