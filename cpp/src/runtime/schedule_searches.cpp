// The methods that weigh times or search: `decreasing`, `event-list`, `negotiated`, each with the constants of its file
// in conset/methods/ for a sweep of effort.
#include <algorithm>
#include <numeric>

#include "conset/network/profile.hpp"
#include "conset/runtime/schedule_methods.hpp"
#include "conset/scheduling/coloring.hpp"
#include "conset/scheduling/connections.hpp"
#include "conset/scheduling/decreasing.hpp"
#include "conset/scheduling/event_list.hpp"
#include "conset/scheduling/first_fit.hpp"
#include "conset/scheduling/negotiated.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

std::int32_t phases_of(const Array<std::int32_t>& phase) {
    return phase.empty() ? 0 : *std::max_element(phase.begin(), phase.end()) + 1;
}

// Messages of falling value, equal ones by index.
Array<std::int32_t> longest_first(const Array<double>& value) {
    Array<std::int32_t> order(value.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return value[a] > value[b]; });
    return order;
}

// [s/B] of a unit of width of every link, or one for all, or none where links cost nothing or there are none.
Array<double> link_seconds(const MachineData& machine, const MachineCosts& costs) {
    if (machine.shape == Shape::crossbar) return {};
    const Array<double> one{costs.link};
    const Array<double>& rate = machine.link_rate.empty() ? one : machine.link_rate;
    Array<double> seconds(std::max(rate.size(), machine.width.size()));
    for (std::size_t k = 0; k < seconds.size(); ++k) {
        const double width = machine.width[machine.width.size() == 1 ? 0 : k];
        seconds[k] = 1 / (rate[rate.size() == 1 ? 0 : k] * width) * width;
    }
    const bool costs_nothing = std::all_of(seconds.begin(), seconds.end(), [](double s) { return s == 0; });
    return costs_nothing ? Array<double>{} : seconds;
}

}  // namespace

Array<double> transfer_times(const MachineData& machine, const MachineCosts& costs, const Routes& routes,
                             View<const std::int64_t> bytes, bool ready) {
    const CostSteps overhead = costs.overhead() + (ready ? CostSteps{{kUnlimited}, {costs.signal}} : costs.requests());
    const double port = std::max({1 / costs.port_out, 1 / costs.port_in, 1 / costs.node});
    const Array<double> link = link_seconds(machine, costs);
    const bool alike =
        link.empty() || std::adjacent_find(link.begin(), link.end(), std::not_equal_to<>()) == link.end();
    Array<double> slowest;
    if (!alike) slowest = slowest_links(routes, link);
    const double common = link.empty() || machine.network.link_slots() == 0 ? port : std::max(port, link[0]);
    Array<double> seconds(bytes.size(), 0.0);
    for (std::size_t k = 0; k < seconds.size(); ++k) {
        const auto size = static_cast<double>(bytes[k]);
        if (routes.leaves(k)) seconds[k] = overhead.at(size) + size * (alike ? common : std::max(port, slowest[k]));
    }
    return seconds;
}

Array<std::int32_t> schedule_decreasing(const MachineData& machine, const RankMessages& messages,
                                        const Resources& resources, std::uint64_t seed, std::int64_t effort) {
    constexpr std::int64_t steps = 500'000, most_entries = std::int64_t{1} << 27;
    if (messages.size() == 0) return {};
    const MachineCosts& costs = machine.costs_for("decreasing");
    const Array<double> duration = transfer_times(machine, costs, resources.routes(), messages.bytes);
    const double opening = costs.barrier + costs.setup;
    Array<std::int32_t> phase = first_fit(resources, longest_first(duration), {}, {});
    Array<std::int32_t> other = first_fit(resources, order_longest_first(resources, unequal_sizes(messages)), {}, {});
    if (phases_length(other, duration, opening) < phases_length(phase, duration, opening)) phase = std::move(other);
    const Limits& limits = resources.limits();
    std::int64_t room = (std::int64_t{limits.send} + limits.receive + limits.channels) * machine.network.nodes();
    const std::int64_t slots = machine.network.link_slots();
    const std::int64_t widths = machine.width.size() == 1
                                    ? machine.width[0] * slots
                                    : std::accumulate(machine.width.begin(), machine.width.end(), std::int64_t{0});
    room += limits.link * widths;
    if (limits.exchange || room * phases_of(phase) > most_entries) return phase;
    const double hot = std::min(0.05, 12 / static_cast<double>(messages.size()));
    return anneal_lengths(resources, duration, opening, std::move(phase), {}, {},
                          {steps * effort, hot, std::min(0.0002, hot / 20), seed});
}

Phases schedule_event_list(const MachineData& machine, const RankMessages& messages, std::uint64_t seed,
                           std::int64_t effort) {
    constexpr std::int64_t most_restarts = 50, most_probes = 8'000'000;
    constexpr double noise = 0.3, rounding = 1 + 1e-12;
    if (messages.size() == 0) return {{0}, {}};
    const MachineCosts& costs = machine.costs_for("event-list");
    const PlacedResources resources(machine, messages, {1, 1, 1, 0, false});
    const Routes& routes = resources.routes();
    const Array<double> duration = transfer_times(machine, costs, routes, messages.bytes);
    const std::int32_t nodes = machine.network.nodes();
    const TimeLines lines(routes, machine.width, costs.half_duplex());
    Array<std::int64_t> degree(as_size(2 * nodes), 0);
    Array<double> work(as_size(2 * nodes), 0.0);
    for (std::size_t k = 0; k < messages.size(); ++k) {
        for (const std::int32_t end : {routes.source[k], nodes + routes.target[k]}) {
            ++degree[end];
            work[end] += duration[k];
        }
    }
    const auto count = static_cast<std::int64_t>(messages.size());
    const std::int64_t busiest = *std::max_element(degree.begin(), degree.end());
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    const auto restarts =
        static_cast<std::int32_t>(std::min({most_restarts * effort, most_probes * effort / (count * busiest), most}));
    const Array<std::int64_t> together{0, count};
    const double least = *std::max_element(work.begin(), work.end());
    const auto last_end = [](const Timetable& table) { return *std::max_element(table.end.begin(), table.end.end()); };
    Timetable first = time_event_list(lines, together, duration, {}, {}, restarts, noise, seed);
    Timetable best = first;
    for (int round = 0; round < 2 && last_end(first) > least * rounding; ++round) {
        const Array<std::int32_t> phase =
            round == 0 ? color_ports(nodes, routes.source, routes.target, seed)
                       : first_fit(resources, order_longest_first(resources, messages.bytes), {}, {});
        Array<std::int32_t> order(phase.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return phase[a] < phase[b]; });
        Timetable table = time_in_order(lines, order, together, duration, {}, {});
        if (last_end(table) < last_end(best)) best = std::move(table);
    }
    Array<std::int32_t> order(messages.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
        return best.start[a] != best.start[b] ? best.start[a] < best.start[b] : best.end[a] < best.end[b];
    });
    Phases phases{together, order};
    for (const std::int32_t m : order) {
        phases.start.push_back(best.start[m]);
        phases.end.push_back(best.end[m]);
    }
    return phases;
}

Array<std::int32_t> schedule_negotiated(const MachineData& machine, const Resources& resources,
                                        Array<std::int32_t> phase, std::uint64_t seed, std::int64_t effort) {
    constexpr std::int64_t work = 2'000'000'000, cells = std::int64_t{1} << 28;
    const Limits& limits = resources.limits();
    const std::int64_t sweeps = (limits.exchange ? 100'000 : 10'000) * effort;
    const auto one = [](std::int32_t limit) { return limit == 0 ? Array<std::int32_t>{} : Array<std::int32_t>{limit}; };
    const Array<std::int32_t> send = one(limits.send), receive = one(limits.receive), link = one(limits.link),
                              channels = one(limits.channels);
    const SlotLimits slot_limits{send, receive, link, channels};
    const NegotiatedItems items(machine.network, {resources.routes().source, resources.routes().target, {}, {}},
                                machine.width, limits.exchange);
    const std::int32_t least = items.least_slots(slot_limits);
    auto most = static_cast<std::int32_t>(group_phases(phase).offsets.size()) - 1;
    if (resources.count() * std::int64_t{most} > cells) return phase;
    // From the bound upwards in steps that double where a try was cut short, halving the range after a success.
    bool found = false;
    std::int32_t low = least, slots = least, step = 1;
    while (slots < most && !stop_asked()) {
        Negotiation negotiation(items, slots, slot_limits, {1.0, 1.0, 0.2, 1.0}, seed);
        const std::int64_t excess = negotiation.run(sweeps, work * effort);
        if (excess == 0) {
            phase = negotiation.slot_of_messages();
            most = slots;
            found = true;
        } else {
            low = slots + 1;
            if (negotiation.sweeps() < sweeps) step *= 2;
        }
        slots = found ? (low + most) / 2 : slots + step;
    }
    return phase;
}

}  // namespace conset
