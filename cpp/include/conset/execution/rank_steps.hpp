// Steps of a rank: all that it does between two of its waits, and what of it one call of MPI may start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "conset/execution/rank_plan.hpp"

namespace conset {

// Sends and receives from `begin` to `end` - 1; `number`: of its phase or group of phases, 0 under `none` and `detect`.
struct RankStep {
    std::int64_t number;
    std::size_t send_begin, send_end, receive_begin, receive_end;
};

// Groups without a message of this rank are steps: it takes part in their barriers. Phases without one are none.
Array<RankStep> make_steps(const RankPlan& plan);

// By send, or by receive: up to where those from it on may be started by one call. A run ends where its step does, and
// before a peer comes a second time: messages of one pair match in the order of their starts.
Array<std::size_t> make_runs(const RankPlan& plan, View<const RankStep> steps, bool sends);

// `phase 3, sync barrier`, of a step by its number.
std::string step_name(const RankPlan& plan, std::int64_t number);

}  // namespace conset
