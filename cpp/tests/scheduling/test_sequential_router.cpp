// Sequential router: limits of every kind, detours, orders, rip-up, demands; routes are paths.
#include "conset/array.hpp"
#include "conset/scheduling/sequential_router.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "instances.hpp"

namespace conset {
namespace {

using testing_::Ints;
constexpr double infinite = std::numeric_limits<double>::infinity();

struct Wires {
    std::int32_t nodes;
    Ints source, target;
};

// A torus of side x side nodes, a link each way between neighbours; one slot that is no link.
Wires torus(std::int32_t side) {
    Wires wires{side * side, {0}, {0}};
    for (std::int32_t v = 0; v < side * side; ++v) {
        const std::int32_t x = v % side, y = v / side;
        for (const auto& [dx, dy] : {std::pair{1, 0}, {side - 1, 0}, {0, 1}, {0, side - 1}}) {
            wires.source.push_back(v);
            wires.target.push_back((y + dy) % side * side + (x + dx) % side);
        }
    }
    return wires;
}

struct Use {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> channels, send, receive;
    std::map<std::pair<std::int32_t, std::pair<std::int32_t, std::int32_t>>, std::int32_t> link;
};

Use count(const SequentialRouter& router, const Wires& wires, const testing_::Pattern& pattern) {
    Use use;
    const auto paths = router.paths();
    for (std::size_t i = 0; i < pattern.source.size(); ++i) {
        const std::int32_t phase = router.phase()[i];
        if (phase < 0) {
            EXPECT_EQ(paths.offsets[i], paths.offsets[i + 1]);
            continue;
        }
        const Ints nodes(paths.nodes.begin() + paths.offsets[i], paths.nodes.begin() + paths.offsets[i + 1]);
        EXPECT_EQ(nodes.front(), pattern.source[i]);
        EXPECT_EQ(nodes.back(), pattern.target[i]);
        EXPECT_EQ(std::set<std::int32_t>(nodes.begin(), nodes.end()).size(), nodes.size());
        if (nodes.size() == 1) continue;
        ++use.send[{phase, nodes.front()}];
        ++use.receive[{phase, nodes.back()}];
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            ++use.channels[{phase, nodes[k]}];
            if (k == 0) continue;
            ++use.link[{phase, {nodes[k - 1], nodes[k]}}];
            bool joined = false;
            for (std::size_t l = 0; l < wires.source.size(); ++l)
                joined |= wires.source[l] == nodes[k - 1] && wires.target[l] == nodes[k];
            EXPECT_TRUE(joined);
        }
    }
    return use;
}

template <class Key>
std::int32_t most(const std::map<Key, std::int32_t>& use) {
    std::int32_t most = 0;
    for (const auto& [key, value] : use) most = std::max(most, value);
    return most;
}

Ints indices(std::size_t count) {
    Ints order(count);
    std::iota(order.begin(), order.end(), 0);
    return order;
}

TEST(SequentialRouter, KeepsEveryLimit) {
    const Wires wires = torus(4);
    const testing_::Pattern pattern = testing_::random_pattern(16, 200, 7);
    const Ints channels(16, 6), send(16, 3), receive(16, 2), link(wires.source.size(), 1);
    for (const std::int32_t weight : {0, 1}) {
        SequentialRouter router({wires.nodes, wires.source, wires.target}, {pattern.source, pattern.target, {}, {}},
                                {channels, send, receive, link}, {}, 30, weight, 5);
        EXPECT_EQ(router.route(indices(200)), 0);
        const Use use = count(router, wires, pattern);
        EXPECT_LE(most(use.channels), 6);
        EXPECT_LE(most(use.send), 3);
        EXPECT_LE(most(use.receive), 2);
        EXPECT_LE(most(use.link), 1);
    }
}

TEST(SequentialRouter, GoesRoundFullNodes) {
    // A square 0 1 / 3 2 as a cycle: from 0 to 2 both ways, one channel in the nodes between.
    const Ints source{0, 1, 1, 2, 2, 3, 3, 0}, target{1, 0, 2, 1, 3, 2, 0, 3};
    const Ints from{0, 0, 0}, to{2, 2, 2}, channels{3, 1, 3, 1};
    SequentialRouter router({4, source, target}, {from, to, {}, {}}, {channels, {}, {}, {}}, {}, 1, 1, 0);
    EXPECT_EQ(router.route(indices(3)), 1);
    EXPECT_EQ(router.phase()[2], -1);
    const auto paths = router.paths();
    EXPECT_NE(paths.nodes[1], paths.nodes[4]);
    EXPECT_EQ(router.rip_up(20, 0.5), 1);  // there is no third way
}

TEST(SequentialRouter, RipUpFindsRoomThatABadOrderHid) {
    // The complete exchange in index order, in little more than the least number of phases.
    const Wires wires = torus(4);
    const testing_::Pattern pattern = testing_::all_to_all(16);
    const Ints channels(16, 12);
    std::int64_t mended = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        SequentialRouter router({wires.nodes, wires.source, wires.target}, {pattern.source, pattern.target, {}, {}},
                                {channels, {}, {}, {}}, {}, 4, 1, seed);
        const std::int64_t out = router.route(indices(240));
        const std::int64_t left = router.rip_up(30, 0.1);
        mended += out > 0 && left == 0 ? 1 : 0;
        EXPECT_LE(most(count(router, wires, pattern).channels), 12);
        EXPECT_EQ(left, std::count(router.phase().begin(), router.phase().end(), -1));
    }
    EXPECT_GE(mended, 1);
}

TEST(SequentialRouter, KeepsAnOrderAndLeavesRoomForWhatComesAfter) {
    const Wires wires = torus(3);
    const Ints from{0, 1, 2, 3}, to{1, 2, 3, 4}, first{2, 1, 0}, second{1, 0, 3};
    SequentialRouter router({9, wires.source, wires.target}, {from, to, first, second}, {}, {}, 4, 1, 9);
    EXPECT_EQ(router.route(indices(4)), 0);
    EXPECT_EQ(router.phase(), (Array<std::int32_t>{2, 1, 0, 3}));
    SequentialRouter short_of_one({9, wires.source, wires.target}, {from, to, first, second}, {}, {}, 3, 1, 9);
    EXPECT_GT(short_of_one.route(indices(4)), 0);
}

TEST(SequentialRouter, AnOrderInsidePhasesNeedsNone) {
    const Wires wires = torus(3);
    const Ints from{0, 1, 2, 3}, to{1, 2, 3, 4}, first{2, 1, 0}, second{1, 0, 3};
    const Connections chain{from, to, first, second, 0};
    for (const std::int32_t phases : {1, 2, 3, 4}) {
        SequentialRouter router({9, wires.source, wires.target}, chain, {}, {}, phases, 1, 9);
        EXPECT_EQ(router.route(indices(4)), 0);
        for (std::size_t k = 0; k < first.size(); ++k)
            EXPECT_LE(router.phase()[first[k]], router.phase()[second[k]]) << phases;
        EXPECT_LT(*std::max_element(router.phase().begin(), router.phase().end()), phases);
    }
}

TEST(SequentialRouter, SharesOnlyAsFarAsDemandsAllow) {
    const Ints source{0, 1}, target{1, 0}, from{0, 0, 0, 0}, to{1, 1, 1, 1};
    const Array<double> demand{4, 5, 0, 0}, any(4, infinite), free(2, infinite), node{20, 20}, link{10, 10};
    const RouterDemands demands{demand, any, node, node, free, link, 0, 1};
    SequentialRouter router({2, source, target}, {from, to, {}, {}}, {}, demands, 3, 1, 0);
    EXPECT_EQ(router.route(indices(4)), 0);
    std::map<std::int32_t, std::int32_t> users;
    for (const std::int32_t phase : router.phase()) ++users[phase];
    for (std::size_t i = 0; i < 2; ++i) EXPECT_GE(10.0 / users[router.phase()[i]], demand[i]);
}

// Latency of connection i in its phase: a flit of everyone at the port out, the links and the port in; 1 s a hop. A
// port has 2 B/s, both of a node 3 B/s.
double latency(std::size_t i, const SequentialRouter& router, const Wires& wires, const testing_::Pattern& pattern,
               const Array<double>& rate) {
    const Use use = count(router, wires, pattern);
    const auto paths = router.paths();
    const std::int32_t phase = router.phase()[i];
    const auto at = [&](const auto& ends, std::int32_t node) {
        const auto found = ends.find({phase, node});
        return found == ends.end() ? 0 : found->second;
    };
    const auto port = [&](const auto& own, const auto& other, std::int32_t node) {
        return std::max(at(own, node) / 2.0, (at(own, node) + at(other, node)) / 3.0);
    };
    double total = port(use.send, use.receive, pattern.source[i]) + port(use.receive, use.send, pattern.target[i]);
    for (auto k = paths.offsets[i]; k + 1 < paths.offsets[i + 1]; ++k) {
        const std::int32_t from = paths.nodes[k], to = paths.nodes[k + 1];
        std::size_t l = 0;
        while (wires.source[l] != from || wires.target[l] != to) ++l;
        total += 1 + use.link.at({phase, {from, to}}) / rate[l];
    }
    return total;
}

TEST(SequentialRouter, NobodyWaitsLongerThanIsDemanded) {
    const Wires wires = torus(4);
    const testing_::Pattern pattern = testing_::all_to_all(16);
    const std::size_t count = pattern.source.size();
    Array<double> rate(wires.source.size()), node(16, 2), both(16, 3), none(count, 0), most(count);
    for (std::size_t l = 0; l < rate.size(); ++l) rate[l] = l % 3 == 0 ? 0.5 : 1;
    for (std::size_t i = 0; i < count; ++i) most[i] = i % 4 == 0 ? infinite : i % 4 == 1 ? 17 : 30;
    const RouterDemands demands{none, most, node, node, both, rate, 1, 1};
    SequentialRouter router({16, wires.source, wires.target}, {pattern.source, pattern.target, {}, {}}, {}, demands, 6,
                            1, 3);  // 40 in a phase: they share
    ASSERT_EQ(router.route(indices(count)), 0);
    for (std::size_t i = 0; i < count; ++i) EXPECT_LE(latency(i, router, wires, pattern, rate), most[i] * (1 + 1e-6));
}

TEST(SequentialRouter, TakesTheQuickPathWhereTheCheapOneIsTooSlow) {
    // 0 → 1 → 3 over slow links, 0 → 2 → 4 → 3 over quick ones
    const Ints source{0, 1, 0, 2, 4}, target{1, 3, 2, 4, 3}, from{0, 0}, to{3, 3};
    const Array<double> rate{0.1, 0.1, 10, 10, 10}, node(5, infinite), none(2, 0), most{5, infinite};
    const RouterDemands demands{none, most, node, node, node, rate, 0, 1};
    SequentialRouter router({5, source, target}, {from, to, {}, {}}, {}, demands, 1, 1, 0);
    ASSERT_EQ(router.route(indices(2)), 0);
    const RoutePaths paths = router.paths();
    EXPECT_EQ(paths.nodes, (Array<std::int32_t>{0, 2, 4, 3, 0, 1, 3}));
    EXPECT_EQ(paths.entered, (Array<std::int32_t>{-1, 2, 3, 4, -1, 0, 1}));
    const Array<double> less{0.2, infinite};
    const RouterDemands too_little{none, less, node, node, node, rate, 0, 1};
    SequentialRouter refuses({5, source, target}, {from, to, {}, {}}, {}, too_little, 3, 1, 0);
    EXPECT_EQ(refuses.route(indices(2)), 1);
    EXPECT_EQ(refuses.phase()[0], -1);
}

TEST(SequentialRouter, SameSeedSameRoutes) {
    const Wires wires = torus(4);
    const testing_::Pattern pattern = testing_::all_to_all(16);
    const Ints channels(16, 12);
    Array<Array<std::int32_t>> found;
    for (const std::uint64_t seed : {1U, 1U, 2U}) {
        SequentialRouter router({wires.nodes, wires.source, wires.target}, {pattern.source, pattern.target, {}, {}},
                                {channels, {}, {}, {}}, {}, 6, 1, seed);
        router.route(indices(240));
        found.push_back(router.phase());
    }
    EXPECT_EQ(found[0], found[1]);
    EXPECT_NE(found[0], found[2]);
}

}  // namespace
}  // namespace conset
