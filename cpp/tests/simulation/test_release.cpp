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

}  // namespace
}  // namespace conset
