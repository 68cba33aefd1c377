#include "conset/flit.hpp"

#include "simulated.hpp"

namespace conset::bindings {

namespace {

FlitTimes simulate(const BoundWorkload& workload, const BoundExecution<std::int64_t>& execution, std::int32_t ports,
                   In<std::int32_t> link_source, In<std::int32_t> out_port, In<std::int32_t> in_port,
                   In<std::uint8_t> ring, std::int32_t lanes, std::int32_t buffer, In<std::int64_t> release,
                   In<std::int32_t> flits, std::int64_t worm_flits, std::int64_t watch_first, std::int64_t watch_last,
                   std::int64_t limit, double until, std::int64_t work) {
    nb::gil_scoped_release released;
    Execution<std::int64_t> routed = execution.with(until, work, true);
    routed.inside_crosses = true;
    return simulate_flit({ports, view(link_source), view(out_port), view(in_port), view(ring), lanes, buffer},
                         {workload.routes(), workload.messages<std::int64_t>(view(release)), view(flits), worm_flits},
                         routed, {watch_first, watch_last, limit});
}

template <auto Member>
auto take(FlitTimes& times) {
    return give(std::move(times.*Member));
}

template <auto Member>
auto take_cycle(FlitTimes& times) {
    return give(std::move(times.cycle.*Member));
}

}  // namespace

void bind_flit(nb::module_& module) {
    nb::class_<FlitTimes>(module, "FlitTimes")
        .def("take_start", &take<&FlitTimes::start>)
        .def("take_slot", &take<&FlitTimes::slot>)
        .def("take_sent", &take<&FlitTimes::sent>)
        .def("take_left", &take<&FlitTimes::left>)
        .def("take_end", &take<&FlitTimes::end>)
        .def("take_cycle", &take_cycle<&WaitCycle::message>)
        .def("take_cycle_places", &take_cycle<&WaitCycle::place>)
        .def_ro("late", &FlitTimes::late)
        .def_ro("cut", &FlitTimes::cut)
        .def_ro("moves", &FlitTimes::moves)
        .def_ro("cycles", &FlitTimes::cycles)
        .def_ro("stopped", &FlitTimes::stopped);
    module.def("simulate_flit", &simulate, nb::arg("workload"), nb::arg("execution"), nb::kw_only(), nb::arg("ports"),
               nb::arg("link_source").noconvert(), nb::arg("out_port").noconvert(), nb::arg("in_port").noconvert(),
               nb::arg("ring").noconvert(), nb::arg("lanes"), nb::arg("buffer"), nb::arg("release").noconvert(),
               nb::arg("flits").noconvert(), nb::arg("worm_flits"), nb::arg("watch_first"), nb::arg("watch_last"),
               nb::arg("limit"), nb::arg("until"), nb::arg("work"));
}

}  // namespace conset::bindings
