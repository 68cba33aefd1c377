// The closed form against its own inverse, its loads link by link, and the search against an exhaustive small case.
#include "conset/array.hpp"
#include "conset/scheduling/complete_exchange/complete_exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "conset/scheduling/complete_exchange/exchange_product.hpp"
#include "conset/scheduling/complete_exchange/exchange_search.hpp"
#include "conset/scheduling/complete_exchange/transversal.hpp"

namespace conset {
namespace {

struct Ends {
    std::int32_t source, target;
};

Ends ends_of(std::int32_t message, std::int32_t nodes) {
    const std::int32_t s = message / (nodes - 1), rest = message % (nodes - 1);
    return {s, rest + (rest >= s)};
}

// The phases keep one send, one receive and `contention` messages on every link; every message is in one of them.
void expect_valid(const Network& network, const Phases& phases, std::int32_t contention) {
    const std::int32_t nodes = network.nodes();
    ASSERT_EQ(phases.message.size(), static_cast<std::size_t>(nodes) * static_cast<std::size_t>(nodes - 1));
    Array<bool> seen(phases.message.size(), false);
    for (std::size_t p = 0; p + 1 < phases.offsets.size(); ++p) {
        std::set<std::int32_t> senders, receivers;
        std::map<std::int32_t, std::int32_t> load;
        for (std::int64_t k = phases.offsets[p]; k < phases.offsets[p + 1]; ++k) {
            const std::int32_t message = phases.message[k];
            ASSERT_FALSE(seen[message]);
            seen[message] = true;
            const Ends ends = ends_of(message, nodes);
            ASSERT_TRUE(senders.insert(ends.source).second);
            ASSERT_TRUE(receivers.insert(ends.target).second);
            network.walk(ends.source, ends.target,
                         [&](std::int32_t link, std::int32_t) { ASSERT_LE(++load[link], contention); });
        }
    }
}

TEST(SquareExchange, KeepsEveryLimitAtEveryContention) {
    for (const std::int32_t side : {4, 8, 12, 16}) {
        const Network mesh = Network::box({side, side}, false, Tie::parity);
        for (std::int32_t c = 1; c <= side / 4; ++c) {
            const Phases phases = SquareExchange(side).phases(c);
            EXPECT_EQ(phases.offsets.size() - 1, static_cast<std::size_t>((side * side * side / 4 + c - 1) / c));
            expect_valid(mesh, phases, c);
        }
    }
}

TEST(SquareExchange, PartnerAndStepAreInverse) {
    const SquareExchange square(12);
    std::int32_t pairs = 0;
    for (std::int64_t step = 0; step < square.steps(); ++step)
        for (std::int32_t node = 0; node < 144; ++node) {
            const std::int32_t partner = square.partner(node, step);
            if (partner < 0) continue;
            EXPECT_EQ(square.step(node, partner), step);
            ++pairs;
        }
    EXPECT_EQ(pairs, 144 * 144);
}

TEST(SquareExchange, RefusesOtherSides) {
    EXPECT_THROW(SquareExchange(6), std::invalid_argument);
    EXPECT_THROW(SquareExchange(0), std::invalid_argument);
}

TEST(MergePhases, StopsAtTheLimitAndBeforeASenderOrReceiverRepeats) {
    // Three nodes: 0->1 | 1->2 | 2->0, 0->2 would repeat the sender 0 of the first.
    const Array<std::int64_t> offsets{0, 1, 2, 4};
    const Array<std::int32_t> message{0, 3, 4, 1};
    EXPECT_EQ(merge_phases(3, offsets, message, 1), offsets);
    EXPECT_EQ(merge_phases(3, offsets, message, 3), (Array<std::int64_t>{0, 2, 4}));
}

TEST(Transversal, IsAPermutationWithDistinctSymbolsOfSmallLoad) {
    const std::int32_t n = 8;  // cyclic square: y - x; n is even, so it has none, and the search must say so
    Array<std::int32_t> cyclic(n * n), steep(49);
    for (std::int32_t x = 0; x < n; ++x)
        for (std::int32_t y = 0; y < n; ++y) cyclic[x * n + y] = (y - x + n) % n;
    EXPECT_TRUE(find_transversal(n, cyclic, n, 1).empty());
    for (std::int32_t x = 0; x < 7; ++x)
        for (std::int32_t y = 0; y < 7; ++y) steep[x * 7 + y] = (y - x + 7) % 7;
    const Array<std::int32_t> found = find_transversal(7, steep, 4, 1);
    ASSERT_EQ(found.size(), 7U);
    std::set<std::int32_t> targets(found.begin(), found.end()), symbols;
    for (std::int32_t x = 0; x < 7; ++x) symbols.insert(steep[x * 7 + found[x]]);
    EXPECT_EQ(targets.size(), 7U);
    EXPECT_EQ(symbols.size(), 7U);
}

// A 3 x 3 mesh: 72 messages, 8 from each node, so no fewer than 8 phases.
TEST(ExchangeSearch, EveryPartReturnsAPackingThatKeepsTheLimits) {
    const Network mesh = Network::box({3, 3}, false, Tie::parity);
    const Array<std::int32_t> nowhere(72, -1);
    for (const std::int32_t contention : {1, 2}) {
        const ExchangeSearch search(mesh, contention);
        const Array<std::int32_t> filled = search.fill(nowhere), reordered = search.reorder(filled, 8, 50, 1);
        for (const auto& packing : {filled, search.peel(1), reordered})
            expect_valid(mesh, group_phases(packing), contention);
        const auto phases = [](const Array<std::int32_t>& p) { return *std::max_element(p.begin(), p.end()) + 1; };
        EXPECT_LE(phases(reordered), phases(filled));
        EXPECT_GE(phases(reordered), 8);
    }
}

TEST(ExchangeSearch, KeepsWhatFitsWhereItStands) {
    const ExchangeSearch search(Network::box({3, 3}, false, Tie::parity), 1);
    Array<std::int32_t> start(72, -1);
    start[0] = start[1] = start[8] = 5;  // 0->1 and 0->2 share their sender, 1->0 neither
    const Array<std::int32_t> phase = search.fill(start);
    EXPECT_EQ(phase[0], 5);
    EXPECT_NE(phase[1], 5);
    EXPECT_EQ(phase[8], 5);
}

}  // namespace
}  // namespace conset
