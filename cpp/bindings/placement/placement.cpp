#include "conset/placement/placement.hpp"

#include <set>
#include <utility>

#include "checks.hpp"

namespace conset::bindings {

namespace {

// Who talks to whom; keeps the arrays it looks at.
class BoundGraph {
public:
    BoundGraph(In<std::int64_t> offsets, In<std::int32_t> neighbour, In<double> weight)
        : offsets_(offsets), neighbour_(neighbour), weight_(weight) {
        check_rise("offsets", view(offsets_), neighbour_.shape(0));
        check_size("weight", weight_.shape(0), neighbour_.shape(0));
        check_finite("weight", view(weight_));
        check_ids("neighbour", view(neighbour_), static_cast<std::int64_t>(ranks()));
    }

    std::size_t ranks() const { return offsets_.shape(0) - 1; }
    PatternGraph operator*() const { return {view(offsets_), view(neighbour_), view(weight_)}; }

private:
    In<std::int64_t> offsets_;
    In<std::int32_t> neighbour_;
    In<double> weight_;
};

void check_places(const Network& network, std::int32_t ranks_per_node, std::size_t ranks) {
    check_count("ranks_per_node", ranks_per_node, 1, std::numeric_limits<std::int32_t>::max() / network.endpoints());
    check_count("ranks", static_cast<std::int64_t>(ranks), 0, std::int64_t{network.endpoints()} * ranks_per_node);
}

// Parts low ... high are cut at middle, each after the one it is half of, down to single nodes.
void check_parts(const NetworkCuts& cuts, std::int32_t nodes) {
    check_size("middle", cuts.middle.size(), cuts.low.size());
    check_size("high", cuts.high.size(), cuts.low.size());
    std::set<std::pair<std::int32_t, std::int32_t>> open;
    if (nodes > 1) open.emplace(0, nodes);
    for (std::size_t k = 0; k < cuts.low.size(); ++k) {
        const std::int32_t a = cuts.low[k], m = cuts.middle[k], b = cuts.high[k];
        require(open.erase({a, b}) == 1 && a < m && m < b, "low, middle, high", "must cut parts of the network in two");
        if (m - a > 1) open.emplace(a, m);
        if (b - m > 1) open.emplace(m, b);
    }
    require(open.empty(), "low, middle, high", "must cut down to single nodes");
}

// How a network is cut in two again and again; keeps the arrays it looks at.
class BoundCuts {
public:
    BoundCuts(In<std::int32_t> order, In<std::int32_t> low, In<std::int32_t> middle, In<std::int32_t> high)
        : order_(order), low_(low), middle_(middle), high_(high) {
        check_permutation("order", view(order_), order_.shape(0));
        check_parts(cuts(), static_cast<std::int32_t>(order_.shape(0)));
    }

    // They fit the number of endpoints.
    NetworkCuts of(const Network& network) const {
        check_size("order", order_.shape(0), static_cast<std::size_t>(network.endpoints()));
        return cuts();
    }

private:
    NetworkCuts cuts() const { return {view(order_), view(low_), view(middle_), view(high_)}; }

    In<std::int32_t> order_, low_, middle_, high_;
};

void check_nodes(const In<std::int32_t>& node, std::int32_t endpoints, std::int32_t ranks_per_node) {
    check_ids("node", view(node), endpoints);
    Array<std::int32_t> filled(static_cast<std::size_t>(endpoints));
    for (const std::int32_t at : view(node))
        require(filled[static_cast<std::size_t>(at)]++ < ranks_per_node, "node", "more ranks than a node holds");
}

auto anneal(const Network& network, const BoundGraph& out, const BoundGraph& in, In<std::int32_t> node,
            std::int32_t ranks_per_node, std::int64_t steps, std::uint64_t seed) {
    Array<std::int32_t> placed;
    {
        nb::gil_scoped_release released;
        check_places(network, ranks_per_node, node.shape(0));
        check_nodes(node, network.endpoints(), ranks_per_node);
        check_size("node", node.shape(0), out.ranks());
        check_size("node", node.shape(0), in.ranks());
        placed = anneal_placement(network, *out, *in, copy(node), ranks_per_node, steps, seed);
    }
    return give(std::move(placed));
}

auto bisect(const Network& network, const BoundGraph& graph, const BoundCuts& cuts, std::int32_t ranks_per_node,
            std::uint64_t seed) {
    Array<std::int32_t> placed;
    {
        nb::gil_scoped_release released;
        check_places(network, ranks_per_node, graph.ranks());
        placed = bisect_placement(network, *graph, cuts.of(network), ranks_per_node, seed);
    }
    return give(std::move(placed));
}

}  // namespace

void bind_placement(nb::module_& module) {
    using Unlocked = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<BoundGraph>(module, "PatternGraph")
        .def(nb::init<In<std::int64_t>, In<std::int32_t>, In<double>>(), nb::arg("offsets").noconvert(),
             nb::arg("neighbour").noconvert(), nb::arg("weight").noconvert(), Unlocked());
    nb::class_<BoundCuts>(module, "NetworkCuts")
        .def(nb::init<In<std::int32_t>, In<std::int32_t>, In<std::int32_t>, In<std::int32_t>>(),
             nb::arg("order").noconvert(), nb::arg("low").noconvert(), nb::arg("middle").noconvert(),
             nb::arg("high").noconvert(), Unlocked());
    module.def("anneal_placement", &anneal, nb::arg("network"), nb::arg("out"), nb::arg("in_"),
               nb::arg("node").noconvert(), nb::arg("ranks_per_node"), nb::arg("steps"), nb::arg("seed"));
    module.def("bisect_placement", &bisect, nb::arg("network"), nb::arg("graph"), nb::arg("cuts"),
               nb::arg("ranks_per_node"), nb::arg("seed"));
}

}  // namespace conset::bindings
