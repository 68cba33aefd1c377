#include "conset/wormhole.hpp"

#include "bindings.hpp"

namespace conset::bindings {

namespace {

// Hands one array to NumPy without copying it; the result has it no more.
template <auto Member>
auto take(WormholeResult& result) {
    return give(std::move(result.*Member));
}

WormholeResult simulate(const Network& network, In<std::int32_t> source, In<std::int32_t> target,
                        In<std::int64_t> route_offsets, In<std::int32_t> route_links, In<std::int64_t> bytes,
                        In<std::int32_t> sender, In<std::int32_t> receiver, In<double> time,
                        In<std::int64_t> dep_offsets, In<std::int32_t> deps, In<std::int64_t> phase_offsets,
                        In<std::int32_t> order, const Execution& execution, In<double> send, In<double> receive,
                        In<double> hop, In<double> link, In<std::int32_t> width, In<std::uint8_t> dateline, double out,
                        double in, double node, double signal, double signal_hop, double exchange_weight,
                        bool exchanges, bool one_processor, bool preempts, bool receive_after, double eager,
                        double copy, double buffers, std::int32_t lanes, std::int32_t pools, std::int32_t injection,
                        std::int32_t ejection, bool record) {
    nb::gil_scoped_release released;
    const Routes routes{network, view(source), view(target), view(route_offsets), view(route_links)};
    const Messages messages{view(sender), view(receiver),      view(time), view(dep_offsets),
                            view(deps),   view(phase_offsets), view(order)};
    const WormholeCosts costs{
        view(send), view(receive), view(hop),  view(link),      view(width), view(dateline), out,      in,
        node,       signal,        signal_hop, exchange_weight, exchanges,   one_processor,  preempts, receive_after,
        eager,      copy,          buffers,    lanes,           pools,       injection,      ejection};
    return simulate_wormhole(routes, view(bytes), messages, execution, costs, record);
}

}  // namespace

void bind_wormhole(nb::module_& module) {
    nb::class_<WormholeResult>(module, "WormholeResult")
        .def("take_start", &take<&WormholeResult::start>)
        .def("take_end", &take<&WormholeResult::end>)
        .def("take_blocked", &take<&WormholeResult::blocked>)
        .def("take_held_by", &take<&WormholeResult::held_by>)
        .def("take_link_bytes", &take<&WormholeResult::link_bytes>)
        .def("take_link_busy", &take<&WormholeResult::link_busy>)
        .def("take_out_bytes", &take<&WormholeResult::out_bytes>)
        .def("take_out_busy", &take<&WormholeResult::out_busy>)
        .def("take_in_bytes", &take<&WormholeResult::in_bytes>)
        .def("take_in_busy", &take<&WormholeResult::in_busy>)
        .def("take_rate_time", &take<&WormholeResult::rate_time>)
        .def("take_rate_message", &take<&WormholeResult::rate_message>)
        .def("take_rate", &take<&WormholeResult::rate>)
        .def("take_stuck", &take<&WormholeResult::stuck>)
        .def("take_stuck_channel", &take<&WormholeResult::stuck_channel>)
        .def_ro("stopped", &WormholeResult::stopped)
        .def_ro("buffered", &WormholeResult::buffered)
        .def_ro("buffered_most", &WormholeResult::buffered_most)
        .def_ro("events", &WormholeResult::events)
        .def_ro("solves", &WormholeResult::solves);
    module.def("simulate_wormhole", &simulate, nb::arg("network"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert(),
               nb::arg("bytes").noconvert(), nb::arg("sender").noconvert(), nb::arg("receiver").noconvert(),
               nb::arg("time").noconvert(), nb::arg("dep_offsets").noconvert(), nb::arg("deps").noconvert(),
               nb::arg("phase_offsets").noconvert(), nb::arg("order").noconvert(), nb::arg("execution"),
               nb::arg("send").noconvert(), nb::arg("receive").noconvert(), nb::arg("hop").noconvert(),
               nb::arg("link").noconvert(), nb::arg("width").noconvert(), nb::arg("dateline").noconvert(),
               nb::arg("out"), nb::arg("in_"), nb::arg("node"), nb::arg("signal"), nb::arg("signal_hop"),
               nb::arg("exchange_weight"), nb::arg("exchanges"), nb::arg("one_processor"), nb::arg("preempts"),
               nb::arg("receive_after"), nb::arg("eager"), nb::arg("copy"), nb::arg("buffers"), nb::arg("lanes"),
               nb::arg("pools"), nb::arg("injection"), nb::arg("ejection"), nb::arg("record"));
}

}  // namespace conset::bindings
