// Work on a line of four nodes and on a crossbar, added up by hand.
#include "conset/array.hpp"
#include "conset/network/profile.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace conset {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
const Array<double> any_size{std::numeric_limits<double>::infinity()};
const Array<double> no_overhead{0};
const Array<std::int32_t> one{1};

// A line of four nodes; link 2v leads up from node v, link 2v + 1 down.
class Line : public testing::Test {
protected:
    Network network = Network::box({4}, false, Tie::parity);
    Array<std::int32_t> source{0, 1, 3}, target{2, 3, 3};  // the last one stays inside its node
    Array<std::int64_t> size{10, 20, 99};
    Array<double> link{1};

    Routes routes() const { return {network, source, target, {}, {}}; }
    Work work() const { return {any_size, no_overhead, 0, 0, 0, 1, link, one, 1, 0}; }
    Profile profile(Array<std::int64_t> phases, Array<std::int64_t> batches, bool phase_by_phase,
                    const Work& costs) const {
        return profile_phases(routes(), size, phases, batches, phase_by_phase, costs);
    }
};

TEST_F(Line, TotalsCountMessagesAndBytesOfEveryLink) {
    const Totals totals = count_totals(routes(), size);
    EXPECT_EQ(totals.messages, (Array<std::int64_t>{1, 0, 2, 0, 1, 0, 0, 0}));
    EXPECT_EQ(totals.bytes, (Array<std::int64_t>{10, 0, 30, 0, 20, 0, 0, 0}));
    const Array<std::int64_t> equal{5};
    EXPECT_EQ(count_totals(routes(), equal).bytes[2], 10);
}

TEST_F(Line, TheSlowestLinkOfEachRoute) {
    const Array<double> per_byte{1, 0, 2, 0, 3, 0, 0, 0};
    EXPECT_EQ(slowest_links(routes(), per_byte), (Array<double>{2, 3, 0}));
}

TEST_F(Line, BytesOfAPhaseAddUpOnALink) {
    const Profile together = profile({0, 3}, {0, 1}, false, work());
    EXPECT_EQ(together.busy, Array<double>{30});
    EXPECT_EQ(together.kind[0], static_cast<std::int32_t>(Resource::link));
    EXPECT_EQ(together.index[0], 2);
    EXPECT_EQ(profile({0, 1, 3}, {0, 1, 2}, false, work()).busy, (Array<double>{10, 20}));
    EXPECT_EQ(profile({0, 1, 3}, {0, 2}, false, work()).busy, (Array<double>{10, 30}));
}

TEST_F(Line, LoadSlowsALinkDownBeyondItsTolerance) {
    Work costs = work();
    costs.blocking = 1;
    EXPECT_EQ(profile({0, 3}, {0, 1}, false, costs).busy[0], 60);
    EXPECT_EQ(profile({0, 1, 3}, {0, 2}, true, costs).busy[1], 30) << "each phase has a load of one";
    costs.tolerance = 2;
    EXPECT_EQ(profile({0, 3}, {0, 1}, false, costs).busy[0], 30);
}

TEST_F(Line, AResourceForgetsEarlierBatches) {
    source = {0, 0, 0};
    target = {1, 1, 1};
    size = {3, 4, 5};
    EXPECT_EQ(profile({0, 1, 2, 3}, {0, 1, 2, 3}, false, work()).busy, (Array<double>{3, 4, 5}));
    EXPECT_EQ(profile({0, 1, 2, 3}, {0, 1, 2, 3}, true, work()).busy, (Array<double>{3, 4, 5}));
    EXPECT_EQ(profile({0, 1, 2, 3}, {0, 2, 3}, true, work()).busy, (Array<double>{3, 7, 5}));
}

TEST_F(Line, AMessageAloneTakesItsOverheadAndTheSlowestRate) {
    const Array<double> up_to{15, any_size[0]}, seconds{2, 7};
    Work costs = work();
    costs.step_up_to = up_to;
    costs.step_seconds = seconds;
    const Profile alone = profile({0, 1}, {0, 1}, false, costs);
    EXPECT_EQ(alone.busy[0], 12);
    EXPECT_EQ(alone.kind[0], static_cast<std::int32_t>(Resource::message));
    EXPECT_EQ(alone.most, (Array<double>{2, 2, 0, 10, 12}));
    EXPECT_EQ(alone.where, (Array<std::int64_t>{0, 2, -1, 0, 0}));
    EXPECT_EQ(profile({0, 1, 2}, {0, 1, 2}, false, costs).busy[1], 27) << "20 bytes are above the first step";
}

TEST_F(Line, NothingLeavesANode) {
    source = {3};
    target = {3};
    size = {9};
    const Profile idle = profile({0, 1, 1}, {0, 1, 2}, false, work());
    EXPECT_EQ(idle.busy, (Array<double>{0, 0}));
    EXPECT_EQ(idle.kind, (Array<std::int32_t>{-1, -1}));
    EXPECT_TRUE(profile({0}, {0}, false, work()).busy.empty());
}

TEST(Exchange, BytesThatMeetCountLess) {
    const Network network = Network::crossbar(3);
    const Array<std::int32_t> source{0, 1, 1}, target{1, 0, 2};
    const Array<std::int64_t> size{10, 4, 6}, phases{0, 2, 3}, batches{0, 2};
    const Work work{any_size, no_overhead, 0, 0, 1, 0.5, {}, one, 1, 0};
    // Node 1: 10 + 4 less 4 that met, then 6.
    const Profile profile = profile_phases({network, source, target, {}, {}}, size, phases, batches, true, work);
    EXPECT_EQ(profile.busy, (Array<double>{10, 16}));
    EXPECT_EQ(profile.index[1], 1);
    // All at once node 1 has two partners and synchronizes with neither; a bound lets them meet all the same.
    Work work_of_all = work;
    const Array<std::int64_t> once{0, 3}, batch{0, 1};
    const Routes routes{network, source, target, {}, {}};
    EXPECT_EQ(profile_phases(routes, size, once, batch, true, work_of_all).busy, (Array<double>{20}));
    work_of_all.match_all_exchanges = true;
    EXPECT_EQ(profile_phases(routes, size, once, batch, true, work_of_all).busy, (Array<double>{16}));
}

TEST_F(Line, RoundsTakeEveryLthOfEachPortAndLink) {
    source = {0, 0, 0, 1};
    target = {1, 2, 3, 2};
    const Array<std::int32_t> order{3, 2, 1, 0};
    const Array<double> seconds{1, 2, 3, 9};
    EXPECT_EQ(rank_rounds(routes(), order, seconds, {1, no_limit, {}}), (Array<double>{9, 2, 1}));
    EXPECT_EQ(rank_rounds(routes(), order, seconds, {2, no_limit, {}}), (Array<double>{9, 1}));
    EXPECT_EQ(rank_rounds(routes(), order, seconds, {no_limit, no_limit, {}}), Array<double>{9});
    const Array<std::int64_t> single{1};
    EXPECT_EQ(rank_rounds(routes(), order, seconds, {no_limit, no_limit, single}), (Array<double>{9, 3, 2}));
}

}  // namespace
}  // namespace conset
