#include "checks.hpp"
#include "conset/scheduling/complete_exchange/orbit_packing.hpp"
#include "conset/scheduling/sequential_router.hpp"

namespace conset::bindings {

namespace {

// The router with the arrays it refers to: NumPy's may go before it does.
class OwnedRouter {
public:
    OwnedRouter(std::int32_t nodes, In<std::int32_t> link_source, In<std::int32_t> link_target, In<std::int32_t> from,
                In<std::int32_t> to, In<std::int32_t> first, In<std::int32_t> second, In<std::int32_t> channels,
                In<std::int32_t> send, In<std::int32_t> receive, In<std::int32_t> link, In<double> demand,
                In<double> send_rate, In<double> receive_rate, In<double> link_rate, std::int32_t phases,
                std::int32_t weight, std::uint64_t seed)
        : ints_{copy(link_source), copy(link_target), copy(from), copy(to),      copy(first),
                copy(second),      copy(channels),    copy(send), copy(receive), copy(link)},
          rates_{copy(demand), copy(send_rate), copy(receive_rate), copy(link_rate)},
          router_({checked(nodes, ints_, rates_), ints_[0], ints_[1]}, {ints_[2], ints_[3], ints_[4], ints_[5]},
                  {ints_[6], ints_[7], ints_[8], ints_[9]}, {rates_[0], rates_[1], rates_[2], rates_[3]}, phases,
                  weight, seed) {}

    std::size_t connections() const { return ints_[2].size(); }

    // What the constructor refers to fits together.
    static std::int32_t checked(std::int32_t nodes, const Array<std::int32_t> (&ints)[10],
                                const Array<double> (&rates)[4]) {
        const std::size_t links = ints[0].size(), connections = ints[2].size();
        const auto count = static_cast<std::size_t>(nodes);
        check_count("nodes", nodes, 1, std::numeric_limits<std::int32_t>::max());
        check_size("link_target", ints[1].size(), links);
        check_size("target", ints[3].size(), connections);
        for (int k = 0; k < 4; ++k) check_ids<std::int32_t>("nodes of links and connections", ints[k], nodes);
        check_pairs(ints[4], ints[5], connections);
        for (int k = 6; k < 9; ++k)
            if (!ints[k].empty()) check_size("channels, send, receive", ints[k].size(), count);
        if (!ints[9].empty()) check_size("link", ints[9].size(), links);
        for (int k = 6; k < 10; ++k) check_ids<std::int32_t>("limits", ints[k], std::int64_t{1} << 31);
        if (!rates[0].empty()) {
            check_size("demand", rates[0].size(), connections);
            check_size("send_rate", rates[1].size(), count);
            check_size("receive_rate", rates[2].size(), count);
            check_size("link_rate", rates[3].size(), links);
        }
        return nodes;
    }

    SequentialRouter& operator*() { return router_; }

private:
    Array<std::int32_t> ints_[10];
    Array<double> rates_[4];
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

auto paths(OwnedRouter& router) {
    SequentialRouter::Paths paths = (*router).paths();
    return std::make_pair(give(std::move(paths.offsets)), give(std::move(paths.nodes)));
}

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
    nb::class_<OwnedRouter>(module, "SequentialRouter")
        .def(nb::init<std::int32_t, In<std::int32_t>, In<std::int32_t>, In<std::int32_t>, In<std::int32_t>,
                      In<std::int32_t>, In<std::int32_t>, In<std::int32_t>, In<std::int32_t>, In<std::int32_t>,
                      In<std::int32_t>, In<double>, In<double>, In<double>, In<double>, std::int32_t, std::int32_t,
                      std::uint64_t>(),
             nb::arg("nodes"), nb::arg("link_source").noconvert(), nb::arg("link_target").noconvert(),
             nb::arg("source").noconvert(), nb::arg("target").noconvert(), nb::arg("first").noconvert(),
             nb::arg("second").noconvert(), nb::arg("channels").noconvert(), nb::arg("send").noconvert(),
             nb::arg("receive").noconvert(), nb::arg("link").noconvert(), nb::arg("demand").noconvert(),
             nb::arg("send_rate").noconvert(), nb::arg("receive_rate").noconvert(), nb::arg("link_rate").noconvert(),
             nb::arg("phases"), nb::arg("weight"), nb::arg("seed"))
        .def("route", &route, nb::arg("order").noconvert())
        .def("rip_up", &rip_up, nb::arg("rounds"), nb::arg("share"))
        .def("phase", &phase)
        .def("paths", &paths);
    module.def("pack_orbits", &pack, nb::arg("rows"), nb::arg("load").noconvert(), nb::arg("capacity").noconvert(),
               nb::arg("hot"), nb::arg("cold"), nb::arg("steps"), nb::arg("seed"));
}

}  // namespace conset::bindings
