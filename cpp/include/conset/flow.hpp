// Flow: messages as fluid that shares links and ports max-min fairly; the fastest model, blind to blocking.
//
// A message's life: the execution lets it go (`Gates`); it waits for its latency, during which it uses no bandwidth;
// its bytes flow at the rate `Sharing` gives, which changes at events; it is delivered when the last byte has flowed.
// Overheads of the two ends are latencies of the links into and out of the network (they overlap), or, where `serial`,
// work of a processor at each end, one message after the other. Messages of zero bytes end with their latency;
// messages inside a node are delivered when they are let go.
//
// Events: the end of a latency or an overhead, the end of a transfer, an event of the gates. All events within a
// relative 1e-12 are handled together, then rates are solved once: the order inside cannot matter.
//
// Complexity: events times what `Sharing::solve` touches. Memory: about 25 bytes per message and what the gates keep,
// and for each route on which something flows 40, and 8 per hop that its solver looks at.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "conset/flow_gates.hpp"
#include "conset/routes.hpp"

namespace conset {

// What a machine charges, in any unit of time; an infinite rate limits nothing. Overheads in steps: seconds[k] up to
// and including up_to[k].
struct FlowCosts {
    std::span<const double> link;  // [B per time] per unit of width: by slot, or one for all, or empty: unlimited
    std::span<const std::int32_t> width;  // by slot, or one for all
    double out = 0, in = 0, node = 0;     // [B per time]
    double hop = 0, per_transfer = 0, signal = 0;
    std::span<const double> inject_up_to, inject, eject_up_to, eject;
    bool serial = false;  // overheads are work, not latency
    bool rtt = false;     // weigh a flow by 1 / latency of its route
};

struct FlowResult {
    std::vector<double> start, end;     // by message
    std::vector<std::int32_t> held_by;  // by message: link, links + node (out), + nodes (in), + nodes (both), -1
    std::vector<std::int64_t> link_bytes, out_bytes, in_bytes;
    std::vector<double> link_busy, out_busy, in_busy;
    std::vector<double> rate_time, rate;  // every change, where recorded
    std::vector<std::int32_t> rate_message;
    std::int64_t events = 0, solves = 0;
};

// Messages wait for each other in a circle: nothing is under way and work is left.
class Deadlock : public std::runtime_error {
public:
    explicit Deadlock(const std::string& text) : std::runtime_error(text) {}
};

// Throws Deadlock, or Interrupted (stop.hpp).
FlowResult simulate_flow(const Routes& routes, std::span<const std::int64_t> bytes, const Messages& messages,
                         const Execution& execution, const FlowCosts& costs, bool record);

}  // namespace conset
