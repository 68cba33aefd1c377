// Packet: closed forms by hand: alone, sharing a link, the first of a queue, full buffers, windows, a deadlock; bytes
// are conserved.
#include "conset/simulation/packet/packet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "simulation/given.hpp"

namespace conset {
namespace {

const Network kRow = Network::box({4}, false, Tie::plus);  // link 2v leads from v to v + 1

// Links of one byte in a unit of time, packets of 10 bytes, ports that are no limit.
test::Given<double> given_on(const Network& network) {
    test::Given<double> given(network);
    given.link = {1};
    given.out = given.in = test::kInfinite;
    given.packet = 10;
    return given;
}

TEST(Packets, AMessageAlonePaysItsLatenciesOnceAndItsBytesAtTheLeastRate) {
    for (const std::int64_t bytes : {1, 10, 25, 1000})
        for (const std::int32_t hops : {1, 2, 3})
            for (const double port : {0.5, 2.0}) {
                test::Given<double> given = given_on(kRow);
                given.out = given.in = port;
                given.buffer = 20;
                given.add(0, hops, bytes);
                given.send = {5};
                given.latency = {7};
                given.hop = {3};
                given.receive = {11};
                const Simulated result = test::packets(given);
                const double flows = static_cast<double>(bytes) / std::min(port, 1.0);
                EXPECT_DOUBLE_EQ(result.times.end[0], 5 + 7 + 3 * hops + flows + 11) << bytes << " " << hops;
                EXPECT_DOUBLE_EQ(result.times.end[0], test::flow(given).times.end[0]);
            }
}

TEST(Packets, AMessageOfNoBytesPaysItsHopsAndWaitsForNobody) {
    test::Given<double> given = given_on(kRow);
    given.add(0, 2, 100);
    given.add(0, 2, 0);
    given.send = {5};
    given.hop = {3};
    const Simulated result = test::packets(given);
    EXPECT_DOUBLE_EQ(result.times.end[1], 5 + 5 + 2 * 3);  // the processor sends one after the other
    EXPECT_DOUBLE_EQ(result.times.end[0], 5 + 100 + 2 * 3);
}

TEST(Packets, ABufferOfOnePacketIsFreeWhenItsLastByteHasLeft) {
    // a packet enters the buffer behind the first link at t, leaves from t + 3 to t + 13: the next follows 13 later
    test::Given<double> given = given_on(kRow);
    given.add(0, 2, 30);
    given.hop = {3};
    given.buffer = 10;
    EXPECT_DOUBLE_EQ(test::packets(given).times.end[0], 2 * 13 + 10 + 2 * 3);
    given.buffer = 20;
    EXPECT_DOUBLE_EQ(test::packets(given).times.end[0], 30 + 2 * 3);
}

TEST(Packets, AWindowOfOnePacketWaitsForItsDelivery) {
    test::Given<double> given = given_on(kRow);
    given.add(0, 2, 30);
    given.hop = {3};
    given.window = 10;
    EXPECT_DOUBLE_EQ(test::packets(given).times.end[0], 3 * (10 + 2 * 3));
}

TEST(Packets, TwoMessagesTakeALinkInTurn) {
    // 1 -> 2 asks for its link first, then packets alternate: at 0, 20, 40 and 10, 30, 50
    test::Given<double> given = given_on(kRow);
    given.add(0, 2, 30);
    given.add(1, 2, 30);
    const Simulated result = test::packets(given);
    EXPECT_EQ(result.times.end, (Array<double>{60, 50}));
    EXPECT_EQ(result.held_by, (Array<std::int32_t>{2, 2}));
    EXPECT_DOUBLE_EQ(result.link_busy[2], 60);
}

TEST(Packets, TheFirstOfAQueueHoldsBackWhatStandsBehindIt) {
    // 1 -> 2 has its link until 100; 0 -> 2 waits for it at node 1; 0 -> 1 would not, but stands behind
    test::Given<double> given = given_on(kRow);
    given.packet = 100;
    given.add(1, 2, 100);
    given.add(0, 2, 60);
    given.add(0, 1, 60);
    given.buffer = 120;  // both stand at node 1
    EXPECT_EQ(test::packets(given).times.end, (Array<double>{100, 160, 160}));
    given.buffer = 100;  // the second crosses its link when the first has left
    EXPECT_EQ(test::packets(given).times.end, (Array<double>{100, 160, 220}));
}

TEST(Packets, WhatFindsNoRoomHoldsUpTheLinksBeforeIt) {
    // the port into 2 takes two units a byte, and 20 bytes stand before it: links go at its pace
    test::Given<double> given = given_on(kRow);
    given.in = 0.5;
    given.buffer = 10;
    given.add(0, 2, 60);
    given.add(0, 1, 10);  // behind six packets of the other at their source
    const Simulated result = test::packets(given);
    EXPECT_DOUBLE_EQ(result.times.end[0], 120);
    EXPECT_DOUBLE_EQ(result.in_busy[2], 120);
    // of the six the first is on both links at 0, the last at 100, when the buffer at node 1 is free at 110
    EXPECT_DOUBLE_EQ(result.times.end[1], 110 + 20);
}

TEST(Packets, FullBuffersOnACycleAreADeadlock) {
    Array<std::int32_t> source{0, 1, 2, 3}, target{1, 2, 3, 0}, next;
    for (std::int32_t t = 0; t < 4; ++t)
        for (std::int32_t node = 0; node < 4; ++node) next.push_back(node == t ? -1 : node);
    test::Given<double> given = given_on(Network::next_links(4, 4, source, target, next));
    for (std::int32_t v = 0; v < 4; ++v) given.add(v, (v + 2) % 4, 50);
    given.buffer = 10;
    const Simulated stuck = test::packets(given);
    EXPECT_EQ(stuck.cycle.message.size(), 4U);
    EXPECT_LT(stuck.stopped, 50);
    given.buffer = test::kInfinite;
    EXPECT_TRUE(test::packets(given).cycle.message.empty());
}

TEST(Packets, TheyTakeTheFreeLinkWithTheMostRoom) {
    // hosts 0, 1 at switch 5, hosts 2, 4 at switch 8, between them switches 6 and 7; both would take 6 first
    test::Given<double> given = given_on(Network::equal_cost(
        5, 9, {0, 1, 5, 5, 6, 7, 8, 8, 8, 8, 8}, {5, 5, 6, 7, 8, 8, 0, 1, 2, 3, 4}, Choice::even, 0, {1}, {}, {}));
    given.dateline = {2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0};
    given.buffer = 20;
    given.add(0, 2, 100);
    given.add(1, 4, 100);
    const Simulated result = test::packets(given);
    EXPECT_EQ(result.times.end, (Array<double>{100, 100}));
    EXPECT_EQ(result.link_bytes, (Array<std::int64_t>{100, 100, 100, 100, 100, 100, 0, 0, 100, 0, 100}));
    EXPECT_EQ(result.pools, 1);
    given.dateline = {2, 2, 2, 2, 0, 0, 2, 2, 2, 2, 2};  // ways that turn up once more have another buffer there
    EXPECT_EQ(test::packets(given).pools, 2);
}

TEST(Packets, EveryByteCrossesEveryLinkOfItsRouteOnce) {
    std::mt19937 random(3);
    const auto below = [&](int n) { return static_cast<std::int32_t>(random() % static_cast<unsigned>(n)); };
    for (int trial = 0; trial < 20; ++trial) {
        test::Given<double> given = given_on(Network::box({3, 3}, false, Tie::plus));
        given.out = 1 + below(2);
        given.in = 0.5 * (1 + below(4));
        given.hop = {0.25 * below(3)};
        given.buffer = 10 * (1 + below(3));  // routes by dimension: no deadlock
        given.window = 10 * (1 + below(5));
        Array<double> by_link(36, 0), out(9, 0), in(9, 0);
        for (int m = 0; m < 60; ++m) {
            const std::int32_t s = below(9), t = (s + 1 + below(8)) % 9;
            given.add(s, t, 1 + below(80), below(30));
        }
        for (std::size_t m = 0; m < given.bytes.size(); ++m) {
            const auto bytes = static_cast<double>(given.bytes[m]);
            given.routes().each_link(m, [&](std::int32_t link) { by_link[static_cast<std::size_t>(link)] += bytes; });
            out[static_cast<std::size_t>(given.source[m])] += bytes;
            in[static_cast<std::size_t>(given.target[m])] += bytes;
        }
        const Simulated result = test::packets(given);
        ASSERT_TRUE(result.cycle.message.empty());
        const double last = *std::max_element(result.times.end.begin(), result.times.end.end());
        for (std::size_t l = 0; l < by_link.size(); ++l) {
            ASSERT_NEAR(result.link_busy[l], by_link[l], 1e-6);
            ASSERT_LE(by_link[l], last);
        }
        for (std::size_t node = 0; node < out.size(); ++node) {
            ASSERT_NEAR(result.out_busy[node] * given.out, out[node], 1e-6);
            ASSERT_NEAR(result.in_busy[node] * given.in, in[node], 1e-6);
        }
        for (std::size_t m = 0; m < given.bytes.size(); ++m) {  // no faster than alone
            test::Given<double> alone = given;
            alone.sender = alone.source = {given.source[m]};
            alone.receiver = alone.target = {given.target[m]};
            alone.bytes = {given.bytes[m]};
            alone.time = {given.time[m]};
            alone.dep_offsets = {0, 0};
            ASSERT_GE(result.times.end[m], test::packets(alone).times.end[0] - 1e-9);
        }
    }
}

}  // namespace
}  // namespace conset
