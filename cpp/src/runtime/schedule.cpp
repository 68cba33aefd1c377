#include "conset/runtime/schedule.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <optional>
#include <utility>

#include "conset/combining/mixes.hpp"
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

BoxNetwork box_network(const MachineData& machine) {
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
    return network;
}

// What bundles cost, with the tables it looks at.
struct BundleCostsOf {
    explicit BundleCostsOf(const MachineData& machine)
        : send(machine.costs.send_overhead + CostSteps{{kUnlimited}, {machine.costs.startup}}) {
        const MachineCosts& given = machine.costs;
        const double link = machine.network.link_slots() > 0 ? 1 / given.link : 0;
        costs = {.send = {send.up_to, send.seconds},
                 .receive = {given.receive_overhead.up_to, given.receive_overhead.seconds},
                 .setup_s = given.setup,
                 .copy_s_per_B = 1 / given.copy,
                 .out_s_per_B = std::max({1 / given.port_out, 1 / given.node, link})};
    }

    CostSteps send;
    BundleCosts costs;
};

// Directly and along the ways of `stage_ways` and `mixed_ways`, the best schedule so far kept.
class NativeStages final : public StageEvaluator {
public:
    NativeStages(const MachineData& machine, const RankMessages& messages, const ScheduleOptions& options)
        : machine_(machine), messages_(messages), options_(options) {}

    std::pair<Array<EstimatedWay>, double> ways() override {
        const std::int32_t ranks = messages_.ranks;
        const View<const std::int32_t> source(messages_.source), target(messages_.target);
        const View<const std::int64_t> bytes(messages_.bytes);
        const StageTimes times(machine_, ranks);
        const auto estimate = [&](const StageBundles& stages) { return times.of(stages); };
        Array<EstimatedWay> estimated;
        const auto add = [&](std::string word, Positions positions, const StageEstimate& found, std::int64_t memory,
                             std::int64_t largest, bool mixes) {
            if (positions.size() < 3 || largest > INT_MAX) return;  // no call of MPI carries more
            estimated.push_back({found.time_s, found.bundles, memory, mixes});
            ways_.push_back({std::move(word), std::move(positions)});
        };
        BoxNetwork network = box_network(machine_);
        const double pairs = static_cast<double>(ranks) * (ranks - 1);
        network.by_traffic = static_cast<double>(messages_.size()) < kSparse * pairs;
        for (StageWay& way : stage_ways(ranks, network)) {
            Positions positions = positions_along(way, ranks, source, target, bytes, machine_.placement);
            const StageBundles stages = bundles_along(positions, ranks, bytes);
            const std::int64_t largest = *std::max_element(stages.bytes.begin(), stages.bytes.end());
            add(std::move(way.word), std::move(positions), estimate(stages), stages.memory, largest, false);
        }
        const BundleCostsOf each(machine_);
        for (Mix& mix : mixed_ways({ranks, source, target, bytes, machine_.placement, network, each.costs,
                                    options_.seed, options_.effort},
                                   estimate))
            add("mixed " + mix.name, std::move(mix.positions), mix.estimate, mix.memory, mix.largest, true);
        return {std::move(estimated),
                estimate(bundles_along({messages_.source, messages_.target}, ranks, bytes)).time_s};
    }

    bool same(std::size_t way, std::size_t other) override { return ways_[way].positions == ways_[other].positions; }

    // Phase by phase under a policy that was asked for.
    double posted_s(std::size_t way) override {
        const StageBundles stages = bundles_of(way);
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
        StageBundles stages = bundles_of(way);
        const RankMessages bundles = messages_of(stages, messages_.ranks);
        NativeEvaluator evaluator(machine_, bundles, options_.seed, &stages);
        Question question = evaluator.question(options_);
        question.beat_s = beat_s;
        const Decision verdict = choose_schedule(evaluator, question);
        if (verdict.failed != Failed::nothing || verdict.chosen.model == kFormula) return std::nullopt;
        last_ = schedule_of(machine_, evaluator, verdict);
        last_.choice.combine = ways_[way].word;
        last_.choice.memory = stages.memory;
        last_.stages = std::move(stages);
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
        Positions positions;
    };

    StageBundles bundles_of(std::size_t way) const {
        return bundles_along(ways_[way].positions, messages_.ranks, messages_.bytes);
    }

    const MachineData& machine_;
    const RankMessages& messages_;
    const ScheduleOptions& options_;
    Array<Way> ways_;
    RankSchedule last_, staged_, direct_;
};

}  // namespace

std::vector<StageWay> stage_ways(const MachineData& machine, std::int32_t ranks) {
    return stage_ways(ranks, box_network(machine));
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
