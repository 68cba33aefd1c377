#include "conset/wormhole_streams.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace conset {

namespace {

constexpr double kSame = 1e-12;  // relative: levels and rates nearer than this are one

}  // namespace

Streams::Streams(std::vector<double> capacity) {
    resources_.resize(capacity.size());
    for (std::size_t r = 0; r < capacity.size(); ++r) resources_[r].capacity = capacity[r];
}

void Streams::touch(std::int32_t resource) {
    if (resources_[resource].touched) return;
    resources_[resource].touched = true;
    touched_.push_back(resource);
}

// The rate a stream would have with all its resources for itself.
void Streams::find_alone(Stream& stream) {
    stream.alone = stream.limit;
    for (const Use& use : stream.uses)
        stream.alone = std::min(stream.alone, resources_[use.resource].capacity / use.weight);
}

std::int32_t Streams::add(std::int32_t message, std::span<const Use> uses, double limit, double bytes, double now) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::int32_t>(streams_.size()));
        streams_.emplace_back();
    }
    const std::int32_t slot = free_.back();
    free_.pop_back();
    Stream& stream = streams_[slot];
    stream.message = message;
    stream.left = bytes;
    stream.rate = 0;
    stream.since = now;
    stream.limit = limit;
    stream.uses.assign(uses.begin(), uses.end());
    for (std::size_t k = 0; k < stream.uses.size(); ++k) {
        Resource& resource = resources_[stream.uses[k].resource];
        if (resource.members.empty()) resource.busy_since = now;
        stream.uses[k].position = static_cast<std::int32_t>(resource.members.size());
        resource.members.emplace_back(slot, static_cast<std::int32_t>(k));
        touch(stream.uses[k].resource);
    }
    find_alone(stream);
    fresh_.push_back(slot);
    return slot;
}

void Streams::weigh(std::int32_t slot, std::int32_t first, std::int32_t last, double weight) {
    Stream& stream = streams_[slot];
    for (Use& use : stream.uses) {
        if (use.resource >= first && use.resource < last) use.weight = weight;
        touch(use.resource);
    }
    find_alone(stream);
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
        touch(use.resource);
    }
    if (recording_) changes_.emplace_back(stream.message, 0.0);
    const std::int32_t message = stream.message;
    stream.message = -1;
    ++stream.version;
    free_.push_back(slot);
    return message;
}

void Streams::solve(double now) {
    if (touched_.empty() && fresh_.empty()) return;
    ++solves_;
    for (const std::int32_t r : touched_) {
        Resource& resource = resources_[r];
        double demand = 0;
        for (const auto& [slot, use] : resource.members)
            demand += streams_[slot].uses[use].weight * streams_[slot].alone;
        const bool was_over = resource.over;
        resource.over = demand > resource.capacity * (1 + kSame);
        resource.touched = false;
        if (was_over || resource.over)
            for (const auto& member : resource.members) seed(member.first);
    }
    for (const std::int32_t slot : fresh_)
        if (streams_[slot].message >= 0) seed(slot);
    touched_.clear();
    fresh_.clear();
    connect();
    fill();
    take_rates(now);
}

void Streams::seed(std::int32_t slot) {
    if (streams_[slot].seen) return;
    streams_[slot].seen = true;
    part_.push_back(slot);
}

// Everything joined to the seeds by overloaded resources.
void Streams::connect() {
    for (std::size_t k = 0; k < part_.size(); ++k) {
        streams_[part_[k]].frozen = false;
        for (const Use& use : streams_[part_[k]].uses) {
            Resource& resource = resources_[use.resource];
            if (!resource.over || resource.seen) continue;
            resource.seen = true;
            resource.left = resource.capacity;
            resource.weight = 0;
            resource.unfrozen = static_cast<std::int32_t>(resource.members.size());
            part_resources_.push_back(use.resource);
            for (const auto& [slot, which] : resource.members) {
                resource.weight += streams_[slot].uses[which].weight;
                seed(slot);
            }
        }
    }
}

void Streams::fill() {
    order_.clear();
    levels_.clear();
    for (const std::int32_t slot : part_) order_.emplace_back(streams_[slot].alone, slot);
    std::sort(order_.begin(), order_.end());
    for (const std::int32_t r : part_resources_) levels_.emplace_back(resources_[r].left / resources_[r].weight, r);
    std::make_heap(levels_.begin(), levels_.end(), std::greater<>());
    for (auto next = order_.begin();;) {
        while (next != order_.end() && streams_[next->second].frozen) ++next;
        if (next == order_.end()) break;
        if (levels_.empty() || next->first <= levels_.front().first) {  // levels only rise: the stored one is a bound
            freeze(next->second, next->first);
            continue;
        }
        const std::int32_t r = levels_.front().second;
        Resource& resource = resources_[r];
        const double level = resource.unfrozen == 0 ? kNever : std::max(0.0, resource.left) / resource.weight;
        const bool risen = level > levels_.front().first * (1 + kSame);
        std::pop_heap(levels_.begin(), levels_.end(), std::greater<>());
        levels_.pop_back();
        if (level == kNever) continue;
        if (risen) {
            levels_.emplace_back(level, r);
            std::push_heap(levels_.begin(), levels_.end(), std::greater<>());
            continue;
        }
        for (const auto& member : resource.members)
            if (!streams_[member.first].frozen) freeze(member.first, level);
    }
}

void Streams::freeze(std::int32_t slot, double rate) {
    Stream& stream = streams_[slot];
    stream.frozen = true;
    stream.solved = rate;
    for (const Use& use : stream.uses) {
        Resource& resource = resources_[use.resource];
        if (!resource.seen) continue;
        resource.left -= use.weight * rate;
        resource.weight -= use.weight;
        --resource.unfrozen;
    }
}

void Streams::take_rates(double now) {
    for (const std::int32_t slot : part_) {
        Stream& stream = streams_[slot];
        stream.seen = false;
        if (std::abs(stream.solved - stream.rate) <= kSame * stream.rate) continue;
        stream.left = std::max(0.0, stream.left - stream.rate * (now - stream.since));
        stream.since = now;
        stream.rate = stream.solved;
        ends_.emplace_back(now + stream.left / stream.rate, stream.message, ++stream.version, slot);
        std::push_heap(ends_.begin(), ends_.end(), std::greater<>());
        if (recording_) changes_.emplace_back(stream.message, stream.rate);
    }
    for (const std::int32_t r : part_resources_) resources_[r].seen = false;
    part_.clear();
    part_resources_.clear();
}

}  // namespace conset
