// Exchange constructions: complete exchanges on boxes, one function for each, and what they share.
//
// Each packs the ordered pairs of the sides (`exchange_families.hpp`) so that a phase has one send and one receive per
// node and at most the box's contention on a link; its proof in short is in the file of its name. Cycles are taken with
// ties by parity; `choose_exchange` mends other ties.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/scheduling/complete_exchange/exchange_box.hpp"
#include "conset/scheduling/complete_exchange/exchange_families.hpp"
#include "conset/scheduling/complete_exchange/exchange_product.hpp"
#include "conset/scheduling/phases.hpp"

namespace conset {

using ExchangeConstruction = Phases(const ExchangeBox&, Families&);

ExchangeConstruction schedule_affine, schedule_product, schedule_square_4m2, schedule_square_4m3, schedule_torus,
    schedule_torus_absorbed, schedule_torus_lines;

bool applies_affine(const ExchangeBox& box);

// Consecutive steps of contention 1, merged as contention, senders and receivers allow.
Phases merge_steps(const ExchangeBox& box, View<const std::int32_t> step);

// Steps from `first` on emptied into earlier ones, longest routes first; what fits nowhere gets new steps. Boxes of
// many messages are left as they are.
Array<std::int32_t> absorb_leftovers(const ExchangeBox& box, Array<std::int32_t> step, std::int32_t first);

// Which family each axis uses, axes with the leading one last, and how many phases that takes when each product is
// merged by itself.
struct ProductPlan {
    Array<std::int32_t> axes;
    std::int32_t variants = 1;
    Array<Array<const Family*>> families;  // [axis but the last][variant]
    const Family* lead = nullptr;
    Array<std::int32_t> variant;  // that each permutation of the leading family chooses
    std::int64_t cost = 0;
};

// The cheapest over every leading axis and family of it; ties to the later axis, then to the folded family.
ProductPlan cheapest_plan(const ExchangeBox& box, std::int32_t contention, Families& families);

// The step of every message when `merge` slots of each product share one.
Array<std::int32_t> steps_of_plan(const ProductPlan& plan, const ExchangeBox& box, std::int32_t merge);

// Number n of all tuples below `counts`, in the order in which neighbours differ by one in one place; the last place
// varies fastest.
Array<std::int32_t> reflected_tuple(View<const std::int32_t> counts, std::int64_t n);

// The block of every node in every factor: [factor][node].
Array<std::int32_t> block_of_nodes(const Factors& factors);

// Pairs (x, x + d) that tile the integers modulo `slots`, an even number, by rising x; d is near a quarter of them.
Array<std::pair<std::int32_t, std::int32_t>> tile_slots(std::int32_t slots);

}  // namespace conset
