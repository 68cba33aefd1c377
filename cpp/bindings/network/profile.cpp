#include "conset/network/profile.hpp"

#include "checks.hpp"

namespace conset::bindings {

namespace {

Totals totals(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> size) {
    nb::gil_scoped_release released;
    const Routes routes = checked_routes(network, view(source), view(target));
    check_each("size", size.shape(0), routes.size());
    return count_totals(routes, view(size));
}

auto slowest(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<double> per_byte) {
    Array<double> result;
    {
        nb::gil_scoped_release released;
        const Routes routes = checked_routes(network, view(source), view(target));
        check_each("per_byte", per_byte.shape(0), static_cast<std::size_t>(network.link_slots()));
        result = slowest_links(routes, view(per_byte));
    }
    return give(std::move(result));
}

auto rounds(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int32_t> order,
            In<double> work, std::int64_t send, std::int64_t receive, In<std::int64_t> link) {
    Array<double> result;
    {
        nb::gil_scoped_release released;
        const Routes routes = checked_routes(network, view(source), view(target));
        check_permutation("order", view(order), routes.size());
        check_size("work", work.shape(0), routes.size());
        check_finite("work", view(work));
        check_count("send", send, 1, std::numeric_limits<std::int64_t>::max());
        check_count("receive", receive, 1, std::numeric_limits<std::int64_t>::max());
        check_each_or_none("link", link.shape(0), static_cast<std::size_t>(network.link_slots()));
        check_ids("link", view(link), std::numeric_limits<std::int64_t>::max(), 1);
        result = rank_rounds(routes, view(order), view(work), {send, receive, view(link)});
    }
    return give(std::move(result));
}

Profile profile(const Network& network, In<std::int32_t> source, In<std::int32_t> target,
                In<std::int64_t> route_offsets, In<std::int32_t> route_links, In<std::int64_t> size,
                In<std::int64_t> phase_offsets, In<std::int64_t> batch_offsets, bool phase_by_phase,
                In<double> step_up_to, In<double> step_seconds, double out, double in, double node, double exchange,
                In<double> link, In<std::int32_t> width, double tolerance, double blocking, bool match_all_exchanges) {
    nb::gil_scoped_release released;
    const Routes routes = checked_routes(network, view(source), view(target), view(route_offsets), view(route_links));
    check_each("size", size.shape(0), routes.size());
    check_phases(view(phase_offsets), view(batch_offsets), routes.size());
    require(step_up_to.shape(0) > 0, "step_up_to", "at least 1 entry required");
    check_size("step_seconds", step_seconds.shape(0), step_up_to.shape(0));
    check_each_or_none("link", link.shape(0), static_cast<std::size_t>(network.link_slots()));
    check_width(network, view(width));
    return profile_phases(routes, view(size), view(phase_offsets), view(batch_offsets), phase_by_phase,
                          {view(step_up_to), view(step_seconds), out, in, node, exchange, view(link), view(width),
                           tolerance, blocking, match_all_exchanges});
}

}  // namespace

void bind_profile(nb::module_& module) {
    nb::class_<Totals>(module, "Totals")
        .def_prop_ro("messages", &entries<Totals, &Totals::messages>)
        .def_prop_ro("bytes", &entries<Totals, &Totals::bytes>);
    nb::class_<Profile>(module, "Profile")
        .def_prop_ro("busy", &entries<Profile, &Profile::busy>)
        .def_prop_ro("kind", &entries<Profile, &Profile::kind>)
        .def_prop_ro("index", &entries<Profile, &Profile::index>)
        .def_prop_ro("most", &entries<Profile, &Profile::most>)
        .def_prop_ro("where", &entries<Profile, &Profile::where>);
    module.def("count_totals", &totals, nb::arg("network"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("size").noconvert());
    module.def("slowest_links", &slowest, nb::arg("network"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("per_byte").noconvert());
    module.def("rank_rounds", &rounds, nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
               nb::arg("order").noconvert(), nb::arg("work").noconvert(), nb::arg("send"), nb::arg("receive"),
               nb::arg("link").noconvert());
    module.def("profile_phases", &profile, nb::arg("network"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert(),
               nb::arg("size").noconvert(), nb::arg("phase_offsets").noconvert(), nb::arg("batch_offsets").noconvert(),
               nb::arg("phase_by_phase"), nb::arg("step_up_to").noconvert(), nb::arg("step_seconds").noconvert(),
               nb::arg("out"), nb::arg("in_"), nb::arg("node"), nb::arg("exchange"), nb::arg("link").noconvert(),
               nb::arg("width").noconvert(), nb::arg("tolerance"), nb::arg("blocking"), nb::arg("match_all_exchanges"));
}

}  // namespace conset::bindings
