#include "conset/simulation/flow/sharing.hpp"

#include <algorithm>
#include <functional>

namespace conset {

namespace {

constexpr double kCrowded = 10;  // flows per resource in use from which on filling beats the ripple

}  // namespace

Sharing::Sharing(Array<double> capacity, FlowTable::RouteOf route_of)
    : table_(std::move(capacity), std::move(route_of)),
      ripple_(table_),
      filler_(table_),
      busy_(table_.capacity.size(), 0) {}

void Sharing::add(std::uint64_t key, double weight, double limit, std::int32_t member, double bytes, double now) {
    const auto found = key == kAlone ? open_.end() : open_.find(key);
    if (found == open_.end()) {
        table_.opened.push_back(open(key, weight, limit, member, bytes, now));
    } else {
        join(found->second, member, bytes, now);
    }
}

std::int32_t Sharing::open(std::uint64_t key, double weight, double limit, std::int32_t member, double bytes,
                           double now) {
    std::int32_t f = 0;
    if (table_.spare.empty()) {
        f = static_cast<std::int32_t>(table_.flows.size());
        table_.flows.emplace_back();
    } else {
        f = table_.spare.back();
        table_.spare.pop_back();
        table_.flows[f] = Flow{};
    }
    Flow& flow = table_.flows[f];
    flow.weight = weight;
    flow.key = bytes / weight;
    flow.first = member;
    flow.members = 1;
    if (limit < kNever || !table_.limit.empty()) {
        table_.limit.resize(table_.flows.size(), kNever);
        table_.limit[f] = limit;
        table_.grow(as_size(table_.fixed) + table_.flows.size());
    }
    if (key != kAlone) {
        key_.resize(table_.flows.size(), kAlone);
        key_[f] = key;
        open_.emplace(key, f);
    }
    table_.each_resource(f, [&](std::int32_t r) {
        ++carried_in_all_;
        if (table_.carried[r]++ > 0) return;
        ++used_;
        if (r < table_.fixed) busy_[r] -= now;
    });
    ++table_.open;
    return f;
}

void Sharing::join(std::int32_t f, std::int32_t member, double bytes, double now) {
    Flow& flow = table_.flows[f];
    const ServiceClock flows_at = clock(f);
    More& more = more_[f];
    const double first_left = flow.key - flows_at.service(now), left = bytes / flow.weight;
    if (more.waiting.empty()) more.first_end = first_left;
    Waiting waiting{more.first_end + (left - first_left), member};
    if (waiting < Waiting{more.first_end, flow.first}) {
        flow.key += waiting.first - more.first_end;
        std::swap(waiting.first, more.first_end);
        std::swap(waiting.second, flow.first);
    }
    more.waiting.push_back(waiting);
    std::push_heap(more.waiting.begin(), more.waiting.end(), std::greater<>());
    ++flow.members;
    if (flows_at.level == 0) return;  // among the opened ones
    table_.changed.push_back({f, flow.weight, false});
    table_.note(f);
}

void Sharing::close(std::int32_t f, double now) {
    table_.each_resource(f, [&](std::int32_t r) {
        --carried_in_all_;
        if (--table_.carried[r] > 0) return;
        --used_;
        if (r < table_.fixed) busy_[r] += now;
    });
    --table_.open;
    table_.dead.push_back(f);
    if (key_of(f) != kAlone) open_.erase(key_of(f));
}

void Sharing::drop_first(std::int32_t f) {
    Flow& flow = table_.flows[f];
    More& more = more_.at(f);
    std::pop_heap(more.waiting.begin(), more.waiting.end(), std::greater<>());
    const auto [end, member] = more.waiting.back();
    more.waiting.pop_back();
    flow.key += end - more.first_end;
    flow.first = member;
    more.first_end = end;
    if (more.waiting.empty()) more_.erase(f);
}

void Sharing::solve(double now) {
    if (table_.changed.empty() && table_.opened.empty()) return;
    ++solves_;
    const auto limit = [&](std::int32_t f) {
        if (table_.limit_of(f) < kNever)
            table_.capacity[table_.fixed + f] = table_.limit_of(f) * table_.flows[f].members;
    };
    for (const auto& change : table_.changed) limit(change.flow);
    for (const std::int32_t f : table_.opened) limit(f);
    choose_solver(now);
    if (filling_) {
        filler_.solve(now);
    } else {
        ripple_.solve(now);
    }
    table_.changed.clear();
    table_.opened.clear();
}

void Sharing::choose_solver(double now) {
    const double flows = static_cast<double>(carried_in_all_), least = kCrowded * static_cast<double>(used_);
    const bool crowded = filling_ ? flows > 0.5 * least : flows > least;  // not to and fro
    if (crowded == filling_) return;
    filling_ = crowded;
    if (filling_) {
        filler_.begin(now, [&](std::int32_t f) { return ripple_.clock(f); });
        ripple_.leave();
    } else {
        filler_.leave();  // all but the clocks
        ripple_.begin([&](std::int32_t f) { return filler_.clock(f); });
    }
}

}  // namespace conset
