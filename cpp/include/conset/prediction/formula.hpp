// Formulas: how long a schedule takes if every resource is busy for its work and nothing waits for anything else.
//
// A message pays its send overhead on a processor of its sender, starts up at the port of its node, then its latency
// passes, its bytes flow at the least rate of its route, and its receive overhead goes before (`before`) or after the
// bytes. Resources are ports out (busy for start-ups and bytes), ports in, nodes and links (busy for bytes), processors
// (busy for overheads and set-ups; one of a node may be busy for all its ranks) and a sender's slots. A resource takes
//
//     least lead-in + work + least lead-out
//
// over its messages: nothing reaches it earlier, and what it does last still has its way to go. Time O(transfers + sum
// of hops), with limited slots · log(slots); memory O(nodes + ranks + links + transfers of a phase).
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/network/routes.hpp"
#include "conset/rows.hpp"

namespace conset {

// What a message costs. Rates are inverted, so that 0 is no cost; times are in seconds, sizes in bytes.
struct MessageCosts {
    View<const double> up_to;                        // sizes up to which an entry of the next four holds
    View<const double> send, receive, latency, hop;  // overheads; latency once, and per link
    double out, in, node, copy;                      // [s/B]; copy: inside a node, and of packed messages
    double startup;                                  // at the port out of a node, of each message that leaves it
    double exchange;                                 // what a byte counts in `node` where both directions meet
    View<const double> link;                         // [s/B] of the whole width, per slot or single; empty: none
    View<const std::int32_t> width;                  // per slot or single
    double tolerance, blocking;
    double setup;               // of a phase, on both processors of each of its ranks
    double signal, signal_hop;  // a ready signal; 0 where the policy sends none
    double eager;               // messages up to this size may be buffered: they keep no order of bytes and overhead
    bool before;                // the receive overhead goes before the bytes
    bool one_processor;         // sending and receiving share a processor, and handlers do not overlap
    bool shared_processor;      // all ranks of a node share that one
    std::int64_t in_flight;     // slots of a rank; 0: any number
    double detects = -1;        // messages up to this size are copied by their receiver; below 0: none
};

// Who sends and who receives transfer k; ranks are 0 ... ranks - 1. What is packed is copied by both processors beside
// their overheads.
struct Ranks {
    View<const std::int32_t> sender, receiver;
    std::int32_t ranks;
    View<const std::uint8_t> packed = {};  // empty: nothing is
    bool packs(std::size_t k) const { return !packed.empty() && packed[k] != 0; }
};

enum class Busy : std::int32_t {
    none = -1,
    out,
    in,
    node,
    link,
    message,
    send,
    receive,
    processor,
    shared,  // a processor of all ranks of a node; its index is the node
    slots,
    partners,
    chain,  // transfers that wait for one another; its index is the last one
    timetable
};

struct Formula {
    // Per phase: the time since its batch began that the busiest resource needs for all phases up to this one [s],
    // which it is (a Busy and the index of a node, link, transfer or rank), and how many set-ups are part of it.
    Array<double> busy;
    Array<std::int32_t> kind;
    Array<std::int64_t> index, setups;

    // Takes the later of both times of every phase; sums of the same terms in another order are equals.
    void take_later(View<const double> time, Busy of, View<const std::int64_t> at, View<const std::int64_t> setups_of);
};

// Batches are phases batch_offsets[b] ... batch_offsets[b + 1]; work adds up inside a batch. Loads of links and
// exchanges are counted in each phase (`phase_by_phase`) or in the whole batch.
// Of each transfer `alone`, where there is such an array, takes what it takes with nothing in its way [s].
Formula time_batches(const Routes& routes, const Ranks& ranks, View<const std::int64_t> size,
                     View<const std::int64_t> phase_offsets, View<const std::int64_t> batch_offsets,
                     bool phase_by_phase, const MessageCosts& costs, Array<double>* alone = nullptr);

// When all ranks have ended phase 0 ... p, where a rank enters a phase when its own messages of the one before are
// delivered: shape (phases), and which rank ends last.
struct Ends {
    Array<double> end;
    Array<std::int64_t> rank, setups;
};

Ends time_ranks(const Routes& routes, const Ranks& ranks, View<const std::int64_t> size,
                View<const std::int64_t> phase_offsets, const MessageCosts& costs);

// What batches take together: barriers, set-ups, and what the busiest resources do beside these [s].
struct FormulaTerms {
    double synchronization, setup, transfer;
    double total() const { return synchronization + setup + transfer; }
};

// `busy` and `setups` by phase, as `time_batches` gives them; `barriers` of `barrier` seconds, set-ups of `setup`.
FormulaTerms add_up(View<const double> busy, View<const std::int64_t> setups, View<const std::int64_t> batch_offsets,
                    std::int64_t barriers, double barrier, double setup);

// Transfers that wait for others.
struct Waits {
    const Rows& before;                    // transfers that each one waits for, all posted before it; empty: none
    View<const std::int32_t> posted = {};  // by a timetable, in whose order no waves form; empty: as listed
};

// As `time_batches` and, for ranks that wait for their `partners`, as `time_ranks`, whichever is later. What waits
// takes as long as the longest chain of its batch, and as the waves of those that wait for as many others of the batch,
// or with `partners` of the phase, which ranks end one after the other.
Formula time_phases(const Routes& routes, const Ranks& ranks, View<const std::int64_t> size,
                    View<const std::int64_t> phase_offsets, View<const std::int64_t> batch_offsets, bool partners,
                    const MessageCosts& costs, const Waits& waits);

// The least of `value[k]` over the transfers on each link; infinite on a link without any.
Array<double> least_on_links(const Routes& routes, View<const double> value);

}  // namespace conset
