#include "conset/network/spread.hpp"

#include <gtest/gtest.h>

#include <map>

namespace conset {
namespace {

// Hosts 0 and 1 on leaf 4, 2 and 3 on leaf 5, which spines 6 (one wire) and 7 (three) join.
Network two_leaves(Choice choice, std::uint64_t seed = 0) {
    const std::map<std::pair<int, int>, int> wires{{{0, 4}, 1}, {{1, 4}, 1}, {{2, 5}, 1}, {{3, 5}, 1},
                                                   {{4, 6}, 1}, {{4, 7}, 3}, {{5, 6}, 1}, {{5, 7}, 3}};
    std::map<std::pair<int, int>, int> both;
    for (const auto& [ends, width] : wires) both[ends] = both[{ends.second, ends.first}] = width;
    Array<std::int32_t> source, target, width;
    for (const auto& [ends, each] : both) {
        source.push_back(ends.first);
        target.push_back(ends.second);
        width.push_back(each);
    }
    Array<std::int32_t> stride;
    if (choice == Choice::source_digit) stride.assign(8, 1);
    return Network::equal_cost(4, 8, source, target, choice, seed, width, stride, {});
}

std::map<std::pair<int, int>, double> shares(const Network& network, std::int32_t s, std::int32_t t) {
    std::map<std::pair<int, int>, double> result;
    Spread spread(network);
    spread.each_share(s, t, [&](std::int32_t link, double share) {
        for (std::int32_t v = 0; v < network.nodes(); ++v)
            if (network.link_between(v, network.link_target(link)) == link)
                result[{v, network.link_target(link)}] = share;
    });
    return result;
}

TEST(Spread, DividesByWires) {
    const auto found = shares(two_leaves(Choice::even), 0, 3);
    EXPECT_EQ(found.size(), 6U);
    EXPECT_DOUBLE_EQ(found.at({0, 4}), 1);
    EXPECT_DOUBLE_EQ(found.at({4, 6}), 0.25);
    EXPECT_DOUBLE_EQ(found.at({7, 5}), 0.75);
    EXPECT_DOUBLE_EQ(found.at({5, 3}), 1);
}

TEST(Spread, IsTheMeanOfSamples) {
    int by_wide = 0;
    for (std::uint64_t seed = 0; seed < 4000; ++seed)
        two_leaves(Choice::hash, seed).walk(0, 3, [&](std::int32_t, std::int32_t node) {
            by_wide += node == 7 ? 1 : 0;
        });
    EXPECT_NEAR(by_wide / 4000.0, 0.75, 0.03);
}

TEST(Spread, GoesByEverySwitchAlike) {
    // by leaf 4 or 5 (a shortest way each), or by spine 6 or 7
    const auto found = shares(two_leaves(Choice::valiant), 0, 3);
    EXPECT_DOUBLE_EQ(found.at({4, 6}), 0.25 * 0.25 + 0.25 * 0.25 + 0.25);
    EXPECT_DOUBLE_EQ(found.at({4, 7}), 0.25 * 0.75 + 0.25 * 0.75 + 0.25);
}

TEST(Spread, ForgetsWhatWasSettled) {
    const Network network = two_leaves(Choice::even);
    Spread spread(network);
    const auto total = [&] {
        double bytes = 0;
        spread.settle([&](std::int32_t, double more, double) { bytes += more; });
        return bytes;
    };
    spread.add(0, 1, 10);
    spread.add(0, 3, 10);
    spread.add(2, 2, 10);
    EXPECT_DOUBLE_EQ(total(), 2 * 10 + 4 * 10);
    EXPECT_DOUBLE_EQ(total(), 0);
}

TEST(Spread, LoadsOfPhases) {
    const Network network = two_leaves(Choice::even);
    const Array<std::int32_t> source{0, 1, 0}, target{2, 3, 1}, width{1};
    const Array<std::int64_t> phases{0, 2, 3};
    const ExpectedLoads loads = expect_loads({network, source, target, {}, {}}, phases, width);
    EXPECT_EQ(loads.send, (Array<std::int32_t>{1, 1}));
    EXPECT_EQ(loads.receive, (Array<std::int32_t>{1, 1}));
    EXPECT_DOUBLE_EQ(loads.link[0], 1.5);  // on the three wires together, asked for a width of one
    EXPECT_DOUBLE_EQ(loads.channels[0], 2);
    EXPECT_DOUBLE_EQ(loads.link[1], 1);
}

TEST(Spread, NamesWhoIsLost) {
    const Network apart = Network::equal_cost(2, 2, {}, {}, Choice::hash, 0, {1}, {}, {});
    EXPECT_EQ(apart.lost(), (std::pair<std::int32_t, std::int32_t>{1, 0}));
    EXPECT_EQ(two_leaves(Choice::valiant).lost().first, -1);
}

// Routers 0 to 3 on a ring with one link across, 1 to 3, whose cost decides between ways.
Network with_a_chord(Choice choice, std::int32_t chord) {
    const std::map<std::pair<int, int>, int> costs{{{0, 1}, 1},     {{0, 3}, 3}, {{1, 0}, 1}, {{1, 2}, 1},
                                                   {{1, 3}, chord}, {{2, 1}, 1}, {{2, 3}, 1}, {{3, 0}, 3},
                                                   {{3, 1}, chord}, {{3, 2}, 1}};
    Array<std::int32_t> source, target, cost;
    for (const auto& [ends, each] : costs) {
        source.push_back(ends.first);
        target.push_back(ends.second);
        cost.push_back(each);
    }
    return Network::equal_cost(4, 4, source, target, choice, 0, {1}, {}, cost);
}

TEST(Spread, TakesWaysOfLeastCost) {
    const Network dear = with_a_chord(Choice::even, 3);  // 0 → 3: itself, and by 1 and 2
    EXPECT_EQ(dear.distance(0, 3), 3);
    EXPECT_EQ(dear.distance(3, 1), 2);
    EXPECT_EQ(shares(dear, 0, 3),
              (std::map<std::pair<int, int>, double>{{{0, 3}, 0.5}, {{0, 1}, 0.5}, {{1, 2}, 0.5}, {{2, 3}, 0.5}}));
    const Network same = with_a_chord(Choice::even, 2);  // and by 1 alone
    EXPECT_EQ(shares(same, 0, 3), (std::map<std::pair<int, int>, double>{
                                      {{0, 3}, 0.5}, {{0, 1}, 0.5}, {{1, 3}, 0.25}, {{1, 2}, 0.25}, {{2, 3}, 0.25}}));
    const Network cheap = with_a_chord(Choice::hash, 1);
    EXPECT_EQ(cheap.hops(0, 3), 2);
    EXPECT_EQ(shares(cheap, 0, 3), (std::map<std::pair<int, int>, double>{{{0, 1}, 1}, {{1, 3}, 1}}));
}

TEST(Spread, RefusesCostsOfNothing) {
    EXPECT_THROW(with_a_chord(Choice::even, 0), std::invalid_argument);
    EXPECT_THROW(with_a_chord(Choice::even, Network::kMaxCost + 1), std::invalid_argument);
}

}  // namespace
}  // namespace conset
