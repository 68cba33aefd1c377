// What the simulators' bindings share: a workload and an execution, bound once and used by every run.
#pragma once

#include "checks.hpp"
#include "conset/simulation/release/release.hpp"
#include "conset/simulation/streaming.hpp"

namespace conset::bindings {

struct BoundWorkload {
    const Network* network;
    In<std::int32_t> source, target;
    In<std::int64_t> route_offsets;
    In<std::int32_t> route_links;
    In<std::int64_t> bytes;
    In<std::int32_t> sender, receiver;
    In<double> time;
    In<std::int64_t> dep_offsets;
    In<std::int32_t> deps;
    In<std::int64_t> phase_offsets;
    In<std::int32_t> order;

    std::size_t size() const { return source.shape(0); }
    Routes routes() const { return {*network, view(source), view(target), view(route_offsets), view(route_links)}; }
    template <class Time>
    Messages<Time> messages(View<const Time> times) const {
        return {view(sender),      view(receiver), view(bytes),         times,
                view(dep_offsets), view(deps),     view(phase_offsets), view(order)};
    }
};

// What messages cost in a network of fluids.
struct BoundRates {
    In<double> link;
    In<std::int32_t> width;
    double out, in, node, exchange_weight, startup;
    In<double> latency, hop;

    // They fit the network, and what messages pay their number.
    Rates of(const BoundWorkload& work) const {
        const Network& network = *work.network;
        check_each("link", link.shape(0), static_cast<std::size_t>(network.link_slots()));
        check_numbers("link", view(link));
        check_width(network, view(width));
        check_each("latency", latency.shape(0), work.size());
        check_each("hop", hop.shape(0), work.size());
        check_finite("latency", view(latency));
        check_finite("hop", view(hop));
        return {view(link), view(width), out, in, node, exchange_weight, startup};
    }
};

template <class Time>
struct BoundExecution {
    Execution<Time> execution;
    In<Time> send, receive, copy, delay;

    Execution<Time> with(std::size_t messages, double until, std::int64_t work, bool detailed,
                         bool startup = false) const {
        check_each_or_none("send", send.shape(0), messages);
        check_each_or_none("receive", receive.shape(0), messages);
        check_each_or_none("copy", copy.shape(0), messages);
        check_each_or_none("delay", delay.shape(0), messages);
        Execution<Time> result = execution;
        result.send = view(send);
        result.receive = view(receive);
        result.copy = view(copy);
        result.delay = view(delay);
        if (until < static_cast<double>(kNeverOf<Time>)) result.until = static_cast<Time>(until);
        if (work >= 0) result.work = work;
        result.detailed = detailed;
        result.startup = startup;
        return result;
    }
};

}  // namespace conset::bindings
