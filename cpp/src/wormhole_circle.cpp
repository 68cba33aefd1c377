#include <algorithm>
#include <utility>

#include "conset/wormhole_run.hpp"

namespace conset {

// From a waiting message to one that has what it waits for, until one repeats.
void WormholeRun::find_circle() {
    std::vector<std::int32_t> seen_at(messages_.size(), -1), circle, channel;
    std::int32_t m = 0;
    while (lists_.is_delivered(m)) ++m;
    while (m >= 0 && seen_at[m] < 0) {
        seen_at[m] = static_cast<std::int32_t>(circle.size());
        const auto [waited, next] = waits_for(m);
        circle.push_back(m);
        channel.push_back(waited);
        m = next;
    }
    const std::int32_t first = m < 0 ? 0 : seen_at[m];
    result_.stuck.assign(circle.begin() + first, circle.end());
    result_.stuck_channel.assign(channel.begin() + first, channel.end());
}

// Where a message waits, and which one must move first.
std::pair<std::int32_t, std::int32_t> WormholeRun::waits_for(std::int32_t m) const {
    if (!lists_.is_posted(m)) return {-1, lists_.blocker_of(m)};
    if (!paths_.is_open(m)) return waits_at_end(m);
    const Paths::Path& path = paths_.of(m);
    if (path.at_end() && !receivers_.empty()) return waits_at_end(m);
    for (std::int32_t other = 0; other < static_cast<std::int32_t>(messages_.size()); ++other)
        if (other != m && paths_.holds(other, path.channels[path.taken])) return {paths_.next_place(m), other};
    return {paths_.next_place(m), -1};
}

// At the receiver: for room that a message in the buffer has, for a receive that another one has, or for its rank to
// enter the phase.
std::pair<std::int32_t, std::int32_t> WormholeRun::waits_at_end(std::int32_t m) const {
    const std::int32_t rank = messages_.receiver[m];
    const auto list = lists_.receives(rank);
    const auto first_with = [&](Mark mark) {
        const auto found = std::find_if(list.begin(), list.end(), [&](std::int32_t other) {
            return other != m && !lists_.is_delivered(other) && (marks_[other] & mark) != 0;
        });
        return found == list.end() ? -1 : *found;
    };
    const auto& queue = receivers_[rank].queue;
    if (std::find(queue.begin(), queue.end(), m) != queue.end())
        if (const std::int32_t other = first_with(kTakenIn); other >= 0) return {paths_.buffer_place(m), other};
    if (const std::int32_t other = first_with(kHasReceive); other >= 0) return {paths_.target_place(m), other};
    return {paths_.target_place(m), lists_.waiting_before(rank, lists_.phase_of(m))};
}

}  // namespace conset
