#include "conset/simulation/wormhole/wormhole.hpp"

#include "simulation/simulated.hpp"

namespace conset::bindings {

namespace {

Simulated run_wormhole(const BoundWorkload& workload, const BoundExecution<double>& execution, const BoundRates& rates,
                       In<std::uint8_t> dateline, std::int32_t lanes, std::int32_t pools, double until,
                       std::int64_t work, bool detailed, bool record) {
    nb::gil_scoped_release released;
    if (dateline.shape(0) > 0)
        check_size("dateline", dateline.shape(0), static_cast<std::size_t>(workload.network->link_slots()));
    check_count("lanes", lanes, 1, std::numeric_limits<std::int32_t>::max());
    check_count("pools", pools, 1, 64);
    return simulate_wormhole(workload.routes(), workload.messages<double>(view(workload.time)),
                             execution.with(workload.size(), until, work, detailed, rates.startup > 0),
                             {rates.of(workload), view(rates.latency), view(rates.hop), view(dateline), lanes, pools},
                             record);
}

}  // namespace

void bind_wormhole(nb::module_& module) {
    module.def("simulate_wormhole", &run_wormhole, nb::arg("workload"), nb::arg("execution"), nb::arg("rates"),
               nb::kw_only(), nb::arg("dateline").noconvert(), nb::arg("lanes"), nb::arg("pools"), nb::arg("until"),
               nb::arg("work"), nb::arg("detailed"), nb::arg("record"));
}

}  // namespace conset::bindings
