#include "conset/simulation/flit/flit.hpp"

#include <algorithm>
#include <numeric>

#include "simulation/simulated.hpp"

namespace conset::bindings {

namespace {

// A port of a router belongs to one link each way.
void check_ports(const Network& network, std::int32_t ports, View<const std::int32_t> link_source,
                 View<const std::int32_t> out_port, View<const std::int32_t> in_port) {
    const std::size_t places = static_cast<std::size_t>(network.nodes()) * static_cast<std::size_t>(ports);
    Array<bool> out(places), in(places);
    const auto take = [&](Array<bool>& taken, std::int32_t router, std::int32_t port) {
        if (port < 0) return;
        const std::size_t place =
            static_cast<std::size_t>(router) * static_cast<std::size_t>(ports) + static_cast<std::size_t>(port);
        require(!taken[place], "out_port, in_port", "a port of a router belongs to one link");
        taken[place] = true;
    };
    for (std::int32_t link = 0; link < network.link_slots(); ++link) {
        const auto k = static_cast<std::size_t>(link);
        take(out, link_source[k], out_port[k]);
        take(in, network.link_target(link), in_port[k]);
    }
}

// Routers and how links join them.
struct BoundRouters {
    std::int32_t ports;
    In<std::int32_t> link_source, out_port, in_port;
    In<std::uint8_t> ring;
    std::int32_t lanes, buffer;

    FlitNetwork of(const Network& network) const {
        const auto slots = static_cast<std::size_t>(network.link_slots());
        check_count("ports * lanes", std::int64_t{ports} * lanes, 1, 63);
        check_count("ports", ports, 1, 63);
        check_count("buffer", buffer, 1, std::numeric_limits<std::int16_t>::max());
        check_size("link_source", link_source.shape(0), slots);
        check_size("out_port", out_port.shape(0), slots);
        check_size("in_port", in_port.shape(0), slots);
        check_size("ring", ring.shape(0), slots);
        check_ids("link_source", view(link_source), network.nodes());
        check_ids("out_port", view(out_port), ports - 1, -1);
        check_ids("in_port", view(in_port), ports - 1, -1);
        check_ids("ring", view(ring), 5);
        check_ports(network, ports, view(link_source), view(out_port), view(in_port));
        return {ports, view(link_source), view(out_port), view(in_port), view(ring), lanes, buffer};
    }
};

// What is sent, in flits; keeps the arrays it looks at.
struct BoundFlits {
    In<std::int64_t> release;
    In<std::int32_t> flits;
    std::int64_t worm_flits;

    FlitWorkload of(const BoundWorkload& workload) const {
        check_size("release", release.shape(0), workload.size());
        check_ids("release", view(release), std::int64_t{1} << 62);
        check_size("flits", flits.shape(0), workload.size());
        check_ids("flits", view(flits), std::int64_t{1} << 31, 1);
        check_count("worm_flits", worm_flits, 0, std::numeric_limits<std::int64_t>::max());
        return {workload.routes(), workload.messages<std::int64_t>(view(release)), view(flits), worm_flits};
    }
};

void check_joined(const FlitNetwork& routers, const Routes& routes) {
    for (std::size_t k = 0; k < routes.size(); ++k)
        routes.each_link(k, [&](std::int32_t link) {
            require(routers.out_port[link] >= 0 && routers.in_port[link] >= 0, "out_port, in_port",
                    "a link that a message takes has none");
        });
}

// The clock stays within 64 bits even if everything waits for everything.
void check_clock(const BoundWorkload& workload, const BoundFlits& flits, const Execution<std::int64_t>& execution) {
    const auto messages = static_cast<double>(workload.size());
    const auto phases = static_cast<double>(workload.phase_offsets.shape(0));
    const auto number = [](std::int64_t cycles) { return static_cast<double>(cycles); };
    const auto sum = [&](View<const std::int64_t> cycles) {
        if (cycles.size() == 1) return messages * number(cycles[0]);
        return std::accumulate(cycles.begin(), cycles.end(), 0.0,
                               [&](double all, auto one) { return all + number(one); });
    };
    const auto released = view(flits.release);
    const double last = released.empty() ? 0 : number(*std::max_element(released.begin(), released.end()));
    const double hops = static_cast<double>(workload.network->nodes()) * number(execution.signal_hop);
    const double signal = number(execution.signal_send) + hops + number(execution.signal_receive);
    const double all = last + (phases + 1) * number(execution.barrier) +
                       2 * messages * (number(execution.setup) + signal) + sum(execution.send) +
                       sum(execution.receive) + 3 * sum(execution.copy) + sum(execution.delay);
    require(all < 0x1p62, "release, barrier, setup, signal, send, receive, copy", "must be below 2^62 cycles together");
}

FlitTimes run_flit(const BoundWorkload& workload, const BoundExecution<std::int64_t>& execution,
                   const BoundRouters& given, const BoundFlits& flits, const FlitWatch& watch, double until,
                   std::int64_t work) {
    nb::gil_scoped_release released;
    const FlitNetwork routers = given.of(*workload.network);
    const FlitWorkload sent = flits.of(workload);
    check_count("last", watch.last, 0, static_cast<std::int64_t>(workload.size()));
    check_count("first", watch.first, 0, watch.last);
    check_joined(routers, sent.routes);
    Execution<std::int64_t> routed = execution.with(workload.size(), until, work, true);
    routed.inside_crosses = true;
    check_clock(workload, flits, routed);
    return simulate_flit(routers, sent, routed, watch);
}

}  // namespace

void bind_flit(nb::module_& module) {
    nb::class_<FlitTimes>(module, "FlitTimes")
        .def_prop_ro("start", &entries<FlitTimes, &FlitTimes::start>)
        .def_prop_ro("slot", &entries<FlitTimes, &FlitTimes::slot>)
        .def_prop_ro("sent", &entries<FlitTimes, &FlitTimes::sent>)
        .def_prop_ro("left", &entries<FlitTimes, &FlitTimes::left>)
        .def_prop_ro("end", &entries<FlitTimes, &FlitTimes::end>)
        .def_prop_ro("cycle", &entries<FlitTimes, &FlitTimes::cycle, &WaitCycle::message>)
        .def_prop_ro("cycle_places", &entries<FlitTimes, &FlitTimes::cycle, &WaitCycle::place>)
        .def_ro("late", &FlitTimes::late)
        .def_ro("cut", &FlitTimes::cut)
        .def_ro("moves", &FlitTimes::moves)
        .def_ro("cycles", &FlitTimes::cycles)
        .def_ro("stopped", &FlitTimes::stopped);
    nb::class_<BoundRouters>(module, "FlitRouters")
        .def(
            "__init__",
            [](BoundRouters* self, std::int32_t ports, In<std::int32_t> link_source, In<std::int32_t> out_port,
               In<std::int32_t> in_port, In<std::uint8_t> ring, std::int32_t lanes, std::int32_t buffer) {
                new (self) BoundRouters{ports, link_source, out_port, in_port, ring, lanes, buffer};
            },
            nb::kw_only(), nb::arg("ports"), nb::arg("link_source").noconvert(), nb::arg("out_port").noconvert(),
            nb::arg("in_port").noconvert(), nb::arg("ring").noconvert(), nb::arg("lanes"), nb::arg("buffer"));
    nb::class_<BoundFlits>(module, "FlitWorkload")
        .def(
            "__init__",
            [](BoundFlits* self, In<std::int64_t> release, In<std::int32_t> flits, std::int64_t worm_flits) {
                new (self) BoundFlits{release, flits, worm_flits};
            },
            nb::kw_only(), nb::arg("release").noconvert(), nb::arg("flits").noconvert(), nb::arg("worm_flits"));
    nb::class_<FlitWatch>(module, "FlitWatch")
        .def(
            "__init__",
            [](FlitWatch* self, std::int64_t first, std::int64_t last, std::int64_t limit) {
                new (self) FlitWatch{first, last, limit};
            },
            nb::kw_only(), nb::arg("first"), nb::arg("last"), nb::arg("limit"));
    module.def("simulate_flit", &run_flit, nb::arg("workload"), nb::arg("execution"), nb::arg("routers"),
               nb::arg("flits"), nb::arg("watch"), nb::kw_only(), nb::arg("until"), nb::arg("work"));
}

}  // namespace conset::bindings
