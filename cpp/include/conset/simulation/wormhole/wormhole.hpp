// Wormhole: a header takes channels hop by hop and keeps them; bytes flow over complete paths only.
//
// A message's life is that of `Release`. Between its send overhead and its receive: its latency, then its header asks
// for a lane of each link in order; what is taken is kept; `hop` passes after each link. Its pool is the number of
// datelines crossed, this link included. Each directed link and pool has `lanes` channels per unit of width, which
// serve first come, first served. At the end of its way it asks for a receive, with the path held; then bytes flow at
// max-min rates over out, in, node and links (streaming.hpp). With the last byte all channels are released together and
// pass to waiting headers in path order.
//
// Events of one time (within a relative 1e-12) are handled in the order of `EventKind`, inside a kind by message index;
// then rates are solved once. No event left and work left: a deadlock, given as a cycle of messages and channels.
//
// Complexity: messages * hops * log(events pending) + what streams.hpp solves. Memory: about 100 bytes per message,
// 8 per hop of those in the network.
#pragma once

#include "conset/array.hpp"
#include "conset/simulation/simulated.hpp"
#include "conset/simulation/streaming.hpp"

namespace conset {

struct WormholeCosts {
    Rates rates;
    View<const double> latency, hop;    // by message, or one for all; hop: per link
    View<const std::uint8_t> dateline;  // by slot: whether it crosses one; empty: there are none
    std::int32_t lanes = 1, pools = 1;
};

// Throws Interrupted (stop.hpp).
Simulated simulate_wormhole(const Routes& routes, const Messages<double>& messages, const Execution<double>& execution,
                            const WormholeCosts& costs, bool record);

}  // namespace conset
