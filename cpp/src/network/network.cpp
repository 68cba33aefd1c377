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

Network Network::equal_cost(std::int32_t endpoints, std::int32_t nodes, Array<std::int32_t> link_source,
                            Array<std::int32_t> link_target, Choice choice, std::uint64_t seed,
                            Array<std::int32_t> width, Array<std::int32_t> stride, Array<std::int32_t> cost) {
    require(0 <= endpoints && endpoints <= nodes, "equal_cost: endpoints are nodes");
    require(choice != Choice::source_digit || stride.size() == as_size(nodes), "equal_cost: a stride for each node");
    require(width.size() == 1 || width.size() == link_source.size(), "equal_cost: a width for each link");
    require(cost.empty() || cost.size() == link_source.size(), "equal_cost: a cost for each link, or none");
    require(std::ranges::all_of(cost, [](std::int32_t each) { return 1 <= each && each <= kMaxCost; }),
            "equal_cost: costs from 1 to 64");
    Network net = graph(endpoints, nodes, std::move(link_source), std::move(link_target));
    EqualCost& equal = net.equal_;
    equal.choice = choice;
    equal.seed = seed;
    equal.width = std::move(width);
    equal.stride = std::move(stride);
    equal.first = row_offsets<std::int32_t>(as_size(nodes), net.link_source_.size(),
                                            [&](std::size_t k) { return net.link_source_[k]; });
    equal.cost = std::move(cost);
    Array<std::int32_t> entering(net.link_source_.size());
    const Array<std::int32_t> into = fill_rows<std::int32_t>(
        as_size(nodes), net.link_source_.size(), [&](std::size_t k) { return net.link_target_[k]; },
        [&](std::int32_t at, std::size_t k) { entering[at] = static_cast<std::int32_t>(k); });
    const std::int32_t longest = equal.cost.empty() ? 1 : std::ranges::max(equal.cost);
    // nodes seen at distance d, some of which were nearer after all: bucket d mod (longest + 1)
    Array<Array<std::int32_t>> buckets(as_size(longest) + 1);
    const std::int32_t rows = choice == Choice::valiant ? nodes : endpoints;
    equal.distance.assign(as_size(rows) * as_size(nodes), -1);
    for (std::int32_t t = 0; t < rows; ++t) {
        std::int16_t* const row = equal.distance.data() + cell(t, nodes, 0);
        row[t] = 0;
        buckets[0].push_back(t);
        std::size_t left = 1;
        for (std::int32_t near = 0; left > 0; ++near) {
            Array<std::int32_t>& bucket = buckets[as_size(near) % buckets.size()];
            left -= bucket.size();
            for (const std::int32_t v : bucket) {
                if (row[v] != near) continue;
                for (std::int32_t k = into[v]; k < into[v + 1]; ++k) {
                    const std::int32_t u = net.link_source_[entering[k]], far = near + net.cost(entering[k]);
                    if (row[u] >= 0 && row[u] <= far) continue;
                    require(far <= std::numeric_limits<std::int16_t>::max(),
                            "equal_cost: a way that costs more than 32767");
                    row[u] = static_cast<std::int16_t>(far);
                    buckets[as_size(far) % buckets.size()].push_back(u);
                    ++left;
                }
            }
            bucket.clear();
        }
        for (std::int32_t v = 0; v < (choice == Choice::valiant ? nodes : endpoints) && net.lost_.first < 0; ++v)
            if (row[v] < 0 && (v < endpoints || t < endpoints)) net.lost_ = {v, t};
    }
    return net;
}

// The link that a route of node s takes from v on its way to `to`; `pair` is the hash of its ends.
std::int32_t Network::next_equal(std::int32_t v, std::int32_t to, std::int32_t s, std::uint64_t pair) const {
    const bool digit = equal_.choice == Choice::source_digit;
    std::int32_t count = 0, only = -1;
    each_next(v, to, [&](std::int32_t link, std::int32_t) {
        count += digit ? 1 : wires(link);
        only = link;
    });
    if (only < 0) throw std::logic_error("no route: the graph was not checked to be connected");
    const std::uint64_t salt = (static_cast<std::uint64_t>(v) + 1) * kGolden;
    std::int32_t left = digit ? s / equal_.stride[v] % count : below(mix(pair ^ salt), count);
    std::int32_t chosen = -1;
    each_next(v, to, [&](std::int32_t link, std::int32_t) {
        if (chosen >= 0) return;
        left -= digit ? 1 : wires(link);
        if (left < 0) chosen = link;
    });
    return chosen;
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
