#include "conset/network/loads.hpp"

#include "checks.hpp"

namespace conset::bindings {

void bind_loads(nb::module_& module) {
    nb::class_<Loads>(module, "Loads")
        .def_prop_ro("send", &entries<Loads, &Loads::send>)
        .def_prop_ro("receive", &entries<Loads, &Loads::receive>)
        .def_prop_ro("link", &entries<Loads, &Loads::link>)
        .def_prop_ro("channels", &entries<Loads, &Loads::channels>);
    module.def(
        "count_loads",
        [](const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> route_offsets,
           In<std::int32_t> route_links, In<std::int64_t> phase_offsets, In<std::int32_t> width) {
            nb::gil_scoped_release released;
            const Routes routes =
                checked_routes(network, view(source), view(target), view(route_offsets), view(route_links));
            check_rise("phase_offsets", view(phase_offsets), routes.size());
            check_width(network, view(width));
            return count_loads(routes, view(phase_offsets), view(width));
        },
        nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
        nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert(), nb::arg("phase_offsets").noconvert(),
        nb::arg("width").noconvert());
}

}  // namespace conset::bindings
