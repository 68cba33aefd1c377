// Network: nodes, link slots and the rule that turns (source, target) into a path of links.
//
// Link slots are numbered as in conset.network.topology: box `node * 2 * dims + 2 * dim + (0 up | 1 down)`, hypercube
// `node * dims + bit`, graph: position in the sorted list. Routes given by a formula are walked, never stored.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "conset/array.hpp"

namespace conset {

enum class Kind { box, hypercube, crossbar, graph };
enum class Tie { parity, plus, checker };

class Network {
public:
    // A mesh (`wrap` false), torus or ring. Side 2 never wraps. `wrap` false on a torus is its no-wrap routing:
    // the slots are the same.
    static Network box(Array<std::int32_t> sides, bool wrap, Tie tie);
    static Network hypercube(std::int32_t dims);
    static Network crossbar(std::int32_t nodes);
    // A graph with, for each endpoint t and node v, the first link from v towards t (-1: none, or v == t).
    static Network next_links(std::int32_t endpoints, std::int32_t nodes, Array<std::int32_t> link_source,
                              Array<std::int32_t> link_target, Array<std::int32_t> next_link);
    // The table that `next_links` takes, of shortest paths: entry t * nodes + v is the lowest link from v to a
    // neighbour nearest to endpoint t, -1 at t and where t is out of reach. Links are sorted by (source, target), so it
    // leads to the lowest such neighbour. Breadth first from each endpoint against the links: O(endpoints * (nodes +
    // links)).
    static Array<std::int32_t> shortest_links(std::int32_t endpoints, std::int32_t nodes,
                                              const Array<std::int32_t>& link_source,
                                              const Array<std::int32_t>& link_target);
    // A graph with stored routes: links of (s, t) are route_links[route_offsets[s * endpoints + t] ...].
    static Network route_table(std::int32_t endpoints, std::int32_t nodes, Array<std::int32_t> link_source,
                               Array<std::int32_t> link_target, Array<std::int64_t> route_offsets,
                               Array<std::int32_t> route_links);

    std::int32_t nodes() const { return nodes_; }
    std::int32_t endpoints() const { return endpoints_; }
    // Nodes 0 ... starts() - 1 have routes of the network's own to every endpoint.
    std::int32_t starts() const { return route_offsets_.empty() ? nodes_ : endpoints_; }
    std::int32_t link_slots() const { return link_slots_; }
    bool is_box() const { return kind_ == Kind::box; }
    const std::vector<std::int32_t>& sides() const { return sides_; }  // of a box; empty else
    const std::vector<std::int32_t>& strides() const { return strides_; }
    bool has_links() const { return kind_ != Kind::crossbar; }

    // The node a link enters.
    std::int32_t link_target(std::int32_t link) const;

    // The link from u to v, or -1 where there is none.
    std::int32_t link_between(std::int32_t u, std::int32_t v) const;

    struct Run {
        bool up;
        std::int32_t count;  // links
    };
    // The way of a box route along dimension k, from coordinate `at` to another one, `to`; s is the route's source.
    Run run(std::int32_t s, std::int32_t k, std::int32_t at, std::int32_t to) const {
        if (!wrap_ || sides_[k] <= 2) return {to > at, std::abs(to - at)};
        const std::int32_t side = sides_[k], above = to > at ? to - at : to - at + side;
        const bool up = 2 * above < side || (2 * above == side && ties_up(s, at, side));
        return {up, up ? above : side - above};
    }

    // Calls `visit(link, next_node)` for each hop from s to t in order. Returns the number of hops.
    template <class Visit>
    std::int32_t walk(std::int32_t s, std::int32_t t, Visit&& visit) const;

    std::int32_t hops(std::int32_t s, std::int32_t t) const {
        if (kind_ != Kind::box) return walk(s, t, [](std::int32_t, std::int32_t) {});
        std::int32_t hops = 0;
        for (std::int32_t k = 0; k < dims_; ++k) {
            const std::int32_t ahead = std::abs(t / strides_[k] % sides_[k] - s / strides_[k] % sides_[k]);
            hops += wrap_ ? std::min(ahead, sides_[k] - ahead) : ahead;
        }
        return hops;
    }

private:
    // A graph that knows its links, not yet its routes.
    static Network graph(std::int32_t endpoints, std::int32_t nodes, Array<std::int32_t> link_source,
                         Array<std::int32_t> link_target);

    template <class Visit>
    std::int32_t walk_box(std::int32_t s, std::int32_t t, Visit&& visit) const;
    bool ties_up(std::int32_t node, std::int32_t at, std::int32_t side) const;

    Kind kind_ = Kind::crossbar;
    Tie tie_ = Tie::parity;
    bool wrap_ = false;
    std::int32_t nodes_ = 0, endpoints_ = 0, link_slots_ = 0, dims_ = 0;
    Array<std::int32_t> sides_, strides_;
    Array<std::int32_t> link_source_, link_target_, next_link_, route_links_;
    Array<std::int64_t> route_offsets_;
};

// A tie on a cycle of `side` nodes, decided at the source: `at` is its coordinate in the dimension of the tie.
inline bool Network::ties_up(std::int32_t source, std::int32_t at, std::int32_t side) const {
    if (tie_ == Tie::plus) return true;
    if (tie_ == Tie::parity) return at % (side / 2) % 2 == 0;
    std::int32_t sum = 0;  // checker
    for (std::int32_t k = 0; k < dims_; ++k) sum += source / strides_[k] % sides_[k];
    return sum % 2 == 1;
}

template <class Visit>
std::int32_t Network::walk_box(std::int32_t s, std::int32_t t, Visit&& visit) const {
    std::int32_t node = s, hops = 0;
    for (std::int32_t k = dims_ - 1; k >= 0; --k) {
        const std::int32_t side = sides_[k], stride = strides_[k];
        std::int32_t at = s / stride % side;
        const std::int32_t to = t / stride % side;
        if (at == to) continue;
        auto [up, count] = run(s, k, at, to);
        hops += count;
        const std::int32_t slot = 2 * k + (up ? 0 : 1);
        for (; count > 0; --count) {
            const std::int32_t link = node * 2 * dims_ + slot;
            if (up) {
                node = at == side - 1 ? node - (side - 1) * stride : node + stride;
                at = at == side - 1 ? 0 : at + 1;
            } else {
                node = at == 0 ? node + (side - 1) * stride : node - stride;
                at = at == 0 ? side - 1 : at - 1;
            }
            visit(link, node);
        }
    }
    return hops;
}

template <class Visit>
std::int32_t Network::walk(std::int32_t s, std::int32_t t, Visit&& visit) const {
    if (s == t) return 0;
    switch (kind_) {
        case Kind::box: return walk_box(s, t, visit);
        case Kind::hypercube: {
            std::int32_t node = s, hops = 0;
            for (std::uint32_t rest = static_cast<std::uint32_t>(s ^ t); rest != 0; rest &= rest - 1, ++hops) {
                const int bit = std::countr_zero(rest);
                const std::int32_t link = node * dims_ + bit;
                node ^= std::int32_t{1} << bit;
                visit(link, node);
            }
            return hops;
        }
        case Kind::crossbar: return 0;
        case Kind::graph: break;
    }
    std::int32_t hops = 0;
    if (!route_offsets_.empty()) {
        const std::int64_t pair = std::int64_t{s} * endpoints_ + t;
        for (std::int64_t k = route_offsets_[pair]; k < route_offsets_[pair + 1]; ++k, ++hops)
            visit(route_links_[k], link_target_[route_links_[k]]);
        return hops;
    }
    for (std::int32_t node = s; node != t; ++hops) {
        const std::int32_t link = next_link_[std::int64_t{t} * nodes_ + node];
        if (link < 0) throw std::logic_error("no route: the graph was not checked to be connected");
        node = link_target_[link];
        visit(link, node);
    }
    return hops;
}

}  // namespace conset
