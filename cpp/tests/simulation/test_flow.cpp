// Sharing against progressive filling solved anew, and a row of messages worked out with a pencil.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "conset/array.hpp"
#include "conset/random.hpp"
#include "conset/simulation/flow/flow.hpp"
#include "conset/simulation/flow/sharing.hpp"
#include "simulation/given.hpp"

namespace conset {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

struct Open {
    Array<std::int32_t> route;
    double weight;
};

// Rates of all open flows by the textbook: raise one level, freeze what the next full resource carries.
std::map<std::int32_t, double> fill(const std::map<std::int32_t, Open>& open, Array<double> left) {
    std::map<std::int32_t, double> rate;
    while (rate.size() < open.size()) {
        double least = kNone;
        std::int32_t full = -1;
        for (std::int32_t r = 0; r < static_cast<std::int32_t>(left.size()); ++r) {
            double weight = 0;
            for (const auto& [f, flow] : open)
                if (rate.count(f) == 0 && std::count(flow.route.begin(), flow.route.end(), r) > 0)
                    weight += flow.weight;
            if (weight > 0 && left[r] / weight < least) {
                least = left[r] / weight;
                full = r;
            }
        }
        for (const auto& [f, flow] : open) {
            if (rate.count(f) != 0 || std::count(flow.route.begin(), flow.route.end(), full) == 0) continue;
            rate[f] = flow.weight * least;
            for (const std::int32_t r : flow.route) left[r] -= rate[f];
        }
    }
    return rate;
}

// Flows come and go at random; after each event every rate is compared. `flows` at once decides which solver works.
void compare(std::int32_t resources, std::size_t flows, int events, bool groups, bool limits = false) {
    Random random(7);
    Array<double> capacity;
    for (std::int32_t r = 0; r < resources; ++r) capacity.push_back(static_cast<double>(8 + random.below(3) * 4));
    Array<double> all = capacity;
    std::map<std::int32_t, Open> open;
    std::map<std::int32_t, Array<std::int32_t>> routes;
    Sharing sharing(capacity, [&](std::int32_t member, Array<std::int32_t>& route) { route = routes.at(member); });
    sharing.record_changes();
    std::map<std::int32_t, double> rates;
    std::int32_t next = 0;
    double now = 0;
    for (int event = 0; event < events; ++event) {
        while (open.size() < flows) {
            const auto first = static_cast<std::int32_t>(random.below(resources));
            const auto hops = static_cast<std::int32_t>(1 + random.below(4));
            Open flow{{}, groups ? 1.0 : 1.0 / hops};
            for (std::int32_t h = 0; h < hops; ++h) flow.route.push_back((first + h) % resources);
            const std::uint64_t key = groups ? static_cast<std::uint64_t>(first * 8 + hops) : Sharing::kAlone;
            routes.emplace(next, flow.route);
            const double limit = limits && next % 3 == 0 ? 0.25 : kNone;
            sharing.add(key, flow.weight, limit, next, static_cast<double>(1 + random.below(500)), now);
            if (limit < kNone) {  // a resource of its own
                flow.route.push_back(static_cast<std::int32_t>(all.size()));
                all.push_back(limit);
            }
            open.emplace(next++, flow);
        }
        sharing.solve(now);
        sharing.each_change([&](std::int32_t m, double rate) { rates[m] = rate; });
        for (const auto& [f, rate] : fill(open, all)) ASSERT_NEAR(rates.at(f), rate, 1e-9 * rate) << "event " << event;
        now = sharing.next_end();
        sharing.end_until(now * (1 + 1e-12), now, [&](std::int32_t m, std::int32_t held_by) {
            EXPECT_GE(held_by, 0);
            open.erase(m);
        });
        if (event % 7 == 0) {  // let it run low, so that both solvers have their turn
            while (open.size() > flows / 4) {
                sharing.solve(now);
                now = sharing.next_end();
                sharing.end_until(now * (1 + 1e-12), now, [&](std::int32_t m, std::int32_t) { open.erase(m); });
            }
        }
    }
}

TEST(Sharing, FewFlowsPerResource) { compare(30, 20, 60, false); }
TEST(Sharing, ManyFlowsPerResource) { compare(9, 120, 40, false); }
TEST(Sharing, SomeFlowsHaveALimit) {
    compare(30, 20, 40, false, true);
    compare(9, 120, 20, false, true);
}
TEST(Sharing, ManyResourcesOfWhichFewFill) { compare(60, 400, 12, false); }
TEST(Sharing, FlowsOfOneRouteAreMembersOfOne) { compare(9, 120, 40, true); }

TEST(Sharing, OneMemberTakesAtMostItsLimit) {
    Sharing sharing({16}, [](std::int32_t, Array<std::int32_t>& route) { route.push_back(0); });
    for (std::int32_t m = 0; m < 3; ++m) {
        sharing.add(1, 1, 8, m, 80, 0);
        sharing.solve(0);
    }
    EXPECT_NEAR(sharing.next_end(), 15, 1e-9);  // 16 / 3 each, not 8
    Array<std::int32_t> ended;
    sharing.end_until(15.000001, 15, [&](std::int32_t m, std::int32_t) { ended.push_back(m); });
    EXPECT_EQ(ended, (Array<std::int32_t>{0, 1, 2}));
    sharing.add(1, 1, 8, 3, 80, 15);
    sharing.solve(15);
    EXPECT_NEAR(sharing.next_end(), 25, 1e-9);  // alone at 8
}

// A 0→3 160 B, B 1→2 320 B, C and D 2→3 160 and 80 B on a row; latency 4 a hop, 16 B per unit of time; equal shares.
class FlowRow : public testing::Test {
protected:
    FlowRow() : given(Network::box({4}, false, Tie::parity)) {
        given.link = {16};
        given.out = given.in = kNone;
        given.hop = {4};
    }
    test::Given<double> given;
};

TEST_F(FlowRow, SharesLinksEqually) {
    const Array<std::int32_t> source{0, 1, 2, 2, 0, 3}, target{3, 2, 3, 3, 1, 3};
    const Array<std::int64_t> bytes{160, 320, 160, 80, 0, 64};
    for (std::size_t m = 0; m < source.size(); ++m) given.add(source[m], target[m], bytes[m]);
    const Simulated result = test::flow(given, true);
    const Array<double> expected{33, 34, 25, 15, 4, 0};
    for (std::size_t m = 0; m < expected.size(); ++m) EXPECT_NEAR(result.times.end[m], expected[m], 1e-9);
    EXPECT_EQ(result.link_bytes[2], 480);  // 1→2 up: A and B
    EXPECT_EQ(result.link_bytes[4], 400);
    EXPECT_EQ(result.out_bytes, (Array<std::int64_t>{160, 320, 240, 0}));
    EXPECT_EQ(result.in_bytes, (Array<std::int64_t>{0, 0, 320, 400}));
    EXPECT_NEAR(result.link_busy[2], 30, 1e-9);  // B from 4 on
    Array<double> carried(source.size(), 0), rate(source.size(), 0), since(source.size(), 0);
    for (std::size_t k = 0; k < result.rate.size(); ++k) {
        const auto m = static_cast<std::size_t>(result.rate_message[k]);
        carried[m] += rate[m] * (result.rate_time[k] - since[m]);
        rate[m] = result.rate[k];
        since[m] = result.rate_time[k];
    }
    for (std::size_t m = 0; m < 4; ++m) EXPECT_NEAR(carried[m], static_cast<double>(bytes[m]), 1e-9) << m;
}

TEST_F(FlowRow, ACycleOfDependenciesIsADeadlock) {
    given.add(0, 1, 8, 0, {1});
    given.add(1, 2, 8, 0, {0});
    const Simulated result = test::flow(given);
    EXPECT_EQ(result.cycle.message, (Array<std::int32_t>{0, 1}));
    EXPECT_EQ(result.times.end, (Array<double>{kNone, kNone}));
}

}  // namespace
}  // namespace conset
