// Trials simulated in an order that is given until a counted effort is spent.
//
// Problem: find the trial with the least simulated time among some hundred, within a second, and the same one whatever
// the number of threads. Idea: the order is best first, so that the best so far is soon a good one. A simulation stops
// as soon as its clock passes that time; what cannot be faster by its lower bound is not simulated at all.
//
// Batches: trials are taken `kBatch` at a time; all of a batch are stopped at what was best when it began and may spend
// equal shares of the effort that was left then, at most a share of all. Neither depends on which ends first.
// Guarantee: of the trials that were not left out for lack of effort none is simulated faster than the best.
// Complexity: at most the effort, in counted work of the models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "conset/array.hpp"
#include "conset/compilation/trial.hpp"

namespace conset {

// Counted work of a model that a search over so many messages may spend.
std::int64_t allowed_work(std::int64_t messages, std::string_view model, std::int64_t effort);

// A number without the last digits: sums in another order are one time.
double rounded_time(double seconds);

class TrialSearch {
public:
    static constexpr std::size_t kBatch = 4;

    // `model` simulates; empty: each method's own. Only trials that take less than `beat_s` are wanted.
    TrialSearch(Evaluator& evaluator, const Array<TrialBase>& bases, std::string model, std::int64_t budget,
                double floor_s = 0, double beat_s = kNever)
        : evaluator_(evaluator),
          bases_(bases),
          model_(std::move(model)),
          budget_(budget),
          floor_s_(floor_s),
          beat_s_(beat_s) {}

    struct How {
        double slack = 1;         // a simulation is stopped when its clock passes this multiple of the best time
        double share = 1;         // of the budget that may be spent when it ends
        double single = 1.0 / 8;  // of the budget that one trial may spend
        bool equals = false;      // trials are wanted that cannot be faster than the best, but within `slack` of it
    };
    // Simulates trials, the first ones first. The evaluator hears how far it is, from `stage` to the next one; below 0:
    // nothing.
    void run(const Array<Trial>& trials, const How& how, double stage = -1);

    const TrialBase& base(const Trial& trial) const { return bases_[trial.base]; }
    const std::string& model_of(const Trial& trial) const { return model_.empty() ? base(trial).model : model_; }
    std::int64_t budget() const { return budget_; }
    double floor_s() const { return floor_s_; }
    void set_floor(double seconds) { floor_s_ = seconds; }

    // The least time, the first of equals; nothing before anything has one.
    const Trial* best() const;
    // Its time, or before there is one the time to beat.
    double best_s() const;
    // Whether nothing can be faster, or nothing may be spent any more.
    bool is_over() const;
    // Whether its lower bound, with its barriers, is below `reach` times the best time so far.
    bool may_win(const Trial& trial, double reach = 1) const;
    // Whether it was simulated with the machine's sends in flight, or refused.
    bool is_known(const Trial& trial) const;
    // Whether a model must say of it what it says of the naive exchange: all is in flight at once anyway.
    bool is_as_posted(const Trial& trial) const;

    void add_finished(const Trial& trial) { finished_.push_back(trial); }
    const Array<Trial>& finished() const { return finished_; }  // in the order in which they were simulated
    const Array<Trial>& skipped() const { return skipped_; }    // not, or not to an end, for lack of effort
    const Array<std::pair<Trial, Refusal>>& refused() const { return refused_; }
    std::int64_t simulated() const { return simulated_; }
    // Of every base and policy that was simulated with the machine's sends in flight: what it takes, or when it was
    // stopped.
    const Array<Trial>& least() const { return least_; }

private:
    void simulate(Array<Trial>& batch, double slack, std::int64_t max_work);
    void skip(const Trial& trial);

    Evaluator& evaluator_;
    const Array<TrialBase>& bases_;
    std::string model_;
    std::int64_t budget_, spent_ = 0, simulated_ = 0;
    double floor_s_, beat_s_;
    Array<Trial> finished_, skipped_, least_;
    Array<std::pair<Trial, Refusal>> refused_;
};

}  // namespace conset
