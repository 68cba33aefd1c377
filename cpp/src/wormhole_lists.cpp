#include "conset/wormhole_lists.hpp"

#include <algorithm>
#include <utility>

namespace conset {

WormholeLists::WormholeLists(const Messages& messages, const Execution& execution,
                             std::span<const std::int32_t> partner, std::vector<char> inside)
    : messages_(messages),
      execution_(execution),
      partner_(partner),
      inside_(std::move(inside)),
      state_(messages.size(), kWaits),
      left_(messages.size()) {
    for (std::size_t m = 0; m < messages.size(); ++m)
        ranks_ = std::max({ranks_, messages.sender[m] + 1, messages.receiver[m] + 1});
    if (phased()) {
        phase_.resize(messages.size());
        for (std::size_t p = 0; p + 1 < messages.phase_offsets.size(); ++p)
            for (std::int64_t k = messages.phase_offsets[p]; k < messages.phase_offsets[p + 1]; ++k)
                phase_[k] = static_cast<std::int32_t>(p);
    }
    sends_ = rows_by(messages.sender);
    receives_ = rows_by(messages.receiver);
    const auto ranks = static_cast<std::size_t>(ranks_);
    in_flight_.assign(ranks, 0);
    phase_left_.assign(ranks, 0);
    phase_now_.assign(ranks, -1);
    send_at_.assign(sends_.offsets.begin(), sends_.offsets.end() - 1);
    entered_sends_ = send_at_;
    entered_receives_.assign(receives_.offsets.begin(), receives_.offsets.end() - 1);
    make_dependents();
    count_waits();
}

// Messages by rank, in list order.
WormholeLists::Rows WormholeLists::rows_by(std::span<const std::int32_t> rank) const {
    Rows rows;
    rows.offsets.assign(static_cast<std::size_t>(ranks_) + 1, 0);
    for (const std::int32_t r : rank) ++rows.offsets[r + 1];
    for (std::int32_t r = 0; r < ranks_; ++r) rows.offsets[r + 1] += rows.offsets[r];
    rows.items.resize(rank.size());
    std::vector<std::int64_t> at(rows.offsets.begin(), rows.offsets.end() - 1);
    for (std::size_t k = 0; k < rank.size(); ++k) {
        const std::int32_t m = messages_.order.empty() ? static_cast<std::int32_t>(k) : messages_.order[k];
        rows.items[at[rank[m]]++] = m;
    }
    return rows;
}

void WormholeLists::make_dependents() {
    if (messages_.dep_offsets.empty()) return;
    dependents_.offsets.assign(messages_.size() + 1, 0);
    for (const std::int32_t d : messages_.deps) ++dependents_.offsets[d + 1];
    for (std::size_t m = 0; m < messages_.size(); ++m) dependents_.offsets[m + 1] += dependents_.offsets[m];
    dependents_.items.resize(messages_.deps.size());
    std::vector<std::int64_t> at(dependents_.offsets.begin(), dependents_.offsets.end() - 1);
    for (std::size_t m = 0; m < messages_.size(); ++m)
        for (std::int64_t k = messages_.dep_offsets[m]; k < messages_.dep_offsets[m + 1]; ++k)
            dependents_.items[at[messages_.deps[k]]++] = static_cast<std::int32_t>(m);
}

void WormholeLists::count_waits() {
    waits_.assign(messages_.size(), 0);
    for (std::size_t m = 0; m < messages_.size(); ++m) {
        if (!messages_.dep_offsets.empty())
            waits_[m] = static_cast<std::int32_t>(messages_.dep_offsets[m + 1] - messages_.dep_offsets[m]);
        if (!messages_.time.empty() && messages_.time[m] > 0) ++waits_[m];
        if (!phased()) continue;
        if (execution_.policy != Policy::none) ++waits_[m];
        if (execution_.policy == Policy::ready && inside_[m] == 0)
            waits_[m] += !partner_.empty() && partner_[m] >= 0 ? 2 : 1;
    }
}

void WormholeLists::begin() {
    for (std::size_t m = 0; m < messages_.time.size(); ++m)
        if (messages_.time[m] > 0) orders_.push_back({Task::release, static_cast<std::int32_t>(m), messages_.time[m]});
    if (phased() && execution_.policy == Policy::barrier) next_group(execution_.first_barrier ? execution_.barrier : 0);
    if (in_lists()) {
        for (std::int32_t r = 0; r < ranks_; ++r) {
            if (phased() && steps()) enter(r, 0);
            advance(r);
        }
        return;
    }
    for (std::int32_t m = 0; m < static_cast<std::int32_t>(messages_.size()); ++m)
        if (waits_[m] == 0) post(m);
}

void WormholeLists::handle(Task task, std::int32_t which, double now) {
    if (task == Task::release) {
        let(which);
    } else if (task == Task::group) {
        open_group(which);
    } else {
        enter(which, now);
    }
}

// One condition less.
void WormholeLists::let(std::int32_t m) {
    if (--waits_[m] > 0) return;
    if (in_lists()) {
        advance(messages_.sender[m]);
    } else {
        post(m);
    }
}

void WormholeLists::post(std::int32_t m) {
    state_[m] = kPosted;
    orders_.push_back({Task::post, m, 0});
}

void WormholeLists::advance(std::int32_t rank) {
    auto& at = send_at_[rank];
    while (at < sends_.offsets[rank + 1] && waits_[sends_.items[at]] == 0 &&
           (execution_.in_flight == 0 || in_flight_[rank] < execution_.in_flight)) {
        ++in_flight_[rank];
        post(sends_.items[at++]);
    }
}

void WormholeLists::signalled(std::int32_t m) {
    let(m);
    if (!partner_.empty() && partner_[m] >= 0) let(partner_[m]);
}

void WormholeLists::sent(std::int32_t m) {
    state_[m] = kSent;
    if (!in_lists()) return;
    --in_flight_[messages_.sender[m]];
    advance(messages_.sender[m]);
}

void WormholeLists::delivered(std::int32_t m, double now) {
    const bool was_sent = state_[m] == kSent;
    state_[m] = kDelivered;
    --left_;
    if (!dependents_.offsets.empty())
        for (const std::int32_t d : dependents_.of(m)) let(d);
    if (in_lists() && !was_sent) {
        --in_flight_[messages_.sender[m]];
        advance(messages_.sender[m]);
    }
    if (!phased()) return;
    if (steps()) {
        finished(messages_.sender[m], phase_[m], now);
        finished(messages_.receiver[m], phase_[m], now);
    }
    if (execution_.policy == Policy::barrier && --group_left_ == 0) next_group(now + execution_.barrier);
}

// A rank has one send or receive less to do in its phase. What comes from ranks that are ahead is counted on entering.
void WormholeLists::finished(std::int32_t rank, std::int32_t phase, double now) {
    if (phase == phase_now_[rank] && --phase_left_[rank] == 0) orders_.push_back({Task::enter, rank, now});
}

// A rank enters the next phase in which it sends or receives anything.
void WormholeLists::enter(std::int32_t rank, double now) {
    auto &send = entered_sends_[rank], &receive = entered_receives_[rank];
    const std::int64_t first = send, sends = sends_.offsets[rank + 1], receives = receives_.offsets[rank + 1];
    if (send == sends && receive == receives) return;
    std::int32_t phase = send < sends ? phase_[sends_.items[send]] : phase_[receives_.items[receive]];
    if (receive < receives) phase = std::min(phase, phase_[receives_.items[receive]]);
    phase_now_[rank] = phase;
    for (; receive < receives && phase_[receives_.items[receive]] == phase; ++receive) {
        const std::int32_t m = receives_.items[receive];
        if (state_[m] == kDelivered) continue;
        ++phase_left_[rank];
        if (execution_.policy == Policy::ready && inside_[m] == 0) orders_.push_back({Task::signal, m, 0});
    }
    for (; send < sends && phase_[sends_.items[send]] == phase; ++send) ++phase_left_[rank];
    if (phase_left_[rank] == 0) orders_.push_back({Task::enter, rank, now});
    for (std::int64_t k = first; k < send; ++k) let(sends_.items[k]);
}

// The next group that has messages opens at `at_time`.
void WormholeLists::next_group(double at_time) {
    const auto phases = static_cast<std::int64_t>(messages_.phase_offsets.size()) - 1;
    while (++group_ * execution_.every < phases) {
        const std::int64_t first = group_ * execution_.every, last = std::min(phases, first + execution_.every);
        group_left_ = static_cast<std::size_t>(messages_.phase_offsets[last] - messages_.phase_offsets[first]);
        if (group_left_ == 0) continue;
        orders_.push_back({Task::group, static_cast<std::int32_t>(group_), at_time});
        return;
    }
}

void WormholeLists::open_group(std::int32_t group) {
    const auto phases = static_cast<std::int64_t>(messages_.phase_offsets.size()) - 1;
    const std::int64_t first = group * execution_.every, last = std::min(phases, first + execution_.every);
    for (std::int64_t k = messages_.phase_offsets[first]; k < messages_.phase_offsets[last]; ++k)
        let(static_cast<std::int32_t>(k));
}

std::int32_t WormholeLists::waiting_before(std::int32_t rank, std::int32_t phase) const {
    for (const auto list : {sends_.of(rank), receives_.of(rank)})
        for (const std::int32_t m : list) {
            if (phase_of(m) >= phase) break;
            if (state_[m] != kDelivered) return m;
        }
    return -1;
}

std::int32_t WormholeLists::blocker_of(std::int32_t m) const {
    if (!messages_.dep_offsets.empty())
        for (std::int64_t k = messages_.dep_offsets[m]; k < messages_.dep_offsets[m + 1]; ++k)
            if (state_[messages_.deps[k]] != kDelivered) return messages_.deps[k];
    if (phased() && steps())
        for (const std::int32_t rank : {messages_.sender[m], messages_.receiver[m]})
            if (const std::int32_t other = waiting_before(rank, phase_of(m)); other >= 0) return other;
    if (phased() && execution_.policy == Policy::barrier)
        for (std::int32_t other = 0; other < m; ++other)
            if (state_[other] != kDelivered && phase_of(other) / execution_.every < phase_of(m) / execution_.every)
                return other;
    for (const std::int32_t other : sends_.of(messages_.sender[m]))  // in front of it, or in flight
        if (other != m && state_[other] < kSent) return other;
    return -1;
}

}  // namespace conset
