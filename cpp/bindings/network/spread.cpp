#include "conset/network/spread.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "checks.hpp"

namespace conset::bindings {

namespace {

// Transfers over the network's own choices.
Routes checked_choices(const Network& network, In<std::int32_t> source, In<std::int32_t> target) {
    require(network.spreads(), "network", "must choose by a hash or spread messages");
    return checked_routes(network, view(source), view(target));
}

// The links that each message may take, with its chance or the part of its bytes: (offsets, links, shares).
auto shares(const Network& network, In<std::int32_t> source, In<std::int32_t> target) {
    Array<std::int64_t> offsets{0};
    Array<std::int32_t> links;
    Array<double> parts;
    {
        nb::gil_scoped_release released;
        const Routes routes = checked_choices(network, source, target);
        Spread spread(network);
        for (std::size_t k = 0; k < routes.size(); ++k) {
            spread.each_share(routes.source[k], routes.target[k], [&](std::int32_t link, double share) {
                links.push_back(link);
                parts.push_back(share);
            });
            offsets.push_back(static_cast<std::int64_t>(links.size()));
        }
    }
    return std::make_tuple(give(std::move(offsets)), give(std::move(links)), give(std::move(parts)));
}

}  // namespace

void bind_spread(nb::module_& module) {
    nb::class_<ExpectedLoads>(module, "ExpectedLoads")
        .def_prop_ro("send", &entries<ExpectedLoads, &ExpectedLoads::send>)
        .def_prop_ro("receive", &entries<ExpectedLoads, &ExpectedLoads::receive>)
        .def_prop_ro("link", &entries<ExpectedLoads, &ExpectedLoads::link>)
        .def_prop_ro("channels", &entries<ExpectedLoads, &ExpectedLoads::channels>);
    nb::class_<ExpectedTotals>(module, "ExpectedTotals")
        .def_prop_ro("messages", &entries<ExpectedTotals, &ExpectedTotals::messages>)
        .def_prop_ro("bytes", &entries<ExpectedTotals, &ExpectedTotals::bytes>);
    module.def(
        "expect_loads",
        [](const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> phase_offsets,
           In<std::int32_t> width) {
            nb::gil_scoped_release released;
            const Routes routes = checked_choices(network, source, target);
            check_rise("phase_offsets", view(phase_offsets), routes.size());
            check_width(network, view(width));
            return expect_loads(routes, view(phase_offsets), view(width));
        },
        nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
        nb::arg("phase_offsets").noconvert(), nb::arg("width").noconvert());
    module.def("message_shares", &shares, nb::arg("network"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert());
    module.def(
        "expect_totals",
        [](const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> size) {
            nb::gil_scoped_release released;
            const Routes routes = checked_choices(network, source, target);
            check_amounts("size", view(size), routes.size());
            return expect_totals(routes, view(size));
        },
        nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(), nb::arg("size").noconvert());
}

}  // namespace conset::bindings
