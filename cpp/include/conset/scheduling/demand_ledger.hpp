// Demands of connections: what each is to be guaranteed of the ports and links of its phase, and who has room left.
//
// A port or link with u connections serves those that wait in turn, an element (flit) each. So one connection has at
// least rate / u of it, and an element waits there for u flits at most, its own included; a hop of a link comes on
// top. Where the ports of a node share a rate, a port has at most 1 / u of that too, u being all that end there. A
// connection is guaranteed the least of these bandwidths and the sum of these times.
// Complexity: O(1) to ask for a port or link, O(users of a path) to ask for a whole path, O(users · hops) to enter one.
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

// Rates that connections share evenly, and what each demands of them; all empty where nothing is demanded.
struct RouterDemands {
    View<const double> bandwidth;      // at least, by connection [B/s], 0: nothing
    View<const double> latency;        // at most, by connection [s], infinite: nothing
    View<const double> send, receive;  // rates by node [B/s]
    View<const double> node;           // rates that the ports of a node share [B/s]
    View<const double> link;           // rates by link [B/s]
    double hop = 0;                    // of a link [s]
    double flit = 0;                   // what is sent in turn [B]
};

// A place is a port out, a port in, both ports of a node together or a link of one phase.
class DemandLedger {
public:
    DemandLedger(const RouterDemands& demands, std::int32_t phases, std::int32_t nodes);

    bool empty() const { return demands_.bandwidth.empty(); }
    bool bounded(std::int32_t i) const;                                // whether a latency is demanded for connection i
    double most(std::int32_t i) const { return demands_.latency[i]; }  // [s]
    double least_step() const { return least_step_; }                  // of any link that nobody uses yet [s]

    std::size_t link(std::int32_t phase, std::int32_t link) const { return place(phase, 3 * nodes_ + link); }
    // The places of a connection from one node to another but its links, beginning with the ports out and in.
    Array<std::size_t> ports(std::int32_t phase, std::int32_t from, std::int32_t to) const;

    // Whether connection i has its bandwidth there, and leaves all others theirs and the time for a turn more.
    bool fits(std::size_t place, std::int32_t i) const { return empty() || has_room(place, i); }
    // What an element of one connection more takes there at most [s].
    double delay(std::size_t place) const;
    // The same at the ports of both nodes [s].
    double delay_at_ports(std::int32_t phase, std::int32_t from, std::int32_t to) const;
    // Whether connection i may take all of these places, what it takes at most being `latency`.
    bool fits(View<const std::size_t> places, std::int32_t i, double latency);
    // Connection i takes them; none leaves again.
    void enter(Array<std::size_t> places, std::int32_t i, double latency);

private:
    bool has_room(std::size_t place, std::int32_t i) const;
    std::size_t place(std::int32_t phase, std::int32_t row) const {
        return static_cast<std::size_t>(phase) * turn_.size() + static_cast<std::size_t>(row);
    }

    RouterDemands demands_;
    std::int32_t nodes_;
    bool shared_ = false;  // whether any node has a rate that its ports share
    double least_step_ = 0;
    Array<double> rate_, turn_, hop_;   // by row: port out, port in, node, link
    Array<std::int32_t> use_;           // by place
    Array<double> widest_;              // by place: the largest bandwidth demanded there
    Array<double> spare_least_;         // by place: the least time that any user has left
    Array<Array<std::int32_t>> users_;  // by place: connections whose latency is bounded
    Array<double> spare_, added_;       // by connection: time left; what is about to be added
    Array<Array<std::size_t>> places_;  // by connection whose latency is bounded
    Array<std::int32_t> touched_;
};

}  // namespace conset
