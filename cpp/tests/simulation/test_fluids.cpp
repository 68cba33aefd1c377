// What the models of fluids share: where a run ends, cycles, rates that change.
#include "conset/array.hpp"

#include <gtest/gtest.h>

#include <string>

#include "simulation/given.hpp"

namespace conset {
namespace {

using test::Given;

class Fluids : public testing::TestWithParam<bool> {
protected:
    Fluids() : given(Network::box({4}, false, Tie::plus)) {
        given.send = {5};
        given.receive = {7};
        given.latency = {3};
        given.hop = {2};
    }
    Simulated run() const { return GetParam() ? test::wormhole(given) : test::flow(given); }
    std::int32_t links() const { return given.network.link_slots(); }

    Given<double> given;
};
INSTANTIATE_TEST_SUITE_P(, Fluids, testing::Bool(),
                         [](const auto& which) { return which.param ? "wormhole" : "flow"; });

TEST_P(Fluids, TheClockStopsAtUntil) {
    given.add(0, 1, 10);
    given.add(2, 3, 1);
    given.execution.until = 27;
    EXPECT_FALSE(run().late) << "the last message ends at 27";
    for (const double until : {6.0, 19.0, 26.0}) {  // in its latency, while bytes flow, while its receiver works
        given.execution.until = until;
        const Simulated result = run();
        EXPECT_TRUE(result.late);
        EXPECT_FALSE(result.cut);
        EXPECT_LE(result.stopped, until);
        EXPECT_EQ(result.times.end[0], test::kInfinite) << until;
        EXPECT_EQ(result.times.end[1], until < 18 ? test::kInfinite : 18) << until;
        EXPECT_TRUE(result.cycle.message.empty()) << "no deadlock";
    }
}

TEST_P(Fluids, WorkIsCountedAndEndsARun) {
    for (int m = 0; m < 8; ++m) given.add(m % 4, (m + 1) % 4, 10 + m);
    const Simulated whole = run();
    EXPECT_FALSE(whole.cut);
    EXPECT_GT(whole.work, 8);
    EXPECT_EQ(run().work, whole.work) << "the same input, the same count";
    given.execution.work = whole.work;
    EXPECT_EQ(run().times.end, whole.times.end);
    given.execution.work = whole.work / 2;
    const Simulated cut = run();
    EXPECT_TRUE(cut.cut);
    EXPECT_FALSE(cut.late);
    EXPECT_EQ(*std::max_element(cut.times.end.begin(), cut.times.end.end()), test::kInfinite);
    EXPECT_TRUE(cut.cycle.message.empty());
}

TEST_P(Fluids, ACycleOfDependences) {
    given.add(0, 1, 8);
    given.add(1, 2, 8, 0, {2});
    given.add(2, 3, 8, 0, {1});
    const Simulated result = run();
    EXPECT_EQ(result.cycle.message, (Array<std::int32_t>{1, 2}));
    EXPECT_EQ(result.cycle.place, (Array<std::int32_t>{-1, -1})) << "deliveries, no resources";
    EXPECT_EQ(result.times.end[0], 25);
    EXPECT_EQ(result.times.end[1], test::kInfinite);
}

TEST_P(Fluids, ACycleThroughAReceive) {
    given.add(0, 1, 8, 0, {1});
    given.add(2, 1, 8);
    given.execution.receives = 1;
    const Simulated result = run();
    EXPECT_EQ(result.cycle.message, (Array<std::int32_t>{0, 1}));
    EXPECT_EQ(result.cycle.place, (Array<std::int32_t>{-1, links() + 4 + 1}));
}

TEST_P(Fluids, ACycleThroughABuffer) {
    given.add(0, 1, 2, 0, {2});
    given.add(2, 1, 2);
    given.add(3, 1, 2, 20);
    given.execution.receives = 1;
    given.execution.eager = given.execution.buffers = 3;
    const Simulated result = run();
    EXPECT_EQ(result.buffered, 1);
    EXPECT_EQ(result.buffered_most, 2);
    EXPECT_EQ(result.cycle.message, (Array<std::int32_t>{0, 2, 1}));
    EXPECT_EQ(result.cycle.place, (Array<std::int32_t>{-1, links() + 2 * 4 + 1, links() + 4 + 1}));
}

TEST_P(Fluids, ASlotAndALaterPhaseWaitForEachOther) {
    given.add(0, 1, 2, 0, {1});
    given.add(1, 0, 2);
    given.phase_offsets = {0, 1, 2};
    given.execution.policy = Policy::barrier;
    EXPECT_EQ(run().cycle.message, (Array<std::int32_t>{0, 1}));
    given.execution.policy = Policy::local;
    EXPECT_EQ(run().cycle.message, (Array<std::int32_t>{0, 1}));
}

TEST_P(Fluids, BytesStandStillWhileTheirReceiverSends) {
    given.add(0, 1, 10);  // flows from 10 on
    given.add(1, 2, 10, 12);
    given.execution.preempts = true;
    const Simulated result = run();
    EXPECT_DOUBLE_EQ(result.times.left[0], 25) << "sends from 12 to 17";
    EXPECT_DOUBLE_EQ(result.times.end[0], 32);
    EXPECT_DOUBLE_EQ(result.times.end[1], 12 + 27);
}

TEST_P(Fluids, AnExchangeSharesANodeAtItsWeight) {
    given.add(0, 1, 12);
    given.add(1, 0, 6);
    given.phase_offsets = {0, 2};
    given.out = given.in = 2;
    given.node = 1;
    given.exchange_weight = 0.75;
    // without exchanges each flows at 1/2: the short one ends at 10 + 12, the other has 6 B more at 1
    EXPECT_DOUBLE_EQ(run().times.left[1], 22);
    EXPECT_DOUBLE_EQ(run().times.left[0], 28);
    given.execution.exchanges = true;
    given.execution.policy = Policy::local;
    // together each at 1 / (2 · 0.75) until the short one ends at 10 + 9, then 6 B at 1
    const Simulated result = run();
    EXPECT_DOUBLE_EQ(result.times.left[1], 19);
    EXPECT_DOUBLE_EQ(result.times.left[0], 25);
}

TEST(HeldBy, FlowNamesWhatLimitsAMessageAtItsEnd) {
    Given<double> given(Network::box({4}, false, Tie::plus));
    given.add(0, 3, 12);
    given.add(1, 0, 1);
    given.phase_offsets = {0, 2};
    given.link = {4, 4, 2, 4, 0.5, 4, 4, 4};
    given.out = 3;
    given.in = 1;
    const std::int32_t links = given.network.link_slots();
    const auto held = [&] { return test::flow(given).held_by; };
    EXPECT_EQ(held(), (Array<std::int32_t>{4, links + 4 + 0})) << "the link 2 → 3; the port into 0";
    given.width = {2};  // one message takes one unit of a wide link
    EXPECT_EQ(held(), (Array<std::int32_t>{4, links + 4 + 0}));
    given.width = {1};
    given.node = 0.25;
    given.exchange_weight = 0.5;
    given.execution.exchanges = true;
    EXPECT_EQ(held(), (Array<std::int32_t>{links + 2 * 4 + 0, links + 2 * 4 + 0})) << "node 0 has both";
    given.node = 10;
    EXPECT_EQ(held(), (Array<std::int32_t>{4, links + 4 + 0})) << "the solver with weights says the same";
    given.width = {2};
    EXPECT_EQ(held(), (Array<std::int32_t>{4, links + 4 + 0}));
}

}  // namespace
}  // namespace conset
