#include "conset/network/profile.hpp"

#include "network/transfers.hpp"

namespace conset::bindings {

namespace {

Totals totals(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> size) {
    nb::gil_scoped_release released;
    const Routes routes = checked_routes(network, view(source), view(target));
    check_amounts("size", view(size), routes.size());
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

// What a byte and a message cost; keeps the arrays it looks at.
class MachineWork {
public:
    MachineWork(In<double> step_up_to, In<double> step_seconds, double out, double in, double node, double exchange,
                In<double> link, In<std::int32_t> width, double tolerance, double blocking, bool match_all_exchanges)
        : step_up_to_(step_up_to),
          step_seconds_(step_seconds),
          link_(link),
          width_(width),
          work_{view(step_up_to_), view(step_seconds_), out, in, node, exchange, view(link_), view(width_), tolerance,
                blocking,          match_all_exchanges} {
        require(!work_.step_up_to.empty(), "step_up_to", "at least 1 entry required");
        check_size("step_seconds", work_.step_seconds.size(), work_.step_up_to.size());
    }

    // What links cost fits the network.
    const Work& on(const Network& network) const {
        check_each_or_none("link", work_.link.size(), static_cast<std::size_t>(network.link_slots()));
        check_width(network, work_.width);
        return work_;
    }

private:
    In<double> step_up_to_, step_seconds_, link_;
    In<std::int32_t> width_;
    Work work_;
};

Profile profile(const BoundTransfers& transfers, In<std::int64_t> phase_offsets, In<std::int64_t> batch_offsets,
                bool phase_by_phase, const MachineWork& work) {
    nb::gil_scoped_release released;
    const Routes& routes = *transfers;
    check_phases(view(phase_offsets), view(batch_offsets), routes.size());
    return profile_phases(routes, transfers.size(), view(phase_offsets), view(batch_offsets), phase_by_phase,
                          work.on(routes.network));
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
    nb::class_<MachineWork>(module, "Work")
        .def(nb::init<In<double>, In<double>, double, double, double, double, In<double>, In<std::int32_t>, double,
                      double, bool>(),
             nb::kw_only(), nb::arg("step_up_to").noconvert(), nb::arg("step_seconds").noconvert(), nb::arg("out"),
             nb::arg("in_"), nb::arg("node"), nb::arg("exchange"), nb::arg("link").noconvert(),
             nb::arg("width").noconvert(), nb::arg("tolerance"), nb::arg("blocking"), nb::arg("match_all_exchanges"));
    module.def("profile_phases", &profile, nb::arg("transfers"), nb::arg("phase_offsets").noconvert(),
               nb::arg("batch_offsets").noconvert(), nb::arg("phase_by_phase"), nb::arg("work"));
}

}  // namespace conset::bindings
