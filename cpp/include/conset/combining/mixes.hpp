// Mixed: each message direct, or along other paths together with others, as the cost model says, improved by search.
//
// Problem: a few ranks have very many messages, or a few messages very many bytes. Paths through a box help the first
// and cost the rest, whose bytes then travel several times; and sparse patterns have a structure that no box follows.
// Idea: two ways to paths, used alone and one after the other.
//   threshold  only messages of a rank with many (at either end) that are small enough take the box; all others go
//              directly in the first stage
//   merge      a local search from any paths, direct ones with empty stages added among them (conset/combining/merge)
// Thresholds and limits are tried on a ladder; an estimate decides.
//
// Invariant: a message above the size threshold goes directly; merging never adds work. Complexity: O(messages *
// stages) for a threshold, O(bundles * shorter list of partners * stages^2) for a pass of merging. The search is
// bounded by moves (messages * stages), not by seconds: the same input gives the same paths everywhere. When: skewed,
// local or irregular patterns, and sizes that differ. When not: a complete exchange, where boxes are optimal and local
// search does not find their coordinates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "conset/array.hpp"
#include "conset/combining/boxes.hpp"
#include "conset/combining/merge.hpp"
#include "conset/combining/stage_bundles.hpp"
#include "conset/prediction/stage_clock.hpp"

namespace conset {

struct MixProblem {
    std::int32_t ranks;
    View<const std::int32_t> source, target;  // of messages, sorted by source
    View<const std::int64_t> bytes;
    View<const std::int32_t> node;  // of each rank; empty: rank r is on node r
    BoxNetwork network;
    BundleCosts costs;
    std::uint64_t seed = 0;  // of the order in which equally busy ranks are visited when merging; 0: by number
    std::int64_t effort = 1;
};

struct Mix {
    std::string name;
    Positions positions;
    StageEstimate estimate;
    std::int64_t memory, largest;  // temporary, of the rank that needs most; of a bundle [B]
};

// Mixes in the order in which they are found; none where bundles are no work. Ends early, with what was found, when
// asked to stop.
std::vector<Mix> mixed_ways(const MixProblem& problem,
                            const std::function<StageEstimate(const StageBundles&)>& estimate);

}  // namespace conset
