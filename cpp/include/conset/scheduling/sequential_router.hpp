// Sequential router: connections one after the other, each over the cheapest path in all copies of the graph.
//
// Every phase is a copy of the network; a node of a copy has so many channels and costs 1 + weight * (channels in use).
// A connection takes the cheapest path over all copies at once (A*, full nodes, ports and links closed); what finds no
// path stays out. A round of rip-up removes routes at random and routes first what stayed out, then what was removed.
// Where a latency is demanded, a path that would take too long is left on the way; a connection that finds none so
// takes the quickest path. A phase whose open connections would wait too long behind the whole path is closed to it.
// Complexity: O(phases + states searched · log) for a connection; a search sees at most phases * (nodes + links)
// states. Memory O(phases * (nodes + links) + targets * nodes). Reference: Feldmann, Stricker, Warfel: Supporting sets
// of arbitrary connections on iWarp, Section 4.4.1 (APR).
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/random.hpp"
#include "conset/scheduling/connections.hpp"
#include "conset/scheduling/demand_ledger.hpp"

namespace conset {

// What may meet in one phase; a span is empty where there is no limit.
struct RouterLimits {
    View<const std::int32_t> channels, send, receive;  // by node
    View<const std::int32_t> link;                     // by link
};

class SequentialRouter {
public:
    // All that is given must outlive it.
    SequentialRouter(const Wiring& wiring, const Connections& connections, const RouterLimits& limits,
                     const RouterDemands& demands, std::int32_t phases, std::int32_t weight, std::uint64_t seed);

    // Routes `order`, predecessors first where there are any. Returns how many stay out.
    std::int64_t route(View<const std::int32_t> order);

    // `rounds` of rip-up, each with this share of the routes, until none stays out. Returns how many stay out.
    std::int64_t rip_up(std::int32_t rounds, double share);

    const Array<std::int32_t>& phase() const { return phase_; }  // -1: stays out

    RoutePaths paths() const;  // no nodes for what stays out

private:
    struct State {
        std::int64_t cost, ahead;  // so far; at least to come
        std::int32_t turn;         // of the phase; among equals the first
        std::uint32_t place;       // phase * nodes + node
    };
    struct Reached {
        std::uint64_t search = 0;
        std::int64_t cost = 0;
        double latency = 0;  // at most, with both ports [s]; where one is demanded
        std::int32_t link = -1;
        bool done = false;
    };

    void order_connections();
    bool place(std::int32_t i);
    std::int32_t latest(std::int32_t i) const;
    void open_phases(std::int32_t i, std::int32_t earliest, std::int32_t latest);
    bool start(std::int32_t i, std::int32_t phase, std::int32_t turn);
    bool search(std::int32_t i);
    void leave(std::int32_t i, const State& state, std::int32_t phase, std::int32_t node);
    bool arrive(std::int32_t i, std::int32_t phase, std::uint32_t place);
    static bool later(const State& a, const State& b);
    void push(const State& state);
    void take(std::int32_t i, std::int32_t phase);
    void remove(std::int32_t i);
    std::int64_t step(std::int32_t phase, std::int32_t node, double latency) const;
    std::int64_t ahead(std::int32_t i, std::int32_t phase, std::int32_t node) const;
    bool in_time(std::int32_t i, std::int32_t node, double latency) const;
    static bool fits(View<const std::int32_t> limit, std::int32_t row, std::int32_t use) {
        return limit.empty() || use < limit[row];
    }
    std::size_t at_node(std::int32_t phase, std::int32_t node) const {
        return static_cast<std::size_t>(phase) * static_cast<std::size_t>(wiring_.nodes) +
               static_cast<std::size_t>(node);
    }
    std::size_t at_link(std::int32_t phase, std::int32_t link) const {
        return static_cast<std::size_t>(phase) * wiring_.source.size() + static_cast<std::size_t>(link);
    }

    Wiring wiring_;
    Connections connections_;
    RouterLimits limits_;
    DemandLedger ledger_;
    std::int32_t phases_, weight_;
    Random random_;
    OutLinks out_;
    HopTable hops_;
    Array<std::int32_t> channels_, send_, receive_, link_;  // in use, by phase and node or link
    Array<Array<std::int32_t>> full_;                       // [phase][channels in use]: nodes
    Array<std::int32_t> least_;                             // [phase]: fewest channels in use at a node
    Array<std::int32_t> phase_;
    Array<Array<std::int32_t>> path_;  // links
    Array<std::int32_t> successor_offsets_, successor_, earliest_, height_, depth_;
    Array<Reached> reached_;
    std::uint64_t searches_ = 0;
    double scale_ = 0;             // of latencies that are costs [1/s]; 0: channels in use are
    Array<std::uint64_t> closed_;  // [phase]: the search that found its connections in the way
    Array<std::size_t> places_;    // of the path that is being looked at
    Array<State> heap_;
};

}  // namespace conset
