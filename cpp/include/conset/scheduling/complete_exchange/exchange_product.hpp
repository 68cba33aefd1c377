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
#include "conset/scheduling/complete_exchange/exchange_box.hpp"
#include "conset/scheduling/phases.hpp"

namespace conset {

struct ProductTables {
    ProductTables(const ExchangeBox& box, View<const std::int32_t> axes, std::int32_t variants = 1);

    // The decomposition of the next axis, or the next variant of an axis.
    void add(View<const std::int32_t> of_pairs, View<const std::int32_t> labels);
    void resize_groups(std::size_t groups);

    // The sides of the box, each with its decompositions; the last axis leads.
    Array<std::int32_t> sides, strides;      // per axis; node = sum of coordinate * stride
    std::int32_t variants;                   // decompositions of an axis, of which the last axis has one
    Array<std::int32_t> permutation, label;  // axis after axis: [variant][x][y]
    // Products of one permutation per axis, which are groups of steps. Permutation p of the last axis chooses which
    // variant of every other axis is used. Group = sum of permutation * stride.
    Array<std::int32_t> stride;                // [axis][variant]
    Array<std::int32_t> variant;               // [permutation of the last axis]
    Array<std::int32_t> base, modulus, shift;  // [group]: first step, T, what is added to the sum of labels
    // Slot of labels (a, b) of two axes at a * columns + b; without any the slot is the sum of labels.
    Array<std::int32_t> slot;
    std::int32_t columns = 0;
};

// The step of each message s (N-1) + t - (t > s); `merge` consecutive slots of a group share a step.
Array<std::int32_t> product_steps(const ProductTables& tables, std::int32_t merge = 1);

// Merges consecutive phases: at most `most` of them, and never a sender or receiver twice. Greedy, which is optimal for
// a given order because a shorter window is never harder to fill.
Phases merge_phases(const ExchangeBox& box, Phases phases, std::int32_t most);

}  // namespace conset
