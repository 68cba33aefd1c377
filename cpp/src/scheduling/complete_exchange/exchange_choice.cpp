// There is one construction here, translations: N - 1 phases, for links that are unlimited, or carry so much that only
// ports count.
// Idea: along each axis a complete exchange of a line in side - 1 permutations, and the one that stays; phase by phase
// one vector of permutations, which is a permutation of the nodes.
// Invariant: permutation d moves by d modulo the side and puts at most min(d, side - d) messages on a link in each
// direction.
// Guarantee: N - 1 phases, the port bound, where the contention is at least half of the largest side, rounded down.
// Complexity: O(messages).
// Lines: where a link carries less, and no construction meets that bound, a search negotiates the permutations of each
// line (`exchange_orbits.hpp`), below a second. Measured: it finds them on paths of 3 to 49 nodes at contention
// floor(side / 4) + 1, below which links count and not ports.
// Reference: the linear exchange of Thakur, Choudhary, Fox (SHPCC 1994), GEN, with coordinates in place of node
// numbers.
#include "conset/scheduling/complete_exchange/exchange_choice.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "conset/scheduling/complete_exchange/complete_exchange.hpp"
#include "conset/scheduling/complete_exchange/exchange_orbits.hpp"
#include "conset/scheduling/complete_exchange/exchange_search.hpp"
#include "conset/scheduling/first_fit.hpp"

namespace conset {

namespace {

// Prices read in the negotiation of a line, at most, for each message and in all; nodes of a line that is negotiated.
constexpr std::int64_t kLineWork = 1'000'000, kMaxLineWork = 2'000'000'000;
constexpr std::int32_t kLongestLine = 49;

ExchangeBox line_of(const ExchangeBox& box, std::int32_t axis, std::int64_t contention) {
    return {Network::box({box.sides[axis]}, box.network.wraps(), box.network.tie()), contention};
}

// The least contention at which side - 1 permutations may do.
std::int64_t line_contention(const ExchangeBox& box, std::int32_t axis) {
    return ceil_divide(line_of(box, axis, 1).link_load(0), box.sides[axis] - 1);
}

bool moves(const ExchangeBox& box, std::int32_t axis) { return box.contention >= box.sides[axis] / 2; }

bool applies_translations(const ExchangeBox& box) {
    return std::all_of(box.axes.begin(), box.axes.end(), [&](std::int32_t axis) { return moves(box, axis); });
}

bool applies_lines(const ExchangeBox& box) {
    return std::all_of(box.axes.begin(), box.axes.end(), [&](std::int32_t axis) {
        const bool negotiable = box.network.tie() != Tie::checker && box.sides[axis] <= kLongestLine;
        return moves(box, axis) || (negotiable && line_contention(box, axis) <= box.contention);
    });
}

// The permutation of every message of a line, from 0, which does not stay; nothing where none were found.
Array<std::int32_t> line_permutations(const ExchangeBox& box, std::int32_t axis) {
    const std::int64_t least = line_contention(box, axis), most = std::min<std::int64_t>(least + 1, box.contention);
    Array<std::int32_t> found;
    for (std::int64_t contention = least; contention <= most && found.empty(); ++contention) {
        const ExchangeBox line = line_of(box, axis, contention);
        const std::int64_t work = std::min(kLineWork * line.messages(), kMaxLineWork);
        found = OrbitPacking(line, symmetries(line, 2)[0]).negotiate(line.nodes() - 1, work, 0);
    }
    return found;
}

// Vectors of translations, and of negotiated permutations along axes whose links do not carry these; nothing where none
// were found.
Phases schedule_lines(const ExchangeBox& box) {
    Array<std::int32_t> step(as_size(box.messages()), -1);
    for (const std::int32_t axis : box.axes) {
        const std::int32_t side = box.sides[axis];
        const bool shifts = moves(box, axis);
        const Array<std::int32_t> permutation = shifts ? Array<std::int32_t>{} : line_permutations(box, axis);
        if (!shifts && permutation.empty()) return {};
        for (std::int32_t message = 0; message < box.messages(); ++message) {
            const std::int32_t x = box.coordinate(box.source(message), axis),
                               y = box.coordinate(box.target(message), axis);
            const bool shifted = shifts || x == y;
            step[message] +=
                box.strides[axis] * (shifted ? modulo(y - x, side) : permutation[x * (side - 1) + y - (y > x)] + 1);
        }
    }
    return group_phases(step);
}

Phases schedule_translations(const ExchangeBox& box, Families&) { return schedule_lines(box); }

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

constexpr std::array kMethods{
    ExchangeMethod{"translations", applies_translations, schedule_translations},
    ExchangeMethod{"square 4m", applies_square<0>, schedule_square_4m},
    ExchangeMethod{"affine", applies_affine, schedule_affine},
    ExchangeMethod{"square 4m+2", applies_square<2>, schedule_square_4m2},
    ExchangeMethod{"square 4m+3", applies_square<3>, schedule_square_4m3},
    ExchangeMethod{"torus", applies_torus, schedule_torus},
    ExchangeMethod{"torus, lines absorbed", applies_torus_absorbed, schedule_torus_absorbed},
    ExchangeMethod{"torus lines", applies_torus_lines, schedule_torus_lines},
    ExchangeMethod{"product", [](const ExchangeBox&) { return true; }, schedule_product},
};

// The mesh whose axes come in the other order. A route of it, turned and reversed, is a route again, so its phases are
// phases of this one.
class TurnedMesh {
public:
    explicit TurnedMesh(const ExchangeBox& box)
        : box_(box),
          turned_(Network::box({box.sides.rbegin(), box.sides.rend()}, false, Tie::parity), box.contention) {}

    const ExchangeBox& operator*() const { return turned_; }

    Phases turned_back(const Phases& phases) const {
        const Array<std::int32_t> phase = phase_of_messages(phases);
        Array<std::int32_t> own(phase.size());
        for (std::int32_t m = 0; m < box_.messages(); ++m)
            own[m] = phase[turned_.message(turn(box_.target(m)), turn(box_.source(m)))];
        return group_phases(own);
    }

private:
    std::int32_t turn(std::int32_t node) const {
        const auto dims = static_cast<std::int32_t>(box_.sides.size());
        std::int32_t other = 0;
        for (std::int32_t axis = 0; axis < dims; ++axis)
            other += box_.coordinate(node, axis) * turned_.strides[dims - 1 - axis];
        return other;
    }

    const ExchangeBox& box_;
    ExchangeBox turned_;
};

}  // namespace

View<const ExchangeMethod> exchange_methods() { return kMethods; }

ExchangeChoice choose_exchange(const ExchangeBox& box, std::int32_t effort, std::uint64_t seed) {
    if (box.nodes() == 1) return {{{0}, {}}, "nothing to send"};
    Array<ExchangeChoice> tried;
    Families families(seed);
    // Whether the last construction that was tried on `of`, as `finish` leaves it, meets the bound.
    const auto meets_bound = [&](const ExchangeBox& of, const auto& finish) {
        for (const ExchangeMethod& method : kMethods) {
            if (!method.applies(of)) continue;
            tried.push_back({method.schedule(of, families), method.name});
            finish(tried.back());
            if (tried.back().phases.count() <= box.bound) return true;
        }
        return false;
    };
    const bool mends = box.network.tie() != Tie::parity && box.has_ties();
    const auto mend = [&](ExchangeChoice& choice) {  // what does not fit moves to the first phase with room
        if (!mends || choice.name == "translations") return;
        choice.phases =
            group_phases(first_fit_around(ExchangeResources(box).resources, phase_of_messages(choice.phases)));
        choice.name += ", mended";
    };
    if (meets_bound(box, mend)) return std::move(tried.back());
    if (box.is_mesh() && !std::equal(box.sides.begin(), box.sides.end(), box.sides.rbegin())) {
        const TurnedMesh turned(box);
        const auto turn_back = [&](ExchangeChoice& choice) {
            choice.phases = turned.turned_back(choice.phases);
            choice.name += ", turned";
        };
        if (meets_bound(*turned, turn_back)) return std::move(tried.back());
    }
    if (effort > 0 && applies_lines(box))
        if (Phases found = schedule_lines(box); found.count() > 0) return {std::move(found), "lines, searched"};
    std::stable_sort(tried.begin(), tried.end(), [](const ExchangeChoice& one, const ExchangeChoice& other) {
        return one.phases.count() < other.phases.count();
    });
    Array<const Phases*> starts;
    for (const ExchangeChoice& choice : tried) starts.push_back(&choice.phases);
    if (auto found = search_phases(box, starts, effort, seed)) return {std::move(*found), tried[0].name + ", searched"};
    return std::move(tried[0]);
}

}  // namespace conset
