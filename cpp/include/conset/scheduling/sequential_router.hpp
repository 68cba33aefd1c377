// Sequential router: connections one after the other, each over the cheapest path in all copies of the graph.
//
// Every phase is a copy of the network; a node of a copy has so many channels and costs 1 + weight * (channels in use).
// A connection takes the cheapest path over all copies at once (A*, full nodes, ports and links closed); what finds no
// path stays out. A round of rip-up removes routes at random and routes first what stayed out, then what was removed.
// Complexity: O(phases + states searched · log) for a connection; a search sees at most phases * (nodes + links)
// states. Memory O(phases * (nodes + links) + targets * nodes). Reference: Feldmann, Stricker, Warfel: Supporting sets
// of arbitrary connections on iWarp, Section 4.4.1 (APR).
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/random.hpp"
#include "conset/scheduling/connections.hpp"

namespace conset {

// What may meet in one phase; a span is empty where there is no limit.
struct RouterLimits {
    View<const std::int32_t> channels, send, receive;  // by node
    View<const std::int32_t> link;                     // by link
};

// Rates that connections share evenly, and what each demands of them; all empty where nothing is demanded.
struct RouterDemands {
    View<const double> demand;         // by connection [B/s], 0: nothing
    View<const double> send, receive;  // by node [B/s]
    View<const double> link;           // by link [B/s]
};

class SequentialRouter {
public:
    // All that is given must outlive it.
    SequentialRouter(const Wiring& wiring, const Connections& connections, const RouterLimits& limits,
                     const RouterDemands& demands, std::int32_t phases, std::int32_t weight, std::uint64_t seed);

    // Routes `order`, predecessors first where there are any. Returns how many stay out.
    std::int64_t route(View<const std::int32_t> order);

    // At most `rounds` of rip-up, each with this share of the routes. Returns how many stay out.
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
        std::int32_t link = -1;
        bool done = false;
    };

    void order_connections();
    bool place(std::int32_t i);
    void open_phases(std::int32_t i, std::int32_t earliest, std::int32_t latest);
    bool search(std::int32_t i);
    static bool later(const State& a, const State& b);
    void push(const State& state);
    void take(std::int32_t i, std::int32_t phase, std::uint32_t place);
    void remove(std::int32_t i);
    std::int64_t ahead(std::int32_t i, std::int32_t phase, std::int32_t node) const;
    bool fits(View<const std::int32_t> limit, View<const double> rate, std::int32_t row, std::size_t cell,
              std::int32_t i, const Array<std::int32_t>& use, const Array<float>& most) const;
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
    RouterDemands demands_;
    std::int32_t phases_, weight_;
    Random random_;
    OutLinks out_;
    HopTable hops_;
    Array<std::int32_t> channels_, send_, receive_, link_;  // in use, by phase and node or link
    Array<float> send_most_, receive_most_, link_most_;     // largest demand there
    Array<Array<std::int32_t>> full_;                       // [phase][channels in use]: nodes
    Array<std::int32_t> least_;                             // [phase]: fewest channels in use at a node
    Array<std::int32_t> phase_;
    Array<Array<std::int32_t>> path_;  // links
    Array<std::int32_t> successor_offsets_, successor_, earliest_, height_;
    Array<Reached> reached_;
    std::uint64_t searches_ = 0;
    Array<State> heap_;
};

}  // namespace conset
