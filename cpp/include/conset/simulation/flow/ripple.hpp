// FlowRipple: max-min fair rates where few flows share a resource; looks at nothing but what a change reaches.
//
// Idea. Only resources whose flows changed are touched. Each has the level at which it would fill: the root of
// sum w * min(x_f, x) = capacity, where flows it holds and undecided ones count as unlimited; a concave, piecewise
// linear function, so Newton's steps from the left take two or three passes. In rising order of these levels every
// decision is final: a flow whose level falls gives its other resources room, so what they hold becomes undecided; a
// flow whose level rises touches its resources; where nothing changes the ripple stops.
// Most touched resources end as nobody's bottleneck. So each keeps the sum of its flows' rates: what that leaves,
// shared by undecided flows, is a bound of its level from below, good enough to wait its turn with; and once none of
// its flows is undecided and it has room left, it is out. Its flows are looked at only when its turn comes before that.
//
// Trap. With ties a resource may hold no flow at one instant and be needed later: ask whether it holds flows now, never
// whether it was full.
//
// Complexity. Touched resources, and the flows of those whose turn comes, times the passes. Memory: 64 bytes per open
// flow, 8 per hop.
#pragma once

#include <algorithm>
#include <cstdint>

#include "conset/array.hpp"
#include "conset/simulation/flow/heap.hpp"
#include "conset/simulation/flow/table.hpp"

namespace conset {

class FlowRipple {
public:
    explicit FlowRipple(FlowTable& table) : table_(table) {}

    // Takes over all open flows but the table's `opened`, as they flow at `now`: `clock_of(flow)`.
    template <class ClockOf>
    void begin(ClockOf&& clock_of);
    void leave();

    void solve(double now);

    ServiceClock clock(std::int32_t f) const { return known(f) ? flows_[f].clock : ServiceClock{}; }

    double next_end() const { return ends_.empty() ? ServiceClock::kNever : ends_.top_key(); }

    template <class Take>  // take(flow, service): takes out members that end by this service; whether some are left
    void end_until(double until, Take&& take) {
        while (!ends_.empty() && ends_.top_key() <= until) {
            const std::int32_t f = ends_.top();
            const Flow& flow = flows_[f];
            if (take(f, flow.clock.service(until))) {
                ends_.set(f, flow.clock.end(table_.flows[f].key));
            } else {
                ends_.erase(f);
                if (flow.held_by >= 0) --holds_[flow.held_by];
            }
        }
    }

private:
    struct alignas(64) Flow {  // one cache line with all that a resource asks of its flows
        ServiceClock clock;
        double weight = 0;       // of all its members; 0: closed, or not known yet
        std::int32_t route = 0;  // into hops_
        std::int32_t hops = 0;
        std::int32_t held_by = -1;
        std::uint32_t mark = 0;  // 2 event_: undecided; 2 event_ + 1: decided
    };

    struct Awaits {  // undecided flows of a resource, during an event
        std::uint32_t event = 0;
        std::int32_t flows = 0;
        double weight = 0;
        double rate = 0;  // before the event
    };

    bool known(std::int32_t f) const { return static_cast<std::size_t>(f) < flows_.size() && flows_[f].weight > 0; }
    void grow();
    void take_over(std::int32_t f, const ServiceClock& clock);
    void attach(std::int32_t f);
    void forget_closed();
    void give_room(std::int32_t resource);
    void touch(std::int32_t resource);
    void touch_route(const Flow& flow);
    void touch_changed();
    void undecide(Flow& flow);
    bool idle(std::int32_t resource) const;
    void refresh_touched();
    double fill_level(std::int32_t resource);
    void decide(std::int32_t resource, double level, double now);
    void settle(std::int32_t f, double level, std::int32_t resource, double now);
    bool undecided(const Flow& flow) const { return flow.mark == 2 * event_; }
    bool decided(const Flow& flow) const { return flow.mark == 2 * event_ + 1; }
    View<const std::int32_t> route_of(const Flow& flow) const {
        return {hops_.data() + flow.route, static_cast<std::size_t>(flow.hops)};
    }
    template <class Visit>
    void each_open(std::int32_t resource, Visit&& visit);  // visit(flow number); forgets closed flows

    FlowTable& table_;
    Array<Flow> flows_;
    Array<std::int32_t> hops_;          // routes
    Array<Array<std::int32_t>> lists_;  // flows of each resource, closed ones among them until passed over
    Array<std::int32_t> holds_;         // flows it is the bottleneck of
    Array<double> carries_;             // rates of all its flows together, as they were when last decided
    Array<Awaits> awaits_;
    FlowHeap ends_;  // flows by the end of their next member
    std::uint32_t event_ = 0;
    FlowHeap by_level_;  // resources by the level at which they would fill
    Array<char> touched_flag_, stale_;
    Array<std::int32_t> touched_;
    Array<double> scratch_weight_, scratch_level_;
    Array<std::int32_t> scratch_;
};

template <class ClockOf>
void FlowRipple::begin(ClockOf&& clock_of) {
    grow();
    std::fill(holds_.begin(), holds_.end(), 0);
    std::fill(carries_.begin(), carries_.end(), 0);
    std::fill(awaits_.begin(), awaits_.end(), Awaits{});
    event_ = 0;
    table_.each_flow([&](std::int32_t f) {
        const ServiceClock clock = clock_of(f);
        if (clock.level > 0) take_over(f, clock);
    });
    table_.spare_dead();
}

template <class Visit>
void FlowRipple::each_open(std::int32_t resource, Visit&& visit) {
    auto& list = lists_[resource];
    std::size_t kept = 0;
    for (std::size_t k = 0; k < list.size(); ++k) {
        const std::int32_t f = list[k];
        if (flows_[f].weight == 0) continue;
        list[kept++] = f;
        visit(f);
    }
    list.resize(kept);
}

}  // namespace conset
