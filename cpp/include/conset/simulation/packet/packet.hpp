// Packet: messages cut into packets that queue, first come first served, in buffers of bounded size.
//
// A message's life is that of `Release`. Its bytes cross the network as packets of `packet` bytes, at most `window`
// bytes of a message at a time between its source and its target; the packets of a node stand in one queue of the
// order in which they were given to it. A way is the port out of the source, the links, and the port into the target.
// Behind each of these but the last stands a buffer of `buffer` bytes for each pool (the number of datelines crossed,
// as in `wormhole`) and unit of width (beyond 64 units several share one): a queue, whose first packet alone may leave,
// and holds back what is behind it. A packet enters the emptiest of the units, the first of equals. It leaves as soon
// as its first byte is there and `hop` has passed (cut-through), over one unit of the link's width, when that is free
// and the buffer behind has room for all of it; it ends not before its last byte has come. Of queues that wait for one
// link the one whose first packet asked first goes; of one time: links end, queues ask, links serve, each by number.
// Nothing is lost: a full buffer holds up the link before it, and so on back to the sources.
//
// Where switches choose routes (Choice::even, no stored routes), the first packet of a queue may leave over any link
// that begins a least way to its target. It asks for all of them, and goes as soon as one is free and has room behind
// it: over that with the fewest bytes in the buffer, of equals over number (target mod how many there are), as
// `minimal` does, or the next. Of one time those that asked first choose first. Packets of a message may pass each
// other. Links have classes then, `dateline`: 1, marked, and 2, up, by any order of the nodes, else 0. Packets are in
// the next pool behind a marked link, and behind one up after one of class 0. Within a pool, ways go up, then down, so
// that its buffers never wait in a cycle, whatever is chosen; there are as many pools as the least ways of these
// messages need.
//
// No event left and work left: a deadlock, given as a cycle of messages and links.
//
// Complexity: packets * hops * log(packets under way). Memory: 48 bytes per packet in the network, 4 per hop of those
// messages, 60 per message.
#pragma once

#include "conset/array.hpp"
#include "conset/simulation/simulated.hpp"
#include "conset/simulation/streaming.hpp"

namespace conset {

struct PacketCosts {
    Rates rates;                                // `node` is not used
    View<const double> latency, hop;            // by message, or one for all; hop: per link
    View<const std::uint8_t> dateline;          // by slot: whether it crosses one, or its class; empty: there are none
    std::int32_t pools = 1;                     // not used where switches choose routes
    double packet = 1, buffer = 1, window = 1;  // [B]; buffer and window may be infinite
};

// Throws Interrupted (stop.hpp).
Simulated simulate_packets(const Routes& routes, const Messages<double>& messages, const Execution<double>& execution,
                           const PacketCosts& costs);

}  // namespace conset
