// First fit: limits of every kind, the order of placing, and the bit rows beneath.
#include "conset/array.hpp"
#include "conset/scheduling/first_fit.hpp"

#include <gtest/gtest.h>

#include "conset/scheduling/occupancy.hpp"
#include "conset/scheduling/random_schedule.hpp"
#include "conset/stop.hpp"
#include "instances.hpp"

namespace conset {
namespace {

using testing_::Ints;
using testing_::Pattern;

const Ints narrow{1};

Resources resources_of(const Network& network, const Pattern& pattern, const Limits& limits) {
    return {{network, pattern.source, pattern.target, {}, {}}, narrow, limits};
}

TEST(Occupancy, FindsTheFirstPhaseOpenInAllRows) {
    Occupancy occupancy;
    const Ints rows{occupancy.add_row(1), occupancy.add_row(2)};
    for (std::int32_t phase = 0; phase < 700; ++phase) {
        EXPECT_EQ(occupancy.find(rows, 0), phase);
        if (phase % 2 == 0) {
            occupancy.take(rows[0], phase);
        } else {
            occupancy.take(rows[1], phase);
            EXPECT_FALSE(occupancy.full(rows[1], phase));  // room for a second one
            EXPECT_EQ(occupancy.find(rows, 0), phase);
            occupancy.take(rows[1], phase);
        }
    }
    EXPECT_EQ(occupancy.find(std::span(rows).first(1), 0), 1);
    EXPECT_EQ(occupancy.find(std::span(rows).last(1), 65), 66);
    EXPECT_EQ(occupancy.find(rows, 5000), 5000);
    EXPECT_EQ(occupancy.find({}, 3), 3);
}

TEST(Occupancy, CountsToAnyCapacity) {
    for (const std::int32_t capacity : {1, 2, 3, 7, 8, 1000}) {
        Occupancy occupancy;
        const std::int32_t row = occupancy.add_row(capacity);
        for (const std::int32_t phase : {3, 64, 200}) {
            for (std::int32_t count = 0; count < capacity; ++count) {
                EXPECT_FALSE(occupancy.full(row, phase));
                occupancy.take(row, phase);
            }
            EXPECT_TRUE(occupancy.full(row, phase));
        }
        EXPECT_FALSE(occupancy.full(row, 65));
    }
}

TEST(Occupancy, PhasesOfAGroupShareARow) {
    for (const std::int32_t capacity : {1, 2}) {
        for (const std::int32_t group : {2, 3, 5}) {
            Occupancy occupancy;
            const std::int32_t shared = occupancy.add_row(capacity, group), own = occupancy.add_row(1);
            const Ints rows{shared, own}, alone{shared};
            for (std::int32_t k = 0; k < 40 * capacity; ++k) {
                const std::int32_t phase = occupancy.find(rows, 0);
                EXPECT_EQ(phase, k / capacity * group + k % capacity);
                for (const std::int32_t row : rows) occupancy.take(row, phase);
            }
            const std::int32_t middle =
                20 * group + group - 1;  // of a full group, with words between its phases or not
            occupancy.release(shared, middle);
            EXPECT_EQ(occupancy.find(alone, 0), 20 * group);
            occupancy.take(shared, middle);
            EXPECT_EQ(occupancy.find(alone, 0), 40 * group);
        }
    }
}

TEST(FirstFit, SlotsOfAPhaseShareItsPorts) {
    const Network line = Network::box({6}, false, Tie::parity);
    const Pattern pattern = testing_::all_to_all(6);
    for (const std::int32_t planes : {2, 3}) {
        Limits limits{1, 1, 1, 0, false};
        limits.planes = planes;
        const Resources resources = resources_of(line, pattern, limits);
        EXPECT_EQ(resources.least_phases(), (9 - 1) / planes + 1 > 5 ? (9 - 1) / planes + 1 : 5);
        const Ints slot = first_fit(resources, order_longest_first(resources, {}), {}, {});
        Ints phase = slot;
        for (std::int32_t& each : phase) each /= planes;
        testing_::expect_within_limits(resources_of(line, pattern, {1, 1, 0, 0, false}), phase);
        testing_::expect_within_limits(resources_of(line, pattern, {0, 0, 1, 0, false}), slot);
    }
}

TEST(FirstFit, OrdersByRouteSizeAndLoad) {
    const Network line = Network::box({4}, false, Tie::parity);
    const Pattern pattern{{0, 1, 2, 0, 1}, {1, 2, 3, 3, 3}};  // hops 1, 1, 1, 3, 2
    const Limits limits{1, 1, 1, 0, false};
    const Array<std::int64_t> size{5, 5, 5, 1, 1};
    // Link 0→1 carries 2, 1→2 and 2→3 carry 3, receive port 3 takes 3: of the short ones 0→1 is lightest.
    EXPECT_EQ(order_longest_first(resources_of(line, pattern, limits), size), (Ints{3, 4, 1, 2, 0}));
    EXPECT_EQ(order_longest_first(resources_of(line, pattern, limits), {}), (Ints{3, 4, 1, 2, 0}));
    const Array<std::int64_t> other{std::int64_t{1} << 40, 1, 2, 1, 1};
    EXPECT_EQ(order_longest_first(resources_of(line, pattern, limits), other), (Ints{3, 4, 0, 2, 1}));
}

TEST(FirstFit, KeepsEveryLimit) {
    const Array<Limits> many{{1, 1, 0, 0, false}, {1, 1, 1, 0, false}, {2, 3, 2, 0, false}, {0, 0, 0, 4, false},
                             {0, 0, 3, 5, false}, {1, 1, 1, 0, true},  {2, 2, 0, 0, true},  {0, 0, 0, 0, true}};
    for (const Network& network :
         {Network::box({4, 3}, true, Tie::parity), Network::hypercube(3), Network::crossbar(9)}) {
        for (const Limits& limits : many) {
            for (std::uint64_t seed = 0; seed < 10; ++seed) {
                const Pattern pattern = testing_::random_pattern(network.nodes(), 150, seed);
                const Resources resources = resources_of(network, pattern, limits);
                const Ints phase = first_fit(resources, order_longest_first(resources, {}), {}, {});
                testing_::expect_within_limits(resources, phase);
                if (limits.exchange) testing_::expect_exchanges(pattern, phase);
            }
        }
    }
}

TEST(FirstFit, WithoutLimitsIsOnePhase) {
    const Network cube = Network::hypercube(3);
    const Pattern pattern = testing_::all_to_all(8);
    const Resources resources = resources_of(cube, pattern, {});
    EXPECT_EQ(testing_::phases(first_fit(resources, order_longest_first(resources, {}), {}, {})), 1);
}

TEST(FirstFit, WaitsForWhatComesBefore) {
    const Network crossbar = Network::crossbar(8);
    const Pattern pattern{{0, 2, 4, 6}, {1, 3, 5, 7}};  // share nothing: one phase but for the order
    const Resources resources = resources_of(crossbar, pattern, {1, 1, 0, 0, false});
    const Ints first{3, 1, 3}, second{1, 0, 0};
    EXPECT_EQ(first_fit(resources, order_longest_first(resources, {}), first, second), (Ints{2, 1, 0, 0}));
}

TEST(FirstFit, PairsExchanges) {
    const Network crossbar = Network::crossbar(4);
    const Pattern pattern{{0, 1, 1, 2}, {1, 0, 2, 1}};
    const Resources resources = resources_of(crossbar, pattern, {1, 1, 0, 0, true});
    EXPECT_EQ(first_fit(resources, Ints{0, 1, 2, 3}, {}, {}), (Ints{0, 0, 1, 1}));
}

TEST(FirstFit, AStopEndsALongOneAndNoCheapOne) {
    const Network crossbar = Network::crossbar(300);
    const Limits one{1, 1, 0, 0, false};
    const Pattern many = testing_::all_to_all(300), few = testing_::all_to_all(100);
    const Resources all = resources_of(crossbar, many, one), some = resources_of(crossbar, few, one);
    const Ints order = order_longest_first(all, {}), short_order = order_longest_first(some, {});
    ask_stop();
    EXPECT_EQ(first_fit(some, short_order, {}, {}).size(), few.source.size());
    EXPECT_THROW(first_fit(all, order, {}, {}), Interrupted);
    EXPECT_THROW(schedule_random(all, false, {}, {}, 1), Interrupted);
    reset_search();
}

}  // namespace
}  // namespace conset
