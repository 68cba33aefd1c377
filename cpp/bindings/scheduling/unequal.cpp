#include <nanobind/stl/tuple.h>

#include <tuple>

#include "conset/scheduling/balance.hpp"
#include "conset/scheduling/birkhoff.hpp"
#include "conset/scheduling/decreasing.hpp"
#include "conset/scheduling/event_list.hpp"
#include "conset/scheduling/timetable_as.hpp"
#include "scheduling/resources.hpp"

namespace conset::bindings {

namespace {

auto event_list(const Network& network, In<std::int32_t> source, In<std::int32_t> target,
                In<std::int64_t> route_offsets, In<std::int32_t> route_links, In<std::int32_t> width, bool serial,
                In<std::int64_t> phase_offsets, In<double> duration, In<std::int32_t> first, In<std::int32_t> second,
                std::int32_t restarts, double noise, std::uint64_t seed) {
    Timetable table;
    {
        nb::gil_scoped_release released;
        const Routes routes =
            checked_routes(network, view(source), view(target), view(route_offsets), view(route_links));
        check_width(network, view(width));
        const TimeLines lines(routes, view(width), serial);
        check_size("duration", duration.shape(0), routes.size());
        check_finite("duration", view(duration));
        check_pairs(view(first), view(second), routes.size());
        check_rise("phase_offsets", view(phase_offsets), routes.size());
        table = time_event_list(lines, view(phase_offsets), view(duration), view(first), view(second), restarts, noise,
                                seed);
    }
    return std::make_pair(give(std::move(table.start)), give(std::move(table.end)));
}

auto as(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> route_offsets,
        In<std::int32_t> route_links, In<std::int32_t> width, bool serial, In<std::int64_t> phase_offsets,
        In<double> duration, In<std::int32_t> first, In<std::int32_t> second, std::uint64_t seed) {
    Timetable table;
    {
        nb::gil_scoped_release released;
        const Routes routes =
            checked_routes(network, view(source), view(target), view(route_offsets), view(route_links));
        check_width(network, view(width));
        const TimeLines lines(routes, view(width), serial);
        check_size("duration", duration.shape(0), routes.size());
        check_finite("duration", view(duration));
        check_pairs(view(first), view(second), routes.size());
        check_rise("phase_offsets", view(phase_offsets), routes.size());
        table = time_as(lines, view(source), view(target), view(phase_offsets), view(duration), view(first),
                        view(second), seed);
    }
    return std::make_pair(give(std::move(table.start)), give(std::move(table.end)));
}

auto in_order(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> route_offsets,
              In<std::int32_t> route_links, In<std::int32_t> width, bool serial, In<std::int32_t> order,
              In<std::int64_t> batch_offsets, In<double> duration, In<std::int32_t> first, In<std::int32_t> second) {
    Timetable table;
    {
        nb::gil_scoped_release released;
        const Routes routes =
            checked_routes(network, view(source), view(target), view(route_offsets), view(route_links));
        check_width(network, view(width));
        const TimeLines lines(routes, view(width), serial);
        check_size("duration", duration.shape(0), routes.size());
        check_finite("duration", view(duration));
        check_pairs(view(first), view(second), routes.size());
        check_permutation("order", view(order), routes.size());
        check_rise("batch_offsets", view(batch_offsets), routes.size());
        table = time_in_order(lines, view(order), view(batch_offsets), view(duration), view(first), view(second));
    }
    return std::make_pair(give(std::move(table.start)), give(std::move(table.end)));
}

auto anneal(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int32_t> width,
            const Limits& limits, In<double> duration, double opening, In<std::int32_t> phase, In<std::int32_t> first,
            In<std::int32_t> second, std::int64_t steps, double hot, double cold, std::uint64_t seed) {
    Array<std::int32_t> better;
    {
        nb::gil_scoped_release released;
        const Resources resources = checked_resources(network, source, target, width, limits);
        check_size("duration", duration.shape(0), resources.routes().size());
        check_finite("duration", view(duration));
        check_pairs(view(first), view(second), resources.routes().size());
        check_kept(resources, view(phase), view(first), view(second));
        better = anneal_lengths(resources, view(duration), opening, copy(phase), view(first), view(second),
                                {steps, hot, cold, seed});
    }
    return give(std::move(better));
}

double least(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int32_t> width,
             const Limits& limits, In<double> duration, double opening) {
    nb::gil_scoped_release released;
    const Resources resources = checked_resources(network, source, target, width, limits);
    check_size("duration", duration.shape(0), resources.routes().size());
    check_finite("duration", view(duration));
    return least_length(resources, view(duration), opening);
}

auto birkhoff(std::int32_t nodes, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> size) {
    Pieces pieces;
    {
        nb::gil_scoped_release released;
        check_size("target", target.shape(0), source.shape(0));
        check_size("size", size.shape(0), source.shape(0));
        check_ids("source", view(source), nodes);
        check_ids("target", view(target), nodes);
        pieces = decompose_birkhoff(nodes, view(source), view(target), view(size));
    }
    return std::make_tuple(give(std::move(pieces.offsets)), give(std::move(pieces.transfer)),
                           give(std::move(pieces.part)));
}

auto balance(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> route_offsets,
             In<std::int32_t> route_links, In<std::int32_t> width, const Limits& limits, bool serial, In<double> work,
             In<double> size, In<double> link_work, In<std::int32_t> phase, In<std::uint8_t> pinned,
             In<std::int32_t> link_source, In<std::int32_t> link_target, std::int64_t steps, double hot, double cold,
             std::uint64_t seed) {
    Balanced balanced;
    {
        nb::gil_scoped_release released;
        const Resources resources =
            checked_resources(network, source, target, width, limits, view(route_offsets), view(route_links));
        const std::size_t transfers = resources.routes().size();
        check_size("work", work.shape(0), transfers);
        check_size("size", size.shape(0), transfers);
        check_finite("work", view(work));
        check_finite("size", view(size));
        check_finite("link_work", view(link_work));
        check_each_or_none("link_work", link_work.shape(0), static_cast<std::size_t>(network.link_slots()));
        check_kept(resources, view(phase));
        check_size("pinned", pinned.shape(0), transfers);
        check_size("link_target", link_target.shape(0), link_source.shape(0));
        check_ids("link_source", view(link_source), network.nodes());
        check_ids("link_target", view(link_target), network.nodes());
        balanced = balance_words(resources, {serial, view(work), view(size), view(link_work)}, copy(phase),
                                 view(pinned), {steps, hot, cold, seed, view(link_source), view(link_target)});
    }
    return std::make_tuple(give(std::move(balanced.phase)), give(std::move(balanced.offsets)),
                           give(std::move(balanced.links)), balanced.length);
}

}  // namespace

void bind_unequal(nb::module_& module) {
    module.def("time_event_list", &event_list, nb::arg("network"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert(),
               nb::arg("width").noconvert(), nb::arg("serial"), nb::arg("phase_offsets").noconvert(),
               nb::arg("duration").noconvert(), nb::arg("first").noconvert(), nb::arg("second").noconvert(),
               nb::arg("restarts"), nb::arg("noise"), nb::arg("seed"));
    module.def("time_as", &as, nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
               nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert(), nb::arg("width").noconvert(),
               nb::arg("serial"), nb::arg("phase_offsets").noconvert(), nb::arg("duration").noconvert(),
               nb::arg("first").noconvert(), nb::arg("second").noconvert(), nb::arg("seed"));
    module.def("time_in_order", &in_order, nb::arg("network"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert(),
               nb::arg("width").noconvert(), nb::arg("serial"), nb::arg("order").noconvert(),
               nb::arg("batch_offsets").noconvert(), nb::arg("duration").noconvert(), nb::arg("first").noconvert(),
               nb::arg("second").noconvert());
    module.def("anneal_lengths", &anneal, nb::arg("network"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("width").noconvert(), nb::arg("limits"),
               nb::arg("duration").noconvert(), nb::arg("opening"), nb::arg("phase").noconvert(),
               nb::arg("first").noconvert(), nb::arg("second").noconvert(), nb::arg("steps"), nb::arg("hot"),
               nb::arg("cold"), nb::arg("seed"));
    module.def("least_length", &least, nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
               nb::arg("width").noconvert(), nb::arg("limits"), nb::arg("duration").noconvert(), nb::arg("opening"));
    module.def("balance_words", &balance, nb::arg("network"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert(),
               nb::arg("width").noconvert(), nb::arg("limits"), nb::arg("serial"), nb::arg("work").noconvert(),
               nb::arg("size").noconvert(), nb::arg("link_work").noconvert(), nb::arg("phase").noconvert(),
               nb::arg("pinned").noconvert(), nb::arg("link_source").noconvert(), nb::arg("link_target").noconvert(),
               nb::arg("steps"), nb::arg("hot"), nb::arg("cold"), nb::arg("seed"));
    module.def("decompose_birkhoff", &birkhoff, nb::arg("nodes"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("size").noconvert());
}

}  // namespace conset::bindings
