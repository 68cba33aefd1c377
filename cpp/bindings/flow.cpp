#include "conset/flow.hpp"

#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "conset/stop.hpp"

namespace conset::bindings {

namespace {

// Hands one array to NumPy without copying it; the result has it no more.
template <auto Member>
auto take(FlowResult& result) {
    return give(std::move(result.*Member));
}

FlowResult simulate(const Network& network, In<std::int32_t> source, In<std::int32_t> target,
                    In<std::int64_t> route_offsets, In<std::int32_t> route_links, In<std::int64_t> bytes,
                    In<std::int32_t> sender, In<std::int32_t> receiver, In<double> time, In<std::int64_t> dep_offsets,
                    In<std::int32_t> deps, In<std::int64_t> phase_offsets, In<std::int32_t> order,
                    const Execution& execution, In<double> link, In<std::int32_t> width, double out, double in,
                    double node, double hop, double per_transfer, double signal, In<double> inject_up_to,
                    In<double> inject, In<double> eject_up_to, In<double> eject, bool serial, bool rtt, bool record) {
    nb::gil_scoped_release released;
    const Routes routes{network, view(source), view(target), view(route_offsets), view(route_links)};
    const Messages messages{view(sender), view(receiver),      view(time), view(dep_offsets),
                            view(deps),   view(phase_offsets), view(order)};
    const FlowCosts costs{
        view(link),   view(width),       out,         in,     node, hop, per_transfer, signal, view(inject_up_to),
        view(inject), view(eject_up_to), view(eject), serial, rtt};
    return simulate_flow(routes, view(bytes), messages, execution, costs, record);
}

}  // namespace

void bind_flow(nb::module_& module) {
    nb::exception<Deadlock>(module, "Deadlock");
    nb::enum_<Policy>(module, "Policy")
        .value("none", Policy::none)
        .value("local", Policy::local)
        .value("ready", Policy::ready)
        .value("barrier", Policy::barrier);
    nb::class_<Execution>(module, "Execution")
        .def(
            "__init__",
            [](Execution* self, Policy policy, std::int64_t every, std::int64_t in_flight, std::int64_t receives,
               bool receive_list, double barrier, bool first_barrier, double setup) {
                new (self) Execution{policy, every, in_flight, receives, receive_list, barrier, first_barrier, setup};
            },
            nb::arg("policy"), nb::arg("every"), nb::arg("in_flight"), nb::arg("receives"), nb::arg("receive_list"),
            nb::arg("barrier"), nb::arg("first_barrier"), nb::arg("setup"));
    nb::class_<FlowResult>(module, "FlowResult")
        .def("take_start", &take<&FlowResult::start>)
        .def("take_end", &take<&FlowResult::end>)
        .def("take_held_by", &take<&FlowResult::held_by>)
        .def("take_link_bytes", &take<&FlowResult::link_bytes>)
        .def("take_link_busy", &take<&FlowResult::link_busy>)
        .def("take_out_bytes", &take<&FlowResult::out_bytes>)
        .def("take_out_busy", &take<&FlowResult::out_busy>)
        .def("take_in_bytes", &take<&FlowResult::in_bytes>)
        .def("take_in_busy", &take<&FlowResult::in_busy>)
        .def("take_rate_time", &take<&FlowResult::rate_time>)
        .def("take_rate_message", &take<&FlowResult::rate_message>)
        .def("take_rate", &take<&FlowResult::rate>)
        .def_ro("events", &FlowResult::events)
        .def_ro("solves", &FlowResult::solves);
    module.def("simulate_flow", &simulate, nb::arg("network"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert(),
               nb::arg("bytes").noconvert(), nb::arg("sender").noconvert(), nb::arg("receiver").noconvert(),
               nb::arg("time").noconvert(), nb::arg("dep_offsets").noconvert(), nb::arg("deps").noconvert(),
               nb::arg("phase_offsets").noconvert(), nb::arg("order").noconvert(), nb::arg("execution"),
               nb::arg("link").noconvert(), nb::arg("width").noconvert(), nb::arg("out"), nb::arg("in_"),
               nb::arg("node"), nb::arg("hop"), nb::arg("per_transfer"), nb::arg("signal"),
               nb::arg("inject_up_to").noconvert(), nb::arg("inject").noconvert(), nb::arg("eject_up_to").noconvert(),
               nb::arg("eject").noconvert(), nb::arg("serial"), nb::arg("rtt"), nb::arg("record"));
}

}  // namespace conset::bindings
