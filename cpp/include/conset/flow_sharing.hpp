// Sharing: max-min fair rates of flows over resources, kept up to date while flows come and go.
//
// Problem. Flow f needs rate w_f * x_f on every resource of its route; a resource carries at most its capacity. Max-min
// fair: every flow has a *bottleneck*, a full resource on which its level x_f is the largest. Progressive filling finds
// the levels: raise one level for all together, freeze the flows of each resource as it fills.
//
// Idea. Two exact solvers over the same state, chosen by how many flows a resource carries:
//   ripple   few flows per resource. Only resources whose flows changed are looked at. Each has the level at which it
//            would fill: the root of sum w * min(x_f, x) = capacity, where flows it holds and undecided ones count as
//            unlimited. In rising order every decision is final: a flow whose level falls gives its other resources
//            room, so what they hold becomes undecided; where nothing changes the ripple stops.
//   filling  many flows per resource. Progressive filling from the first level that can have changed: a flow that
//            leaves at level x leaves everything below x as it is, a flow that comes leaves everything below the first
//            level at which one of its resources would now be full. Snapshots of the resources along the last filling
//            give the place to start from, without any pass over the flows below it.
// Flows of one route and weight are one flow with several members: they share a level, and their ends are ordered by
// the bytes each has been served since the flow opened.
//
// Invariant. After `solve` every flow has a bottleneck, and no resource is above its capacity by more than rounding.
//
// Rounding. Levels are compared with a relative 1e-12, and a rate that would change by less than 1e-11 of itself stays:
// otherwise rounding ripples through the network for ever. Nothing depends on addresses or on threads: the same input
// gives the same bytes.
//
// Complexity. Ripple: sum over touched resources of their flows, times two or three Newton steps. Filling: resources
// + sum of hops of the flows refilled. Memory: 64 bytes per open flow + 8 bytes per hop of its route.
//
// Reference. Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2 (progressive filling).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "conset/flow_heap.hpp"

namespace conset {

class Sharing {
public:
    static constexpr double kNever = std::numeric_limits<double>::infinity();
    static constexpr std::uint64_t kAlone = ~std::uint64_t{0};  // key of a flow that no other member may join

    explicit Sharing(std::vector<double> capacity);

    // Opens a flow for `member`, or joins the open one of the same key (`kAlone`: never). `bytes` > 0. `limit`: what
    // one member can take at most, infinite for none. Rates are right only after `solve`.
    void add(std::uint64_t key, std::span<const std::int32_t> route, double weight, double limit, std::int32_t member,
             double bytes, double now);

    // Room for as many flows as `carried` resources are going to carry, where that is known before.
    void reserve(std::size_t flows, std::span<const std::int32_t> carried);

    // When the next member ends.
    double next_end() const;

    // Takes out every member that ends by `until`, and calls `ended(member, held_by)` for each.
    template <class Ended>
    void end_until(double until, double now, Ended&& ended);

    // New rates after flows came and went.
    void solve(double now);

    bool changed() const { return !changed_.empty(); }
    std::int64_t solves() const { return solves_; }
    std::int64_t members() const { return members_; }

    // Resources [0, fixed): how long bytes have flowed on each; final after the last flow has ended.
    std::span<const double> busy() const { return {busy_.data(), static_cast<std::size_t>(fixed_)}; }

    // Every change of a rate since the last call: visit(member, rate).
    template <class Visit>
    void each_change(Visit&& visit);
    void record_changes() { recording_ = true; }

private:
    struct Flow {           // one cache line
        double level = 0;   // rate of a member / weight
        double weight = 1;  // of one member
        double served = 0;  // bytes each member has got at time `since`, counted from when the flow opened
        double since = 0;
        double first_end = 0;  // `served` at which its next member ends
        std::int32_t first = -1;
        std::int32_t members = 0;  // 0: closed, its slot is reused when no list names it any more
        std::int32_t route = 0;    // into hops_
        std::int32_t hops = 0;
        std::int32_t held_by = -1;
        std::uint32_t mark = 0;  // ripple: 2 * event: undecided, 2 * event + 1: decided. filling: its segment
        double rate() const { return weight * level; }
        double total() const { return weight * members; }
    };
    struct State {  // a resource while it fills
        double left = 0, weight = 0, count = 0, padding = 0;
    };
    struct Snapshot {
        std::size_t segment = 0, frozen = 0;
        double level = 0;
        std::vector<State> states;
    };
    struct Segment {  // flows frozen by one resource at one level
        double level = 0, next_end = kNever;
        std::int32_t resource = -1;
        std::size_t first = 0;
    };
    struct Change {
        std::int32_t flow;
        double weight;  // by how much its weight in all grew
        double count;   // 1: opened, -1: closed, 0: members only
    };
    using Waiting = std::pair<double, std::int32_t>;  // (served at the end, member)

    std::int32_t open(std::uint64_t key, std::span<const std::int32_t> route, double weight, double limit, double now);
    void close(std::int32_t f, double now);
    void serve(Flow& flow, double now);
    void drop_first(std::int32_t f);
    std::span<const std::int32_t> route_of(const Flow& flow) const {
        return {hops_.data() + flow.route, static_cast<std::size_t>(flow.hops)};
    }
    double end_of(const Flow& flow) const {
        return flow.level > 0 ? flow.since + (flow.first_end - flow.served) / flow.rate() : kNever;
    }
    double limit_of(std::int32_t f) const { return static_cast<std::size_t>(f) < limit_.size() ? limit_[f] : kNever; }
    std::uint64_t key_of(std::int32_t f) const { return static_cast<std::size_t>(f) < key_.size() ? key_[f] : kAlone; }
    void note(std::int32_t f) {
        if (recording_) recorded_.push_back(f);
    }
    template <class Visit>
    void each_open(std::int32_t resource, Visit&& visit);  // visit(flow number); forgets closed flows
    bool crowded() const;
    void use_heap();
    void tidy();

    // ripple
    void ripple(double now);
    void give_room(std::int32_t resource);
    void touch(std::int32_t resource);
    void touch_route(const Flow& flow);
    double fill_level(std::int32_t resource);
    void decide(std::int32_t resource, double level, double now);
    void settle(std::int32_t f, double level, std::int32_t resource, double now);
    bool undecided(const Flow& flow) const { return flow.mark == 2 * event_; }
    bool decided(const Flow& flow) const { return flow.mark == 2 * event_ + 1; }

    // filling
    void fill(double now);
    void fill_from(std::size_t keep, double now);
    std::size_t usable_snapshots();
    void restart_filling();
    void apply_changes(State* states) const;
    void freeze(std::int32_t resource, double level, double now);
    void take_snapshot();

    std::int32_t fixed_;
    std::vector<double> capacity_, busy_, busy_since_;
    std::vector<std::int32_t> carried_;             // open flows of each resource
    std::vector<std::int32_t> holds_;               // flows it is the bottleneck of (ripple)
    std::vector<std::vector<std::int32_t>> lists_;  // flows of each resource, closed ones among them until passed over
    std::vector<Flow> flows_;
    std::vector<double> limit_;                    // empty where nothing limits one member
    std::vector<std::uint64_t> key_;               // empty where all are alone
    std::vector<std::int32_t> named_;              // lists that name a closed flow
    std::vector<std::int32_t> hops_;               // routes
    std::vector<std::vector<std::int32_t>> free_;  // slots that can be reused, by number of hops
    std::unordered_map<std::uint64_t, std::int32_t> open_;
    std::unordered_map<std::int32_t, std::vector<Waiting>> more_;  // further members of a flow, a heap
    std::vector<Change> changed_;
    std::int64_t members_ = 0, flows_open_ = 0, carried_in_all_ = 0, used_ = 0, solves_ = 0;
    bool filling_ = false, recording_ = false;
    std::vector<std::int32_t> recorded_;
    std::vector<std::pair<std::int32_t, double>> recorded_ends_;

    FlowHeap ends_;  // ripple: flows by the end of their next member

    std::uint32_t event_ = 0;
    FlowHeap by_level_;  // resources by the level at which they would fill
    std::vector<char> touched_flag_, stale_;
    std::vector<std::int32_t> touched_;
    std::vector<double> scratch_weight_, scratch_level_;
    std::vector<std::int32_t> scratch_;

    std::vector<State> states_;
    std::vector<Snapshot> snapshots_;
    std::size_t snapshots_used_ = 0, next_snapshot_ = 0, snapshot_step_ = 0;
    std::vector<Segment> segments_;
    std::vector<std::int32_t> frozen_;
    std::vector<std::uint64_t> unfrozen_;  // bits by flow
    std::vector<std::pair<double, std::int32_t>> heap_;
    std::vector<std::int32_t> bucket_, bucket_next_;  // resources by their level, roughly
};

template <class Ended>
void Sharing::end_until(double until, double now, Ended&& ended) {
    auto take = [&](std::int32_t f) {
        Flow& flow = flows_[f];
        serve(flow, now);
        const double limit = flow.served + flow.rate() * (until - now);
        const std::int32_t held_by = flow.held_by;
        std::int32_t gone = 0;
        while (flow.members > gone && (gone == 0 || flow.first_end <= limit)) {
            const std::int32_t member = flow.first;
            if (recording_) recorded_ends_.emplace_back(member, 0.0);
            ++gone;
            if (flow.members > gone) drop_first(f);
            ended(member, held_by);
        }
        members_ -= gone;
        flow.members -= gone;
        changed_.push_back({f, -gone * flow.weight, flow.members == 0 ? -1.0 : 0.0});
        if (flow.members == 0) close(f, now);
        return flow.members > 0;
    };
    if (!filling_) {
        while (!ends_.empty() && ends_.top_key() <= until) {
            const std::int32_t f = ends_.top();
            if (take(f)) {
                ends_.set(f, end_of(flows_[f]));
            } else {
                ends_.erase(f);
            }
        }
        return;
    }
    for (std::size_t s = 0; s < segments_.size(); ++s) {
        Segment& segment = segments_[s];
        if (segment.next_end > until) continue;
        segment.next_end = kNever;
        const std::size_t last = s + 1 < segments_.size() ? segments_[s + 1].first : frozen_.size();
        for (std::size_t k = segment.first; k < last; ++k) {
            const std::int32_t f = frozen_[k];
            if (flows_[f].members == 0 || flows_[f].mark != s) continue;  // closed, or its slot was taken again
            double end = end_of(flows_[f]);
            if (end <= until) end = take(f) ? end_of(flows_[f]) : kNever;
            if (end < segment.next_end) segment.next_end = end;
        }
    }
}

template <class Visit>
void Sharing::each_change(Visit&& visit) {
    for (const auto& [member, rate] : recorded_ends_) visit(member, rate);
    recorded_ends_.clear();
    for (const std::int32_t f : recorded_) {
        const Flow& flow = flows_[f];
        if (flow.members == 0) continue;
        visit(flow.first, flow.rate());
        if (flow.members == 1) continue;
        for (const auto& [end, member] : more_.at(f)) visit(member, flow.rate());
    }
    recorded_.clear();
}

template <class Visit>
void Sharing::each_open(std::int32_t resource, Visit&& visit) {
    auto& list = lists_[resource];
    std::size_t kept = 0;
    for (std::size_t k = 0; k < list.size(); ++k) {
        const std::int32_t f = list[k];
        if (flows_[f].members == 0) {
            if (--named_[f] == 0) free_[flows_[f].hops].push_back(f);
            continue;
        }
        list[kept++] = f;
        visit(f);
    }
    list.resize(kept);
}

}  // namespace conset
