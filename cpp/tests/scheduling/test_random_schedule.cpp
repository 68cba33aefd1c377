// Random schedules: permutations, free links, waiting; and the generator beneath.
#include "conset/array.hpp"
#include "conset/scheduling/random_schedule.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "conset/scheduling/phases.hpp"
#include "instances.hpp"

namespace conset {
namespace {

using testing_::Ints;
using testing_::Pattern;

const Ints narrow{1};

TEST(Random, GivesThePublishedNumbersOfSplitmix64) {
    Random random(1234567);  // first outputs of the reference implementation for this seed
    EXPECT_EQ(random.next(), 6457827717110365317U);
    EXPECT_EQ(random.next(), 3203168211198807973U);
    EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(Random, ShufflesToAPermutation) {
    Random random(7);
    std::array<int, 50> values{};
    std::iota(values.begin(), values.end(), 0);
    auto shuffled = values;
    random.shuffle(View<int>(shuffled));
    EXPECT_NE(shuffled, values);
    std::sort(shuffled.begin(), shuffled.end());
    EXPECT_EQ(shuffled, values);
}

TEST(RandomSchedule, KeepsPortsAndLinks) {
    for (const Network& network :
         {Network::box({4, 3}, false, Tie::parity), Network::hypercube(3), Network::crossbar(7)}) {
        for (const Limits& limits : {Limits{1, 1, 0, 0, false}, Limits{1, 1, 1, 0, false}, Limits{1, 1, 2, 0, false}}) {
            for (std::uint64_t seed = 0; seed < 10; ++seed) {
                const Pattern pattern = testing_::random_pattern(network.nodes(), 120, seed);
                const Resources resources({network, pattern.source, pattern.target, {}, {}}, narrow, limits);
                testing_::expect_within_limits(resources, schedule_random(resources, true, {}, {}, seed));
            }
        }
    }
}

TEST(RandomSchedule, TriesThePartnerOfAnExchangeFirst) {
    const Network crossbar = Network::crossbar(8);
    const Pattern pattern = testing_::all_to_all(8);
    const Resources resources({crossbar, pattern.source, pattern.target, {}, {}}, narrow, {1, 1, 0, 0, false});
    const auto exchanges = [&](const Ints& phase) {
        int count = 0;
        for (std::size_t a = 0; a < phase.size(); ++a)
            for (std::size_t b = 0; b < phase.size(); ++b)
                count += pattern.source[a] == pattern.target[b] && pattern.target[a] == pattern.source[b] &&
                         phase[a] == phase[b];
        return count;
    };
    int with = 0, without = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        with += exchanges(schedule_random(resources, true, {}, {}, seed));
        without += exchanges(schedule_random(resources, false, {}, {}, seed));
    }
    EXPECT_GT(with, 2 * without);
}

TEST(RandomSchedule, WaitsForEarlierPermutations) {
    const Network crossbar = Network::crossbar(8);
    const Pattern pattern{{0, 2, 4, 6, 5}, {1, 3, 5, 7, 5}};  // the last one stays inside its node
    const Resources resources({crossbar, pattern.source, pattern.target, {}, {}}, narrow, {1, 1, 0, 0, false});
    const Ints first{3, 1, 3, 0}, second{1, 0, 0, 4};
    EXPECT_EQ(schedule_random(resources, false, first, second, 5), (Ints{2, 1, 0, 0, 3}));
}

TEST(Phases, GroupMessagesAndCloseUp) {
    const Ints phase{5, 2, 5, 2, 9};
    const Phases phases = group_phases(phase);
    EXPECT_EQ(phases.offsets, (Array<std::int64_t>{0, 2, 4, 5}));
    EXPECT_EQ(phases.message, (Ints{1, 3, 0, 2, 4}));
    EXPECT_EQ(group_phases({}).offsets, (Array<std::int64_t>{0}));
}

}  // namespace
}  // namespace conset
