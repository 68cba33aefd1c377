// Network: nodes, link slots and the rule that turns (source, target) into a path of links.
//
// Link slots are numbered as in conset.machine.network.topology: box `node * 2 * dims + 2 * dim + (0 up | 1 down)`,
// hypercube `node * dims + bit`, graph: position in the sorted list. Routes given by a formula are walked, never
// stored.
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

// How a node of a graph chooses among its next links of equal cost, those that begin a way of least cost to the target:
// source_digit: link (source / stride of the node) mod how many there are; hash: by a hash of the seed, the ends and
// the node, each wire of a link counting once; valiant: as hash, first to a node drawn by the same hash, then to the
// target; even: a part over each wire, in equal parts (walked as `hash`, where one route must stand for all).
enum class Choice { none, source_digit, hash, valiant, even };

// What such choices need. Candidates are found by distances as a route is walked, none are stored.
struct EqualCost {
    Choice choice = Choice::none;
    std::uint64_t seed = 0;
    Array<std::int16_t> distance;  // row * nodes + v: costs of a least way from v to node `row`; -1: out of reach
    Array<std::int32_t> first;     // links out of node v: first[v] ... first[v + 1]
    Array<std::int32_t> width;     // by link, or one for all
    Array<std::int32_t> stride;    // by node; `source_digit` only
    Array<std::int32_t> cost;      // by link, or none: 1 for all
};

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
    // A graph whose nodes choose among next links of equal cost. `stride` is of `source_digit` alone, `cost` may be
    // empty: 1 for all. Links are sorted by (source, target), widths and costs at least 1, costs at most `kMaxCost`.
    // Distances take 2 bytes for each node and endpoint (`valiant`: each two nodes); nodes nearest first, in a bucket
    // for each distance: O(rows * (nodes + links) + largest distance).
    static Network equal_cost(std::int32_t endpoints, std::int32_t nodes, Array<std::int32_t> link_source,
                              Array<std::int32_t> link_target, Choice choice, std::uint64_t seed,
                              Array<std::int32_t> width, Array<std::int32_t> stride, Array<std::int32_t> cost);
    static constexpr std::int32_t kMaxCost = 64;
    static constexpr std::int32_t kMaxWidth = std::int32_t{1} << 29;

    std::int32_t nodes() const { return nodes_; }
    std::int32_t endpoints() const { return endpoints_; }
    // Nodes 0 ... starts() - 1 have routes of the network's own to every endpoint.
    std::int32_t starts() const { return route_offsets_.empty() ? nodes_ : endpoints_; }
    std::int32_t link_slots() const { return link_slots_; }
    bool is_box() const { return kind_ == Kind::box; }
    const std::vector<std::int32_t>& sides() const { return sides_; }  // of a box; empty else
    const std::vector<std::int32_t>& strides() const { return strides_; }
    bool has_links() const { return kind_ != Kind::crossbar; }
    // Of a box: whether sides of more than 2 nodes are cycles, and how a hop of half a cycle is directed.
    bool wraps() const { return wrap_; }
    Tie tie() const { return tie_; }

    Choice choice() const { return equal_.choice; }
    // Whether a route stands for what nobody knows: loads of links are expectations over routes (`Spread`).
    bool spreads() const { return equal_.choice != Choice::none && equal_.choice != Choice::source_digit; }
    // The nodes that `valiant` draws from: the first, and how many: switches, or all nodes where there are none.
    std::int32_t first_via() const { return endpoints_ < nodes_ ? endpoints_ : 0; }
    std::int32_t vias() const { return nodes_ - first_via(); }
    // A pair of nodes that no route joins though one must, (-1, -1) where there is none. Of graphs with choices.
    std::pair<std::int32_t, std::int32_t> lost() const { return lost_; }
    // Costs of the links of a least way from v to node `to`; -1: out of reach. Of graphs with choices: `to` is an
    // endpoint, with `valiant` any node.
    std::int32_t distance(std::int32_t v, std::int32_t to) const { return equal_.distance[cell(to, nodes_, v)]; }
    std::int32_t wires(std::int32_t link) const {
        return equal_.width.size() == 1 ? equal_.width[0] : equal_.width[link];
    }
    std::int32_t cost(std::int32_t link) const { return equal_.cost.empty() ? 1 : equal_.cost[link]; }
    // Calls `visit(link, next_node)` for every link from v that begins a way of least cost to `to`.
    template <class Visit>
    void each_next(std::int32_t v, std::int32_t to, Visit&& visit) const {
        const std::int16_t* const row = equal_.distance.data() + cell(to, nodes_, 0);
        for (std::int32_t link = equal_.first[v]; link < equal_.first[v + 1]; ++link) {
            const std::int32_t next = link_target_[link];
            if (row[next] >= 0 && row[next] + cost(link) == row[v]) visit(link, next);
        }
    }

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
    template <class Visit>
    std::int32_t walk_equal(std::int32_t s, std::int32_t t, Visit&& visit) const;
    std::int32_t next_equal(std::int32_t v, std::int32_t to, std::int32_t s, std::uint64_t pair) const;
    // Splitmix64's finalizer, and what one step of it adds.
    static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;
    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    // A number from 0 to below `count` out of the upper half of a hash.
    static std::int32_t below(std::uint64_t hash, std::int32_t count) {
        return static_cast<std::int32_t>(((hash >> 32U) * static_cast<std::uint64_t>(count)) >> 32U);
    }
    bool ties_up(std::int32_t node, std::int32_t at, std::int32_t side) const;

    Kind kind_ = Kind::crossbar;
    Tie tie_ = Tie::parity;
    bool wrap_ = false;
    std::int32_t nodes_ = 0, endpoints_ = 0, link_slots_ = 0, dims_ = 0;
    Array<std::int32_t> sides_, strides_;
    Array<std::int32_t> link_source_, link_target_, next_link_, route_links_;
    Array<std::int64_t> route_offsets_;
    EqualCost equal_;
    std::pair<std::int32_t, std::int32_t> lost_{-1, -1};
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
std::int32_t Network::walk_equal(std::int32_t s, std::int32_t t, Visit&& visit) const {
    const std::uint64_t ends = static_cast<std::uint64_t>(s) << 32U | static_cast<std::uint32_t>(t);
    const std::uint64_t pair = mix(mix(equal_.seed + kGolden) ^ ends);
    std::int32_t node = s, hops = 0;
    const auto go = [&](std::int32_t to) {
        for (; node != to; ++hops) {
            const std::int32_t link = next_equal(node, to, s, pair);
            node = link_target_[link];
            visit(link, node);
        }
    };
    if (equal_.choice == Choice::valiant) go(first_via() + below(mix(pair), vias()));
    go(t);
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
    if (equal_.choice != Choice::none) return walk_equal(s, t, visit);
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
