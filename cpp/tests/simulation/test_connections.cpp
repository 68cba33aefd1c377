// Elements on connections, counted by hand: turns on a shared link, room behind, a receiver that is busy elsewhere.
#include "conset/array.hpp"
#include "conset/simulation/connections/connections.hpp"

#include <gtest/gtest.h>

namespace conset {
namespace {

// Servers and chains of stations by hand; every service takes 1 tick, hop ticks behind servers that have one.
class Open : public testing::Test {
protected:
    Array<std::int64_t> service, hop, turn_offsets{0}, elements, zero, dep_offsets{0};
    Array<std::int32_t> turns, next, first, last, connection, sender, receiver, deps;
    Array<Array<std::int32_t>> served;
    std::int32_t queue = 8;
    std::int64_t in_flight = 0, receives = 0;
    bool any = false;

    std::int32_t server(std::int64_t ticks = 1, std::int64_t behind = 0) {
        service.push_back(ticks);
        hop.push_back(behind);
        served.emplace_back();
        return static_cast<std::int32_t>(service.size()) - 1;
    }
    // A connection over these servers; later ones have later turns.
    void connect(const Array<std::int32_t>& over) {
        first.push_back(static_cast<std::int32_t>(next.size()));
        for (const std::int32_t s : over) {
            served[s].push_back(static_cast<std::int32_t>(next.size()));
            next.push_back(static_cast<std::int32_t>(next.size()) + 1);
        }
        next.back() = -1;
        last.push_back(static_cast<std::int32_t>(next.size()) - 1);
    }
    void send(std::int32_t on, std::int32_t from, std::int32_t to, std::int64_t count) {
        connection.push_back(on);
        sender.push_back(from);
        receiver.push_back(to);
        elements.push_back(count);
        zero.push_back(0);
        dep_offsets.push_back(static_cast<std::int64_t>(deps.size()));
    }
    OpenTimes run() {
        turns.clear();
        turn_offsets.assign(1, 0);
        for (const auto& stations : served) {
            turns.insert(turns.end(), stations.begin(), stations.end());
            turn_offsets.push_back(static_cast<std::int64_t>(turns.size()));
        }
        const std::int64_t never = std::int64_t{1} << 62;
        return simulate_connections({service, hop, turn_offsets, turns, next, first, last, queue},
                                    {connection,  sender, receiver, elements,  zero,     zero, zero, zero,  zero,  zero,
                                     dep_offsets, deps,   8,        in_flight, receives, any,  true, never, never, 0});
    }
};

TEST_F(Open, AnElementTakesEveryServiceAndHop) {
    connect({server(), server(1, 2), server()});
    send(0, 0, 1, 3);
    const OpenTimes times = run();
    EXPECT_EQ(times.end, (Array<std::int64_t>{7}));  // 1 + 1 + 2 + 1, and one tick for each of the other two
    EXPECT_EQ(times.left, (Array<std::int64_t>{3}));
    EXPECT_EQ(times.latency, (Array<std::int64_t>{5}));
    EXPECT_EQ(times.moves, 9);
}

TEST_F(Open, ALinkServesThoseThatWaitInTurn) {
    const std::int32_t link = server();
    connect({server(), link, server()});
    connect({server(), link, server()});
    send(0, 0, 2, 2);
    send(1, 1, 3, 2);
    // the link passes 0, 1, 0, 1 at ticks 1 to 4
    EXPECT_EQ(run().end, (Array<std::int64_t>{5, 6}));
}

TEST_F(Open, OnePlaceInAChannelHoldsTheSenderBack) {
    queue = 1;
    connect({server(), server(1, 2), server()});
    send(0, 0, 1, 2);
    // the second one leaves the gate at 2 … 3, crosses when the first is out at 5, and is out 4 ticks later
    EXPECT_EQ(run().end, (Array<std::int64_t>{9}));
}

TEST_F(Open, AReceiverThatIsBusyElsewhereLeavesElementsInTheChannels) {
    receives = 1;
    queue = 2;
    const std::int32_t into = server();
    connect({server(), into});
    connect({server(), into});
    send(0, 0, 2, 4);
    send(1, 1, 2, 4);
    const OpenTimes times = run();
    EXPECT_EQ(times.end, (Array<std::int64_t>{5, 9}));
    EXPECT_EQ(times.left, (Array<std::int64_t>{4, 8}));  // two are in the channel, the others follow from 5 on
}

TEST_F(Open, WhatWaitsForItselfIsLeftUndelivered) {
    connect({server(), server()});
    deps = {0};
    send(0, 0, 1, 1);
    dep_offsets = {0, 1};
    EXPECT_EQ(run().end, (Array<std::int64_t>{-1}));
}

}  // namespace
}  // namespace conset
