// Connections: elements move hop by hop through the linkage tables of one open context, a queue at every channel.
//
// Problem. Connections are open at once: each is a chain of channels, one in every node it visits. A sender puts
// elements (words) into its first channel through its gate, every node forwards what arrives in a channel to the link
// and the channel that its table says, and the last channel feeds the gate of the target. When is each transfer
// delivered, and how long does an element take?
//
// Rules. A *station* is a place where elements wait for a *server*: the sender's end of a connection waits for the
// gate out of its node, a channel for the link that it is linked to, the last channel for the gate into its node. A
// server takes one element at a time, for `service` ticks; what a link has sent is in the next channel `hop` ticks
// later. A channel holds `queue` elements: those on their way into it, those that wait, and the one being served. A
// server that is free takes an element of the next station in turn (round robin, from the one after the last it
// served, in the order given) that has one and has room behind it. All that ends at one time ends first, then all free
// servers choose, each on the same state: only its own server puts elements into a channel, so no choice changes
// another one.
//
// A transfer's life. Ranks work through their transfers in the order given, `in_flight` sends at once and `receives`
// receives at once. A send takes its slot when it is released (`release`, and all of `deps` delivered) and, `in_order`,
// those before it have theirs; its elements are at the gate `send_cost` later, its slot is free when the last one left.
// A receive that has its slot takes elements `receive_cost` later; slots go by the list, or (`any`) to the transfers
// whose first elements have arrived, in this order. The last element out, `after` ticks later the transfer is
// delivered. Transfers of one connection follow each other. What has no connection (inside a node, or empty) is there
// `copy` ticks after it began. `pace` > 0: element n comes to the gate n · pace ticks after the first; 0: all at once.
//
// Speed. Times are whole ticks: where services are equal, everything happens on few ticks, and a wheel of buckets finds
// them; stations that can be served are bits. O(1) for each element and hop; the memory of stations and transfers.
#pragma once

#include <cstdint>
#include <limits>

#include "conset/array.hpp"

namespace conset {

// What is open: stations and servers of one context.
struct OpenTables {
    View<const std::int64_t> service, hop;  // by server [ticks]
    View<const std::int64_t> turn_offsets;  // by server: its stations in turn are turns[turn_offsets[s] …]
    View<const std::int32_t> turns;         // every station once
    View<const std::int32_t> next;          // by station: where its elements go, -1: out of the gate
    View<const std::int32_t> first, last;   // by connection: the sender's station, and that at the gate of the target
    std::int32_t queue;                     // elements of a channel
};

// What is sent, in list order.
struct OpenTransfers {
    View<const std::int32_t> connection;                                                     // -1: none
    View<const std::int32_t> sender, receiver;                                               // ranks, numbered from 0
    View<const std::int64_t> elements, release, send_cost, receive_cost, after, copy, pace;  // [ticks]
    View<const std::int64_t> dep_offsets;
    View<const std::int32_t> deps;
    std::int32_t ranks;
    std::int64_t in_flight, receives;  // 0: all
    bool any, in_order;
    std::int64_t until, work, delivered;  // ends at a tick, after moves; transfers delivered before, for who watches
};

// By transfer [ticks]: slot taken, elements at the gate, the first one taken there, the last one out of it, delivered;
// -1 where it did not come to that. `latency`: the longest from the head of the sender's gate to out of the target's.
struct OpenTimes {
    Array<std::int64_t> slot, sent, begun, left, end, latency;
    Array<std::uint8_t> receiving;  // whether its receive had its slot
    std::int64_t moves = 0;         // elements times servers
    bool late = false, cut = false;
};

// Ends without all delivered, neither late nor cut, where transfers wait for each other. Throws Interrupted.
OpenTimes simulate_connections(const OpenTables& tables, const OpenTransfers& transfers);

}  // namespace conset
