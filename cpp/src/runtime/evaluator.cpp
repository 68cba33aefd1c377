#include "conset/runtime/evaluator.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "conset/network/loads.hpp"
#include "conset/runtime/outcome.hpp"
#include "conset/runtime/schedule_methods.hpp"

namespace conset {

namespace {

constexpr std::array<std::string_view, 3> kModels{"flow", "wormhole", "circuit"};

std::string model_of(const MachineCosts& costs) { return std::string(kModels[static_cast<std::size_t>(costs.model)]); }

CostModel model_called(std::string_view name) {
    return static_cast<CostModel>(std::find(kModels.begin(), kModels.end(), name) - kModels.begin());
}

template <class T>
std::size_t digest(const Array<T>& values) {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

// Bytes share rates and nothing else: no slots, processors or receives take messages one by one.
bool shares_rates(const MachineData& machine, const MachineCosts& costs) {
    const bool worked = !costs.send_overhead.free() || !costs.receive_overhead.free() || costs.startup > 0 ||
                        costs.setup > 0 || costs.eager >= 0 || costs.in_flight > 0 || costs.receives > 0;
    return machine.method_costs.empty() && !worked;
}

}  // namespace

Question NativeEvaluator::question(const ScheduleOptions& options) const {
    Question question;
    const MachineCosts& costs = machine_.costs;
    question.situation = {.ranks = messages_.ranks,
                          .messages = static_cast<std::int64_t>(messages_.size()),
                          .equal_sizes = unequal_sizes(messages_).empty(),
                          .half_duplex = costs.half_duplex(),
                          .channels = machine_.limits.channels > 0,
                          .routes_known = !machine_.network.spreads(),
                          .has_links = machine_.network.link_slots() > 0,
                          .tolerance = costs.tolerance};
    if (machine_.network.is_box()) question.situation.sides = machine_.network.sides();
    question.effort = options.effort;
    question.model = model_of(costs);
    question.models = {question.model};
    for (const auto& [method, own] : machine_.method_costs) question.models.push_back(model_of(own));
    if (options.sync != "auto") question.policy = parse_policy(options.sync);
    question.hashed = machine_.network.spreads();
    return question;
}

TrialBase NativeEvaluator::add(std::string_view method, const Limits& limits, Phases phases, std::string_view posting) {
    const MachineCosts& costs = machine_.costs_for(method);
    const std::string key = std::to_string(digest(phases.offsets)) + " " + std::to_string(digest(phases.message)) +
                            " " + std::to_string(reinterpret_cast<std::uintptr_t>(&costs));
    const TimedSchedule& made = made_.emplace_back(machine_, messages_, method, limits, std::move(phases), stages_);
    return {.id = static_cast<std::int64_t>(made_.size()) - 1,
            .method = std::string(method),
            .model = model_of(costs),
            .key = key,
            .policies = made.policies(),
            .phases = made.phase_count(),
            .transfers = static_cast<std::int64_t>(messages_.size()),
            .most_in_flight = made.most_in_flight(),
            .send_limit = made.send_limit(),
            .barrier_s = costs.barrier,
            .shares = shares_rates(machine_, costs) && !(made.packs() && costs.copy < kUnlimited),
            .measured = costs.measured,
            .posting = std::string(posting)};
}

Array<std::optional<TrialBase>> NativeEvaluator::make(View<const Attempt> attempts) {
    Array<std::optional<TrialBase>> made(attempts.size());
    const std::vector<std::string> known = method_names();
    for (std::size_t k = 0; k < attempts.size(); ++k) {
        const Attempt& attempt = attempts[k];
        if (std::find(known.begin(), known.end(), attempt.method) == known.end()) continue;
        try {
            const Limits limits = method_limits(attempt.method, machine_, attempt.contention);
            made[k] = add(attempt.method, limits, phases_of(attempt, limits));
        } catch (const Failure& failure) {
            if (failure.code != Code::schedule) throw;
        }
    }
    return made;
}

// Of stages those of each, without the times of a timetable: a stage begins when what it passes on is there.
Phases NativeEvaluator::phases_of(const Attempt& attempt, const Limits& limits) const {
    if (stages_ == nullptr) return phases_by(attempt.method, machine_, messages_, limits, seed_, attempt.effort);
    Phases all{{0}, {}};
    for (std::int32_t stage = 0; stage < stages_->stages; ++stage) {
        RankMessages own{messages_.ranks, {}, {}, {}};
        Array<std::int32_t> number;
        for (std::size_t b = 0; b < messages_.size(); ++b) {
            if (stages_->stage[b] != stage) continue;
            number.push_back(static_cast<std::int32_t>(b));
            own.source.push_back(messages_.source[b]);
            own.target.push_back(messages_.target[b]);
            own.bytes.push_back(messages_.bytes[b]);
        }
        if (number.empty()) continue;
        const Phases phases = phases_by(attempt.method, machine_, own, limits, seed_, attempt.effort);
        const std::int64_t before = all.offsets.back();
        for (std::size_t p = 1; p < phases.offsets.size(); ++p) all.offsets.push_back(before + phases.offsets[p]);
        for (const std::int32_t m : phases.message) all.message.push_back(number[m]);
    }
    return all;
}

Array<TrialBase> NativeEvaluator::orders(const TrialBase& naive) {
    Array<TrialBase> made;
    for (const char* name : {"ascending", "rotated", "random", "longest-first", "pairwise"}) {
        Phases phases = schedule(naive.id).phases();
        phases.message = posting_order(name, machine_, messages_, seed_);
        if (stages_ != nullptr)
            std::stable_sort(phases.message.begin(), phases.message.end(),
                             [&](auto one, auto other) { return stages_->stage[one] < stages_->stage[other]; });
        made.push_back(add("naive", schedule(naive.id).limits(), std::move(phases), name));
    }
    return made;
}

void NativeEvaluator::predict(View<const TrialBase> bases, View<Trial> trials) {
    for (Trial& trial : trials) {
        const TimedSchedule& of = schedule(bases[trial.base].id);
        trial.predicted_s = of.predict(trial.policy);
        trial.fits = of.receives_fit(trial.policy);
    }
}

Array<Simulation> NativeEvaluator::simulate(View<const TrialBase> bases, View<const Trial> trials, double until_s,
                                            std::int64_t max_work) {
    Array<Simulation> simulated;
    for (const Trial& trial : trials) {
        const TimedSchedule& of = schedule(bases[trial.base].id);
        const double loss = trial.model == "flow" ? of.loss(trial.policy) : 1;
        const SimulatedTime found =
            of.simulate(model_called(trial.model), trial.policy, trial.in_flight, until_s / loss, max_work);
        Refusal refused = Refusal::none;
        if (found.refused) refused = of.receives_fit(trial.policy) ? Refusal::deadlock : Refusal::room;
        simulated.push_back({found.seconds * loss, found.work, found.cut, refused});
    }
    return simulated;
}

// By formula everything at once is busy for work that has to be done. What depends on an order is left out: slots,
// losses, exchanges that meet; links too where messages may take other routes. Of stages nothing is known.
double NativeEvaluator::floor_s(const TrialBase& naive) {
    if (stages_ != nullptr) return 0;
    const bool fixed = machine_.limits.channels == 0 && !machine_.network.spreads();
    const auto least = [&](MachineCosts costs) {
        costs.in_flight = 0;
        costs.blocking = 0;
        costs.node /= costs.exchange_weight;
        costs.exchange_weight = 1;
        return schedule(naive.id).predict({}, costs, fixed);
    };
    double seconds = least(machine_.costs);
    for (const auto& [method, costs] : machine_.method_costs) seconds = std::min(seconds, least(costs));
    return seconds;
}

double NativeEvaluator::crowding(const TrialBase& naive) {
    const Phases& all = schedule(naive.id).phases();
    if (all.message.empty()) return 0;
    const PlacedResources placed(machine_, messages_, {});
    const Loads loads = count_loads(placed.routes(), all.offsets, machine_.width);
    const auto most = [](const Array<std::int32_t>& values) {
        return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
    };
    return static_cast<double>(most(loads.link)) /
           static_cast<double>(std::max({most(loads.send), most(loads.receive), 1}));
}

}  // namespace conset
