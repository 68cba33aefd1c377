#include "conset/scheduling/complete_exchange/exchange_search.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "conset/scheduling/complete_exchange/exchange_orbits.hpp"
#include "conset/scheduling/first_fit.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

Array<std::int32_t> ends_of(const ExchangeBox& box, std::int32_t (ExchangeBox::*end)(std::int32_t) const) {
    Array<std::int32_t> ends;
    for (std::int32_t message = 0; message < box.messages(); ++message) ends.push_back((box.*end)(message));
    return ends;
}

}  // namespace

ExchangeResources::ExchangeResources(const ExchangeBox& box)
    : source(ends_of(box, &ExchangeBox::source)),
      target(ends_of(box, &ExchangeBox::target)),
      resources({box.network, source, target, {}, {}}, width, {1, 1, box.contention}) {}

namespace {

constexpr std::int32_t kMaxMessages = 400'000;         // more are never searched
constexpr std::int64_t kOrbitWork = 200'000;           // prices for each message of one negotiation, per unit of effort
constexpr std::int64_t kMaxOrbitWork = 1'200'000'000;  // at most in one negotiation, per unit of effort
constexpr std::int64_t kWorth = 200;               // a gap below 1 / kWorth of the bound is not worth an effort of 1
constexpr std::int64_t kMaxRounds = 400;           // of iterated greedy from one start, in one sweep
constexpr std::int64_t kRoundBudget = 25'000'000;  // resources read by the greedy of one start, in one sweep
constexpr std::int32_t kMaxSingles = 4096;         // messages negotiated one by one where orbits miss the bound

using Steps = Array<std::int32_t>;

// Resources of a typical message: two ports and a third (cycle: a quarter) of each side.
std::int64_t typical_width(const ExchangeBox& box) {
    std::int64_t width = 2;
    for (std::int32_t axis = 0; as_size(axis) < box.sides.size(); ++axis)
        width += box.sides[axis] / (box.cycle(axis) ? 4 : 3);
    return width;
}

// Iterated greedy: first fit again and again, phases of the last result as a whole in another order (last first,
// largest first, shuffled), at most `rounds` times. No round takes more phases, because a phase fits where it stood.
Steps reorder(const ExchangeBox& box, Steps phase, std::int64_t rounds, std::uint64_t seed) {
    const ExchangeResources all(box);
    std::mt19937_64 random(seed);
    Steps order(phase.size()), key, size, next;
    for (std::int64_t round = 0; round < rounds && steps_in(phase) > box.bound && !stop_asked(); ++round) {
        key.resize(as_size(steps_in(phase)));
        std::iota(key.begin(), key.end(), 0);
        size.assign(key.size(), 0);
        for (const std::int32_t p : phase) ++size[p];
        if (round > 0 && random() % 8 == 0)
            std::shuffle(key.begin(), key.end(), random);
        else
            std::reverse(key.begin(), key.end());
        if (random() % 4 == 0)
            std::stable_sort(key.begin(), key.end(), [&](std::int32_t a, std::int32_t b) { return size[a] > size[b]; });
        next.assign(key.size(), 0);
        std::int32_t sum = 0;
        for (const std::int32_t p : key) next[p] = std::exchange(sum, sum + size[p]);
        for (std::size_t m = 0; m < order.size(); ++m) order[next[phase[m]]++] = static_cast<std::int32_t>(m);
        try {
            phase = first_fit(all.resources, order, {}, {});
        } catch (const Interrupted&) {  // a round that was cut short gives nothing, but those before it did
            break;
        }
    }
    return phase;
}

// A quarter of the rounds from each start and from first fit; then all of them from the two best.
Steps reorder_all(const ExchangeBox& box, const Array<Steps>& starts, std::uint64_t seed) {
    const std::int64_t rounds =
        std::clamp<std::int64_t>(kRoundBudget / (box.messages() * typical_width(box)), 1, kMaxRounds);
    const auto fewer = [](const Steps& one, const Steps& other) { return steps_in(one) < steps_in(other); };
    Array<Steps> found;
    const auto reaches_bound = [&](Steps start) {
        found.push_back(reorder(box, std::move(start), ceil_divide(rounds, 4), seed));
        return steps_in(found.back()) <= box.bound;
    };
    for (const Steps& start : starts)
        if (reaches_bound(start)) return found.back();
    const Steps nowhere(as_size(box.messages()), -1);
    if (reaches_bound(first_fit_around(ExchangeResources(box).resources, nowhere))) return found.back();
    std::stable_sort(found.begin(), found.end(), fewer);
    found.resize(std::min<std::size_t>(found.size(), 2));
    for (Steps& each : found) each = reorder(box, std::move(each), rounds, seed + 1);
    return *std::min_element(found.begin(), found.end(), fewer);
}

// The best of tries from the bound up to fewer phases than `most`, nothing where all fail: steps double, and the range
// is halved after the first success.
Steps fewest_phases(const ExchangeBox& box, const OrbitPacking& packing, std::int32_t most, std::int64_t work,
                    std::uint64_t seed) {
    Steps best;
    for (std::int32_t low = box.bound, phases = low, step = 1; low < most && !stop_asked();) {
        if (Steps found = packing.negotiate(phases, work, seed); !found.empty()) {
            best = std::move(found);
            most = phases;
            publish(most, 0);
        } else {
            low = phases + 1;
            step *= 2;
        }
        phases = best.empty() ? std::min(phases + step, most - 1) : (low + most) / 2;
    }
    return best;
}

// Fewer phases than `best` that are their own images under a symmetry, or `best`.
Steps negotiate_orbits(const ExchangeBox& box, Steps best, std::int32_t effort, std::uint64_t seed) {
    const std::int64_t work = std::min(kOrbitWork * box.messages(), kMaxOrbitWork) * effort;
    for (const Symmetry& group : symmetries(box, std::min(16, box.bound))) {
        if (box.messages() > (group.order() > 1 ? kMaxMessages / 4 : kMaxSingles)) break;
        Steps found = fewest_phases(box, OrbitPacking(box, group), steps_in(best), work, seed);
        if (!found.empty()) best = std::move(found);
        if (steps_in(best) <= box.bound || stop_asked()) break;
    }
    return best;
}

}  // namespace

std::int32_t steps_in(View<const std::int32_t> step) {
    return step.empty() ? 0 : *std::max_element(step.begin(), step.end()) + 1;
}

std::optional<Phases> search_phases(const ExchangeBox& box, const Array<const Phases*>& starts, std::int32_t effort,
                                    std::uint64_t seed) {
    const std::int32_t best = starts[0]->count();
    if (box.messages() > kMaxMessages || effort < 1 || (effort == 1 && kWorth * (best - box.bound) < box.bound))
        return std::nullopt;
    Array<Steps> steps;
    for (const Phases* start : starts) steps.push_back(phase_of_messages(*start));
    if (Steps found = negotiate_orbits(box, steps[0], effort, seed); steps_in(found) < steps_in(steps[0]))
        steps.insert(steps.begin(), std::move(found));
    for (std::int32_t sweep = 0; sweep < effort; ++sweep) {
        publish(steps_in(steps[0]), box.bound);
        if (steps_in(steps[0]) <= box.bound || should_stop(true)) break;
        Steps found = reorder_all(box, steps, seed + as_size(sweep));
        if (steps_in(found) < steps_in(steps[0])) steps.insert(steps.begin(), std::move(found));
    }
    if (steps_in(steps[0]) >= best) return std::nullopt;
    return group_phases(steps[0]);
}

}  // namespace conset
