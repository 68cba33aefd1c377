// The closed form against its own inverse, every construction link by link, symmetries against routes.
#include "conset/array.hpp"
#include "conset/scheduling/complete_exchange/complete_exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "conset/scheduling/complete_exchange/exchange_choice.hpp"
#include "conset/scheduling/complete_exchange/exchange_orbits.hpp"
#include "conset/scheduling/complete_exchange/exchange_product.hpp"
#include "conset/scheduling/complete_exchange/exchange_search.hpp"
#include "conset/scheduling/complete_exchange/transversal.hpp"
#include "conset/scheduling/first_fit.hpp"

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
    const ExchangeBox box(Network::box({3}, false, Tie::parity), 1);
    const Phases phases{{0, 1, 2, 4}, {0, 3, 4, 1}};
    EXPECT_EQ(merge_phases(box, phases, 1).offsets, phases.offsets);
    EXPECT_EQ(merge_phases(box, phases, 3).offsets, (Array<std::int64_t>{0, 2, 4}));
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

ExchangeBox box_of(Array<std::int32_t> sides, bool wrap, std::int64_t contention = 1) {
    return {Network::box(std::move(sides), wrap, Tie::parity), contention};
}

TEST(FirstFitAround, KeepsWhatFitsWhereItStands) {
    const ExchangeBox box = box_of({3, 3}, false);
    Array<std::int32_t> start(72, -1);
    start[0] = start[1] = start[8] = 5;  // 0->1 and 0->2 share their sender, 1->0 neither
    const Array<std::int32_t> phase = first_fit_around(ExchangeResources(box).resources, start);
    expect_valid(box.network, group_phases(phase), 1);
    EXPECT_EQ(phase[0], 5);
    EXPECT_NE(phase[1], 5);
    EXPECT_EQ(phase[8], 5);
}

TEST(ProductPlan, OfEqualSidesDivisibleBy4IsAsShortAsTheClosedForm) {
    for (const Array<std::int32_t>& sides : {Array<std::int32_t>{4, 4}, {8, 8}, {12, 12}, {4, 4, 4}}) {
        const ExchangeBox box = box_of(sides, false);
        Families families(0);
        const std::int32_t steps = steps_in(steps_of_plan(cheapest_plan(box, 1, families), box, 1));
        EXPECT_EQ(steps, box.bound);
        EXPECT_EQ(steps, sides[0] * box.nodes() / 4);
    }
}

struct Shape {
    Array<std::int32_t> sides;
    bool wrap;
};

TEST(ExchangeMethods, KeepTheLimitsOnTheirDomains) {
    std::set<std::string> used;
    for (const auto& [sides, wrap] : {Shape{{5, 5}, false},
                                      {{6, 6}, false},
                                      {{7, 7}, false},
                                      {{8, 8}, false},
                                      {{5, 6}, false},
                                      {{9, 9}, false},
                                      {{10, 9}, false},
                                      {{17, 17}, false},
                                      {{3, 4, 5}, false},
                                      {{5, 5}, true},
                                      {{7, 6}, true},
                                      {{5, 8}, true},
                                      {{9, 3}, true},
                                      {{9, 9}, true},
                                      {{13, 13}, true},
                                      {{17, 17}, true},
                                      {{4, 2, 6}, true},
                                      {{9}, true},
                                      {{8, 8, 8}, true}})
        for (const std::int64_t contention : {1, 2, 4}) {
            const ExchangeBox box = box_of(sides, wrap, contention);
            if (box.nodes() > 200 && contention > 1) break;
            Families families(0);
            std::int32_t fewest = box.messages();
            for (const ExchangeMethod& method : exchange_methods()) {
                if (!method.applies(box)) continue;
                SCOPED_TRACE(method.name);
                used.insert(method.name);
                const Phases phases = method.schedule(box, families);
                expect_valid(box.network, phases, box.contention);
                EXPECT_GE(phases.count(), box.bound);
                fewest = std::min(fewest, phases.count());
            }
            EXPECT_LE(choose_exchange(box, 0, 0).phases.count(), fewest);
            if (box.nodes() > 40) continue;
            const Phases searched = choose_exchange(box, 1, 0).phases;
            EXPECT_LE(searched.count(), fewest);
            expect_valid(box.network, searched, box.contention);
        }
    EXPECT_EQ(used.size(), exchange_methods().size());
}

TEST(ExchangeChoice, TakesAsManyPhasesOfAMeshThatIsTurned) {
    for (const auto& [sides, contention] :
         {std::pair<Array<std::int32_t>, std::int32_t>{{16, 15}, 1}, {{10, 9}, 1}, {{12, 10}, 2}, {{3, 4, 5}, 1}}) {
        const ExchangeBox box = box_of(sides, false, contention),
                          turned = box_of({sides.rbegin(), sides.rend()}, false, contention);
        const Phases phases = choose_exchange(box, 0, 0).phases;
        expect_valid(box.network, phases, contention);
        EXPECT_EQ(phases.count(), choose_exchange(turned, 0, 0).phases.count());
    }
}

TEST(ExchangeBox, RefusesOtherNetworks) {
    EXPECT_THROW(ExchangeBox(Network::hypercube(3), 1), std::invalid_argument);
    EXPECT_THROW(box_of({3, 3}, false, 0), std::invalid_argument);
    EXPECT_THROW(box_of({46'341}, false), std::invalid_argument);
}

// Nodes and links of a route, the links by the nodes at their ends.
Array<std::int32_t> route(const ExchangeBox& box, std::int32_t message) {
    Array<std::int32_t> nodes{box.source(message)};
    box.network.walk(nodes[0], box.target(message), [&](std::int32_t, std::int32_t node) { nodes.push_back(node); });
    return nodes;
}

TEST(Symmetries, TakeRoutesToRoutes) {
    for (const auto& [sides, wrap] :
         {Shape{{5, 4}, false}, {{5, 5}, false}, {{4, 6}, false}, {{5, 6}, true}, {{8, 3}, true}, {{12}, true}}) {
        const ExchangeBox box = box_of(sides, wrap);
        const Array<Symmetry> groups = symmetries(box, 16);
        EXPECT_GT(groups.front().order(), 1);
        EXPECT_EQ(groups.back().order(), 1);
        for (const Symmetry& group : groups) {
            Array<Array<std::int32_t>> images(as_size(group.order()));
            for (std::int32_t g = 0; g < group.order(); ++g) {
                std::set<std::int32_t> seen;
                for (std::int32_t m = 0; m < box.messages(); ++m) {
                    const std::int32_t image = group.image(box, g, m);
                    images[g].push_back(image);
                    seen.insert(image);
                    EXPECT_EQ(g > 0, image != m);  // none but the first element leaves a message where it is
                    Array<std::int32_t> moved = route(box, m);
                    for (std::int32_t& node : moved) node = group.nodes[g][node];
                    EXPECT_EQ(route(box, image), moved);
                }
                EXPECT_EQ(seen.size(), as_size(box.messages()));
            }
            for (const std::int32_t order : group.orders) {
                // the first elements are a subgroup, so many in a row its cosets
                std::set<std::set<std::int32_t>> sets, again;
                const auto coset = [&](std::int32_t from, std::int32_t message) {
                    std::set<std::int32_t> found;
                    for (std::int32_t k = from; k < from + order; ++k) found.insert(images[k][message]);
                    return found;
                };
                for (std::int32_t k = 0; k < group.order(); k += order) sets.insert(coset(k, 0));
                for (const auto& row : sets)
                    for (const std::int32_t message : row) again.insert(coset(0, message));
                EXPECT_EQ(sets, again);
            }
        }
    }
}

// Also where the group does not divide their number, so that some phases are their own images.
TEST(OrbitPacking, NegotiatesPhasesOfAllMessages) {
    for (const auto& [sides, wrap] :
         {Shape{{5, 4}, false}, {{4, 4}, false}, {{5, 5}, false}, {{5, 6}, true}, {{3, 4}, true}}) {
        const ExchangeBox box = box_of(sides, wrap);
        for (const Symmetry& group : symmetries(box, 16)) {
            const OrbitPacking packing(box, group);
            for (std::int32_t phases = 2 * box.bound; phases < 2 * box.bound + group.order(); ++phases) {
                const Array<std::int32_t> found = packing.negotiate(phases, 100'000'000, 1);
                ASSERT_FALSE(found.empty());
                const Phases grouped = group_phases(found);
                EXPECT_LE(grouped.count(), phases);
                expect_valid(box.network, grouped, 1);
            }
        }
    }
}

}  // namespace
}  // namespace conset
