#include "conset/runtime/schedule.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <optional>
#include <utility>

#include "conset/compilation/search.hpp"
#include "conset/compilation/stages.hpp"
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

// Directly and along the ways of `stage_ways`, the best schedule so far kept.
class NativeStages final : public StageEvaluator {
public:
    NativeStages(const MachineData& machine, const RankMessages& messages, const ScheduleOptions& options)
        : machine_(machine), messages_(messages), options_(options) {}

    std::pair<Array<EstimatedWay>, double> ways() override {
        const std::int32_t ranks = messages_.ranks;
        Array<EstimatedWay> estimated;
        for (StageWay& way : stage_ways(machine_, ranks)) {
            auto positions =
                positions_along(way, ranks, messages_.source, messages_.target, messages_.bytes, machine_.placement);
            StageBundles stages = bundles_along(positions, ranks, messages_.bytes);
            if (*std::max_element(stages.bytes.begin(), stages.bytes.end()) > INT_MAX) continue;  // of a call of MPI
            estimated.push_back({.time_s = estimated_s(machine_, ranks, stages),
                                 .bundles = static_cast<std::int64_t>(stages.size()),
                                 .memory = stages.memory});
            ways_.push_back({std::move(way.word), std::move(positions), std::move(stages)});
        }
        const StageBundles direct = bundles_along({messages_.source, messages_.target}, ranks, messages_.bytes);
        return {std::move(estimated), estimated_s(machine_, ranks, direct)};
    }

    bool same(std::size_t way, std::size_t other) override { return ways_[way].positions == ways_[other].positions; }

    // Phase by phase under a policy that was asked for.
    double posted_s(std::size_t way) override {
        const StageBundles& stages = ways_[way].stages;
        const RankMessages bundles = messages_of(stages, messages_.ranks);
        NativeEvaluator evaluator(machine_, bundles, options_.seed, &stages);
        const Attempt naive{"naive", 0, 0};
        const std::optional<TrialBase> made = evaluator.make({&naive, 1})[0];
        if (!made) return kNever;
        const Array<TrialBase> bases{*made};
        Trial trial;
        trial.base = 0;
        if (options_.sync != "auto") trial.policy = parse_policy(options_.sync);
        trial.model = bases[0].model;
        const std::int64_t work = allowed_work(static_cast<std::int64_t>(bundles.size()), trial.model, options_.effort);
        return evaluator.simulate(bases, {&trial, 1}, kNever, work)[0].time_s;
    }

    std::optional<double> along(std::size_t way, double beat_s) override {
        const Way& each = ways_[way];
        const RankMessages bundles = messages_of(each.stages, messages_.ranks);
        NativeEvaluator evaluator(machine_, bundles, options_.seed, &each.stages);
        Question question = evaluator.question(options_);
        question.beat_s = beat_s;
        const Decision verdict = choose_schedule(evaluator, question);
        if (verdict.failed != Failed::nothing || verdict.chosen.model == kFormula) return std::nullopt;
        last_ = schedule_of(machine_, evaluator, verdict);
        last_.choice.combine = each.word;
        last_.choice.memory = each.stages.memory;
        last_.stages = each.stages;
        return last_.predicted_s;
    }

    void keep() override { staged_ = std::move(last_); }

    std::optional<double> direct(double rival_s) override {
        NativeEvaluator evaluator(machine_, messages_, options_.seed);
        Question question = evaluator.question(options_);
        question.rival_s = rival_s;
        Decision verdict;
        if (options_.method == "auto") {
            verdict = choose_schedule(evaluator, question);
        } else {
            const Limits limits = method_limits(options_.method, machine_);
            Phases phases = phases_by(options_.method, machine_, messages_, limits, options_.seed, options_.effort);
            verdict = choose_policy(evaluator, question, evaluator.add(options_.method, limits, std::move(phases)));
        }
        if (verdict.failed == Failed::no_method)
            throw Failure(Code::schedule, "no method keeps the limits of " + machine_.name);
        if (verdict.failed != Failed::nothing)
            throw Failure(Code::schedule, "no schedule of the messages can be simulated on " + machine_.name);
        direct_ = schedule_of(machine_, evaluator, verdict);
        if (verdict.chosen.model == kFormula) return std::nullopt;
        return direct_.predicted_s;
    }

    double least_s() override { return 0; }  // unknown: they are searched

    RankSchedule& chosen(bool staged) { return staged ? staged_ : direct_; }

private:
    struct Way {
        std::string word;
        Array<Array<std::int32_t>> positions;
        StageBundles stages;
    };

    const MachineData& machine_;
    const RankMessages& messages_;
    const ScheduleOptions& options_;
    Array<Way> ways_;
    RankSchedule last_, staged_, direct_;
};

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
    NativeStages evaluator(machine, messages, options);
    if (!options.combine || options.method != "auto" || size == 0 || size / kMostStaged >= options.effort) {
        evaluator.direct(kNever);
        return std::move(evaluator.chosen(false));
    }
    const StageDecision decision =
        choose_stages(evaluator, {.messages = size, .effort = options.effort, .memory = options.memory});
    RankSchedule chosen = std::move(evaluator.chosen(decision.way.has_value()));
    chosen.choice.left_out = decision.left_out;
    return chosen;
}

}  // namespace conset
