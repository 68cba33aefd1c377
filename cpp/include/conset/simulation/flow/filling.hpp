// FlowFilling: max-min fair rates where many flows share a resource, by progressive filling over what can fill.
//
// Idea. Raise one level for all flows together; when a resource is full, freeze its flows at this level; go on with the
// rest. Only resources that can fill are looked at (`FlowWatch`). An event solves again from the first level that can
// have changed: a flow that leaves at level x leaves everything below x as it is, a flow that comes leaves everything
// below the first level at which one of its resources would now be full. Snapshots of the resources along the last
// filling give the place to start from, without any pass over the flows below it. Flows frozen by one resource are a
// segment: they share one clock, so a new level costs them nothing but the room they take, and the segment knows when
// the next of its members ends.
//
// Complexity. Watched resources + the watched hops of the flows refilled. Memory: 4 bytes per flow, about 16 for
// snapshots, 28 per resource.
#pragma once

#include <algorithm>
#include <cstdint>

#include "conset/array.hpp"
#include "conset/simulation/flow/levels.hpp"
#include "conset/simulation/flow/table.hpp"
#include "conset/simulation/flow/watch.hpp"

namespace conset {

class FlowFilling {
public:
    explicit FlowFilling(FlowTable& table) : table_(table), watch_(table, clocks_) {}

    // Takes over all open flows, as they flow at `now`: `clock_of(flow)`.
    template <class ClockOf>
    void begin(double now, ClockOf&& clock_of);
    void leave();

    void solve(double now);

    ServiceClock clock(std::int32_t f) const {
        return table_.flows[f].held_by < 0 ? ServiceClock{} : clocks_[table_.flows[f].held_by];
    }

    double next_end() const;

    template <class Take>  // take(flow, service): takes out members that end by this service; whether some are left
    void end_until(double until, Take&& take);

private:
    // A resource while it fills: what is left of it, weight and number of its unfrozen flows; one vector register or
    // two, so that a flow is taken off in one step.
    using State [[gnu::vector_size(32)]] = double;
    static constexpr int kLeft = 0, kWeight = 1, kCount = 2;
    struct Saved {
        double left, weight, count;
    };
    struct Snapshot {
        std::size_t segment = 0, frozen = 0;
        double level = 0;
        Array<Saved> states;
    };
    struct Segment {  // flows frozen by one resource at one level
        double level = 0, next_end = ServiceClock::kNever;
        std::int32_t resource = -1;
        std::size_t first = 0;
    };

    void restart();
    std::size_t usable_snapshots();
    void apply_changes(Array<Saved>& states) const;
    bool fits(const Snapshot& snapshot) const;
    void take_snapshot();
    void fill_from(std::size_t keep, double now);
    void freeze(std::int32_t watched, double level, double now);
    void set_unfrozen(std::int32_t f, bool value) {
        const std::uint64_t bit = std::uint64_t{1} << f % 64;
        unfrozen_[f / 64] = value ? unfrozen_[f / 64] | bit : unfrozen_[f / 64] & ~bit;
    }

    FlowTable& table_;
    Array<ServiceClock> clocks_;       // of the flows that a resource holds
    Array<std::uint32_t> segment_of_;  // of the same, in the last filling
    FlowWatch watch_;
    FlowLevels levels_;
    Array<State> states_;
    Array<Snapshot> snapshots_;
    std::size_t snapshots_used_ = 0, next_snapshot_ = 0, snapshot_step_ = 0;
    Array<Segment> segments_;
    Array<std::int32_t> frozen_;     // flows, segment after segment
    Array<std::uint64_t> unfrozen_;  // bits by flow
};

template <class ClockOf>
void FlowFilling::begin(double now, ClockOf&& clock_of) {
    watch_.begin([&](std::int32_t f) { return clock_of(f).level; });
    table_.each_flow([&](std::int32_t f) {
        table_.flows[f].key -= clock_of(f).service(now);
        table_.flows[f].held_by = -1;
    });
    snapshots_used_ = 0;
}

template <class Take>
void FlowFilling::end_until(double until, Take&& take) {
    for (std::size_t s = 0; s < segments_.size(); ++s) {
        Segment& segment = segments_[s];
        if (segment.next_end > until) continue;
        segment.next_end = ServiceClock::kNever;
        const ServiceClock& clock = clocks_[segment.resource];
        const double service = clock.service(until);
        const std::size_t last = s + 1 < segments_.size() ? segments_[s + 1].first : frozen_.size();
        for (std::size_t k = segment.first; k < last; ++k) {
            const std::int32_t f = frozen_[k];
            const auto& flow = table_.flows[f];
            if (flow.members == 0) continue;
            if (clock.end(flow.key) <= until && !take(f, service)) continue;
            segment.next_end = std::min(segment.next_end, clock.end(flow.key));
        }
    }
}

}  // namespace conset
