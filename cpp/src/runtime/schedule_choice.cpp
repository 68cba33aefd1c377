#include "conset/runtime/schedule_choice.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "conset/runtime/outcome.hpp"
#include "conset/runtime/schedule_methods.hpp"

namespace conset {

namespace {

constexpr double kRelTol = 1 + 1e-9;         // times closer than this are one time
constexpr double kEqual = 1.02;              // a model is not more exact than this (conset/compilation/trial.py)
constexpr double kClear = 4;                 // a formula is not more wrong than this
constexpr std::size_t kSimulated = 1 << 12;  // messages that a model ranks; beyond them the formula does
// Counted work of all simulations of a choice: for each message, at least, at most. A visit to a flow takes less time
// than an event of a header.
constexpr std::int64_t kFlowWork = 2000, kHeaderWork = 640, kLeastWork = 1 << 18, kMostWork = 1 << 22;
constexpr double kFirstShare = 0.6;            // of it, before fewer sends in flight are tried
constexpr std::int64_t kSearchWork = 1 << 25;  // prices that a negotiation may read

// A method, up to how many messages it is tried, and whether only where sizes differ. `decreasing` anneals for a
// second.
struct Candidate {
    std::string_view method;
    std::size_t messages;
    bool unequal;
};
constexpr std::array kCandidates{
    Candidate{"coloring", std::size_t{1} << 21, false},
    Candidate{"lp", std::size_t{1} << 31, false},
    Candidate{"gen", std::size_t{1} << 31, false},
    Candidate{"bounded", std::size_t{1} << 31, false},
    Candidate{"pex-gen-shift", std::size_t{1} << 17, false},
    Candidate{"first-fit", std::size_t{1} << 17, false},
    Candidate{"half-duplex", 2048, false},
    Candidate{"negotiated", 2048, false},
    Candidate{"rs-nl", kSimulated, false},
    Candidate{"rs-n", std::size_t{1} << 17, false},
    Candidate{"event-list", 256, true},
};

std::int64_t budget_of(const MachineData& machine, std::size_t messages) {
    const std::int64_t each = machine.costs.model == CostModel::flow ? kFlowWork : kHeaderWork;
    return std::clamp(each * static_cast<std::int64_t>(messages), kLeastWork, kMostWork);
}

bool same(const Trial& one, const Trial& other) {
    return one.base == other.base && one.policy == other.policy && one.in_flight == other.in_flight;
}

bool runs_under(const TimedSchedule& base, const SyncPolicy& policy) {
    const Array<SyncPolicy> policies = base.policies();
    return std::find(policies.begin(), policies.end(), policy) != policies.end();
}

// Whether the model says the same as of posting everything: bytes share rates, nothing takes messages one by one.
bool is_as_posted(const Trial& trial, const MachineCosts& costs) {
    const bool worked = !costs.send_overhead.free() || !costs.receive_overhead.free() || costs.setup > 0 ||
                        costs.eager >= 0 || costs.in_flight > 0 || costs.receives > 0;
    return costs.model == CostModel::flow && trial.policy.kind == SyncKind::none && !worked;
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

// Limits of links worth a try: 0 is the method's own, 1 where it keeps any; what links carry without harm.
Array<std::int32_t> link_limits(const Candidate& candidate, const MachineData& machine, std::size_t messages) {
    if (machine.network.link_slots() == 0 || machine.network.spreads() || !sweeps_links(candidate.method) ||
        messages > kSimulated)
        return {0};
    const std::int64_t harmless = machine.costs.tolerance;
    const bool cheap = candidate.method != "negotiated";
    Array<std::int32_t> limits{0};
    if (harmless > 1 && harmless < 1 << 10) limits.push_back(static_cast<std::int32_t>(harmless));
    if (cheap || limits.size() == 1) limits.push_back(2);
    if (cheap && candidate.method != "rs-nl") limits.push_back(4);
    return limits;
}

bool same_phases(const Phases& one, const Phases& other) {
    return one.offsets == other.offsets && one.message == other.message;
}

// Adds a method's schedule unless it does not apply, takes too long to find, or is there already.
void make(const MachineData& machine, const RankMessages& messages, std::string_view method, std::int32_t link,
          std::uint64_t seed, std::deque<TimedSchedule>& bases) {
    std::optional<Phases> phases;
    Limits limits;
    try {
        limits = method_limits(method, machine, link);
        phases = phases_by(method, machine, messages, limits, seed, 1, kSearchWork);
    } catch (const Failure& failure) {
        if (failure.code != Code::schedule) throw;
    }
    if (!phases) return;
    // a sparse pattern pays nearly all of the phases of partners by rank
    const auto coloring =
        std::find_if(bases.begin(), bases.end(), [](const auto& b) { return b.method() == "coloring"; });
    const bool sparse = is_by_rank(method) && coloring != bases.end() &&
                        static_cast<std::int64_t>(phases->offsets.size()) > 2 * coloring->phase_count();
    if (sparse) return;
    const MachineCosts* costs = &machine.costs_for(method);
    for (const TimedSchedule& base : bases)
        if (same_phases(base.phases(), *phases) && &machine.costs_for(base.method()) == costs) return;
    bases.emplace_back(machine, messages, method, limits, std::move(*phases));
}

void make_others(const MachineData& machine, const RankMessages& messages, std::uint64_t seed,
                 std::deque<TimedSchedule>& bases) {
    const bool unequal = !unequal_sizes(messages).empty();
    for (const Candidate& candidate : kCandidates) {
        if (messages.size() > candidate.messages || (candidate.unequal && !unequal)) continue;
        if (candidate.method == "half-duplex" && !machine.costs.half_duplex()) continue;
        for (const std::int32_t link : link_limits(candidate, machine, messages.size()))
            make(machine, messages, candidate.method, link, seed, bases);
    }
    if (bases.empty()) throw Failure(Code::schedule, "no method keeps the limits of " + machine.name);
}

// By predicted times: the best under each policy, every schedule under the best policy so far, and what is left.
void run_by_prediction(TrialSearch& search, const MachineData& machine, const std::deque<TimedSchedule>& bases,
                       std::optional<SyncPolicy> policy) {
    Array<Trial> trials;
    for (const TimedSchedule& base : bases)
        for (const Trial& trial : trials_of(base, policy))
            if (search.may_win(trial) && !is_as_posted(trial, machine.costs)) trials.push_back(trial);
    sort_by_prediction(trials);
    Array<SyncPolicy> seen;
    for (const Trial& trial : trials) {
        if (std::find(seen.begin(), seen.end(), trial.policy) != seen.end()) continue;
        seen.push_back(trial.policy);
        search.run(trial);
    }
    const auto best = search.best();
    for (const Trial& trial : trials)
        if (best && trial.policy == best->policy) search.run(trial);
    for (const Trial& trial : trials)
        if (search.spent() < kFirstShare) search.run(trial);
}

// With fewer sends in flight than the machine's number: the best, posting everything in every order, and every schedule
// without waits, whose order spreads the load only where few are in flight.
void run_in_flight(TrialSearch& search, const MachineData& machine, const std::deque<TimedSchedule>& bases,
                   const SyncPolicy& posted) {
    const auto run = [&](Trial trial, std::int64_t most) {
        const std::int64_t own = machine.costs_for(trial.base->method()).in_flight;
        for (trial.in_flight = 1; trial.in_flight <= most; trial.in_flight *= 2)
            if (own == 0 || trial.in_flight < own) search.run(trial);
    };
    if (const auto best = search.best()) run(*best, 4);
    for (const TimedSchedule& base : bases)
        if (base.method() == "naive") run({&base, posted, 0, 0, kUnlimited}, 4);
    for (const TimedSchedule& base : bases)
        if (posted == SyncPolicy{} && runs_under(base, {})) run({&base, {}, 0, 0, kUnlimited}, 2);
}

// Posting everything; the floor is its prediction where that counts on nothing but work that has to be done.
Trial run_posted(TrialSearch& search, const MachineData& machine, const TimedSchedule& naive,
                 const SyncPolicy& policy) {
    const Trial posted{&naive, policy, 0, naive.predict(policy), kUnlimited};
    const MachineCosts& costs = machine.costs;
    const bool plain = costs.blocking == 0 && costs.exchange_weight == 1 && machine.method_costs.empty();
    if (plain && policy.kind == SyncKind::none) search.set_floor(posted.predicted_s);
    search.run(posted, 1);
    return posted;
}

// Posting everything, each rank its messages in another order: the nearest upwards first, so that no two begin with one
// target; the two of an exchange at one place of their lists; the longest first.
void make_orders(const MachineData& machine, const RankMessages& messages, std::deque<TimedSchedule>& bases) {
    const auto distance = [&](std::int32_t m) {
        return (messages.target[m] - messages.source[m] + messages.ranks) % messages.ranks;
    };
    const auto add = [&](const auto& key) {
        Phases phases = bases.front().phases();
        std::stable_sort(phases.message.begin(), phases.message.end(),
                         [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
        for (const TimedSchedule& base : bases)
            if (same_phases(base.phases(), phases)) return;
        bases.emplace_back(machine, messages, "naive", bases.front().limits(), std::move(phases));
    };
    add([&](std::int32_t m) { return std::tuple(messages.source[m], distance(m)); });
    add([&](std::int32_t m) { return std::tuple(messages.source[m] ^ messages.target[m], messages.source[m]); });
    if (!unequal_sizes(messages).empty())
        add([&](std::int32_t m) { return std::tuple(messages.source[m], -messages.bytes[m], distance(m)); });
}

// Whether posting everything is the best by far: as its bytes share rates fairly, only barriers and waits tell the
// others from it.
bool posts_at_once(const MachineData& machine, const RankMessages& messages, const Trial& posted, std::uint64_t seed) {
    if (!is_as_posted(posted, machine.costs) || !machine.method_costs.empty()) return false;
    std::deque<TimedSchedule> other;
    make(machine, messages, "coloring", 0, seed, other);
    if (other.empty()) return false;
    Array<Trial> trials;
    for (const Trial& trial : trials_of(other.front(), std::nullopt))
        if (!is_as_posted(trial, machine.costs)) trials.push_back(trial);
    return !trials.empty() && least_predicted(trials).predicted_s > kClear * posted.predicted_s;
}

}  // namespace

bool TrialSearch::over() const { return spent_ >= budget_ || best_s_ <= floor_s_ * kEqual; }

bool TrialSearch::may_win(const Trial& trial) const {
    return floor_s_ + trial.base->barriers_s(trial.policy) < best_s_;
}

void TrialSearch::run(const Trial& trial, double share) {
    if (over() || tried(trial) || !may_win(trial)) return;
    seen_.push_back(trial);
    const auto most = static_cast<std::int64_t>(share * static_cast<double>(budget_));
    const SimulatedTime found = trial.base->simulate(trial.base->costs().model, trial.policy, trial.in_flight, best_s_,
                                                     std::min(most, budget_ - spent_));
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

bool TrialSearch::ended(const Trial& trial) const {
    return std::any_of(finished_.begin(), finished_.end(), [&](const Trial& other) { return same(trial, other); });
}

bool TrialSearch::tried(const Trial& trial) const {
    return std::any_of(seen_.begin(), seen_.end(), [&](const Trial& other) { return same(trial, other); });
}

Trial choose_policy(const TimedSchedule& schedule) {
    Array<Trial> trials = trials_of(schedule, std::nullopt);
    const std::size_t messages = schedule.phases().message.size();
    if (messages > kSimulated || trials.size() == 1) return least_predicted(trials);
    sort_by_prediction(trials);
    if (trials[0].predicted_s * kClear < trials[1].predicted_s) return least_predicted(trials);
    TrialSearch search(std::int64_t{1} << 62);
    for (const Trial& trial : trials) search.run(trial, 1);
    return search.best().value_or(least_predicted(trials));
}

Trial choose_schedule(const MachineData& machine, const RankMessages& messages, std::optional<SyncPolicy> policy,
                      std::uint64_t seed, std::deque<TimedSchedule>& bases) {
    make(machine, messages, "naive", 0, seed, bases);
    const TimedSchedule* naive = bases.empty() ? nullptr : &bases.front();
    TrialSearch search(budget_of(machine, messages.size()));
    std::optional<Trial> posted;
    if (naive != nullptr && messages.size() <= kSimulated) {
        const SyncPolicy own = policy.value_or(SyncPolicy{});
        const Trial trial{naive, own, 0, naive->predict(own), kUnlimited};
        if (!policy && posts_at_once(machine, messages, trial, seed)) return least_predicted({trial});
        posted = run_posted(search, machine, *naive, own);
        const auto best = search.best();
        if (best && search.over()) return *best;
        if (!is_as_posted(*posted, machine.costs)) {
            make_orders(machine, messages, bases);
            for (const TimedSchedule& order : bases) search.run({&order, own, 0, 0, kUnlimited});
        }
    }
    make_others(machine, messages, seed, bases);
    if (messages.size() <= kSimulated) {
        run_by_prediction(search, machine, bases, policy);
        run_in_flight(search, machine, bases, policy.value_or(SyncPolicy{}));
        const auto best = search.best();
        // posting everything took too long to simulate, and promises more than what did not
        if (posted && posted->predicted_s < search.best_s() && !search.ended(*posted))
            return least_predicted({*posted});
        if (best) return *best;
    }
    Array<Trial> trials;
    for (const TimedSchedule& base : bases)
        for (const Trial& trial : trials_of(base, policy)) trials.push_back(trial);
    return least_predicted(trials);
}

}  // namespace conset
