#include "conset/runtime/schedule.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <optional>
#include <utility>

#include "conset/compilation/search.hpp"
#include "conset/runtime/evaluator.hpp"
#include "conset/runtime/outcome.hpp"
#include "conset/runtime/schedule_methods.hpp"
#include "conset/runtime/schedule_time.hpp"

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

// Bundles of one way.
struct StagedCandidate {
    const StageWay* way;
    Array<Array<std::int32_t>> positions;
    StageBundles stages;
    double estimated_s = 0;
    double posted_s = 0;  // what they take when all is posted at once
};

// What all bundles take posted at once, by the machine's model; phase by phase under a policy that was asked for.
double posted_s(const MachineData& machine, const RankMessages& bundles, const StageBundles& stages,
                const ScheduleOptions& options) {
    NativeEvaluator evaluator(machine, bundles, options.seed, &stages);
    const Attempt naive{"naive", 0, 0};
    const std::optional<TrialBase> made = evaluator.make({&naive, 1})[0];
    if (!made) return kNever;
    const Array<TrialBase> bases{*made};
    Trial trial;
    trial.base = 0;
    if (options.sync != "auto") trial.policy = parse_policy(options.sync);
    trial.model = bases[0].model;
    const std::int64_t work = allowed_work(static_cast<std::int64_t>(bundles.size()), trial.model, options.effort);
    return evaluator.simulate(bases, {&trial, 1}, kNever, work)[0].time_s;
}

template <class Time>
void sort_by(std::vector<StagedCandidate>& all, Time time) {
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& one, const auto& other) { return one.*time < other.*time; });
}

// Ways whose memory fits and whose estimates are not hopeless, the least first, and the estimate of direct messages.
std::pair<std::vector<StagedCandidate>, double> hopeful(const MachineData& machine, const RankMessages& messages,
                                                        const ScheduleOptions& options,
                                                        const std::vector<StageWay>& ways, StageChoice& choice) {
    const auto estimate = [&](const StageBundles& stages) { return estimated_s(machine, messages.ranks, stages); };
    const double direct_s = estimate(bundles_along({messages.source, messages.target}, messages.ranks, messages.bytes));
    std::vector<StagedCandidate> every, found;
    for (const StageWay& way : ways) {
        auto positions =
            positions_along(way, messages.ranks, messages.source, messages.target, messages.bytes, machine.placement);
        StageBundles stages = bundles_along(positions, messages.ranks, messages.bytes);
        const double seconds = estimate(stages);
        const std::int64_t most = *std::max_element(stages.bytes.begin(), stages.bytes.end());
        if (most > INT_MAX || seconds > kStagesHopeful * direct_s) continue;  // no call of MPI carries more
        every.push_back({&way, std::move(positions), std::move(stages), seconds});
    }
    sort_by(every, &StagedCandidate::estimated_s);
    for (StagedCandidate& each : every) {
        if (std::cmp_equal(found.size(), kStagesTried * options.effort)) break;
        const std::int64_t memory = each.stages.memory;
        if (memory > options.memory)
            choice.left_out = choice.left_out == 0 ? memory : std::min(choice.left_out, memory);
        else if (std::none_of(found.begin(), found.end(), [&](const auto& f) { return f.positions == each.positions; }))
            found.push_back(std::move(each));
    }
    return {std::move(found), direct_s};
}

// The fastest of the ways, those that take least when all is posted at once first, if it takes no more than `beat_s`.
std::optional<RankSchedule> best_along(const MachineData& machine, std::int32_t ranks, const ScheduleOptions& options,
                                       std::vector<StagedCandidate>& ways, double beat_s) {
    for (StagedCandidate& each : ways)
        each.posted_s = posted_s(machine, messages_of(each.stages, ranks), each.stages, options);
    sort_by(ways, &StagedCandidate::posted_s);
    std::optional<RankSchedule> best;
    for (StagedCandidate& each : ways) {
        const RankMessages bundles = messages_of(each.stages, ranks);
        NativeEvaluator evaluator(machine, bundles, options.seed, &each.stages);
        Question question = evaluator.question(options);
        question.beat_s = beat_s;
        const Decision verdict = choose_schedule(evaluator, question);
        if (verdict.failed != Failed::nothing || verdict.chosen.model == kFormula) continue;
        const double seconds = verdict.chosen.time_s;
        if (seconds > beat_s || (best && seconds == beat_s)) continue;
        beat_s = seconds;
        best = schedule_of(machine, evaluator, verdict);
        best->stages = std::move(each.stages);
        best->choice.combine = each.way->word;
        best->choice.memory = best->stages.memory;
    }
    return best;
}

// Every message directly, with whether a model decided.
std::pair<RankSchedule, bool> direct(const MachineData& machine, const RankMessages& messages,
                                     const ScheduleOptions& options, double rival_s) {
    NativeEvaluator evaluator(machine, messages, options.seed);
    Question question = evaluator.question(options);
    question.rival_s = rival_s;
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
    return {schedule_of(machine, evaluator, verdict), verdict.chosen.model != kFormula};
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
    const auto size = static_cast<std::int64_t>(messages.size());
    if (!options.combine || options.method != "auto" || size == 0 || size / kMostStaged >= options.effort)
        return direct(machine, messages, options, kNever).first;
    StageChoice choice;
    const std::vector<StageWay> ways = stage_ways(machine, messages.ranks);
    auto [staged, direct_s] = hopeful(machine, messages, options, ways, choice);
    std::optional<RankSchedule> best;
    // what is estimated to be far faster goes first, unless there is time for both
    const bool first = options.effort == 1 && !staged.empty() && staged[0].estimated_s < kStagesClear * direct_s;
    if (first) best = best_along(machine, messages.ranks, options, staged, kNever);
    auto [chosen, by_model] = direct(machine, messages, options, best ? best->predicted_s : kNever);
    const double most_s = kStagesWorth * chosen.predicted_s;
    if (!first && by_model) best = best_along(machine, messages.ranks, options, staged, most_s);
    if (best && by_model && best->predicted_s <= most_s) chosen = std::move(*best);
    chosen.choice.left_out = choice.left_out;
    return chosen;
}

}  // namespace conset
