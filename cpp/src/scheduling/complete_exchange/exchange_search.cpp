#include "conset/scheduling/complete_exchange/exchange_search.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "conset/scheduling/complete_exchange/exchange_orbits.hpp"
#include "conset/scheduling/occupancy.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

Occupancy empty_occupancy(const Array<std::int32_t>& capacity) {
    Occupancy occupancy;
    for (const std::int32_t most : capacity) occupancy.add_row(most);
    return occupancy;
}

// Calls visit(resource) for the ports and links of a message: sends, then receives, then links.
template <class Visit>
void each_resource(const Network& network, std::int32_t message, Visit&& visit) {
    const std::int32_t nodes = network.nodes(), s = message / (nodes - 1), rest = message % (nodes - 1),
                       t = rest + (rest >= s);
    visit(s);
    visit(nodes + t);
    network.walk(s, t, [&](std::int32_t link, std::int32_t) { visit(2 * nodes + link); });
}

}  // namespace

ExchangeSearch::ExchangeSearch(const Network& network, std::int32_t contention) {
    const std::int32_t messages = network.nodes() * (network.nodes() - 1);
    const auto resources = static_cast<std::size_t>(2 * network.nodes() + network.link_slots());
    Array<std::int32_t> row_of(resources, -1);
    row_offsets_.reserve(as_size(messages) + 1);
    row_offsets_.push_back(0);
    for (std::int32_t message = 0; message < messages; ++message) {
        each_resource(network, message, [&](std::int32_t resource) {
            if (row_of[resource] < 0) {
                row_of[resource] = static_cast<std::int32_t>(capacity_.size());
                capacity_.push_back(resource < 2 * network.nodes() ? 1 : contention);
            }
            rows_.push_back(row_of[resource]);
        });
        row_offsets_.push_back(static_cast<std::int64_t>(rows_.size()));
    }
}

// The earliest phase a message fits in, which it takes.
template <class Occupied>
std::int32_t ExchangeSearch::place(Occupied& occupied, std::int32_t message) const {
    const std::int32_t phase = occupied.find(rows(message), 0);
    for (const std::int32_t row : rows(message)) occupied.take(row, phase);
    return phase;
}

Array<std::int32_t> ExchangeSearch::fill(View<const std::int32_t> start) const {
    Array<std::int32_t> phase(messages(), -1), order;
    Occupancy occupied = empty_occupancy(capacity_);
    for (std::int32_t m = 0; as_size(m) < messages(); ++m) {
        const auto taken = rows(m);
        const bool kept = start[m] >= 0 && std::none_of(taken.begin(), taken.end(),
                                                        [&](std::int32_t row) { return occupied.full(row, start[m]); });
        if (!kept) {
            order.push_back(m);
            continue;
        }
        for (const std::int32_t row : taken) occupied.take(row, start[m]);
        phase[m] = start[m];
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return rows(a).size() > rows(b).size(); });
    for (const std::int32_t m : order) phase[m] = place(occupied, m);
    return phase;
}

Array<std::int32_t> ExchangeSearch::peel(std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    Array<std::int32_t> phase_of(messages(), -1), left(messages());
    Array<std::int32_t> remaining(capacity_.size(), 0), used(capacity_.size(), 0);
    std::iota(left.begin(), left.end(), 0);
    std::shuffle(left.begin(), left.end(), random);
    for (const std::int32_t row : rows_) ++remaining[row];
    Array<std::pair<std::int64_t, std::int32_t>> order;
    for (std::int32_t phase = 0; !left.empty(); ++phase) {
        order.clear();
        for (const std::int32_t m : left) {
            std::int32_t most = 0;
            const auto taken = rows(m);
            for (const std::int32_t row : taken)
                most = std::max(most, (remaining[row] + capacity_[row] - 1) / capacity_[row]);
            order.emplace_back(-(std::int64_t{most} * 4096 + static_cast<std::int64_t>(taken.size())), m);
        }
        std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        std::fill(used.begin(), used.end(), 0);
        for (const auto& [key, m] : order) {
            const auto taken = rows(m);
            if (std::any_of(taken.begin(), taken.end(), [&](std::int32_t row) { return used[row] == capacity_[row]; }))
                continue;
            for (const std::int32_t row : taken) {
                ++used[row];
                --remaining[row];
            }
            phase_of[m] = phase;
        }
        std::erase_if(left, [&](std::int32_t m) { return phase_of[m] >= 0; });
    }
    return phase_of;
}

Array<std::int32_t> ExchangeSearch::reorder(Array<std::int32_t> phase, std::int32_t target, std::int64_t rounds,
                                            std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    Array<std::int32_t> order(phase.size()), key, size, next;
    for (std::int64_t round = 0; round < rounds; ++round) {
        const std::int32_t phases = 1 + *std::max_element(phase.begin(), phase.end());
        if (phases <= target || stop_asked()) break;
        key.resize(static_cast<std::size_t>(phases));
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
        Occupancy occupied = empty_occupancy(capacity_);
        for (const std::int32_t m : order) phase[m] = place(occupied, m);
    }
    return phase;
}

namespace {

constexpr std::int32_t kMaxMessages = 400'000;         // more are never searched
constexpr std::int64_t kOrbitWork = 200'000;           // prices for each message of one negotiation, per unit of effort
constexpr std::int64_t kMaxOrbitWork = 1'200'000'000;  // at most in one negotiation, per unit of effort
constexpr std::int64_t kWorth = 200;               // a gap below 1 / kWorth of the bound is not worth an effort of 1
constexpr std::int64_t kMaxRounds = 400;           // of iterated greedy from one start, in one sweep
constexpr std::int64_t kRoundBudget = 25'000'000;  // resources read by the greedy of one start, in one sweep
constexpr std::int64_t kPeelBudget = 250'000'000;  // resources read by peeling; above, there is none
constexpr std::int32_t kMaxSingles = 4096;         // messages negotiated one by one where orbits miss the bound

using Steps = Array<std::int32_t>;

// Resources of a typical message: two ports and a third (cycle: a quarter) of each side.
std::int64_t typical_width(const ExchangeBox& box) {
    std::int64_t width = 2;
    for (std::int32_t axis = 0; as_size(axis) < box.sides.size(); ++axis)
        width += box.sides[axis] / (box.cycle(axis) ? 4 : 3);
    return width;
}

// A quarter of the rounds from each start, from peeling and from first fit; then all of them from the two best.
Steps reorder_all(const ExchangeBox& box, const Array<Steps>& starts, std::uint64_t seed) {
    const ExchangeSearch search(box.network, box.contention);
    const std::int64_t width = typical_width(box), messages = box.messages();
    const std::int64_t rounds = std::clamp<std::int64_t>(kRoundBudget / (messages * width), 1, kMaxRounds);
    Array<Steps> found;
    const auto reaches_bound = [&](Steps start) {
        found.push_back(search.reorder(std::move(start), box.bound, ceil_divide(rounds, 4), seed));
        return steps_in(found.back()) <= box.bound;
    };
    for (const Steps& start : starts)
        if (reaches_bound(start)) return found.back();
    if (box.bound * messages * width <= kPeelBudget && reaches_bound(search.peel(seed))) return found.back();
    if (reaches_bound(search.fill(Steps(as_size(messages), -1)))) return found.back();
    std::stable_sort(found.begin(), found.end(),
                     [](const Steps& one, const Steps& other) { return steps_in(one) < steps_in(other); });
    found.resize(std::min<std::size_t>(found.size(), 2));
    for (Steps& each : found) each = search.reorder(std::move(each), box.bound, rounds, seed + 1);
    return *std::min_element(found.begin(), found.end(),
                             [](const Steps& one, const Steps& other) { return steps_in(one) < steps_in(other); });
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
