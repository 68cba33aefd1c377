// Policies: phases that ranks enter, what they pay for them, groups that barriers open.
#include <algorithm>
#include <limits>

#include "conset/simulation/release/release.hpp"

namespace conset {

namespace {

constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();

}  // namespace

// The next phase in which a rank sends or receives anything.
template <class Time>
std::int32_t Release<Time>::next_phase(std::int32_t rank) const {
    const std::int64_t send = entered_sends_[rank], receive = entered_receives_[rank];
    std::int32_t phase = kNone;
    if (send < sends_.offsets[rank + 1]) phase = phase_of(sends_.items[send]);
    if (receive < receives_.offsets[rank + 1]) phase = std::min(phase, phase_of(receives_.items[receive]));
    return phase;
}

// Whether a rank's first transfer of a phase comes to its turn, where ranks do not enter phases one by one.
template <class Time>
bool Release<Time>::comes_to_turn(std::int32_t rank, std::int32_t phase) const {
    if (execution_.policy == Policy::barrier) {
        const std::int64_t group = phase / execution_.every;
        if (group > group_ || (group == group_ && !group_open_)) return false;
    }
    if (send_at_[rank] == sends_.offsets[rank + 1]) return true;
    const std::int32_t head = phase_of(sends_.items[send_at_[rank]]);
    return phase < head || (phase == head && has_free_slot(rank));
}

// A rank enters phases one after the other, and pays for one at a time.
template <class Time>
void Release<Time>::advance_phases(std::int32_t rank) {
    while (setting_up_[rank] == 0) {
        const std::int32_t phase = next_phase(rank);
        if (phase == kNone || (enters() && phase_left_[rank] > 0)) return;
        if (!enters() && !comes_to_turn(rank, phase)) return;
        if (pays()) {
            setting_up_[rank] = 1;
            const Time end = processors_.both(rank, execution_.setup, now_);
            if (processors_.preempting()) {
                carrier_.hold(rank, true);
                events_.at(end, EventKind::idle, rank);
            }
            events_.at(end, EventKind::gate, rank, kSetUp);
        } else {
            enter(rank);
        }
    }
}

template <class Time>
void Release<Time>::enter(std::int32_t rank) {
    auto &send = entered_sends_[rank], &receive = entered_receives_[rank];
    const std::int64_t first_send = send, first_receive = receive;
    const std::int32_t phase = next_phase(rank);
    phase_now_[rank] = phase;
    for (; receive < receives_.offsets[rank + 1] && phase_of(receives_.items[receive]) == phase; ++receive) {
        const std::int32_t m = receives_.items[receive];
        if (is_delivered(m)) continue;
        ++phase_left_[rank];
        if (execution_.policy == Policy::ready && leaves(m)) send_signal(rank, m, kReadyArrives);
    }
    for (; send < sends_.offsets[rank + 1] && phase_of(sends_.items[send]) == phase; ++send) ++phase_left_[rank];
    posts_early(rank);
    const std::int64_t last_send = send, last_receive = receive;
    if (pays())
        for (std::int64_t k = first_receive; k < last_receive; ++k)
            if (const std::int32_t m = receives_.items[k]; messages_.sender[m] != rank) decrement_waits(m);
    for (std::int64_t k = first_send; k < last_send; ++k) decrement_waits(sends_.items[k]);
}

// A rank has one send or receive less to do in its phase. What comes from ranks that are ahead is counted on entering.
template <class Time>
void Release<Time>::finish_part(std::int32_t rank, std::int32_t phase) {
    if (phase == phase_now_[rank] && --phase_left_[rank] == 0) events_.at(now_, EventKind::gate, rank, kEnter);
}

// The next group that has messages opens once a barrier has passed.
template <class Time>
void Release<Time>::next_group(Time after) {
    group_open_ = false;
    while (++group_ * execution_.every < phases()) {
        const std::int64_t first = group_ * execution_.every, last = std::min(phases(), first + execution_.every);
        group_left_ = static_cast<std::size_t>(messages_.phase_offsets[last] - messages_.phase_offsets[first]);
        if (group_left_ == 0) continue;
        events_.at(now_ + after, EventKind::gate, static_cast<std::int32_t>(group_), kGroup);
        return;
    }
}

template <class Time>
void Release<Time>::open_group(std::int32_t group) {
    group_open_ = true;
    const std::int64_t first = group * execution_.every, last = std::min(phases(), first + execution_.every);
    for (std::int64_t k = messages_.phase_offsets[first]; k < messages_.phase_offsets[last]; ++k)
        decrement_waits(in_order(static_cast<std::size_t>(k)));
    if (pays())
        for (std::int32_t r = 0; r < ranks_; ++r) advance_phases(r);
}

template class Release<double>;
template class Release<std::int64_t>;

}  // namespace conset
