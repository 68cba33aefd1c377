#include "conset/scheduling/complete_exchange/exchange_orbits.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "conset/scheduling/complete_exchange/exchange_search.hpp"
#include "conset/scheduling/negotiated.hpp"

namespace conset {

namespace {

using Map = Array<std::int32_t>;

Map identity(const ExchangeBox& box) {
    Map map(as_size(box.nodes()));
    std::iota(map.begin(), map.end(), 0);
    return map;
}

Map after(const Map& outer, const Map& inner) {
    Map map;
    for (const std::int32_t node : inner) map.push_back(outer[node]);
    return map;
}

// Of several sides at once by each generator.
Symmetry reflections(const ExchangeBox& box, const Array<Array<std::int32_t>>& generators) {
    Symmetry group{{identity(box)}, {1}};
    for (const auto& axes : generators) {
        Map mirror = identity(box);
        for (std::int32_t& node : mirror)
            for (const std::int32_t axis : axes)
                node += (box.sides[axis] - 1 - 2 * box.coordinate(node, axis)) * box.strides[axis];
        for (std::int32_t k = 0, before = group.order(); k < before; ++k)
            group.nodes.push_back(after(group.nodes[k], mirror));
        group.orders.push_back(group.order());
    }
    return group;
}

// Divisors of a cycle, itself included, such that moving by one keeps the routes of a line.
Array<std::int32_t> kept_shifts(const ExchangeBox& box, std::int32_t axis) {
    const std::int32_t side = box.sides[axis];
    if (!box.cycle(axis)) return {side};
    const Network line = Network::box({side}, true, box.network.tie());
    Array<std::int32_t> kept;
    for (std::int32_t d = 1; d <= side; ++d) {
        bool keeps = side % d == 0;
        for (std::int32_t s = 0; keeps && s < side; ++s)
            for (std::int32_t t = 0; keeps && t < side; ++t)
                keeps =
                    s == t || line.run(s, 0, s, t).up == line.run((s + d) % side, 0, (s + d) % side, (t + d) % side).up;
        if (keeps) kept.push_back(d);
    }
    return kept;
}

// Shifts of one or two axes by multiples of `step` and `more`.
Symmetry shifts(const ExchangeBox& box, std::int32_t one, std::int32_t step, std::int32_t other, std::int32_t more) {
    Symmetry group;
    const std::int32_t inner = other > one ? box.sides[other] / more : 1;
    for (std::int32_t by = 0; by < box.sides[one]; by += step)
        for (std::int32_t k = 0; k < inner; ++k) {
            Map map = identity(box);
            const auto move = [&](std::int32_t& node, std::int32_t axis, std::int32_t shift) {
                const std::int32_t at = box.coordinate(node, axis);
                node += ((at + shift) % box.sides[axis] - at) * box.strides[axis];
            };
            for (std::int32_t& node : map) {
                move(node, one, by);
                if (other > one) move(node, other, k * more);
            }
            group.nodes.push_back(std::move(map));
        }
    group.orders = {1};
    for (const std::int32_t order : {inner, group.order()})
        if (order > group.orders.back()) group.orders.push_back(order);
    return group;
}

// Of one or two cycles by multiples of what keeps their routes, one group of each order.
Array<Symmetry> translations(const ExchangeBox& box, std::int32_t most) {
    // ties of a line are decided by its own coordinate, unless there are any of a checker
    if (box.network.tie() == Tie::checker && box.has_ties()) return {};
    const auto dimensions = static_cast<std::int32_t>(box.sides.size());
    Array<Array<std::int32_t>> steps;
    for (std::int32_t axis = 0; axis < dimensions; ++axis) steps.push_back(kept_shifts(box, axis));
    std::map<std::int32_t, Symmetry, std::greater<>> groups;
    for (std::int32_t one = 0; one < dimensions; ++one)
        for (std::int32_t other = one; other < dimensions; ++other)
            for (const std::int32_t step : steps[one])
                for (const std::int32_t more : other > one ? steps[other] : Array<std::int32_t>{box.sides[one]}) {
                    const std::int32_t order = box.sides[one] / step * (other > one ? box.sides[other] / more : 1);
                    if (order > 1 && order <= most && !groups.contains(order))
                        groups.emplace(order, shifts(box, one, step, other, more));
                }
    Array<Symmetry> found;
    for (auto& [order, group] : groups) found.push_back(std::move(group));
    return found;
}

}  // namespace

std::int32_t Symmetry::image(const ExchangeBox& box, std::int32_t element, std::int32_t message) const {
    return box.message(nodes[element][box.source(message)], nodes[element][box.target(message)]);
}

Array<Symmetry> symmetries(const ExchangeBox& box, std::int32_t most) {
    Array<Symmetry> found;
    if (!box.is_mesh()) {
        found = translations(box, most);
    } else {
        Array<Array<std::int32_t>> even;
        for (const std::int32_t axis : box.axes)
            if (box.sides[axis] % 2 == 0) even.push_back({axis});
        if (even.size() > 1 && 1 << even.size() <= most) found.push_back(reflections(box, even));
        Array<std::int32_t> all(box.sides.size());
        std::iota(all.begin(), all.end(), 0);
        found.push_back(reflections(box, {all}));
    }
    found.push_back(reflections(box, {}));
    return found;
}

OrbitPacking::OrbitPacking(const ExchangeBox& box, const Symmetry& group) : box_(box), group_(group) {
    Array<bool> seen(as_size(box.messages()), false);
    for (std::int32_t m = 0; m < box.messages(); ++m) {
        if (seen[m]) continue;
        for (std::int32_t element = 0; element < group.order(); ++element) {
            orbit_.push_back(group.image(box, element, m));
            seen[orbit_.back()] = true;
        }
    }
}

// One for each slot: the order of the subgroup under which its phase is its own image.
Array<std::int32_t> OrbitPacking::shares(std::int32_t phases) const {
    const std::int32_t order = group_.order();
    Array<std::int32_t> shares(as_size(phases / order), 1);
    std::int32_t rest = phases % order;
    for (const std::int32_t subgroup : group_.orders) {
        if (subgroup == 1) continue;
        shares.insert(shares.end(), as_size(rest / (order / subgroup)), subgroup);
        rest %= order / subgroup;
    }
    return shares;
}

Array<std::int32_t> OrbitPacking::negotiate(std::int32_t phases, std::int64_t work, std::uint64_t seed) const {
    const std::int32_t order = group_.order(), whole = phases / order;
    const Array<std::int32_t> share = shares(phases);
    const auto slots = static_cast<std::int32_t>(share.size());
    // Of an orbit: one message in any of the whole slots, or those of a coset in a slot of its own images.
    Array<std::int64_t> items{0}, offsets{0};
    Array<std::int32_t> message, first_slot, end_slot;
    for (std::size_t orbit = 0; orbit < orbits(); ++orbit) {
        const auto begin = orbit_.begin() + static_cast<std::ptrdiff_t>(orbit * as_size(order));
        const auto add = [&](std::int32_t together, std::int32_t first, std::int32_t end) {
            message.insert(message.end(), begin, begin + order);
            for (std::int32_t k = 0; k < order / together; ++k) {
                offsets.push_back(offsets.back() + together);
                first_slot.push_back(first);
                end_slot.push_back(end);
            }
        };
        add(1, 0, whole);
        for (std::int32_t slot = whole; slot < slots; ++slot) add(share[slot], slot, slot + 1);
        items.push_back(static_cast<std::int64_t>(first_slot.size()));
    }
    const ExchangeResources all(box_);
    const std::int32_t one[1] = {1}, link[1] = {box_.contention};
    const NegotiatedItems negotiated(box_.network, {all.source, all.target, {}, {}}, one,
                                     {items, offsets, message, first_slot, end_slot});
    Negotiation negotiation(negotiated, slots, {one, one, link, {}}, {1.0, 1.0, 0.2, 1.0}, seed);
    if (negotiation.run(std::int64_t{1} << 30, work) > 0) return {};
    return expand(negotiation.slot_of_messages(), share);
}

// Slots of representatives, -1 of the others, as phases of all messages.
Array<std::int32_t> OrbitPacking::expand(const Array<std::int32_t>& slot, const Array<std::int32_t>& share) const {
    Array<std::int32_t> first{0}, phase(slot.size());
    for (const std::int32_t each : share) first.push_back(first.back() + group_.order() / each);
    for (std::int32_t m = 0; m < box_.messages(); ++m) {
        if (slot[m] < 0) continue;
        for (std::int32_t element = 0; element < group_.order(); ++element)
            phase[group_.image(box_, element, m)] = first[slot[m]] + element / share[slot[m]];
    }
    return phase;
}

}  // namespace conset
