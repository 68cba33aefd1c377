// Scheduling without Python: messages and a machine in, phases and a policy out. The same arguments give the same
// schedule on every rank, and that of `conset.compile` with the same method and seed.
#pragma once

#include <cstdint>
#include <string>

#include "conset/array.hpp"
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
};

struct RankSchedule {
    Array<std::int64_t> phase_offsets;  // phase p holds message[phase_offsets[p]] ..., in the order of posting
    Array<std::int32_t> message;
    SyncKind sync = SyncKind::none;
    std::int64_t every = 1;
    std::int64_t in_flight = 0;  // 0: all
    std::string method;          // what was chosen
    Limits limits;               // what each phase keeps
    double predicted_s = 0;      // by the machine's model; 0: not asked
};

// Whether the machine can hold the ranks, and messages are of ranks that there are, sorted by source: throws Failure
// (Code::argument) where not.
void check_messages(const MachineData& machine, const RankMessages& messages);

// Throws Failure: Code::argument (unknown words), Code::schedule (the method does not apply).
RankSchedule schedule_messages(const MachineData& machine, const RankMessages& messages,
                               const ScheduleOptions& options);

}  // namespace conset
