// What a release engine is made of: partners of exchanges, processors, events.
#include <gtest/gtest.h>

#include "conset/array.hpp"
#include "conset/simulation/release/release.hpp"

namespace conset {
namespace {

TEST(ExchangePartners, TheKthOfEachDirectionMeet) {
    const Array<std::int32_t> source{0, 1, 0, 2, 1, 3, 0}, target{1, 0, 1, 2, 0, 0, 3};
    const Array<std::int64_t> phases{0, 6, 7};
    EXPECT_EQ(exchange_partners(source, target, phases), (Array<std::int32_t>{1, 0, 4, -1, 2, -1, -1}));
}

TEST(Processors, OneAfterTheOtherAndPreempted) {
    Processors<double> separate(1, false, false), one(1, true, false), preempting(1, true, true);
    for (Processors<double>* all : {&separate, &one, &preempting}) {
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

TEST(Processors, ASetUpTakesBoth) {
    Processors<std::int64_t> separate(1, false, false), one(1, true, false);
    EXPECT_EQ(separate.receive(0, 8, 0), 8);
    EXPECT_EQ(separate.both(0, 5, 3), 13);
    EXPECT_EQ(separate.send(0, 1, 3), 14);
    EXPECT_EQ(separate.receive(0, 1, 3), 14);
    EXPECT_EQ(one.receive(0, 8, 0), 8);
    EXPECT_EQ(one.both(0, 5, 3), 13);
}

TEST(Processors, RanksOfANodeShareOne) {
    Processors<std::int64_t> shared(3, true, false, {0, 1, 0});  // ranks 0 and 2 on one node
    EXPECT_EQ(shared.send(0, 10, 0), 10);
    EXPECT_EQ(shared.send(1, 4, 0), 4);
    EXPECT_EQ(shared.receive(2, 5, 3), 15);
    EXPECT_EQ(shared.both(0, 7, 20), 27);
    EXPECT_EQ(shared.both(2, 1, 20), 28);
    EXPECT_EQ(shared.sends_until(0), 28);
    EXPECT_EQ(shared.sends_until(1), 4);
}

TEST(Events, OfOneTimeGoByKindThenByNumber) {
    Events<std::int64_t> events;
    events.at(7, EventKind::stream, 0);
    events.at(7, EventKind::header, 2);
    events.at(7, EventKind::header, 1);
    events.at(9, EventKind::ended, 5);
    events.open(7);
    EXPECT_EQ(events.next(), 9);
    EXPECT_EQ(events.take().which, 1);
    events.at(7, EventKind::gate, 3);  // joins the batch, before the rest of it
    EXPECT_EQ(events.take().which, 3);
    EXPECT_EQ(events.take().which, 2);
    EXPECT_EQ(events.take().kind, EventKind::stream);
    EXPECT_FALSE(events.has_due());
    events.close();
    EXPECT_EQ(events.next(), 9);
}

// What only models of fluids have: stops, cycles of waits, bytes that stand still or share a node.

}  // namespace
}  // namespace conset
