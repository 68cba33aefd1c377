// Wormhole: a header takes channels hop by hop and keeps them; bytes flow over complete paths only.
//
// Resources: per rank `injection` and `ejection` channels, per directed link and pool `lanes` channels per unit of
// width; all serve first come, first served. Per rank a processor for sending and one for receiving, or one for both.
//
// A message's life.
//   posted      its rank's list lets it go (wormhole_lists.hpp); at most `in_flight` between posting and delivery
//   request     of more than `eager` bytes, where that is given, and without a ready signal: a signal to the receiver
//               and, as soon as its receive is there, one back; the receive is kept for it
//   overhead    `send` on the sender's processor, in order of posting; the first message of a phase pays `setup` too
//   header      asks for an injection channel, a lane of each link in order, an ejection channel; what is taken is
//               kept; `hop` passes after each link. Its pool is the number of datelines crossed, this link included
//   receive     an ejection channel is a receive: a rank has `ejection` of them, for who comes first, or, in list
//               order, for the first undelivered messages of its list
//   overhead    `receive` on the receiver's processor with the path held, or, where `receive_after`, after the path is
//               free: its end is the delivery then
//   streaming   at max-min rates over out, in, node and links (wormhole_streams.hpp)
//   delivered   with the last byte; all channels are released together and pass to waiting headers in path order
//
// Up to `eager` bytes, where that is given, a header that finds no receive takes room in the receiver's system buffer,
// `buffers` bytes a rank, if there is; its bytes flow into it without overhead, its path and its sender are free then;
// when its receive is there, overhead and `copy` per byte are paid on the receiver's processor, and the room is free.
// Without room the header waits, first come, first served, for room or for its receive. Under `local`, where `eager` is
// given, a receive is there from when its rank enters the phase, else from the start.
//
// A message to itself uses no network: send, receive, delivered. A signal is half of `signal` on the sending processor
// of the one, hops * hop, half of `signal` on the receiving processor of the other; it takes no channel. While the
// bytes of both messages of an exchange flow, each counts `exchange_weight` in `node`.
//
// Events of one time (within a relative 1e-12) are handled in the order of `Kind`, inside a kind by message index; then
// rates are solved once. No event left and work left: a deadlock, given as a circle of messages and channels.
//
// Complexity: messages * hops * log(events pending) + what wormhole_streams.hpp solves. Memory: about 100 bytes per
// message, 8 per hop of those in the network.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "conset/flow_gates.hpp"
#include "conset/routes.hpp"

namespace conset {

// What a machine charges; an infinite rate limits nothing.
struct WormholeCosts {
    std::span<const double> send, receive, hop;  // [s] by message, or one for all; hop: per link
    std::span<const double> link;                // [B/s] per unit of width: by slot, or one for all
    std::span<const std::int32_t> width;         // by slot, or one for all
    std::span<const std::uint8_t> dateline;      // by slot: whether it crosses one; empty: there are none
    double out = 0, in = 0, node = 0;            // [B/s]
    double signal = 0, signal_hop = 0;           // [s]
    double exchange_weight = 1;
    bool exchanges = false;  // whether two messages of a pair in one phase are a synchronized exchange
    bool one_processor = false, preempts = false, receive_after = false;  // wormhole_processors.hpp
    double eager = -1;                                                    // [B], below 0: there is no threshold
    double copy = 0;                                                      // [s/B]
    double buffers = 0;                                                   // [B] per rank
    std::int32_t lanes = 1, pools = 1;
    std::int32_t injection = 0, ejection = 0;  // channels per rank, 0: no limit
};

// Entry k, or the one for all.
template <class T>
T each(std::span<const T> values, std::int32_t k) {
    return values.size() == 1 ? values[0] : values[k];
}

struct WormholeResult {
    std::vector<double> start, end, blocked;  // [s] by message; blocked: how long its header waited in all
    std::vector<std::int32_t> held_by;        // where it waited longest: link, links + source, links + nodes + target
    std::vector<std::int64_t> link_bytes, out_bytes, in_bytes;
    std::vector<double> link_busy, out_busy, in_busy;  // [s]
    std::vector<double> rate_time, rate;               // every change, where recorded
    std::vector<std::int32_t> rate_message;
    std::int64_t events = 0, solves = 0;
    std::int64_t buffered = 0;  // messages that system buffers took
    double buffered_most = 0;   // [B] at any rank at one time
    // A deadlock: message k of the circle waits for `stuck_channel[k]`, held by message k + 1 (the last: by the first).
    // Channels as in `held_by`, links + 2 * nodes + target for a system buffer; -1: not in the network, it waits for
    // that message to be delivered.
    std::vector<std::int32_t> stuck, stuck_channel;
    double stopped = 0;  // [s] the time of the last event
};

// The other message of each exchange: the k-th from u to v of a phase with the k-th from v to u; -1 without one.
std::vector<std::int32_t> exchange_partners(const Routes& routes, const Messages& messages);

// Throws Interrupted (stop.hpp).
WormholeResult simulate_wormhole(const Routes& routes, std::span<const std::int64_t> bytes, const Messages& messages,
                                 const Execution& execution, const WormholeCosts& costs, bool record);

}  // namespace conset
