#include <nanobind/stl/string.h>

#include "checks.hpp"
#include "conset/scheduling/coloring.hpp"
#include "conset/scheduling/first_fit.hpp"
#include "conset/scheduling/phases.hpp"
#include "conset/scheduling/random_schedule.hpp"
#include "scheduling/resources.hpp"

namespace conset::bindings {

namespace {

void bind_limits(nb::module_& module) {
    nb::class_<Limits>(module, "Limits")
        .def(nb::init<std::int32_t, std::int32_t, std::int32_t, std::int32_t, bool, std::int32_t>(), nb::arg("send"),
             nb::arg("receive"), nb::arg("link"), nb::arg("channels"), nb::arg("exchange"), nb::arg("planes") = 1);
}

void bind_resources(nb::module_& module) {
    nb::class_<BoundResources>(module, "Resources")
        .def(nb::init<const Network&, In<std::int32_t>, In<std::int32_t>, In<std::int32_t>, const Limits&,
                      In<std::int64_t>, In<std::int32_t>>(),
             nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
             nb::arg("width").noconvert(), nb::arg("limits"), nb::arg("route_offsets").noconvert(),
             nb::arg("route_links").noconvert(), nb::keep_alive<1, 2>())
        .def_prop_ro("least_phases", [](const BoundResources& resources) {
            nb::gil_scoped_release released;
            return (*resources).least_phases();
        });
}

auto list_messages(std::int32_t ranks, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> size,
                   const std::string& order, std::uint64_t seed, In<std::int32_t> sides, In<std::int32_t> source_node,
                   In<std::int32_t> target_node) {
    Array<std::int32_t> listed;
    {
        nb::gil_scoped_release released;
        for (const auto& each : {target, source_node, target_node})
            check_size("target, source_node, target_node", each.shape(0), source.shape(0));
        check_each("size", size.shape(0), source.shape(0));
        check_ids("sides", view(sides), std::int64_t{1} << 31, 1);
        listed = order_messages(
            {ranks, view(source), view(target), view(size), view(sides), view(source_node), view(target_node)}, order,
            seed);
    }
    return give(std::move(listed));
}

void bind_phases(nb::module_& module) {
    nb::class_<Phases>(module, "Phases")
        .def_prop_ro("offsets", &entries<Phases, &Phases::offsets>)
        .def_prop_ro("message", &entries<Phases, &Phases::message>)
        .def_prop_ro("start", &entries<Phases, &Phases::start>)
        .def_prop_ro("end", &entries<Phases, &Phases::end>);
    module.def(
        "group_phases",
        [](In<std::int32_t> phase) {
            nb::gil_scoped_release released;
            check_ids("phase", view(phase),
                      std::max(std::int64_t{1} << 24, 64 * static_cast<std::int64_t>(phase.shape(0))));
            return group_phases(view(phase));
        },
        nb::arg("phase").noconvert());
    module.def("order_messages", &list_messages, nb::arg("ranks"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("size").noconvert(), nb::kw_only(), nb::arg("order"),
               nb::arg("seed"), nb::arg("sides").noconvert(), nb::arg("source_node").noconvert(),
               nb::arg("target_node").noconvert());
}

void bind_coloring(nb::module_& module) {
    module.def(
        "color_ports",
        [](std::int32_t nodes, In<std::int32_t> source, In<std::int32_t> target, std::uint64_t seed) {
            Array<std::int32_t> phase;
            {
                nb::gil_scoped_release released;
                check_size("target", target.shape(0), source.shape(0));
                check_ids("source", view(source), nodes);
                check_ids("target", view(target), nodes);
                phase = color_ports(nodes, view(source), view(target), seed);
            }
            return give(std::move(phase));
        },
        nb::arg("nodes"), nb::arg("source").noconvert(), nb::arg("target").noconvert(), nb::arg("seed"));
}

void bind_first_fit(nb::module_& module) {
    module.def(
        "order_longest_first",
        [](const BoundResources& resources, In<std::int64_t> size) {
            Array<std::int32_t> order;
            {
                nb::gil_scoped_release released;
                if (size.shape(0) > 0) check_size("size", size.shape(0), resources.size());
                order = order_longest_first(*resources, view(size));
            }
            return give(std::move(order));
        },
        nb::arg("resources"), nb::arg("size").noconvert());
    module.def(
        "first_fit",
        [](const BoundResources& resources, In<std::int32_t> order, In<std::int32_t> first, In<std::int32_t> second) {
            Array<std::int32_t> phase;
            {
                nb::gil_scoped_release released;
                check_permutation("order", view(order), resources.size());
                check_pairs(view(first), view(second), resources.size());
                phase = first_fit(*resources, view(order), view(first), view(second));
            }
            return give(std::move(phase));
        },
        nb::arg("resources"), nb::arg("order").noconvert(), nb::arg("first").noconvert(),
        nb::arg("second").noconvert());
    module.def(
        "first_fit_sweeps",
        [](const BoundResources& resources, In<std::int64_t> size, In<std::int32_t> first, In<std::int32_t> second,
           std::int64_t sweeps, std::uint64_t seed) {
            Array<std::int32_t> phase;
            {
                nb::gil_scoped_release released;
                if (size.shape(0) > 0) check_size("size", size.shape(0), resources.size());
                check_pairs(view(first), view(second), resources.size());
                phase = first_fit_sweeps(*resources, view(size), view(first), view(second), sweeps, seed);
            }
            return give(std::move(phase));
        },
        nb::arg("resources"), nb::arg("size").noconvert(), nb::arg("first").noconvert(), nb::arg("second").noconvert(),
        nb::arg("sweeps"), nb::arg("seed"));
}

void bind_random_schedule(nb::module_& module) {
    module.def(
        "schedule_random",
        [](const BoundResources& resources, bool exchanges, In<std::int32_t> first, In<std::int32_t> second,
           std::uint64_t seed) {
            Array<std::int32_t> phase;
            {
                nb::gil_scoped_release released;
                check_pairs(view(first), view(second), resources.size());
                phase = schedule_random(*resources, exchanges, view(first), view(second), seed);
            }
            return give(std::move(phase));
        },
        nb::arg("resources"), nb::arg("exchanges"), nb::arg("first").noconvert(), nb::arg("second").noconvert(),
        nb::arg("seed"));
}

}  // namespace

void bind_methods(nb::module_& module) {
    bind_limits(module);
    bind_resources(module);
    bind_phases(module);
    bind_coloring(module);
    bind_first_fit(module);
    bind_random_schedule(module);
}

}  // namespace conset::bindings
