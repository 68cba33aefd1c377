#include "conset/compilation/search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "conset/stop.hpp"

namespace conset {

namespace {

// Counted work that a search may spend per unit of effort: for each message of a pattern, at least, at most up to
// `kSmall` messages, and above; what a cache does not hold takes longer.
struct Allowance {
    std::int64_t each, least, most, large;
};
// Most of the work is events.
constexpr Allowance kHeaders{4'800, 5'000'000, 40'000'000, 40'000'000};
// Most work is visits to flows whose rates change: several of them take the time of one event.
constexpr Allowance kRates{16'000, 16'000'000, 64'000'000, 40'000'000};
// All of the work is steps of packets, a hundred or so for a hop of a large message.
constexpr Allowance kPackets{400'000, 50'000'000, 200'000'000, 200'000'000};

// None after the last phase, none before the first.
std::int64_t barriers_of(std::int64_t phases, const SyncPolicy& policy) { return (phases - 1) / policy.every; }

void forget(Array<Trial>& trials, const Trial& trial) {
    trials.erase(std::remove(trials.begin(), trials.end(), trial), trials.end());
}

}  // namespace

std::int64_t allowed_work(std::int64_t messages, std::string_view model, std::int64_t effort) {
    const Allowance& allowance = model == "flow" ? kRates : model == "packet" ? kPackets : kHeaders;
    const std::int64_t most = messages <= kSmall ? allowance.most : allowance.large;
    return effort * std::min(std::max(allowance.each * messages, allowance.least), most);
}

double rounded_time(double seconds) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", seconds);
    return std::strtod(text, nullptr);
}

double TrialSearch::best_s() const {
    double least = finished_.empty() ? beat_s_ : kNever;
    for (const Trial& trial : finished_) least = std::min(least, trial.time_s);
    return least;
}

const Trial* TrialSearch::best() const {
    if (finished_.empty()) return nullptr;
    const double least = best_s() * kRelTol;
    return &*std::find_if(finished_.begin(), finished_.end(), [&](const Trial& t) { return t.time_s <= least; });
}

bool TrialSearch::is_over() const { return best_s() <= floor_s_ * kRelTol || spent_ >= budget_ || stop_asked(); }

bool TrialSearch::may_win(const Trial& trial, double reach) const {
    double barriers = 0;
    const TrialBase& of = base(trial);
    if (trial.policy.kind == SyncKind::barrier && of.phases > 0)
        barriers = static_cast<double>(barriers_of(of.phases, trial.policy)) * of.barrier_s;
    return floor_s_ + barriers < best_s() * reach;
}

bool TrialSearch::is_known(const Trial& trial) const {
    const auto same = [&](const Trial& other) { return other.base == trial.base && other.policy == trial.policy; };
    return std::any_of(least_.begin(), least_.end(), same) ||
           std::any_of(refused_.begin(), refused_.end(), [&](const auto& each) { return same(each.first); });
}

bool TrialSearch::is_as_posted(const Trial& trial) const {
    return model_of(trial) == "flow" && trial.policy.kind == SyncKind::none && trial.in_flight == 0 &&
           base(trial).shares;
}

void TrialSearch::skip(const Trial& trial) {
    if (std::find(skipped_.begin(), skipped_.end(), trial) == skipped_.end()) skipped_.push_back(trial);
}

void TrialSearch::run(const Array<Trial>& trials, const How& how, double stage) {
    const auto allowed = static_cast<std::int64_t>(static_cast<double>(budget_) * how.share);
    const double reach = how.equals ? how.slack : 1;
    auto left = trials.begin();
    for (;;) {
        Array<Trial> batch;
        for (; left != trials.end() && batch.size() < kBatch; ++left)
            if (may_win(*left, reach)) batch.push_back(*left);
        if (batch.empty()) return;
        if ((best_s() <= floor_s_ * kRelTol && !how.equals) || stop_asked()) return;
        if (spent_ >= allowed) {
            for (const Trial& trial : batch) skip(trial);
            for (; left != trials.end(); ++left)
                if (may_win(*left, reach)) skip(*left);
            return;
        }
        const std::int64_t most = std::min((allowed - spent_) / static_cast<std::int64_t>(batch.size()),
                                           static_cast<std::int64_t>(static_cast<double>(budget_) * how.single));
        simulate(batch, how.slack, std::max<std::int64_t>(most, 1));
        if (stage >= 0)
            evaluator_.progress(stage +
                                static_cast<double>(left - trials.begin()) / static_cast<double>(trials.size()));
    }
}

void TrialSearch::simulate(Array<Trial>& batch, double slack, std::int64_t max_work) {
    const double until_s = best_s() * slack;
    for (Trial& trial : batch) trial.model = model_of(trial);
    const Array<Simulation> found = evaluator_.simulate(bases_, batch, until_s, max_work);
    for (std::size_t k = 0; k < batch.size(); ++k) {
        Trial trial = batch[k];
        const Simulation& simulation = found[k];
        ++simulated_;
        forget(skipped_, trial);
        if (simulation.refused != Refusal::none) {
            refused_.emplace_back(trial, simulation.refused);
            continue;
        }
        spent_ += simulation.work;
        if (simulation.cut) skip(trial);
        if (trial.in_flight == 0) {
            Trial& known = least_.emplace_back(trial);
            known.time_s = std::min(simulation.time_s, until_s);
        }
        if (std::isfinite(simulation.time_s) && simulation.time_s <= until_s) {
            trial.time_s = simulation.time_s;
            finished_.push_back(trial);
        }
    }
}

}  // namespace conset
