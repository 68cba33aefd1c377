// Plan files: what `conset plan FILE -o x.plan` writes (kind conset/plan@1; docs/flat-files.md), one rank's part of it.
#pragma once

#include <string>

#include "conset/execution/rank_plan.hpp"

namespace conset {

struct PlanFile {
    std::int32_t ranks = 0;
    RankPlan plan;  // of the rank asked for
    RankItems items;
    std::int64_t send_bytes = 0, receive_bytes = 0;  // least sizes of its buffers
};

// Throws Failure: Code::file, or Code::mismatch where the plan has another number of ranks.
PlanFile read_plan_file(const std::string& path, std::int32_t rank, std::int32_t ranks);

}  // namespace conset
