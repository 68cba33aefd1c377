// What gates know before the first message goes: lists of ranks, phases of each, conditions of each message.
#include <algorithm>

#include "conset/flow_gates.hpp"

namespace conset {

Gates::Gates(const Messages& messages, const Execution& execution, std::function<double(std::int32_t)> signal)
    : messages_(messages), execution_(execution), signal_(std::move(signal)), left_(messages.size()) {
    for (std::size_t m = 0; m < left_; ++m)
        ranks_ = std::max({ranks_, messages_.sender[m] + 1, messages_.receiver[m] + 1});
    if (!phased()) execution_.policy = Policy::none;
    state_.assign(left_, 0);
    if (phased() && messages_.phase_offsets.size() > 2) {
        phase_.resize(left_);
        for (std::size_t p = 0; p + 1 < messages_.phase_offsets.size(); ++p)
            std::fill(phase_.begin() + messages_.phase_offsets[p], phase_.begin() + messages_.phase_offsets[p + 1],
                      static_cast<std::int32_t>(p));
    }
    if (execution_.in_flight > 0 || uses_visits()) sends_ = rows_by(messages_.sender);
    if (takes_list() || uses_visits()) receives_ = rows_by(messages_.receiver);
    if (execution_.in_flight > 0) {
        send_at_.assign(sends_.offsets.begin(), sends_.offsets.end() - 1);
        sending_.assign(static_cast<std::size_t>(ranks_), 0);
    }
    if (execution_.receives > 0) {
        receiving_.assign(static_cast<std::size_t>(ranks_), 0);
        if (takes_list()) {
            receive_at_.assign(receives_.offsets.begin(), receives_.offsets.end() - 1);
        } else {
            queue_.resize(static_cast<std::size_t>(ranks_));
            queue_at_.assign(static_cast<std::size_t>(ranks_), 0);
        }
    }
    if (uses_visits()) count_visits();
    count_waits();
}

// The messages of each rank, in list order.
Gates::Row Gates::rows_by(std::span<const std::int32_t> rank) const {
    Row row;
    row.offsets.assign(static_cast<std::size_t>(ranks_) + 1, 0);
    row.items.resize(messages_.size());
    for (const std::int32_t r : rank) ++row.offsets[r + 1];
    for (std::int32_t r = 0; r < ranks_; ++r) row.offsets[r + 1] += row.offsets[r];
    std::vector<std::int64_t> next(row.offsets.begin(), row.offsets.end() - 1);
    for (std::size_t k = 0; k < messages_.size(); ++k) {
        const std::int32_t m = messages_.order.empty() ? static_cast<std::int32_t>(k) : messages_.order[k];
        row.items[next[rank[m]]++] = m;
    }
    return row;
}

// The phases in which each rank has something: both lists are in order of phases, so this is a merge.
void Gates::count_visits() {
    visit_offsets_.assign(static_cast<std::size_t>(ranks_) + 1, 0);
    for (std::int32_t r = 0; r < ranks_; ++r) {
        const auto out = sends_.of(r), in = receives_.of(r);
        std::size_t i = 0, j = 0;
        while (i < out.size() || j < in.size()) {
            std::int32_t phase = i < out.size() ? phase_of(out[i]) : phase_of(in[j]);
            if (j < in.size()) phase = std::min(phase, phase_of(in[j]));
            std::int32_t count = 0;
            for (; i < out.size() && phase_of(out[i]) == phase; ++i) ++count;
            for (; j < in.size() && phase_of(in[j]) == phase; ++j) ++count;
            visits_.push_back({phase, count});
        }
        visit_offsets_[r + 1] = static_cast<std::int64_t>(visits_.size());
    }
    begun_.assign(static_cast<std::size_t>(ranks_), 0);
    entered_ = begun_;
    visit_send_.assign(sends_.offsets.begin(), sends_.offsets.end() - 1);
    visit_receive_.assign(receives_.offsets.begin(), receives_.offsets.end() - 1);
}

void Gates::count_waits() {
    std::int32_t common = 0;
    if (execution_.policy == Policy::barrier) ++common;
    if (uses_visits()) ++common;
    if (pays()) ++common;
    if (takes_list()) ++common;
    if (common == 0 && messages_.time.empty() && messages_.deps.empty())
        return;  // and no `ready` without `uses_visits`
    waits_.assign(messages_.size(), common);
    for (std::size_t m = 0; m < messages_.size(); ++m) {
        if (!messages_.time.empty() && messages_.time[m] > 0) ++waits_[m];
        if (execution_.policy == Policy::ready && messages_.sender[m] != messages_.receiver[m]) ++waits_[m];
        if (!messages_.dep_offsets.empty())
            waits_[m] += static_cast<std::int32_t>(messages_.dep_offsets[m + 1] - messages_.dep_offsets[m]);
    }
    if (messages_.deps.empty()) return;
    auto& offsets = dependents_.offsets;
    offsets.assign(messages_.size() + 1, 0);
    dependents_.items.resize(messages_.deps.size());
    for (const std::int32_t d : messages_.deps) ++offsets[d + 1];
    for (std::size_t m = 0; m < messages_.size(); ++m) offsets[m + 1] += offsets[m];
    std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
    for (std::size_t m = 0; m < messages_.size(); ++m)
        for (std::int64_t k = messages_.dep_offsets[m]; k < messages_.dep_offsets[m + 1]; ++k)
            dependents_.items[next[messages_.deps[k]]++] = static_cast<std::int32_t>(m);
}

}  // namespace conset
