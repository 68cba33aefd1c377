// Colouring: exactly the largest degree, on every kind of multigraph.
#include "conset/array.hpp"
#include "conset/scheduling/coloring.hpp"

#include <gtest/gtest.h>

#include "conset/stop.hpp"
#include "instances.hpp"

namespace conset {
namespace {

using testing_::Pattern;

void expect_exact(std::int32_t nodes, const Pattern& pattern, std::int32_t degree, std::uint64_t seed = 1) {
    const auto phase = color_ports(nodes, pattern.source, pattern.target, seed);
    const Network crossbar = Network::crossbar(nodes);
    const Array<std::int32_t> width{1};
    const Resources ports({crossbar, pattern.source, pattern.target, {}, {}}, width, {1, 1, 0, 0, false});
    testing_::expect_within_limits(ports, phase);
    EXPECT_EQ(testing_::phases(phase), degree);
}

std::int32_t largest_degree(std::int32_t nodes, const Pattern& pattern) {
    Array<std::int32_t> sends(as_size(nodes), 0), receives(as_size(nodes), 0);
    std::int32_t degree = 0;
    for (std::size_t m = 0; m < pattern.source.size(); ++m) {
        if (pattern.source[m] == pattern.target[m]) continue;
        degree = std::max({degree, ++sends[pattern.source[m]], ++receives[pattern.target[m]]});
    }
    return degree;
}

TEST(Coloring, NothingNeedsNothing) {
    EXPECT_TRUE(color_ports(3, {}, {}, 0).empty());
    expect_exact(3, {{1, 2}, {1, 2}}, 1);  // inside nodes: one phase, no port
}

TEST(Coloring, CompleteExchangeOfEverySize) {
    for (std::int32_t nodes = 2; nodes <= 34; ++nodes) expect_exact(nodes, testing_::all_to_all(nodes), nodes - 1);
}

TEST(Coloring, StarsAreContracted) {
    Pattern gather, scatter;
    for (std::int32_t v = 1; v < 1000; ++v) {
        gather.source.push_back(v);
        gather.target.push_back(0);
    }
    std::swap(scatter.source, gather.target);
    scatter.target = gather.source;
    gather.target = scatter.source;
    expect_exact(1000, gather, 999);
    expect_exact(1000, scatter, 999);
}

TEST(Coloring, ParallelMessagesTakeOnePhaseEach) { expect_exact(2, {{0, 0, 0, 1}, {1, 1, 1, 0}}, 3); }

TEST(Coloring, RandomMultigraphs) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const auto nodes = static_cast<std::int32_t>(1 + seed % 17);
        const Pattern pattern = testing_::random_pattern(nodes, 7 * seed, seed);
        const std::int32_t degree = largest_degree(nodes, pattern);
        expect_exact(nodes, pattern, std::max(degree, pattern.source.empty() ? 0 : 1), seed);
    }
}

TEST(Coloring, OneSeedGivesOneColouring) {
    const Pattern pattern = testing_::random_pattern(20, 500, 3);
    const auto once = color_ports(20, pattern.source, pattern.target, 9);
    EXPECT_EQ(once, color_ports(20, pattern.source, pattern.target, 9));
}

TEST(Coloring, AStopEndsALongOneAndNoCheapOne) {
    const Pattern many = testing_::random_pattern(20, 100'000, 3), few = testing_::random_pattern(20, 500, 3);
    ask_stop();
    EXPECT_FALSE(color_ports(20, few.source, few.target, 9).empty());
    EXPECT_THROW(color_ports(20, many.source, many.target, 9), Interrupted);
    reset_search();
}

}  // namespace
}  // namespace conset
