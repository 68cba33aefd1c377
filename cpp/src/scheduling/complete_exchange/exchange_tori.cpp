// Tori: one and two dimensions, and two of which one has links to spare.
//
// All pack the factors of cycles (`exchange_families.hpp`) and require ties by parity; other ties are mended by
// `choose_exchange`. Complexity: O(messages) each. New, but for what a paragraph says.
//
// One and two dimensions: both directions of every cycle and both types of every factor packed together.
// Problem: a tile of a cycle uses one direction only. A pair of factors, M blocks each, has four items in each cell
// (k, l) of column block k and row block l: horizontal type s, vertical type s'. Row block l has a link resource for
// each s, column block k one for each s'.
// Idea: the item is in slot a(l, s) + b(k, s') modulo T = 2M, b(k, .) = k, k+M and a(l, .) = x, x+d, where the pairs
// (x, x+d) tile Z_T, d = M/2 or, M odd, the odd one of (M +- 1)/2. M is the larger of the two numbers of blocks; T
// >= 4. Invariant: row resource (l, s) meets each b once, column resource (k, s') each a once; a cell's items differ by
// d, M, M +- d.
//   n = 4k+2  the vertex left out is a block: it flips upwards in one type, downwards or not at all in the other.
//   n = 4k+1  the vertex left out stays: it uses the slots of block 0 and no link of its dimension.
//   n = 4k+3  the stays belong to no factor: what moves in one dimension only is packed for itself, for each factor in
//             max(M, 2) slots, type + of block k at k, type - at k+1; where both dimensions have such moves they run
//             together in max(M, 4) slots: columns at k + l + {0, 1}, rows at k + l + {2, 3}. One dimension is such a
//             tail alone. A side 4k+2 may also have all ties upwards.
// Guarantee: at c = 1: n^3/8 for a square n = 4k, exact; n^2(n+2)/8 for 4k+2; (n+1)^2(n-1)/8 for 4k+1.
// Reference: none consulted; Hinrichs et al., SPAA 1994, doi:10.1145/181014.181028, have an optimal one on a 2-D torus.
//
// Two dimensions, one of which has links to spare: permutations of it times whole factors of the other.
// Problem: where a torus R x C has R well below C the links of the long cycles decide, and every row should use both
// directions of them in every step. The packing above pays for pairs of factors of both dimensions instead.
// Idea: one permutation of the short side at a time, arcs labelled q < L, and one factor of the long side, M blocks of
// two types s. The item (q, k, s) is in slot k + s L + q modulo T = max(M, 2L).
// Invariant: in a row q is fixed, and k runs once through the slots in each direction; in a target column (k, s) are
// fixed up to s, and the labels of the two types are L apart. A cell's two items are in different slots.
//   short side 4k+1  the n reflections, all full; else the folded family.
//   long side 4k+3   what stays in the long dimension is left over and fitted into the gaps.
// Guarantee: R (C^2-1)/8 for C = 4k+1, R C^2/8 for C = 4k, the bound, where the short side has R permutations and
// 2L <= M: from C = 8 on beside R = 5, from C = 16 on beside R = 9; C = 4k+3 as far as what is left over fits.
#include <algorithm>
#include <numeric>
#include <utility>

#include "conset/scheduling/complete_exchange/exchange_constructions.hpp"

namespace conset {

namespace {

// Blocks that need slots of their own: a vertex that only stays needs none.
std::int32_t count_blocks(const Factors& factors) {
    return std::max(factors.blocks - (factors.side % 4 == 1 ? 1 : 0), 1);
}

std::int32_t block_slot(const Factors& factors, std::size_t arc) {
    const std::int32_t block = factors.block[arc];
    return factors.side % 4 == 1 ? std::max(block - 1, 0) : block;
}

// Factors with the stays that belong to none as one more.
Array<std::int32_t> with_identity(const Factors& factors) {
    Array<std::int32_t> numbers(factors.factor);
    std::replace(numbers.begin(), numbers.end(), -1, factors.count);
    return numbers;
}

// The slots of (row block and type, column block and type).
Array<std::int32_t> pair_cells(std::int32_t rows, std::int32_t columns, std::int32_t slots) {
    const auto tiles = tile_slots(slots);
    Array<std::int32_t> cells;
    for (std::int32_t l = 0; l < rows; ++l)
        for (const std::int32_t vertical : {0, slots / 2})
            for (std::int32_t k = 0; k < columns; ++k)
                for (const std::int32_t horizontal : {tiles[l].first, tiles[l].second})
                    cells.push_back((horizontal + k + vertical) % slots);
    return cells;
}

// What moves in both dimensions, T slots for each pair of factors; the steps in all.
Array<std::int32_t> pack_pairs(const ExchangeBox& box, const Array<Factors>& factors, std::int32_t& steps) {
    const std::int32_t rows = count_blocks(factors[0]), columns = count_blocks(factors[1]);
    const std::int32_t slots = std::max(2 * std::max(rows, columns), 4);
    ProductTables tables(box, box.axes);
    Array<std::int32_t> groups, counts;
    for (const Factors& each : factors) {
        Array<std::int32_t> label(each.type);
        for (std::size_t at = 0; at < label.size(); ++at) label[at] += 2 * block_slot(each, at);
        tables.add(with_identity(each), label);
        counts.push_back(each.count);
        groups.push_back(each.count + (each.has_identity() ? 1 : 0));
    }
    tables.stride = {1, groups[0]};
    tables.variant.assign(as_size(groups[1]), 0);
    tables.resize_groups(as_size(groups[0] * groups[1]));
    tables.modulus.assign(tables.base.size(), slots);
    const std::int32_t pairs = counts[0] * counts[1];
    for (std::int32_t n = 0; n < pairs; ++n) {
        const Array<std::int32_t> pair = reflected_tuple(counts, n);
        tables.base[pair[1] * groups[0] + pair[0]] = n * slots;
    }
    steps = pairs * slots;
    tables.slot = pair_cells(rows, columns, slots);
    tables.columns = 2 * columns;
    return product_steps(tables);
}

struct Mover {  // a dimension in which messages move alone
    std::int32_t axis;
    const Factors* factors;
};

// Writes the steps of what moves in one dimension only, from `at` on; two dimensions run together.
void pack_lines(const ExchangeBox& box, Array<std::int32_t>& step, const Array<Mover>& movers, std::int32_t at) {
    std::int32_t slots = 4, together = 0;
    for (const Mover& mover : movers) slots = std::max(slots, mover.factors->blocks);
    if (movers.size() == 2) together = std::min(movers[0].factors->count, movers[1].factors->count);
    for (std::int32_t turn = 0; as_size(turn) < movers.size(); ++turn) {
        const auto [axis, factors] = movers[turn];
        const Mover* const other = movers.size() == 2 ? &movers[1 - turn] : nullptr;
        const Array<std::int32_t> shifts = other != nullptr ? block_of_nodes(*other->factors) : Array<std::int32_t>{};
        const std::int32_t side = box.sides[axis], stride = box.strides[axis],
                           own = std::max(count_blocks(*factors), 2);
        for (std::int32_t start = 0; start < box.nodes(); ++start) {
            if (box.coordinate(start, axis) != 0) continue;
            for (std::int32_t x = 0; x < side; ++x)
                for (std::int32_t y = 0; y < side; ++y) {
                    if (x == y) continue;
                    const std::size_t arc = cell(x, side, y);
                    const std::int32_t i = factors->factor[arc];
                    const bool joint = i < together;
                    std::int32_t slot = block_slot(*factors, arc) + factors->type[arc];
                    if (joint)
                        slot += shifts[cell(i, other->factors->side, box.coordinate(start, other->axis))] + 2 * turn;
                    const std::int32_t first = joint ? i * slots : together * slots + (i - together) * own;
                    step[box.message(start + x * stride, start + y * stride)] =
                        at + first + slot % (joint ? slots : own);
                }
        }
    }
}

// The step of every message; `first` is the first one of what moves in one dimension only.
Array<std::int32_t> packed_steps(const ExchangeBox& box, std::int32_t& first) {
    Array<Factors> factors;
    for (const std::int32_t axis : box.axes)
        factors.push_back(build_factors(box.sides[axis], true, box.network.tie() == Tie::plus));
    first = 0;
    if (box.axes.size() == 1) {
        Array<std::int32_t> step(as_size(box.messages()), 0);
        pack_lines(box, step, {{box.axes[0], factors.data()}}, 0);
        return step;
    }
    Array<std::int32_t> step = pack_pairs(box, factors, first);
    Array<Mover> movers;
    for (const int k : {0, 1})
        if (factors[1 - k].has_identity()) movers.push_back({box.axes[k], &factors[k]});
    pack_lines(box, step, movers, first);
    return step;
}

// Factors and labels of the long side beside a family of the short one: T of each permutation of the short side.
Array<std::int32_t> line_slots(const Family& family, const Factors& factors) {
    const std::int32_t most = std::max(*std::max_element(family.load.begin(), family.load.end()), 1);
    Array<std::int32_t> slots;
    for (const std::int32_t load : family.load)
        slots.push_back(std::max({count_blocks(factors), most + load, most + 1}));
    return slots;
}

std::int64_t sum_of(const Array<std::int32_t>& values) {
    return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

std::int64_t line_cost(const Family& family, const Factors& factors) {
    return sum_of(line_slots(family, factors)) * factors.count + (factors.has_identity() ? sum_of(family.load) : 0);
}

Array<std::int32_t> line_steps(const ExchangeBox& box, const Family& family, std::int32_t short_axis,
                               std::int32_t long_axis) {
    const Factors factors = build_factors(box.sides[long_axis], true);
    const Array<std::int32_t> slots = line_slots(family, factors);
    const std::int32_t most = std::max(*std::max_element(family.load.begin(), family.load.end()), 1);
    const std::int32_t axes[2] = {short_axis, long_axis};
    ProductTables tables(box, axes);
    Array<std::int32_t> label(factors.block);
    for (std::size_t at = 0; at < label.size(); ++at)
        label[at] = factors.factor[at] < 0 ? 0 : block_slot(factors, at) + factors.type[at] * most;
    tables.add(family.permutation, family.label);
    tables.add(with_identity(factors), label);
    tables.stride = {1, family.count()};
    tables.variant.assign(as_size(factors.count) + 1, 0);
    tables.resize_groups(as_size(factors.count + 1) * as_size(family.count()));
    std::int32_t next = 0;
    for (std::int32_t f = 0; f <= factors.count; ++f)  // the last row is the identity of the long side
        for (std::int32_t p = 0; p < family.count(); ++p) {
            const std::size_t group = cell(f, family.count(), p);
            tables.base[group] = next;
            tables.modulus[group] = f < factors.count ? slots[p] : std::max(family.load[p], 1);
            next += tables.modulus[group];
        }
    Array<std::int32_t> step = product_steps(tables);
    if (!factors.has_identity()) return step;
    return absorb_leftovers(box, std::move(step), static_cast<std::int32_t>(sum_of(slots)) * factors.count);
}

}  // namespace

Array<std::pair<std::int32_t, std::int32_t>> tile_slots(std::int32_t slots) {
    const std::int32_t half = slots / 2, quarter = half / 2;
    const std::int32_t apart = half % 2 == 0 ? quarter : quarter + (quarter + 1) % 2;
    Array<std::pair<std::int32_t, std::int32_t>> pairs;
    Array<bool> taken(as_size(slots), false);
    for (std::int32_t start = 0; start < slots; ++start)
        for (std::int32_t x = start; !taken[x];) {
            const std::int32_t y = (x + apart) % slots;
            pairs.emplace_back(x, y);
            taken[x] = taken[y] = true;
            x = (y + apart) % slots;
        }
    std::sort(pairs.begin(), pairs.end());
    return pairs;
}

// The packing; consecutive steps merged up to the contention.
Phases schedule_torus(const ExchangeBox& box, Families&) {
    std::int32_t first = 0;
    return merge_steps(box, packed_steps(box, first));
}

// The packing with what moves in one dimension, and what ties another way, fitted into its gaps first.
Phases schedule_torus_absorbed(const ExchangeBox& box, Families&) {
    std::int32_t first = 0;
    Array<std::int32_t> step = packed_steps(box, first);
    for (const std::int32_t axis : box.axes) {
        if (box.network.tie() == Tie::parity || box.sides[axis] % 4 != 0) continue;
        // flips and stays of a dimension of 4k nodes: both types may want one way
        const Factors factors = build_factors(box.sides[axis], true);
        for (std::int32_t m = 0; m < box.messages(); ++m) {
            const std::int32_t x = box.coordinate(box.source(m), axis), y = box.coordinate(box.target(m), axis);
            if (factors.factor[cell(x, factors.side, y)] == 0) step[m] = first;
        }
    }
    return merge_steps(box, absorb_leftovers(box, std::move(step), first));
}

// The cheaper of both ways to name the short side, and of its families; steps merged up to the contention.
Phases schedule_torus_lines(const ExchangeBox& box, Families& families) {
    std::int64_t least = 0;
    const Family* best = nullptr;
    std::int32_t turn = 0;
    for (const std::int32_t k : {0, 1}) {
        const Factors factors = build_factors(box.sides[box.axes[1 - k]], true);
        for (const Family& family : families.of(box.sides[box.axes[k]], box.cycle(box.axes[k]))) {
            const std::int64_t cost = line_cost(family, factors);
            if (best != nullptr && cost >= least) continue;
            least = cost;
            best = &family;
            turn = k;
        }
    }
    return merge_steps(box, line_steps(box, *best, box.axes[turn], box.axes[1 - turn]));
}

}  // namespace conset
