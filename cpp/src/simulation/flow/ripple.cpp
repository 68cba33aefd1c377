#include "conset/simulation/flow/ripple.hpp"

#include <algorithm>

namespace conset {

namespace {

constexpr double kSure = 1e-9;  // further apart (relative) than sums in another order can bring levels

}  // namespace

void FlowRipple::take_over(std::int32_t f, const ServiceClock& clock) {
    attach(f);
    Flow& flow = flows_[f];
    flow.clock = clock;
    flow.held_by = table_.flows[f].held_by;
    if (flow.held_by >= 0) ++holds_[flow.held_by];
    for (const std::int32_t r : route_of(flow)) carries_[r] += flow.weight * clock.level;
    ends_.set(f, clock.end(table_.flows[f].key));
}

void FlowRipple::leave() {
    Array<Flow>().swap(flows_);
    Array<std::int32_t>().swap(hops_);
    Array<Array<std::int32_t>>().swap(lists_);
    ends_ = FlowHeap();
    by_level_ = FlowHeap();
}

// One entry for each flow and resource.
void FlowRipple::grow() {
    flows_.resize(table_.flows.size());
    const std::size_t resources = table_.capacity.size();
    if (lists_.size() >= resources) return;
    lists_.resize(resources);
    holds_.resize(resources, 0);
    carries_.resize(resources, 0);
    awaits_.resize(resources);
    touched_flag_.resize(resources, 0);
    stale_.resize(resources, 0);
}

void FlowRipple::attach(std::int32_t f) {
    const std::size_t first = hops_.size();
    table_.each_resource(f, [&](std::int32_t r) {
        hops_.push_back(r);
        lists_[r].push_back(f);
    });
    Flow& flow = flows_[f] = Flow{};
    flow.weight = table_.flows[f].total();
    flow.route = static_cast<std::int32_t>(first);
    flow.hops = static_cast<std::int32_t>(hops_.size() - first);
}

// Lists forget closed flows, so that memory follows the open ones and numbers can be given again.
void FlowRipple::forget_closed() {
    for (std::size_t r = 0; r < lists_.size(); ++r) each_open(static_cast<std::int32_t>(r), [](std::int32_t) {});
    Array<std::int32_t> kept;
    table_.each_flow([&](std::int32_t f) {
        Flow& flow = flows_[f];
        const auto route = route_of(flow);
        flow.route = static_cast<std::int32_t>(kept.size());
        kept.insert(kept.end(), route.begin(), route.end());
    });
    hops_ = std::move(kept);
    table_.spare_dead();
}

void FlowRipple::solve(double now) {
    ++event_;
    grow();
    touch_changed();
    for (;;) {
        refresh_touched();
        if (by_level_.empty()) break;
        const std::int32_t r = by_level_.top();
        const double key = by_level_.top_key();
        const double level = stale_[r] != 0 ? fill_level(r) : key;
        stale_[r] = 0;
        if (level == ServiceClock::kNever) {
            by_level_.erase(r);
        } else if (level > key * (1 + ServiceClock::kSame)) {
            by_level_.set(r, level);
        } else {
            by_level_.erase(r);
            decide(r, level, now);
        }
    }
    for (const auto& change : table_.changed)  // a member that came may end first, whatever the level
        if (!change.closed && flows_[change.flow].weight > 0)
            ends_.set(change.flow, flows_[change.flow].clock.end(table_.flows[change.flow].key));
    if (table_.needs_compaction()) forget_closed();
}

void FlowRipple::touch_changed() {
    for (const auto& change : table_.changed) {
        Flow& flow = flows_[change.flow];
        const double grown = table_.flows[change.flow].total() - flow.weight;
        flow.weight += grown;
        for (const std::int32_t r : route_of(flow)) carries_[r] += grown * flow.clock.level;
    }
    for (const auto& change : table_.changed) {
        // asked of the table: of a flow that closed before this solver took over nothing is known here
        if (change.weight < 0) table_.each_resource(change.flow, [&](std::int32_t r) { give_room(r); });
        if (!change.closed) touch_route(flows_[change.flow]);
    }
    for (const std::int32_t f : table_.opened) {
        attach(f);
        undecide(flows_[f]);
    }
}

void FlowRipple::refresh_touched() {
    for (const std::int32_t r : touched_) {
        touched_flag_[r] = 0;
        const Awaits& awaits = awaits_[r];
        if (holds_[r] == 0 && awaits.event == event_ && awaits.flows > 0 && table_.capacity[r] < ServiceClock::kNever) {
            // what the others leave, if all of them stay below: its level is that or higher, and is asked for in turn
            const double left = table_.capacity[r] - (carries_[r] - awaits.rate);
            by_level_.set(r, (left - kSure * table_.capacity[r]) / awaits.weight);
            stale_[r] = 1;
            continue;
        }
        stale_[r] = 0;
        const double level = fill_level(r);
        if (level < ServiceClock::kNever) {
            by_level_.set(r, level);
        } else if (by_level_.contains(r)) {
            by_level_.erase(r);
        }
    }
    touched_.clear();
}

// What a resource holds becomes undecided once it has room.
void FlowRipple::give_room(std::int32_t resource) {
    if (holds_[resource] == 0) return;
    each_open(resource, [&](std::int32_t f) {
        Flow& flow = flows_[f];
        if (flow.held_by != resource || undecided(flow) || decided(flow)) return;
        undecide(flow);
    });
}

void FlowRipple::touch(std::int32_t resource) {
    if (touched_flag_[resource] != 0) return;
    touched_flag_[resource] = 1;
    touched_.push_back(resource);
}

void FlowRipple::undecide(Flow& flow) {
    flow.mark = 2 * event_;
    for (const std::int32_t r : route_of(flow)) {
        Awaits& awaits = awaits_[r];
        if (awaits.event != event_) awaits = Awaits{event_, 0, 0, 0};
        ++awaits.flows;
        awaits.weight += flow.weight;
        awaits.rate += flow.weight * flow.clock.level;
        touch(r);
    }
}

// Whether no flow would take more of a resource than now, and all together leave some of it.
bool FlowRipple::idle(std::int32_t resource) const {
    const Awaits& awaits = awaits_[resource];
    return holds_[resource] == 0 && (awaits.event != event_ || awaits.flows == 0) &&
           carries_[resource] < table_.capacity[resource] * (1 - kSure);
}

void FlowRipple::touch_route(const Flow& flow) {
    for (const std::int32_t r : route_of(flow)) touch(r);
}

// The level at which a resource fills. Most of the time goes here: arrays of the right size and no branch that depends
// on a flow.
double FlowRipple::fill_level(std::int32_t resource) {
    table_.work += static_cast<std::int64_t>(lists_[resource].size());
    if (idle(resource)) return ServiceClock::kNever;
    auto& list = lists_[resource];
    const std::size_t size = list.size();
    if (scratch_weight_.size() < size) {
        scratch_weight_.resize(2 * size);
        scratch_level_.resize(2 * size);
    }
    double* const weights = scratch_weight_.data();
    double* const levels = scratch_level_.data();
    const Flow* const flows = flows_.data();
    double left = table_.capacity[resource], weight = 0;
    double taken = 0, limited_weight = 0, highest = 0;  // by limited flows at their own levels
    double carries = 0;
    std::size_t count = 0, open = 0;
    for (std::size_t k = 0; k < size; ++k) {
        const std::int32_t f = list[k];
        const Flow& flow = flows[f];
        list[open] = f;
        open += flow.weight > 0 ? 1 : 0;
        weight += flow.weight;
        weights[count] = flow.weight;
        levels[count] = flow.clock.level;
        const bool limited = flow.held_by != resource && flow.mark != 2 * event_;
        count += limited && flow.weight > 0 ? 1 : 0;
        carries += flow.weight * flow.clock.level;
        const double w = limited ? flow.weight : 0;
        taken += w * flow.clock.level;
        limited_weight += w;
        highest = std::max(highest, w > 0 ? flow.clock.level : 0);
    }
    if (open < size) list.resize(open);
    carries_[resource] = carries;  // sums of changes drift
    if (open == 0) return ServiceClock::kNever;
    const std::size_t unlimited = open - count;
    // mostly all limited flows stay below: then nothing fills it, or what they leave goes to the others
    if (unlimited == 0 && taken < left * (1 - kSure)) return ServiceClock::kNever;
    if (unlimited > 0 && left - taken > highest * (1 + kSure) * (weight - limited_weight))
        return (left - taken) / (weight - limited_weight);
    double level = left / weight;
    while (count > 0) {
        const double border = level * (1 + ServiceClock::kSame);
        std::size_t kept = 0;
        for (std::size_t k = 0; k < count; ++k) {
            const double w = weights[k], x = levels[k];
            const bool below = x <= border;
            left -= below ? w * x : 0;
            weight -= below ? w : 0;
            weights[kept] = w;
            levels[kept] = x;
            kept += below ? 0 : 1;
        }
        if (kept + unlimited == 0) return ServiceClock::kNever;  // all are limited below what would fill it
        if (kept == count) break;
        count = kept;
        level = std::max(level, left / weight);
    }
    return level;
}

void FlowRipple::decide(std::int32_t resource, double level, double now) {
    scratch_.clear();
    each_open(resource, [&](std::int32_t f) {
        const Flow& flow = flows_[f];
        const bool falls = flow.clock.level > level * (1 + ServiceClock::kSame);
        const bool rises = flow.clock.level < level * (1 - ServiceClock::kSame);
        if (undecided(flow) || falls || (flow.held_by == resource && rises)) scratch_.push_back(f);
    });
    for (const std::int32_t f : scratch_) settle(f, level, resource, now);
}

void FlowRipple::settle(std::int32_t f, double level, std::int32_t resource, double now) {
    Flow& flow = flows_[f];
    const bool awaited = undecided(flow);
    flow.mark = 2 * event_ + 1;
    if (flow.held_by != resource) {
        if (flow.held_by >= 0) --holds_[flow.held_by];
        ++holds_[resource];
        flow.held_by = table_.flows[f].held_by = resource;
    }
    const double old = flow.clock.level;
    const bool changes = flow.clock.change(level, now);
    if (changes) {
        table_.note(f);
        ends_.set(f, flow.clock.end(table_.flows[f].key));
    }
    const double more = flow.weight * (flow.clock.level - old);
    for (const std::int32_t r : route_of(flow)) {
        carries_[r] += more;
        Awaits& awaits = awaits_[r];
        if (awaited) {
            --awaits.flows;
            awaits.weight -= flow.weight;
            awaits.rate -= flow.weight * old;
        }
        if (r != resource && idle(r)) {
            if (by_level_.contains(r)) by_level_.erase(r);
            continue;
        }
        stale_[r] = 1;
        if (!changes || r == resource) continue;
        if (level < old) give_room(r);
        if (level < old || !by_level_.contains(r)) touch(r);
    }
}

}  // namespace conset
