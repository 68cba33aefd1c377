// The life of a message, step by step with a pencil: the engine alone on both clocks, with a network in which every
// message flows at 1 B per unit of time; then `flow` and `wormhole`, where the same must come out.
#include "conset/array.hpp"
#include "conset/simulation/release/release.hpp"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "simulation/given.hpp"

namespace conset {
namespace {

using test::Given;

// Latency, hops, then a unit of time per byte; nothing is shared.
template <class T>
class Straight : public Carrier<T> {
public:
    using Time = T;
    explicit Straight(const Given<Time>& given)
        : given_(given),
          routes_(given.routes()),
          release_(routes_, given.messages(), given.with_costs(), events_, *this) {}

    static Times<Time> run(const Given<Time>& given) { return Straight(given).run(); }

    void depart(std::int32_t m, Time at) override {
        events_.at(at + given_.latency[0] + hops(m) * given_.hop[0], EventKind::header, m);
    }
    void stream(std::int32_t m, Time at) override { events_.at(at, EventKind::stream, m); }
    std::int32_t hops(std::int32_t m) const override {
        return routes_.network.hops(routes_.source[m], routes_.target[m]);
    }

private:
    Times<Time> run() {
        release_.begin();
        while (events_.next() < kNeverOf<Time>) {
            const Time now = events_.next();
            events_.open(now);
            while (events_.has_due()) handle(events_.take(), now);
            events_.close();
        }
        EXPECT_EQ(release_.undelivered(), 0);
        return std::move(release_.times);
    }
    void handle(const typename Events<Time>::Event& event, Time now) {
        const std::int32_t m = event.which;
        switch (event.kind) {
            case EventKind::header: release_.arrived(m, now); break;
            case EventKind::stream:
                release_.flows(m, now);
                events_.at(now + static_cast<Time>(given_.bytes[m]), EventKind::ended, m);
                break;
            case EventKind::ended: release_.left(m, now); break;
            default: release_.handle(event, now);
        }
    }

    const Given<Time>& given_;
    Routes routes_;
    Events<Time> events_;
    Release<Time> release_;
};

struct InFlow {
    using Time = double;
    static Times<double> run(const Given<double>& given) { return test::flow(given).times; }
};

struct InWormhole {
    using Time = double;
    static Times<double> run(const Given<double>& given) { return test::wormhole(given).times; }
};

// A row of four nodes. A message of 10 B over one link alone: 5 to send, 3 + 2 of latency, 10 of bytes, 7 to receive.
template <class Model>
class Life : public testing::Test {
protected:
    using Time = typename Model::Time;
    using Values = Array<Time>;
    Life() : given(Network::box({4}, false, Tie::plus)) {
        given.send = {5};
        given.receive = {7};
        given.latency = {3};
        given.hop = {2};
        given.copy = {4};
    }
    Times<Time> run() const { return Model::run(given); }

    Given<Time> given;
};

using Models = testing::Types<Straight<double>, Straight<std::int64_t>, InFlow, InWormhole>;
struct ModelName {
    template <class Model>
    static std::string GetName(int) {
        if (std::is_same_v<Model, Straight<double>>) return "seconds";
        if (std::is_same_v<Model, Straight<std::int64_t>>) return "cycles";
        return std::is_same_v<Model, InFlow> ? "flow" : "wormhole";
    }
};
TYPED_TEST_SUITE(Life, Models, ModelName);

TYPED_TEST(Life, AMessageAlonePaysEveryStepOnce) {
    this->given.add(0, 1, 10);
    const auto times = this->run();
    EXPECT_EQ(times.start[0], 0);
    EXPECT_EQ(times.sent[0], 5);
    EXPECT_EQ(times.flowed[0], 10);
    EXPECT_EQ(times.left[0], 20);
    EXPECT_EQ(times.end[0], 27);
}

TYPED_TEST(Life, AMessageOfNoBytesStillPaysOverheadsAndLatency) {
    this->given.add(0, 2, 0);
    EXPECT_EQ(this->run().end[0], 5 + 3 + 4 + 7);
}

TYPED_TEST(Life, InsideANodeItIsCopiedWithoutLatency) {
    auto& given = this->given;
    given.add(0, 0, 10);
    given.add(1, 2, 10);
    given.on_nodes({0, 3, 3});
    const auto times = this->run();
    for (const int m : {0, 1}) {
        EXPECT_EQ(times.sent[m], 5);
        EXPECT_EQ(times.flowed[m], 5);
        EXPECT_EQ(times.left[m], 9);
        EXPECT_EQ(times.end[m], 16);
    }
}

TYPED_TEST(Life, SendsOfARankFollowEachOtherAtItsProcessor) {
    auto& given = this->given;
    given.send = {10};
    given.add(0, 1, 10);
    given.add(0, 2, 10);
    const auto times = this->run();
    EXPECT_EQ(times.start, (Array<typename TypeParam::Time>{0, 0})) << "slots without limit";
    EXPECT_EQ(times.sent[1], 20);
    EXPECT_EQ(times.end[0], 10 + 5 + 10 + 7);
    EXPECT_EQ(times.end[1], 20 + 7 + 10 + 7);
}

TYPED_TEST(Life, ASlotIsFreeOnceTheBytesHaveLeft) {
    auto& given = this->given;
    for (const int t : {1, 2, 1}) given.add(0, t, 10);
    given.execution.in_flight = 1;
    EXPECT_EQ(this->run().start, (Array<typename TypeParam::Time>{0, 20, 42})) << "not at delivery, 27 and 49";
    given.bytes = {5, 5, 5};
    given.execution.in_flight = 2;
    EXPECT_EQ(this->run().start, (Array<typename TypeParam::Time>{0, 0, 15}));
}

TYPED_TEST(Life, SlotsAreTakenInPostingOrder) {
    auto& given = this->given;
    given.add(0, 1, 10);
    given.add(0, 2, 10);
    given.order = {1, 0};
    given.execution.in_flight = 1;
    EXPECT_EQ(this->run().start, (Array<typename TypeParam::Time>{22, 0}));
}

TYPED_TEST(Life, InAScheduleTheFirstOfAListHoldsUpTheOthers) {
    auto& given = this->given;
    given.add(2, 3, 10);
    given.add(0, 1, 10, 0, {0});  // after the first
    given.add(0, 2, 10);
    EXPECT_EQ(this->run().start[2], 0) << "a trace without slots has no lists";
    given.phase_offsets = {0, 3};
    EXPECT_EQ(this->run().start, (Array<typename TypeParam::Time>{0, 27, 27}));
}

TYPED_TEST(Life, ReceivesFollowEachOtherAtTheirProcessor) {
    auto& given = this->given;
    given.add(1, 0, 2);
    given.add(2, 0, 2, 1);
    const auto times = this->run();
    EXPECT_EQ(times.left, (Array<typename TypeParam::Time>{12, 15}));
    EXPECT_EQ(times.end, (Array<typename TypeParam::Time>{19, 26}));
}

TYPED_TEST(Life, OneProcessorSendsAndReceivesInOrderOfReadiness) {
    auto& given = this->given;
    given.add(0, 1, 2);  // left at 12
    given.add(1, 2, 2, 10);
    EXPECT_EQ(this->run().end[0], 19) << "two processors";
    given.execution.one_processor = true;
    EXPECT_EQ(this->run().end[0], 22) << "after the send, 10 to 15";
    given.time[1] = 13;
    const auto times = this->run();
    EXPECT_EQ(times.end[0], 19);
    EXPECT_EQ(times.start[1], 13);
    EXPECT_EQ(times.sent[1], 24) << "after the receive, 12 to 19";
}

TYPED_TEST(Life, TheReceiverMayWorkBeforeTheBytes) {
    auto& given = this->given;
    given.add(0, 1, 10);
    given.add(0, 1, 10);
    given.execution.receive_before = true;
    given.execution.in_flight = 1;
    const auto times = this->run();
    EXPECT_EQ(times.flowed[0], 17);
    EXPECT_EQ(times.left[0], 27);
    EXPECT_EQ(times.end[0], 27);
    EXPECT_EQ(times.start[1], 27);
}

TYPED_TEST(Life, ADependentStartsAtTheDelivery) {
    auto& given = this->given;
    given.add(0, 1, 10);
    given.add(1, 2, 10, 0, {0});
    given.add(2, 3, 10, 60, {1});
    const auto times = this->run();
    EXPECT_EQ(times.start, (Array<typename TypeParam::Time>{0, 27, 60}));
    EXPECT_EQ(times.end[2], 87);
}

TYPED_TEST(Life, ASetUpIsWorkOfBothEnds) {
    auto& given = this->given;
    given.add(0, 1, 10);
    given.add(1, 2, 10);
    given.phase_offsets = {0, 1, 2};
    given.execution.setup = 6;
    EXPECT_EQ(this->run().end, (Array<typename TypeParam::Time>{33, 12 + 27})) << "rank 1 pays two in a row";
    given.execution.policy = Policy::local;
    EXPECT_EQ(this->run().end, (Array<typename TypeParam::Time>{33, 33 + 6 + 27}));
}

TYPED_TEST(Life, LocalLetsARankGoOnWhenItsOwnAreDelivered) {
    auto& given = this->given;
    given.add(0, 1, 10);
    given.add(2, 3, 30);
    given.add(1, 0, 10);
    given.add(3, 2, 10);
    given.phase_offsets = {0, 2, 4};
    given.execution.policy = Policy::local;
    EXPECT_EQ(this->run().start, (Array<typename TypeParam::Time>{0, 0, 27, 47}));
}

TYPED_TEST(Life, AReadySignalIsWorkAtBothEndsAndLatency) {
    auto& given = this->given;
    given.add(0, 2, 10);
    given.phase_offsets = {0, 1};
    given.execution.policy = Policy::ready;
    given.execution.signal_send = given.execution.signal_receive = 1;
    given.execution.signal_hop = 2;
    const auto times = this->run();
    EXPECT_EQ(times.start[0], 1 + 2 * 2 + 1);
    EXPECT_EQ(times.end[0], 6 + 29);
}

TYPED_TEST(Life, AnExchangeWaitsForBothSignals) {
    auto& given = this->given;
    given.add(2, 1, 10);
    given.add(0, 1, 10);
    given.add(1, 0, 10);
    given.phase_offsets = {0, 1, 3};
    given.execution.policy = Policy::ready;
    given.execution.signal_send = given.execution.signal_receive = 1;
    given.execution.signal_hop = 2;
    auto times = this->run();
    EXPECT_EQ(times.start, (Array<typename TypeParam::Time>{4, 35, 31}));
    EXPECT_EQ(times.sent[2], 37) << "after the signal";
    given.execution.exchanges = true;
    times = this->run();
    EXPECT_EQ(times.start, (Array<typename TypeParam::Time>{4, 35, 35}));
}

TYPED_TEST(Life, ABarrierOpensAGroupForAll) {
    auto& given = this->given;
    given.add(0, 1, 10);
    given.add(2, 3, 10);
    given.add(1, 0, 10);
    given.phase_offsets = {0, 1, 1, 2, 3};  // the second phase is empty
    given.execution.policy = Policy::barrier;
    given.execution.barrier = 9;
    using Values = Array<typename TypeParam::Time>;
    EXPECT_EQ(this->run().start, (Values{0, 36, 72}));
    given.execution.first_barrier = true;
    EXPECT_EQ(this->run().start, (Values{9, 45, 81}));
    given.execution.every = 3;
    EXPECT_EQ(this->run().start, (Values{9, 9, 45}));
    given.execution.setup = 6;
    EXPECT_EQ(this->run().start, (Values{15, 15, 57})) << "after its barrier";
}

TYPED_TEST(Life, ReceivesInListOrderOrFirstComeFirstServed) {
    auto& given = this->given;
    given.add(0, 1, 10, 1);
    given.add(2, 1, 2);
    given.execution.receives = 1;
    using Values = Array<typename TypeParam::Time>;
    auto times = this->run();
    EXPECT_EQ(times.flowed, (Values{11, 28})) << "the receive is in use until delivery";
    EXPECT_EQ(times.end, (Values{28, 37}));
    given.execution.receive_list = false;
    times = this->run();
    EXPECT_EQ(times.flowed, (Values{12, 10}));
    EXPECT_EQ(times.end, (Values{29, 19}));
}

TYPED_TEST(Life, AboveTheEagerThresholdItAsksFirst) {
    auto& given = this->given;
    given.add(0, 1, 10);
    given.add(2, 3, 4);
    given.execution.eager = 4;
    given.execution.signal_send = given.execution.signal_receive = 1;
    given.execution.signal_hop = 2;
    const auto times = this->run();
    EXPECT_EQ(times.end[0], 4 + 4 + 27) << "a request, a grant";
    EXPECT_EQ(times.end[1], 5 + 5 + 4 + 7);
}

TYPED_TEST(Life, WithoutAReceiveItIsBuffered) {
    auto& given = this->given;
    given.add(0, 1, 10, 5);
    given.add(2, 1, 2);
    given.add(2, 3, 10);
    given.execution.receives = 1;
    given.execution.in_flight = 1;
    given.execution.eager = 20;
    given.execution.buffers = 2;
    using Values = Array<typename TypeParam::Time>;
    auto times = this->run();
    EXPECT_EQ(times.left, (Values{25, 12, 12 + 20}));
    EXPECT_EQ(times.end, (Values{32, 32 + 7 + 4, 39})) << "copied out when its receive is there";
    given.execution.buffers = 1;
    times = this->run();
    EXPECT_EQ(times.left[1], 34) << "too large: waits, with its slot, for the receive at 32";
    EXPECT_EQ(times.start[2], 34);
    EXPECT_EQ(times.end[1], 41);
}

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
