#include "conset/runtime/schedule.hpp"

#include <deque>
#include <optional>
#include <utility>

#include "conset/runtime/outcome.hpp"
#include "conset/runtime/schedule_choice.hpp"
#include "conset/runtime/schedule_methods.hpp"
#include "conset/runtime/schedule_time.hpp"

namespace conset {

namespace {

RankSchedule schedule_of(const MachineData& machine, const Trial& trial) {
    const MachineCosts& costs = machine.costs_for(trial.base->method());
    const std::int64_t in_flight = trial.in_flight > 0 ? trial.in_flight : costs.in_flight;
    return {
        trial.base->phases().offsets, trial.base->phases().message, trial.policy.kind, trial.policy.every, in_flight,
        trial.base->method(),         trial.base->limits(),         trial.time_s};
}

}  // namespace

void check_messages(const MachineData& machine, const RankMessages& messages) {
    if (messages.ranks > machine.endpoints())
        throw Failure(Code::argument, std::to_string(messages.ranks) + " ranks need as many nodes, " + machine.name +
                                          " has " + std::to_string(machine.endpoints()));
    const std::size_t size = messages.size();
    if (messages.target.size() != size || messages.bytes.size() != size)
        throw Failure(Code::argument, "messages: source, target and bytes have one entry each");
    for (std::size_t k = 0; k < size; ++k) {
        const std::int32_t source = messages.source[k], target = messages.target[k];
        const auto in_range = [&](std::int32_t rank) { return rank >= 0 && rank < messages.ranks; };
        if (!in_range(source) || !in_range(target) || source == target || messages.bytes[k] < 0 ||
            (k > 0 && messages.source[k - 1] > source))
            throw Failure(Code::argument, "message " + std::to_string(k) + " (" + std::to_string(source) + " to " +
                                              std::to_string(target) + ", " + std::to_string(messages.bytes[k]) +
                                              " B): must join two of " + std::to_string(messages.ranks) +
                                              " ranks, sorted by source");
    }
}

RankSchedule schedule_messages(const MachineData& machine, const RankMessages& messages,
                               const ScheduleOptions& options) {
    check_messages(machine, messages);
    std::optional<SyncPolicy> policy;
    if (options.sync != "auto") policy = parse_policy(options.sync);
    std::deque<TimedSchedule> bases;
    if (options.method == "auto")
        return schedule_of(machine, choose_schedule(machine, messages, policy, options.seed, bases));
    const Limits limits = method_limits(options.method, machine);
    auto phases = phases_by(options.method, machine, messages, limits, options.seed);
    if (!phases) throw Failure(Code::internal, "method " + options.method + " gave up without a limit");
    bases.emplace_back(machine, messages, options.method, limits, std::move(*phases));
    const TimedSchedule& base = bases.front();
    if (policy) return schedule_of(machine, {&base, *policy, 0, 0, base.predict(*policy)});
    return schedule_of(machine, choose_policy(base));
}

}  // namespace conset
