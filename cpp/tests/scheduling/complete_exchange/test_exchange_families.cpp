// The pieces of the constructions: factors and families of one side against the routes of a line, orders and tilings.
#include "conset/scheduling/complete_exchange/exchange_families.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "conset/network/network.hpp"
#include "conset/scheduling/complete_exchange/exchange_constructions.hpp"

namespace conset {
namespace {

constexpr std::int32_t kSides[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 23};

// Arcs that are to share no source, no target and no link.
class Together {
public:
    void add(const Network& line, std::int32_t x, std::int32_t y) {
        EXPECT_TRUE(sources_.insert(x).second);
        EXPECT_TRUE(targets_.insert(y).second);
        line.walk(x, y, [&](std::int32_t link, std::int32_t) { EXPECT_TRUE(links_.insert(link).second); });
    }
    const std::set<std::int32_t>& links() const { return links_; }

private:
    std::set<std::int32_t> sources_, targets_, links_;
};

template <class Visit>
void each_pair(std::int32_t side, Visit&& visit) {
    for (std::int32_t x = 0; x < side; ++x)
        for (std::int32_t y = 0; y < side; ++y) visit(x, y, cell(x, side, y));
}

TEST(Factors, CoverEachPairAndBlocksKeepToOneUseOfEachLink) {
    for (const bool cycle : {false, true})
        for (const std::int32_t side : kSides) {
            SCOPED_TRACE(testing::Message() << side << (cycle ? " cycle" : " path"));
            const Factors factors = build_factors(side, cycle);
            const Network line = Network::box({side}, cycle, Tie::parity);
            std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, Together> blocks;
            each_pair(side, [&](std::int32_t x, std::int32_t y, std::size_t at) {
                EXPECT_EQ(factors.factor[at] < 0, x == y && side % 4 == 3);
                if (factors.factor[at] < 0) return;
                EXPECT_LT(factors.factor[at], factors.count);
                EXPECT_LT(factors.block[at], factors.blocks);
                blocks[{factors.factor[at], factors.block[at], factors.type[at]}].add(line, x, y);
            });
            if (!cycle || side <= 2) continue;
            for (const auto& [key, arcs] : blocks)  // type 0 goes up, type 1 down
                for (const std::int32_t link : arcs.links()) EXPECT_EQ(link % 2, std::get<2>(key));
        }
}

TEST(Families, ArePermutationsWhoseLabelsShareNoLink) {
    Families made(0);
    for (const bool cycle : {false, true})
        for (const std::int32_t side : kSides) {
            SCOPED_TRACE(testing::Message() << side << (cycle ? " cycle" : " path"));
            const Network line = Network::box({side}, cycle, Tie::parity);
            const Array<Family>& families = made.of(side, cycle);
            EXPECT_EQ(families.size(), side % 4 == 1 && side > 1 ? 2U : 1U);
            for (const Family& family : families) {
                Array<Together> permutations(as_size(family.count()));
                std::map<std::pair<std::int32_t, std::int32_t>, Together> labels;
                const Network ports = Network::crossbar(side);
                each_pair(side, [&](std::int32_t x, std::int32_t y, std::size_t at) {
                    const std::int32_t p = family.permutation[at];
                    EXPECT_LT(family.label[at], std::max(family.load[p], 1));
                    permutations[p].add(ports, x, y);
                    if (x != y) labels[{p, family.label[at]}].add(line, x, y);
                });
            }
        }
}

TEST(Families, OfPathsNeedNoMoreLabelsInAllThanTheirBusiestLinkCarries) {
    Families made(0);
    for (std::int32_t side = 2; side < 40; ++side) {
        const Array<std::int32_t>& load = made.of(side, false)[0].load;
        EXPECT_EQ(std::accumulate(load.begin(), load.end(), 0), side * side / 4);
    }
    for (std::int32_t side = 5; side < 62; side += 4) {
        const Family& full = made.of(side, false)[1];
        EXPECT_EQ(full.count(), side);
        EXPECT_LE(*std::max_element(full.load.begin(), full.load.end()), side / 4 + 1);
    }
}

TEST(ReflectedTuple, ChangesOnePlaceByOne) {
    const std::int32_t counts[] = {3, 2, 4};
    std::set<Array<std::int32_t>> seen;
    Array<std::int32_t> before;
    for (std::int64_t n = 0; n < 24; ++n) {
        const Array<std::int32_t> tuple = reflected_tuple(counts, n);
        EXPECT_TRUE(seen.insert(tuple).second);
        std::int32_t changed = n == 0 ? 1 : 0;
        for (std::size_t k = 0; k < before.size(); ++k) changed += std::abs(tuple[k] - before[k]);
        EXPECT_EQ(changed, 1);
        before = tuple;
    }
}

TEST(TileSlots, PairsPartitionTheSlotsAtOneDistance) {
    for (std::int32_t slots = 4; slots < 40; slots += 2) {
        std::set<std::int32_t> taken, apart;
        for (const auto& [x, y] : tile_slots(slots)) {
            EXPECT_TRUE(taken.insert(x).second);
            EXPECT_TRUE(taken.insert(y).second);
            apart.insert(modulo(y - x, slots));
        }
        EXPECT_EQ(taken.size(), as_size(slots));
        ASSERT_EQ(apart.size(), 1U);
        EXPECT_NE(*apart.begin() % slots, 0);
        EXPECT_NE(*apart.begin(), slots / 2);
    }
}

}  // namespace
}  // namespace conset
