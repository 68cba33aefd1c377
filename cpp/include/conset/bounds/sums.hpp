// Sums that bounds on time share: what messages ask of processors, slots, ports, nodes and links, in one pass.
//
// Times of a message alone are worked out here apart from the formulas of predictions (`formula_costs.hpp`), so that
// each is held against the other. Complexity: time O(messages), with links O(messages * dimensions + links * log(side))
// in boxes and O(sum of hops) elsewhere; memory O(ranks + nodes + links * log(side)).
#pragma once

#include "conset/prediction/formula.hpp"

namespace conset {

// What messages cost a bound. Sizes in bytes, times in seconds, rates in bytes per second and infinite where they cost
// nothing.
struct BoundPrices {
    View<const double> up_to;                      // sizes up to which an entry of the next four holds
    View<const double> send, receive, once, link;  // overheads; latency once, and of every link on the way
    View<const double> per_byte;                   // of links [s/B] of the whole width, per slot or single, or none
    double port;                                   // of the slower of two ports [s/B]
    double node_Bps, copy_Bps;                     // copy: inside a node, and of packed messages
    double startup;                                // at the port of a node, of each message that leaves it
    double setup, signal, signal_link;  // of a phase; of a ready signal, alone and for every link: 0 where none is sent
    double eager;                       // messages up to this size may be buffered: they keep no order
    bool before;                        // the receive overhead goes before the bytes
    bool ready;                         // a signal asks both processors for half of `signal`
    bool split;                         // bytes of a message may come in parts: they keep slots alone busy
    bool leads_of_links;                // whether links are asked for
};

// Least lead-in and lead-out [s] of every resource of a kind; infinite where it has no message.
struct Leads {
    Array<double> into, out;
};

struct MessageSums {
    Array<double> send, receive, held;    // by rank [s]: work of processors, time in slots
    Array<std::int64_t> sends, receives;  // by rank: messages that leave their node
    Leads sending, receiving, holding;
    Array<double> out, in;                  // by node: bytes at its ports
    Array<double> weighed_out, weighed_in;  // the same as a node counts them, empty where its rate costs nothing
    Leads leaving, entering, passing, links;
    double first, last;       // least lead-in and lead-out of bytes of any message that leaves its node
    double longest, least;    // of times alone with their wait
    std::int64_t longest_at;  // the message; -1: there is none
};

// `size[k]` [B], or a single entry for all; `weight[k]`: what a byte counts at a node, or none for 1.
MessageSums sum_messages(const Routes& routes, const Ranks& ranks, View<const std::int64_t> size,
                         View<const double> weight, const BoundPrices& prices);

}  // namespace conset
