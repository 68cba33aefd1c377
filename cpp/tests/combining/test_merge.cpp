// Merge: known least bundles, what may not grow, what stays, and a search that can be stopped.
#include "conset/combining/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "conset/random.hpp"
#include "conset/stop.hpp"

namespace conset {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::int64_t kAnySize = std::numeric_limits<std::int64_t>::max();

struct Costs {
    explicit Costs(double overhead) : seconds{overhead} {}
    BundleCosts operator()(double setup = 0, double copy = 0, double out = 0) const {
        return {{up_to, seconds}, {up_to, seconds}, setup, copy, out, 0};
    }
    Array<double> up_to{kInfinite}, seconds;
};

struct Parts {
    std::int32_t ranks, stages;
    Array<std::int32_t> positions;
    Array<std::int64_t> size;

    void add(std::int32_t source, std::int32_t target, std::int64_t bytes = 8, std::int32_t stage = 0) {
        for (std::int32_t j = 0; j <= stages; ++j) positions.push_back(j <= stage ? source : target);
        size.push_back(bytes);
    }
    MergedPaths merged(const BundleCosts& costs, const MergeLimits& limits = {kInfinite, kAnySize, 8, 0}) const {
        return merge_bundles(positions, stages, size, ranks, costs, limits);
    }
    std::int32_t at(const Array<std::int32_t>& rows, std::size_t part, std::int32_t stage) const {
        return rows[cell(part, stages + 1, stage)];
    }

    // What the stages send, counted anew: bytes and parts by (stage, source, target).
    auto bundles(const Array<std::int32_t>& rows) const {
        std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::pair<std::int64_t, int>> found;
        for (std::size_t part = 0; part < size.size(); ++part)
            for (std::int32_t j = 0; j < stages; ++j) {
                if (at(rows, part, j) == at(rows, part, j + 1)) continue;
                auto& [bytes, parts] = found[{j, at(rows, part, j), at(rows, part, j + 1)}];
                bytes += size[part];
                ++parts;
            }
        return found;
    }

    double work(const Array<std::int32_t>& rows, const BundleCosts& costs) const {
        double sum = 0;
        std::map<std::pair<std::int32_t, std::int32_t>, bool> active;
        for (const auto& [key, held] : bundles(rows)) {
            const auto bytes = static_cast<double>(held.first);
            sum += costs.send.at(held.first) + costs.receive.at(held.first) +
                   bytes * (costs.out_s_per_B + costs.in_s_per_B + (held.second > 1 ? 2 * costs.copy_s_per_B : 0));
            active[{std::get<0>(key), std::get<1>(key)}] = active[{std::get<0>(key), std::get<2>(key)}] = true;
        }
        return sum + costs.setup_s * static_cast<double>(active.size());
    }

    // The largest sum of sends of a stage, set-up, and receives of the stage before that are forwarded; of a rank the
    // receives of what ends at it are a turn, too.
    double busiest_turn(const Array<std::int32_t>& rows, const BundleCosts& costs) const {
        std::map<std::pair<std::int32_t, std::int32_t>, double> turns;
        std::map<std::pair<std::int32_t, std::int32_t>, bool> active;
        for (const auto& [key, held] : bundles(rows)) {
            const auto [j, p, q] = key;
            const auto bytes = static_cast<double>(held.first);
            const double copies = held.second > 1 ? bytes * costs.copy_s_per_B : 0;
            bool ends = true;
            for (std::size_t part = 0; part < size.size(); ++part)
                if (at(rows, part, j) == p && at(rows, part, j + 1) == q && at(rows, part, stages) != q) ends = false;
            turns[{p, j}] += costs.send.at(held.first) + bytes * costs.out_s_per_B + copies;
            turns[{q, ends ? stages : j + 1}] += costs.receive.at(held.first) + bytes * costs.in_s_per_B + copies;
            active[{p, j}] = active[{q, j}] = true;
        }
        for (const auto& [key, is_active] : active) turns[key] += is_active ? costs.setup_s : 0;
        double most = 0;
        for (const auto& [key, seconds] : turns) most = std::max(most, seconds);
        return most;
    }

    void expect_delivered(const Array<std::int32_t>& rows) const {
        ASSERT_EQ(rows.size(), positions.size());
        for (std::size_t part = 0; part < size.size(); ++part) {
            EXPECT_EQ(at(rows, part, 0), at(positions, part, 0));
            EXPECT_EQ(at(rows, part, stages), at(positions, part, stages));
        }
    }
};

Parts complete(std::int32_t ranks, std::int32_t stages) {
    Parts parts{ranks, stages, {}, {}};
    for (std::int32_t s = 0; s < ranks; ++s)
        for (std::int32_t t = 0; t < ranks; ++t)
            if (s != t) parts.add(s, t);
    return parts;
}

Parts drawn(std::uint64_t seed, std::int32_t stages) {
    Random random(seed);
    Parts parts{12, stages, {}, {}};
    for (std::int32_t s = 0; s < parts.ranks; ++s)
        for (std::int32_t t = 0; t < parts.ranks; ++t)
            if (s != t && random.below(3U) == 0)
                parts.add(s, t, 1 + random.below(1000U), static_cast<std::int32_t>(random.below(stages)));
    return parts;
}

TEST(Merge, RelaysOverARankThatBothTalkTo) {
    Parts parts{3, 2, {}, {}};
    parts.add(0, 1);
    parts.add(0, 2);
    parts.add(1, 2);
    const Costs costs(1e-6);
    const MergedPaths merged = parts.merged(costs());
    parts.expect_delivered(merged.positions);
    EXPECT_EQ(parts.bundles(merged.positions).size(), 2U);  // 1 -> 2 is put off to the second stage
    EXPECT_FALSE(merged.stopped);
}

TEST(Merge, RetimesToAStageWithTheSamePair) {
    Parts parts{2, 2, {}, {}};
    parts.add(0, 1, 8, 0);
    parts.add(0, 1, 8, 1);
    const Costs costs(1e-6);
    EXPECT_EQ(parts.bundles(parts.merged(costs()).positions).size(), 1U);
    // copies dearer than two overheads
    EXPECT_EQ(parts.merged(costs(0, 1e-6)).positions, parts.positions);
}

TEST(Merge, LeavesWhatIsLargerThanTheLimit) {
    Parts parts{3, 2, {}, {}};
    parts.add(0, 1);
    parts.add(0, 2, 1000);
    parts.add(1, 2);
    const Costs costs(1e-6);
    EXPECT_EQ(parts.merged(costs(), {kInfinite, 999, 8, 0}).positions, parts.positions);
}

TEST(Merge, ChangesNothingWhereBundlesCostNothing) {
    const Parts parts = complete(8, 2);
    EXPECT_EQ(parts.merged(Costs(0)()).positions, parts.positions);
}

TEST(Merge, LowersTheWorkOfDrawnParts) {
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        for (const std::int32_t stages : {1, 2, 3, 4}) {
            const Parts parts = drawn(seed, stages);
            for (const double setup : {0.0, 2e-6}) {
                const Costs own(1e-6);
                const BundleCosts costs = own(setup, 2e-10, 1e-10);
                const MergedPaths merged = parts.merged(costs);
                parts.expect_delivered(merged.positions);
                EXPECT_LE(parts.work(merged.positions, costs), parts.work(parts.positions, costs) * (1 + 1e-12));
                EXPECT_EQ(merged.positions, parts.merged(costs).positions);
            }
        }
}

TEST(Merge, RaisesTheBusiestTurnOnlyToTheLimit) {
    const Costs own(1e-6);
    const BundleCosts costs = own(2e-6, 2e-10, 1e-10);
    std::size_t held = 0, loose = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        for (const std::int32_t stages : {2, 3}) {
            const Parts parts = drawn(seed, stages);
            const double before = parts.busiest_turn(parts.positions, costs);
            const auto kept = parts.merged(costs, {0, kAnySize, 8, 0}).positions;
            EXPECT_LE(parts.busiest_turn(kept, costs), before * (1 + 1e-12));
            const auto raised = parts.merged(costs, {1.2 * before, kAnySize, 8, 0}).positions;
            EXPECT_LE(parts.busiest_turn(raised, costs), 1.2 * before * (1 + 1e-12));
            held += parts.bundles(kept).size();
            loose += parts.bundles(raised).size();
        }
    EXPECT_LT(loose, held);
}

TEST(Merge, OrdersEquallyBusyRanksBySeed) {
    const Parts parts = complete(16, 2);
    const Costs costs(1e-6);
    const MergedPaths one = parts.merged(costs(), {0, kAnySize, 4, 1});
    EXPECT_EQ(one.positions, parts.merged(costs(), {0, kAnySize, 4, 1}).positions);
    EXPECT_NE(one.positions, parts.merged(costs(), {0, kAnySize, 4, 2}).positions);
}

TEST(Merge, StopsWithTheBestSoFar) {
    const Parts parts = complete(8, 2);
    const Costs costs(1e-6);
    ask_stop();
    const MergedPaths merged = parts.merged(costs());
    reset_search();
    EXPECT_TRUE(merged.stopped);
    EXPECT_EQ(merged.positions, parts.positions);
}

}  // namespace
}  // namespace conset
