// Exchange search: packs the messages of a complete exchange into few phases.
//
// `search_phases` is the general fallback, for boxes on which no construction meets the bound, in turn, each from the
// best so far and each ending at the bound: negotiation of orbits (`exchange_orbits.hpp`), upwards from the bound;
// iterated greedy by first fit from every construction, which fits leftovers into earlier phases. Never worse than
// what it was given. Effort is a factor on budgets of elementary operations that grow with the messages up to a
// limit, at least one round of greedy; boxes of more than 400 000 messages are not searched. Of the meshes up to 24 x
// 24 at contention 1 only 5 x 7 needs it for its bound, 60. Reference. Culberson, Luo, Exploring the k-colorable
// landscape with iterated greedy, DIMACS Series 26 (1996).
#pragma once

#include <cstdint>
#include <optional>

#include "conset/array.hpp"
#include "conset/scheduling/complete_exchange/exchange_box.hpp"
#include "conset/scheduling/phases.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset {

// What the messages of a complete exchange take, message by message, for first fit.
struct ExchangeResources {
    explicit ExchangeResources(const ExchangeBox& box);
    ExchangeResources(const ExchangeResources&) = delete;
    ExchangeResources& operator=(const ExchangeResources&) = delete;

    Array<std::int32_t> source, target, width{1};
    Resources resources;
};

// The number of steps, one more than the largest.
std::int32_t steps_in(View<const std::int32_t> step);

// Fewer phases than the first, best of `starts`, by `effort` sweeps, each from the best so far; nothing where it finds
// none.
std::optional<Phases> search_phases(const ExchangeBox& box, const Array<const Phases*>& starts, std::int32_t effort,
                                    std::uint64_t seed);

}  // namespace conset
