#include "conset/flit.hpp"

#include "bindings.hpp"

namespace conset::bindings {

namespace {

FlitTimes simulate(const Network& network, std::int32_t ports, In<std::int32_t> link_source, In<std::int32_t> out_port,
                   In<std::int32_t> in_port, In<std::uint8_t> ring, std::int32_t lanes, std::int32_t buffer,
                   In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> route_offsets,
                   In<std::int32_t> route_links, In<std::int64_t> release, In<std::int32_t> flits,
                   In<std::int64_t> dep_offsets, In<std::int32_t> deps, In<std::int32_t> order, std::int64_t worm_flits,
                   In<std::int32_t> phase, FlitSync sync, std::int64_t in_flight, std::int64_t group,
                   std::int64_t barrier, std::int64_t first, std::int64_t setup, std::int64_t signal,
                   std::int64_t watch_first, std::int64_t watch_last, std::int64_t limit) {
    nb::gil_scoped_release released;
    return simulate_flit({ports, view(link_source), view(out_port), view(in_port), view(ring), lanes, buffer},
                         {{network, view(source), view(target), view(route_offsets), view(route_links)},
                          view(release),
                          view(flits),
                          view(dep_offsets),
                          view(deps),
                          view(order),
                          worm_flits},
                         {view(phase), sync, in_flight, group, barrier, first, setup, signal},
                         {watch_first, watch_last, limit});
}

}  // namespace

void bind_flit(nb::module_& module) {
    nb::enum_<FlitSync>(module, "FlitSync")
        .value("none", FlitSync::none)
        .value("barrier", FlitSync::barrier)
        .value("local", FlitSync::local)
        .value("ready", FlitSync::ready);
    nb::class_<FlitTimes>(module, "FlitTimes")
        .def_prop_ro(
            "start", [](FlitTimes& t) { return give(std::vector<std::int64_t>(t.start)); }, nb::rv_policy::move)
        .def_prop_ro(
            "end", [](FlitTimes& t) { return give(std::vector<std::int64_t>(t.end)); }, nb::rv_policy::move)
        .def_prop_ro(
            "stuck", [](FlitTimes& t) { return give(std::vector<std::int32_t>(t.stuck)); }, nb::rv_policy::move)
        .def_prop_ro(
            "stuck_lane", [](FlitTimes& t) { return give(std::vector<std::int32_t>(t.stuck_lane)); },
            nb::rv_policy::move)
        .def_ro("moves", &FlitTimes::moves)
        .def_ro("cycles", &FlitTimes::cycles)
        .def_ro("stopped", &FlitTimes::stopped);
    module.def("simulate_flit", &simulate, nb::arg("network"), nb::arg("ports"), nb::arg("link_source").noconvert(),
               nb::arg("out_port").noconvert(), nb::arg("in_port").noconvert(), nb::arg("ring").noconvert(),
               nb::arg("lanes"), nb::arg("buffer"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
               nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert(), nb::arg("release").noconvert(),
               nb::arg("flits").noconvert(), nb::arg("dep_offsets").noconvert(), nb::arg("deps").noconvert(),
               nb::arg("order").noconvert(), nb::arg("worm_flits"), nb::arg("phase").noconvert(), nb::arg("sync"),
               nb::arg("in_flight"), nb::arg("group"), nb::arg("barrier"), nb::arg("first"), nb::arg("setup"),
               nb::arg("signal"), nb::arg("watch_first"), nb::arg("watch_last"), nb::arg("limit"));
}

}  // namespace conset::bindings
