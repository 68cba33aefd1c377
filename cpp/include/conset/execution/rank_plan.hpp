// What one rank executes: its part of a plan (conset/execution/plan.py), its receives numbered from 0.
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

enum class SyncKind : std::uint8_t { none, local, ready, barrier };

// Sends or receives in posting order, phases rising; `work` nonzero where `offset` counts in the work area (empty:
// nowhere).
struct RankOperations {
    Array<std::int32_t> phase, peer;
    Array<std::int64_t> offset, bytes;
    Array<std::uint8_t> work;

    std::size_t size() const { return phase.size(); }
    bool in_work(std::size_t k) const { return !work.empty() && work[k] != 0; }
};

// Copies of operation k are offsets[k] to offsets[k + 1] - 1; no offsets: none.
struct RankCopies {
    Array<std::int64_t> offsets;
    Array<std::uint8_t> work;
    Array<std::int64_t> source, target, bytes;
};

struct RankPlan {
    std::int64_t phases = 0;
    SyncKind sync = SyncKind::none;
    std::int64_t every = 1;      // phases from one barrier to the next
    std::int64_t in_flight = 0;  // sends open at once; 0: all
    RankOperations sends, receives;
    std::int64_t work_bytes = 0;
    RankCopies packs, unpacks;
    Array<std::int64_t> need_offsets;  // by send; empty: none
    Array<std::int32_t> needs;         // receives
};

}  // namespace conset
