#include "conset/scheduling/negotiated.hpp"

#include "checks.hpp"

namespace conset::bindings {

namespace {

using Ints = In<std::int32_t>;

void check_messages(const Ints& source, const Ints& target, const Ints& first, const Ints& second, std::int32_t starts,
                    std::int32_t endpoints) {
    check_size("target", target.shape(0), source.shape(0));
    check_ids("source", view(source), starts);
    check_ids("target", view(target), endpoints);
    check_pairs(view(first), view(second), source.shape(0));
}

void check_limits(const Ints& send, const Ints& receive, const Ints& link, const Ints& channels, std::size_t slots) {
    for (const Ints* limit : {&send, &receive, &link, &channels}) {
        check_each_or_none("limits", limit->shape(0), slots);
        check_ids("limits", view(*limit), std::int64_t{1} << 31);
    }
}

void make_fixed(NegotiatedItems* self, const Network& network, Ints source, Ints target, Ints first, Ints second,
                Ints width, bool exchange) {
    nb::gil_scoped_release released;
    check_messages(source, target, first, second, network.starts(), network.endpoints());
    check_width(network, view(width));
    new (self) NegotiatedItems(network, {view(source), view(target), view(first), view(second)}, view(width), exchange);
}

NegotiatedItems make_free(std::int32_t nodes, Ints link_source, Ints link_target, Ints source, Ints target, Ints first,
                          Ints second, Ints width) {
    nb::gil_scoped_release released;
    check_count("nodes", nodes, 1, std::numeric_limits<std::int32_t>::max());
    check_messages(source, target, first, second, nodes, nodes);
    check_size("link_target", link_target.shape(0), link_source.shape(0));
    check_ids("link_source", view(link_source), nodes);
    check_ids("link_target", view(link_target), nodes);
    check_each("width", width.shape(0), link_source.shape(0));
    check_ids("width", view(width), std::int64_t{1} << 31, 1);
    return {nodes,
            {view(link_source), view(link_target)},
            {view(source), view(target), view(first), view(second)},
            view(width)};
}

std::int32_t least(const NegotiatedItems& items, Ints send, Ints receive, Ints link, Ints channels) {
    nb::gil_scoped_release released;
    check_limits(send, receive, link, channels, 1);
    return items.least_slots({view(send), view(receive), view(link), view(channels)});
}

void make_negotiation(Negotiation* self, const NegotiatedItems& items, std::int32_t slots, Ints send, Ints receive,
                      Ints link, Ints channels, double start, double growth, double history, double most,
                      std::uint64_t seed) {
    nb::gil_scoped_release released;
    check_count("slots", slots, 1, std::numeric_limits<std::int32_t>::max());
    check_limits(send, receive, link, channels, static_cast<std::size_t>(slots));
    new (self) Negotiation(items, slots, {view(send), view(receive), view(link), view(channels)},
                           {start, growth, history, most}, seed);
}

auto paths(const Negotiation& negotiation) {
    Negotiation::Paths found = negotiation.paths();
    return std::make_pair(give(std::move(found.offsets)), give(std::move(found.nodes)));
}

}  // namespace

void bind_negotiated(nb::module_& module) {
    nb::class_<NegotiatedItems>(module, "NegotiatedItems")
        .def("__init__", &make_fixed, nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
             nb::arg("first").noconvert(), nb::arg("second").noconvert(), nb::arg("width").noconvert(),
             nb::arg("exchange"))
        .def_static("free", &make_free, nb::arg("nodes"), nb::arg("link_source").noconvert(),
                    nb::arg("link_target").noconvert(), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
                    nb::arg("first").noconvert(), nb::arg("second").noconvert(), nb::arg("width").noconvert())
        .def_prop_ro("has_free_routes", &NegotiatedItems::free)
        .def("least_slots", &least, nb::arg("send").noconvert(), nb::arg("receive").noconvert(),
             nb::arg("link").noconvert(), nb::arg("channels").noconvert());
    nb::class_<Negotiation>(module, "Negotiation")
        .def("__init__", &make_negotiation, nb::arg("items"), nb::arg("slots"), nb::arg("send").noconvert(),
             nb::arg("receive").noconvert(), nb::arg("link").noconvert(), nb::arg("channels").noconvert(),
             nb::arg("start"), nb::arg("growth"), nb::arg("history"), nb::arg("most"), nb::arg("seed"),
             nb::keep_alive<1, 2>())
        .def("run", &Negotiation::run, nb::arg("sweeps"), nb::arg("work"), nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("sweeps", &Negotiation::sweeps)
        .def_prop_ro("work", &Negotiation::work)
        .def("slot_of_messages", [](const Negotiation& n) { return give(n.slot_of_messages()); })
        .def("paths", &paths);
}

}  // namespace conset::bindings
