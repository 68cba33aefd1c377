#include "conset/scheduling/balance.hpp"
#include "conset/scheduling/birkhoff.hpp"
#include "conset/scheduling/decreasing.hpp"
#include "conset/scheduling/event_list.hpp"
#include "conset/scheduling/timetable_as.hpp"
#include "scheduling/resources.hpp"

namespace conset::bindings {

namespace {

// Transfers of a timetable with the lines they hold, their durations and their order; keeps the arrays it looks at.
class BoundLines {
public:
    BoundLines(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> route_offsets,
               In<std::int32_t> route_links, In<std::int32_t> width, bool serial, In<double> duration,
               In<std::int32_t> first, In<std::int32_t> second)
        : source(source),
          target(target),
          duration(duration),
          first(first),
          second(second),
          lines(checked(network, view(route_offsets), view(route_links), view(width)), view(width), serial) {}

    const In<std::int32_t> source, target;
    const In<double> duration;
    const In<std::int32_t> first, second;
    const TimeLines lines;

private:
    Routes checked(const Network& network, View<const std::int64_t> offsets, View<const std::int32_t> links,
                   View<const std::int32_t> width) const {
        const Routes routes = checked_routes(network, view(source), view(target), offsets, links);
        check_width(network, width);
        check_size("duration", duration.shape(0), routes.size());
        check_finite("duration", view(duration));
        check_pairs(view(first), view(second), routes.size());
        return routes;
    }
};

auto given(Timetable&& table) { return std::make_pair(give(std::move(table.start)), give(std::move(table.end))); }

auto event_list(const BoundLines& given_lines, In<std::int64_t> phase_offsets, std::int32_t restarts, double noise,
                std::uint64_t seed) {
    Timetable table;
    {
        nb::gil_scoped_release released;
        check_rise("phase_offsets", view(phase_offsets), given_lines.lines.size());
        table = time_event_list(given_lines.lines, view(phase_offsets), view(given_lines.duration),
                                view(given_lines.first), view(given_lines.second), restarts, noise, seed);
    }
    return given(std::move(table));
}

auto as(const BoundLines& given_lines, In<std::int64_t> phase_offsets, std::uint64_t seed) {
    Timetable table;
    {
        nb::gil_scoped_release released;
        check_rise("phase_offsets", view(phase_offsets), given_lines.lines.size());
        table = time_as(given_lines.lines, view(given_lines.source), view(given_lines.target), view(phase_offsets),
                        view(given_lines.duration), view(given_lines.first), view(given_lines.second), seed);
    }
    return given(std::move(table));
}

auto in_order(const BoundLines& given_lines, In<std::int32_t> order, In<std::int64_t> batch_offsets) {
    Timetable table;
    {
        nb::gil_scoped_release released;
        check_permutation("order", view(order), given_lines.lines.size());
        check_rise("batch_offsets", view(batch_offsets), given_lines.lines.size());
        table = time_in_order(given_lines.lines, view(order), view(batch_offsets), view(given_lines.duration),
                              view(given_lines.first), view(given_lines.second));
    }
    return given(std::move(table));
}

auto anneal(const BoundResources& resources, In<double> duration, double opening, In<std::int32_t> phase,
            In<std::int32_t> first, In<std::int32_t> second, std::int64_t steps, double hot, double cold,
            std::uint64_t seed) {
    Array<std::int32_t> better;
    {
        nb::gil_scoped_release released;
        check_size("duration", duration.shape(0), resources.size());
        check_finite("duration", view(duration));
        check_pairs(view(first), view(second), resources.size());
        check_kept(*resources, view(phase), view(first), view(second));
        better = anneal_lengths(*resources, view(duration), opening, copy(phase), view(first), view(second),
                                {steps, hot, cold, seed});
    }
    return give(std::move(better));
}

double least_of(const BoundResources& resources, In<double> duration, double opening) {
    nb::gil_scoped_release released;
    check_size("duration", duration.shape(0), resources.size());
    check_finite("duration", view(duration));
    return least_length(*resources, view(duration), opening);
}

double length(In<std::int32_t> phase, In<double> duration, double opening) {
    nb::gil_scoped_release released;
    check_size("duration", duration.shape(0), phase.shape(0));
    check_ids("phase", view(phase), std::max(std::int64_t{1} << 24, 64 * static_cast<std::int64_t>(phase.shape(0))));
    return phases_length(view(phase), view(duration), opening);
}

Pieces birkhoff(std::int32_t nodes, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> size) {
    nb::gil_scoped_release released;
    check_size("target", target.shape(0), source.shape(0));
    check_size("size", size.shape(0), source.shape(0));
    check_amounts("size", view(size), source.shape(0));
    check_ids("source", view(source), nodes);
    check_ids("target", view(target), nodes);
    return decompose_birkhoff(nodes, view(source), view(target), view(size));
}

// What makes phases long, and the routes that may change; keeps the arrays it looks at.
struct BoundWork {
    bool serial;
    In<double> work, size, link_work;
    In<std::int32_t> link_source, link_target;

    TransferWork of(const Network& network, std::size_t transfers) const {
        check_size("work", work.shape(0), transfers);
        check_size("size", size.shape(0), transfers);
        check_finite("work", view(work));
        check_finite("size", view(size));
        check_finite("link_work", view(link_work));
        check_each_or_none("link_work", link_work.shape(0), static_cast<std::size_t>(network.link_slots()));
        check_size("link_target", link_target.shape(0), link_source.shape(0));
        check_ids("link_source", view(link_source), network.nodes());
        check_ids("link_target", view(link_target), network.nodes());
        return {serial, view(work), view(size), view(link_work)};
    }
};

Balanced balance(const BoundResources& resources, const BoundWork& given_work, In<std::int32_t> phase,
                 In<std::uint8_t> pinned, std::int64_t steps, double hot, double cold, std::uint64_t seed) {
    nb::gil_scoped_release released;
    const TransferWork work = given_work.of((*resources).routes().network, resources.size());
    check_kept(*resources, view(phase));
    check_size("pinned", pinned.shape(0), resources.size());
    return balance_loads(*resources, work, copy(phase), view(pinned),
                         {steps, hot, cold, seed, view(given_work.link_source), view(given_work.link_target)});
}

}  // namespace

void bind_unequal(nb::module_& module) {
    nb::class_<BoundLines>(module, "TimeLines")
        .def(nb::init<const Network&, In<std::int32_t>, In<std::int32_t>, In<std::int64_t>, In<std::int32_t>,
                      In<std::int32_t>, bool, In<double>, In<std::int32_t>, In<std::int32_t>>(),
             nb::kw_only(), nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
             nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert(), nb::arg("width").noconvert(),
             nb::arg("serial"), nb::arg("duration").noconvert(), nb::arg("first").noconvert(),
             nb::arg("second").noconvert(), nb::keep_alive<1, 2>());
    module.def("time_event_list", &event_list, nb::arg("lines"), nb::arg("phase_offsets").noconvert(),
               nb::arg("restarts"), nb::arg("noise"), nb::arg("seed"));
    module.def("time_as", &as, nb::arg("lines"), nb::arg("phase_offsets").noconvert(), nb::arg("seed"));
    module.def("time_in_order", &in_order, nb::arg("lines"), nb::arg("order").noconvert(),
               nb::arg("batch_offsets").noconvert());
    module.def("anneal_lengths", &anneal, nb::arg("resources"), nb::arg("duration").noconvert(), nb::arg("opening"),
               nb::arg("phase").noconvert(), nb::arg("first").noconvert(), nb::arg("second").noconvert(),
               nb::arg("steps"), nb::arg("hot"), nb::arg("cold"), nb::arg("seed"));
    module.def("phases_length", &length, nb::arg("phase").noconvert(), nb::arg("duration").noconvert(),
               nb::arg("opening"));
    module.def("least_length", &least_of, nb::arg("resources"), nb::arg("duration").noconvert(), nb::arg("opening"));
    nb::class_<BoundWork>(module, "TransferWork")
        .def(
            "__init__",
            [](BoundWork* self, bool serial, In<double> work, In<double> size, In<double> link_work,
               In<std::int32_t> link_source, In<std::int32_t> link_target) {
                new (self) BoundWork{serial, work, size, link_work, link_source, link_target};
            },
            nb::kw_only(), nb::arg("serial"), nb::arg("work").noconvert(), nb::arg("size").noconvert(),
            nb::arg("link_work").noconvert(), nb::arg("link_source").noconvert(), nb::arg("link_target").noconvert());
    nb::class_<Balanced>(module, "Balanced")
        .def_prop_ro("phase", &entries<Balanced, &Balanced::phase>)
        .def_prop_ro("offsets", &entries<Balanced, &Balanced::offsets>)
        .def_prop_ro("links", &entries<Balanced, &Balanced::links>)
        .def_ro("length", &Balanced::length);
    module.def("balance_loads", &balance, nb::arg("resources"), nb::arg("work"), nb::arg("phase").noconvert(),
               nb::arg("pinned").noconvert(), nb::kw_only(), nb::arg("steps"), nb::arg("hot"), nb::arg("cold"),
               nb::arg("seed"));
    nb::class_<Pieces>(module, "Pieces")
        .def_prop_ro("offsets", &entries<Pieces, &Pieces::offsets>)
        .def_prop_ro("transfer", &entries<Pieces, &Pieces::transfer>)
        .def_prop_ro("part", &entries<Pieces, &Pieces::part>);
    module.def("decompose_birkhoff", &birkhoff, nb::arg("nodes"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("size").noconvert());
}

}  // namespace conset::bindings
