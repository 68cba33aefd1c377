// Placement: what the searches keep, against a cost counted anew; a known best; the wish to stop.
#include "conset/array.hpp"
#include "conset/placement/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "conset/stop.hpp"

namespace conset {
namespace {

// A ring of ranks, each sending to the next, numbered with a stride that tears it apart.
struct Torn {
    explicit Torn(std::int32_t ranks, std::int32_t stride)
        : offsets(as_size(ranks) + 1), target(as_size(ranks)), weight(as_size(ranks), 1.0) {
        std::iota(offsets.begin(), offsets.end(), 0);
        for (std::int32_t r = 0; r < ranks; ++r) target[r] = (r + stride) % ranks;
    }
    PatternGraph out() const { return {offsets, target, weight}; }
    Array<std::int64_t> offsets;
    Array<std::int32_t> target;
    Array<double> weight;
};

double cost(const Network& network, const Torn& torn, const Array<std::int32_t>& node) {
    const Distances distance(network);
    double sum = 0;
    for (std::size_t r = 0; r < node.size(); ++r) sum += torn.weight[r] * distance(node[r], node[torn.target[r]]);
    return sum;
}

Array<std::int32_t> numbered(std::int32_t ranks) {
    Array<std::int32_t> node(as_size(ranks));
    std::iota(node.begin(), node.end(), 0);
    return node;
}

TEST(Placement, AnnealingClosesATornRing) {
    const Network ring = Network::box({13}, true, Tie::parity);
    const Torn torn(13, 5);
    const Array<std::int64_t> none(14, 0);
    const Array<std::int32_t> node = anneal_placement(ring, torn.out(), {none, {}, {}}, numbered(13), 1, 200000, 7);
    EXPECT_EQ(cost(ring, torn, numbered(13)), 13 * 6);
    EXPECT_EQ(cost(ring, torn, node), 13 * 2);  // every message goes one hop and takes two channels
    Array<std::int32_t> sorted = node;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, numbered(13));
    EXPECT_EQ(node, anneal_placement(ring, torn.out(), {none, {}, {}}, numbered(13), 1, 200000, 7));
}

TEST(Placement, AnnealingFillsEmptyPlacesAndCrowdsNoNode) {
    const Network mesh = Network::box({2, 3}, false, Tie::parity);
    const Torn torn(8, 3);
    const Array<std::int64_t> none(9, 0);
    const Array<std::int32_t> start{0, 0, 1, 1, 2, 2, 3, 3};
    const Array<std::int32_t> node = anneal_placement(mesh, torn.out(), {none, {}, {}}, start, 2, 100000, 1);
    EXPECT_LE(cost(mesh, torn, node), cost(mesh, torn, start));
    for (std::int32_t v = 0; v < 6; ++v) EXPECT_LE(std::count(node.begin(), node.end(), v), 2);
}

TEST(Placement, BisectionKeepsPairsTogether) {
    const Network mesh = Network::box({4}, false, Tie::parity);
    const Array<std::int64_t> offsets{0, 1, 2, 3, 4};  // 0 with 3, 1 with 2
    const Array<std::int32_t> partner{3, 2, 1, 0};
    const Array<double> weight(4, 2.0);
    const Array<std::int32_t> order{0, 1, 2, 3}, low{0, 0, 2}, middle{2, 1, 3}, high{4, 2, 4};
    const Array<std::int32_t> node =
        bisect_placement(mesh, {offsets, partner, weight}, {order, low, middle, high}, 1, 3);
    EXPECT_EQ(std::abs(node[0] - node[3]), 1);
    EXPECT_EQ(std::abs(node[1] - node[2]), 1);
}

TEST(Placement, WalkedDistancesAreThoseOfTheTable) {
    const Network large = Network::box({80, 60}, true, Tie::parity);  // beyond the table
    const Distances distance(large);
    EXPECT_EQ(distance(0, 0), 0);
    EXPECT_EQ(distance(0, 1), 2);
    EXPECT_EQ(distance(0, 40 * 60 + 30), 71);
    EXPECT_EQ(Distances(Network::crossbar(3))(0, 2), 2);
}

TEST(Stop, TheWishEndsASearchThatHasSomethingAndThrowsWhereItHasNot) {
    reset_search();
    EXPECT_FALSE(should_stop(false));
    publish(5, 4);
    publish(4, 0);
    EXPECT_EQ(running_search().incumbent.load(), 4);
    EXPECT_EQ(running_search().bound.load(), 4);
    ask_stop();
    EXPECT_TRUE(should_stop(true));
    EXPECT_THROW(should_stop(false), Interrupted);
    const Network ring = Network::box({13}, true, Tie::parity);
    const Torn torn(13, 5);
    const Array<std::int64_t> none(14, 0);
    EXPECT_EQ(anneal_placement(ring, torn.out(), {none, {}, {}}, numbered(13), 1, 1 << 30, 7), numbered(13));
    reset_search();
    EXPECT_FALSE(stop_asked());
}

}  // namespace
}  // namespace conset
