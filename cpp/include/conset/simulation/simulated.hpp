// What the models of fluids give back.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/simulation/release/release.hpp"

namespace conset {

// Times in the clock's unit. Places: link, links + source node, links + nodes + target node, links + 2 * nodes + node
// for both ports together (`flow`) or a node's system buffers (`wormhole`), -1 for none.
struct Simulated {
    Times<double> times;
    Array<std::int32_t> held_by;  // by message
    Array<double> blocked;        // by message: how long its header waited in all; `wormhole` only
    Array<std::int64_t> link_bytes, out_bytes, in_bytes;
    Array<double> link_busy, out_busy, in_busy;
    Array<double> rate_time, rate;  // every change, where recorded
    Array<std::int32_t> rate_message;
    std::int64_t events = 0, solves = 0, work = 0;
    std::int64_t buffered = 0;       // messages that system buffers took
    double buffered_most = 0;        // [B] at any rank at one time
    std::int32_t pools = 1;          // of buffers behind each link; `packet` only
    bool late = false, cut = false;  // ended before all were delivered: by `until`, by `work`
    WaitCycle cycle;                 // of a deadlock
    double stopped = 0;              // the time of the last event
};

}  // namespace conset
