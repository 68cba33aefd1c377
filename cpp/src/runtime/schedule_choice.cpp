#include "conset/runtime/schedule_choice.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "conset/runtime/outcome.hpp"
#include "conset/runtime/schedule_methods.hpp"

namespace conset {

namespace {

constexpr double kRelTol = 1 + 1e-9;             // times closer than this are one time
constexpr std::size_t kSimulated = 1 << 12;      // messages that a model ranks; beyond them the formula does
constexpr std::int64_t kWorkPerMessage = 2'000;  // of all simulations of a choice, counted
constexpr std::int64_t kLeastWork = 1 << 18;

bool is_as_posted(const TimedSchedule& base, const SyncPolicy& policy, const MachineCosts& costs) {
    // Where bytes share rates and nothing else, the order in which everything is posted makes no difference.
    const bool worked = !costs.send_overhead.free() || !costs.receive_overhead.free() || costs.setup > 0 ||
                        costs.eager >= 0 || costs.in_flight > 0 || costs.receives > 0;
    return costs.model == CostModel::flow && policy.kind == SyncKind::none && base.method() != "naive" && !worked;
}

Trial least_predicted(const Array<Trial>& trials) {
    const auto fits = [](const Trial& trial) { return trial.base->receives_fit(trial.policy); };
    const bool any = std::any_of(trials.begin(), trials.end(), fits);
    const Trial* best = nullptr;
    for (const Trial& trial : trials) {
        if (any && !fits(trial)) continue;
        if (best == nullptr || trial.predicted_s * kRelTol < best->predicted_s) best = &trial;
    }
    Trial chosen = *best;
    chosen.time_s = chosen.predicted_s;
    return chosen;
}

void sort_by_prediction(Array<Trial>& trials) {
    std::stable_sort(trials.begin(), trials.end(),
                     [](const Trial& one, const Trial& other) { return one.predicted_s < other.predicted_s; });
}

Array<Trial> trials_of(const TimedSchedule& base, std::optional<SyncPolicy> policy) {
    Array<Trial> trials;
    const Array<SyncPolicy> policies = policy ? Array<SyncPolicy>{*policy} : base.policies();
    for (const SyncPolicy& each : policies) trials.push_back({&base, each, 0, base.predict(each), kUnlimited});
    return trials;
}

std::int64_t budget_of(std::size_t messages) {
    return std::max(kLeastWork, kWorkPerMessage * static_cast<std::int64_t>(messages));
}

// A method, up to how many messages it is tried, and whether only where sizes differ.
struct Candidate {
    std::string_view method;
    std::size_t messages;
    bool unequal;
};
constexpr std::array kCandidates{
    Candidate{"lp", std::size_t{1} << 31, false},
    Candidate{"coloring", std::size_t{1} << 21, false},
    Candidate{"rs-n", std::size_t{1} << 17, false},
    Candidate{"first-fit", std::size_t{1} << 17, false},
    Candidate{"rs-nl", std::size_t{1} << 12, false},
    Candidate{"event-list", 512, true},
    Candidate{"negotiated", 256, false},
};

// Limits of links worth a try: 0 is the method's own.
Array<std::int32_t> link_limits(const Candidate& candidate, const MachineData& machine, std::size_t messages) {
    if (machine.network.link_slots() == 0 || !sweeps_links(candidate.method)) return {0};
    if (messages > kSimulated || candidate.method == "negotiated") return {0};
    Array<std::int32_t> limits{0, 2, 4};
    const auto harmless = static_cast<std::int32_t>(machine.costs.tolerance);
    if (harmless > 1 && harmless != 2 && harmless != 4) limits.push_back(harmless);
    return limits;
}

bool same_phases(const Phases& one, const Phases& other) {
    return one.offsets == other.offsets && one.message == other.message;
}

// Adds the candidate's schedule unless it does not apply or is there already.
void make(const MachineData& machine, const RankMessages& messages, std::string_view method, std::int32_t link,
          std::uint64_t seed, std::deque<TimedSchedule>& bases) {
    Phases phases;
    try {
        phases = phases_by(method, machine, messages, method_limits(method, machine, link), seed);
    } catch (const Failure& failure) {
        if (failure.code != Code::schedule) throw;
        return;
    }
    const MachineCosts* costs = &machine.costs_for(method);
    for (const TimedSchedule& base : bases)
        if (same_phases(base.phases(), phases) && &machine.costs_for(base.method()) == costs) return;
    bases.emplace_back(machine, messages, method, std::move(phases));
}

void make_others(const MachineData& machine, const RankMessages& messages, std::uint64_t seed,
                 std::deque<TimedSchedule>& bases) {
    const bool unequal = !unequal_sizes(messages).empty();
    for (const Candidate& candidate : kCandidates) {
        if (messages.size() > candidate.messages || (candidate.unequal && !unequal)) continue;
        for (const std::int32_t link : link_limits(candidate, machine, messages.size()))
            make(machine, messages, candidate.method, link, seed, bases);
    }
    if (bases.empty()) throw Failure(Code::schedule, "no method keeps the limits of " + machine.name);
}

// The best with fewer sends in flight, and posting everything so.
void refine(TrialSearch& search, const TimedSchedule* naive, const SyncPolicy& naive_policy, double floor_s) {
    Array<Trial> near;
    if (const auto best = search.best()) near.push_back(*best);
    if (naive != nullptr) near.push_back({naive, naive_policy, 0, 0, kUnlimited});
    for (Trial& trial : near) {
        for (const std::int64_t in_flight : {1, 2, 4}) {
            trial.in_flight = in_flight;
            if (!search.tried(trial)) search.run(trial, floor_s);
        }
    }
}

}  // namespace

void TrialSearch::run(const Trial& trial, double floor_s) {
    if (spent() || floor_s + trial.base->barriers_s(trial.policy) >= best_s_) return;
    seen_.push_back(trial);
    const SimulatedTime found = trial.base->simulate(trial.policy, trial.in_flight, best_s_, budget_ - spent_);
    spent_ += found.work;
    if (found.seconds > best_s_ || found.seconds == kUnlimited) return;
    Trial done = trial;
    done.time_s = found.seconds;
    finished_.push_back(done);
    best_s_ = std::min(best_s_, found.seconds);
}

std::optional<Trial> TrialSearch::best() const {
    for (const Trial& trial : finished_)
        if (trial.time_s <= best_s_ * kRelTol) return trial;
    return std::nullopt;
}

bool TrialSearch::tried(const Trial& trial) const {
    return std::any_of(seen_.begin(), seen_.end(), [&](const Trial& other) {
        return other.base == trial.base && other.policy == trial.policy && other.in_flight == trial.in_flight;
    });
}

Trial choose_policy(const TimedSchedule& schedule) {
    Array<Trial> trials = trials_of(schedule, std::nullopt);
    const std::size_t messages = schedule.phases().message.size();
    if (messages > kSimulated || trials.size() == 1) return least_predicted(trials);
    sort_by_prediction(trials);
    TrialSearch search(budget_of(messages));
    for (const Trial& trial : trials) search.run(trial, 0);
    return search.best().value_or(least_predicted(trials));
}

Trial choose_schedule(const MachineData& machine, const RankMessages& messages, std::optional<SyncPolicy> policy,
                      std::uint64_t seed, std::deque<TimedSchedule>& bases) {
    make(machine, messages, "naive", 0, seed, bases);
    const TimedSchedule* naive = bases.empty() ? nullptr : &bases.front();
    const SyncPolicy naive_policy = policy.value_or(SyncPolicy{});
    const bool simulates = messages.size() <= kSimulated;
    TrialSearch search(budget_of(messages.size()));
    double floor_s = 0;
    if (naive != nullptr && simulates) {
        const Trial posted{naive, naive_policy, 0, naive->predict(naive_policy), kUnlimited};
        // without blocking and exchanges the formula of posting everything is what no schedule beats
        const bool bounds = machine.costs.blocking == 0 && machine.costs.exchange_weight == 1 &&
                            machine.method_costs.empty() && naive_policy.kind == SyncKind::none;
        if (bounds) floor_s = posted.predicted_s;
        search.run(posted, 0);
        if (search.best_s() <= floor_s * kRelTol) return *search.best();
    }
    make_others(machine, messages, seed, bases);
    Array<Trial> trials;
    for (const TimedSchedule& base : bases)
        for (Trial& trial : trials_of(base, policy))
            if (!is_as_posted(base, trial.policy, machine.costs_for(base.method()))) trials.push_back(trial);
    if (!simulates) return least_predicted(trials);
    sort_by_prediction(trials);
    for (const Trial& trial : trials)
        if (!search.tried(trial)) search.run(trial, floor_s);
    refine(search, naive, naive_policy, floor_s);
    return search.best().value_or(least_predicted(trials));
}

}  // namespace conset
