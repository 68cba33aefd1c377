// Who waits for whom, where nothing goes any more.
#include <algorithm>

#include "conset/simulation/release/release.hpp"

namespace conset {

// The first message that a rank sends or receives in phases before `phase` and that is not delivered, -1 without any.
template <class Time>
std::int32_t Release<Time>::waiting_before(std::int32_t rank, std::int32_t phase) const {
    for (std::size_t k = 0; k < messages_.size(); ++k) {
        const std::int32_t m = in_order(k);
        if (phase_of(m) >= phase) return -1;
        if ((messages_.sender[m] == rank || messages_.receiver[m] == rank) && !is_delivered(m)) return m;
    }
    return -1;
}

// A message that must be delivered, or get its slot, before m can.
template <class Time>
std::int32_t Release<Time>::blocker_of(std::int32_t m) const {
    if (!messages_.dep_offsets.empty())
        for (std::int64_t k = messages_.dep_offsets[m]; k < messages_.dep_offsets[m + 1]; ++k)
            if (!is_delivered(messages_.deps[k])) return messages_.deps[k];
    if (enters())
        for (const std::int32_t rank : {messages_.sender[m], messages_.receiver[m]})
            if (const std::int32_t other = waiting_before(rank, phase_of(m)); other >= 0) return other;
    if (execution_.policy == Policy::barrier)
        for (std::size_t k = 0; k < messages_.size(); ++k) {
            const std::int32_t other = in_order(k);
            if (phase_of(other) / execution_.every >= phase_of(m) / execution_.every) break;
            if (!is_delivered(other)) return other;
        }
    if (in_lists_)  // in front of it, or in a slot
        for (const std::int32_t other : sends_.of(messages_.sender[m]))
            if (other != m && (state_[other] & kLeft) == 0) return other;
    return -1;
}

template <class Time>
auto Release<Time>::waits_for(std::int32_t m) const -> std::pair<Place, std::int32_t> {
    if (!has_slot(m)) return {Place::delivery, blocker_of(m)};
    return waits_at_receiver(m);
}

// For room that a message in the buffer has, for a receive that another one has, or for its rank to enter the phase.
template <class Time>
auto Release<Time>::waits_at_receiver(std::int32_t m) const -> std::pair<Place, std::int32_t> {
    const std::int32_t rank = messages_.receiver[m];
    const auto first_with = [&](Mark mark) {
        for (std::size_t k = 0; k < messages_.size(); ++k) {
            const std::int32_t other = in_order(k);
            if (other == m || messages_.receiver[other] != rank || is_delivered(other)) continue;
            if ((marks_[other] & mark) != 0) return other;
        }
        return -1;
    };
    if (marks_.empty()) return {Place::receive, -1};
    if (receivers_[rank].queue.contains(m))
        if (const std::int32_t other = first_with(kTakenIn); other >= 0) return {Place::buffer, other};
    if (const std::int32_t other = first_with(kHasReceive); other >= 0) return {Place::receive, other};
    return {Place::receive, waiting_before(rank, phase_of(m))};
}

template class Release<double>;
template class Release<std::int64_t>;

}  // namespace conset
