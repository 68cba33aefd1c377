#include "conset/simulation/flow/watch.hpp"

#include <algorithm>

namespace conset {

void FlowWatch::leave() {
    hops_.release();
    entries_.release();
    watched_.clear();
    passed_.clear();
}

void FlowWatch::grow() {
    if (bound_.size() >= table_.capacity.size()) return;
    bound_.resize(table_.capacity.size(), 0);
    place_.resize(table_.capacity.size(), -1);
    must_.resize(table_.capacity.size(), 0);
}

bool FlowWatch::update() {
    grow();
    short_ = fresh_ || table_.needs_compaction();
    if (!short_) {
        for (const auto& change : table_.changed)
            add_to_bound(change.flow, change.weight * static_cast<double>(table_.flows[change.flow].cap));
        for (const std::int32_t f : table_.opened) short_ = !attach(f) || short_;
    }
    if (!short_) return false;
    rebuild();
    return true;
}

bool FlowWatch::extend() {
    for (const std::int32_t f : passed_) {
        auto& flow = table_.flows[f];
        const float cap = cap_over(clocks_[flow.held_by].level);
        const double more = flow.total() * static_cast<double>(cap - flow.cap);
        flow.cap = cap;
        add_to_bound(f, more);
    }
    passed_.clear();
    // the first time resources may also be dropped; after that only added, so that this comes to an end
    for (const std::int32_t r : watched_) must_[r] = short_ && again_ ? 1 : 0;
    again_ = short_;
    if (!short_) return false;
    rebuild();
    return true;
}

void FlowWatch::add_to_bound(std::int32_t f, double rate) {
    if (all_) return;
    table_.each_resource(f, [&](std::int32_t r) {
        bound_[r] += rate;
        short_ = short_ || (place_[r] < 0 && bound_[r] > table_.capacity[r]);
    });
}

// The watched resources of a new flow; false where there is none, or no room.
bool FlowWatch::attach(std::int32_t f) {
    found_.clear();
    bool room = true;
    table_.each_resource(f, [&](std::int32_t r) {
        const std::int32_t w = place_[r];
        if (w < 0) return;
        found_.push_back(w);
        room = room && counts_[w] < starts_[w + 1] - starts_[w];
    });
    if (found_.empty() || !room || hops_used_ + found_.size() > hops_.size()) return false;
    for (const std::int32_t w : found_) entries_.data()[starts_[w] + counts_[w]++] = f;
    std::copy(found_.begin(), found_.end(), hops_.data() + hops_used_);
    table_.flows[f].route = static_cast<std::int32_t>(hops_used_);
    table_.flows[f].hops = static_cast<std::int32_t>(found_.size());
    hops_used_ += found_.size();
    return true;
}

void FlowWatch::rebuild() {
    fresh_ = short_ = false;
    table_.spare_dead();
    if (!all_) set_caps();
    do {
        choose();
    } while (!list_flows());
}

// Caps as close as levels allow. Where nobody knows a level for a new flow, its busiest resource is watched.
void FlowWatch::set_caps() {
    std::fill(bound_.begin(), bound_.end(), 0);
    table_.each_flow([&](std::int32_t f) {
        auto& flow = table_.flows[f];
        if (flow.held_by >= 0) flow.cap = cap_over(clocks_[flow.held_by].level);
        if (flow.cap == 0) {
            must_[busiest(f)] = 1;
            return;
        }
        const double rate = flow.total() * static_cast<double>(flow.cap);
        table_.each_resource(f, [&](std::int32_t r) { bound_[r] += rate; });
    });
}

std::int32_t FlowWatch::busiest(std::int32_t f) {
    std::int32_t most = -1;
    double load = 0;
    table_.each_resource(f, [&](std::int32_t r) {
        const double here = table_.carried[r] / table_.capacity[r];
        if (most >= 0 && here <= load) return;
        most = r;
        load = here;
    });
    return most;
}

void FlowWatch::choose() {
    watched_.clear();
    for (std::size_t r = 0; r < place_.size(); ++r) {
        place_[r] = -1;
        if (!all_ && must_[r] == 0 && bound_[r] <= kClose * table_.capacity[r]) continue;
        place_[r] = static_cast<std::int32_t>(watched_.size());
        watched_.push_back(static_cast<std::int32_t>(r));
    }
}

// Lists get the size they need, and a little for flows to come: who finds no room there starts a rebuild.
void FlowWatch::make_room() {
    starts_.resize(watched_.size() + 1);
    counts_.assign(watched_.size(), 0);
    std::int64_t end = 0;
    for (std::size_t w = 0; w < watched_.size(); ++w) {
        const std::int64_t carried = table_.carried[watched_[w]];
        starts_[w] = end;
        end += carried + carried / 16 + 4;
    }
    starts_.back() = end;
    entries_.make(static_cast<std::size_t>(end));
    hops_.make(static_cast<std::size_t>(end));
    hops_used_ = 0;
}

// False where a flow crosses nothing that is watched, because others have just left it: its busiest resource must be.
bool FlowWatch::list_flows() {
    make_room();
    bool found = true;
    table_.each_flow([&](std::int32_t f) {
        if (attach(f)) return;
        must_[busiest(f)] = 1;
        found = false;
    });
    return found;
}

}  // namespace conset
