#include "conset/simulation/streams.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace conset {

namespace {

constexpr double kSame = 1e-12;  // relative: levels nearer than this are one
constexpr double kKeep = 1e-11;  // relative: a rate that would change by less stays

}  // namespace

Streams::Streams(Array<double> capacity) : shared_(static_cast<std::int32_t>(capacity.size())) {
    resources_.resize(capacity.size());
    for (std::size_t r = 0; r < capacity.size(); ++r) resources_[r].capacity = capacity[r];
    over_.assign(capacity.size(), 0);
    touched_flag_ = changed_flag_ = stale_ = over_;
}

void Streams::open_slot() {
    free_.push_back(static_cast<std::int32_t>(streams_.size()));
    streams_.emplace_back();
    resources_.emplace_back();
    over_.push_back(1);
    for (auto* flags : {&touched_flag_, &changed_flag_, &stale_}) flags->push_back(0);
}

// The rate a stream would have with all its resources for itself; 0 while it is held.
double Streams::alone(const Stream& stream) const {
    if (stream.held) return 0;
    double rate = stream.limit;
    for (std::size_t k = 0; k + 1 < stream.uses.size(); ++k)
        rate = std::min(rate, resources_[stream.uses[k].resource].capacity / stream.uses[k].weight);
    return rate;
}

// A resource's streams or their weights have changed.
void Streams::change(std::int32_t resource) {
    if (changed_flag_[resource] != 0) return;
    changed_flag_[resource] = 1;
    changed_.push_back(resource);
}

std::int32_t Streams::add(std::int32_t message, View<const Use> uses, double limit, double bytes, double now) {
    if (free_.empty()) open_slot();
    const std::int32_t slot = free_.back();
    free_.pop_back();
    Stream& stream = streams_[slot];
    stream.message = message;
    stream.left = bytes;
    stream.rate = stream.level = 0;
    stream.since = now;
    stream.limit = limit;
    stream.held_by = -1;
    stream.held = false;
    stream.uses.assign(uses.begin(), uses.end());
    stream.uses.push_back({shared_ + slot, 0, 1});
    for (std::size_t k = 0; k < stream.uses.size(); ++k) {
        Resource& resource = resources_[stream.uses[k].resource];
        if (resource.members.empty()) resource.busy_since = now;
        stream.uses[k].position = static_cast<std::int32_t>(resource.members.size());
        resource.members.emplace_back(slot, static_cast<std::int32_t>(k));
        change(stream.uses[k].resource);
    }
    resources_[shared_ + slot].capacity = alone(stream);
    fresh_.push_back(slot);
    return slot;
}

void Streams::weigh(std::int32_t slot, std::int32_t first, std::int32_t last, double weight) {
    Stream& stream = streams_[slot];
    for (Use& use : stream.uses) {
        if (use.resource >= first && use.resource < last) use.weight = weight;
        change(use.resource);
    }
    resources_[shared_ + slot].capacity = alone(stream);
    fresh_.push_back(slot);
}

void Streams::hold(std::int32_t slot, bool held) {
    Stream& stream = streams_[slot];
    stream.held = held;
    for (const Use& use : stream.uses) change(use.resource);
    resources_[shared_ + slot].capacity = alone(stream);
    fresh_.push_back(slot);
}

double Streams::next_end() {
    while (!ends_.empty()) {
        const auto& [time, message, version, slot] = ends_.front();
        if (streams_[slot].message == message && streams_[slot].version == version) return time;
        std::pop_heap(ends_.begin(), ends_.end(), std::greater<>());
        ends_.pop_back();
    }
    return kNever;
}

std::int32_t Streams::end_next(double until, double now) {
    if (next_end() > until) return -1;
    const std::int32_t slot = std::get<3>(ends_.front());
    std::pop_heap(ends_.begin(), ends_.end(), std::greater<>());
    ends_.pop_back();
    Stream& stream = streams_[slot];
    for (const Use& use : stream.uses) {
        Resource& resource = resources_[use.resource];
        const auto moved = resource.members[use.position] = resource.members.back();
        streams_[moved.first].uses[moved.second].position = use.position;
        resource.members.pop_back();
        if (resource.members.empty()) resource.busy += now - resource.busy_since;
        change(use.resource);
    }
    if (recording_) changes_.emplace_back(stream.message, 0.0);
    const std::int32_t message = stream.message;
    stream.message = -1;
    ++stream.version;
    free_.push_back(slot);
    return message;
}

std::int32_t Streams::held_by(std::int32_t slot) const {
    const Stream& stream = streams_[slot];
    if (stream.held_by < shared_) return stream.held_by;
    for (std::size_t k = 0; k + 1 < stream.uses.size(); ++k) {  // it runs as if alone: what it fills
        const Use& use = stream.uses[k];
        if (resources_[use.resource].capacity <= stream.level * use.weight * (1 + kKeep)) return use.resource;
    }
    return -1;
}

void Streams::solve(double now) {
    if (changed_.empty() && fresh_.empty()) return;
    ++solves_;
    find_full();
    for (const std::int32_t slot : fresh_)
        if (streams_[slot].message >= 0) undecide(slot);
    fresh_.clear();
    ripple();
    take_rates(now);
}

// Which changed resources may be full now; what one that changed holds must be decided again.
void Streams::find_full() {
    for (const std::int32_t r : changed_) {
        changed_flag_[r] = 0;
        if (r >= shared_) continue;
        double demand = 0;
        for (const auto& [slot, use] : resources_[r].members)
            demand += streams_[slot].uses[use].weight * resources_[shared_ + slot].capacity;
        const bool over = demand > resources_[r].capacity * (1 + kSame);
        if (over_[r] != 0 || over) give_room(r);
        over_[r] = over ? 1 : 0;
        if (over) touch(r);
    }
    changed_.clear();
}

void Streams::undecide(std::int32_t slot) {
    Stream& stream = streams_[slot];
    if (stream.mark != kKept) return;
    stream.mark = kUndecided;
    if (!stream.listed) part_.push_back(slot);
    stream.listed = true;
    touch_uses(stream);
}

void Streams::touch(std::int32_t resource) {
    if (touched_flag_[resource] != 0) return;
    touched_flag_[resource] = 1;
    touched_.push_back(resource);
}

void Streams::touch_uses(const Stream& stream) {
    for (const Use& use : stream.uses)
        if (over_[use.resource] != 0) touch(use.resource);
}

// What a resource holds becomes undecided once it has room.
void Streams::give_room(std::int32_t resource) {
    for (const auto& member : resources_[resource].members)
        if (streams_[member.first].held_by == resource) undecide(member.first);
}

// The level at which a resource fills: Newton's steps from the left on a concave, piecewise linear function.
double Streams::fill_level(std::int32_t resource) {
    below_.clear();
    double left = resources_[resource].capacity, weight = 0;
    bool unlimited = false;
    work_ += static_cast<std::int64_t>(resources_[resource].members.size());
    for (const auto& [slot, use] : resources_[resource].members) {
        const Stream& stream = streams_[slot];
        weight += stream.uses[use].weight;
        if (stream.held_by == resource || stream.mark == kUndecided) {
            unlimited = true;
        } else {
            below_.emplace_back(stream.uses[use].weight, stream.level);
        }
    }
    if (resources_[resource].members.empty()) return kNever;
    double level = left / weight;
    while (!below_.empty()) {
        const double border = level * (1 + kSame);
        std::size_t kept = 0;
        for (const auto& [w, x] : below_) {
            if (x > border) {
                below_[kept++] = {w, x};
                continue;
            }
            left -= w * x;
            weight -= w;
        }
        if (kept == 0 && !unlimited) return kNever;  // all are limited below what would fill it
        if (kept == below_.size()) break;
        below_.resize(kept);
        level = std::max(level, left / weight);
    }
    return level;
}

void Streams::ripple() {
    for (;;) {
        for (const std::int32_t r : touched_) {
            touched_flag_[r] = 0;
            stale_[r] = 0;
            const double level = over_[r] != 0 ? fill_level(r) : kNever;
            if (level < kNever) {
                by_level_.set(r, level);
            } else if (by_level_.contains(r)) {
                by_level_.erase(r);
            }
        }
        touched_.clear();
        if (by_level_.empty()) return;
        const std::int32_t r = by_level_.top();
        const double key = by_level_.top_key();
        const double level = stale_[r] != 0 ? fill_level(r) : key;
        stale_[r] = 0;
        if (level < kNever && level > key * (1 + kSame)) {
            by_level_.set(r, level);
            continue;
        }
        by_level_.erase(r);
        if (level < kNever) decide(r, level);
    }
}

void Streams::decide(std::int32_t resource, double level) {
    scratch_.clear();
    for (const auto& member : resources_[resource].members) {
        const Stream& stream = streams_[member.first];
        const bool falls = stream.level > level * (1 + kSame);
        const bool held = stream.held_by == resource && stream.level < level * (1 - kSame);
        if (stream.mark == kUndecided || falls || held) scratch_.push_back(member.first);
    }
    for (const std::int32_t slot : scratch_) settle(slot, level, resource);
}

void Streams::settle(std::int32_t slot, double level, std::int32_t resource) {
    Stream& stream = streams_[slot];
    stream.mark = kDecided;
    if (!stream.listed) part_.push_back(slot);
    stream.listed = true;
    stream.held_by = resource;
    const double old = stream.level;
    const bool same = std::abs(level - old) <= kKeep * old;
    if (!same) stream.level = level;
    for (const Use& use : stream.uses) {
        const std::int32_t r = use.resource;
        if (over_[r] == 0) continue;
        stale_[r] = 1;
        if (same || r == resource) continue;
        if (level < old) give_room(r);
        if (level < old || !by_level_.contains(r)) touch(r);
    }
}

void Streams::take_rates(double now) {
    for (const std::int32_t slot : part_) {
        Stream& stream = streams_[slot];
        stream.mark = kKept;
        stream.listed = false;
        if (stream.message < 0 || stream.level == stream.rate) continue;
        stream.left = std::max(0.0, stream.left - stream.rate * (now - stream.since));
        stream.since = now;
        stream.rate = stream.level;
        ++stream.version;
        if (stream.rate > 0) {
            ends_.emplace_back(now + stream.left / stream.rate, stream.message, stream.version, slot);
            std::push_heap(ends_.begin(), ends_.end(), std::greater<>());
        }
        if (recording_) changes_.emplace_back(stream.message, stream.rate);
    }
    part_.clear();
}

}  // namespace conset
