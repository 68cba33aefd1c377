#include "conset/compilation/stages.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "conset/stop.hpp"

namespace conset {

namespace {

using Ways = Array<EstimatedWay>;

template <class Time>
void sort_by(Array<std::size_t>& ways, Time time_s) {
    std::stable_sort(ways.begin(), ways.end(),
                     [&](std::size_t one, std::size_t other) { return time_s(one) < time_s(other); });
}

// The best of each kind whose memory fits and whose estimates are not hopeless, the least first. Estimates see no
// contention.
void select(StageEvaluator& evaluator, const StageQuestion& question, const Ways& all, StageDecision& decision) {
    const double reach = question.messages > kLarge ? kStagesWorth : kStagesHopeful;
    const auto estimate = [&](std::size_t way) { return all[way].time_s; };
    Array<std::size_t> order(all.size()), &found = decision.ways;
    std::iota(order.begin(), order.end(), std::size_t{0});
    sort_by(order, estimate);
    for (const bool mixes : {false, true}) {
        std::int64_t left = (mixes ? kMixesTried : kWaysTried) * question.effort;
        for (const std::size_t way : order) {
            if (left == 0 || all[way].time_s > reach * decision.estimated_s) break;
            if (all[way].mixes != mixes) continue;
            if (const std::int64_t memory = all[way].memory; memory > question.memory) {
                decision.left_out = decision.left_out == 0 ? memory : std::min(decision.left_out, memory);
                continue;
            }
            if (std::any_of(found.begin(), found.end(), [&](std::size_t f) { return evaluator.same(f, way); }))
                continue;
            found.push_back(way);
            --left;
        }
    }
    sort_by(found, estimate);
}

// Searches the ways; those that take least with everything posted at once first, so that the best so far ends the
// search for most. Of many bundles in the order of estimates, and only what is near the best so far: by formula a
// method gains little over posting everything, and takes long. The time of the best [s].
double search(StageEvaluator& evaluator, const Ways& all, double beat_s, StageDecision& decision) {
    Array<std::size_t> order = decision.ways;
    const bool large = std::any_of(order.begin(), order.end(), [&](std::size_t w) { return all[w].bundles > kLarge; });
    if (!large) {
        Array<double> posted_s(all.size());
        for (const std::size_t way : order) posted_s[way] = evaluator.posted_s(way);
        sort_by(order, [&](std::size_t way) { return posted_s[way]; });
    }
    for (const std::size_t way : order) {
        if (stop_asked()) break;
        const bool far = large && beat_s < kNever && evaluator.posted_s(way) > kStagesNear * beat_s;
        const double seconds = far ? kNever : evaluator.along(way, beat_s).value_or(kNever);
        decision.tried.emplace_back(way, seconds);
        if (seconds == kNever || seconds > beat_s || (seconds == beat_s && decision.way)) continue;
        evaluator.keep();
        decision.way = way;
        beat_s = seconds;
    }
    return decision.way ? beat_s : kNever;
}

}  // namespace

StageDecision choose_stages(StageEvaluator& evaluator, const StageQuestion& question) {
    StageDecision decision;
    std::optional<double>& direct_s = decision.direct_s;
    const bool many = question.messages > kLarge;
    // with more effort there is time for both, and soon something to give
    bool known = question.direct_first || (question.effort > 1 && !many);
    if (known) direct_s = evaluator.direct(kNever);
    if (known && !direct_s) return decision;

    Ways all;
    std::tie(all, decision.estimated_s) = evaluator.ways();
    select(evaluator, question, all, decision);
    const Array<std::size_t>& ways = decision.ways;
    const auto is_clear = [&] { return all[ways[0]].time_s < kStagesClear * decision.estimated_s; };
    if (!known && (ways.empty() || !(many || is_clear()))) {
        known = true;
        direct_s = evaluator.direct(kNever);
        if (!direct_s) return decision;
    }
    const double staged_s = search(evaluator, all, known ? kStagesWorth * *direct_s : kNever, decision);
    decision.stopped = decision.way && stop_asked();
    if (!known && (many || decision.stopped)) {
        direct_s = evaluator.least_s();
        known = decision.is_bound = decision.stopped || staged_s <= kStagesWorth * *direct_s;
    }
    if (!known) direct_s = evaluator.direct(staged_s);
    if (!decision.stopped && !(direct_s && staged_s <= kStagesWorth * *direct_s)) decision.way.reset();
    return decision;
}

}  // namespace conset
