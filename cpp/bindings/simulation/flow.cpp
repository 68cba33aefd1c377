#include "conset/simulation/flow/flow.hpp"

#include "simulation/simulated.hpp"

namespace conset::bindings {

namespace {

Simulated simulate(const BoundWorkload& workload, const BoundExecution<double>& execution, In<double> link,
                   In<std::int32_t> width, double out, double in, double node, double exchange_weight,
                   In<double> latency, In<double> hop, bool rtt, double rtt_latency, double until, std::int64_t work,
                   bool detailed, bool record) {
    nb::gil_scoped_release released;
    check_rates(*workload.network, workload.size(), link, width, latency, hop);
    const Rates rates{view(link), view(width), out, in, node, exchange_weight};
    return simulate_flow(workload.routes(), workload.messages<double>(view(workload.time)),
                         execution.with(workload.size(), until, work, detailed),
                         {rates, view(latency), view(hop), rtt, rtt_latency}, record);
}

}  // namespace

void bind_flow(nb::module_& module) {
    module.def("simulate_flow", &simulate, nb::arg("workload"), nb::arg("execution"), nb::kw_only(),
               nb::arg("link").noconvert(), nb::arg("width").noconvert(), nb::arg("out"), nb::arg("in_"),
               nb::arg("node"), nb::arg("exchange_weight"), nb::arg("latency").noconvert(), nb::arg("hop").noconvert(),
               nb::arg("rtt"), nb::arg("rtt_latency"), nb::arg("until"), nb::arg("work"), nb::arg("detailed"),
               nb::arg("record"));
}

}  // namespace conset::bindings
