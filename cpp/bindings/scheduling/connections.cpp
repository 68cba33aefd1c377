#include "scheduling/connections.hpp"

#include "conset/scheduling/complete_exchange/orbit_packing.hpp"
#include "conset/scheduling/sequential_router.hpp"

namespace conset::bindings {

namespace {

using Ints = In<std::int32_t>;
using Rates = In<double>;

// Upper limits of nodes and links.
struct BoundRouterLimits {
    BoundRouterLimits(Ints channels, Ints send, Ints receive, Ints link)
        : channels(channels), send(send), receive(receive), link(link) {
        for (const Ints* limit : {&channels, &send, &receive, &link})
            check_ids("limits", view(*limit), std::int64_t{1} << 31);
    }

    // One of each node and link, or none.
    RouterLimits on(const BoundWiring& wiring) const {
        for (const Ints* limit : {&channels, &send, &receive})
            if (limit->shape(0) > 0) check_size("channels, send, receive", limit->shape(0), as_size(wiring.nodes()));
        if (link.shape(0) > 0) check_size("link", link.shape(0), wiring.links());
        return {view(channels), view(send), view(receive), view(link)};
    }

    Ints channels, send, receive, link;
};

// What connections demand of the rates of nodes and links.
struct BoundDemands {
    BoundDemands(Rates bandwidth, Rates latency, Rates send, Rates receive, Rates node, Rates link, double hop,
                 double flit)
        : bandwidth(bandwidth),
          latency(latency),
          send(send),
          receive(receive),
          node(node),
          link(link),
          hop(hop),
          flit(flit) {
        for (const Rates* values : {&bandwidth, &latency, &send, &receive, &node, &link})
            for (const double value : view(*values)) require(value >= 0, "demands and rates", "at least 0 required");
        require(hop >= 0 && hop < infinite, "hop", "a finite time of at least 0 required");
        require(flit >= 0 && flit < infinite, "flit", "a finite size of at least 0 required");
    }

    // Two of each connection, a rate of each node and link, or nothing is demanded.
    RouterDemands on(const BoundWiring& wiring, const BoundConnections& connections) const {
        if (bandwidth.shape(0) == 0 && latency.shape(0) == 0) return {};
        check_size("bandwidth", bandwidth.shape(0), connections.size());
        check_size("latency", latency.shape(0), connections.size());
        check_size("send_rate", send.shape(0), as_size(wiring.nodes()));
        check_size("receive_rate", receive.shape(0), as_size(wiring.nodes()));
        check_size("node_rate", node.shape(0), as_size(wiring.nodes()));
        check_size("link_rate", link.shape(0), wiring.links());
        return {view(bandwidth), view(latency), view(send), view(receive), view(node), view(link), hop, flit};
    }

    static constexpr double infinite = std::numeric_limits<double>::infinity();
    Rates bandwidth, latency, send, receive, node, link;
    double hop, flit;
};

// The router with what it refers to.
class OwnedRouter {
public:
    OwnedRouter(const BoundWiring& wiring, const BoundConnections& connections, const BoundRouterLimits& limits,
                const BoundDemands& demands, std::int32_t phases, std::int32_t weight, std::uint64_t seed)
        : wiring_(wiring),
          connections_(connections),
          limits_(limits),
          demands_(demands),
          router_(*wiring_, connections_.on(wiring_), limits_.on(wiring_), demands_.on(wiring_, connections_),
                  checked("phases", phases), checked("weight", weight), seed) {}

    std::size_t connections() const { return connections_.size(); }
    SequentialRouter& operator*() { return router_; }

private:
    static std::int32_t checked(const char* what, std::int32_t count) {
        check_count(what, count, 0, std::numeric_limits<std::int32_t>::max());
        return count;
    }

    BoundWiring wiring_;
    BoundConnections connections_;
    BoundRouterLimits limits_;
    BoundDemands demands_;
    SequentialRouter router_;
};

std::int64_t route(OwnedRouter& router, In<std::int32_t> order) {
    nb::gil_scoped_release released;
    check_permutation("order", view(order), router.connections());
    return (*router).route(view(order));
}

std::int64_t rip_up(OwnedRouter& router, std::int32_t rounds, double share) {
    nb::gil_scoped_release released;
    return (*router).rip_up(rounds, share);
}

auto phase(OwnedRouter& router) { return give(Array((*router).phase())); }

RoutePaths paths(OwnedRouter& router) { return (*router).paths(); }

auto pack(std::int32_t rows, In<std::int32_t> load, In<std::int32_t> capacity, double hot, double cold,
          std::int64_t steps, std::uint64_t seed) {
    Array<std::int32_t> bin;
    {
        nb::gil_scoped_release released;
        check_count("rows", rows, 1, std::numeric_limits<std::int32_t>::max());
        require(capacity.shape(0) > 0 && capacity.shape(0) % static_cast<std::size_t>(rows) == 0, "capacity",
                "rows for each bin required");
        require(load.shape(0) % static_cast<std::size_t>(rows) == 0, "load", "rows for each item required");
        bin = pack_orbits(rows, view(load), view(capacity), {hot, cold, steps}, seed);
    }
    return give(std::move(bin));
}

}  // namespace

void bind_connections(nb::module_& module) {
    nb::class_<BoundWiring>(module, "Wiring")
        .def(nb::init<std::int32_t, Ints, Ints>(), nb::arg("nodes"), nb::arg("link_source").noconvert(),
             nb::arg("link_target").noconvert());
    nb::class_<BoundConnections>(module, "Connections")
        .def(nb::init<Ints, Ints, Ints, Ints, std::int32_t>(), nb::arg("source").noconvert(),
             nb::arg("target").noconvert(), nb::arg("first").noconvert(), nb::arg("second").noconvert(),
             nb::arg("apart") = 1);
    nb::class_<BoundRouterLimits>(module, "RouterLimits")
        .def(nb::init<Ints, Ints, Ints, Ints>(), nb::kw_only(), nb::arg("channels").noconvert(),
             nb::arg("send").noconvert(), nb::arg("receive").noconvert(), nb::arg("link").noconvert());
    nb::class_<BoundDemands>(module, "RouterDemands")
        .def(nb::init<Rates, Rates, Rates, Rates, Rates, Rates, double, double>(), nb::kw_only(),
             nb::arg("bandwidth").noconvert(), nb::arg("latency").noconvert(), nb::arg("send_rate").noconvert(),
             nb::arg("receive_rate").noconvert(), nb::arg("node_rate").noconvert(), nb::arg("link_rate").noconvert(),
             nb::arg("hop"), nb::arg("flit"));
    nb::class_<RoutePaths>(module, "RoutePaths")
        .def_prop_ro("offsets", &entries<RoutePaths, &RoutePaths::offsets>)
        .def_prop_ro("nodes", &entries<RoutePaths, &RoutePaths::nodes>)
        .def_prop_ro("entered", &entries<RoutePaths, &RoutePaths::entered>);
    nb::class_<OwnedRouter>(module, "SequentialRouter")
        .def(nb::init<const BoundWiring&, const BoundConnections&, const BoundRouterLimits&, const BoundDemands&,
                      std::int32_t, std::int32_t, std::uint64_t>(),
             nb::arg("wiring"), nb::arg("connections"), nb::arg("limits"), nb::arg("demands"), nb::kw_only(),
             nb::arg("phases"), nb::arg("weight"), nb::arg("seed"))
        .def("route", &route, nb::arg("order").noconvert())
        .def("rip_up", &rip_up, nb::arg("rounds"), nb::arg("share"))
        .def("phase", &phase)
        .def("paths", &paths);
    module.def("pack_orbits", &pack, nb::arg("rows"), nb::arg("load").noconvert(), nb::arg("capacity").noconvert(),
               nb::arg("hot"), nb::arg("cold"), nb::arg("steps"), nb::arg("seed"));
}

}  // namespace conset::bindings
