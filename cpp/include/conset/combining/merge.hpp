// Merge: fewer bundles of a program that forwards, by local search.
//
// A bundle is what one rank sends another in one stage. One that is given up saves an overhead at both ends: its parts
// join bundles that are sent anyway. *Retime*: they go in another stage in which the same pair has a bundle. *Relay*:
// they go by way of a third rank w, if the sender has a bundle for w and w one for the receiver, one stage after the
// other; a bundle that goes in an unsuitable stage is moved where its own parts allow. Every step lowers the sum of all
// work, so the search ends. The work of a rank is counted by turns: turn j holds its sends of stage j and the receives
// it needs for them, the last turn all other receives; no step may raise a turn above a limit and above the busiest
// turn of both ranks that it helps.
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

// A cost that changes with size: seconds[k] holds up to and including up_to[k] bytes; the last is infinite.
struct SizeSteps {
    View<const double> up_to, seconds;

    double at(std::int64_t bytes) const {
        std::size_t k = 0;
        while (k + 1 < seconds.size() && static_cast<double>(bytes) > up_to[k]) ++k;
        return seconds[k];
    }
};

// What a bundle costs both its ends [s, s/B].
struct BundleCosts {
    SizeSteps send, receive;
    double setup_s = 0;       // of a rank, for each stage in which it sends or receives
    double copy_s_per_B = 0;  // at each end, where it holds more than one part
    double out_s_per_B = 0, in_s_per_B = 0;
};

struct MergeLimits {
    double turn_s = 0;          // a turn may be raised to this
    std::int64_t max_size = 0;  // larger bundles stay as they are [B]
    std::int32_t passes = 0;    // over all ranks
    std::uint64_t seed = 0;     // of the order of equally busy ranks; 0: by number
};

struct MergedPaths {
    Array<std::int32_t> positions;
    bool stopped;
};

// positions: rank of each part before each of `stages` stages and after the last, row by row; the parts' sizes [B].
// O(bundles x shorter degree x stages^2) a pass.
MergedPaths merge_bundles(View<const std::int32_t> positions, std::int32_t stages, View<const std::int64_t> size,
                          std::int32_t ranks, const BundleCosts& costs, const MergeLimits& limits);

}  // namespace conset
