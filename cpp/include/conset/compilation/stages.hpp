// Directly or in stages: which ways to combine messages are searched, in what order, and when stages are chosen.
//
// Problem: searching every way and the direct messages to the end takes several times as long as one of them. Idea: an
// estimate without events orders the ways and leaves out hopeless ones; what is estimated to be faster by far is
// searched first, so that the search for the other ends early. Stages are chosen where they gain more than
// `kStagesWorth`: they need memory and processors that a direct exchange leaves alone.
//
// Many messages: direct ones are scheduled only where no way takes less than they take at least, which is known within
// a fraction of the time. Guarantee: by what decides not slower than the direct schedule of the same options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "conset/array.hpp"
#include "conset/compilation/trial.hpp"

namespace conset {

inline constexpr double kStagesWorth = 0.95;    // what stages may take at most of the direct time to be chosen
inline constexpr double kStagesHopeful = 1.5;   // factor over it up to which a way is searched, by an estimate
inline constexpr double kStagesClear = 0.5;     // share of the direct time below which stages are searched first
inline constexpr double kStagesNear = 1.1;      // factor over the best up to which many bundles are, all posted at once
inline constexpr std::int64_t kWaysTried = 4;   // ways per unit of effort, the best ones by that estimate
inline constexpr std::int64_t kMixesTried = 2;  // the same of ways that mix others

struct EstimatedWay {
    double time_s = 0;
    std::int64_t bundles = 0;
    std::int64_t memory = 0;  // temporary, of the rank that needs most [B]
    bool mixes = false;
};

struct StageQuestion {
    std::int64_t messages = 0;
    std::int64_t effort = 1;
    std::int64_t memory = std::numeric_limits<std::int64_t>::max();  // that a rank may use [B]
    bool direct_first = false;
};

// What the choice asks for; ways by their place among those that it listed.
class StageEvaluator {
public:
    StageEvaluator() = default;
    StageEvaluator(const StageEvaluator&) = delete;
    StageEvaluator& operator=(const StageEvaluator&) = delete;
    virtual ~StageEvaluator() = default;

    // All ways, and the estimate of direct messages [s].
    virtual std::pair<Array<EstimatedWay>, double> ways() = 0;
    // Whether two of them take the same paths.
    virtual bool same(std::size_t way, std::size_t other) = 0;
    // What all bundles take posted at once, by the machine's model [s].
    virtual double posted_s(std::size_t way) = 0;
    // Searches a way, whose time it returns; nothing: none takes less than `beat_s` [s].
    virtual std::optional<double> along(std::size_t way, double beat_s) = 0;
    // What was found last is the best so far.
    virtual void keep() = 0;
    // Searches direct messages, which may end early far behind `rival_s`, and keeps what it finds; nothing: no model
    // says what they take, and stages cannot be compared [s].
    virtual std::optional<double> direct(double rival_s) = 0;
    // What direct messages take at least [s].
    virtual double least_s() = 0;
};

struct StageDecision {
    std::optional<std::size_t> way{};  // nothing: directly
    Array<std::size_t> ways{};         // that were not left out, the least estimate first
    // What each took that was searched, infinite where nothing was faster than what was known [s].
    Array<std::pair<std::size_t, double>> tried{};
    double estimated_s = 0;            // of direct messages
    std::optional<double> direct_s{};  // what they take
    bool is_bound = false;             // at least, and they were not searched
    bool stopped = false;
    std::int64_t left_out = 0;  // least memory of a way that was left out for it [B]; 0: none was
};

StageDecision choose_stages(StageEvaluator& evaluator, const StageQuestion& question);

}  // namespace conset
