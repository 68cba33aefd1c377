// Loads counted by hand on a line of four nodes.
#include "conset/array.hpp"
#include "conset/network/loads.hpp"

#include <gtest/gtest.h>

namespace conset {
namespace {

using Ints = Array<std::int32_t>;

// Phase 0: 0→3, 1→3, 2→0, 2→2 (inside a node). Phase 1: none. Phase 2: 3→2.
const Ints source{0, 1, 2, 2, 3}, target{3, 3, 0, 2, 2};
const Array<std::int64_t> offsets{0, 4, 4, 5};

TEST(Loads, CountPortsLinksAndChannelsOfEachPhase) {
    const Network line = Network::box({4}, false, Tie::parity);
    const Ints width{1};
    const Loads loads = count_loads({line, source, target, {}, {}}, offsets, width);
    EXPECT_EQ(loads.send, (Ints{1, 0, 1}));
    EXPECT_EQ(loads.receive, (Ints{2, 0, 1}));
    EXPECT_EQ(loads.link, (Ints{2, 0, 1}));      // 1→2 and 2→3 carry both messages to 3
    EXPECT_EQ(loads.channels, (Ints{3, 0, 1}));  // nodes 1 and 2 are on all three routes
}

TEST(Loads, CountPerUnitOfWidthRoundedUp) {
    const Network line = Network::box({4}, false, Tie::parity);
    const Ints three{3};
    Ints widths(8, 1);
    widths[2] = widths[4] = 2;  // the links up out of 1 and 2
    EXPECT_EQ(count_loads({line, source, target, {}, {}}, offsets, three).link, (Ints{1, 0, 1}));
    EXPECT_EQ(count_loads({line, source, target, {}, {}}, offsets, widths).link, (Ints{1, 0, 1}));
}

TEST(Loads, FollowStoredRoutes) {
    const Network ring = Network::box({4}, true, Tie::plus);
    const Ints from{0}, to{1};
    const Array<std::int64_t> one{0, 1}, route{0, 3};
    const Ints links{1, 7, 5};  // the long way: 0→3→2→1
    const Ints width{1};
    const Loads loads = count_loads({ring, from, to, route, links}, one, width);
    EXPECT_EQ(loads.link, (Ints{1}));
    EXPECT_EQ(loads.channels, (Ints{1}));
}

TEST(Loads, CrossbarUsesAChannelInBothEnds) {
    const Network crossbar = Network::crossbar(4);
    const Ints width{1};
    const Loads loads = count_loads({crossbar, source, target, {}, {}}, offsets, width);
    EXPECT_EQ(loads.link, (Ints{0, 0, 0}));
    EXPECT_EQ(loads.channels, (Ints{2, 0, 1}));
}

}  // namespace
}  // namespace conset
