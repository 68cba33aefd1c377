// Where a rank runs: whether the ranks of a machine exceed its cores, which decides how they wait and who computes.
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

// A machine, and the cores that this rank may use: launchers bind a rank to its own ones, or none to any.
struct HostPlace {
    std::uint64_t host = 0;
    std::int32_t first_core = 0, cores = 1;
};

HostPlace host_place();

// The largest number of ranks to a core, over all machines. Ranks with the same cores share them.
double ranks_per_core(Array<HostPlace> places);

}  // namespace conset
