// Unequal sizes: annealed phases, split messages, timetables and balance keep their promises on random patterns.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "conset/array.hpp"
#include "conset/scheduling/balance.hpp"
#include "conset/scheduling/birkhoff.hpp"
#include "conset/scheduling/decreasing.hpp"
#include "conset/scheduling/event_list.hpp"
#include "conset/scheduling/first_fit.hpp"
#include "conset/scheduling/timetable_as.hpp"
#include "instances.hpp"

namespace conset {
namespace {

using testing_::Ints;
using testing_::Pattern;
using Doubles = Array<double>;

const Ints narrow{1};

Pattern leaving(std::int32_t nodes, std::size_t messages, std::uint64_t seed) {
    Pattern all = testing_::random_pattern(nodes, messages, seed), kept;
    for (std::size_t k = 0; k < all.source.size(); ++k) {
        if (all.source[k] == all.target[k]) continue;
        kept.source.push_back(all.source[k]);
        kept.target.push_back(all.target[k]);
    }
    return kept;
}

Array<std::int64_t> draw_sizes(std::size_t count, std::uint64_t seed) {
    Random random(seed);
    Array<std::int64_t> size(count);
    for (auto& entry : size) entry = 1 + random.below(1000);
    return size;
}

double length(const Ints& phase, const Doubles& duration) {
    Doubles longest(static_cast<std::size_t>(testing_::phases(phase)), 0.0);
    for (std::size_t k = 0; k < phase.size(); ++k) longest[phase[k]] = std::max(longest[phase[k]], duration[k]);
    return std::accumulate(longest.begin(), longest.end(), 0.0);
}

TEST(Decreasing, AnnealsWithinLimitsAndAboveTheBound) {
    for (const Network& network : {Network::box({4, 4}, true, Tie::parity), Network::crossbar(16)}) {
        for (const Limits& limits :
             {Limits{1, 1, 1, 0, false}, Limits{2, 1, 2, 0, false}, Limits{0, 0, 0, 5, false}, Limits{}}) {
            const Pattern pattern = testing_::random_pattern(16, 120, 3);
            const Resources resources({network, pattern.source, pattern.target, {}, {}}, narrow, limits);
            const auto size = draw_sizes(120, 4);
            const Doubles duration(size.begin(), size.end());
            const Ints start = first_fit(resources, order_longest_first(resources, size), {}, {});
            const Ints better = anneal_lengths(resources, duration, 7.0, start, {}, {}, {20000, 0.02, 0.0002, 5});
            testing_::expect_within_limits(resources, better);
            EXPECT_LE(length(better, duration), length(start, duration));
            EXPECT_GE(length(better, duration), least_length(resources, duration, 0.0) * (1 - 1e-12));
        }
    }
}

TEST(Decreasing, KeepsAnOrder) {
    const Network crossbar = Network::crossbar(8);
    const Pattern pattern = leaving(8, 60, 9);
    const Resources resources({crossbar, pattern.source, pattern.target, {}, {}}, narrow, {1, 1, 0, 0, false});
    const auto size = draw_sizes(pattern.source.size(), 2);
    const Doubles duration(size.begin(), size.end());
    const Ints first{0, 1, 5, 7}, second{1, 2, 9, 8};
    const Ints start = first_fit(resources, order_longest_first(resources, size), first, second);
    const Ints better = anneal_lengths(resources, duration, 0.0, start, first, second, {20000, 0.05, 0.0002, 1});
    for (std::size_t k = 0; k < first.size(); ++k) EXPECT_LT(better[first[k]], better[second[k]]);
    testing_::expect_within_limits(resources, better);
}

TEST(Birkhoff, TakesExactlyThePortBound) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const Pattern pattern = leaving(7, 1 + 5 * seed, seed);
        const auto size = draw_sizes(pattern.source.size(), seed);
        const Pieces pieces = decompose_birkhoff(7, pattern.source, pattern.target, size);
        Array<std::int64_t> load(14, 0), rest = size;
        for (std::size_t k = 0; k < size.size(); ++k) {
            load[pattern.source[k]] += size[k];
            load[7 + pattern.target[k]] += size[k];
        }
        std::int64_t sum = 0;
        for (std::size_t p = 0; p + 1 < pieces.offsets.size(); ++p) {
            std::int64_t longest = 0;
            std::set<std::int32_t> ports;
            for (std::int64_t k = pieces.offsets[p]; k < pieces.offsets[p + 1]; ++k) {
                const std::int32_t m = pieces.transfer[k];
                longest = std::max(longest, pieces.part[k]);
                rest[m] -= pieces.part[k];
                EXPECT_GT(pieces.part[k], 0);
                EXPECT_TRUE(ports.insert(pattern.source[m]).second);
                EXPECT_TRUE(ports.insert(7 + pattern.target[m]).second);
            }
            sum += longest;
        }
        EXPECT_EQ(sum, *std::max_element(load.begin(), load.end()));
        for (const std::int64_t left : rest) EXPECT_EQ(left, 0);
    }
}

// No line holds more than it has room for at the start of any transfer, and pairs follow one another.
void expect_sound(const TimeLines& lines, const Timetable& table, const Ints& first, const Ints& second) {
    for (std::size_t k = 0; k < lines.size(); ++k) {
        for (const std::int32_t line : lines.of(k)) {
            std::int32_t held = 0;
            for (std::size_t other = 0; other < lines.size(); ++other) {
                const auto own = lines.of(other);
                const bool holds = std::find(own.begin(), own.end(), line) != own.end();
                held += holds && table.start[other] <= table.start[k] && table.start[k] < table.end[other] ? 1 : 0;
            }
            EXPECT_LE(held, lines.room(line));
        }
    }
    for (std::size_t k = 0; k < first.size(); ++k) EXPECT_LE(table.end[first[k]], table.start[second[k]]);
}

TEST(Timetables, AreSoundAndReplayedToTheSameEnd) {
    for (const Network& network : {Network::box({3, 3}, true, Tie::parity), Network::crossbar(9)}) {
        for (const bool serial : {false, true}) {
            for (std::uint64_t seed = 0; seed < 10; ++seed) {
                const Pattern pattern = testing_::random_pattern(9, 60, seed);
                const Ints width{static_cast<std::int32_t>(1 + seed % 3)};
                const TimeLines lines({network, pattern.source, pattern.target, {}, {}}, width, serial);
                const auto size = draw_sizes(60, seed);
                const Doubles duration(size.begin(), size.end());
                const Ints first{0, 1, 4}, second{1, 2, 7};
                const Array<std::int64_t> offsets{0, 60};
                const Timetable list = time_event_list(lines, offsets, duration, first, second, 10, 0.3, seed);
                const Timetable text =
                    time_as(lines, pattern.source, pattern.target, offsets, duration, first, second, seed);
                for (const Timetable& table : {list, text}) {
                    expect_sound(lines, table, first, second);
                    Ints order(60);
                    std::iota(order.begin(), order.end(), 0);
                    std::stable_sort(order.begin(), order.end(),
                                     [&](auto a, auto b) { return table.start[a] < table.start[b]; });
                    const Timetable again = time_in_order(lines, order, offsets, duration, first, second);
                    EXPECT_EQ(again.end, table.end);
                }
            }
        }
    }
}

TEST(Balance, MovesWithinLimitsOverRoutesThatExist) {
    const Network torus = Network::box({4, 4}, true, Tie::parity);
    const Pattern pattern = testing_::random_pattern(16, 100, 6);
    const Routes routes{torus, pattern.source, pattern.target, {}, {}};
    const Limits limits{0, 0, 0, 6, false};
    const Resources resources(routes, narrow, limits);
    const auto size = draw_sizes(100, 6);
    const Doubles work(size.begin(), size.end()), no_links;
    const Ints start = first_fit(resources, order_longest_first(resources, size), {}, {});
    Array<std::uint8_t> pinned(100, 0);
    pinned[3] = pinned[50] = 1;
    Ints from, to;
    for (std::int32_t link = 0; link < torus.link_slots(); ++link) {
        from.push_back(link / 4);
        to.push_back(torus.link_target(link));
    }
    const Balanced found =
        balance_loads(resources, {true, work, work, no_links}, start, pinned, {30000, 0.02, 0.0002, 1, from, to});
    EXPECT_EQ(found.phase[3], start[3]);
    EXPECT_EQ(found.phase[50], start[50]);
    const Resources moved({torus, pattern.source, pattern.target, found.offsets, found.links}, narrow, limits);
    testing_::expect_within_limits(moved, found.phase);
    for (std::size_t k = 0; k < found.phase.size(); ++k) {
        std::int32_t at = pattern.source[k];
        for (std::int64_t n = found.offsets[k]; n < found.offsets[k + 1]; ++n) {
            EXPECT_EQ(from[found.links[n]], at);
            at = to[found.links[n]];
        }
        EXPECT_EQ(at, pattern.target[k]);
    }
    const Balanced kept =
        balance_loads(resources, {true, work, work, no_links}, start, pinned, {0, 0.02, 0.0002, 1, {}, {}});
    EXPECT_EQ(kept.phase, start);
    EXPECT_LT(found.length, kept.length);
}

}  // namespace
}  // namespace conset
