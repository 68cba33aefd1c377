// Flit: routers with virtual channels, one cycle after the other; equal to BookSim2's input-queued router to the cycle.
//
// Problem. Worms of flits cross a network of routers. Each input port has `lanes` virtual channels with a buffer each;
// a worm holds a lane of every link from the cycle its head is granted it until its tail leaves for it; flits move
// against credits. When is each message delivered?
//
// Timing (t: a cycle). A flit injected at t is in the buffer of its router at t + 2. A head in front of its lane asks
// for an output lane (VA), and crosses the switch (SA) one cycle later at the earliest; a body flit crosses in the
// cycle it comes to the front at the earliest. SA at t: in the next router's buffer, or delivered, at t + 3; its credit
// counts in the upstream router at t + 3, in the injecting node at t + 2. Alone: 5 + 4 hops + flits cycles.
// Order within a cycle: injection credits, injection, deliveries, then every router: arrivals, credits, VA and SA, both
// on the state before this cycle's grants. Routers do not see each other's results of the same cycle, so their order
// does not matter.
//
// Allocation. Both allocators are iSLIP with one iteration (McKeown 1999, doi:10.1109/90.769767): every output grants
// to the first requester at or after its pointer, every input accepts the first grant at or after its own; pointers
// move past the match, and only then. VA matches input lanes with output lanes, SA input ports with output ports; a
// port is represented by its lanes in turn. A worm enters the network on the next lane of its node that has a credit.
//
// A message's life is that of `Release`: slots, overheads, set-ups and signals in whole cycles. What has left the
// sending processor is injected in that order, one worm after the other of a node, from the cycle in which its overhead
// ends; what is delivered in a cycle is known to nodes in the next one. Receives are always there.
//
// Deadlock. Where a route enters a cycle (a ring of a torus), its worm takes the upper half of the lanes if it will
// cross the dateline upwards or will not cross it downwards, else the lower half, and keeps to it in this dimension: of
// each direction's two classes one never crosses the dateline, the other goes at most half way round
// (Dally, Seitz 1987, doi:10.1109/TC.1987.1676939).
//
// Speed. State is bit masks: per router the lanes that can cross, the output lanes that are free and the outputs where
// granting may have changed; a flit is a count, not an object; delays are rings of four cycles; only routers and nodes
// with something to do are visited, and cycles in which nothing can happen are skipped. O(flits * hops) time; memory
// O(lanes of all routers) and about 50 bytes a message.
//
// When not: routers of another make differ by a few per cent; flows of many flits are cheaper in the model `flow`.
// Departure from BookSim2: a node takes a flit a cycle without credits; with buffers of 6 flits and more it is the
// same.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/network/routes.hpp"
#include "conset/simulation/release/release.hpp"

namespace conset {

// How links stand on a cycle: `open` ones on none, so all lanes serve; of the others one of each direction crosses the
// dateline.
enum class FlitRing : std::uint8_t { open, up, up_across, down, down_across };

// The routers' ports. Port numbers order the allocators' turns; a router's last port is its node.
struct FlitNetwork {
    std::int32_t ports;                          // of a router, its node included
    View<const std::int32_t> link_source;        // router each link leaves; one entry per slot here and below
    View<const std::int32_t> out_port, in_port;  // at its source and at its target; -1 where a slot is no link
    View<const std::uint8_t> ring;               // a FlitRing
    std::int32_t lanes, buffer;                  // virtual channels a port, flits a lane; ports * lanes <= 63
};

// What is sent, in `flits` by message, each at least 1. When it may go and what processors do for it is the business of
// `Release`, which counts in cycles here.
struct FlitWorkload {
    Routes routes;
    Messages<std::int64_t> messages;
    View<const std::int32_t> flits;
    std::int64_t worm_flits;  // longer messages travel as several worms; 0: never
};

// Messages [first, last) are watched: the simulation ends when they are delivered, or at cycle `limit` (0: none).
struct FlitWatch {
    std::int64_t first, last, limit;
};

struct FlitTimes {
    // Cycle of the first flit's injection, then as `Times` has them; -1 where it did not come to that.
    Array<std::int64_t> start, slot, sent, left, end;
    std::int64_t moves = 0;          // flits that crossed a switch
    std::int64_t cycles = 0;         // cycles that were looked at
    std::int64_t stopped = 0;        // the cycle at which it ended
    bool late = false, cut = false;  // ended before all were delivered: by the clock, by work (`moves`)
    // Of a deadlock; places are virtual channels, (router * ports + port) * lanes + lane.
    WaitCycle cycle;
};

// Throws Interrupted (conset/stop.hpp) where a stop is asked for.
FlitTimes simulate_flit(const FlitNetwork& network, const FlitWorkload& workload,
                        const Execution<std::int64_t>& execution, const FlitWatch& watch);

}  // namespace conset
