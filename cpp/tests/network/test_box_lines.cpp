// Lines of a box against routes walked link by link.
#include "conset/network/box_lines.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "conset/network/line_loads.hpp"

namespace conset {
namespace {

const std::vector<std::vector<std::int32_t>> shapes{{5}, {4, 6}, {1, 7}, {3, 2, 4}};

std::vector<Network> boxes() {
    std::vector<Network> made;
    for (const auto& sides : shapes) {
        made.push_back(Network::box(sides, false, Tie::parity));
        for (const Tie tie : {Tie::parity, Tie::plus, Tie::checker}) made.push_back(Network::box(sides, true, tie));
    }
    return made;
}

TEST(BoxLines, SumsAreThoseOfEveryLink) {
    for (const Network& network : boxes()) {
        const BoxLines lines(network);
        LineSums<std::int64_t> sums(lines);
        std::vector<std::int64_t> walked(static_cast<std::size_t>(network.link_slots()), 0);
        for (std::int32_t s = 0; s < network.nodes(); ++s)
            for (std::int32_t t = 0; t < network.nodes(); ++t) {
                const std::int64_t value = 3 * s + 7 * t + 1;
                sums.add(s, t, value);
                network.walk(s, t, [&](std::int32_t l, std::int32_t) { walked[static_cast<std::size_t>(l)] += value; });
            }
        sums.settle();
        for (std::int32_t l = 0; l < network.link_slots(); ++l)
            EXPECT_EQ(sums.cells()[lines.cell(l)], walked[static_cast<std::size_t>(l)]);
    }
}

TEST(BoxLines, LeastAreThoseOfEveryLink) {
    for (const Network& network : boxes()) {
        const BoxLines lines(network);
        LineLeast least(lines);
        std::vector<LineLeast::Pair> walked(static_cast<std::size_t>(network.link_slots()));
        for (std::int32_t s = 0; s < network.nodes(); ++s)
            for (std::int32_t t = s % 3; t < network.nodes(); t += 3) {
                const LineLeast::Pair pair{static_cast<double>((s * 31 + t * 17) % 101),
                                           static_cast<double>((s * 13 + t * 29) % 103)};
                least.add(s, t, pair);
                network.walk(s, t,
                             [&](std::int32_t l, std::int32_t) { walked[static_cast<std::size_t>(l)].least(pair); });
            }
        const auto cells = least.settle();
        for (std::int32_t l = 0; l < network.link_slots(); ++l) {
            EXPECT_EQ(cells[lines.cell(l)].into, walked[static_cast<std::size_t>(l)].into);
            EXPECT_EQ(cells[lines.cell(l)].out, walked[static_cast<std::size_t>(l)].out);
        }
    }
}

TEST(BoxLines, LoadsOfALineByHand) {
    const Network network = Network::box({4}, false, Tie::parity);
    LineLoads loads(network);
    for (const auto& [s, t] : {std::pair{0, 3}, {1, 3}, {2, 0}}) loads.add(s, t);
    const std::vector<std::int32_t> one{1}, three{3};
    const auto first = loads.largest_then_clear(one);
    EXPECT_EQ(first.link, 2);      // 1→2 and 2→3 carry both messages to 3
    EXPECT_EQ(first.channels, 3);  // nodes 1 and 2 are on all three routes
    loads.add(3, 2);
    const auto second = loads.largest_then_clear(three);
    EXPECT_EQ(second.link, 1);
    EXPECT_EQ(second.channels, 1);
}

}  // namespace
}  // namespace conset
