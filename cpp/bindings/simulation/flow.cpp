#include "conset/simulation/flow/flow.hpp"

#include "simulation/simulated.hpp"

namespace conset::bindings {

namespace {

Simulated run_flow(const BoundWorkload& workload, const BoundExecution<double>& execution, const BoundRates& rates,
                   bool rtt, double rtt_latency, double until, std::int64_t work, bool detailed, bool record) {
    nb::gil_scoped_release released;
    return simulate_flow(workload.routes(), workload.messages<double>(view(workload.time)),
                         execution.with(workload.size(), until, work, detailed, rates.startup > 0),
                         {rates.of(workload), view(rates.latency), view(rates.hop), rtt, rtt_latency}, record);
}

}  // namespace

void bind_flow(nb::module_& module) {
    module.def("simulate_flow", &run_flow, nb::arg("workload"), nb::arg("execution"), nb::arg("rates"), nb::kw_only(),
               nb::arg("rtt"), nb::arg("rtt_latency"), nb::arg("until"), nb::arg("work"), nb::arg("detailed"),
               nb::arg("record"));
}

}  // namespace conset::bindings
