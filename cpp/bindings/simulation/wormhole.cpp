#include "conset/simulation/wormhole/wormhole.hpp"

#include "simulation/simulated.hpp"

namespace conset::bindings {

namespace {

Simulated simulate(const BoundWorkload& workload, const BoundExecution<double>& execution, In<double> link,
                   In<std::int32_t> width, double out, double in, double node, double exchange_weight,
                   In<double> latency, In<double> hop, In<std::uint8_t> dateline, std::int32_t lanes,
                   std::int32_t pools, double until, std::int64_t work, bool detailed, bool record) {
    nb::gil_scoped_release released;
    check_rates(*workload.network, workload.size(), link, width, latency, hop);
    if (dateline.shape(0) > 0)
        check_size("dateline", dateline.shape(0), static_cast<std::size_t>(workload.network->link_slots()));
    check_count("lanes", lanes, 1, std::numeric_limits<std::int32_t>::max() / std::max(pools, 1));
    check_count("pools", pools, 1, std::numeric_limits<std::int32_t>::max());
    const Rates rates{view(link), view(width), out, in, node, exchange_weight};
    return simulate_wormhole(workload.routes(), workload.messages<double>(view(workload.time)),
                             execution.with(workload.size(), until, work, detailed),
                             {rates, view(latency), view(hop), view(dateline), lanes, pools}, record);
}

}  // namespace

void bind_wormhole(nb::module_& module) {
    module.def("simulate_wormhole", &simulate, nb::arg("workload"), nb::arg("execution"), nb::kw_only(),
               nb::arg("link").noconvert(), nb::arg("width").noconvert(), nb::arg("out"), nb::arg("in_"),
               nb::arg("node"), nb::arg("exchange_weight"), nb::arg("latency").noconvert(), nb::arg("hop").noconvert(),
               nb::arg("dateline").noconvert(), nb::arg("lanes"), nb::arg("pools"), nb::arg("until"), nb::arg("work"),
               nb::arg("detailed"), nb::arg("record"));
}

}  // namespace conset::bindings
