// There is one construction here, translations: every node sends to the node at one displacement, N - 1 phases, for
// links that are unlimited, or carry so much that only ports count.
// Idea: phase by phase one vector of displacements, coordinates modulo the sides: a permutation of the nodes.
// Invariant: along a line a displacement d puts at most min(d, side - d) messages on a link in each direction.
// Guarantee: N - 1 phases, the port bound, where the contention is at least half of the largest side, rounded down.
// Complexity: O(messages).
// Reference: the linear exchange of Thakur, Choudhary, Fox (SHPCC 1994), GEN, with coordinates in place of node
// numbers.
#include "conset/scheduling/complete_exchange/exchange_choice.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "conset/scheduling/complete_exchange/complete_exchange.hpp"
#include "conset/scheduling/complete_exchange/exchange_search.hpp"

namespace conset {

namespace {

bool applies_translations(const ExchangeBox& box) {
    return box.contention >= *std::max_element(box.sides.begin(), box.sides.end()) / 2;
}

Phases schedule_translations(const ExchangeBox& box, Families&) {
    Array<std::int32_t> step(as_size(box.messages()));
    const auto axes = static_cast<std::int32_t>(box.sides.size());
    for (std::int32_t s = 0; s < box.nodes(); ++s)
        for (std::int32_t t = 0; t < box.nodes(); ++t) {
            if (t == s) continue;
            std::int32_t away = 0;
            for (std::int32_t k = 0; k < axes; ++k)
                away += modulo(box.coordinate(t, k) - box.coordinate(s, k), box.sides[k]) * box.strides[k];
            step[box.message(s, t)] = away - 1;
        }
    return group_phases(step);
}

Phases schedule_square_4m(const ExchangeBox& box, Families&) {
    return SquareExchange(box.sides[0]).phases(std::min(box.contention, box.sides[0] / 4));
}

template <std::int32_t kRest>
bool applies_square(const ExchangeBox& box) {
    return box.is_square_mesh() && box.sides[0] % 4 == kRest && box.sides[0] > kRest;
}

// Of one or two dimensions, sides of 1 not counted.
bool applies_torus(const ExchangeBox& box) { return box.is_torus() && box.axes.size() <= 2 && box.nodes() > 1; }

bool applies_torus_lines(const ExchangeBox& box) { return box.is_torus() && box.axes.size() == 2; }

// Where moves in one dimension are left over, or flips whose ties are not by parity.
bool applies_torus_absorbed(const ExchangeBox& box) {
    return applies_torus_lines(box) && std::any_of(box.axes.begin(), box.axes.end(), [&](std::int32_t axis) {
               const std::int32_t rest = box.sides[axis] % 4;
               return rest == 3 || (rest == 0 && box.network.tie() != Tie::parity);
           });
}

bool applies_torus_cube(const ExchangeBox& box) {
    return box.sides.size() == 3 && box.is_torus() && box.is_cube() && box.sides[0] % 8 == 0;
}

constexpr std::array kMethods{
    ExchangeMethod{"stored", applies_stored, schedule_stored},
    ExchangeMethod{"translations", applies_translations, schedule_translations},
    ExchangeMethod{"square 4m", applies_square<0>, schedule_square_4m},
    ExchangeMethod{"square 4m+2", applies_square<2>, schedule_square_4m2},
    ExchangeMethod{"square 4m+3", applies_square<3>, schedule_square_4m3},
    ExchangeMethod{"torus cube", applies_torus_cube, schedule_torus_cube},
    ExchangeMethod{"torus", applies_torus, schedule_torus},
    ExchangeMethod{"torus, lines absorbed", applies_torus_absorbed, schedule_torus_absorbed},
    ExchangeMethod{"torus lines", applies_torus_lines, schedule_torus_lines},
    ExchangeMethod{"product", [](const ExchangeBox&) { return true; }, schedule_product},
};

}  // namespace

View<const ExchangeMethod> exchange_methods() { return kMethods; }

ExchangeChoice choose_exchange(const ExchangeBox& box, std::int32_t effort, std::uint64_t seed) {
    if (box.nodes() == 1) return {{{0}, {}}, "nothing to send"};
    Array<ExchangeChoice> tried;
    Families families(seed);
    const bool mends = box.network.tie() != Tie::parity && box.has_ties();
    for (const ExchangeMethod& method : kMethods) {
        if (!method.applies(box)) continue;
        tried.push_back({method.schedule(box, families), method.name});
        auto& [phases, name] = tried.back();
        if (mends && name != "translations") {  // what does not fit moves to the first phase with room
            const ExchangeSearch search(box.network, box.contention);
            phases = group_phases(search.fill(phase_of_messages(phases)));
            name += ", mended";
        }
        if (phases.count() <= box.bound) return std::move(tried.back());
    }
    std::stable_sort(tried.begin(), tried.end(), [](const ExchangeChoice& one, const ExchangeChoice& other) {
        return one.phases.count() < other.phases.count();
    });
    Array<const Phases*> starts;
    for (const ExchangeChoice& choice : tried) starts.push_back(&choice.phases);
    if (auto found = search_phases(box, starts, effort, seed)) return {std::move(*found), tried[0].name + ", searched"};
    return std::move(tried[0]);
}

}  // namespace conset
