#include "conset/scheduling/first_fit.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "conset/random.hpp"
#include "conset/scheduling/occupancy.hpp"
#include "conset/scheduling/precedence.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

// One stable pass of a radix sort by 16 bits of digit(transfer), smallest first.
template <class Digit>
void sort_by_digit(Array<std::int32_t>& order, Array<std::int32_t>& spare, Digit&& digit) {
    Array<std::int64_t> next(std::size_t{1} << 16U, 0);
    for (const std::int32_t k : order) ++next[digit(k)];
    if (order.empty() || next[digit(order[0])] == static_cast<std::int64_t>(order.size())) return;  // all equal
    std::int64_t sum = 0;
    for (std::int64_t& entry : next) sum += std::exchange(entry, sum);
    spare.resize(order.size());
    for (const std::int32_t k : order) spare[next[digit(k)]++] = k;
    order.swap(spare);
}

// Stable, largest key first, by the low `bits` of key(transfer).
template <class Key>
void sort_descending(Array<std::int32_t>& order, Array<std::int32_t>& spare, unsigned bits, Key&& key) {
    for (unsigned shift = 0; shift < bits; shift += 16)
        sort_by_digit(order, spare, [&](std::int32_t k) { return 0xffffU - ((key(k) >> shift) & 0xffffU); });
}

// The scheduling proper: a row of bits for each resource that can be full at all.
class FirstFit {
public:
    explicit FirstFit(const Resources& resources)
        : resources_(resources),
          row_of_(static_cast<std::size_t>(resources.count()), kRoomy),
          phase_(resources.routes().size(), 0) {
        const Array<std::int32_t> load = resources.loads();
        for (std::int32_t resource = 0; resource < resources.count(); ++resource) {
            const std::int32_t capacity = load[resource] == 0 ? 0 : resources.capacity(resource);
            if (load[resource] <= capacity) continue;
            const std::int32_t slots = resources.is_port(resource) ? resources.limits().planes : 1;
            row_of_[resource] = occupancy_.add_row(capacity, slots);
        }
        if (resources.limits().exchange) add_exchange_rows();
    }

    // Places transfer k in `phase` where it fits there; no exchange.
    bool keep(std::int32_t k, std::int32_t phase) {
        list_taken(k);
        if (std::any_of(taken_.begin(), taken_.end(), [&](std::int32_t row) { return occupancy_.full(row, phase); }))
            return false;
        for (const std::int32_t row : taken_) occupancy_.take(row, phase);
        phase_[k] = phase;
        return true;
    }

    // Places transfer k in phase `start` or later.
    std::int32_t place(std::int32_t k, std::int32_t start) {
        list_taken(k);
        const bool exchange = resources_.limits().exchange && resources_.routes().leaves(k);
        const std::int32_t phase = exchange ? find_exchange(k, start) : occupancy_.find(taken_, start);
        for (const std::int32_t row : taken_) occupancy_.take(row, phase);
        if (exchange) mark_exchange(k, phase);
        return phase_[k] = phase;
    }

    Array<std::int32_t> give() { return std::move(phase_); }

private:
    static constexpr std::int32_t kRoomy = -1;  // can never be full

    void list_taken(std::int32_t k) {
        taken_.clear();
        resources_.each(k, [&](std::int32_t resource) {
            if (row_of_[resource] != kRoomy) taken_.push_back(row_of_[resource]);
        });
    }

    std::int32_t node(std::size_t which, std::int32_t v) const {
        return exchange_base_ + static_cast<std::int32_t>(which) * resources_.routes().network.nodes() + v;
    }
    std::int32_t sends(std::int32_t v) const { return node(0, v); }
    std::int32_t receives(std::int32_t v) const { return node(1, v); }
    std::int32_t has_partners(std::int32_t v) const { return node(2, v); }  // two or more, or possibly so

    // Rows that mark in which phases a node sends, receives, has several partners; and the transfers by their ends.
    void add_exchange_rows() {
        const Routes& routes = resources_.routes();
        exchange_base_ = occupancy_.rows();
        for (std::int32_t k = 0; k < 3 * routes.network.nodes(); ++k) occupancy_.add_row(1);
        placed_.assign(routes.size(), false);
        by_ends_.resize(routes.size());
        for (std::size_t k = 0; k < by_ends_.size(); ++k) by_ends_[k] = static_cast<std::int32_t>(k);
        std::sort(by_ends_.begin(), by_ends_.end(),
                  [&](std::int32_t a, std::int32_t b) { return std::tuple(ends(a), a) < std::tuple(ends(b), b); });
    }

    std::pair<std::int32_t, std::int32_t> ends(std::int32_t k) const {
        return {resources_.routes().source[k], resources_.routes().target[k]};
    }

    // A phase in which the source receives nothing and the target sends nothing, or an earlier one that holds a
    // transfer back from the target while neither end has another partner.
    std::int32_t find_exchange(std::int32_t k, std::int32_t start) {
        const auto [x, y] = ends(k);
        taken_.push_back(receives(x));
        taken_.push_back(sends(y));
        std::int32_t phase = occupancy_.find(taken_, start);
        taken_.resize(taken_.size() - 2);
        const std::pair back{y, x};
        auto at = std::lower_bound(by_ends_.begin(), by_ends_.end(), back,
                                   [&](std::int32_t a, const auto& key) { return ends(a) < key; });
        for (; at != by_ends_.end() && ends(*at) == back; ++at) {
            const std::int32_t q = phase_[*at];
            if (!placed_[*at] || q < start || q >= phase) continue;
            if (occupancy_.full(has_partners(x), q) || occupancy_.full(has_partners(y), q)) continue;
            if (std::none_of(taken_.begin(), taken_.end(), [&](std::int32_t row) { return occupancy_.full(row, q); }))
                phase = q;
        }
        return phase;
    }

    void mark_exchange(std::int32_t k, std::int32_t phase) {
        const auto [x, y] = ends(k);
        // A second transfer in the same direction may have another partner; who that is is not kept.
        if (occupancy_.full(sends(x), phase)) occupancy_.mark(has_partners(x), phase);
        if (occupancy_.full(receives(y), phase)) occupancy_.mark(has_partners(y), phase);
        occupancy_.mark(sends(x), phase);
        occupancy_.mark(receives(y), phase);
        placed_[k] = true;
    }

    const Resources& resources_;
    Occupancy occupancy_;
    Array<std::int32_t> row_of_, phase_, taken_;
    std::int32_t exchange_base_ = 0;
    Array<bool> placed_;
    Array<std::int32_t> by_ends_;
};

// Places transfers as they become ready, the first in `order` first, each after its predecessors.
void place_ordered(FirstFit& fit, Precedence& precedence, View<const std::int32_t> order) {
    Array<std::int32_t> rank(order.size()), start(order.size(), 0);
    for (std::size_t at = 0; at < order.size(); ++at) rank[order[at]] = static_cast<std::int32_t>(at);
    std::priority_queue<std::int32_t, Array<std::int32_t>, std::greater<>> ready;
    for (std::size_t k = 0; k < order.size(); ++k)
        if (precedence.ready(k)) ready.push(rank[k]);
    StopPoll poll;
    while (!ready.empty()) {
        poll.count();
        const std::int32_t k = order[ready.top()];
        ready.pop();
        const std::int32_t phase = fit.place(k, start[k]);
        precedence.release(k, [&](std::int32_t successor, bool now) {
            start[successor] = std::max(start[successor], phase + 1);
            if (now) ready.push(rank[successor]);
        });
    }
}

// Transfers phase by phase, the phases in the order of a sweep.
Array<std::int32_t> order_by_phases(const Array<std::int32_t>& slot, std::int32_t planes, std::int64_t sweep,
                                    Random& random) {
    Array<std::int64_t> key(as_size(*std::max_element(slot.begin(), slot.end()) / planes + 1), 0);
    if (sweep % 3 == 2) {
        for (const std::int32_t k : slot) --key[k / planes];
    } else {
        std::iota(key.begin(), key.end(), std::int64_t{0});
        if (sweep % 3 == 1) std::reverse(key.begin(), key.end());
        if (sweep % 3 == 0) random.shuffle(std::span(key));
    }
    Array<std::int32_t> order(slot.size());
    std::iota(order.begin(), order.end(), 0);
    const auto place = [&](std::int32_t k) { return key[slot[k] / planes] * planes + slot[k] % planes; };
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return place(a) < place(b); });
    return order;
}

}  // namespace

Array<std::int32_t> order_longest_first(const Resources& resources, View<const std::int64_t> size) {
    const Routes& routes = resources.routes();
    Array<std::int32_t> order(routes.size()), spare;
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int32_t>(k);
    {
        const Array<std::int32_t> load = resources.loads();
        Array<float> relative(load.size(), 0);
        for (std::size_t resource = 0; resource < load.size(); ++resource) {
            if (load[resource] == 0) continue;
            relative[resource] = static_cast<float>(load[resource]) /
                                 static_cast<float>(resources.capacity(static_cast<std::int32_t>(resource)));
        }
        Array<std::uint32_t> heaviest(routes.size(), 0);  // bits of floats of one sign are in their order
        for (std::size_t k = 0; k < heaviest.size(); ++k) {
            resources.each(k, [&](std::int32_t resource) {
                heaviest[k] = std::max(heaviest[k], std::bit_cast<std::uint32_t>(relative[resource]));
            });
        }
        sort_descending(order, spare, 32, [&](std::int32_t k) { return heaviest[k]; });
    }
    if (!size.empty())
        sort_descending(order, spare, 64, [&](std::int32_t k) { return static_cast<std::uint64_t>(size[k]); });
    Array<std::int32_t> hops(routes.size(), 0);
    for (std::size_t k = 0; k < hops.size(); ++k) routes.each_link(k, [&](std::int32_t) { ++hops[k]; });
    sort_descending(order, spare, 32, [&](std::int32_t k) { return static_cast<std::uint32_t>(hops[k]); });
    return order;
}

Array<std::int32_t> first_fit(const Resources& resources, View<const std::int32_t> order,
                              View<const std::int32_t> first, View<const std::int32_t> second) {
    FirstFit fit(resources);
    Precedence precedence(order.size(), first, second);
    if (precedence.empty()) {
        StopPoll poll;
        for (const std::int32_t k : order) {
            poll.count();
            fit.place(k, 0);
        }
    } else {
        place_ordered(fit, precedence, order);
    }
    return fit.give();
}

Array<std::int32_t> first_fit_around(const Resources& resources, View<const std::int32_t> start) {
    FirstFit fit(resources);
    Array<std::int32_t> rest, hops(start.size(), 0);
    for (std::int32_t k = 0; as_size(k) < start.size(); ++k) {
        if (start[k] >= 0 && fit.keep(k, start[k])) continue;
        rest.push_back(k);
        resources.routes().each_link(k, [&](std::int32_t) { ++hops[k]; });
    }
    std::stable_sort(rest.begin(), rest.end(), [&](std::int32_t a, std::int32_t b) { return hops[a] > hops[b]; });
    for (const std::int32_t k : rest) fit.place(k, 0);
    return fit.give();
}

Array<std::int32_t> first_fit_sweeps(const Resources& resources, View<const std::int64_t> size,
                                     View<const std::int32_t> first, View<const std::int32_t> second,
                                     std::int64_t sweeps, std::uint64_t seed) {
    Array<std::int32_t> best = first_fit(resources, order_longest_first(resources, size), first, second);
    Array<std::int32_t> current = best;
    const auto last_slot = [](const Array<std::int32_t>& slot) { return *std::max_element(slot.begin(), slot.end()); };
    const std::int32_t least = sweeps > 1 ? resources.least_phases() : 0, planes = resources.limits().planes;
    Random random(seed);
    for (std::int64_t sweep = 1; sweep < sweeps && !best.empty(); ++sweep) {
        const std::int32_t phases = last_slot(best) / planes + 1;
        publish(phases, least);
        if (phases <= least || should_stop(true)) break;
        try {
            current = first_fit(resources, order_by_phases(current, planes, sweep, random), first, second);
        } catch (const Interrupted&) {  // a sweep that was cut short gives nothing, but those before it did
            break;
        }
        if (last_slot(current) < last_slot(best)) best = current;
    }
    return best;
}

}  // namespace conset
