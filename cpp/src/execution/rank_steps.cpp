#include "conset/execution/rank_steps.hpp"

#include <algorithm>
#include <array>

namespace conset {

namespace {

bool is_one_step(const RankPlan& plan) { return plan.sync == SyncKind::none || plan.sync == SyncKind::detect; }

std::int64_t step_number(const RankPlan& plan, std::int32_t phase) {
    return is_one_step(plan) ? 0 : phase / plan.every;
}

}  // namespace

Array<RankStep> make_steps(const RankPlan& plan) {
    Array<RankStep> steps;
    const auto& send = plan.sends.phase;
    const auto& receive = plan.receives.phase;
    const std::int64_t groups = plan.phases > 0 ? (plan.phases - 1) / plan.every + 1 : 0;
    for (std::size_t s = 0, r = 0;;) {
        const bool more = s < send.size() || r < receive.size();
        std::int64_t number = static_cast<std::int64_t>(steps.size());
        if (plan.sync == SyncKind::barrier ? number >= groups : !more) break;
        if (plan.sync != SyncKind::barrier)
            number = step_number(
                plan, std::min(s < send.size() ? send[s] : INT32_MAX, r < receive.size() ? receive[r] : INT32_MAX));
        RankStep step{number, s, s, r, r};
        while (s < send.size() && step_number(plan, send[s]) == number) step.send_end = ++s;
        while (r < receive.size() && step_number(plan, receive[r]) == number) step.receive_end = ++r;
        steps.push_back(step);
    }
    return steps;
}

Array<std::size_t> make_runs(const RankPlan& plan, View<const RankStep> steps, bool sends) {
    const Array<std::int32_t>& peer = sends ? plan.sends.peer : plan.receives.peer;
    Array<std::size_t> run_end(peer.size());
    Array<std::size_t> last_run(peer.empty() ? 0 : as_size(*std::max_element(peer.begin(), peer.end())) + 1, 0);
    std::size_t runs = 0;
    for (const RankStep& step : steps) {
        const std::size_t end = sends ? step.send_end : step.receive_end;
        for (std::size_t begin = sends ? step.send_begin : step.receive_begin, k = begin; begin < end; begin = k) {
            for (++runs; k < end && last_run[peer[k]] != runs; ++k) last_run[peer[k]] = runs;
            std::fill(run_end.data() + begin, run_end.data() + k, k);
        }
    }
    return run_end;
}

std::string step_name(const RankPlan& plan, std::int64_t number) {
    const std::int64_t first = number * plan.every, last = std::min(first + plan.every, plan.phases) - 1;
    const std::string sync = std::string(", sync ").append(kSyncNames[static_cast<std::size_t>(plan.sync)]);
    if (is_one_step(plan)) return "all phases" + sync;
    if (plan.every == 1) return "phase " + std::to_string(first) + sync;
    return "phases " + std::to_string(first) + " to " + std::to_string(last) + sync + ":" + std::to_string(plan.every);
}

}  // namespace conset
