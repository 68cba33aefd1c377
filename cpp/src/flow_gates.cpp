#include "conset/flow_gates.hpp"

#include <algorithm>

namespace conset {

void Gates::begin() {
    if (!messages_.time.empty()) {
        for (std::size_t m = 0; m < messages_.size(); ++m)
            if (messages_.time[m] > 0)
                timers_.push_back({messages_.time[m], Kind::release, static_cast<std::int32_t>(m)});
        std::make_heap(timers_.begin(), timers_.end(), std::greater<>());
    }
    if (takes_list())
        for (std::int32_t r = 0; r < ranks_; ++r) advance_receiver(r, 0);
    if (execution_.policy == Policy::barrier) {
        const auto phases = static_cast<std::int64_t>(messages_.phase_offsets.size()) - 1;
        groups_ = (phases + execution_.every - 1) / execution_.every;
        next_group(0, execution_.first_barrier ? execution_.barrier : 0);
    }
    if (uses_visits())
        for (std::int32_t r = 0; r < ranks_; ++r) enter_phases(r, 0);
    if (execution_.in_flight == 0)
        for (std::size_t m = 0; m < messages_.size(); ++m)  // what nothing holds back
            if (waits(m) == 0 && (state_[m] & kPosted) == 0) post(static_cast<std::int32_t>(m), 0);
    if (execution_.in_flight > 0)
        for (std::int32_t r = 0; r < ranks_; ++r) advance_sender(r, 0);
}

void Gates::at(double time, Kind kind, std::int32_t which) {
    timers_.push_back({time, kind, which});
    std::push_heap(timers_.begin(), timers_.end(), std::greater<>());
}

void Gates::handle_until(double until, double now) {
    while (!timers_.empty() && timers_.front().time <= until) {
        const Timer timer = timers_.front();
        std::pop_heap(timers_.begin(), timers_.end(), std::greater<>());
        timers_.pop_back();
        switch (timer.kind) {
            case Kind::release:
            case Kind::signal: let(timer.which, now); break;
            case Kind::group: open_group(timer.which, now); break;
            case Kind::entered: entered(timer.which, now); break;
        }
    }
}

void Gates::let(std::int32_t m, double now) {
    if (--waits_[m] > 0) return;
    if (execution_.in_flight > 0) {
        advance_sender(messages_.sender[m], now);
    } else {
        post(m, now);
    }
}

void Gates::post(std::int32_t m, double now) {
    state_[m] |= kPosted;
    if (execution_.in_flight > 0) ++sending_[messages_.sender[m]];
    ask_receiver(m, now);
}

void Gates::ask_receiver(std::int32_t m, double /*now*/) {
    if (execution_.receives > 0 && !takes_list()) {
        const std::int32_t r = messages_.receiver[m];
        if (receiving_[r] >= execution_.receives) {
            queue_[r].push_back(m);
            return;
        }
        ++receiving_[r];
    }
    state_[m] |= kStarted;
    started_.push_back(m);
}

void Gates::advance_sender(std::int32_t rank, double now) {
    if (pays()) enter_phases(rank, now);
    while (sending_[rank] < execution_.in_flight && send_at_[rank] < sends_.offsets[rank + 1]) {
        const std::int32_t m = sends_.items[send_at_[rank]];
        if (waits(m) > 0) return;
        ++send_at_[rank];
        post(m, now);
        if (pays()) enter_phases(rank, now);
    }
}

void Gates::advance_receiver(std::int32_t rank, double now) {
    if (!takes_list()) {
        auto& queue = queue_[rank];
        auto& next = queue_at_[rank];
        while (receiving_[rank] < execution_.receives && next < queue.size()) {
            const std::int32_t m = queue[next++];
            ++receiving_[rank];
            state_[m] |= kStarted;
            started_.push_back(m);
        }
        if (next == queue.size()) {
            queue.clear();
            next = 0;
        }
        return;
    }
    while (receiving_[rank] < execution_.receives && receive_at_[rank] < receives_.offsets[rank + 1]) {
        const std::int32_t m = receives_.items[receive_at_[rank]++];
        ++receiving_[rank];
        state_[m] |= kTaken;
        if (execution_.policy == Policy::ready && messages_.sender[m] != rank) at(now + signal_(m), Kind::signal, m);
        let(m, now);
    }
}

void Gates::delivered(std::int32_t m, double now) {
    state_[m] |= kDelivered;
    --left_;
    const std::int32_t s = messages_.sender[m], r = messages_.receiver[m];
    if (!dependents_.items.empty())
        for (const std::int32_t d : dependents_.of(m)) let(d, now);
    if (execution_.receives > 0) {
        --receiving_[r];
        advance_receiver(r, now);
    }
    if (execution_.in_flight > 0) {
        --sending_[s];
        advance_sender(s, now);
    }
    if (steps()) {
        --visit_of(s, phase_of(m)).left;
        --visit_of(r, phase_of(m)).left;
        enter_phases(s, now);
        if (s != r) enter_phases(r, now);
    }
    if (execution_.policy == Policy::barrier && --group_left_ == 0) next_group(now, execution_.barrier);
}

Gates::Visit& Gates::visit_of(std::int32_t rank, std::int32_t phase) {
    const auto first = visits_.begin() + visit_offsets_[rank], last = visits_.begin() + visit_offsets_[rank + 1];
    return *std::lower_bound(first, last, phase, [](const Visit& v, std::int32_t p) { return v.phase < p; });
}

// The next group that has messages opens once a barrier has passed.
void Gates::next_group(double now, double barrier) {
    group_open_ = false;
    const auto phases = static_cast<std::int64_t>(messages_.phase_offsets.size()) - 1;
    while (++group_ < groups_) {
        const std::int64_t first = group_ * execution_.every, last = std::min(phases, first + execution_.every);
        group_left_ = static_cast<std::size_t>(messages_.phase_offsets[last] - messages_.phase_offsets[first]);
        if (group_left_ > 0) {
            at(now + barrier, Kind::group, static_cast<std::int32_t>(group_));
            return;
        }
    }
}

void Gates::open_group(std::int64_t group, double now) {
    group_open_ = true;
    const auto phases = static_cast<std::int64_t>(messages_.phase_offsets.size()) - 1;
    const std::int64_t first = group * execution_.every, last = std::min(phases, first + execution_.every);
    for (std::int64_t k = messages_.phase_offsets[first]; k < messages_.phase_offsets[last]; ++k)
        let(messages_.order.empty() ? static_cast<std::int32_t>(k) : messages_.order[k], now);
    if (pays())
        for (std::int32_t r = 0; r < ranks_; ++r) enter_phases(r, now);
}

bool Gates::may_enter(std::int32_t rank, const Visit& visit) const {
    if (steps()) return begun_[rank] == visit_offsets_[rank + 1] - visit_offsets_[rank] ? false : true;
    if (execution_.policy == Policy::barrier) {
        const std::int64_t group = visit.phase / execution_.every;
        if (group > group_ || (group == group_ && !group_open_)) return false;
    }
    if (execution_.in_flight == 0 || send_at_[rank] == sends_.offsets[rank + 1]) return true;
    const std::int32_t head = phase_of(sends_.items[send_at_[rank]]);
    return visit.phase < head || (visit.phase == head && sending_[rank] < execution_.in_flight);
}

// A rank enters its phases one after the other, and pays for one at a time.
void Gates::enter_phases(std::int32_t rank, double now) {
    const std::int64_t first = visit_offsets_[rank], last = visit_offsets_[rank + 1];
    while (begun_[rank] == entered_[rank] && first + begun_[rank] < last) {
        const Visit& visit = visits_[first + begun_[rank]];
        if (steps() && begun_[rank] > 0 && visits_[first + begun_[rank] - 1].left > 0) return;
        if (!may_enter(rank, visit)) return;
        ++begun_[rank];
        if (pays()) {
            at(now + execution_.setup, Kind::entered, rank);
            return;
        }
        entered(rank, now);
    }
}

void Gates::entered(std::int32_t rank, double now) {
    const std::int32_t phase = visits_[visit_offsets_[rank] + entered_[rank]].phase;
    ++entered_[rank];
    auto& in = visit_receive_[rank];
    for (; in < receives_.offsets[rank + 1] && phase_of(receives_.items[in]) == phase; ++in) {
        const std::int32_t m = receives_.items[in];
        if (execution_.policy == Policy::ready && !takes_list() && messages_.sender[m] != rank)
            at(now + signal_(m), Kind::signal, m);
        if (pays()) let(m, now);
    }
    auto& out = visit_send_[rank];
    for (; out < sends_.offsets[rank + 1] && phase_of(sends_.items[out]) == phase; ++out) let(sends_.items[out], now);
    if (pays()) enter_phases(rank, now);
}

}  // namespace conset
