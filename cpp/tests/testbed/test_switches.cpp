// The switches of a testbed: exact times of few packets, and what must hold for many.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "switches.hpp"

namespace conset::testbed {
namespace {

constexpr double rate = 8e9;                 // one byte a nanosecond
constexpr std::int64_t packet_bytes = 1000;  // on the wire

// A mesh under dimension order, the last coordinate first; with rows = 1 a line. `wraps`: a torus that always goes up.
Network mesh(std::int32_t rows, std::int32_t columns, bool wraps = false) {
    Network made;
    made.endpoints = made.nodes = rows * columns;
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> number;
    const auto join = [&](std::int32_t a, std::int32_t b) {
        number[{a, b}] = static_cast<std::int32_t>(made.links.size());
        made.links.push_back({a, b, rate});
    };
    for (std::int32_t node = 0; node < made.nodes; ++node) {
        const std::int32_t row = node / columns, column = node % columns;
        if (column + 1 < columns || wraps) join(node, row * columns + (column + 1) % columns);
        if (column > 0 && !wraps) join(node, node - 1);
        if (row + 1 < rows || (wraps && rows > 1)) join(node, (row + 1) % rows * columns + column);
        if (row > 0 && !wraps) join(node, node - columns);
    }
    made.next.assign(cell(made.nodes, made.endpoints, 0), -1);
    for (std::int32_t node = 0; node < made.nodes; ++node)
        for (std::int32_t target = 0; target < made.nodes; ++target) {
            if (node == target) continue;
            const std::int32_t row = node / columns, column = node % columns;
            const std::int32_t to_row = target / columns, to_column = target % columns;
            std::int32_t after = 0;
            if (column != to_column)
                after = wraps ? row * columns + (column + 1) % columns : node + (to_column > column ? 1 : -1);
            else
                after = wraps ? (row + 1) % rows * columns + column : node + (to_row > row ? columns : -columns);
            made.next[cell(node, made.endpoints, target)] = number.at({node, after});
        }
    return made;
}

struct Arrival {
    std::int32_t source, target;
    std::int64_t label;
    Nanoseconds time;
};

// Switches and what came out of them; `label` travels as the number of data bytes.
class Bench {
public:
    Bench(Network network, Options options)
        : switches_(make_switches(
              std::move(network), options,
              {[this](PacketPointer packet, Nanoseconds time) {
                   arrivals.push_back(
                       {packet->source, packet->target, static_cast<std::int64_t>(packet->data.size()), time});
               },
               [this](std::int32_t endpoint, Nanoseconds time) { rooms.emplace_back(endpoint, time); }})) {}
    void send(std::int32_t source, std::int32_t target, std::int64_t label = 0, Nanoseconds time = 0,
              std::int64_t bytes = packet_bytes) {
        auto packet = std::make_unique<Packet>();
        *packet = {source, target, bytes, std::vector<std::byte>(static_cast<std::size_t>(label))};
        switches_->inject(std::move(packet), time);
    }
    void run() {
        while (!switches_->idle()) switches_->run_until(switches_->next_time());
    }
    Nanoseconds arrival_of(std::int64_t label) const {
        const auto found = std::ranges::find(arrivals, label, &Arrival::label);
        return found == arrivals.end() ? -1 : found->time;
    }
    Switches& operator*() { return *switches_; }

    std::vector<Arrival> arrivals;
    std::vector<std::pair<std::int32_t, Nanoseconds>> rooms;

private:
    std::unique_ptr<Switches> switches_;
};

constexpr Options credit{Discipline::credit, 4 * packet_bytes, 0, false};
constexpr Options fair{Discipline::fair, 1, 0, false};

TEST(Switches, ALonePacketTakesItsTransmissionAndTheLatencyOfEveryHop) {
    for (Options options : {credit, fair}) {
        options.latency = 300;
        for (std::int32_t hops = 1; hops < 5; ++hops) {
            Bench bench(mesh(1, 5), options);
            bench.send(0, hops, 1, 50);
            bench.run();
            EXPECT_EQ(bench.arrival_of(1), 50 + packet_bytes + hops * 300);
        }
        options.store_and_forward = true;
        Bench bench(mesh(1, 5), options);
        bench.send(0, 4, 1);
        bench.run();
        EXPECT_EQ(bench.arrival_of(1), 4 * (packet_bytes + 300));
    }
}

TEST(Switches, ASlowLinkHoldsBackTheTailOnFasterOnes) {
    for (const Options& options : {credit, fair}) {
        Network line = mesh(1, 4);
        line.links[line.next[cell(1, 4, 3)]].bits_per_s = rate / 4;
        Bench bench(line, options);
        bench.send(0, 3, 1);
        bench.run();
        EXPECT_EQ(bench.arrival_of(1), 4 * packet_bytes);
    }
}

TEST(Switches, TwoPacketsOfOneLinkFollowEachOther) {
    for (const Options& options : {credit, fair}) {
        Bench bench(mesh(1, 3), options);
        bench.send(0, 2, 1);
        bench.send(0, 2, 2);
        bench.run();
        EXPECT_EQ(bench.arrival_of(1), packet_bytes);
        EXPECT_EQ(bench.arrival_of(2), 2 * packet_bytes);
    }
}

// 0 - 1 - 2 - 3, and link 2 → 3 is slow: what goes there fills the buffers of 2 and 1; behind it waits what does not.
TEST(CreditSwitches, AHeadThatWaitsBlocksWhatIsBehindIt) {
    const auto scene = [](const Options& options) {
        Network line = mesh(1, 4);
        line.links[line.next[cell(2, 4, 3)]].bits_per_s = rate / 100;
        Bench bench(line, options);
        for (int k = 0; k < 6; ++k) bench.send(0, 3, 100);
        bench.send(0, 1, 1);  // one hop, over links that are free by then
        bench.run();
        return bench.arrival_of(1);
    };
    Options small = credit;
    small.buffer_bytes = 2 * packet_bytes;
    // two packets wait in node 2 and two in node 1: the fifth and sixth leave node 0 as two have left by the slow link
    EXPECT_GT(scene(small), 100 * packet_bytes);
    // pairs take turns: after the two of the other pair whose turn came before
    EXPECT_EQ(scene(fair), 3 * packet_bytes);
}

TEST(CreditSwitches, AnEndpointHearsThatItMayInjectAgain) {
    Bench bench(mesh(1, 2), credit);
    for (std::int64_t k = 0; k < 4; ++k) {
        EXPECT_TRUE((*bench).has_room(0));
        bench.send(0, 1, k + 1);
    }
    EXPECT_FALSE((*bench).has_room(0));
    bench.run();
    ASSERT_EQ(bench.rooms.size(), 4);
    EXPECT_EQ(bench.rooms.front(), std::make_pair(0, Nanoseconds{packet_bytes}));
    EXPECT_TRUE((*bench).has_room(0));
}

TEST(FairSwitches, PairsTakeTurnsOnALink) {
    Bench bench(mesh(1, 3), fair);
    for (std::int64_t k = 0; k < 10; ++k) bench.send(0, 2, 100 + k);
    bench.send(1, 2, 1);
    bench.send(1, 2, 2);
    bench.run();
    // of the twelve packets of the link the two of pair (1, 2) are among the first four
    EXPECT_LE(bench.arrival_of(1), 2 * packet_bytes);
    EXPECT_LE(bench.arrival_of(2), 4 * packet_bytes);
    EXPECT_EQ(bench.arrivals.size(), 12);
    EXPECT_EQ(std::ranges::max(bench.arrivals, {}, &Arrival::time).time, 12 * packet_bytes);
}

// All pairs at once, several packets each, through buffers of one packet: everything arrives, in the order of its pair,
// no link carries more than its rate, and what it carried is what the routes say.
TEST(Switches, EverythingArrivesOnAMeshHoweverSmallTheBuffers) {
    for (const auto& [rows, columns] : {std::pair{1, 6}, {3, 3}, {4, 4}, {2, 5}}) {
        for (Options options : {credit, fair}) {
            options.buffer_bytes = packet_bytes;
            const Network network = mesh(rows, columns);
            const std::int32_t n = network.endpoints;
            Bench bench(network, options);
            Array<std::int64_t> expected(network.links.size(), 0);
            constexpr std::int64_t each = 3;
            for (std::int64_t k = 0; k < each; ++k)
                for (std::int32_t s = 0; s < n; ++s)
                    for (std::int32_t t = 0; t < n; ++t) {
                        if (s == t) continue;
                        const std::int64_t bytes = 200 + (s * 7 + t * 13 + k * 5) % 800;
                        bench.send(s, t, k + 1, k * 100, bytes);
                        for (std::int32_t at = s; at != t;) {
                            const std::int32_t link = network.next[cell(at, n, t)];
                            expected[link] += bytes;
                            at = network.links[link].target;
                        }
                    }
            bench.run();
            EXPECT_EQ((*bench).delivered(), each * n * (n - 1));
            EXPECT_EQ((*bench).injected(), (*bench).delivered());
            std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> last;
            for (const Arrival& arrival : bench.arrivals)
                EXPECT_EQ(arrival.label, ++last[std::pair(arrival.source, arrival.target)]);
            const Nanoseconds end = bench.arrivals.back().time;
            for (std::size_t link = 0; link < network.links.size(); ++link) {
                EXPECT_EQ((*bench).counters()[link].bytes, expected[link]);
                EXPECT_LE(expected[link], (*bench).counters()[link].busy);
                EXPECT_LE((*bench).counters()[link].busy, end);
            }
        }
    }
}

// Why a bed refuses back-pressure where buffers wait in a circle: four packets that each need the buffer of the next.
TEST(CreditSwitches, ACircleOfFullBuffersWaitsForEver) {
    Options one = credit;
    one.buffer_bytes = packet_bytes;
    Bench bench(mesh(1, 4, true), one);
    for (int k = 0; k < 3; ++k)
        for (std::int32_t s = 0; s < 4; ++s) bench.send(s, (s + 2) % 4);
    bench.run();
    EXPECT_LT((*bench).delivered(), 12);
    Bench free(mesh(1, 4, true), fair);
    for (int k = 0; k < 3; ++k)
        for (std::int32_t s = 0; s < 4; ++s) free.send(s, (s + 2) % 4);
    free.run();
    EXPECT_EQ((*free).delivered(), 12);
}

TEST(Switches, ALateCallerDelaysPacketsAndLosesNoBandwidth) {
    Bench bench(mesh(1, 3), credit);
    bench.send(0, 2, 1);
    bench.send(0, 2, 2);
    (*bench).run_until(50 * packet_bytes);
    EXPECT_EQ(bench.arrival_of(2), 2 * packet_bytes);
    EXPECT_EQ((*bench).take_worst_lateness(), 50 * packet_bytes);
    EXPECT_EQ((*bench).take_worst_lateness(), 0);
}

TEST(Switches, WhatMakesNoSenseIsRefused) {
    Network network = mesh(1, 3);
    network.next[cell(0, 3, 2)] = network.next[cell(1, 3, 2)];
    EXPECT_THROW(Bench(network, credit), std::invalid_argument);
    network = mesh(1, 3);
    network.links[0].bits_per_s = 0;
    EXPECT_THROW(Bench(network, credit), std::invalid_argument);
    network = mesh(1, 3);
    network.next[cell(0, 3, 2)] = -1;
    Bench bench(network, credit);
    EXPECT_THROW(bench.send(0, 2), std::invalid_argument);
    EXPECT_THROW(bench.send(0, 3), std::invalid_argument);
    EXPECT_THROW(bench.send(0, 1, 0, 0, 5 * packet_bytes), std::invalid_argument);
    EXPECT_EQ((*bench).injected(), 0);
}

}  // namespace
}  // namespace conset::testbed
