// Flow: messages as fluid that shares links and ports max-min fairly; the fastest model, blind to blocking.
//
// A message's life is that of `Release`. Between its send overhead and its receive: it waits for its latency, during
// which it uses no bandwidth, then its bytes flow at the rate `Sharing` gives, which changes at events; nothing is held
// while it waits. Messages of zero bytes end with their latency.
//
// Where bytes of exchanges count less at a node, sends preempt receives, messages start up at ports, or nodes spread
// messages over next links, rates come from `Streaming`, whose weights differ by resource; else from `Sharing`, made
// for very many flows.
//
// Events: the end of a latency, the end of a transfer, an event of `Release`. All events within a relative 1e-12 are
// handled together, then rates are solved once: the order inside cannot matter.
//
// Complexity: events times what `Sharing::solve` touches. Memory: about 25 bytes per message and what `Release` keeps,
// and for each route on which something flows 40, and 8 per hop that its solver looks at.
#pragma once

#include "conset/array.hpp"
#include "conset/simulation/simulated.hpp"
#include "conset/simulation/streaming.hpp"

namespace conset {

struct FlowCosts {
    Rates rates;
    View<const double> latency;  // by message or one for all: before the first link
    View<const double> hop;      // by message or one for all: per link
    bool rtt = false;            // weigh a flow by 1 / latency of its route
    double rtt_latency = 0;      // of a route without links, the same for messages of one route
};

// Throws Interrupted (stop.hpp).
Simulated simulate_flow(const Routes& routes, const Messages<double>& messages, const Execution<double>& execution,
                        const FlowCosts& costs, bool record);

}  // namespace conset
