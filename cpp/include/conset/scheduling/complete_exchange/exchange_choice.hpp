// Exchange choice: all constructions as a table, tried in order; the best is searched where the bound is not met.
#pragma once

#include <cstdint>
#include <string>

#include "conset/scheduling/complete_exchange/exchange_constructions.hpp"

namespace conset {

// A way to a complete exchange: its name in reports, its domain, and a function that gives phases of the box's
// contention where ties are broken by parity.
struct ExchangeMethod {
    const char* name;
    bool (*applies)(const ExchangeBox& box);
    ExchangeConstruction* schedule;
};

// Every construction, the most special first.
View<const ExchangeMethod> exchange_methods();

struct ExchangeChoice {
    Phases phases;
    std::string name;  // of what made them
};

// The fewest phases over all constructions and the search, of which `effort` is the length in sweeps; nothing more is
// tried once the bound is met.
ExchangeChoice choose_exchange(const ExchangeBox& box, std::int32_t effort, std::uint64_t seed);

}  // namespace conset
