// A program's connections as one rank sees them: its blocks, their phases, and which connections each phase holds.
//
// A block runs a schedule; the phases of all distinct schedules are numbered one after the other (global phases).
// Phases of one context share their open connections. There is one connection for each message in a phase; what the
// pattern of its schedule calls it, else the message's index, is the identifier.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conset/array.hpp"

namespace conset {

struct RankConnections {
    std::int32_t rank = 0, ranks = 0;
    Array<std::int32_t> node;  // of each rank

    // By block.
    std::vector<std::string> names;
    Array<std::int64_t> repeat;
    Array<std::uint8_t> turns;
    Array<std::int32_t> block_schedule;
    // Of schedule s: global phases schedule_phases[s] ... schedule_phases[s + 1] - 1.
    Array<std::int64_t> schedule_phases;
    Array<std::int32_t> phase_context;  // by global phase

    // This rank's ends of connections, those of global phase g from offsets[g] to offsets[g + 1] - 1, by (receive
    // before send, peer, id).
    Array<std::int64_t> offsets;
    Array<std::int32_t> peer;
    Array<std::uint8_t> send;  // 1: this rank sends
    Array<std::int32_t> id;    // rises among those of one peer and direction
    Array<std::int64_t> bytes;
    Array<std::int32_t> order;  // in which this rank's schedule starts them, within the phase
    Array<double> bandwidth;    // least that is guaranteed [B/s]; inf: no limit
    Array<double> latency;      // most that is guaranteed [s]
};

}  // namespace conset
