// Sharing: max-min fair rates of flows over resources, kept up to date while flows come and go.
//
// Problem. Flow f needs rate w_f * x_f on every resource of its route; a resource carries at most its capacity. Max-min
// fair: every flow has a *bottleneck*, a full resource on which its level x_f is the largest. Progressive filling finds
// the levels: raise one level for all together, freeze the flows of each resource as it fills.
//
// Idea. Two exact solvers over the same flows, chosen by how many flows a resource carries: where they are few,
// `FlowRipple` looks at nothing but what a change reaches; where they are many, `FlowFilling` fills anew from the first
// level that can have changed, over those resources that can fill at all. Flows of one route and weight are one flow
// with several members: they share a level, and their ends are ordered by the service they wait for.
//
// Invariant. After `solve` every flow has a bottleneck, and no resource is above its capacity by more than rounding.
//
// Rounding. Levels are compared with a relative 1e-12, and a rate that would change by less than 1e-11 of itself stays:
// otherwise rounding ripples through the network for ever. Nothing depends on addresses or on threads: the same input
// gives the same bytes.
//
// Complexity: that of the solvers. Memory: 40 bytes per open flow, 20 per resource, and the solvers'.
//
// Reference. Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2 (progressive filling).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "conset/array.hpp"
#include "conset/simulation/flow/filling.hpp"
#include "conset/simulation/flow/ripple.hpp"
#include "conset/simulation/flow/table.hpp"

namespace conset {

class Sharing {
public:
    static constexpr double kNever = FlowTable::kNever;
    static constexpr std::uint64_t kAlone = ~std::uint64_t{0};  // key of a flow that no other member may join

    // `route_of(member, route)`: the resources of a member, at least one, appended to `route`.
    Sharing(Array<double> capacity, FlowTable::RouteOf route_of);

    // The resources of a member that may be added next, so that they need not be asked for.
    void set_route(std::int32_t member, Array<std::int32_t>& route) { table_.set_route(member, route); }

    // Opens a flow for `member`, or joins the open one of the same key (`kAlone`: never). `bytes` > 0. `limit`: what
    // one member can take at most, infinite for none. Rates are right only after `solve`, which comes before ends.
    void add(std::uint64_t key, double weight, double limit, std::int32_t member, double bytes, double now);

    // When the next member ends.
    double next_end() const { return filling_ ? filler_.next_end() : ripple_.next_end(); }

    // Takes out every member that ends by `until`, and calls `ended(member, held_by)` for each.
    template <class Ended>
    void end_until(double until, double now, Ended&& ended);

    // New rates after flows came and went.
    void solve(double now);

    std::int64_t solves() const { return solves_; }
    // Flows of resources that were looked at.
    std::int64_t work() const { return table_.work; }

    // Of each resource, how long bytes have flowed on it; final after the last flow has ended.
    View<const double> busy() const { return busy_; }

    // Every change of a rate since the last call: visit(member, rate).
    template <class Visit>
    void each_change(Visit&& visit);
    void record_changes() { table_.recording = true; }

private:
    using Flow = FlowTable::Flow;
    using Waiting = std::pair<double, std::int32_t>;  // (service at the end, member)
    struct More {                                     // further members of a flow
        double first_end = 0;                         // as `key` of the flow, by the count of `waiting`
        Array<Waiting> waiting;                       // a heap
    };

    std::int32_t open(std::uint64_t key, double weight, double limit, std::int32_t member, double bytes, double now);
    void join(std::int32_t f, std::int32_t member, double bytes, double now);
    void close(std::int32_t f, double now);
    void drop_first(std::int32_t f);
    void choose_solver(double now);
    ServiceClock clock(std::int32_t f) const { return filling_ ? filler_.clock(f) : ripple_.clock(f); }
    std::uint64_t key_of(std::int32_t f) const { return static_cast<std::size_t>(f) < key_.size() ? key_[f] : kAlone; }

    FlowTable table_;
    FlowRipple ripple_;
    FlowFilling filler_;
    bool filling_ = false;
    Array<double> busy_;        // less the times at which flows that are open began
    Array<std::uint64_t> key_;  // by flow; empty where all are alone
    std::unordered_map<std::uint64_t, std::int32_t> open_;
    std::unordered_map<std::int32_t, More> more_;
    std::int64_t carried_in_all_ = 0, used_ = 0, solves_ = 0;
    Array<std::pair<std::int32_t, double>> recorded_ends_;
};

template <class Ended>
void Sharing::end_until(double until, double now, Ended&& ended) {
    const auto take = [&](std::int32_t f, double service) {
        Flow& flow = table_.flows[f];
        std::int32_t gone = 0;
        while (flow.members > gone && (gone == 0 || flow.key <= service)) {
            const std::int32_t member = flow.first;
            if (table_.recording) recorded_ends_.emplace_back(member, 0.0);
            ++gone;
            if (flow.members > gone) drop_first(f);
            ended(member, flow.held_by);
        }
        flow.members -= gone;
        table_.changed.push_back({f, -gone * flow.weight, flow.members == 0});
        if (flow.members == 0) close(f, now);
        return flow.members > 0;
    };
    if (filling_) {
        filler_.end_until(until, take);
    } else {
        ripple_.end_until(until, take);
    }
}

template <class Visit>
void Sharing::each_change(Visit&& visit) {
    for (const auto& [member, rate] : recorded_ends_) visit(member, rate);
    recorded_ends_.clear();
    for (const std::int32_t f : table_.recorded) {
        const Flow& flow = table_.flows[f];
        if (flow.members == 0) continue;
        const double rate = flow.weight * clock(f).level;
        visit(flow.first, rate);
        if (flow.members == 1) continue;
        for (const auto& [end, member] : more_.at(f).waiting) visit(member, rate);
    }
    table_.recorded.clear();
}

}  // namespace conset
