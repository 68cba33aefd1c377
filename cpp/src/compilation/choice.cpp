#include "conset/compilation/choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include "conset/compilation/search.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

constexpr double kPostedShare = 0.5;  // of the effort, for the naive exchange
constexpr double kFirstShare = 0.8;   // of the effort, before fewer sends in flight are tried
constexpr std::size_t kRefined = 6;   // trials that are tried with fewer sends in flight, beside the naive exchange
// Sends in flight that are tried with the best and the naive exchange, below the machine's number; with the other
// schedules, whose order spreads the load only where few are in flight, the first two.
constexpr std::array<std::int64_t, 4> kInFlight{1, 2, 4, 8};
constexpr std::size_t kFewInFlight = 2;
constexpr std::int64_t kShare = 8;  // another model may spend one part in so many of what it may where it decides
// Factor of the effort, and of the messages per unit of it, where phases are the objective: only schedules with the
// fewest phases are simulated, so there is time to search for them. The naive exchange has one phase: where it applies,
// there is nothing to search for.
constexpr std::int64_t kPhasesEffort = 4;

constexpr std::int64_t kFewMessages = 1 << 9;  // whose simulation takes no noticeable time
constexpr double kAstray = 1.4;  // the most that a corrected prediction of phases between barriers is wrong by
constexpr double kFar = 2;       // times that of a rival from which on nothing else is tried

const SyncPolicy kEveryPhase{SyncKind::barrier, 1};

// Models in which a message that waits holds up others.
bool blocks(std::string_view model) { return model == "wormhole" || model == "circuit" || model == "packet"; }

// Factor up to which a measured model cannot tell an order from the naive exchange; beside other orders.
double error_of(std::string_view model) { return model == "packet" ? kPacketError : kError; }

class Chooser {
public:
    Chooser(Evaluator& evaluator, const Question& question) : evaluator_(evaluator), question_(question) {}

    Decision choose();
    Decision choose_policy(const TrialBase& base);

private:
    const TrialBase& base(const Trial& trial) const { return bases_[trial.base]; }
    // Under barriers, `local` and `ready` a rank has the sends of as many phases in flight as are between barriers.
    std::int64_t most_in_flight(const Trial& trial) const {
        const auto [kind, every] = trial.policy;
        const std::int64_t limit = base(trial).send_limit, most = base(trial).most_in_flight;
        const bool apart = limit > 0 && kind != SyncKind::none && kind != SyncKind::detect;
        return apart ? std::min(most, limit * every) : most;
    }
    bool has_naive() const { return naive_ >= 0; }
    // What a loop of non-blocking sends does: no phases, no policy, the machine's sends in flight.
    bool posts_everything(const Trial& trial) const {
        return base(trial).is_naive() && base(trial).is_as_listed() && trial.policy == SyncPolicy{} &&
               trial.in_flight == 0;
    }
    // Whether late ranks delay no other rank for long: a barrier after every phase, of a measured machine any barriers.
    // Measured with back-pressure, 128 KiB: phases of contention 1 under `none` took 1.28 s where 0.89 s were
    // simulated, under `barrier:4` 0.97 s where 0.91 s were.
    bool keeps_apart(const Trial& trial) const {
        return trial.policy == kEveryPhase || (trial.policy.kind == SyncKind::barrier && base(trial).measured);
    }
    std::int32_t add(TrialBase made) {
        bases_.push_back(std::move(made));
        return static_cast<std::int32_t>(bases_.size()) - 1;
    }

    void make_naive();
    void make_others(bool one_each = false);
    void make_orders();
    void keep_fewest_phases();
    bool is_new(const TrialBase& made) const;
    Array<std::int32_t> with_naive() const;
    double floor_s() const { return evaluator_.floor_s(bases_[naive_]); }
    // Beside what is to be beaten most searches find nothing.
    bool is_hurried() const { return question_.beat_s < kNever && question_.effort == 1; }
    bool is_far(double seconds) const { return seconds > kFar * question_.rival_s; }

    Array<Trial> trials_of(std::int32_t at, View<const SyncPolicy> policies) const;
    Array<Trial> simulated_trials(std::int32_t at) const;
    Array<Trial> affordable_trials(std::int32_t at, bool posted) const;
    void predict(Array<Trial>& trials) const;
    Trial least_predicted(const Array<Trial>& trials) const;

    Decision by_formula(Instead instead);
    Decision by_model(const std::string& model);
    Decision without_times(const TrialSearch& search, Array<Trial> trials);
    Decision verdict_by_formula(const Array<Trial>& trials, Instead instead, bool optimal = false) const;
    Decision verdict_by_model(const TrialSearch& search, const Trial& best, const Array<Trial>& trials) const;
    ModelTimes own_times(const std::string& model, const Trial& best, const Trial* posted, const Array<Trial>& known,
                         Refusal refused) const;
    ModelTimes times_by(const std::string& model, const Trial& chosen, const Trial* posted, const Array<Trial>& trials,
                        double floor_s) const;
    std::pair<std::optional<double>, Refusal> time_by(const std::string& model, Trial trial,
                                                      std::int64_t max_work) const;
    Array<std::string> other_models(const std::string& model, double seconds) const;
    Array<Trial> estimated_trials(const TrialSearch& search, const Trial& best, const Array<Trial>& trials) const;
    double predicted_s(const Trial& trial) const;

    Array<Trial> all_trials(const Array<std::int32_t>& bases, const TrialSearch& search, bool far) const;
    Array<Trial> first_trials(const TrialSearch& search, const Array<Trial>& trials, const Array<Trial>& before) const;
    Array<Trial> tied_trials(const TrialSearch& search, const Array<Trial>& trials) const;
    Array<Trial> second_trials(const TrialSearch& search, const Array<Trial>& trials) const;
    Array<Trial> corrected_trials(const TrialSearch& search, const Array<Trial>& trials) const;
    Array<Trial> refined_trials(const TrialSearch& search, const Array<std::int32_t>& bases,
                                const Array<std::int32_t>& orders) const;
    Array<Trial> robust_trials(const TrialSearch& search, const Array<Trial>& trials) const;
    Trial robust_choice(const TrialSearch& search) const;
    Trial rotated(const TrialSearch& search, const Trial& posted) const;

    Evaluator& evaluator_;
    const Question& question_;
    Array<TrialBase> bases_;
    std::int32_t naive_ = -1;
    Array<std::int32_t> others_, orders_;  // all candidates but naive; naive in every order, itself first
    Array<Attempt> attempts_;              // for others, in the order of the list
    Array<std::int32_t> attempt_of_;       // of `others_`
    Array<std::uint8_t> begun_;            // by attempt
    mutable Array<Trial> predicted_;       // as far as trials may be predicted again
    bool of_one_ = false;                  // policies of one schedule are compared
};

void Chooser::make_naive() {
    const std::array<Attempt, 1> naive{Attempt{"naive", 0, 0}};
    if (const auto made = evaluator_.make(naive)[0]) naive_ = add(*made);
}

bool Chooser::is_new(const TrialBase& made) const {
    return std::none_of(bases_.begin(), bases_.end(), [&](const TrialBase& other) { return other.key == made.key; });
}

// Every other candidate at every contention, each schedule once, in the order of the list; `one_each`: at the first of
// its contentions, the others later. With the fewest phases as the objective it ends where a schedule cannot be
// improved on.
void Chooser::make_others(bool one_each) {
    const Situation& situation = question_.situation;
    const bool searches = question_.fewest_phases && !has_naive(), sweeps = !question_.limits_given;
    if (begun_.empty()) {
        const std::int64_t more = searches ? kPhasesEffort : 1, effort = question_.effort * more;
        const double crowding = has_naive() && sweeps ? evaluator_.crowding(bases_[naive_]) : 0;
        for (const Candidate& candidate : candidates()) {
            if (candidate.method == "naive" || !candidate.applies(situation, effort * more)) continue;
            const Array<std::int32_t> links =
                sweeps ? candidate.contentions(situation, crowding) : Array<std::int32_t>{0};
            for (const std::int32_t link : links)
                attempts_.push_back({std::string(candidate.method), link, candidate.effort(situation, effort)});
        }
        begun_.resize(attempts_.size(), 0);
    }
    Array<std::int32_t> left;
    for (std::size_t k = 0; k < attempts_.size(); ++k) {
        const bool later = one_each && k > 0 && attempts_[k].method == attempts_[k - 1].method;
        if (begun_[k] == 0 && !later) left.push_back(static_cast<std::int32_t>(k));
    }
    const std::size_t ahead = searches ? 2 : std::max<std::size_t>(left.size(), 1);
    std::optional<std::int64_t> least;
    for (std::size_t begin = 0; begin < left.size(); begin += ahead) {
        if (!bases_.empty() && stop_asked()) break;
        Array<Attempt> asked;
        const std::size_t end = std::min(begin + ahead, left.size());
        for (std::size_t k = begin; k < end; ++k) {
            begun_[left[k]] = 1;
            asked.push_back(attempts_[left[k]]);
        }
        std::size_t at = begin;
        for (auto& made : evaluator_.make(asked)) {
            const std::int32_t number = left[at++];
            if (!made) continue;
            if (searches && !least) least = evaluator_.least_phases(*made);
            const bool ends = searches && made->phases <= *least;
            if (is_new(*made)) {
                const auto place = std::upper_bound(attempt_of_.begin(), attempt_of_.end(), number);
                others_.insert(others_.begin() + (place - attempt_of_.begin()), add(std::move(*made)));
                attempt_of_.insert(place, number);
            }
            if (ends) return std::fill(begun_.begin(), begun_.end(), 1);
        }
    }
    if (!one_each) std::fill(begun_.begin(), begun_.end(), 1);
}

void Chooser::make_orders() {
    if (!orders_.empty()) return;
    orders_.push_back(naive_);
    for (TrialBase& made : evaluator_.orders(bases_[naive_])) {
        const auto same = [&](std::int32_t at) { return bases_[at].key == made.key; };
        if (std::none_of(orders_.begin(), orders_.end(), same)) orders_.push_back(add(std::move(made)));
    }
}

// Only candidates with the fewest phases; of these, those with the least sum over phases of the largest load.
void Chooser::keep_fewest_phases() {
    make_others();
    const auto figures = [&](std::int32_t at) { return std::tuple(bases_[at].phases, bases_[at].load); };
    const Array<std::int32_t> every = with_naive();
    if (every.empty()) return;
    const auto fewest =
        figures(*std::min_element(every.begin(), every.end(), [&](auto a, auto b) { return figures(a) < figures(b); }));
    std::erase_if(others_, [&](std::int32_t at) { return figures(at) != fewest; });  // nothing is made afterwards
    if (has_naive() && figures(naive_) != fewest) naive_ = -1;
}

Array<std::int32_t> Chooser::with_naive() const {
    Array<std::int32_t> every;
    if (has_naive()) every.push_back(naive_);
    every.insert(every.end(), others_.begin(), others_.end());
    return every;
}

Array<Trial> Chooser::trials_of(std::int32_t at, View<const SyncPolicy> policies) const {
    Array<Trial> trials;
    for (const SyncPolicy& policy : policies) trials.push_back({.base = at, .policy = policy});
    return trials;
}

// Under every policy; of large schedules, whose predictions take long, under few, and not under `none` where the naive
// exchange is known and takes as long.
Array<Trial> Chooser::affordable_trials(std::int32_t at, bool posted) const {
    if (question_.policy) return trials_of(at, {&*question_.policy, 1});
    Array<SyncPolicy> policies = bases_[at].policies;
    if (bases_[at].transfers > kLarge) {
        const bool known = posted && policies.size() > 1 && bases_[at].shares;
        std::erase_if(policies, [&](const SyncPolicy& policy) {
            return policy.every > 1 || (known && policy.kind == SyncKind::none);
        });
    }
    return trials_of(at, policies);
}

// Sets what the formula says; what was stopped before that is left out.
void Chooser::predict(Array<Trial>& trials) const {
    Array<Trial> unknown;
    Array<std::size_t> places;
    for (std::size_t k = 0; k < trials.size(); ++k) {
        const auto known = std::find(predicted_.begin(), predicted_.end(), trials[k]);
        if (known != predicted_.end()) {
            trials[k].predicted_s = known->predicted_s;
            trials[k].fits = known->fits;
            continue;
        }
        trials[k].predicted_s = -1;
        unknown.push_back(trials[k]);
        places.push_back(k);
    }
    evaluator_.predict(bases_, unknown);
    for (std::size_t k = 0; k < unknown.size(); ++k) {
        trials[places[k]] = unknown[k];
        if (is_hurried() && unknown[k].predicted_s >= 0) predicted_.push_back(unknown[k]);
    }
    std::erase_if(trials, [](const Trial& trial) { return trial.predicted_s < 0; });
    for (Trial& trial : trials) trial.time_s = trial.predicted_s;
}

double Chooser::predicted_s(const Trial& trial) const {
    if (trial.predicted_s > 0) return trial.predicted_s;
    Array<Trial> one{trial};
    predict(one);
    return one.empty() ? 0 : one[0].predicted_s;
}

Trial Chooser::least_predicted(const Array<Trial>& trials) const {
    Array<Trial> usable;
    std::copy_if(trials.begin(), trials.end(), std::back_inserter(usable), [](const Trial& t) { return t.fits; });
    if (usable.empty()) usable = trials;
    const auto keep_least = [&](const auto& time_of) {
        double least = kNever;
        for (const Trial& trial : usable) least = std::min(least, time_of(trial));
        std::erase_if(usable, [&](const Trial& trial) { return !(time_of(trial) <= least * kRelTol); });
    };
    keep_least([](const Trial& trial) { return trial.time_s; });
    if (usable.size() == 1) return usable[0];
    Array<Trial> waiting = usable;
    for (Trial& trial : waiting) {
        trial.policy = kEveryPhase;
        const auto known = std::find(trials.begin(), trials.end(), trial);
        trial.predicted_s =
            known == trials.end() ? predicted_s({.base = trial.base, .policy = kEveryPhase}) : known->predicted_s;
    }
    if (std::all_of(waiting.begin(), waiting.end(), [](const Trial& trial) { return trial.predicted_s > 0; })) {
        double least = kNever;
        for (const Trial& trial : waiting) least = std::min(least, trial.predicted_s);
        std::size_t kept = 0;
        for (std::size_t k = 0; k < usable.size(); ++k)
            if (waiting[k].predicted_s <= least * kRelTol) usable[kept++] = usable[k];
        usable.resize(kept);
    }
    return *std::min_element(usable.begin(), usable.end(), [&](const Trial& one, const Trial& other) {
        return base(one).phases < base(other).phases;
    });
}

Decision Chooser::choose() {
    make_naive();
    std::string model = question_.rank_by.empty() ? question_.model : question_.rank_by;
    Instead instead = Instead::nothing;
    if (model != kFormula && question_.situation.messages > question_.most_simulated * question_.effort) {
        model = kFormula;
        instead = Instead::many;
    }
    if (question_.fewest_phases) keep_fewest_phases();
    return model == kFormula ? by_formula(instead) : by_model(model);
}

// The least predicted time; nothing beside the naive exchange where that is what the bound says.
Decision Chooser::by_formula(Instead instead) {
    Array<Trial> trials;
    bool optimal = false, far = false;
    if (has_naive()) {
        trials = affordable_trials(naive_, false);
        predict(trials);
        const double floor = floor_s();
        if (instead != Instead::nothing && floor > question_.beat_s) return {.failed = Failed::none_faster};
        optimal = std::any_of(trials.begin(), trials.end(),
                              [&](const Trial& t) { return t.fits && t.time_s <= floor * kRelTol; });
        far = std::all_of(trials.begin(), trials.end(), [&](const Trial& t) { return is_far(t.time_s); });
    }
    if (!optimal && !far) {
        make_others();
        Array<Trial> more;
        for (const std::int32_t at : others_) {
            const Array<Trial> of = affordable_trials(at, has_naive());
            more.insert(more.end(), of.begin(), of.end());
        }
        predict(more);
        trials.insert(trials.end(), more.begin(), more.end());
    }
    if (trials.empty()) return {.failed = Failed::no_method};
    return verdict_by_formula(trials, instead, optimal);
}

// The least simulated time; by formula where a stop came before any simulation ended.
Decision Chooser::by_model(const std::string& model) {
    const bool own = question_.rank_by.empty();
    std::int64_t budget = 0;
    const Array<std::string> only{model};
    for (const std::string& each : own ? question_.models : only)
        budget = std::max(budget, allowed_work(question_.situation.messages, each, question_.effort));
    TrialSearch search(evaluator_, bases_, own ? "" : model, budget, 0, question_.beat_s);
    std::optional<Trial> posted;
    Array<Trial> trials;
    bool too_long = false;
    try {
        if (has_naive()) {
            Array<Trial> first{{.base = naive_, .policy = question_.policy.value_or(SyncPolicy{})}};
            predict(first);
            if (!first.empty()) {
                posted = first[0];
                const double floor = question_.hashed ? 0 : floor_s();  // that of hashed routes is an expectation
                if (floor > question_.beat_s) return {.failed = Failed::none_faster};
                search.set_floor(floor);
                search.run(first, {.share = kPostedShare, .single = kPostedShare});
                too_long = !search.skipped().empty();
            }
        }
        const bool far = search.best() != nullptr && is_far(search.best_s());
        Array<Trial> firsts;
        for (const bool one_each : {true, false}) {
            if (one_each && !is_hurried()) continue;
            make_others(one_each);
            if (has_naive() && !too_long) make_orders();
            if (bases_.empty()) return {.failed = Failed::no_method};
            evaluator_.progress(1);
            Array<std::int32_t> every = orders_;
            every.insert(every.end(), others_.begin(), others_.end());
            trials = all_trials(every, search, far);
            firsts = first_trials(search, trials, firsts);
            search.run(firsts, {.slack = kSlack, .share = kFirstShare});
            if (far && !is_far(search.best_s())) {
                trials = all_trials(every, search, false);
                search.run(first_trials(search, trials, {}), {.slack = kSlack, .share = kFirstShare});
            }
            if (search.best() == nullptr && question_.beat_s < kNever) {
                // none of the most promising is near it: of few messages others as promising may be
                search.run(tied_trials(search, trials), {.slack = kSlack, .share = kFirstShare});
                if (search.best() == nullptr) return {.failed = Failed::none_faster};
            }
        }
        if (search.best() == nullptr || !is_far(search.best_s())) {
            search.run(second_trials(search, trials), {.slack = kSlack, .share = kFirstShare}, 1);
            evaluator_.progress(2);
            search.run(corrected_trials(search, trials), {.slack = kSlack, .share = kFirstShare}, 2);
            search.run(refined_trials(search, others_, orders_), {}, 3);
            search.run(robust_trials(search, trials), {.slack = kEqual, .equals = true});
        }
        evaluator_.progress(4);
    } catch (const Interrupted&) {
        if (search.best() == nullptr && bases_.empty()) throw;
    }
    if (search.best() == nullptr) return without_times(search, std::move(trials));
    if (posted && too_long && posted->time_s < search.best()->time_s) {
        for (Trial& trial : trials) trial.time_s = trial.predicted_s;
        trials.insert(trials.begin(), *posted);
        return verdict_by_formula(trials, Instead::too_long);
    }
    return verdict_by_model(search, robust_choice(search), trials);
}

// By formula, where no simulation ended: stopped, or too much for the effort.
Decision Chooser::without_times(const TrialSearch& search, Array<Trial> trials) {
    if (!search.refused().empty() && search.skipped().empty() && !stop_asked())
        return {.failed = Failed::no_simulation, .tried = search.simulated()};
    for (Trial& trial : trials) trial.time_s = trial.predicted_s;
    if (trials.empty()) {
        for (const std::int32_t at : with_naive()) {
            const Array<Trial> of = affordable_trials(at, false);
            trials.insert(trials.end(), of.begin(), of.end());
        }
        predict(trials);
    }
    return verdict_by_formula(trials, Instead::no_end);
}

// A schedule under every policy it may run under, but for `local` on a machine that was measured: a library says that a
// send has ended when it has buffered it, so ranks go on too early, and nowhere was it the fastest that was measured
// (docs/cost-model.md).
Array<Trial> Chooser::simulated_trials(std::int32_t at) const {
    if (question_.policy) return trials_of(at, {&*question_.policy, 1});
    Array<Trial> trials = trials_of(at, bases_[at].policies);
    if (bases_[at].measured) std::erase_if(trials, [](const Trial& t) { return t.policy.kind == SyncKind::local; });
    return trials;
}

// Every schedule under every policy, the least by formula first. Those that cannot win are left out, unless nothing
// can: then they are for the other models. Barriers after several phases are left out where a rival is far ahead.
Array<Trial> Chooser::all_trials(const Array<std::int32_t>& bases, const TrialSearch& search, bool far) const {
    const bool over = search.is_over();
    Array<Trial> trials;
    for (const std::int32_t at : bases)
        for (const Trial& trial : simulated_trials(at))
            if (over || (search.may_win(trial) && !search.is_as_posted(trial) && !(far && trial.policy.every > 1)))
                trials.push_back(trial);
    predict(trials);
    for (Trial& trial : trials) trial.time_s = kNever;
    std::stable_sort(trials.begin(), trials.end(), [](const Trial& one, const Trial& other) {
        return rounded_time(one.predicted_s) < rounded_time(other.predicted_s);
    });
    return trials;
}

// The first under each policy, the policy that is done with first before the others; none that is behind one that was
// the first `before`.
Array<Trial> Chooser::first_trials(const TrialSearch& search, const Array<Trial>& trials,
                                   const Array<Trial>& before) const {
    Array<Trial> firsts;
    Array<std::pair<std::size_t, std::size_t>> last;  // of a policy, and which of `firsts` is its
    for (std::size_t k = 0; k < trials.size(); ++k) {
        const Trial& trial = trials[k];
        if (search.is_known(trial)) continue;
        const auto same = [&](const Trial& other) { return other.policy == trial.policy; };
        const auto at = static_cast<std::size_t>(std::find_if(firsts.begin(), firsts.end(), same) - firsts.begin());
        if (at == firsts.size()) {
            firsts.push_back(trial);
            last.emplace_back(k, at);
        }
        last[at].first = k;
    }
    std::sort(last.begin(), last.end());
    Array<Trial> ordered;
    for (const auto& [end, at] : last) {
        const Trial& first = firsts[at];
        if (std::none_of(before.begin(), before.end(), [&](const Trial& known) {
                return known.policy == first.policy && known.predicted_s <= first.predicted_s;
            }))
            ordered.push_back(first);
    }
    return ordered;
}

// Of few messages what is as fast by the formula as the first, under its policy.
Array<Trial> Chooser::tied_trials(const TrialSearch& search, const Array<Trial>& trials) const {
    Array<Trial> tied;
    if (trials.empty() || question_.situation.messages > kFewMessages) return tied;
    const Trial& first = trials.front();
    std::copy_if(trials.begin(), trials.end(), std::back_inserter(tied), [&](const Trial& t) {
        return t.policy == first.policy && t.predicted_s <= first.predicted_s * kEqual && !search.is_known(t);
    });
    return tied;
}

// Every schedule under the policy that is best so far.
Array<Trial> Chooser::second_trials(const TrialSearch& search, const Array<Trial>& trials) const {
    Array<Trial> under;
    const Trial* best = search.best();
    if (best == nullptr) return under;
    std::copy_if(trials.begin(), trials.end(), std::back_inserter(under),
                 [&](const Trial& t) { return t.policy == best->policy && !search.is_known(t); });
    return under;
}

// What is left, by predicted times corrected by what was simulated: a factor for each policy and each schedule. A
// formula may be wrong by much, but it is so in like manner for what shares a policy or a schedule. Phases between
// barriers it knows well: of 150 drawn machines and patterns none was as fast as the best that it said takes 1.34 times
// as long, under other policies some that it said take 2.9 times as long.
Array<Trial> Chooser::corrected_trials(const TrialSearch& search, const Array<Trial>& trials) const {
    struct Known {
        const Trial* trial;
        double factor;
    };
    Array<Known> known;
    for (const Trial& least : search.least()) {
        const auto at = std::find_if(trials.begin(), trials.end(),
                                     [&](const Trial& t) { return t.base == least.base && t.policy == least.policy; });
        if (at == trials.end() || at->predicted_s <= 0 || least.time_s == kNever) continue;
        known.push_back({&*at, least.time_s / at->predicted_s});
    }
    const auto of_policy = [&](const SyncPolicy& policy) {
        double factor = kNever;
        for (const Known& each : known)
            if (each.trial->policy == policy) factor = std::min(factor, each.factor);
        return factor == kNever ? 1.0 : factor;
    };
    const auto of_base = [&](std::int32_t at) {
        double factor = kNever;
        for (const Known& each : known)
            if (each.trial->base == at) factor = std::min(factor, each.factor / of_policy(each.trial->policy));
        return factor == kNever ? 1.0 : factor;
    };
    Array<std::pair<double, Trial>> left;
    const double most_s = kAstray * search.best_s();
    for (const Trial& trial : trials) {
        const double time_s = rounded_time(trial.predicted_s * of_policy(trial.policy) * of_base(trial.base));
        const bool hopeless = trial.policy.kind == SyncKind::barrier && time_s > most_s;
        if (!search.is_known(trial) && !hopeless) left.emplace_back(time_s, trial);
    }
    std::stable_sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Array<Trial> ordered;
    for (auto& [time, trial] : left) ordered.push_back(std::move(trial));
    return ordered;
}

// With fewer sends in flight: the best so far, the naive exchange in every order, every schedule under `none`.
Array<Trial> Chooser::refined_trials(const TrialSearch& search, const Array<std::int32_t>& bases,
                                     const Array<std::int32_t>& orders) const {
    Array<Trial> refined;
    const auto packets = [&](std::int32_t at) {
        return search.model_of({.base = at, .policy = question_.policy.value_or(SyncPolicy{})}) == "packet";
    };
    // what is under way is kept by windows in the network: sends end long before their bytes arrive
    if (std::all_of(bases.begin(), bases.end(), packets) && std::all_of(orders.begin(), orders.end(), packets))
        return refined;
    Array<std::pair<Trial, std::size_t>> kinds;  // how many of `kInFlight` are tried
    const auto add = [&](std::int32_t at, const SyncPolicy& policy, std::size_t count, bool again) {
        const Trial trial{.base = at, .policy = policy};
        const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == trial; });
        if (found == kinds.end())
            kinds.emplace_back(trial, count);
        else if (again)
            found->second = count;
    };
    Array<Trial> near = search.finished();
    std::stable_sort(near.begin(), near.end(), [](const Trial& a, const Trial& b) { return a.time_s < b.time_s; });
    if (near.size() > kRefined) near.resize(kRefined);
    for (const Trial& trial : near) add(trial.base, trial.policy, kInFlight.size(), true);
    const SyncPolicy own = question_.policy.value_or(SyncPolicy{});
    for (const std::int32_t at : orders) add(at, own, kInFlight.size(), true);
    if (own == SyncPolicy{})
        for (const std::int32_t at : bases) {
            const Array<SyncPolicy>& allowed = bases_[at].policies;
            if (std::find(allowed.begin(), allowed.end(), SyncPolicy{}) != allowed.end())
                add(at, {}, kFewInFlight, false);
        }
    for (auto& [trial, count] : kinds)
        for (std::size_t k = 0; k < count; ++k)
            if (kInFlight[k] < most_in_flight(trial)) {
                trial.in_flight = kInFlight[k];
                refined.push_back(trial);
            }
    return refined;
}

// Where messages block and the best has no barrier after every phase: those with one that have no time yet.
Array<Trial> Chooser::robust_trials(const TrialSearch& search, const Array<Trial>& trials) const {
    Array<Trial> apart;
    const Trial* best = search.best();
    if (best == nullptr || !blocks(search.model_of(*best)) || keeps_apart(*best) || base(*best).is_naive())
        return apart;
    const Array<Trial>& known = search.finished();
    for (const Trial& trial : trials) {
        const auto same = [&](const Trial& t) { return t.base == trial.base && t.policy == trial.policy; };
        if (keeps_apart(trial) && std::none_of(known.begin(), known.end(), same)) apart.push_back(trial);
    }
    return apart;
}

// Posting everything in rotated order where the model cannot tell it from what is as fast as `posted`: real ranks that
// all begin with one target are late by what no model shows. A search that ended before it, or left it once something
// was faster, has no time of it.
Trial Chooser::rotated(const TrialSearch& search, const Trial& posted) const {
    const std::string& model = search.model_of(posted);
    for (const std::int32_t at : orders_) {
        if (bases_[at].posting != kRotated) continue;
        Trial trial{.base = at, .policy = posted.policy, .model = model};
        const auto time = time_by(model, trial, search.budget()).first;
        trial.time_s = time.value_or(kNever);
        if (trial.time_s <= std::max(posted.time_s, search.best_s() * error_of(model))) return trial;
    }
    return posted;
}

// The best, or what is as fast and takes its time from phases alone: a barrier after every phase. What keeps phases
// apart by `local` or `ready` alone is fast as long as no rank is late; where messages block each other, one that is
// late holds up many. On a machine whose numbers were measured what is as fast to `kError` counts as equal, of several
// with barriers the one that has them after the fewest phases is taken, and the naive exchange where nothing is faster
// by more than the error of the model.
Trial Chooser::robust_choice(const TrialSearch& search) const {
    const Trial& best = *search.best();
    const bool measured = base(best).measured;
    const Array<Trial>& finished = search.finished();
    double posted_s = kNever;
    for (const Trial& trial : finished) {
        if (!posts_everything(trial)) continue;
        posted_s = std::min(posted_s, trial.time_s);
        if (measured && trial.time_s <= best.time_s * error_of(search.model_of(trial))) return rotated(search, trial);
        break;
    }
    if (!blocks(search.model_of(best)) || keeps_apart(best) || base(best).is_naive()) return best;
    const double most = std::min(best.time_s * (measured ? kError : kEqual), posted_s);
    const View<const Candidate> listed = candidates();
    const auto rank = [&](const Trial& trial) {
        const auto at = std::find_if(listed.begin(), listed.end(),
                                     [&](const Candidate& each) { return each.method == base(trial).method; });
        return std::tuple(trial.policy.every, rounded_time(trial.time_s), at - listed.begin());
    };
    const Trial* chosen = nullptr;
    for (const Trial& trial : finished)
        if (keeps_apart(trial) && trial.time_s <= most && (chosen == nullptr || rank(trial) < rank(*chosen)))
            chosen = &trial;
    return chosen == nullptr ? best : *chosen;
}

// The deciding model: its best by another method is the next best, of one schedule that under another policy.
ModelTimes Chooser::own_times(const std::string& model, const Trial& best, const Trial* posted,
                              const Array<Trial>& known, Refusal refused) const {
    ModelTimes times{.model = model, .chosen_s = best.time_s, .refused = refused};
    if (posted != nullptr) times.posted_s = posted->time_s;
    for (const Trial& trial : known) {
        const bool other = of_one_ ? trial.policy != best.policy : base(trial).method != base(best).method;
        if (!other || posts_everything(trial)) continue;
        if (times.best_s && *times.best_s <= trial.time_s) continue;
        times.best_s = trial.time_s;
        times.best = trial;
    }
    return times;
}

Decision Chooser::verdict_by_formula(const Array<Trial>& trials, Instead instead, bool optimal) const {
    const Trial best = least_predicted(trials);
    const auto at = std::find_if(trials.begin(), trials.end(), [&](const Trial& t) { return posts_everything(t); });
    const Refusal refused = at != trials.end() && !at->fits ? Refusal::room : Refusal::none;
    const Trial* posted = at == trials.end() || refused != Refusal::none ? nullptr : &*at;
    Array<Trial> fitting;
    std::copy_if(trials.begin(), trials.end(), std::back_inserter(fitting), [](const Trial& t) { return t.fits; });
    return {.bases = bases_,
            .chosen = best,
            .models = {own_times(kFormula, best, posted, fitting, refused)},
            .tried = static_cast<std::int64_t>(trials.size()),
            .instead = instead,
            .optimal = optimal,
            .known = trials};
}

Array<Trial> Chooser::estimated_trials(const TrialSearch& search, const Trial& best, const Array<Trial>& trials) const {
    const auto differs = [&](const Trial& trial) {
        return base(trial).method != base(best).method || trial.policy != best.policy;
    };
    const Array<Trial>& finished = search.finished();
    Array<Trial> estimated;
    if (std::any_of(finished.begin(), finished.end(), differs)) return estimated;
    const double predicted = predicted_s(best);
    if (predicted <= 0) return estimated;
    std::copy_if(trials.begin(), trials.end(), std::back_inserter(estimated),
                 [&](const Trial& trial) { return trial.fits && differs(trial); });
    for (Trial& trial : estimated) {
        trial.time_s = std::max(best.time_s, best.time_s * trial.predicted_s / predicted);
        for (const Trial& least : search.least())
            if (least == trial) trial.time_s = std::max(trial.time_s, least.time_s);
    }
    return estimated;
}

// The models that are asked beside the one that decides: fair sharing, and what shows blocking on this machine; none
// where nothing is compared, nor where a rival is faster.
Array<std::string> Chooser::other_models(const std::string& model, double seconds) const {
    if ((of_one_ && question_.policy) || seconds > question_.beat_s || is_far(seconds)) return {};
    Array<std::string> others{"flow"};
    if (!question_.adaptive) {  // the others hold channels of one route
        const Array<std::string>& all = question_.models;
        others.emplace_back(std::find(all.begin(), all.end(), "circuit") != all.end() ? "circuit" : "wormhole");
    }
    std::erase(others, model);
    return others;
}

Decision Chooser::verdict_by_model(const TrialSearch& search, const Trial& best, const Array<Trial>& trials) const {
    const auto posts = [&](const Trial& trial) { return posts_everything(trial); };
    const Array<Trial>& finished = search.finished();
    const auto ended = std::find_if(finished.begin(), finished.end(), posts);
    const Trial* posted = ended == finished.end() ? nullptr : &*ended;
    Refusal refused = Refusal::none;
    for (const auto& [trial, why] : search.refused())
        if (refused == Refusal::none && posts(trial)) refused = why;
    const std::string& own = search.model_of(best);
    Decision verdict{.bases = bases_,
                     .chosen = best,
                     .models = {own_times(own, best, posted, finished, refused)},
                     .tried = search.simulated(),
                     .left_out = static_cast<std::int64_t>(search.skipped().size()),
                     .allowed = search.budget(),
                     .optimal = best.time_s <= search.floor_s(),
                     .is_fastest = best.time_s <= search.best_s() * kRelTol,
                     .known = finished,
                     .estimated = estimated_trials(search, best, trials)};
    const Trial* posting = posted;
    if (posting == nullptr) {
        const auto planned = std::find_if(trials.begin(), trials.end(), posts);
        if (planned != trials.end()) posting = &*planned;
    }
    bool stopped = false;  // a choice that was stopped has a verdict of fewer models
    for (const std::string& model : other_models(own, best.time_s)) {
        if (stopped || stop_asked()) break;
        try {
            verdict.models.push_back(times_by(model, best, posting, trials, search.floor_s()));
        } catch (const Interrupted&) {
            stopped = true;
        }
    }
    ModelTimes formula{.model = kFormula, .chosen_s = predicted_s(best)};
    if (posting != nullptr) formula.posted_s = predicted_s(*posting);
    verdict.models.push_back(formula);
    return verdict;
}

// Another model: of the choice and of the naive exchange; where these are one, of what it finds faster.
ModelTimes Chooser::times_by(const std::string& model, const Trial& chosen, const Trial* posted,
                             const Array<Trial>& trials, double floor_s) const {
    const std::int64_t allowed = allowed_work(question_.situation.messages, model, 1) / kShare;
    ModelTimes times{.model = model};
    std::tie(times.chosen_s, times.refused) = time_by(model, chosen, allowed);
    if (!posts_everything(chosen)) {
        times.refused = Refusal::none;
        if (posted != nullptr) std::tie(times.posted_s, times.refused) = time_by(model, *posted, allowed);
        return times;
    }
    if (!times.chosen_s) return times;
    times.posted_s = times.chosen_s;
    TrialSearch look(evaluator_, bases_, model, allowed, floor_s);
    Trial known = chosen;
    known.time_s = *times.chosen_s;
    known.model = model;
    look.add_finished(known);
    Array<Trial> others;
    std::copy_if(trials.begin(), trials.end(), std::back_inserter(others),
                 [&](const Trial& trial) { return !posts_everything(trial); });
    for (Trial& trial : others) trial.time_s = kNever;
    look.run(others, {}, 4);
    if (look.simulated() == 0 && *times.chosen_s > look.floor_s() * kRelTol) return times;
    times.best = *look.best();
    times.best_s = times.best.time_s;
    return times;
}

std::pair<std::optional<double>, Refusal> Chooser::time_by(const std::string& model, Trial trial,
                                                           std::int64_t max_work) const {
    trial.model = model;
    const Simulation found = evaluator_.simulate(bases_, {&trial, 1}, kNever, max_work)[0];
    if (found.refused != Refusal::none) return {std::nullopt, found.refused};
    if (!std::isfinite(found.time_s)) return {std::nullopt, Refusal::steps};
    return {found.time_s, Refusal::none};
}

// By formula where there are too many messages to simulate.
Decision Chooser::choose_policy(const TrialBase& schedule) {
    of_one_ = true;
    const std::int32_t at = add(schedule);
    const std::string model = question_.rank_by.empty() ? schedule.model : question_.rank_by;
    const std::int64_t messages = question_.situation.messages;
    const bool many = messages > question_.most_simulated * question_.effort;
    Array<Trial> trials = model == kFormula || many ? affordable_trials(at, false) : simulated_trials(at);
    predict(trials);
    if (model == kFormula) return verdict_by_formula(trials, Instead::nothing);
    if (many) return verdict_by_formula(trials, Instead::many);
    TrialSearch search(evaluator_, bases_, model, allowed_work(messages, model, question_.effort));
    for (Trial& trial : trials) trial.time_s = kNever;
    std::stable_sort(trials.begin(), trials.end(),
                     [](const Trial& a, const Trial& b) { return a.predicted_s < b.predicted_s; });
    bool stopped = false;  // what is known decides
    try {
        search.run(trials, {.slack = kSlack});
    } catch (const Interrupted&) {
        stopped = true;
    }
    if (search.best() == nullptr)
        return {.failed = stopped || search.refused().empty() ? Failed::none_faster : Failed::no_simulation,
                .allowed = search.budget()};
    return verdict_by_model(search, *search.best(), {});
}

}  // namespace

Decision choose_schedule(Evaluator& evaluator, const Question& question) {
    return Chooser(evaluator, question).choose();
}

Decision choose_policy(Evaluator& evaluator, const Question& question, const TrialBase& base) {
    return Chooser(evaluator, question).choose_policy(base);
}

}  // namespace conset
