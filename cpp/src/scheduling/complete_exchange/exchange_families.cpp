#include "conset/scheduling/complete_exchange/exchange_families.hpp"

#include <algorithm>
#include <numeric>

#include "conset/scheduling/complete_exchange/exchange_box.hpp"
#include "conset/scheduling/complete_exchange/transversal.hpp"

namespace conset {

namespace {

// Longer sides have their folded family only: full ones serve short sides and large contention.
constexpr std::int32_t kLargestFull = 257;

class FactorTables {
public:
    FactorTables(std::int32_t side, bool cycle, bool ties_up) : cycle_(cycle), ties_up_(ties_up) {
        const std::size_t cells = as_size(side) * as_size(side);
        const std::int32_t vertices = side / 2 + side % 2, start = side % 4 == 0 ? 1 : 0;
        tables_ = {side,
                   Array<std::int32_t>(cells, -1),
                   Array<std::int32_t>(cells, 0),
                   Array<std::int32_t>(cells, 0),
                   vertices - 1 + vertices % 2 + start,
                   (vertices + 1) / 2};
        // Circle method. Even: q = vertices - 1 factors, pair 0 is {i, q}. Odd: q = vertices factors, entry 0 is i
        // alone. Pair k is {i + 2k, i - 2k} mod q.
        const bool even = vertices % 2 == 0;
        const std::int32_t q = even ? vertices - 1 : vertices;
        for (std::int32_t i = 0; i < q; ++i)
            for (std::int32_t k = 0; k < (q + 1) / 2; ++k) {
                const std::int32_t one = (i + 2 * k) % q;
                const std::int32_t other = k > 0 ? modulo(i - 2 * k, q) : even ? q : i;
                put_pair(i + start, k, std::min(one, other), std::max(one, other));
                if (start == 1 && i == 0) put_identity(k, std::min(one, other), std::max(one, other));
            }
    }

    Factors give() { return std::move(tables_); }

private:
    std::int32_t bar(std::int32_t u) const { return cycle_ ? u + tables_.side / 2 : tables_.side - 1 - u; }

    void put(std::int32_t factor, std::int32_t block, std::int32_t type, std::int32_t x, std::int32_t y) {
        const std::size_t at = cell(x, tables_.side, y);
        tables_.factor[at] = factor;
        tables_.block[at] = block;
        tables_.type[at] = type;
    }

    // The tiles of an edge {u, v} or {u, z}, or the vertex left out where both are one.
    void put_pair(std::int32_t factor, std::int32_t block, std::int32_t u, std::int32_t v) {
        if (u == v) return put_left_out(factor, u);
        const bool odd = tables_.side % 2 == 1 && v == tables_.side / 2;
        Array<std::int32_t> nodes{u, v, bar(u), bar(v)};
        if (odd) nodes = cycle_ ? Array<std::int32_t>{u, bar(u), tables_.side - 1} : Array<std::int32_t>{u, v, bar(u)};
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            const std::int32_t x = nodes[k], y = nodes[(k + 1) % nodes.size()];
            put(factor, block, 0, x, y);
            put(factor, block, 1, y, x);
        }
    }

    void put_left_out(std::int32_t factor, std::int32_t u) {
        const std::int32_t side = tables_.side;
        if (side % 2 == 1 && u == side / 2) {
            const std::int32_t z = cycle_ ? side - 1 : u;
            return put(factor, 0, 0, z, z);
        }
        const bool odd = side % 2 == 1;
        const std::int32_t flip = cycle_ && !ties_up_ ? u % 2 : cycle_ ? 0 : 1;
        for (const std::int32_t x : {u, bar(u)}) {
            put(factor, 0, odd ? 0 : 1 - flip, x, x);
            if (!odd) put(factor, 0, flip, x, x == u ? bar(u) : u);
        }
    }

    void put_identity(std::int32_t block, std::int32_t u, std::int32_t v) {
        const std::int32_t first = !cycle_ || u % 2 == 0 ? u : v;
        for (const std::int32_t type : {0, 1}) {
            const std::int32_t x = type == 0 ? first : u + v - first;
            for (const std::int32_t node : {x, bar(x)}) {
                put(0, block, type, node, node == x ? bar(x) : x);
                put(0, block, 1 - type, node, node);
            }
        }
    }

    bool cycle_, ties_up_;
    Factors tables_{};
};

// The label of every arc of a path, from its block and factor.
Array<std::int32_t> path_labels(const Factors& factors) {
    const std::int32_t side = factors.side, labels = std::max(factors.blocks - (factors.leaves_one() ? 1 : 0), 1);
    Array<std::int32_t> label(factors.block);
    for (std::size_t at = 0; at < label.size(); ++at) {
        const std::int32_t k = factors.block[at], i = std::max(factors.factor[at] - (side % 4 == 0 ? 1 : 0), 0);
        if (side % 4 == 2)  // tiles before the special block, whose stays need no label
            label[at] = k > 0 ? k - 1 : factors.type[at] == 1 ? factors.blocks - 1 : 0;
        else
            label[at] = modulo((i % 2 == 0 ? k : -k) - (side % 4 == 1 ? i / 2 : (i + 1) / 2), labels);
    }
    return label;
}

// Labels of a cycle counted again where block 0 does not move: the blocks of a direction are numbered from 0.
void number_moving_blocks(const Factors& factors, const Array<std::int32_t>& permutation, Array<std::int32_t>& label) {
    const std::int32_t side = factors.side, blocks = factors.blocks;
    const auto row = [&](std::size_t at) { return 2 * permutation[at] + factors.type[at]; };
    Array<std::int32_t> number(as_size(4 * factors.count) * as_size(blocks), 0);
    const auto each_moving = [&](auto&& visit) {
        for (std::size_t at = 0; at < label.size(); ++at)
            if (at % as_size(side + 1) != 0) visit(at);
    };
    each_moving([&](std::size_t at) { number[cell(row(at), blocks, factors.block[at])] = 1; });
    for (std::int32_t r = 0; r < 4 * factors.count; ++r) {
        const auto begin = number.begin() + std::int64_t{r} * blocks;
        std::exclusive_scan(begin, begin + blocks, begin, 0);
    }
    each_moving([&](std::size_t at) { label[at] = number[cell(row(at), blocks, factors.block[at])]; });
}

// A family with its loads: one more than the largest label of an arc that moves.
Family with_loads(std::int32_t side, Array<std::int32_t> permutation, Array<std::int32_t> label,
                  Array<std::int32_t> factor) {
    Array<std::int32_t> load(factor.size(), 0);
    const auto moves = [&](std::size_t at) { return at % as_size(side + 1) != 0; };
    for (std::size_t at = 0; at < label.size(); ++at)
        if (moves(at)) load[permutation[at]] = std::max(load[permutation[at]], label[at] + 1);
    for (std::size_t at = 0; at < label.size(); ++at)
        if (!moves(at)) label[at] %= std::max(load[permutation[at]], 1);
    return {side, std::move(permutation), std::move(label), std::move(load), std::move(factor)};
}

Array<std::int32_t> rising(std::int32_t count) {
    Array<std::int32_t> numbers(as_size(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

// Factors and types as permutations.
Family folded_family(std::int32_t side, bool cycle) {
    const Factors factors = build_factors(side, cycle);
    Array<std::int32_t> permutation(factors.factor.size()), label = cycle ? factors.block : path_labels(factors);
    for (std::size_t at = 0; at < permutation.size(); ++at) {
        const std::int32_t block = factors.block[at], type = factors.type[at];
        permutation[at] = 2 * factors.factor[at] + (cycle ? type ^ (block & 1) : type);
        if (cycle) label[at] = block / 2;
    }
    if (cycle && factors.leaves_one()) number_moving_blocks(factors, permutation, label);
    const std::int32_t count = 2 * factors.count + (factors.has_identity() ? 1 : 0);
    for (std::size_t at = 0; at < permutation.size(); ++at)
        if (factors.factor[at] < 0) {
            permutation[at] = count - 1;
            label[at] = 0;
        }
    Array<std::int32_t> factor = rising(count);
    for (std::int32_t& entry : factor) entry /= 2;
    return with_loads(side, std::move(permutation), std::move(label), std::move(factor));
}

// Fewest labels for each permutation of a path, by colouring intervals: arcs that go up, and arcs that go down, are
// intervals of links; swept from the left each takes the lowest free label, which needs no more labels than the busiest
// link has arcs.
Array<std::int32_t> interval_labels(const Array<std::int32_t>& permutation, std::int32_t side) {
    Array<std::int32_t> label(permutation.size(), 0), order = rising(side * side);
    const auto low = [side](std::int32_t arc) { return std::min(arc / side, arc % side); };
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return permutation[a] != permutation[b] ? permutation[a] < permutation[b] : low(a) < low(b);
    });
    Array<Array<std::int32_t>> free_at(as_size(2 * side));
    for (const std::int32_t arc : order) {
        const std::int32_t x = arc / side, y = arc % side;
        if (x == y) continue;
        Array<std::int32_t>& taken = free_at[2 * permutation[arc] + (x < y ? 1 : 0)];
        const auto found = std::find_if(taken.begin(), taken.end(), [&](std::int32_t end) { return end <= low(arc); });
        label[arc] = static_cast<std::int32_t>(found - taken.begin());
        if (found == taken.end())
            taken.push_back(std::max(x, y));
        else
            *found = std::max(x, y);
    }
    return label;
}

// Nothing where no transversal was found.
Array<Family> full_family(const Family& inner, std::uint64_t seed) {
    const std::int32_t side = inner.side + 1, middle = side / 2;
    const Array<std::int32_t> target = find_transversal(inner.side, inner.permutation, side / 4 + 1, seed);
    if (target.empty()) return {};
    const auto old = [middle](std::int32_t node) { return node < middle ? node : node + 1; };
    Array<std::int32_t> permutation(as_size(side) * as_size(side), side - 1);
    for (std::int32_t x = 0; x < inner.side; ++x)
        for (std::int32_t y = 0; y < inner.side; ++y) {
            const std::int32_t symbol = inner.permutation[cell(x, inner.side, y)];
            if (target[x] != y) {
                permutation[cell(old(x), side, old(y))] = symbol;
                continue;
            }
            permutation[cell(old(x), side, middle)] = permutation[cell(middle, side, old(y))] = symbol;
        }
    Array<std::int32_t> label = interval_labels(permutation, side);
    return {with_loads(side, std::move(permutation), std::move(label), rising(side))};
}

Family reflected_family(std::int32_t side) {
    Array<std::int32_t> permutation(as_size(side) * as_size(side)), label(permutation);
    for (std::int32_t x = 0; x < side; ++x)
        for (std::int32_t y = 0; y < side; ++y) {
            const auto center = static_cast<std::int32_t>(std::int64_t{x + y} * ((side + 1) / 2) % side);
            const std::int32_t ahead = modulo(x - center, side), away = std::min(ahead, side - ahead);
            permutation[cell(x, side, y)] = (x + y) % side;
            label[cell(x, side, y)] = away <= (side - 1) / 4 ? std::max(away - 1, 0) : side / 2 - away;
        }
    return with_loads(side, std::move(permutation), std::move(label), rising(side));
}

}  // namespace

Factors build_factors(std::int32_t side, bool cycle, bool ties_up) { return FactorTables(side, cycle, ties_up).give(); }

const Array<Family>& Families::of(std::int32_t side, bool cycle) {
    const auto [place, is_new] = made_.try_emplace({side, cycle});
    Array<Family>& families = place->second;
    if (!is_new) return families;
    families.push_back(folded_family(side, cycle));
    if (side % 4 != 1 || side == 1 || side > kLargestFull) return families;
    const Array<Family> more =
        cycle ? Array<Family>{reflected_family(side)} : full_family(folded_family(side - 1, false), seed_);
    families.insert(families.end(), more.begin(), more.end());
    return families;
}

}  // namespace conset
