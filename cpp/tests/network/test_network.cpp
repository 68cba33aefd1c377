// Routes of every family, by hand and by what must hold for all pairs.
#include <gtest/gtest.h>

#include "conset/array.hpp"
#include "conset/network/network.hpp"

namespace conset {
namespace {

Array<std::int32_t> nodes_of(const Network& network, std::int32_t s, std::int32_t t) {
    Array<std::int32_t> nodes{s};
    network.walk(s, t, [&](std::int32_t, std::int32_t node) { nodes.push_back(node); });
    return nodes;
}

using Nodes = Array<std::int32_t>;

TEST(Network, MeshTakesTheLastCoordinateFirst) {
    const Network mesh = Network::box({3, 4}, false, Tie::parity);  // node = 4 * row + column
    EXPECT_EQ(nodes_of(mesh, 0, 11), (Nodes{0, 1, 2, 3, 7, 11}));
    EXPECT_EQ(nodes_of(mesh, 11, 0), (Nodes{11, 10, 9, 8, 4, 0}));
    EXPECT_EQ(nodes_of(mesh, 5, 5), (Nodes{5}));
}

TEST(Network, TorusTakesTheShorterWayAndBreaksTies) {
    const Network parity = Network::box({6}, true, Tie::parity);
    EXPECT_EQ(nodes_of(parity, 5, 1), (Nodes{5, 0, 1}));
    EXPECT_EQ(nodes_of(parity, 1, 5), (Nodes{1, 0, 5}));
    EXPECT_EQ(nodes_of(parity, 0, 3), (Nodes{0, 1, 2, 3}));  // 0 mod 3 is even: up
    EXPECT_EQ(nodes_of(parity, 1, 4), (Nodes{1, 0, 5, 4}));  // 1 mod 3 is odd: down
    EXPECT_EQ(nodes_of(parity, 3, 0), (Nodes{3, 4, 5, 0}));  // 3 mod 3 is even: up
    const Network plus = Network::box({6}, true, Tie::plus);
    EXPECT_EQ(nodes_of(plus, 1, 4), (Nodes{1, 2, 3, 4}));
    const Network checker = Network::box({2, 4}, true, Tie::checker);
    EXPECT_EQ(nodes_of(checker, 0, 2), (Nodes{0, 3, 2}));  // coordinates add to 0: down
    EXPECT_EQ(nodes_of(checker, 4, 6), (Nodes{4, 5, 6}));  // to 1: up
}

TEST(Network, ATorusSideOfTwoIsOneLinkEachWay) {
    const Network torus = Network::box({2}, true, Tie::plus);
    EXPECT_EQ(torus.link_between(0, 1), 0);  // up out of 0
    EXPECT_EQ(torus.link_between(1, 0), 3);  // down out of 1
}

TEST(Network, HypercubeCorrectsTheLeastSignificantBitFirst) {
    const Network cube = Network::hypercube(4);
    EXPECT_EQ(nodes_of(cube, 0b0101, 0b1010), (Nodes{0b0101, 0b0100, 0b0110, 0b0010, 0b1010}));
}

TEST(Network, CrossbarHasNoLinks) {
    const Network crossbar = Network::crossbar(5);
    EXPECT_FALSE(crossbar.has_links());
    EXPECT_EQ(crossbar.hops(0, 4), 0);
    EXPECT_EQ(crossbar.link_between(0, 4), -1);
}

TEST(Network, GraphFollowsNextLinksAndTables) {
    // Endpoints 0, 1 and a switch 2: links 0→2, 1→2, 2→0, 2→1.
    const Nodes source{0, 1, 2, 2}, target{2, 2, 0, 1};
    const Network next = Network::next_links(2, 3, source, target, {-1, 1, 2, 0, -1, 3});
    EXPECT_EQ(nodes_of(next, 0, 1), (Nodes{0, 2, 1}));
    EXPECT_EQ(next.link_between(2, 1), 3);
    EXPECT_EQ(next.link_between(0, 1), -1);
    const Network table = Network::route_table(2, 3, source, target, {0, 0, 2, 4, 4}, {0, 3, 1, 2});
    EXPECT_EQ(nodes_of(table, 0, 1), (Nodes{0, 2, 1}));
    EXPECT_EQ(nodes_of(table, 1, 0), (Nodes{1, 2, 0}));
}

TEST(Network, ShortestLinksTakeTheLowestNeighbour) {
    // 0 → 2 → 1 and 0 → 3 → 1, back 1 → 0; endpoints 0 and 1.
    const Nodes source{0, 0, 1, 2, 3}, target{2, 3, 0, 1, 1};
    const Nodes next = Network::shortest_links(2, 4, source, target);
    EXPECT_EQ(next, (Nodes{-1, 2, 3, 4, 0, -1, 3, 4}));
    EXPECT_EQ(Network::shortest_links(2, 2, {0}, {1}), (Nodes{-1, -1, 0, -1}));  // 0 is out of reach of 1
    EXPECT_THROW(Network::shortest_links(2, 2, {0}, {}), std::invalid_argument);
    EXPECT_THROW(Network::shortest_links(2, 2, {0}, {2}), std::invalid_argument);
    EXPECT_THROW(Network::shortest_links(3, 2, {}, {}), std::invalid_argument);
}

TEST(Network, GraphWithoutARouteThrows) {
    const Network cut = Network::next_links(2, 2, {0}, {1}, {-1, -1, 0, -1});
    EXPECT_EQ(cut.hops(0, 1), 1);
    EXPECT_THROW(cut.hops(1, 0), std::logic_error);
}

TEST(Network, WrongSizesThrow) {
    EXPECT_THROW(Network::box({}, false, Tie::parity), std::invalid_argument);
    EXPECT_THROW(Network::box({3, 0}, false, Tie::parity), std::invalid_argument);
    EXPECT_THROW(Network::box({1 << 16, 1 << 15}, false, Tie::parity), std::invalid_argument);
    EXPECT_THROW(Network::hypercube(27), std::invalid_argument);
    EXPECT_THROW(Network::crossbar(0), std::invalid_argument);
    EXPECT_THROW(Network::next_links(2, 2, {}, {}, {-1}), std::invalid_argument);
}

class EveryPair : public testing::TestWithParam<Network> {};

TEST_P(EveryPair, IsJoinedByLinksThatExistAndLeadOn) {
    const Network& network = GetParam();
    for (std::int32_t s = 0; s < network.nodes(); ++s) {
        for (std::int32_t t = 0; t < network.nodes(); ++t) {
            std::int32_t at = s;
            network.walk(s, t, [&](std::int32_t link, std::int32_t node) {
                EXPECT_EQ(network.link_between(at, node), link);
                EXPECT_EQ(network.link_target(link), node);
                at = node;
            });
            EXPECT_EQ(at, t);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families, EveryPair,
                         testing::Values(Network::box({4, 3}, false, Tie::parity),
                                         Network::box({5, 4}, true, Tie::parity),
                                         Network::box({2, 6, 3}, true, Tie::checker),
                                         Network::box({8}, true, Tie::plus), Network::box({1, 3}, true, Tie::parity),
                                         Network::hypercube(5)));

}  // namespace
}  // namespace conset
