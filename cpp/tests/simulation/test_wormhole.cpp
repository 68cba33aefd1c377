// Wormhole: streams against progressive filling by hand, a blocked header, and a deadlock with its cycle.
#include "conset/array.hpp"
#include "conset/simulation/wormhole/wormhole.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "conset/simulation/streams.hpp"
#include "simulation/given.hpp"

namespace conset {
namespace {

struct Open {
    std::int32_t message, slot;
    double limit;
    Array<Streams::Use> uses;
    bool held = false;
    double most() const { return held ? 0 : limit; }
};

// Progressive filling, all from the start.
Array<double> filled(const Array<Open>& open, Array<double> left) {
    Array<double> rate(open.size(), -1);
    for (std::size_t frozen = 0; frozen < open.size();) {
        Array<double> weight(left.size(), 0);
        for (std::size_t k = 0; k < open.size(); ++k)
            if (rate[k] < 0)
                for (const auto& use : open[k].uses) weight[use.resource] += use.weight;
        double level = Streams::kNever;
        for (std::size_t r = 0; r < left.size(); ++r)
            if (weight[r] > 0) level = std::min(level, left[r] / weight[r]);
        for (std::size_t k = 0; k < open.size(); ++k)
            if (rate[k] < 0) level = std::min(level, open[k].most());
        Array<std::size_t> now;
        for (std::size_t k = 0; k < open.size(); ++k) {
            if (rate[k] >= 0) continue;
            bool full = open[k].most() <= level * (1 + 1e-9);
            for (const auto& use : open[k].uses)
                full = full || left[use.resource] <= level * weight[use.resource] * (1 + 1e-9);
            if (full) now.push_back(k);
        }
        for (const std::size_t k : now) {
            rate[k] = level;
            for (const auto& use : open[k].uses) left[use.resource] -= use.weight * level;
        }
        frozen += now.size();
    }
    return rate;
}

TEST(Streams, RatesAreThoseOfProgressiveFilling) {
    std::mt19937 random(5);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (int trial = 0; trial < 30; ++trial) {
        const int resources = 3 + below(12);
        Array<double> capacity;
        for (int r = 0; r < resources; ++r) capacity.push_back(1 + below(5));
        Streams streams(capacity);
        streams.record_changes();
        Array<Open> open;
        Array<double> rate(300, 0);
        double now = 0;
        for (std::int32_t m = 0; m < 300; ++m) {
            for (int ended = streams.end_next(now, now); ended >= 0; ended = streams.end_next(now, now))
                std::erase_if(open, [&](const Open& each) { return each.message == ended; });
            Array<Streams::Use> uses;
            for (int r = 0; r < resources; ++r)
                if (below(3) == 0) uses.push_back({r, 0, below(2) == 0 ? 1.0 : 0.5 + 0.1 * below(5)});
            const double limit = 0.5 + below(4);
            open.push_back({m, streams.add(m, uses, limit, 1 + below(20), now), limit, uses, false});
            if (open.size() > 2 && below(3) == 0) {  // an exchange begins or ends
                Open& other = open[static_cast<std::size_t>(below(static_cast<int>(open.size())))];
                const double weight = below(2) == 0 ? 1 : 0.7;
                streams.weigh(other.slot, 0, 2, weight);
                for (auto& use : other.uses)
                    if (use.resource < 2) use.weight = weight;
            }
            if (below(5) == 0) {  // one stops, or goes on
                Open& other = open[static_cast<std::size_t>(below(static_cast<int>(open.size())))];
                streams.hold(other.slot, other.held = !other.held);
            }
            streams.solve(now);
            streams.each_change(
                [&](std::int32_t which, double value) { rate[static_cast<std::size_t>(which)] = value; });
            const Array<double> expected = filled(open, capacity);
            for (std::size_t k = 0; k < open.size(); ++k)
                ASSERT_NEAR(rate[static_cast<std::size_t>(open[k].message)], expected[k], 1e-9) << trial << " " << m;
            if (below(3) > 0 && streams.next_end() < Streams::kNever) now = streams.next_end();
        }
    }
}

// A unit of time to send and for each hop, one a byte.
Simulated run(const Network& network, const Array<Array<std::int32_t>>& messages, std::int32_t lanes) {
    test::Given<double> given(network);
    for (const auto& each : messages) given.add(each[0], each[1], each[2]);
    given.send = {1};
    given.hop = {1};
    given.link = {1};
    given.lanes = lanes;
    return test::wormhole(given);
}

TEST(Wormhole, AHeaderThatWaitsKeepsWhatItHas) {
    // 0 -> 3 holds 0 -> 1 while it waits for 1 -> 2, which 1 -> 2 has from 1 to 1 + 1 + 60
    const Network row = Network::box({4}, false, Tie::plus);
    const Simulated result = run(row, {{0, 3, 100}, {1, 2, 60}}, 1);
    EXPECT_DOUBLE_EQ(result.times.end[1], 62);
    EXPECT_DOUBLE_EQ(result.times.end[0], 62 + 1 + 1 + 100);  // two more hops
    EXPECT_DOUBLE_EQ(result.blocked[0], 60);
    EXPECT_EQ(result.held_by, (Array<std::int32_t>{2, -1}));
    EXPECT_DOUBLE_EQ(result.link_busy[2], 60 + 100);
    EXPECT_EQ(result.link_bytes[2], 160);
    EXPECT_TRUE(result.cycle.message.empty());
}

TEST(Wormhole, LanesShareTheRateOfALink) {
    const Network row = Network::box({4}, false, Tie::plus);
    const Simulated result = run(row, {{0, 3, 100}, {1, 2, 60}}, 2);
    EXPECT_DOUBLE_EQ(result.blocked[0], 0);
    EXPECT_DOUBLE_EQ(result.times.end[1], 2 + 2 + 2 * 58);  // alone from 2 to 4, then at half the rate
    EXPECT_DOUBLE_EQ(result.times.end[0], 120 + (100 - 58));
}

TEST(Wormhole, ADatelineLeadsIntoAnotherPool) {
    const Network ring = Network::box({4}, true, Tie::plus);
    test::Given<double> given(ring);
    for (std::int32_t v = 0; v < 4; ++v) given.add(v, (v + 2) % 4, 10);
    given.hop = {1};
    Array<std::uint8_t> dateline(8, 0);
    dateline[6] = 1;  // 3 -> 0 up
    WormholeCosts costs;
    costs.rates = test::rates_of(given);
    costs.latency = given.latency;
    costs.hop = given.hop;
    costs.dateline = dateline;
    const auto simulate = [&](std::int32_t pools) {
        costs.pools = pools;
        return simulate_wormhole(given.routes(), given.messages(), given.with_costs(), costs, false);
    };
    EXPECT_EQ(simulate(1).cycle.message, (Array<std::int32_t>{0, 1, 2, 3}));
    const Simulated free = simulate(2);
    EXPECT_TRUE(free.cycle.message.empty());
    // 3 -> 1 finds link 0 free in the upper pool; the others go one after the other
    EXPECT_EQ(free.times.end, (Array<double>{12 + 3 * 11, 12 + 2 * 11, 12 + 11, 12}));
}

TEST(Wormhole, ADeadlockIsACycle) {
    // a ring of one direction, given as a graph: next_link by target and node
    Array<std::int32_t> source{0, 1, 2, 3}, target{1, 2, 3, 0}, next;
    for (std::int32_t t = 0; t < 4; ++t)
        for (std::int32_t node = 0; node < 4; ++node) next.push_back(node == t ? -1 : node);
    const Network ring = Network::next_links(4, 4, source, target, next);
    const Array<Array<std::int32_t>> messages{{0, 2, 10}, {1, 3, 10}, {2, 0, 10}, {3, 1, 10}};
    const Simulated stuck = run(ring, messages, 1);
    EXPECT_EQ(stuck.cycle.message, (Array<std::int32_t>{0, 1, 2, 3}));
    EXPECT_EQ(stuck.cycle.place, (Array<std::int32_t>{1, 2, 3, 0}));
    EXPECT_DOUBLE_EQ(stuck.stopped, 2);
    EXPECT_TRUE(run(ring, messages, 2).cycle.message.empty());
}

}  // namespace
}  // namespace conset
