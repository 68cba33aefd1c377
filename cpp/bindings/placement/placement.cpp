#include "conset/placement/placement.hpp"

#include <set>
#include <utility>

#include "checks.hpp"

namespace conset::bindings {

namespace {

PatternGraph checked(const In<std::int64_t>& offsets, const In<std::int32_t>& neighbour, const In<double>& weight,
                     std::size_t ranks) {
    check_offsets("offsets", view(offsets), ranks, neighbour.shape(0));
    check_size("weight", weight.shape(0), neighbour.shape(0));
    check_finite("weight", view(weight));
    check_ids("neighbour", view(neighbour), static_cast<std::int64_t>(ranks));
    return {view(offsets), view(neighbour), view(weight)};
}

void check_places(const Network& network, std::int32_t ranks_per_node, std::size_t ranks) {
    check_count("ranks_per_node", ranks_per_node, 1, std::numeric_limits<std::int32_t>::max() / network.endpoints());
    check_count("ranks", static_cast<std::int64_t>(ranks), 0, std::int64_t{network.endpoints()} * ranks_per_node);
}

// Parts low ... high are cut at middle, each after the one it is half of, down to single nodes.
void check_parts(const In<std::int32_t>& low, const In<std::int32_t>& middle, const In<std::int32_t>& high,
                 std::int32_t nodes) {
    check_size("middle", middle.shape(0), low.shape(0));
    check_size("high", high.shape(0), low.shape(0));
    std::set<std::pair<std::int32_t, std::int32_t>> open;
    if (nodes > 1) open.emplace(0, nodes);
    for (std::size_t k = 0; k < low.shape(0); ++k) {
        const std::int32_t a = low.data()[k], m = middle.data()[k], b = high.data()[k];
        require(open.erase({a, b}) == 1 && a < m && m < b, "low, middle, high", "must cut parts of the network in two");
        if (m - a > 1) open.emplace(a, m);
        if (b - m > 1) open.emplace(m, b);
    }
    require(open.empty(), "low, middle, high", "must cut down to single nodes");
}

void check_nodes(const In<std::int32_t>& node, std::int32_t endpoints, std::int32_t ranks_per_node) {
    check_ids("node", view(node), endpoints);
    Array<std::int32_t> filled(static_cast<std::size_t>(endpoints));
    for (const std::int32_t at : view(node))
        require(filled[static_cast<std::size_t>(at)]++ < ranks_per_node, "node", "more ranks than a node holds");
}

}  // namespace

void bind_placement(nb::module_& module) {
    module.def(
        "anneal_placement",
        [](const Network& network, In<std::int64_t> out_offsets, In<std::int32_t> out_neighbour, In<double> out_weight,
           In<std::int64_t> in_offsets, In<std::int32_t> in_neighbour, In<double> in_weight, In<std::int32_t> node,
           std::int32_t ranks_per_node, std::int64_t steps, std::uint64_t seed) {
            Array<std::int32_t> placed;
            {
                nb::gil_scoped_release released;
                check_places(network, ranks_per_node, node.shape(0));
                check_nodes(node, network.endpoints(), ranks_per_node);
                const PatternGraph out = checked(out_offsets, out_neighbour, out_weight, node.shape(0));
                const PatternGraph in = checked(in_offsets, in_neighbour, in_weight, node.shape(0));
                placed = anneal_placement(network, out, in, copy(node), ranks_per_node, steps, seed);
            }
            return give(std::move(placed));
        },
        nb::arg("network"), nb::arg("out_offsets").noconvert(), nb::arg("out_neighbour").noconvert(),
        nb::arg("out_weight").noconvert(), nb::arg("in_offsets").noconvert(), nb::arg("in_neighbour").noconvert(),
        nb::arg("in_weight").noconvert(), nb::arg("node").noconvert(), nb::arg("ranks_per_node"), nb::arg("steps"),
        nb::arg("seed"));
    module.def(
        "bisect_placement",
        [](const Network& network, In<std::int64_t> offsets, In<std::int32_t> neighbour, In<double> weight,
           In<std::int32_t> order, In<std::int32_t> low, In<std::int32_t> middle, In<std::int32_t> high,
           std::int32_t ranks_per_node, std::uint64_t seed) {
            Array<std::int32_t> placed;
            {
                nb::gil_scoped_release released;
                require(offsets.shape(0) > 0, "offsets", "must begin with 0");
                check_places(network, ranks_per_node, offsets.shape(0) - 1);
                const PatternGraph graph = checked(offsets, neighbour, weight, offsets.shape(0) - 1);
                check_permutation("order", view(order), static_cast<std::size_t>(network.endpoints()));
                check_parts(low, middle, high, network.endpoints());
                placed = bisect_placement(network, graph, view(order), view(low), view(middle), view(high),
                                          ranks_per_node, seed);
            }
            return give(std::move(placed));
        },
        nb::arg("network"), nb::arg("offsets").noconvert(), nb::arg("neighbour").noconvert(),
        nb::arg("weight").noconvert(), nb::arg("order").noconvert(), nb::arg("low").noconvert(),
        nb::arg("middle").noconvert(), nb::arg("high").noconvert(), nb::arg("ranks_per_node"), nb::arg("seed"));
}

}  // namespace conset::bindings
