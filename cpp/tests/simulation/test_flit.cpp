// Flits on a line of four routers, counted by hand; the worked example of two worms that share two links.
#include "conset/array.hpp"
#include "conset/simulation/flit/flit.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace conset {
namespace {

// A line of four nodes: port 0 leads up, port 1 down, port 2 is the node.
class FlitLine : public testing::Test {
protected:
    Network network = Network::box({4}, false, Tie::plus);
    Array<std::int32_t> link_source{0, 0, 1, 1, 2, 2, 3, 3}, out{0, -1, 0, 1, 0, 1, -1, 1},
        in{1, -1, 1, 0, 1, 0, -1, 0};
    Array<std::uint8_t> ring = Array<std::uint8_t>(8, 0);
    Array<std::int32_t> source, target, flits, deps, order;
    Array<std::int64_t> bytes, release, dep_offsets{0}, phase_offsets, send{0}, receive{0};
    std::int32_t lanes = 4;
    std::int64_t worm_flits = 0;
    Execution<std::int64_t> execution;

    FlitLine() { execution.inside_crosses = true; }
    void add(std::int32_t s, std::int32_t t, std::int32_t count, std::int64_t cycle = 0,
             const Array<std::int32_t>& after = {}) {
        source.push_back(s);
        target.push_back(t);
        flits.push_back(count);
        bytes.push_back(8 * count);
        release.push_back(cycle);
        deps.insert(deps.end(), after.begin(), after.end());
        dep_offsets.push_back(static_cast<std::int64_t>(deps.size()));
    }
    FlitTimes run(Policy policy = Policy::none, std::int64_t in_flight = 0, std::int64_t limit = 0) const {
        Execution<std::int64_t> how = execution;
        how.policy = policy;
        how.in_flight = in_flight;
        how.send = send;
        how.receive = receive;
        how.detailed = true;
        return simulate_flit({3, link_source, out, in, ring, lanes, 8},
                             {{network, source, target, {}, {}},
                              {source, target, bytes, release, dep_offsets, deps, phase_offsets, order},
                              flits,
                              worm_flits},
                             how, {0, static_cast<std::int64_t>(source.size()), limit});
    }
};

TEST_F(FlitLine, AloneAMessageTakesFiveAndFourAHopAndItsFlits) {
    add(0, 3, 5);
    add(2, 2, 3, 1000);
    const FlitTimes times = run();
    EXPECT_EQ(times.end, (Array<std::int64_t>{5 + 12 + 5, 1000 + 5 + 3}));
    EXPECT_EQ(times.start, (Array<std::int64_t>{0, 1000}));
    EXPECT_EQ(times.moves, 5 * 4 + 3);
    EXPECT_LT(times.cycles, 100) << "idle cycles are skipped";
}

TEST_F(FlitLine, TwoWormsTakeTurns) {
    add(0, 2, 4);
    add(1, 2, 4, 4);
    add(2, 0, 1);
    add(3, 3, 2);
    EXPECT_EQ(run().end, (Array<std::int64_t>{20, 21, 14, 7}));
}

TEST_F(FlitLine, ADependentGoesInTheCycleAfterTheDelivery) {
    add(0, 1, 1);
    add(1, 0, 1, 0, {0});
    EXPECT_EQ(run().end, (Array<std::int64_t>{10, 21}));
}

TEST_F(FlitLine, OneInFlightAndPackets) {
    add(0, 1, 10);
    add(0, 1, 10);
    EXPECT_EQ(run().end, (Array<std::int64_t>{19, 29}));
    EXPECT_EQ(run(Policy::none, 1).end, (Array<std::int64_t>{19, 39}));
    worm_flits = 4;
    EXPECT_EQ(run().end[0], 19) << "worms of a message follow each other";
}

TEST_F(FlitLine, OverheadsAreWorkBeforeAndAfter) {
    add(0, 1, 10);
    add(0, 1, 10);
    add(1, 2, 10, 0, {0});
    send = {20};
    receive = {30};
    const FlitTimes times = run();
    EXPECT_EQ(times.slot, (Array<std::int64_t>{0, 0, 20 + 19 + 30}));
    EXPECT_EQ(times.sent, (Array<std::int64_t>{20, 40, 89}));
    EXPECT_EQ(times.start, (Array<std::int64_t>{20, 40, 89}));
    EXPECT_EQ(times.left, (Array<std::int64_t>{39, 59, 108}));
    EXPECT_EQ(times.end, (Array<std::int64_t>{69, 99, 138})) << "the second waits for the receiver until 69";
    execution.one_processor = true;
    EXPECT_EQ(run().end, (Array<std::int64_t>{69, 99, 99 + 20 + 19 + 30})) << "a send after both receives";
}

TEST_F(FlitLine, ABarrierOpensPhasesForAll) {
    add(0, 1, 10);
    add(2, 3, 20);
    add(1, 0, 10);
    phase_offsets = {0, 2, 2, 3};
    execution.barrier = 50;
    EXPECT_EQ(run(Policy::barrier).end, (Array<std::int64_t>{19, 29, 29 + 50 + 19}));
    EXPECT_EQ(run(Policy::local).end[2], 19 + 1 + 19);
    execution.signal_send = execution.signal_receive = 8;
    execution.signal_hop = 4;
    EXPECT_EQ(run(Policy::ready).end, (Array<std::int64_t>{39, 49, 39 + 20 + 19}));
}

TEST_F(FlitLine, ACycleOfWaitsIsFound) {
    add(0, 1, 1, 0, {1});
    add(1, 0, 1, 0, {0});
    const FlitTimes times = run();
    EXPECT_EQ(times.cycle.message, (Array<std::int32_t>{0, 1}));
    EXPECT_EQ(times.cycle.place, (Array<std::int32_t>{-1, -1})) << "deliveries, not channels";
}

TEST_F(FlitLine, ALimitEndsTheLook) {
    add(0, 1, 1000);
    const FlitTimes times = run(Policy::none, 0, 100);
    EXPECT_EQ(times.end[0], -1);
    EXPECT_EQ(times.stopped, 100);
    EXPECT_TRUE(times.cycle.message.empty());
}

TEST_F(FlitLine, TheClockAndTheCountOfWorkEndARun) {
    add(0, 1, 1000);
    add(2, 3, 1);
    execution.until = 1009;
    EXPECT_FALSE(run().late);
    execution.until = 1008;
    FlitTimes times = run();
    EXPECT_TRUE(times.late);
    EXPECT_FALSE(times.cut);
    EXPECT_EQ(times.end, (Array<std::int64_t>{-1, 10}));
    execution.until = kNeverOf<std::int64_t>;
    execution.work = run().moves;
    EXPECT_FALSE(run().cut);
    execution.work = 500;
    times = run();
    EXPECT_TRUE(times.cut);
    EXPECT_FALSE(times.late);
    EXPECT_GT(times.moves, 500);
    EXPECT_LE(times.moves, 502) << "two switches a flit, in one cycle at most two";
    EXPECT_EQ(times.end[0], -1);
}

}  // namespace
}  // namespace conset
