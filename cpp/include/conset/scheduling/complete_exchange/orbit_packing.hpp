// Orbit packing: vector bin packing by annealing, for few items with several small loads each.
//
// Item i adds load[i * rows + r] to row r of the bin it is in; bin b takes capacity[b * rows + r]. The cost is the sum
// of all that is too much. A step moves one item or swaps two of different bins, with equal probability; Metropolis,
// the temperature falls geometrically. The first assignment without excess is returned. Complexity: O(rows) a step;
// memory O((items + bins) * rows).
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

struct Cooling {
    double hot, cold;
    std::int64_t steps;
};

// The bin of every item, or nothing where no step led to an assignment without excess.
Array<std::int32_t> pack_orbits(std::int32_t rows, View<const std::int32_t> load, View<const std::int32_t> capacity,
                                const Cooling& cooling, std::uint64_t seed);

}  // namespace conset
