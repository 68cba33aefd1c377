#include "conset/simulation/packet/packet.hpp"

#include "simulation/simulated.hpp"

namespace conset::bindings {

namespace {

Simulated run_packets(const BoundWorkload& workload, const BoundExecution<double>& execution, const BoundRates& rates,
                      In<std::uint8_t> dateline, std::int32_t pools, double packet, double buffer, double window,
                      double until, std::int64_t work, bool detailed) {
    nb::gil_scoped_release released;
    if (dateline.shape(0) > 0)
        check_size("dateline", dateline.shape(0), static_cast<std::size_t>(workload.network->link_slots()));
    check_count("pools", pools, 1, 64);
    const double sizes[] = {packet, buffer, window};
    const char* const names[] = {"packet", "buffer", "window"};
    for (int k = 0; k < 3; ++k)
        if (!(sizes[k] >= 1)) throw nb::value_error((std::string(names[k]) + " must be at least 1").c_str());
    return simulate_packets(
        workload.routes(), workload.messages<double>(view(workload.time)),
        execution.with(workload.size(), until, work, detailed),
        {rates.of(workload), view(rates.latency), view(rates.hop), view(dateline), pools, packet, buffer, window});
}

}  // namespace

void bind_packet(nb::module_& module) {
    module.def("simulate_packets", &run_packets, nb::arg("workload"), nb::arg("execution"), nb::arg("rates"),
               nb::kw_only(), nb::arg("dateline").noconvert(), nb::arg("pools"), nb::arg("packet"), nb::arg("buffer"),
               nb::arg("window"), nb::arg("until"), nb::arg("work"), nb::arg("detailed"));
}

}  // namespace conset::bindings
