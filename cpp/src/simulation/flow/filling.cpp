#include "conset/simulation/flow/filling.hpp"

namespace conset {

void FlowFilling::leave() {
    watch_.leave();
    Array<Snapshot>().swap(snapshots_);
    Array<Segment>().swap(segments_);
    Array<std::int32_t>().swap(frozen_);
    snapshots_used_ = 0;
}

double FlowFilling::next_end() const {
    double least = ServiceClock::kNever;
    for (const Segment& segment : segments_) least = std::min(least, segment.next_end);
    return least;
}

void FlowFilling::solve(double now) {
    unfrozen_.resize(table_.flows.size() / 64 + 1, 0);
    clocks_.resize(table_.capacity.size());
    segment_of_.resize(table_.capacity.size(), 0);
    std::size_t keep = 0;
    if (!watch_.update() && snapshots_used_ > 0) keep = usable_snapshots();
    do {
        snapshot_step_ = std::max<std::size_t>({static_cast<std::size_t>(table_.open) / 32, watch_.size(), 64});
        if (keep == 0) restart();
        fill_from(std::max<std::size_t>(keep, 1), now);
        keep = 0;
    } while (watch_.extend());
}

// Every flow unfrozen, every resource empty.
void FlowFilling::restart() {
    segments_.clear();
    frozen_.clear();
    frozen_.reserve(table_.flows.capacity());
    states_.resize(watch_.size());
    for (std::size_t w = 0; w < states_.size(); ++w) states_[w] = State{table_.capacity[watch_.resource(w)], 0, 0, 0};
    std::fill(unfrozen_.begin(), unfrozen_.end(), 0);
    table_.each_flow([&](std::int32_t f) {
        const auto& flow = table_.flows[f];
        set_unfrozen(f, true);
        for (const std::int32_t w : watch_.hops(flow)) {
            states_[w][kWeight] += flow.total();
            states_[w][kCount] += 1;
        }
    });
    snapshots_used_ = 0;
    take_snapshot();
}

// How many snapshots are still what filling would find; they get the changes. 0: not even the first.
std::size_t FlowFilling::usable_snapshots() {
    std::size_t first = segments_.size();
    for (const auto& change : table_.changed)
        first = std::min<std::size_t>(first, segment_of_[table_.flows[change.flow].held_by]);
    std::size_t keep = 0;
    for (; keep < snapshots_used_; ++keep) {
        Snapshot& snapshot = snapshots_[keep];
        if (snapshot.segment > first) break;
        apply_changes(snapshot.states);
        if (!fits(snapshot) && keep > 0) break;
    }
    return keep;
}

void FlowFilling::apply_changes(Array<Saved>& states) const {
    const auto apply = [&](std::int32_t f, double weight, double count) {
        const auto& flow = table_.flows[f];
        for (const std::int32_t w : watch_.hops(flow)) {
            states[w].weight += weight;
            states[w].count += count;
            if (watch_.resource(w) >= table_.fixed) states[w].left += table_.limit_of(f) * weight / flow.weight;
        }
    };
    for (const auto& change : table_.changed) apply(change.flow, change.weight, change.closed ? -1 : 0);
    for (const std::int32_t f : table_.opened) apply(f, table_.flows[f].total(), 1);
}

// Whether what came leaves room at the level of a snapshot.
bool FlowFilling::fits(const Snapshot& snapshot) const {
    const auto has_room = [&](std::int32_t f) {
        const auto hops = watch_.hops(table_.flows[f]);
        return std::all_of(hops.begin(), hops.end(), [&](std::int32_t w) {
            return snapshot.states[w].left >= snapshot.states[w].weight * snapshot.level;
        });
    };
    return std::all_of(table_.opened.begin(), table_.opened.end(), has_room) &&
           std::all_of(table_.changed.begin(), table_.changed.end(),
                       [&](const auto& change) { return change.weight <= 0 || has_room(change.flow); });
}

void FlowFilling::take_snapshot() {
    if (snapshots_used_ == snapshots_.size()) snapshots_.emplace_back();
    Snapshot& snapshot = snapshots_[snapshots_used_++];
    snapshot.segment = segments_.size();
    snapshot.frozen = frozen_.size();
    snapshot.level = segments_.empty() ? 0 : segments_.back().level;
    snapshot.states.clear();
    snapshot.states.reserve(states_.size());
    for (const State& state : states_) snapshot.states.push_back({state[kLeft], state[kWeight], state[kCount]});
    next_snapshot_ = frozen_.size() + snapshot_step_;
}

void FlowFilling::fill_from(std::size_t keep, double now) {
    const Snapshot& start = snapshots_[keep - 1];
    states_.clear();
    for (const auto& [left, weight, count] : start.states) states_.push_back(State{left, weight, count, 0});
    snapshots_used_ = keep;
    next_snapshot_ = start.frozen + snapshot_step_;
    for (std::size_t k = start.frozen; k < frozen_.size(); ++k) set_unfrozen(frozen_[k], true);
    for (const std::int32_t f : table_.opened) set_unfrozen(f, true);
    for (const auto& change : table_.changed) set_unfrozen(change.flow, table_.flows[change.flow].members > 0);
    frozen_.resize(start.frozen);
    segments_.resize(start.segment);
    double last = start.level;
    levels_.each(
        static_cast<std::int32_t>(states_.size()),
        [&](std::int32_t w) {
            return states_[w][kCount] < 0.5 ? -1 : std::max(0.0, states_[w][kLeft] / states_[w][kWeight]);
        },
        [&](std::int32_t w, double level) {
            last = std::max(last, level);
            freeze(w, last, now);
            if (frozen_.size() >= next_snapshot_) take_snapshot();
        },
        [&] { return frozen_.size() >= static_cast<std::size_t>(table_.open); });
}

void FlowFilling::freeze(std::int32_t watched, double level, double now) {
    const std::int32_t resource = watch_.resource(watched);
    const std::size_t first = frozen_.size();
    for (const std::int32_t f : watch_.flows(static_cast<std::size_t>(watched))) {
        std::uint64_t& word = unfrozen_[static_cast<std::uint32_t>(f) / 64];  // closed flows are never unfrozen
        const std::uint64_t bit = std::uint64_t{1} << f % 64;
        if ((word & bit) == 0) continue;
        word ^= bit;
        __builtin_prefetch(&table_.flows[f], 1);
        frozen_.push_back(f);
    }
    table_.work += static_cast<std::int64_t>(watch_.flows(static_cast<std::size_t>(watched)).size());
    ServiceClock& clock = clocks_[resource];
    const bool changes = clock.change(level, now);
    const double given = clock.service(now);
    double next_key = ServiceClock::kNever;
    State* const states = states_.data();
    for (std::size_t k = first; k < frozen_.size(); ++k) {
        const std::int32_t f = frozen_[k];
        auto& flow = table_.flows[f];
        const bool moves = flow.held_by != resource;
        if (moves) {
            flow.key += given - (flow.held_by < 0 ? 0 : clocks_[flow.held_by].service(now));
            flow.held_by = resource;
        }
        if (moves || changes) table_.note(f);
        if (clock.level > static_cast<double>(flow.cap)) watch_.pass(f);
        next_key = std::min(next_key, flow.key);
        const double weight = flow.total();
        const State taken{weight * clock.level, weight, 1, 0};
        for (const std::int32_t w : watch_.hops(flow)) states[w] -= taken;
    }
    segment_of_[resource] = static_cast<std::uint32_t>(segments_.size());
    segments_.push_back({clock.level, clock.end(next_key), resource, first});
}

}  // namespace conset
