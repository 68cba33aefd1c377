#include "conset/network/network.hpp"

#include <limits>
#include <numeric>

#include "conset/rows.hpp"

namespace conset {

namespace {

void require(bool fine, const char* rule) {
    if (!fine) throw std::invalid_argument(rule);
}

}  // namespace

Network Network::box(Array<std::int32_t> sides, bool wrap, Tie tie) {
    require(!sides.empty(), "box: at least one side");
    Network net;
    net.kind_ = Kind::box;
    net.wrap_ = wrap;
    net.tie_ = tie;
    net.dims_ = static_cast<std::int32_t>(sides.size());
    net.strides_.assign(sides.size(), 1);
    std::int64_t nodes = 1;
    for (std::size_t k = sides.size(); k-- > 0;) {
        require(sides[k] >= 1, "box: every side at least 1");
        net.strides_[k] = static_cast<std::int32_t>(nodes);
        nodes *= sides[k];
        require(nodes * 2 * net.dims_ <= std::numeric_limits<std::int32_t>::max(), "box: too many links");
    }
    net.sides_ = std::move(sides);
    net.nodes_ = net.endpoints_ = static_cast<std::int32_t>(nodes);
    net.link_slots_ = net.nodes_ * 2 * net.dims_;
    return net;
}

Network Network::hypercube(std::int32_t dims) {
    require(dims >= 0 && dims <= 26, "hypercube: 0 to 26 dimensions");
    Network net;
    net.kind_ = Kind::hypercube;
    net.dims_ = dims;
    net.nodes_ = net.endpoints_ = std::int32_t{1} << dims;
    net.link_slots_ = net.nodes_ * dims;
    return net;
}

Network Network::crossbar(std::int32_t nodes) {
    require(nodes >= 1, "crossbar: at least one node");
    Network net;
    net.nodes_ = net.endpoints_ = nodes;
    return net;
}

Network Network::graph(std::int32_t endpoints, std::int32_t nodes, Array<std::int32_t> link_source,
                       Array<std::int32_t> link_target) {
    Network net;
    net.kind_ = Kind::graph;
    net.endpoints_ = endpoints;
    net.nodes_ = nodes;
    net.link_slots_ = static_cast<std::int32_t>(link_source.size());
    net.link_source_ = std::move(link_source);
    net.link_target_ = std::move(link_target);
    return net;
}

Network Network::next_links(std::int32_t endpoints, std::int32_t nodes, Array<std::int32_t> link_source,
                            Array<std::int32_t> link_target, Array<std::int32_t> next_link) {
    require(next_link.size() == static_cast<std::size_t>(endpoints) * static_cast<std::size_t>(nodes),
            "next_links: one entry for each endpoint and node");
    Network net = graph(endpoints, nodes, std::move(link_source), std::move(link_target));
    net.next_link_ = std::move(next_link);
    return net;
}

Array<std::int32_t> Network::shortest_links(std::int32_t endpoints, std::int32_t nodes,
                                            const Array<std::int32_t>& link_source,
                                            const Array<std::int32_t>& link_target) {
    require(link_source.size() == link_target.size(), "shortest_links: a source and a target for each link");
    require(0 <= endpoints && endpoints <= nodes, "shortest_links: endpoints are nodes");
    const auto is_node = [&](std::int32_t v) { return 0 <= v && v < nodes; };
    require(std::ranges::all_of(link_source, is_node) && std::ranges::all_of(link_target, is_node),
            "shortest_links: links join nodes");
    const auto links = static_cast<std::int32_t>(link_source.size());
    // entering[first[v] .. first[v + 1]]: the nodes with a link to v
    Array<std::int32_t> entering(link_source.size()), distance(as_size(nodes)), queue(as_size(nodes));
    const Array<std::int32_t> first = fill_rows<std::int32_t>(
        as_size(nodes), link_source.size(), [&](std::size_t k) { return link_target[k]; },
        [&](std::int32_t at, std::size_t k) { entering[at] = link_source[k]; });

    Array<std::int32_t> next(static_cast<std::size_t>(endpoints) * static_cast<std::size_t>(nodes), -1);
    for (std::int32_t t = 0; t < endpoints; ++t) {
        std::ranges::fill(distance, -1);
        distance[t] = 0;
        queue[0] = t;
        for (std::int32_t head = 0, tail = 1; head < tail; ++head) {
            const std::int32_t v = queue[head];
            for (std::int32_t k = first[v]; k < first[v + 1]; ++k) {
                const std::int32_t u = entering[k];
                if (distance[u] >= 0) continue;
                distance[u] = distance[v] + 1;
                queue[tail++] = u;
            }
        }
        std::int32_t* row = next.data() + std::int64_t{t} * nodes;
        for (std::int32_t k = links; k-- > 0;) {  // the lowest link is written last
            const std::int32_t far = distance[link_target[k]];
            if (far >= 0 && far + 1 == distance[link_source[k]]) row[link_source[k]] = k;
        }
    }
    return next;
}

Network Network::route_table(std::int32_t endpoints, std::int32_t nodes, Array<std::int32_t> link_source,
                             Array<std::int32_t> link_target, Array<std::int64_t> route_offsets,
                             Array<std::int32_t> route_links) {
    require(route_offsets.size() == static_cast<std::size_t>(endpoints) * static_cast<std::size_t>(endpoints) + 1,
            "route_table: one route for each pair of endpoints");
    Network net = graph(endpoints, nodes, std::move(link_source), std::move(link_target));
    net.route_offsets_ = std::move(route_offsets);
    net.route_links_ = std::move(route_links);
    return net;
}

std::int32_t Network::link_target(std::int32_t link) const {
    if (kind_ == Kind::graph) return link_target_[link];
    if (kind_ == Kind::hypercube) return link / dims_ ^ (std::int32_t{1} << link % dims_);
    const std::int32_t node = link / (2 * dims_), slot = link % (2 * dims_), k = slot / 2;
    const std::int32_t at = node / strides_[k] % sides_[k], to = at + (slot % 2 == 0 ? 1 : -1);
    return node + ((to + sides_[k]) % sides_[k] - at) * strides_[k];
}

std::int32_t Network::link_between(std::int32_t u, std::int32_t v) const {
    switch (kind_) {
        case Kind::crossbar: return -1;
        case Kind::hypercube: {
            const auto bit = static_cast<std::uint32_t>(u ^ v);
            return std::has_single_bit(bit) ? u * dims_ + std::countr_zero(bit) : -1;
        }
        case Kind::box:
            for (std::int32_t k = 0; k < dims_; ++k) {
                const std::int32_t side = sides_[k], at = u / strides_[k] % side, to = v / strides_[k] % side;
                if (at == to) continue;
                if (u + (to - at) * strides_[k] != v) return -1;  // differs in another dimension too
                if (to == at + 1 || (wrap_ && side > 2 && to == 0 && at == side - 1)) return u * 2 * dims_ + 2 * k;
                if (to == at - 1 || (wrap_ && side > 2 && at == 0 && to == side - 1)) return u * 2 * dims_ + 2 * k + 1;
                return -1;
            }
            return -1;
        case Kind::graph: break;
    }
    auto at = std::lower_bound(link_source_.begin(), link_source_.end(), u) - link_source_.begin();
    for (; at < link_slots_ && link_source_[at] == u; ++at)
        if (link_target_[at] == v) return static_cast<std::int32_t>(at);
    return -1;
}

}  // namespace conset
