#include "conset/flit_gate.hpp"

#include <algorithm>

namespace conset {

FlitGate::FlitGate(const FlitWorkload& workload, const FlitExecution& execution, std::int32_t nodes)
    : workload_(workload),
      execution_(execution),
      undelivered_(static_cast<std::int64_t>(workload.routes.size())),
      head_(nodes, -1),
      next_(workload.routes.size(), -1) {
    const auto& order = workload.order;
    for (std::size_t k = workload.routes.size(); k-- > 0;) {
        const std::int32_t m = order.empty() ? static_cast<std::int32_t>(k) : order[k];
        std::int32_t& head = head_[workload.routes.source[m]];
        next_[m] = head;
        head = m;
    }
    if (execution.in_flight > 0) open_.assign(nodes, 0);
    if (!workload.deps.empty()) list_dependents();
    if (execution.phase.empty()) return;
    if (execution.setup > 0) {
        paid_.assign(nodes, -1);
        busy_.assign(nodes, 0);
    }
    if (execution.sync == FlitSync::barrier) list_groups();
    if (execution.sync == FlitSync::local || execution.sync == FlitSync::ready) list_visits(nodes);
}

void FlitGate::list_dependents() {
    const std::size_t n = workload_.routes.size();
    waits_.resize(n);
    after_offsets_.assign(n + 1, 0);
    for (const std::int32_t d : workload_.deps) ++after_offsets_[d + 1];
    for (std::size_t m = 0; m < n; ++m) after_offsets_[m + 1] += after_offsets_[m];
    after_.resize(workload_.deps.size());
    std::vector<std::int64_t> at(after_offsets_.begin(), after_offsets_.end() - 1);
    for (std::size_t m = 0; m < n; ++m) {
        waits_[m] = static_cast<std::int32_t>(workload_.dep_offsets[m + 1] - workload_.dep_offsets[m]);
        for (std::int64_t k = workload_.dep_offsets[m]; k < workload_.dep_offsets[m + 1]; ++k)
            after_[at[workload_.deps[k]]++] = static_cast<std::int32_t>(m);
    }
}

void FlitGate::list_groups() {
    for (const std::int32_t phase : execution_.phase) {
        const auto group = static_cast<std::size_t>(phase / execution_.group);
        if (group >= group_left_.size()) group_left_.resize(group + 1, 0);
        ++group_left_[group];
    }
    open_group(0, execution_.first);
    woken_.clear();
}

// The next group that has messages opens `cost` cycles from now; empty groups cost nothing.
void FlitGate::open_group(std::int64_t now, std::int64_t cost) {
    const auto groups = static_cast<std::int64_t>(group_left_.size());
    do {
        ++group_;
    } while (group_ < groups && group_left_[group_] == 0);
    if (group_ == groups) return;
    group_opens_ = now + cost;
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(head_.size()); ++node)
        woken_.push_back({node, std::max(group_opens_, now + 1)});
}

// Messages are in ascending order of phases, so a node's visits are found in their order.
void FlitGate::list_visits(std::int32_t nodes) {
    const std::size_t n = workload_.routes.size();
    std::vector<std::int32_t> last(nodes, -1);
    visit_.assign(nodes, -1);
    const auto visit = [&](std::int32_t node, std::int32_t phase) {
        if (last[node] < 0 || visit_phase_[last[node]] != phase) {
            const auto fresh = static_cast<std::int32_t>(visit_phase_.size());
            (last[node] < 0 ? visit_[node] : visit_next_[last[node]]) = fresh;
            visit_phase_.push_back(phase);
            visit_next_.push_back(-1);
            visit_left_.push_back(0);
            first_receive_.push_back(-1);
            last[node] = fresh;
        }
        ++visit_left_[last[node]];
        return last[node];
    };
    sends_in_.resize(n);
    receives_in_.resize(n);
    const bool ready = execution_.sync == FlitSync::ready;
    if (ready) {
        next_receive_.resize(n);
        signal_.assign(n, never);
    }
    for (std::size_t m = 0; m < n; ++m) {
        sends_in_[m] = visit(workload_.routes.source[m], execution_.phase[m]);
        receives_in_[m] = visit(workload_.routes.target[m], execution_.phase[m]);
        if (!ready) continue;
        next_receive_[m] = first_receive_[receives_in_[m]];
        first_receive_[receives_in_[m]] = static_cast<std::int32_t>(m);
    }
    for (std::int32_t node = 0; node < nodes; ++node) enter(node, 0);
    woken_.clear();
}

std::int64_t FlitGate::opens_phase(std::int32_t node, std::int32_t m, std::int64_t now) {
    const std::int32_t phase = execution_.phase[m];
    if (execution_.sync == FlitSync::barrier) {
        if (phase / execution_.group > group_) return never;
        if (group_opens_ > now) return group_opens_;
    } else if (execution_.sync != FlitSync::none) {
        if (visit_[node] < 0 || phase > visit_phase_[visit_[node]]) return never;
        if (execution_.sync == FlitSync::ready && (signal_[m] == never || signal_[m] > now)) return signal_[m];
    }
    if (execution_.setup == 0) return now;
    if (paid_[node] != phase) {
        paid_[node] = phase;
        busy_[node] = now + execution_.setup;
    }
    return std::max(now, busy_[node]);
}

void FlitGate::deliver_phase(std::int32_t m, std::int64_t now) {
    if (execution_.sync == FlitSync::none) return;
    if (execution_.sync == FlitSync::barrier) {
        if (--group_left_[execution_.phase[m] / execution_.group] == 0) open_group(now, execution_.barrier);
        return;
    }
    --visit_left_[sends_in_[m]];
    --visit_left_[receives_in_[m]];
    settle(workload_.routes.source[m], now);
    if (workload_.routes.leaves(m)) settle(workload_.routes.target[m], now);
}

// A node goes on to its next visit when its present one is over; what came early may have ended later ones too.
void FlitGate::settle(std::int32_t node, std::int64_t now) {
    while (visit_[node] >= 0 && visit_left_[visit_[node]] == 0) {
        visit_[node] = visit_next_[visit_[node]];
        enter(node, now);
    }
}

void FlitGate::enter(std::int32_t node, std::int64_t now) {
    if (visit_[node] < 0) return;
    woken_.push_back({node, now + 1});
    if (execution_.sync != FlitSync::ready) return;
    for (std::int32_t m = first_receive_[visit_[node]]; m >= 0; m = next_receive_[m]) {
        signal_[m] = now + execution_.signal;
        woken_.push_back({workload_.routes.source[m], std::max(signal_[m], now + 1)});
    }
}

std::int32_t FlitGate::blocker(std::int32_t m, const std::vector<std::int64_t>& end) const {
    const std::int32_t node = workload_.routes.source[m];
    if (head_[node] != m) return head_[node];
    const auto waiting = [&](std::int32_t other) { return other != m && end[other] < 0; };
    for (std::int64_t k = workload_.dep_offsets[m]; k < workload_.dep_offsets[m + 1]; ++k)
        if (waiting(workload_.deps[k])) return workload_.deps[k];
    // a dependency on itself is a circle of one
    if (!waits_.empty() && waits_[m] > 0) return m;
    for (std::size_t k = 0; k < end.size(); ++k) {
        const auto other = static_cast<std::int32_t>(k);
        const bool earlier = !execution_.phase.empty() && execution_.phase[k] < execution_.phase[m];
        const bool own = workload_.routes.source[k] == node || workload_.routes.target[k] == node;
        if (waiting(other) && (earlier || (execution_.in_flight > 0 && own))) return other;
    }
    return -1;
}

}  // namespace conset
