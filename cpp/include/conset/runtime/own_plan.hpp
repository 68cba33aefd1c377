// This rank's plan: its part of a schedule, in the buffers and datatypes that it gave.
#pragma once

#include <cstdint>
#include <string>

#include "conset/execution/rank_plan.hpp"
#include "conset/runtime/blocks.hpp"
#include "conset/runtime/rank_part.hpp"

namespace conset {

// Of a schedule, all but its messages: the same on every rank.
struct ScheduleSummary {
    std::int64_t phases = 0;
    SyncKind sync = SyncKind::none;
    std::int64_t every = 1, in_flight = 0;
    std::string method;
    double predicted_s = 0;
    StageChoice choice{};
};

// `barrier:4`
std::string format_sync(SyncKind sync, std::int64_t every);

struct PlanSide {
    const Blocks& blocks;
    const Row& row;
    const Array<std::int32_t>& own;
    TypeShape type;
};

// What a rank has for itself is copied where both types are plain, else, or if `own_by_message`, sent to itself in the
// first phase. Of stages the bytes that a rank holds for others, and bundles that do not lie in one piece, are in the
// plan's work area; types must be plain. Throws Failure (Code::internal) where part and row do not belong together.
RankPlan make_own_plan(std::int32_t rank, const RankPart& part, const ScheduleSummary& summary, const PlanSide& sends,
                       const PlanSide& receives, bool own_by_message);

// The same of a compiled plan. What it has for a peer is cut into the blocks with that peer, in their order; parts that
// follow each other in a phase become one message. Throws Failure: Code::mismatch where the bytes of a pair are others,
// or a part ends inside an element or reaches into the next block; Code::schedule where the plan forwards or orders
// messages.
RankPlan make_own_plan(std::int32_t rank, const RankPlan& compiled, const PlanSide& sends, const PlanSide& receives,
                       bool own_by_message);

// Bytes from each source in a compiled plan, as one message of each.
PartOperations receives_in(const RankPlan& compiled);

}  // namespace conset
