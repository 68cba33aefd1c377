#include "conset/runtime/schedule.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <utility>

#include "conset/compilation/search.hpp"
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

constexpr std::int64_t kMostStaged = 1 << 16;  // messages per unit of effort for which stages are considered

// Bundles of one way, with what they take when all is posted at once.
struct StagedCandidate {
    const StageWay* way;
    StageBundles stages;
    double posted_s;
};

// What all bundles take posted at once, by the machine's model, if no more than `until_s`.
double posted_s(const MachineData& machine, const RankMessages& bundles, const StageBundles& stages,
                const ScheduleOptions& options, double until_s) {
    NativeEvaluator evaluator(machine, bundles, options.seed, &stages);
    const Attempt naive{"naive", 0, 0};
    const std::optional<TrialBase> made = evaluator.make({&naive, 1})[0];
    if (!made) return kNever;
    const Array<TrialBase> bases{*made};
    Trial trial;
    trial.base = 0;
    trial.policy = bases[0].policies[0];  // without barriers where limits allow
    trial.model = bases[0].model;
    const std::int64_t work = allowed_work(static_cast<std::int64_t>(bundles.size()), trial.model, options.effort);
    return evaluator.simulate(bases, {&trial, 1}, until_s, work)[0].time_s;
}

// Ways whose memory fits and that are not hopeless, the fastest first.
std::vector<StagedCandidate> hopeful(const MachineData& machine, const RankMessages& messages,
                                     const ScheduleOptions& options, const std::vector<StageWay>& ways, double direct_s,
                                     StageChoice& choice) {
    std::vector<StagedCandidate> found;
    for (const StageWay& way : ways) {
        const auto positions =
            positions_along(way, messages.ranks, messages.source, messages.target, messages.bytes, machine.placement);
        StageBundles stages = bundles_along(positions, messages.ranks, messages.bytes);
        const std::int64_t most = *std::max_element(stages.bytes.begin(), stages.bytes.end());
        if (most > INT_MAX) continue;  // which no call of MPI carries
        const RankMessages bundles = messages_of(stages, messages.ranks);
        const double seconds = posted_s(machine, bundles, stages, options, kStagesHopeful * direct_s);
        if (seconds > kStagesHopeful * direct_s) continue;
        if (stages.memory <= options.memory)
            found.push_back({&way, std::move(stages), seconds});
        else
            choice.left_out = choice.left_out == 0 ? stages.memory : std::min(choice.left_out, stages.memory);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& one, const auto& other) { return one.posted_s < other.posted_s; });
    return found;
}

// The fastest of stages and of the direct schedule, which is kept unless they gain more than kStagesWorth.
RankSchedule combined(const MachineData& machine, const RankMessages& messages, const ScheduleOptions& options,
                      RankSchedule direct, bool by_model) {
    const auto size = static_cast<std::int64_t>(messages.size());
    const bool considered = options.combine && options.method == "auto" && by_model && size > 0;
    if (!considered || size / kMostStaged >= options.effort) return direct;
    RankSchedule best = std::move(direct);
    double beat_s = kStagesWorth * best.predicted_s;
    const std::vector<StageWay> ways = stage_ways(machine, messages.ranks);
    StageChoice choice;
    std::vector<StagedCandidate> all = hopeful(machine, messages, options, ways, best.predicted_s, choice);
    const auto searched = std::min(static_cast<std::int64_t>(all.size()), kStagesTried * options.effort);
    all.resize(as_size(searched));
    for (StagedCandidate& each : all) {
        const RankMessages bundles = messages_of(each.stages, messages.ranks);
        NativeEvaluator evaluator(machine, bundles, options.seed, &each.stages);
        Question question = evaluator.question(options);
        question.beat_s = beat_s;
        const Decision verdict = choose_schedule(evaluator, question);
        if (verdict.failed != Failed::nothing || verdict.chosen.model == kFormula || verdict.chosen.time_s > beat_s)
            continue;
        beat_s = verdict.chosen.time_s;
        best = schedule_of(machine, evaluator, verdict);
        best.stages = std::move(each.stages);
        choice.combine = each.way->word;
        choice.memory = best.stages.memory;
    }
    best.choice = std::move(choice);
    return best;
}

}  // namespace

std::vector<StageWay> stage_ways(const MachineData& machine, std::int32_t ranks) {
    BoxNetwork network{.crowd = machine.crowd()};
    network.places = std::int64_t{machine.endpoints()} * network.crowd;
    network.follows = network.crowd > 1 || machine.network.is_box() || machine.shape == Shape::hypercube;
    if (machine.shape == Shape::hypercube)
        network.sides.assign(as_size(std::bit_width(as_size(machine.endpoints())) - 1), 2);
    else if (machine.network.is_box())
        network.sides.assign(machine.network.sides().begin(), machine.network.sides().end());
    else
        network.sides.push_back(machine.endpoints());
    network.sides.push_back(network.crowd);
    return stage_ways(ranks, network);
}

RankMessages messages_of(const StageBundles& stages, std::int32_t ranks) {
    return {ranks, stages.source, stages.target, stages.bytes};
}

void check_messages(const MachineData& machine, const RankMessages& messages) {
    const auto ranks = as_size(messages.ranks), nodes = as_size(machine.endpoints()), crowd = as_size(machine.crowd());
    if (ranks > nodes * crowd)
        throw Failure(Code::argument, std::to_string(ranks) + " ranks need ranks_per_node " +
                                          std::to_string((ranks - 1) / nodes + 1) + " on " + std::to_string(nodes) +
                                          " nodes, given " + std::to_string(crowd));
    if (!machine.placement.empty() && machine.placement.size() != ranks)
        throw Failure(Code::argument, "machine " + machine.name + ": its job has " +
                                          std::to_string(machine.placement.size()) + " ranks, given " +
                                          std::to_string(ranks));
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
    return combined(machine, messages, options, schedule_of(machine, evaluator, verdict),
                    verdict.chosen.model != kFormula);
}

}  // namespace conset
