// What the simulators' bindings share: a workload and an execution, bound once and used by every run.
#pragma once

#include "bindings.hpp"
#include "conset/release.hpp"

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

    Routes routes() const { return {*network, view(source), view(target), view(route_offsets), view(route_links)}; }
    template <class Time>
    Messages<Time> messages(std::span<const Time> times) const {
        return {view(sender),      view(receiver), view(bytes),         times,
                view(dep_offsets), view(deps),     view(phase_offsets), view(order)};
    }
};

template <class Time>
struct BoundExecution {
    Execution<Time> execution;
    In<Time> send, receive, copy;

    Execution<Time> with(double until, std::int64_t work, bool detailed) const {
        Execution<Time> result = execution;
        result.send = view(send);
        result.receive = view(receive);
        result.copy = view(copy);
        if (until < static_cast<double>(kNeverOf<Time>)) result.until = static_cast<Time>(until);
        if (work >= 0) result.work = work;
        result.detailed = detailed;
        return result;
    }
};

}  // namespace conset::bindings
