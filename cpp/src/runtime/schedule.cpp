#include "conset/runtime/schedule.hpp"

#include <utility>

#include "conset/runtime/evaluator.hpp"
#include "conset/runtime/outcome.hpp"
#include "conset/runtime/schedule_methods.hpp"

namespace conset {

namespace {

RankSchedule schedule_of(const MachineData& machine, const NativeEvaluator& evaluator, const Decision& verdict) {
    const Trial& trial = verdict.chosen;
    const TimedSchedule& base = evaluator.schedule(verdict.bases[trial.base].id);
    const std::int64_t own = machine.costs_for(base.method()).in_flight;
    return {base.phases().offsets,
            base.phases().message,
            trial.policy.kind,
            trial.policy.every,
            trial.in_flight > 0 ? trial.in_flight : own,
            base.method(),
            base.limits(),
            trial.time_s};
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
    NativeEvaluator evaluator(machine, messages, options.seed);
    const Question question = evaluator.question(options);
    Decision verdict;
    if (options.method == "auto") {
        verdict = choose_schedule(evaluator, question);
    } else {
        const Limits limits = method_limits(options.method, machine);
        Phases phases = phases_by(options.method, machine, messages, limits, options.seed, options.effort);
        verdict = choose_policy(evaluator, question, evaluator.add(options.method, limits, std::move(phases)));
    }
    if (verdict.failed == Failed::no_method)
        throw Failure(Code::schedule, "no method keeps the limits of " + machine.name);
    if (verdict.failed != Failed::nothing)
        throw Failure(Code::schedule, "no schedule of the messages can be simulated on " + machine.name);
    return schedule_of(machine, evaluator, verdict);
}

}  // namespace conset
