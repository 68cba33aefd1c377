// Formulas with a pencil: overheads 5 and 7, latency 3 and 2 a link, a unit of time per byte at ports.
#include "conset/array.hpp"
#include "conset/prediction/formula.hpp"
#include "conset/prediction/stage_clock.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace conset {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
using Sizes = Array<std::int64_t>;

class Formulas : public testing::Test {
protected:
    Formulas() {
        costs.out = costs.in = 1;
        costs.exchange = costs.tolerance = 1;
        costs.eager = -1;
    }
    void add(std::int32_t s, std::int32_t t, std::int64_t bytes) {
        sender.push_back(s);
        receiver.push_back(t);
        size.push_back(bytes);
    }
    void clear() {
        for (auto* ranks : {&sender, &receiver}) ranks->clear();
        size.clear();
    }
    MessageCosts given() const {
        MessageCosts all = costs;
        all.up_to = up_to;
        all.send = send;
        all.receive = receive;
        all.latency = latency;
        all.hop = hop;
        all.link = link;
        all.width = width;
        return all;
    }
    Routes routes() const { return {network, sender, receiver, {}, {}}; }
    Formula batches(const Sizes& phases, const Sizes& groups, bool phase_by_phase = false) const {
        return time_batches(routes(), {sender, receiver, 4, packed}, size, phases, groups, phase_by_phase, given());
    }
    Formula one_batch() const { return batches({0, std::ssize(size)}, {0, 1}); }
    void expect(double time, Busy kind, std::int64_t index) const {
        const Formula formula = one_batch();
        EXPECT_DOUBLE_EQ(formula.busy[0], time);
        EXPECT_EQ(static_cast<Busy>(formula.kind[0]), kind);
        EXPECT_EQ(formula.index[0], index);
    }
    Ends ranks(const Sizes& phases) const {
        return time_ranks(routes(), {sender, receiver, 4, packed}, size, phases, given());
    }

    Network network = Network::box({4}, false, Tie::plus);  // link 2v leads up from node v
    Array<std::int32_t> sender, receiver, width{1};
    Array<std::int64_t> size;
    Array<std::uint8_t> packed;
    Array<double> up_to{kInfinite}, send{5}, receive{7}, latency{3}, hop{2}, link;
    MessageCosts costs{};
};

TEST_F(Formulas, AMessageAlone) {
    add(0, 2, 10);
    expect(5 + 3 + 4 + 10 + 7, Busy::out, 0);
    costs.before = true;
    expect(29, Busy::out, 0);
    costs.before = false;
    costs.out = costs.in = 0.5;
    link = {0, 0, 3, 0, 0, 0, 0, 0};
    expect(5 + 3 + 4 + 30 + 7, Busy::link, 2);
}

TEST_F(Formulas, CostsGoByTheStepOfTheSize) {
    up_to = {15, kInfinite};
    send = {5, 50};
    receive = {7, 70};
    latency = {3, 30};
    hop = {2, 20};
    add(0, 1, 15);
    expect(5 + 3 + 2 + 15 + 7, Busy::out, 0);
    size[0] = 16;
    expect(50 + 30 + 20 + 16 + 70, Busy::out, 0);
}

TEST_F(Formulas, InsideANodeItIsACopy) {
    add(1, 1, 10);
    costs.copy = 2;
    costs.signal = 9;
    expect(5 + 20 + 7, Busy::message, 0);
}

TEST_F(Formulas, WhatIsPackedIsCopiedAtBothEnds) {
    costs.copy = 2;
    add(0, 1, 10);
    packed = {1};
    expect(25 + 3 + 2 + 10 + 27, Busy::out, 0);
    EXPECT_DOUBLE_EQ(ranks({0, 1}).end[0], 67);
    add(0, 2, 10);
    packed = {1, 0};
    expect(25 + 3 + 2 + 10 + 27, Busy::in, 1);  // longer than the port out, whose first and last bytes are the other's
    sender[1] = receiver[1] = 2;                // inside a node
    packed = {0, 1};
    expect(25 + 20 + 27, Busy::message, 1);
}

TEST_F(Formulas, OneRankSendsToMany) {
    network = Network::crossbar(4);
    for (std::int32_t t = 1; t < 4; ++t) add(0, t, 10);
    expect(5 + 3 + 30 + 7, Busy::out, 0);
    send = {12};
    expect(2 * 12 + 12 + 3 + 10 + 7, Busy::send, 0);
    costs.in_flight = 1;
    expect(3 * (12 + 3 + 10) + 7, Busy::slots, 0);
    costs.in_flight = 2;
    expect(25 + 32, Busy::slots, 0);
    costs.before = true;
    expect(32 + 32, Busy::slots, 0);
}

TEST_F(Formulas, ManySendToOneRank) {
    network = Network::crossbar(4);
    for (std::int32_t s = 0; s < 3; ++s) add(s, 3, 10);
    expect(25 + 2 * 10, Busy::in, 3);
    receive = {15};
    expect(33 + 2 * 15, Busy::receive, 3);
    costs.before = true;
    expect(5 + 3 + 45 + 10, Busy::receive, 3);
    costs.eager = 10;  // buffered: bytes need not wait for the overhead
    expect(5 + 3 + 45, Busy::receive, 3);
}

TEST_F(Formulas, OneProcessorPaysForBoth) {
    network = Network::crossbar(4);
    for (std::int32_t other = 1; other < 4; ++other) {
        add(0, other, 1);
        add(other, 0, 1);
    }
    expect(5 + 3 + 1 + 21, Busy::receive, 0);
    costs.one_processor = true;
    expect(15 + 21, Busy::processor, 0);
    clear();
    add(0, 1, 10);
    add(1, 0, 10);
    expect(25, Busy::out, 0);
}

// Ranks 0 and 1 live on node 0, ranks 2 and 3 on node 1.
class SharedProcessors : public Formulas {
protected:
    SharedProcessors() {
        network = Network::crossbar(2);
        costs.one_processor = costs.shared_processor = true;
    }
    void send(std::int32_t s, std::int32_t t) {
        add(s, t, 1);
        source.push_back(s / 2);
        target.push_back(t / 2);
    }
    Routes placed() const { return {network, source, target, {}, {}}; }
    Formula batch() const {
        const Sizes phases{0, std::ssize(size)}, groups{0, 1};
        return time_batches(placed(), {sender, receiver, 4, packed}, size, phases, groups, false, given());
    }

    Array<std::int32_t> source, target;
};

TEST_F(SharedProcessors, ANodeWorksForAllItsRanks) {
    send(0, 1);  // inside: both overheads on node 0
    send(0, 2);
    send(1, 3);
    const Formula formula = batch();
    EXPECT_DOUBLE_EQ(formula.busy[0], 3 * 5 + 7) << "three sends and a receive";
    EXPECT_EQ(static_cast<Busy>(formula.kind[0]), Busy::shared);
    EXPECT_EQ(formula.index[0], 0);
    costs.setup = 100;
    EXPECT_DOUBLE_EQ(batch().busy[0], 2 * 100 + 3 * 5 + 7);
    EXPECT_EQ(batch().setups[0], 2);
    costs.shared_processor = false;
    EXPECT_DOUBLE_EQ(batch().busy[0], 100 + 5 + 5 + 7) << "rank 0: two sends, and the rest of one";
}

TEST_F(SharedProcessors, PhasesEndWithTheWorkOfANode) {
    send(2, 0);
    send(3, 1);
    send(2, 1);  // in the second phase
    const Sizes phases{0, 2, 3};
    const Ranks who{sender, receiver, 4, packed};
    const Ends ends = time_ranks(placed(), who, size, phases, given());
    EXPECT_DOUBLE_EQ(ends.end[0], 2 * 5 + 3 + 1 + 7);
    EXPECT_DOUBLE_EQ(ends.end[1], 21 + 16);
    costs.shared_processor = false;
    EXPECT_DOUBLE_EQ(time_ranks(placed(), who, size, phases, given()).end[0], 5 + 3 + 2 + 7) << "the port";
}

TEST_F(Formulas, SetUpsOfABatchAddUpAtARank) {
    network = Network::crossbar(4);
    add(0, 1, 10);
    add(0, 2, 10);
    costs.setup = 6;
    const Formula together = batches({0, 1, 2}, {0, 2});
    EXPECT_EQ(together.busy, (Array<double>{6 + 25, 2 * 6 + 2 * 5 + 20}));
    EXPECT_EQ(together.setups, (Sizes{1, 2}));
    EXPECT_EQ(static_cast<Busy>(together.kind[1]), Busy::send);
    const Formula apart = batches({0, 1, 2}, {0, 1, 2});
    EXPECT_EQ(apart.busy, (Array<double>{31, 31}));
    EXPECT_EQ(apart.setups, (Sizes{1, 1}));
}

TEST_F(Formulas, AReadySignalGoesFirst) {
    add(0, 2, 10);
    costs.signal = 4;
    costs.signal_hop = 1;
    expect(4 + 2 + 29, Busy::out, 0);
}

TEST_F(Formulas, LoadSlowsALinkDownBeyondItsTolerance) {
    link = {1};
    add(0, 2, 10);
    add(1, 2, 10);
    EXPECT_EQ(one_batch().busy[0], 5 + 3 + 2 + 20 + 7) << "from when the nearer one is there";
    costs.blocking = 1;
    expect(5 + 3 + 2 + 40 + 7, Busy::link, 2);
    EXPECT_EQ(batches({0, 1, 2}, {0, 2}, true).busy, (Array<double>{29, 37})) << "each phase has a load of one";
    EXPECT_EQ(batches({0, 1, 2}, {0, 2}, false).busy, (Array<double>{29, 57}));
    costs.tolerance = 2;
    EXPECT_EQ(one_batch().busy[0], 37);
}

TEST_F(Formulas, BytesThatMeetCountLessAtANode) {
    network = Network::crossbar(4);
    costs.out = costs.in = 0;
    costs.node = 1;
    add(0, 1, 10);
    add(1, 0, 4);
    expect(5 + 3 + 14 + 7, Busy::node, 0);
    costs.exchange = 0.75;
    expect(5 + 3 + 14 - 2 + 7, Busy::node, 0);
    add(1, 2, 1);  // node 1 has two partners now
    expect(5 + 3 + 15 + 7, Busy::node, 1);
}

TEST_F(Formulas, ABatchForgetsTheOneBefore) {
    network = Network::crossbar(4);
    for (int k = 0; k < 3; ++k) add(0, 1, 10 + k);
    EXPECT_EQ(batches({0, 1, 2, 3}, {0, 1, 2, 3}).busy, (Array<double>{25, 26, 27}));
    EXPECT_EQ(batches({0, 1, 1, 3}, {0, 1, 2, 3}).kind[1], -1) << "a phase of nothing";
    EXPECT_EQ(batches({0, 1, 2, 3}, {0, 2, 3}).busy, (Array<double>{25, 36, 27}));
}

TEST_F(Formulas, ARankWaitsForItsOwnMessagesAlone) {
    add(0, 1, 10);
    add(2, 3, 30);
    add(1, 0, 10);
    add(3, 2, 10);
    Ends ends = ranks({0, 2, 4});
    EXPECT_EQ(ends.end, (Array<double>{47, 74}));
    EXPECT_EQ(ends.rank, (Sizes{3, 2}));
    EXPECT_EQ(ends.setups, (Sizes{0, 0}));
    costs.setup = 6;
    ends = ranks({0, 2, 4});
    EXPECT_EQ(ends.end, (Array<double>{53, 86}));
    EXPECT_EQ(ends.setups, (Sizes{1, 2}));
}

TEST_F(Formulas, AChainOfRanks) {
    for (std::int32_t v = 0; v < 3; ++v) add(v, v + 1, 10);
    EXPECT_EQ(ranks({0, 1, 2, 3}).end, (Array<double>{27, 54, 81}));
    costs.signal = 2;
    costs.signal_hop = 2;
    EXPECT_EQ(ranks({0, 1, 2, 3}).end, (Array<double>{31, 58, 85})) << "the next one has signalled before";
}

TEST_F(Formulas, AnExchangeWaitsForBothSignals) {
    network = Network::crossbar(4);
    add(2, 1, 10);
    add(0, 1, 10);
    add(1, 0, 10);
    costs.node = 1;
    costs.signal = 4;
    costs.exchange = 0.5;
    // rank 1 enters at 29, and its signal is there at 33; node 1 has 20 B of which all meet
    EXPECT_EQ(ranks({0, 1, 3}).end, (Array<double>{29, 33 + 25}));
}

TEST_F(Formulas, ARanksSlotsInAPhase) {
    network = Network::crossbar(4);
    add(0, 1, 10);
    add(0, 2, 10);
    EXPECT_EQ(ranks({0, 2}).end[0], 5 + 3 + 20 + 7);
    costs.in_flight = 1;
    EXPECT_EQ(ranks({0, 2}).end[0], 2 * 18 + 7);
}

TEST_F(Formulas, TheLeastOnEachLink) {
    add(0, 2, 1);
    add(1, 3, 1);
    const Array<double> value{5, 3};
    EXPECT_EQ(least_on_links(routes(), value),
              (Array<double>{5, kInfinite, 3, kInfinite, 3, kInfinite, kInfinite, kInfinite}));
}

TEST_F(Formulas, WhatWaitsTakesAsLongAsItsChainAndItsWaves) {
    add(0, 1, 10);
    add(1, 0, 10);
    const Rows one_waits{{0, 0, 1}, {0}};
    const auto phases = [&](const Sizes& offsets, const Sizes& groups, bool partners, View<const std::int32_t> posted) {
        return time_phases(routes(), {sender, receiver, 4, packed}, size, offsets, groups, partners, given(),
                           {one_waits, posted});
    };
    const Formula chain = phases({0, 2}, {0, 1}, false, {});
    EXPECT_DOUBLE_EQ(chain.busy[0], 2 * 27);
    EXPECT_EQ(static_cast<Busy>(chain.kind[0]), Busy::chain);
    EXPECT_EQ(chain.index[0], 1);
    EXPECT_DOUBLE_EQ(phases({0, 1, 2}, {0, 1, 2}, false, {}).busy[1], 27) << "a batch begins anew";
    costs.setup = 4;
    const Formula waves = phases({0, 1, 2}, {0, 2}, false, {});
    EXPECT_DOUBLE_EQ(waves.busy[1], 2 * 27 + 2 * 4) << "rank 0 is in both phases";
    EXPECT_EQ(static_cast<Busy>(waves.kind[1]), Busy::partners);
    EXPECT_EQ(waves.index[1], 0);
    EXPECT_EQ(waves.setups[1], 2);
    EXPECT_DOUBLE_EQ(phases({0, 2}, {0, 1}, true, {}).busy[0], 2 * 27 + 4) << "waves of a phase";
    const Array<std::int32_t> posted{0, 1};
    EXPECT_DOUBLE_EQ(phases({0, 1, 2}, {0, 2}, false, posted).busy[1], 2 * 27 + 4) << "no waves in a timetable";
}

// Rank 1 passes on to rank 3 what rank 0 sends it first: 5 + 10, 5 on the way and 7; then 5 + 8, 7 on the way and 7.
TEST_F(Formulas, StagesOneAfterTheOther) {
    const MessageCosts all = given();
    const Array<std::int32_t> node{0, 1, 2, 3}, zero{0, 0}, ends{2, 1}, one{1}, three{3};
    const Array<std::int64_t> ten{10, 10}, eight{8};
    const Array<std::uint8_t> second{0, 1}, none{0};
    StageClock clock(network, node, all, false, 0);
    clock.run({zero, ends, ten, {}, {}, second});
    EXPECT_DOUBLE_EQ(clock.now(), 30);
    clock.run({one, three, eight, {}, {}, none});
    clock.finish();
    EXPECT_DOUBLE_EQ(clock.now(), 27 + 13 + 7 + 7);
    EXPECT_DOUBLE_EQ(clock.work(), 3 * 5 + 3 * 7);
    EXPECT_DOUBLE_EQ(clock.busiest(), 5 + 7);
}

}  // namespace
}  // namespace conset
