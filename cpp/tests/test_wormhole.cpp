// Wormhole: streams against progressive filling by hand, a blocked header, and a deadlock with its circle.
#include "conset/wormhole.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "conset/wormhole_processors.hpp"
#include "conset/wormhole_streams.hpp"

namespace conset {
namespace {

struct Open {
    std::int32_t message, slot;
    double limit;
    std::vector<Streams::Use> uses;
    bool held = false;
    double most() const { return held ? 0 : limit; }
};

// Progressive filling, all from the start.
std::vector<double> filled(const std::vector<Open>& open, std::vector<double> left) {
    std::vector<double> rate(open.size(), -1);
    for (std::size_t frozen = 0; frozen < open.size();) {
        std::vector<double> weight(left.size(), 0);
        for (std::size_t k = 0; k < open.size(); ++k)
            if (rate[k] < 0)
                for (const auto& use : open[k].uses) weight[use.resource] += use.weight;
        double level = Streams::kNever;
        for (std::size_t r = 0; r < left.size(); ++r)
            if (weight[r] > 0) level = std::min(level, left[r] / weight[r]);
        for (std::size_t k = 0; k < open.size(); ++k)
            if (rate[k] < 0) level = std::min(level, open[k].most());
        std::vector<std::size_t> now;
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
        std::vector<double> capacity;
        for (int r = 0; r < resources; ++r) capacity.push_back(1 + below(5));
        Streams streams(capacity);
        streams.record_changes();
        std::vector<Open> open;
        std::vector<double> rate(300, 0);
        double now = 0;
        for (std::int32_t m = 0; m < 300; ++m) {
            for (int ended = streams.end_next(now, now); ended >= 0; ended = streams.end_next(now, now))
                std::erase_if(open, [&](const Open& each) { return each.message == ended; });
            std::vector<Streams::Use> uses;
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
            const std::vector<double> expected = filled(open, capacity);
            for (std::size_t k = 0; k < open.size(); ++k)
                ASSERT_NEAR(rate[static_cast<std::size_t>(open[k].message)], expected[k], 1e-9) << trial << " " << m;
            if (below(3) > 0 && streams.next_end() < Streams::kNever) now = streams.next_end();
        }
    }
}

TEST(Processors, OneAfterTheOtherAndPreempted) {
    Processors separate(1, false, false), one(1, true, false), preempting(1, true, true);
    for (Processors* all : {&separate, &one, &preempting}) {
        EXPECT_DOUBLE_EQ(all->send(0, 10, 0), 10);
        EXPECT_DOUBLE_EQ(all->send(0, 10, 0), 20);
    }
    EXPECT_DOUBLE_EQ(separate.receive(0, 5, 4), 9);
    EXPECT_DOUBLE_EQ(one.receive(0, 5, 4), 25);
    EXPECT_DOUBLE_EQ(preempting.receive(0, 5, 4), 15);   // behind the one that runs, whatever follows it
    EXPECT_DOUBLE_EQ(preempting.receive(0, 5, 12), 25);  // behind the second send, not behind the first receive alone
    EXPECT_DOUBLE_EQ(preempting.send(0, 10, 21), 31);    // a receive under way does not hold it up
    EXPECT_DOUBLE_EQ(preempting.receive(0, 5, 40), 45);
}

struct Case {
    std::vector<std::int32_t> source, target;
    std::vector<std::int64_t> bytes;
};

WormholeResult run(const Network& network, const Case& what, std::int32_t lanes) {
    const std::vector<double> send{1}, receive{0}, hop{1}, link{1};
    const std::vector<std::int32_t> width{1};
    WormholeCosts costs;
    costs.send = send;
    costs.receive = receive;
    costs.hop = hop;
    costs.link = link;
    costs.width = width;
    costs.out = costs.in = 1;
    costs.node = Streams::kNever;
    costs.lanes = lanes;
    Execution execution;
    execution.receive_list = false;
    const Routes routes{network, what.source, what.target, {}, {}};
    const Messages messages{what.source, what.target, {}, {}, {}, {}, {}};
    return simulate_wormhole(routes, what.bytes, messages, execution, costs, false);
}

TEST(Wormhole, AHeaderThatWaitsKeepsWhatItHas) {
    // 0 -> 3 holds 0 -> 1 while it waits for 1 -> 2, which 1 -> 2 has from 1 to 1 + 1 + 60
    const Network row = Network::box({4}, false, Tie::plus);
    const WormholeResult result = run(row, {{0, 1}, {3, 2}, {100, 60}}, 1);
    EXPECT_DOUBLE_EQ(result.end[1], 62);
    EXPECT_DOUBLE_EQ(result.end[0], 62 + 1 + 1 + 100);  // two more hops
    EXPECT_DOUBLE_EQ(result.blocked[0], 60);
    EXPECT_TRUE(result.stuck.empty());
}

TEST(Wormhole, ADeadlockIsACircle) {
    // a ring of one direction, given as a graph: next_link by target and node
    std::vector<std::int32_t> source{0, 1, 2, 3}, target{1, 2, 3, 0}, next;
    for (std::int32_t t = 0; t < 4; ++t)
        for (std::int32_t node = 0; node < 4; ++node) next.push_back(node == t ? -1 : node);
    const Network ring = Network::next_links(4, 4, source, target, next);
    const Case what{{0, 1, 2, 3}, {2, 3, 0, 1}, {10, 10, 10, 10}};
    const WormholeResult stuck = run(ring, what, 1);
    EXPECT_EQ(stuck.stuck, (std::vector<std::int32_t>{0, 1, 2, 3}));
    EXPECT_EQ(stuck.stuck_channel, (std::vector<std::int32_t>{1, 2, 3, 0}));
    EXPECT_DOUBLE_EQ(stuck.stopped, 2);
    EXPECT_TRUE(run(ring, what, 2).stuck.empty());
}

}  // namespace
}  // namespace conset
