#include "conset/placement.hpp"

#include "bindings.hpp"

namespace conset::bindings {

void bind_placement(nb::module_& module) {
    module.def(
        "anneal_placement",
        [](const Network& network, In<std::int64_t> out_offsets, In<std::int32_t> out_neighbour, In<double> out_weight,
           In<std::int64_t> in_offsets, In<std::int32_t> in_neighbour, In<double> in_weight, In<std::int32_t> node,
           std::int32_t ranks_per_node, std::int64_t steps, std::uint64_t seed) {
            std::vector<std::int32_t> placed;
            {
                nb::gil_scoped_release released;
                const PatternGraph out{view(out_offsets), view(out_neighbour), view(out_weight)};
                const PatternGraph in{view(in_offsets), view(in_neighbour), view(in_weight)};
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
            std::vector<std::int32_t> placed;
            {
                nb::gil_scoped_release released;
                const PatternGraph graph{view(offsets), view(neighbour), view(weight)};
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
