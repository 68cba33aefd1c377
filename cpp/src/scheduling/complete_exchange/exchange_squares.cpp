// Square meshes of side 4m+2 and 4m+3; for 4m see `complete_exchange.hpp`, for 4m+1 `exchange_affine.cpp`.
//
// Side n = 4m+2: an exact packing of the factors, n^3/4 steps at contention 1. New.
// Problem: a factor of a path of n nodes (`exchange_families.hpp`) has m tiles and one vertex left out, which stays in
// one type and flips in the other. As permutations the types load m and m+1, and their products need more steps than
// the bound.
// Idea: pack both types of a column factor and a row factor together, T = 4m+2 slots for a pair of factors. Column
// block k and row block l, tiles 0 ... m-1, the vertex left out m; t the horizontal and t' the vertical type; times
// modulo T:
//   k, l < m      (t, t') at k + l + {0, m, 2m+1, 3m+1}
//   k = m, l < m  flips (1,0), (1,1) at l+2m, l-1; stays (0,0), (0,1) at l+m, l+3m
//   k < m, l = m  flips (0,1), (1,1) at k+2m, k-1; stays (0,0), (1,0) at k+m-1, k+3m
//   k = m, l = m  (1,1) at 4m, (1,0) at 2m-1, (0,1) at m-1, (0,0) at 3m-1
// Invariant: each row has at most one horizontal and each column at most one vertical tile or flip in a slot; a cell's
// items are at least m slots apart, cyclically, so c <= m aligned slots of a pair make a phase.
// Order: factors forth and back, blocks of odd factors in reverse, slots turned back by one whenever an even factor is
// left; then windows across pairs merge too (any of at most m-1 steps); they are cut greedily, which is optimal for the
// order.
// Guarantee: the bisection bound ceil(n^3/4c) at c = 1, every c <= m-1, every c <= m that divides n; n^2 at c = m+1 is
// a product. Complexity: O(messages).
//
// Side n = 4m+3: products of folded factors, and what moves in one dimension side by side. New.
// Problem: the factors leave out the stays. A product with the identity moves data along rows only, or along columns
// only, and wastes half of the links.
// Idea: the h = 2m+1 factors of M = m+1 tiles make h^2 4M steps as any product. For each factor i let the P_t (columns
// move in type t, rows stay) and the Q_t (rows move, columns stay) run together in 2M slots: with k and l the blocks of
// factor i that the column and the row of a node are in, P_t at k + l + M t and Q_t at k + l + M t + floor(M/2) modulo
// 2M.
// Invariant: a row sees one k in a slot, a column one l, a cell's four items are in four slots (M >= 2).
// Guarantee: n(n^2-1)/4 steps at c = 1, the bisection bound; c of them in a phase in windows of at most m steps. At
// c = m+1 the product of the n permutations, n^2 - 1 phases, is the port bound itself. Complexity: O(messages).
#include <algorithm>

#include "conset/scheduling/complete_exchange/exchange_constructions.hpp"

namespace conset {

namespace {

// Entries (2 l + t', 2 k + t): the slot of row block l and column block k in their types.
Array<std::int32_t> slot_cells(std::int32_t m) {
    const std::int32_t slots = 4 * m + 2, columns = 2 * (m + 1);
    Array<std::int32_t> cells(as_size(columns) * as_size(columns));
    // by 2 t + t': both tiles, the column left out, the row left out, both left out
    const std::int32_t tiles[4] = {0, m, 2 * m + 1, 3 * m + 1}, column_out[4] = {m, 3 * m, 2 * m, -1},
                       row_out[4] = {m - 1, 2 * m, 3 * m, -1}, both_out[4] = {3 * m - 1, m - 1, 2 * m - 1, 4 * m};
    for (std::int32_t l = 0; l <= m; ++l)
        for (std::int32_t k = 0; k <= m; ++k)
            for (std::int32_t types = 0; types < 4; ++types) {
                const std::int32_t slot = k < m && l < m ? k + l + tiles[types]
                                          : l < m        ? l + column_out[types]
                                          : k < m        ? k + row_out[types]
                                                         : both_out[types];
                cells[cell(2 * l + types % 2, columns, 2 * k + types / 2)] = modulo(slot, slots);
            }
    return cells;
}

// The step of every message when `merge` slots of a pair of factors share one.
Array<std::int32_t> slot_steps(const ExchangeBox& box, std::int32_t merge) {
    const std::int32_t side = box.sides[0], m = side / 4;
    const Factors factors = build_factors(side, false);
    const std::int32_t count = factors.count, pairs = count * count;
    Array<std::int32_t> label(factors.block);
    for (std::size_t at = 0; at < label.size(); ++at) {
        const std::int32_t block = factors.block[at];
        const std::int32_t tile = factors.factor[at] % 2 == 0 ? block - 1 : m - block;
        label[at] = 2 * (block == 0 ? m : tile) + factors.type[at];
    }
    ProductTables tables(box, box.axes);
    for (int axis = 0; axis < 2; ++axis) tables.add(factors.factor, label);
    tables.stride = {1, count};
    tables.variant.assign(as_size(count), 0);
    tables.resize_groups(as_size(pairs));
    tables.modulus.assign(as_size(pairs), side);
    const std::int32_t counts[2] = {count, count};
    Array<std::int32_t> before{0, 0};
    std::int32_t turned = 0;
    for (std::int32_t n = 0; n < pairs; ++n) {
        const Array<std::int32_t> pair = reflected_tuple(counts, n);
        const std::int32_t left = pair[0] != before[0] ? before[0] : before[1];
        if (n > 0 && left % 2 == 0) ++turned;
        const std::int32_t group = pair[1] * count + pair[0];
        tables.base[group] = n * static_cast<std::int32_t>(ceil_divide(side, merge));
        tables.shift[group] = modulo(-turned, side);
        before = pair;
    }
    tables.slot = slot_cells(m);
    tables.columns = 2 * (m + 1);
    return product_steps(tables, merge);
}

}  // namespace

// Steps merged in windows, or in each pair of factors where that gives fewer phases.
Phases schedule_square_4m2(const ExchangeBox& box, Families&) {
    Phases windows = merge_steps(box, slot_steps(box, 1));
    if (box.contention == 1 || box.contention > box.sides[0] / 4 || windows.count() <= box.bound) return windows;
    Phases aligned = group_phases(slot_steps(box, box.contention));
    return aligned.count() < windows.count() ? aligned : windows;
}

// The products, then the tails; consecutive steps merged up to the contention.
Phases schedule_square_4m3(const ExchangeBox& box, Families& families) {
    Array<std::int32_t> step = steps_of_plan(cheapest_plan(box, 1, families), box, 1);
    const std::int32_t side = box.sides[0], first = *std::max_element(step.begin(), step.end()) + 1;
    const Factors factors = build_factors(side, false);
    const Array<std::int32_t> blocks = block_of_nodes(factors);
    const std::int32_t slots = 2 * factors.blocks;
    for (std::int32_t x = 0; x < side; ++x)
        for (std::int32_t y = 0; y < side; ++y) {
            if (x == y) continue;
            const std::size_t arc = cell(x, side, y);
            const std::int32_t i = factors.factor[arc], tail = first + i * slots;
            for (std::int32_t rest = 0; rest < side; ++rest) {
                const std::int32_t slot =
                    factors.block[arc] + blocks[cell(i, side, rest)] + factors.blocks * factors.type[arc];
                step[box.message(rest * side + x, rest * side + y)] = tail + slot % slots;
                step[box.message(x * side + rest, y * side + rest)] = tail + (slot + factors.blocks / 2) % slots;
            }
        }
    return merge_steps(box, step);
}

Array<std::int32_t> block_of_nodes(const Factors& factors) {
    Array<std::int32_t> blocks(as_size(factors.count) * as_size(factors.side), 0);
    for (std::size_t at = 0; at < factors.factor.size(); ++at)
        if (factors.factor[at] >= 0)
            blocks[cell(factors.factor[at], factors.side, at / as_size(factors.side))] = factors.block[at];
    return blocks;
}

}  // namespace conset
