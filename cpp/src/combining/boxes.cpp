#include "conset/combining/boxes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "conset/rows.hpp"

namespace conset {

namespace {

constexpr std::size_t kRounds = 2;  // boxes tried of each number of stages and kind
constexpr std::int32_t kNoRank = -1;

std::int64_t product(View<const std::int64_t> values) {
    return std::accumulate(values.begin(), values.end(), std::int64_t{1}, std::multiplies<>());
}

// Rising factors of at least `least`, behind those that are there.
void add_factors(std::int64_t number, std::int64_t least, BoxSides& before, std::vector<BoxSides>& found) {
    for (std::int64_t factor = least; factor * factor <= number; ++factor) {
        if (number % factor != 0) continue;
        before.push_back(factor);
        add_factors(number / factor, factor, before, found);
        before.pop_back();
    }
    if (number < least) return;
    found.push_back(before);
    found.back().push_back(number);
}

std::vector<BoxSides> factors(std::int64_t number) {
    std::vector<BoxSides> found;
    BoxSides none;
    add_factors(number, 2, none, found);
    return found;
}

// Rising factors: those of single sides, and products of several sides in a row.
std::set<BoxSides> splits(View<const std::int64_t> sides) {
    std::vector<std::set<BoxSides>> found{{BoxSides()}};
    for (std::size_t end = 1; end <= sides.size(); ++end) {
        std::set<BoxSides> here;
        for (std::size_t begin = 0; begin < end; ++begin) {
            const std::vector<BoxSides> own = begin + 1 == end
                                                  ? factors(sides[begin])
                                                  : std::vector<BoxSides>{{product(sides.subspan(begin, end - begin))}};
            for (const BoxSides& before : found[begin])
                for (const BoxSides& each : own) {
                    BoxSides both = before;
                    both.insert(both.end(), each.begin(), each.end());
                    std::sort(both.begin(), both.end());
                    here.insert(std::move(both));
                }
        }
        found.push_back(std::move(here));
    }
    return found.back();
}

// What is left of which radix.
using Rest = std::pair<std::int64_t, std::size_t>;

// After a side has taken its share; nothing where it does not fit.
std::optional<Rest> taken(std::int64_t side, Rest left, View<const std::int64_t> radices) {
    auto [rest, at] = left;
    const bool whole = side > rest || (side == rest && rest > 1);
    while (whole && side > 1) {
        if (side % rest != 0) return std::nullopt;
        side /= rest;
        ++at;
        rest = at < radices.size() ? radices[at] : 1;
        if (side > 1 && rest == 1) return std::nullopt;
    }
    if (rest % side != 0) return std::nullopt;
    return Rest{rest / side, at};
}

// Fills `order` with the dimensions that are `left`; whole ones first. `failed`: what is known not to fit.
bool fill(const BoxSides& sides, View<const std::int64_t> radices, const Array<std::int32_t>& left, Rest rest,
          std::set<std::pair<Array<std::int32_t>, Rest>>& failed, Array<std::int32_t>& order) {
    if (left.empty()) return true;
    if (failed.contains({left, rest})) return false;
    Array<std::int32_t> tries = left;
    std::sort(tries.begin(), tries.end(), [&](std::int32_t one, std::int32_t other) {
        return std::tuple(sides[one] != rest.first, -one) < std::tuple(sides[other] != rest.first, -other);
    });
    std::set<std::int64_t> tried;
    for (const std::int32_t d : tries) {
        if (!tried.insert(sides[d]).second) continue;
        const std::optional<Rest> after = taken(sides[d], rest, radices);
        if (!after) continue;
        Array<std::int32_t> others = left;
        std::erase(others, d);
        order.push_back(d);
        if (fill(sides, radices, others, *after, failed, order)) return true;
        order.pop_back();
    }
    failed.insert({left, rest});
    return false;
}

// The product of the sides behind dimension d: cells from one of its coordinates to the next.
std::int64_t weight_of(const BoxSides& sides, std::int32_t d) {
    return product(View<const std::int64_t>(sides).subspan(as_size(d) + 1));
}

// The cell of every rank.
Array<std::int64_t> cells_of(const StageWay& way, std::int32_t ranks, View<const std::int32_t> source,
                             View<const std::int32_t> target, View<const std::int32_t> node) {
    Array<std::int64_t> cells(as_size(ranks));
    std::iota(cells.begin(), cells.end(), 0);
    if (way.kind == StageWay::Kind::traffic) {
        std::int64_t cell = 0;
        for (const std::int32_t rank : ranks_by_traffic(ranks, source, target)) cells[rank] = cell++;
    }
    if (way.kind != StageWay::Kind::along) return cells;
    const RanksOnNodes on = ranks_on_nodes(node);
    for (std::size_t rank = 0; rank < on.local.size(); ++rank)
        cells[rank] = std::int64_t{node[rank]} * on.crowd + on.local[rank];
    for (std::int64_t& cell : cells) {
        std::int64_t rest = std::exchange(cell, 0);
        for (const std::int32_t d : way.order) {
            cell += rest % way.sides[d] * weight_of(way.sides, d);
            rest /= way.sides[d];
        }
    }
    return cells;
}

using ByStages = std::map<std::size_t, std::vector<BoxSides>>;

ByStages by_stages(const std::vector<BoxSides>& all) {
    ByStages found;
    for (const BoxSides& sides : all) found[sides.size()].push_back(sides);
    return found;
}

StageWay over_numbers(const BoxSides& sides, const BoxNetwork& network) {
    const bool follows = !order_along(sides, network).empty();  // whose word is the sides
    StageWay way{StageWay::Kind::numbers, follows ? "virtual-grid:" + written(sides) + ":identity" : written(sides),
                 sides, Array<std::int32_t>(sides.size())};
    std::iota(way.order.begin(), way.order.end(), 0);
    return way;
}

}  // namespace

std::string written(const BoxSides& sides) {
    std::string text;
    for (const std::int64_t side : sides) text += (text.empty() ? "" : "x") + std::to_string(side);
    return text;
}

Array<std::int32_t> order_along(const BoxSides& sides, const BoxNetwork& network) {
    if (!network.follows) return {};
    Array<std::int64_t> radices(network.sides.rbegin(), network.sides.rend());
    std::erase(radices, 1);
    return fitted_order(sides, radices);
}

std::vector<BoxSides> factorisations(std::int64_t number, View<const std::int64_t> network) {
    std::vector<BoxSides> found;
    if (network.empty()) {
        found = factors(number);
    } else {
        Array<std::int64_t> sides(network.begin(), network.end());
        std::erase_if(sides, [](std::int64_t side) { return side <= 1; });
        const std::set<BoxSides> split = splits(sides);
        std::copy_if(split.begin(), split.end(), std::back_inserter(found),
                     [&](const BoxSides& each) { return product(each) == number; });
    }
    std::erase_if(found, [](const BoxSides& each) { return each.size() < 2; });
    const auto sum = [](const BoxSides& each) { return std::accumulate(each.begin(), each.end(), std::int64_t{0}); };
    std::sort(found.begin(), found.end(), [&](const BoxSides& one, const BoxSides& other) {
        return std::tuple(sum(one), one.size(), one) < std::tuple(sum(other), other.size(), other);
    });
    return found;
}

BoxSides balanced_sides(std::int64_t ranks, std::int64_t stages) {
    const auto power = [&](std::int64_t side) {
        double all = 1;
        for (std::int64_t k = 0; k < stages; ++k) all *= static_cast<double>(side);
        return all;
    };
    const double root = std::pow(static_cast<double>(ranks), 1 / static_cast<double>(stages));
    auto side = std::max(std::int64_t{1}, static_cast<std::int64_t>(std::lround(root)));
    while (power(side) > static_cast<double>(ranks)) --side;
    BoxSides sides(as_size(stages), std::max(side, std::int64_t{1}));
    for (std::size_t d = sides.size(); d-- > 0 && product(sides) < ranks;) ++sides[d];
    return sides;
}

Array<std::int32_t> fitted_order(const BoxSides& sides, View<const std::int64_t> radices) {
    Array<std::int32_t> order, all(sides.size());
    if (product(sides) != product(radices)) return order;
    std::iota(all.begin(), all.end(), 0);
    std::set<std::pair<Array<std::int32_t>, Rest>> failed;
    fill(sides, radices, all, {radices.empty() ? 1 : radices[0], 0}, failed, order);
    return order;
}

Array<std::int32_t> ranks_by_traffic(std::int32_t ranks, View<const std::int32_t> source,
                                     View<const std::int32_t> target) {
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (std::size_t m = 0; m < source.size(); ++m) {
        pairs.emplace_back(source[m], target[m]);
        pairs.emplace_back(target[m], source[m]);
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    Rows near{row_offsets<std::int64_t>(as_size(ranks), pairs.size(), [&](std::size_t k) { return pairs[k].first; }),
              {}};
    for (const auto& pair : pairs) near.items.push_back(pair.second);
    const auto fewer = [&](std::int32_t one, std::int32_t other) {
        return near.of(one).size() < near.of(other).size();
    };
    Array<std::int32_t> order, firsts(as_size(ranks));
    std::iota(firsts.begin(), firsts.end(), 0);
    std::stable_sort(firsts.begin(), firsts.end(), fewer);
    Array<std::uint8_t> known(as_size(ranks), 0);
    for (const std::int32_t first : firsts) {
        if (std::exchange(known[first], 1) != 0) continue;
        order.push_back(first);
        for (std::size_t next = order.size() - 1; next < order.size(); ++next) {
            const std::size_t begin = order.size();
            for (const std::int32_t partner : near.of(order[next]))
                if (std::exchange(known[partner], 1) == 0) order.push_back(partner);
            std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(begin), order.end(), fewer);
        }
    }
    std::reverse(order.begin(), order.end());
    return order;
}

RanksOnNodes ranks_on_nodes(View<const std::int32_t> node) {
    RanksOnNodes on;
    Array<std::int32_t> held(node.empty() ? 0 : as_size(*std::max_element(node.begin(), node.end())) + 1, 0);
    for (const std::int32_t each : node) on.crowd = std::max(on.crowd, on.local.emplace_back(held[each]++) + 1);
    return on;
}

std::vector<StageWay> stage_ways(std::int64_t ranks, const BoxNetwork& network) {
    ByStages follow, plain = by_stages(factorisations(ranks));
    if (network.follows && network.places <= network.fill * ranks) {
        std::vector<BoxSides> found = factorisations(network.places, network.sides);
        std::erase_if(found, [&](const BoxSides& sides) { return order_along(sides, network).empty(); });
        follow = by_stages(found);
    }
    std::size_t most = 1;
    while ((std::int64_t{2} << most) <= ranks) ++most;
    if (!follow.empty()) most = std::max(most, follow.rbegin()->first);
    std::vector<StageWay> ways;
    if (network.crowd > 1 && network.fill > 1)
        ways = {{StageWay::Kind::nodes, "node-aware", {1, 1, 1}, {}},
                {StageWay::Kind::nodes, "node-aware:2", {1, 1}, {}}};
    for (std::size_t round = 0; round < kRounds; ++round)
        for (std::size_t stages = 2; stages <= most; ++stages) {
            if (follow[stages].size() > round) {
                const BoxSides& sides = follow[stages][round];
                ways.push_back({StageWay::Kind::along, written(sides), sides, order_along(sides, network)});
            }
            const auto add_plain = [&](const BoxSides& sides) {
                ways.push_back(over_numbers(sides, network));
                if (!network.by_traffic) return;
                ways.push_back({StageWay::Kind::traffic, "virtual-grid:" + written(sides), sides, ways.back().order});
            };
            if (plain[stages].size() > round) add_plain(plain[stages][round]);
            const BoxSides balanced = balanced_sides(ranks, static_cast<std::int64_t>(stages));
            const bool loose = product(balanced) > ranks && (std::int64_t{1} << stages) <= ranks;
            if (round > 0 || !loose || network.fill < 2) continue;
            if (plain[stages].empty()) add_plain(balanced);
            ways.push_back({StageWay::Kind::ring, "radix:" + written(balanced), balanced, {}});
        }
    return ways;
}

Positions positions_by_nodes(View<const std::int32_t> source, View<const std::int32_t> target,
                             View<const std::int64_t> bytes, View<const std::int32_t> node, std::int32_t steps) {
    struct NodePair {
        std::array<std::int32_t, 2> node, carrier;  // it leaves, it enters
        std::int64_t bytes;
    };
    const std::int32_t nodes = *std::max_element(node.begin(), node.end()) + 1;
    const Rows members = Rows::by(as_size(nodes), node.size(), {}, [&](std::int32_t rank) { return node[rank]; });
    std::map<std::int64_t, NodePair> pairs;
    const auto key = [&](std::size_t m) { return std::int64_t{node[source[m]]} * nodes + node[target[m]]; };
    for (std::size_t m = 0; m < source.size(); ++m)
        pairs.try_emplace(key(m), NodePair{{node[source[m]], node[target[m]]}, {}, 0}).first->second.bytes += bytes[m];
    std::vector<NodePair*> order;
    for (auto& [number, pair] : pairs) {
        if (pair.node[0] == pair.node[1]) pair.bytes = -1;  // stays inside: dealt last, which harms none
        order.push_back(&pair);
    }
    for (const std::size_t end : {0U, 1U}) {
        const auto rank_of = [&](const NodePair* pair) {
            return std::tuple(pair->node[end], -pair->bytes, pair->node[1 - end]);
        };
        std::sort(order.begin(), order.end(), [&](auto* one, auto* other) { return rank_of(one) < rank_of(other); });
        std::size_t place = 0;
        for (std::size_t k = 0; k < order.size(); ++k) {
            place = k > 0 && order[k]->node[end] == order[k - 1]->node[end] ? place + 1 : 0;
            const View<const std::int32_t> own = members.of(order[k]->node[end]);
            const std::size_t turn = place / own.size(), number = place % own.size();
            order[k]->carrier[end] = own[turn % 2 == end ? number : own.size() - 1 - number];
        }
    }
    const Array<std::int32_t> local = ranks_on_nodes(node).local;
    Positions positions(as_size(steps) + 1, Array<std::int32_t>(target.begin(), target.end()));
    positions[0].assign(source.begin(), source.end());
    for (std::size_t m = 0; m < source.size(); ++m) {
        if (node[source[m]] == node[target[m]]) continue;
        const View<const std::int32_t> own = members.of(node[target[m]]);
        if (steps == 2)
            positions[1][m] = own[as_size(local[source[m]]) % own.size()];
        else
            for (const std::size_t end : {0U, 1U}) positions[end + 1][m] = pairs.at(key(m)).carrier[end];
    }
    return positions;
}

Positions positions_along(const StageWay& way, std::int32_t ranks, View<const std::int32_t> source,
                          View<const std::int32_t> target, View<const std::int64_t> bytes,
                          View<const std::int32_t> node) {
    if (way.kind == StageWay::Kind::nodes)
        return positions_by_nodes(source, target, bytes, node, static_cast<std::int32_t>(way.sides.size()));
    Positions positions{Array<std::int32_t>(source.begin(), source.end())};
    if (way.kind == StageWay::Kind::ring) {
        std::int64_t weight = 1;
        for (const std::int64_t base : way.sides) {
            weight *= base;
            Array<std::int32_t>& next = positions.emplace_back(source.size());
            for (std::size_t m = 0; m < source.size(); ++m) {
                const std::int64_t distance = (std::int64_t{target[m]} - source[m] + ranks) % ranks;
                next[m] = static_cast<std::int32_t>((source[m] + distance % weight) % ranks);
            }
        }
        return positions;
    }
    const Array<std::int64_t> cell = cells_of(way, ranks, source, target, node);
    Array<std::int32_t> rank_in(as_size(product(way.sides)), kNoRank);
    for (std::int32_t rank = 0; rank < ranks; ++rank) rank_in[cell[rank]] = rank;
    Array<std::int64_t> wish(source.size());
    for (std::size_t m = 0; m < source.size(); ++m) wish[m] = cell[source[m]];
    for (const std::int32_t d : way.order) {
        const std::int64_t side = way.sides[d], weight = weight_of(way.sides, d);
        Array<std::int32_t> next = positions.back();
        for (std::size_t m = 0; m < source.size(); ++m) {
            wish[m] += (cell[target[m]] / weight % side - wish[m] / weight % side) * weight;
            if (rank_in[wish[m]] != kNoRank) next[m] = rank_in[wish[m]];
        }
        positions.push_back(std::move(next));
    }
    return positions;
}

}  // namespace conset
