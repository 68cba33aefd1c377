// Who waits for whom, where gates let nothing go any more.
#include <algorithm>

#include "conset/flow_gates.hpp"

namespace conset {

std::int32_t Gates::first_undelivered(std::span<const std::int32_t> list) const {
    for (const std::int32_t m : list)
        if ((state_[m] & kDelivered) == 0) return m;
    return -1;
}

// A message that must be delivered, or let go, before m can: -1 where m is under way.
std::int32_t Gates::blocker_of(std::int32_t m) const {
    if ((state_[m] & kStarted) != 0) return -1;
    if (!messages_.dep_offsets.empty())
        for (std::int64_t k = messages_.dep_offsets[m]; k < messages_.dep_offsets[m + 1]; ++k)
            if ((state_[messages_.deps[k]] & kDelivered) == 0) return messages_.deps[k];
    const std::int32_t s = messages_.sender[m], r = messages_.receiver[m];
    if (takes_list() && (state_[m] & kTaken) == 0) return first_undelivered(receives_.of(r));
    if (execution_.in_flight > 0 && (state_[m] & kPosted) == 0) {
        const std::int32_t head = first_undelivered(sends_.of(s));
        if (head != m) return head;
    }
    if (steps()) {
        for (const std::int32_t rank : {s, r})
            for (const auto list : {sends_.of(rank), receives_.of(rank)}) {
                const std::int32_t other = first_undelivered(list);
                if (other >= 0 && phase_of(other) < phase_of(m)) return other;
            }
    }
    for (std::int32_t other = 0; other < m; ++other)  // a barrier
        if ((state_[other] & kDelivered) == 0 && phase_of(other) < phase_of(m)) return other;
    return -1;
}

std::vector<std::int32_t> Gates::waiting_cycle() const {
    std::vector<std::int32_t> path;
    std::vector<char> seen(messages_.size(), 0);
    for (std::size_t first = 0; first < messages_.size(); ++first) {
        if ((state_[first] & kDelivered) != 0) continue;
        auto m = static_cast<std::int32_t>(first);
        while (m >= 0 && seen[m] == 0) {
            seen[m] = 1;
            path.push_back(m);
            m = blocker_of(m);
        }
        const auto start = std::find(path.begin(), path.end(), m);
        path.erase(path.begin(), start == path.end() ? path.begin() : start);
        return path;
    }
    return path;
}

}  // namespace conset
