// auto: the method and parameters with the least time for a machine, and why.
//
// Problem: which of all methods, at which contention, under which policy, with how many sends in flight and in which
// order sends a pattern fastest on this machine? Idea: the machine's model decides. What the naive exchange takes is
// simulated first, to its end, and is kept until a trial is faster. Then the methods of a list (`candidates`), each at
// several contentions and under every policy, and posting everything in several orders, ordered by formula; then the
// best of them with fewer sends in flight. Of trials that the model can hardly tell apart the one that needs the least
// to go as simulated is taken.
//
// Stages of a search by a model: all schedules under all policies, then the best with fewer sends in flight. What is
// simulated first shows how far the formula is off: one trial under each policy, then every schedule under the best of
// these. The rest goes by predicted times that are corrected by that. Where a time is to be beaten, most searches find
// nothing: methods are tried at one contention each, and at others only if one of these comes near.
//
// Guarantee: not slower by the deciding model than the naive exchange, nor than any trial that was simulated; where the
// machine's numbers were measured, by no more than the model's error: there the naive exchange is kept. Stop: where the
// best is what no schedule can beat (`Evaluator::floor_s`), nothing else is tried. Effort is counted in work of the
// models and bounded by the size of the pattern, never timed, so that the same input gives the same choice.
//
// By formula: every trial is predicted. Among equals, which are frequent where the busiest port decides, the one that
// takes the least with a barrier after every phase; then the fewest phases, then the order of the list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "conset/array.hpp"
#include "conset/compilation/candidates.hpp"
#include "conset/compilation/trial.hpp"

namespace conset {

// Messages of a pattern that a model ranks, per unit of effort.
inline constexpr std::int64_t kMostSimulated = 1 << 17;

struct Question {
    Situation situation;
    std::string rank_by;        // what ranks; empty: each method's own model
    std::string model;          // the machine's model of most methods
    Array<std::string> models;  // all that its methods follow
    std::int64_t effort = 1;
    std::int64_t most_simulated = kMostSimulated;  // messages, per unit of effort; above, the formula ranks
    std::optional<SyncPolicy> policy;              // that is fixed
    bool limits_given = false;                     // which leave no other contention to try
    bool fewest_phases = false;                    // only schedules with the fewest phases are chosen from
    bool hashed = false;                           // routes whose bound is of an expectation, no sample's
    bool adaptive = false;
    double beat_s = kNever;   // the time of another schedule by the same model, to be beaten
    double rival_s = kNever;  // the same: a search that is far from it ends early
};

// What one model says; of the deciding one its best is the next best by another method.
struct ModelTimes {
    std::string model;
    std::optional<double> chosen_s{}, posted_s{}, best_s{};
    Trial best{};  // of `best_s`
    Refusal refused = Refusal::none;
};

// Why there is no answer, or why the formula gave it in place of a model.
enum class Instead : std::uint8_t {
    nothing,
    many,      // messages
    too_long,  // the naive exchange takes too many steps to simulate
    no_end,    // no simulation ended
};
enum class Failed : std::uint8_t { nothing, no_method, no_simulation, none_faster };

// The reasons of a choice, as data.
struct Decision {
    Failed failed = Failed::nothing;
    Array<TrialBase> bases{};
    Trial chosen{};
    Array<ModelTimes> models{};  // the deciding one first
    std::int64_t tried = 0;      // trials that were simulated, or predicted where the formula decided
    std::int64_t left_out = 0;   // for lack of effort
    std::int64_t allowed = 0;    // counted work
    Instead instead = Instead::nothing;
    bool optimal = false;    // nothing can be faster by a bound
    bool is_fastest = true;  // no trial takes less; else some do, but equal times
    Array<Trial> known{};    // what has a time, in the order in which it was found
    // Where nothing of another method or policy has one: all others, at what the formula says of them beside the
    // choice, and no less than when they were stopped.
    Array<Trial> estimated{};
};

Decision choose_schedule(Evaluator& evaluator, const Question& question);

// One schedule under its fastest policy, or under that of the question.
Decision choose_policy(Evaluator& evaluator, const Question& question, const TrialBase& base);

}  // namespace conset
