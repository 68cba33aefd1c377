#include "conset/combining/mixes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "conset/stop.hpp"

namespace conset {

namespace {

constexpr double kMostMoves = 1 << 23;    // messages * stages tried in all, per unit of effort
constexpr double kMergeMoves = 1.0 / 16;  // what merging counts for each rank by way of which a message may go
constexpr std::array kStages{2, 3, 4};
// A message takes its path if one of its ends has more messages than this; below the first all do.
constexpr std::array<std::int64_t, 16> kDegrees{4,   8,   16,  24,  32,  48,   64,   96,
                                                128, 192, 256, 384, 512, 1024, 2048, 4096};
constexpr std::array kQuantiles{0.97, 0.9, 0.75, 0.5};  // shares of the messages that are small enough
constexpr std::array kTurns{1.0, 1.3};                  // limits on the work of a rank between two waits, in its mean
constexpr std::int64_t kOrders = 6;                     // other orders of equally busy ranks, per unit of effort
constexpr double kHopefulBase = 2;    // thresholds are tried on paths of at most so many times the least time found
constexpr double kHopelessStart = 4;  // merging starts from nothing that takes so many times that
constexpr std::int32_t kPasses = 4;
constexpr std::int64_t kAnySize = std::int64_t{1} << 62;
constexpr double kLooseBox = 1.5;  // a box with empty cells is taken where one without has so many times its sides

// The same paths without stages in which nothing moves; one stage is kept.
Positions trimmed(Positions positions) {
    Positions kept{positions.front()};
    for (std::size_t j = 1; j < positions.size(); ++j)
        if (positions[j] != kept.back()) kept.push_back(std::move(positions[j]));
    if (kept.size() == 1) kept.push_back(kept.front());
    return kept;
}

std::int64_t side_sum(const BoxSides& sides) { return std::accumulate(sides.begin(), sides.end(), std::int64_t{0}); }

// Limits that part the values, no two of them alike.
template <class Limits>
Array<std::int64_t> distinct(const Limits& limits, Array<std::int64_t> values) {
    std::sort(values.begin(), values.end());
    Array<std::int64_t> found;
    std::set<std::ptrdiff_t> known{0, static_cast<std::ptrdiff_t>(values.size())};
    for (const std::int64_t limit : limits)
        if (known.insert(std::upper_bound(values.begin(), values.end(), limit) - values.begin()).second)
            found.push_back(limit);
    return found;
}

class MixSearch {
public:
    MixSearch(const MixProblem& problem, const std::function<StageEstimate(const StageBundles&)>& estimate)
        : problem_(problem),
          estimate_(estimate),
          size_(problem.source.size()),
          left_(kMostMoves * static_cast<double>(std::max<std::int64_t>(problem.effort, 1))),
          sent_(as_size(problem.ranks), 0),
          received_(as_size(problem.ranks), 0) {
        for (const std::int32_t rank : problem.source) ++sent_[rank];
        for (const std::int32_t rank : problem.target) ++received_[rank];
    }

    // Those first that promise most.
    std::vector<Mix> run() && {
        const Positions ends{{problem_.source.begin(), problem_.source.end()},
                             {problem_.target.begin(), problem_.target.end()}};
        Mix direct = judged("direct", ends);
        least_s_ = direct.estimate.time_s;
        for (const int stages : kStages) add_bases(stages);
        for (const int stages : by_time()) add_thresholds(stages);
        // of 195 compiles of complete exchanges none chose what merging found
        if (problem_.effort == 1 && is_complete()) return std::move(found_);
        for (const int stages : by_time()) start(best_.at(stages));
        for (const int stages : kStages) {
            if (problem_.effort == 1 && stages == kStages.back()) break;
            direct.positions.resize(as_size(stages) + 1, ends.back());
            start(direct);
        }
        std::stable_sort(starts_.begin(), starts_.end(),
                         [](const Start& one, const Start& other) { return one.merged.time_s < other.merged.time_s; });
        if (std::cmp_greater(starts_.size(), 1 + problem_.effort)) starts_.resize(as_size(1 + problem_.effort));
        for (const Start& each : starts_) add_variants(each);
        return std::move(found_);
    }

private:
    struct Start {
        std::string name;
        Positions positions;
        StageEstimate merged;
    };

    Mix judged(std::string name, Positions positions) const {
        const StageBundles stages = bundles_along(positions, problem_.ranks, problem_.bytes);
        const auto largest = std::max_element(stages.bytes.begin(), stages.bytes.end());
        return {std::move(name), std::move(positions), estimate_(stages), stages.memory,
                largest == stages.bytes.end() ? 0 : *largest};
    }

    const Mix& add(Mix mix) {
        least_s_ = std::min(least_s_, mix.estimate.time_s);
        return found_.emplace_back(std::move(mix));
    }

    // A base or a threshold mix.
    double add_paths(int stages, std::string name, Positions positions) {
        const Mix& mix = add(judged(std::move(name), std::move(positions)));
        const auto held = best_.find(stages);
        if (held == best_.end() || mix.estimate.time_s < held->second.estimate.time_s)
            best_.insert_or_assign(stages, mix);
        return mix.estimate.time_s;
    }

    Array<int> by_time() const {
        Array<int> stages;
        for (const auto& [count, mix] : best_) stages.push_back(count);
        std::stable_sort(stages.begin(), stages.end(), [&](int one, int other) {
            return best_.at(one).estimate.time_s < best_.at(other).estimate.time_s;
        });
        return stages;
    }

    // Whether so much more may be tried, which is then spent.
    bool affords(std::size_t stages, double times = 1) {
        const double moves = static_cast<double>(size_ * stages) * times;
        if (moves > left_ || stop_asked()) return false;
        left_ -= moves;
        return true;
    }

    // The same of merging. A bundle may go by way of any rank in the shorter list of partners of its ends.
    bool affords_merging(std::size_t stages) {
        double ways = 0;
        for (std::size_t m = 0; m < size_; ++m)
            ways += static_cast<double>(std::min(sent_[problem_.source[m]], received_[problem_.target[m]]));
        return affords(stages, 1 + kMergeMoves * (ways / static_cast<double>(size_)));
    }

    void add_base(StageWay::Kind kind, const BoxSides& sides, Array<std::int32_t> order) {
        if (!affords(sides.size())) return;
        const StageWay way{kind, {}, sides, std::move(order)};
        const std::string name = kind == StageWay::Kind::nodes     ? "node-aware"
                                 : kind == StageWay::Kind::traffic ? "virtual-grid:" + written(sides)
                                                                   : written(sides);
        add_paths(
            static_cast<int>(sides.size()), name,
            positions_along(way, problem_.ranks, problem_.source, problem_.target, problem_.bytes, problem_.node));
    }

    // Paths of all messages: over nodes, along the network, over numbers of ranks, over traffic.
    void add_bases(int stages) {
        const BoxNetwork& network = problem_.network;
        if ((std::int64_t{1} << stages) > problem_.ranks) return;
        if (network.crowd > 1 && stages == 3) add_base(StageWay::Kind::nodes, {1, 1, 1}, {});
        const auto of_stages = [&](const BoxSides& sides) { return std::cmp_equal(sides.size(), stages); };
        const std::vector<BoxSides> fitting = factorisations(network.places, network.sides);
        const auto fits = std::find_if(fitting.begin(), fitting.end(), of_stages);
        if (fits != fitting.end())
            if (Array<std::int32_t> order = order_along(*fits, network); !order.empty())
                add_base(StageWay::Kind::along, *fits, std::move(order));
        const std::vector<BoxSides> full = factorisations(problem_.ranks);
        const auto exact = std::find_if(full.begin(), full.end(), of_stages);
        const BoxSides balanced = balanced_sides(problem_.ranks, stages);
        const bool tight = exact != full.end() &&
                           static_cast<double>(side_sum(*exact)) <= kLooseBox * static_cast<double>(side_sum(balanced));
        const BoxSides sides = tight ? *exact : balanced;
        Array<std::int32_t> order(sides.size());
        std::iota(order.begin(), order.end(), 0);
        add_base(StageWay::Kind::numbers, sides, order);
        add_base(StageWay::Kind::traffic, sides, order);
    }

    // Messages of busy ranks that are small enough along the paths, all others directly in the first stage.
    double add_threshold(int stages, const Mix& base, std::int64_t above, std::int64_t up_to) {
        Positions positions = base.positions;
        for (std::size_t m = 0; m < size_; ++m)
            if (partners(m) <= above || problem_.bytes[m] > up_to)
                for (std::size_t j = 1; j < positions.size(); ++j) positions[j][m] = problem_.target[m];
        std::string name = base.name + " above " + std::to_string(above);
        if (up_to < kAnySize) name += " up to " + std::to_string(up_to) + " B";
        return add_paths(stages, std::move(name), std::move(positions));
    }

    // Degrees from the best base, then sizes at the best degree.
    void add_thresholds(int stages) {
        if (best_.at(stages).estimate.time_s > kHopefulBase * least_s_) return;
        const Mix base = best_.at(stages);
        const std::size_t columns = as_size(stages);
        Array<std::int64_t> many(size_), sizes(problem_.bytes.begin(), problem_.bytes.end()), limits;
        for (std::size_t m = 0; m < size_; ++m) many[m] = partners(m);
        std::int64_t best_above = 0;
        double least_s = base.estimate.time_s;
        for (const std::int64_t above : distinct(kDegrees, many))
            if (affords(columns))
                if (const double time_s = add_threshold(stages, base, above, kAnySize); time_s < least_s) {
                    best_above = above;
                    least_s = time_s;
                }
        std::sort(sizes.begin(), sizes.end());
        for (const double share : kQuantiles)
            limits.push_back(sizes[static_cast<std::size_t>(std::floor(static_cast<double>(size_ - 1) * share))]);
        for (const std::int64_t up_to : distinct(limits, sizes))
            if (affords(columns)) add_threshold(stages, base, best_above, up_to);
    }

    Mix merged(const std::string& name, const Positions& from, double turn_s, std::uint64_t seed) const {
        const std::size_t columns = from.size();
        Array<std::int32_t> rows(size_ * columns);
        for (std::size_t j = 0; j < columns; ++j)
            for (std::size_t m = 0; m < size_; ++m) rows[m * columns + j] = from[j][m];
        rows = merge_bundles(rows, static_cast<std::int32_t>(columns - 1), problem_.bytes, problem_.ranks,
                             problem_.costs, {turn_s, kAnySize, kPasses, seed})
                   .positions;
        Positions positions = from;
        for (std::size_t j = 0; j < columns; ++j)
            for (std::size_t m = 0; m < size_; ++m) positions[j][m] = rows[m * columns + j];
        return judged(name.ends_with("merged") ? name : name + " merged", trimmed(std::move(positions)));
    }

    // Merging from here, without raising any turn.
    void start(const Mix& from) {
        if (from.estimate.time_s > kHopelessStart * least_s_ || !affords_merging(from.positions.size() - 1)) return;
        const Mix& mix = add(merged(from.name, from.positions, 0, problem_.seed));
        starts_.push_back({from.name, from.positions, mix.estimate});
    }

    // Merging with other limits on turns, and in other orders of ranks.
    void add_variants(const Start& from) {
        const std::size_t stages = from.positions.size() - 1;
        const double mean_s = from.merged.work_s / problem_.ranks / static_cast<double>(stages);
        for (const double share : kTurns)
            if (affords_merging(stages))
                found_.push_back(merged(from.name, from.positions, share * mean_s, problem_.seed));
        for (std::int64_t k = 1; k <= kOrders * problem_.effort; ++k)
            if (affords_merging(stages))
                found_.push_back(merged(from.name, from.positions, 0, problem_.seed + static_cast<std::uint64_t>(k)));
    }

    // How many messages its source sends or its target receives, the larger.
    std::int64_t partners(std::size_t m) const {
        return std::max(sent_[problem_.source[m]], received_[problem_.target[m]]);
    }

    // Whether every rank sends one message of one size to every other one, in rank order.
    bool is_complete() const {
        const View<const std::int64_t> bytes = problem_.bytes;
        if (std::cmp_not_equal(size_, std::int64_t{problem_.ranks} * (problem_.ranks - 1))) return false;
        if (std::adjacent_find(bytes.begin(), bytes.end(), std::not_equal_to<>()) != bytes.end()) return false;
        if (std::any_of(sent_.begin(), sent_.end(), [&](std::int64_t n) { return n != problem_.ranks - 1; }))
            return false;
        for (std::size_t m = 1; m < size_; ++m)
            if (problem_.source[m] == problem_.source[m - 1] && problem_.target[m] <= problem_.target[m - 1])
                return false;
        return true;
    }

    const MixProblem& problem_;
    const std::function<StageEstimate(const StageBundles&)>& estimate_;
    std::size_t size_;
    double left_;         // moves that may still be tried
    double least_s_ = 0;  // the least time found, that of direct messages at first
    Array<std::int64_t> sent_, received_;
    std::vector<Mix> found_;
    std::map<int, Mix> best_;    // by number of stages: the threshold mix of least time, or its base
    std::vector<Start> starts_;  // where merging was tried, each with what it came to without a limit
};

}  // namespace

std::vector<Mix> mixed_ways(const MixProblem& problem,
                            const std::function<StageEstimate(const StageBundles&)>& estimate) {
    const BundleCosts& costs = problem.costs;
    const auto is_free = [](const SizeSteps& steps) {
        return std::all_of(steps.seconds.begin(), steps.seconds.end(), [](double time) { return time == 0; });
    };
    const bool no_work = is_free(costs.send) && is_free(costs.receive) && costs.setup_s == 0;
    if (problem.source.empty() || no_work) return {};
    return MixSearch(problem, estimate).run();
}

}  // namespace conset
