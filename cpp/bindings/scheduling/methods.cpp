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
        .def(nb::init<std::int32_t, std::int32_t, std::int32_t, std::int32_t, bool>(), nb::arg("send"),
             nb::arg("receive"), nb::arg("link"), nb::arg("channels"), nb::arg("exchange"));
}

void bind_phases(nb::module_& module) {
    module.def(
        "group_phases",
        [](In<std::int32_t> phase) {
            Phases phases;
            {
                nb::gil_scoped_release released;
                check_ids("phase", view(phase),
                          std::max(std::int64_t{1} << 24, 64 * static_cast<std::int64_t>(phase.shape(0))));
                phases = group_phases(view(phase));
            }
            return std::make_pair(give(std::move(phases.offsets)), give(std::move(phases.message)));
        },
        nb::arg("phase").noconvert());
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
        [](const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int32_t> width,
           const Limits& limits, In<std::int64_t> size) {
            Array<std::int32_t> order;
            {
                nb::gil_scoped_release released;
                const Resources resources = checked_resources(network, source, target, width, limits);
                if (size.shape(0) > 0) check_size("size", size.shape(0), resources.routes().size());
                order = order_longest_first(resources, view(size));
            }
            return give(std::move(order));
        },
        nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(), nb::arg("width").noconvert(),
        nb::arg("limits"), nb::arg("size").noconvert());
    module.def(
        "first_fit",
        [](const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int32_t> width,
           const Limits& limits, In<std::int32_t> order, In<std::int32_t> first, In<std::int32_t> second) {
            Array<std::int32_t> phase;
            {
                nb::gil_scoped_release released;
                const Resources resources = checked_resources(network, source, target, width, limits);
                check_permutation("order", view(order), resources.routes().size());
                check_pairs(view(first), view(second), resources.routes().size());
                phase = first_fit(resources, view(order), view(first), view(second));
            }
            return give(std::move(phase));
        },
        nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(), nb::arg("width").noconvert(),
        nb::arg("limits"), nb::arg("order").noconvert(), nb::arg("first").noconvert(), nb::arg("second").noconvert());
}

void bind_least_phases(nb::module_& module) {
    module.def(
        "least_phases",
        [](const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int32_t> width,
           const Limits& limits) {
            nb::gil_scoped_release released;
            return checked_resources(network, source, target, width, limits).least_phases();
        },
        nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(), nb::arg("width").noconvert(),
        nb::arg("limits"));
}

void bind_random_schedule(nb::module_& module) {
    module.def(
        "schedule_random",
        [](const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int32_t> width,
           const Limits& limits, bool exchanges, In<std::int32_t> first, In<std::int32_t> second, std::uint64_t seed) {
            Array<std::int32_t> phase;
            {
                nb::gil_scoped_release released;
                const Resources resources = checked_resources(network, source, target, width, limits);
                check_pairs(view(first), view(second), resources.routes().size());
                phase = schedule_random(resources, exchanges, view(first), view(second), seed);
            }
            return give(std::move(phase));
        },
        nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(), nb::arg("width").noconvert(),
        nb::arg("limits"), nb::arg("exchanges"), nb::arg("first").noconvert(), nb::arg("second").noconvert(),
        nb::arg("seed"));
}

}  // namespace

void bind_methods(nb::module_& module) {
    bind_limits(module);
    bind_phases(module);
    bind_coloring(module);
    bind_first_fit(module);
    bind_least_phases(module);
    bind_random_schedule(module);
}

}  // namespace conset::bindings
