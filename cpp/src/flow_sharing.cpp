#include "conset/flow_sharing.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace conset {

namespace {

constexpr double kSame = 1e-12;         // levels nearer than this (relative) are one
constexpr double kKeep = 1e-11;         // rates that would change by less stay
constexpr std::size_t kBuckets = 4096;  // of levels, at a resolution of a hundredth: sixty-four octaves
constexpr double kCrowded = 10;         // flows per resource in use from which on filling beats the ripple

// Sixty-four steps to an octave, rising with the level.
std::int64_t coarse(double level) { return std::bit_cast<std::int64_t>(std::max(level, 0.0)) >> 46; }

// A heap of (key, item) of which only the top changes: four children to a node, the top sinks no further than it must.
using Entry = std::pair<double, std::int32_t>;

void sink(std::vector<Entry>& heap, std::size_t at) {
    const Entry entry = heap[at];
    const std::size_t size = heap.size();
    for (;;) {
        const std::size_t first = 4 * at + 1;
        if (first >= size) break;
        std::size_t least = first;
        const std::size_t last = std::min(first + 4, size);
        for (std::size_t k = first + 1; k < last; ++k)
            if (heap[k].first < heap[least].first) least = k;
        if (entry.first <= heap[least].first) break;
        heap[at] = heap[least];
        at = least;
    }
    heap[at] = entry;
}

void make_heap(std::vector<Entry>& heap) {
    if (heap.size() < 2) return;
    for (std::size_t at = (heap.size() - 2) / 4 + 1; at-- > 0;) sink(heap, at);
}

void drop_top(std::vector<Entry>& heap) {
    heap.front() = heap.back();
    heap.pop_back();
    if (!heap.empty()) sink(heap, 0);
}

bool nearly(double a, double b, double relative) { return std::abs(a - b) <= relative * b; }

}  // namespace

Sharing::Sharing(std::vector<double> capacity)
    : fixed_(static_cast<std::int32_t>(capacity.size())), capacity_(std::move(capacity)) {
    const std::size_t resources = capacity_.size();
    bucket_.assign(kBuckets, -1);
    busy_.assign(resources, 0);
    busy_since_.assign(resources, 0);
    carried_.assign(resources, 0);
    holds_.assign(resources, 0);
    lists_.resize(resources);
    touched_flag_.assign(resources, 0);
    stale_.assign(resources, 0);
}

void Sharing::reserve(std::size_t flows, std::span<const std::int32_t> carried) {
    std::size_t hops = 0;
    for (std::size_t r = 0; r < carried.size(); ++r) {
        lists_[r].reserve(static_cast<std::size_t>(carried[r]));
        hops += static_cast<std::size_t>(carried[r]);
    }
    hops_.reserve(hops);
    flows_.reserve(flows);
    named_.reserve(flows);
}

void Sharing::add(std::uint64_t key, std::span<const std::int32_t> route, double weight, double limit,
                  std::int32_t member, double bytes, double now) {
    std::int32_t f = -1;
    if (key != kAlone) {
        const auto found = open_.find(key);
        if (found != open_.end()) f = found->second;
    }
    ++members_;
    if (f < 0) {
        f = open(key, route, weight, limit, now);
        Flow& flow = flows_[f];
        flow.first = member;
        flow.first_end = bytes;
        flow.members = 1;
        changed_.push_back({f, weight, 1});
    } else {
        Flow& flow = flows_[f];
        serve(flow, now);
        Waiting waiting{flow.served + bytes, member};
        if (waiting < Waiting{flow.first_end, flow.first}) {
            std::swap(waiting.first, flow.first_end);
            std::swap(waiting.second, flow.first);
        }
        auto& more = more_[f];
        more.push_back(waiting);
        std::push_heap(more.begin(), more.end(), std::greater<>());
        ++flow.members;
        changed_.push_back({f, weight, 0});
    }
    note(f);
}

std::int32_t Sharing::open(std::uint64_t key, std::span<const std::int32_t> route, double weight, double limit,
                           double now) {
    const bool limited = limit < kNever;
    const std::size_t hops = route.size() + (limited ? 1 : 0);
    if (free_.size() <= hops) free_.resize(hops + 1);
    std::int32_t f = 0;
    if (free_[hops].empty()) {
        f = static_cast<std::int32_t>(flows_.size());
        flows_.emplace_back();
        named_.push_back(0);
        flows_[f].route = static_cast<std::int32_t>(hops_.size());
        hops_.resize(hops_.size() + hops);
    } else {
        f = free_[hops].back();
        free_[hops].pop_back();
        const std::int32_t at = flows_[f].route;
        flows_[f] = Flow{};
        flows_[f].route = at;
    }
    if (limited || static_cast<std::size_t>(f) < limit_.size()) {
        if (limit_.size() < flows_.size()) limit_.resize(flows_.size(), kNever);
        limit_[f] = limit;
    }
    if (key != kAlone || static_cast<std::size_t>(f) < key_.size()) {
        if (key_.size() < flows_.size()) key_.resize(flows_.size(), kAlone);
        key_[f] = key;
    }
    Flow& flow = flows_[f];
    flow.hops = static_cast<std::int32_t>(hops);
    flow.weight = weight;
    flow.since = now;
    std::copy(route.begin(), route.end(), hops_.begin() + flow.route);
    if (limited) {  // what one member can take at most is a resource of this flow's own
        const auto own = static_cast<std::size_t>(fixed_ + f);
        hops_[flow.route + flow.hops - 1] = static_cast<std::int32_t>(own);
        if (lists_.size() <= own) {
            lists_.resize(own + 1);
            capacity_.resize(own + 1, 0);
            carried_.resize(own + 1, 0);
            holds_.resize(own + 1, 0);
            touched_flag_.resize(own + 1, 0);
            stale_.resize(own + 1, 0);
        }
    }
    for (const std::int32_t r : route_of(flow)) {
        lists_[r].push_back(f);
        if (carried_[r]++ == 0) {
            ++used_;
            if (r < fixed_) busy_since_[r] = now;
        }
    }
    carried_in_all_ += flow.hops;
    ++flows_open_;
    if (key != kAlone) open_.emplace(key, f);
    return f;
}

void Sharing::close(std::int32_t f, double now) {
    const Flow& flow = flows_[f];
    for (const std::int32_t r : route_of(flow)) {
        if (--carried_[r] != 0) continue;
        --used_;
        if (r < fixed_) busy_[r] += now - busy_since_[r];
    }
    if (!filling_ && flow.held_by >= 0) --holds_[flow.held_by];
    carried_in_all_ -= flow.hops;
    --flows_open_;
    named_[f] = flow.hops;
    if (key_of(f) != kAlone) open_.erase(key_of(f));
}

void Sharing::serve(Flow& flow, double now) {
    flow.served += flow.rate() * (now - flow.since);
    flow.since = now;
}

void Sharing::drop_first(std::int32_t f) {
    auto& more = more_.at(f);
    std::pop_heap(more.begin(), more.end(), std::greater<>());
    flows_[f].first_end = more.back().first;
    flows_[f].first = more.back().second;
    more.pop_back();
    if (more.empty()) more_.erase(f);
}

double Sharing::next_end() const {
    if (!filling_) return ends_.empty() ? kNever : ends_.top_key();
    double least = kNever;
    for (const Segment& segment : segments_) least = std::min(least, segment.next_end);
    return least;
}

bool Sharing::crowded() const {
    const double now = static_cast<double>(carried_in_all_);
    const double least = kCrowded * static_cast<double>(used_);
    return filling_ ? now > 0.5 * least : now > least;  // not to and fro
}

void Sharing::solve(double now) {
    if (changed_.empty()) return;
    ++solves_;
    if (crowded() != filling_) {
        filling_ = !filling_;
        if (filling_) {
            restart_filling();
        } else {
            use_heap();
        }
    }
    for (const Change& change : changed_)
        if (limit_of(change.flow) < kNever)
            capacity_[fixed_ + change.flow] = limit_of(change.flow) * flows_[change.flow].members;
    if (filling_) {
        fill(now);
    } else {
        ripple(now);
    }
    tidy();
    changed_.clear();
}

// Lists nobody passes over forget closed flows here, so that memory follows the open ones.
void Sharing::tidy() {
    for (const Change& change : changed_) {
        if (change.count >= 0) continue;
        const Flow& flow = flows_[change.flow];
        if (flow.members > 0) continue;
        for (const std::int32_t r : route_of(flow))
            if (lists_[r].size() > 2 * static_cast<std::size_t>(carried_[r]) + 32) each_open(r, [](std::int32_t) {});
    }
}

void Sharing::use_heap() {
    ends_.clear();
    std::fill(holds_.begin(), holds_.end(), 0);
    event_ = 0;
    for (std::size_t f = 0; f < flows_.size(); ++f) {
        Flow& flow = flows_[f];
        flow.mark = 1;
        if (flow.members == 0) continue;
        if (flow.held_by >= 0) ++holds_[flow.held_by];
        ends_.set(static_cast<std::int32_t>(f), end_of(flow));
    }
}

// ---- ripple

void Sharing::ripple(double now) {
    ++event_;
    for (const Change& change : changed_) {
        Flow& flow = flows_[change.flow];
        if (change.weight < 0) {
            for (const std::int32_t r : route_of(flow)) give_room(r);
            if (flow.members > 0) touch_route(flow);
        } else if (flow.members > 0) {
            if (change.count > 0) flow.mark = 2 * event_;
            touch_route(flow);
        }
    }
    for (;;) {
        for (const std::int32_t r : touched_) {
            touched_flag_[r] = 0;
            stale_[r] = 0;
            const double level = fill_level(r);
            if (level < kNever) {
                by_level_.set(r, level);
            } else if (by_level_.contains(r)) {
                by_level_.erase(r);
            }
        }
        touched_.clear();
        if (by_level_.empty()) break;
        const std::int32_t r = by_level_.top();
        const double key = by_level_.top_key();
        const double level = stale_[r] != 0 ? fill_level(r) : key;
        stale_[r] = 0;
        if (level == kNever) {
            by_level_.erase(r);
        } else if (level > key * (1 + kSame)) {
            by_level_.set(r, level);
        } else {
            by_level_.erase(r);
            decide(r, level, now);
        }
    }
    for (const Change& change : changed_)  // a member that came may end first, whatever the level
        if (flows_[change.flow].members > 0) ends_.set(change.flow, end_of(flows_[change.flow]));
}

// What a resource holds becomes undecided once it has room.
void Sharing::give_room(std::int32_t resource) {
    if (holds_[resource] == 0) return;
    each_open(resource, [&](std::int32_t f) {
        Flow& flow = flows_[f];
        if (flow.held_by != resource || undecided(flow) || decided(flow)) return;
        flow.mark = 2 * event_;
        touch_route(flow);
    });
}

void Sharing::touch(std::int32_t resource) {
    if (touched_flag_[resource] != 0) return;
    touched_flag_[resource] = 1;
    touched_.push_back(resource);
}

void Sharing::touch_route(const Flow& flow) {
    for (const std::int32_t r : route_of(flow)) touch(r);
}

// The level at which a resource fills: Newton's steps from the left on a concave, piecewise linear function.
double Sharing::fill_level(std::int32_t resource) {
    scratch_weight_.clear();
    scratch_level_.clear();
    double left = capacity_[resource], weight = 0;
    std::size_t unlimited = 0;
    each_open(resource, [&](std::int32_t f) {
        const Flow& flow = flows_[f];
        weight += flow.total();
        if (flow.held_by == resource || undecided(flow)) {
            ++unlimited;
            return;
        }
        scratch_weight_.push_back(flow.total());
        scratch_level_.push_back(flow.level);
    });
    if (weight == 0) return kNever;
    double level = left / weight;
    std::size_t count = scratch_level_.size();
    while (count > 0) {
        const double border = level * (1 + kSame);
        std::size_t kept = 0;
        for (std::size_t k = 0; k < count; ++k) {
            if (scratch_level_[k] <= border) {
                left -= scratch_weight_[k] * scratch_level_[k];
                weight -= scratch_weight_[k];
                continue;
            }
            scratch_weight_[kept] = scratch_weight_[k];
            scratch_level_[kept++] = scratch_level_[k];
        }
        if (kept + unlimited == 0) return kNever;  // all are limited below what would fill it
        if (kept == count) break;
        count = kept;
        level = std::max(level, left / weight);
    }
    return level;
}

void Sharing::decide(std::int32_t resource, double level, double now) {
    scratch_.clear();
    each_open(resource, [&](std::int32_t f) {
        const Flow& flow = flows_[f];
        const bool falls = flow.level > level * (1 + kSame);
        if (undecided(flow) || (flow.held_by == resource ? falls || flow.level < level * (1 - kSame) : falls))
            scratch_.push_back(f);
    });
    for (const std::int32_t f : scratch_) settle(f, level, resource, now);
}

void Sharing::settle(std::int32_t f, double level, std::int32_t resource, double now) {
    Flow& flow = flows_[f];
    flow.mark = 2 * event_ + 1;
    if (flow.held_by != resource) {
        if (flow.held_by >= 0) --holds_[flow.held_by];
        ++holds_[resource];
        flow.held_by = resource;
    }
    const double old = flow.level;
    if (nearly(level, old, kKeep)) {
        ends_.set(f, end_of(flow));
        for (const std::int32_t r : route_of(flow)) stale_[r] = 1;
        return;
    }
    serve(flow, now);
    flow.level = level;
    ends_.set(f, end_of(flow));
    note(f);
    for (const std::int32_t r : route_of(flow)) {
        stale_[r] = 1;
        if (r == resource) continue;
        if (level < old) give_room(r);
        if (level < old || !by_level_.contains(r)) touch(r);
    }
}

// ---- filling

void Sharing::restart_filling() {
    snapshots_used_ = 0;
    ends_.clear();
}

void Sharing::fill(double now) {
    unfrozen_.resize(flows_.size() / 64 + 1, 0);
    states_.resize(capacity_.size());
    for (std::size_t k = 0; k < snapshots_used_; ++k) snapshots_[k].states.resize(capacity_.size());
    std::size_t keep = snapshots_used_ > 0 ? usable_snapshots() : 0;
    const auto open_flows = static_cast<std::size_t>(flows_open_);
    snapshot_step_ = std::max<std::size_t>({open_flows / 32, capacity_.size() / 2, 64});
    if (keep == 0) {
        segments_.clear();
        frozen_.clear();
        for (std::size_t r = 0; r < states_.size(); ++r) states_[r] = {capacity_[r], 0, 0, 0};
        std::fill(unfrozen_.begin(), unfrozen_.end(), 0);
        for (std::size_t f = 0; f < flows_.size(); ++f) {
            const Flow& flow = flows_[f];
            if (flow.members == 0) continue;
            unfrozen_[f / 64] |= std::uint64_t{1} << f % 64;
            for (const std::int32_t r : route_of(flow)) {
                states_[r].weight += flow.total();
                states_[r].count += 1;
            }
        }
        snapshots_used_ = 0;
        next_snapshot_ = 0;
        take_snapshot();
        keep = 1;
    }
    fill_from(keep, now);
}

// How many snapshots are still what filling would find; they get the changes. 0: not even the first.
std::size_t Sharing::usable_snapshots() {
    std::size_t first = segments_.size();
    for (const Change& change : changed_) {
        const Flow& flow = flows_[change.flow];
        if (change.count <= 0) first = std::min<std::size_t>(first, flow.mark);
    }
    std::size_t keep = 0;
    for (; keep < snapshots_used_; ++keep) {
        Snapshot& snapshot = snapshots_[keep];
        if (snapshot.segment > first) break;
        apply_changes(snapshot.states.data());
        bool fits = true;
        for (const Change& change : changed_) {
            if (change.weight <= 0) continue;
            for (const std::int32_t r : route_of(flows_[change.flow]))
                fits = fits && snapshot.states[r].left >= snapshot.states[r].weight * snapshot.level;
        }
        if (!fits && keep > 0) break;
    }
    return keep;
}

void Sharing::apply_changes(State* states) const {
    for (const Change& change : changed_) {
        const Flow& flow = flows_[change.flow];
        for (const std::int32_t r : route_of(flow)) {
            states[r].weight += change.weight;
            states[r].count += change.count;
            if (r >= fixed_) states[r].left += limit_of(change.flow) * change.weight / flow.weight;
        }
    }
}

void Sharing::take_snapshot() {
    if (snapshots_used_ == snapshots_.size()) snapshots_.emplace_back();
    Snapshot& snapshot = snapshots_[snapshots_used_++];
    snapshot.segment = segments_.size();
    snapshot.frozen = frozen_.size();
    snapshot.level = segments_.empty() ? 0 : segments_.back().level;
    snapshot.states = states_;
    next_snapshot_ = frozen_.size() + snapshot_step_;
}

void Sharing::fill_from(std::size_t keep, double now) {
    const Snapshot& start = snapshots_[keep - 1];
    states_ = start.states;
    snapshots_used_ = keep;
    next_snapshot_ = start.frozen + snapshot_step_;
    for (std::size_t k = start.frozen; k < frozen_.size(); ++k) {
        const std::int32_t f = frozen_[k];
        if (flows_[f].members > 0) unfrozen_[f / 64] |= std::uint64_t{1} << f % 64;
    }
    for (const Change& change : changed_)
        if (flows_[change.flow].members > 0) unfrozen_[change.flow / 64] |= std::uint64_t{1} << change.flow % 64;
    frozen_.resize(start.frozen);
    segments_.resize(start.segment);
    std::fill(bucket_.begin(), bucket_.end(), -1);
    bucket_next_.resize(states_.size());
    double least_level = kNever;
    for (const State& state : states_)
        if (state.count > 0.5) least_level = std::min(least_level, state.left / state.weight);
    const std::int64_t base = coarse(least_level);
    const auto last_bucket = static_cast<std::int64_t>(bucket_.size()) - 1;
    auto put = [&](std::int32_t r, double level, std::int64_t least) {
        const std::int64_t at = std::clamp(coarse(level) - base, least, last_bucket);
        bucket_next_[r] = bucket_[at];
        bucket_[at] = r;
    };
    for (std::size_t r = 0; r < states_.size(); ++r)
        if (states_[r].count > 0.5) put(static_cast<std::int32_t>(r), states_[r].left / states_[r].weight, 0);
    const auto open_flows = static_cast<std::size_t>(flows_open_);
    double last = start.level;
    for (std::int64_t at = 0; frozen_.size() < open_flows && at <= last_bucket; ++at) {
        heap_.clear();
        std::int32_t next = -1;
        for (std::int32_t r = bucket_[at]; r >= 0; r = next) {
            next = bucket_next_[r];
            if (states_[r].count < 0.5) continue;
            const double level = states_[r].left / states_[r].weight;
            if (at < last_bucket && coarse(level) - base > at) {
                put(r, level, at + 1);
            } else {
                heap_.emplace_back(level, r);
            }
        }
        make_heap(heap_);
        while (!heap_.empty()) {
            const auto [key, r] = heap_.front();
            const State& state = states_[r];
            const double level = state.count < 0.5 ? 0 : state.left / state.weight;
            if (level > key * (1 + kSame)) {  // its key was a bound from below
                if (at == last_bucket || coarse(level) - base <= at) {
                    heap_.front().first = level;
                    sink(heap_, 0);
                    continue;
                }
                put(r, level, at + 1);
            } else if (state.count > 0.5) {
                last = std::max(last, level);
                freeze(r, last, now);
                if (frozen_.size() >= next_snapshot_) take_snapshot();
            }
            drop_top(heap_);
        }
    }
}

void Sharing::freeze(std::int32_t resource, double level, double now) {
    segments_.push_back({level, kNever, resource, frozen_.size()});
    const auto number = static_cast<std::uint32_t>(segments_.size() - 1);
    double next_end = kNever;
    const bool clean = static_cast<std::size_t>(carried_[resource]) * 2 < lists_[resource].size();
    auto take = [&](std::int32_t f) {
        std::uint64_t& word = unfrozen_[f / 64];
        const std::uint64_t bit = std::uint64_t{1} << f % 64;
        if ((word & bit) == 0) return;
        word ^= bit;
        Flow& flow = flows_[f];
        if (!nearly(level, flow.level, kKeep)) {
            serve(flow, now);
            flow.level = level;
            note(f);
        }
        flow.held_by = resource;
        flow.mark = number;
        frozen_.push_back(f);
        next_end = std::min(next_end, end_of(flow));
        const double weight = flow.total(), used = weight * flow.level;
        const std::int32_t* hop = hops_.data() + flow.route;
        for (const std::int32_t* end = hop + flow.hops; hop != end; ++hop) {
            State& state = states_[*hop];
            state.left -= used;
            state.weight -= weight;
            state.count -= 1;
        }
    };
    if (clean) {
        each_open(resource, take);
    } else {
        for (const std::int32_t f : lists_[resource]) take(f);  // closed flows are never unfrozen
    }
    segments_.back().next_end = next_end;
}

}  // namespace conset
