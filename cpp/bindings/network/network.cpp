#include "conset/network/network.hpp"

#include "checks.hpp"

namespace conset::bindings {

namespace {

auto route_links(const Network& network, In<std::int32_t> source, In<std::int32_t> target) {
    Array<std::int64_t> offsets{0};
    Array<std::int32_t> links;
    {
        nb::gil_scoped_release released;
        const Routes routes = checked_routes(network, view(source), view(target));
        offsets.reserve(routes.size() + 1);
        for (std::size_t k = 0; k < routes.size(); ++k) {
            routes.each_link(k, [&](std::int32_t link) { links.push_back(link); });
            offsets.push_back(static_cast<std::int64_t>(links.size()));
        }
    }
    return std::make_pair(give(std::move(offsets)), give(std::move(links)));
}

auto route_nodes(const Network& network, In<std::int32_t> source, In<std::int32_t> target) {
    Array<std::int64_t> offsets{0};
    Array<std::int32_t> nodes;
    {
        nb::gil_scoped_release released;
        const Routes routes = checked_routes(network, view(source), view(target));
        offsets.reserve(routes.size() + 1);
        for (std::size_t k = 0; k < routes.size(); ++k) {
            if (!routes.leaves(k)) nodes.push_back(routes.source[k]);
            routes.each_node(k, [&](std::int32_t node) { nodes.push_back(node); });
            offsets.push_back(static_cast<std::int64_t>(nodes.size()));
        }
    }
    return std::make_pair(give(std::move(offsets)), give(std::move(nodes)));
}

auto hops(const Network& network, In<std::int32_t> source, In<std::int32_t> target) {
    check_ends(network, view(source), view(target));
    Array<std::int32_t> result(source.shape(0));
    {
        nb::gil_scoped_release released;
        for (std::size_t k = 0; k < result.size(); ++k) result[k] = network.hops(source.data()[k], target.data()[k]);
    }
    return give(std::move(result));
}

auto links_between(const Network& network, In<std::int32_t> source, In<std::int32_t> target) {
    check_size("target", target.shape(0), source.shape(0));
    check_ids("source", view(source), network.nodes());
    check_ids("target", view(target), network.nodes());
    Array<std::int32_t> result(source.shape(0));
    for (std::size_t k = 0; k < result.size(); ++k)
        result[k] = network.link_between(source.data()[k], target.data()[k]);
    return give(std::move(result));
}

void check_graph(std::int32_t endpoints, std::int32_t nodes, View<const std::int32_t> link_source,
                 View<const std::int32_t> link_target) {
    check_count("endpoints", endpoints, 1, nodes);
    check_size("link_target", link_target.size(), link_source.size());
    check_ids("link_source", link_source, nodes);
    check_ids("link_target", link_target, nodes);
    require(std::is_sorted(link_source.begin(), link_source.end()), "link_source", "must rise");
}

Network next_links(std::int32_t endpoints, std::int32_t nodes, In<std::int32_t> link_source,
                   In<std::int32_t> link_target, In<std::int32_t> next_link) {
    check_graph(endpoints, nodes, view(link_source), view(link_target));
    check_ids("next_link", view(next_link), static_cast<std::int64_t>(link_source.shape(0)), -1);
    return Network::next_links(endpoints, nodes, copy(link_source), copy(link_target), copy(next_link));
}

Network route_table(std::int32_t endpoints, std::int32_t nodes, In<std::int32_t> link_source,
                    In<std::int32_t> link_target, In<std::int64_t> route_offsets, In<std::int32_t> links) {
    check_graph(endpoints, nodes, view(link_source), view(link_target));
    check_rise("route_offsets", view(route_offsets), links.shape(0));
    check_ids("route_links", view(links), static_cast<std::int64_t>(link_source.shape(0)));
    return Network::route_table(endpoints, nodes, copy(link_source), copy(link_target), copy(route_offsets),
                                copy(links));
}

// -1 where there is no way; of networks whose nodes choose among links of equal cost.
auto distance(const Network& network, In<std::int32_t> source, In<std::int32_t> target) {
    require(network.choice() != Choice::none, "network", "must choose among next links");
    check_size("target", target.shape(0), source.shape(0));
    check_ids("source", view(source), network.nodes());
    check_ids("target", view(target), network.choice() == Choice::valiant ? network.nodes() : network.endpoints());
    Array<std::int32_t> result(source.shape(0));
    for (std::size_t k = 0; k < result.size(); ++k) result[k] = network.distance(source.data()[k], target.data()[k]);
    return give(std::move(result));
}

Network equal_cost(std::int32_t endpoints, std::int32_t nodes, In<std::int32_t> link_source,
                   In<std::int32_t> link_target, Choice choice, std::uint64_t seed, In<std::int32_t> width,
                   In<std::int32_t> stride, In<std::int32_t> cost) {
    check_graph(endpoints, nodes, view(link_source), view(link_target));
    require(choice != Choice::none, "choice", "one required");
    check_each("width", width.shape(0), link_source.shape(0));
    check_ids("width", view(width), std::int64_t{1} << 31, 1);
    check_size("stride", stride.shape(0), choice == Choice::source_digit ? as_size(nodes) : 0);
    check_ids("stride", view(stride), std::int64_t{1} << 31, 1);
    if (cost.shape(0) > 0) check_size("cost", cost.shape(0), link_source.shape(0));
    check_ids("cost", view(cost), Network::kMaxCost + 1, 1);
    nb::gil_scoped_release released;
    return Network::equal_cost(endpoints, nodes, copy(link_source), copy(link_target), choice, seed, copy(width),
                               copy(stride), copy(cost));
}

}  // namespace

void bind_network(nb::module_& module) {
    nb::enum_<Tie>(module, "Tie").value("parity", Tie::parity).value("plus", Tie::plus).value("checker", Tie::checker);
    nb::enum_<Choice>(module, "Choice")
        .value("none", Choice::none)
        .value("source_digit", Choice::source_digit)
        .value("hash", Choice::hash)
        .value("valiant", Choice::valiant)
        .value("even", Choice::even);
    nb::class_<Network>(module, "Network")
        .def_static(
            "shortest_links",
            [](std::int32_t endpoints, std::int32_t nodes, In<std::int32_t> link_source, In<std::int32_t> link_target) {
                check_graph(endpoints, nodes, view(link_source), view(link_target));
                Array<std::int32_t> next;
                {
                    nb::gil_scoped_release released;
                    next = Network::shortest_links(endpoints, nodes, copy(link_source), copy(link_target));
                }
                return give(std::move(next));
            },
            nb::arg("endpoints"), nb::arg("nodes"), nb::arg("link_source").noconvert(),
            nb::arg("link_target").noconvert())
        .def_static(
            "box", [](In<std::int32_t> sides, bool wrap, Tie tie) { return Network::box(copy(sides), wrap, tie); },
            nb::arg("sides").noconvert(), nb::arg("wrap"), nb::arg("tie"))
        .def_static("hypercube", &Network::hypercube, nb::arg("dimensions"))
        .def_static("crossbar", &Network::crossbar, nb::arg("nodes"))
        .def_static("next_links", &next_links, nb::arg("endpoints"), nb::arg("nodes"),
                    nb::arg("link_source").noconvert(), nb::arg("link_target").noconvert(),
                    nb::arg("next_link").noconvert())
        .def_static("equal_cost", &equal_cost, nb::arg("endpoints"), nb::arg("nodes"),
                    nb::arg("link_source").noconvert(), nb::arg("link_target").noconvert(), nb::arg("choice"),
                    nb::arg("seed"), nb::arg("width").noconvert(), nb::arg("stride").noconvert(),
                    nb::arg("cost").noconvert())
        .def("distance", &distance, nb::arg("source").noconvert(), nb::arg("target").noconvert())
        .def_static("route_table", &route_table, nb::arg("endpoints"), nb::arg("nodes"),
                    nb::arg("link_source").noconvert(), nb::arg("link_target").noconvert(),
                    nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert())
        .def_prop_ro("nodes", &Network::nodes)
        .def_prop_ro("lost", &Network::lost)
        .def_prop_ro("link_slots", &Network::link_slots)
        .def("route_links", &route_links, nb::arg("source").noconvert(), nb::arg("target").noconvert())
        .def("route_nodes", &route_nodes, nb::arg("source").noconvert(), nb::arg("target").noconvert())
        .def("hops", &hops, nb::arg("source").noconvert(), nb::arg("target").noconvert())
        .def("links_between", &links_between, nb::arg("source").noconvert(), nb::arg("target").noconvert());
}

}  // namespace conset::bindings
