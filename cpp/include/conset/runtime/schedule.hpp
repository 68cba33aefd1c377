// Scheduling without Python: messages and a machine in, phases and a policy out. The same arguments give the same
// schedule on every rank, and that of `conset.compile` with the same method and seed.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "conset/array.hpp"
#include "conset/combining/boxes.hpp"
#include "conset/combining/stage_bundles.hpp"
#include "conset/execution/rank_plan.hpp"
#include "conset/runtime/machine_data.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset {

// Message m goes from source[m] to target[m], which differ; sorted by source, then as its sender lists them.
struct RankMessages {
    std::int32_t ranks = 0;
    Array<std::int32_t> source, target;
    Array<std::int64_t> bytes;
    std::size_t size() const { return source.size(); }
};

struct ScheduleOptions {
    std::string method = "auto";  // of method_names()
    std::string sync = "auto";    // none local ready barrier[:k] auto
    std::uint64_t seed = 0;
    std::int64_t effort = 1;  // how long to search, counted: multiplies sweeps and what may be simulated; 0: by formula
    // Whether ranks may pass on bundles of messages in stages, with so many bytes of temporary memory each.
    bool combine = false;
    std::int64_t memory = std::numeric_limits<std::int64_t>::max();
};

// What was found about stages.
struct StageChoice {
    std::string combine = "none";  // as `conset compile --combine` takes it
    std::int64_t memory = 0;       // temporary, of the rank that needs most [B]
    std::int64_t left_out = 0;     // least memory of a way that was left out for it [B]; 0: none was
};

struct RankSchedule {
    Array<std::int64_t> phase_offsets;  // phase p holds message[phase_offsets[p]] ..., in the order of posting
    Array<std::int32_t> message;        // of stages: bundles
    SyncKind sync = SyncKind::none;
    std::int64_t every = 1;
    std::int64_t in_flight = 0;  // 0: all
    std::string method;          // what was chosen
    Limits limits;               // what each phase keeps
    double predicted_s = 0;      // by the machine's model; 0: not asked
    StageBundles stages{};       // none: every message goes directly
    StageChoice choice{};
};

// Ways to combine messages of all ranks, in the order in which they are tried.
std::vector<StageWay> stage_ways(const MachineData& machine, std::int32_t ranks);
// The bundles of stages as messages.
RankMessages messages_of(const StageBundles& stages, std::int32_t ranks);

// Whether the machine holds the ranks, and messages are of ranks that there are, sorted by source: throws Failure
// (Code::argument) where not.
void check_messages(const MachineData& machine, const RankMessages& messages);

// Throws Failure: Code::argument (unknown words), Code::schedule (the method does not apply).
RankSchedule schedule_messages(const MachineData& machine, const RankMessages& messages,
                               const ScheduleOptions& options);

}  // namespace conset
