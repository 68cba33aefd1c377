// Negotiated assignment: the ledger's prices, the cheapest path against one found slowly, limits of every kind.
#include "conset/array.hpp"
#include "conset/scheduling/negotiated.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "conset/scheduling/negotiated_paths.hpp"
#include "instances.hpp"

namespace conset {
namespace {

using testing_::Ints;
using testing_::Pattern;

const Ints one{1}, none{};
const Pressure fixed_pressure{1, 1, 0.2, 1}, free_pressure{0.5, 1.05, 0.2, 20};

TEST(Ledger, PricesOveruseByItsHistory) {
    Ledger ledger(2, 1);
    ledger.cell(0).room = 1;
    ledger.cell(1).room = 2;
    ledger.cell(1).discount = 1;
    ledger.price_all(2);
    EXPECT_EQ(ledger.price(0), 1);  // room for one more
    EXPECT_EQ(ledger.price(1), 0);
    ledger.take(0);
    EXPECT_EQ(ledger.price(0), 3);  // one too many would cost 2
    EXPECT_TRUE(ledger.over().empty());
    ledger.take(0);
    ledger.take(0);
    EXPECT_EQ(ledger.price(0), 7);
    EXPECT_EQ(ledger.excess(), 2);
    ledger.remember(0.5);
    EXPECT_EQ(ledger.price(0), 14);  // weight 1 + 2 * 0.5
    for (int k = 0; k < 4; ++k) ledger.take(1);
    EXPECT_EQ(ledger.excess(), 4);
    ledger.give_back(0);
    ledger.give_back(0);
    EXPECT_FALSE(ledger.overused(0));
    EXPECT_EQ(ledger.over().size(), 1U);
    EXPECT_EQ(ledger.excess(), 2);
}

// A graph of links both ways between random nodes, connected by a cycle.
struct Graph {
    Ints source, target;
    explicit Graph(std::int32_t nodes, std::int32_t chords, std::uint64_t seed) {
        Random random(seed);
        const auto join = [&](std::int32_t a, std::int32_t b) {
            source.insert(source.end(), {a, b});
            target.insert(target.end(), {b, a});
        };
        for (std::int32_t v = 0; v < nodes; ++v) join(v, (v + 1) % nodes);
        for (std::int32_t k = 0; k < chords; ++k)
            join(static_cast<std::int32_t>(random.below(nodes)), static_cast<std::int32_t>(random.below(nodes)));
    }
};

// The price of the cheapest path from s to t in one slot, by relaxing all links again and again.
float slow_price(const Graph& graph, const Ledger& ledger, std::int32_t nodes, std::size_t first, std::int32_t s,
                 std::int32_t t) {
    Array<float> price(static_cast<std::size_t>(nodes), 1e9F);
    const auto price_of = [&](auto row) { return ledger.price(first + as_size(row)); };
    price[s] = price_of(s) + price_of(nodes + t) + price_of(2 * nodes + s);
    for (std::int32_t round = 0; round < nodes; ++round)
        for (std::size_t l = 0; l < graph.source.size(); ++l)
            price[graph.target[l]] =
                std::min(price[graph.target[l]], price[graph.source[l]] + price_of(as_size(3 * nodes) + l) +
                                                     price_of(2 * nodes + graph.target[l]));
    return price[t];
}

TEST(PathSearch, FindsTheCheapestPathOfAllSlots) {
    constexpr std::int32_t nodes = 12, slots = 5;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const Graph graph(nodes, 8, seed);
        const Ints source{0}, target{7};
        const NegotiatedItems items({nodes, graph.source, graph.target}, {source, target, none, none}, one);
        const std::size_t rows = 3 * nodes + graph.source.size();
        Ledger ledger(rows * slots, 1);
        Random random(seed);
        for (std::size_t at = 0; at < rows * slots; ++at) {
            const std::size_t row = at % rows;
            ledger.cell(at).room = static_cast<std::int32_t>(random.below(3)) - 1;
            ledger.cell(at).weight = 1 + static_cast<float>(random.below(8)) / 4;
            ledger.cell(at).discount = row < 2 * nodes || row >= 3 * nodes ? 1 : 0;
        }
        ledger.price_all(0.5);
        Array<float> order(slots, 0);
        order[seed % slots] = 100;
        float least = 1e9F;
        for (std::int32_t q = 0; q < slots; ++q)
            least = std::min(least, order[q] + slow_price(graph, ledger, nodes, rows * as_size(q), 0, 7));
        PathSearch search(items, slots);
        for (int again = 0; again < 3; ++again) {  // a search leaves nothing behind
            Ints path;
            const std::int32_t q = search.find(0, ledger, order.data(), random, path);
            const std::size_t first = rows * static_cast<std::size_t>(q);
            float price = order[q] + ledger.price(first) + ledger.price(first + nodes + 7) + ledger.price(first + 24);
            std::int32_t node = 0;
            for (const std::int32_t link : items.links_of(path)) {
                EXPECT_EQ(graph.source[link], node);
                node = graph.target[link];
                price +=
                    ledger.price(first + as_size(3 * nodes + link)) + ledger.price(first + as_size(2 * nodes + node));
            }
            EXPECT_EQ(node, 7);
            EXPECT_NEAR(price, least, 1e-4);
        }
    }
}

TEST(Negotiation, KeepsLimitsOverFixedRoutes) {
    const Network cube = Network::hypercube(4);
    const Pattern pattern = testing_::random_pattern(16, 200, 3);
    for (const Limits& limits : {Limits{1, 1, 1, 0, false}, Limits{2, 3, 0, 6, false}, Limits{0, 0, 2, 0, false}}) {
        const auto entry = [](std::int32_t value) { return value > 0 ? Ints{value} : Ints{}; };
        const Ints send = entry(limits.send), receive = entry(limits.receive), link = entry(limits.link),
                   channels = entry(limits.channels);
        const SlotLimits slots{send, receive, link, channels};
        const NegotiatedItems items(cube, {pattern.source, pattern.target, none, none}, one, false);
        std::int32_t count = items.least_slots(slots);
        while (true) {
            Negotiation negotiation(items, count, slots, fixed_pressure, 7);
            if (negotiation.run(2000, 1 << 28) == 0) {
                testing_::expect_within_limits(Resources({cube, pattern.source, pattern.target, {}, {}}, one, limits),
                                               negotiation.slot_of_messages());
                break;
            }
            ASSERT_LT(++count, 200);
        }
    }
}

TEST(Negotiation, SlotsOfAPhaseShareItsPorts) {
    const Network cube = Network::hypercube(4);
    const Pattern pattern = testing_::random_pattern(16, 200, 3);
    const NegotiatedItems items(cube, {pattern.source, pattern.target, none, none}, one, false);
    for (std::int32_t phases = items.least_slots({one, one, none, none}); phases < 200; ++phases) {
        Negotiation negotiation(items, 2 * phases, {one, one, one, none}, fixed_pressure, 7, 2);
        if (negotiation.run(2000, 1 << 28) > 0) continue;
        const Ints slot = negotiation.slot_of_messages();
        Ints phase = slot;
        for (std::int32_t& each : phase) each /= 2;
        const Routes routes{cube, pattern.source, pattern.target, {}, {}};
        testing_::expect_within_limits(Resources(routes, one, {1, 1, 0, 0, false}), phase);
        testing_::expect_within_limits(Resources(routes, one, {0, 0, 1, 0, false}), slot);
        return;
    }
    FAIL() << "no assignment";
}

TEST(Negotiation, PairsMessagesThatGoBothWays) {
    const Network cube = Network::hypercube(4);
    const Pattern pattern = testing_::random_pattern(16, 150, 5);
    const NegotiatedItems items(cube, {pattern.source, pattern.target, none, none}, one, true);
    EXPECT_LT(items.items(), pattern.source.size());
    const SlotLimits slots{one, one, one, none};
    for (std::int32_t count = items.least_slots(slots); count < 100; ++count) {
        Negotiation negotiation(items, count, slots, fixed_pressure, 1);
        if (negotiation.run(2000, 1 << 28) > 0) continue;
        testing_::expect_exchanges(pattern, negotiation.slot_of_messages());
        return;
    }
    FAIL() << "no assignment";
}

TEST(Negotiation, ChoosesPathsWithinCapacitiesOfEachSlot) {
    // Two ways from 0 to 2 on a ring of 4: two routes in a slot with room for one message a link, three in one for two.
    const Graph ring(4, 0, 0);
    const Ints source{0, 0, 0, 0, 0}, target{2, 2, 2, 2, 2};
    const NegotiatedItems items({4, ring.source, ring.target}, {source, target, none, none}, one);
    const Ints link{1, 2}, send{2, 3}, tight{2, 2};
    Negotiation negotiation(items, 2, {send, none, link, none}, free_pressure, 0);
    EXPECT_EQ(negotiation.run(100, 1 << 20), 0);
    const Ints slot = negotiation.slot_of_messages();
    EXPECT_EQ(std::accumulate(slot.begin(), slot.end(), 0), 3);
    const RoutePaths paths = negotiation.paths();
    EXPECT_EQ(paths.offsets.back(), 15);  // three nodes each
    Negotiation fails(items, 2, {tight, none, link, none}, free_pressure, 0);
    EXPECT_EQ(fails.run(100, 1 << 20), 1);
}

TEST(Negotiation, KeepsAnOrder) {
    const Network ring = Network::box({6}, true, Tie::parity);
    Pattern pattern;
    Ints first, second;
    for (std::int32_t k = 0; k < 12; ++k) {
        pattern.source.push_back(k % 6);
        pattern.target.push_back((k + 1) % 6);
        if (k > 0) first.push_back(k - 1), second.push_back(k);
    }
    const NegotiatedItems items(ring, {pattern.source, pattern.target, first, second}, one, false);
    const SlotLimits slots{one, one, one, none};
    EXPECT_EQ(items.least_slots(slots), 12);
    Negotiation negotiation(items, 12, slots, fixed_pressure, 0);
    EXPECT_EQ(negotiation.run(100, 1 << 20), 0);
    const Ints slot = negotiation.slot_of_messages();
    for (std::int32_t k = 0; k < 12; ++k) EXPECT_EQ(slot[k], k);
}

// On the path 0 - 1 - 2: 0 -> 1 or, in either slot, both 1 -> 2 and 2 -> 0; and 0 -> 1 once more, which has the first
// slot alone. So the first item takes its other alternative.
TEST(Negotiation, TakesTheAlternativeThatFits) {
    const Network path = Network::box({3}, false, Tie::parity);
    const Ints source{0, 1, 2, 0}, target{1, 2, 0, 1}, message{0, 1, 2, 3}, first_slot{0, 0, 0}, end_slot{1, 2, 1};
    const Array<std::int64_t> item_offsets{0, 2, 3}, offsets{0, 1, 3, 4};
    const NegotiatedItems items(path, {source, target, {}, {}}, one,
                                {item_offsets, offsets, message, first_slot, end_slot});
    EXPECT_EQ(items.items(), 2U);
    Negotiation negotiation(items, 2, {one, one, one, none}, fixed_pressure, 1);
    EXPECT_EQ(negotiation.run(100, 1'000'000), 0);
    const Ints slot = negotiation.slot_of_messages();
    EXPECT_EQ(slot[0], -1);
    EXPECT_EQ(slot[1], slot[2]);
    EXPECT_GE(slot[1], 0);
    EXPECT_EQ(slot[3], 0);
}

}  // namespace
}  // namespace conset
