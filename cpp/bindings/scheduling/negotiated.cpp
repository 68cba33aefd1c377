#include "conset/scheduling/negotiated.hpp"

#include "scheduling/connections.hpp"

namespace conset::bindings {

namespace {

using Ints = In<std::int32_t>;

// How much a slot may hold; keeps the arrays it looks at.
class BoundSlotLimits {
public:
    BoundSlotLimits(Ints send, Ints receive, Ints link, Ints channels)
        : send_(send), receive_(receive), link_(link), channels_(channels) {
        for (const Ints* limit : {&send_, &receive_, &link_, &channels_})
            check_ids("limits", view(*limit), std::int64_t{1} << 31);
    }

    // They fit the number of slots.
    SlotLimits of(std::size_t slots) const {
        for (const Ints* limit : {&send_, &receive_, &link_, &channels_})
            check_each_or_none("limits", limit->shape(0), slots);
        return {view(send_), view(receive_), view(link_), view(channels_)};
    }

private:
    Ints send_, receive_, link_, channels_;
};

void make_fixed(NegotiatedItems* self, const Network& network, const BoundConnections& messages, Ints width,
                bool exchange) {
    nb::gil_scoped_release released;
    check_width(network, view(width));
    new (self) NegotiatedItems(network, messages.on(network), view(width), exchange);
}

NegotiatedItems make_free(const BoundWiring& wiring, const BoundConnections& messages, Ints width) {
    nb::gil_scoped_release released;
    check_each("width", width.shape(0), wiring.links());
    check_ids("width", view(width), std::int64_t{1} << 31, 1);
    return {*wiring, messages.on(wiring), view(width)};
}

std::int32_t least(const NegotiatedItems& items, const BoundSlotLimits& limits) {
    nb::gil_scoped_release released;
    return items.least_slots(limits.of(1));
}

void make_negotiation(Negotiation* self, const NegotiatedItems& items, std::int32_t slots,
                      const BoundSlotLimits& limits, const Pressure& pressure, std::uint64_t seed,
                      std::int32_t planes) {
    nb::gil_scoped_release released;
    check_count("planes", planes, 1, std::numeric_limits<std::int32_t>::max());
    check_count("slots", slots, planes, std::numeric_limits<std::int32_t>::max());
    if (slots % planes != 0) throw std::invalid_argument("slots: must be a multiple of planes");
    new (self) Negotiation(items, slots, limits.of(static_cast<std::size_t>(slots)), pressure, seed, planes);
}

}  // namespace

void bind_negotiated(nb::module_& module) {
    nb::class_<BoundSlotLimits>(module, "SlotLimits")
        .def(nb::init<Ints, Ints, Ints, Ints>(), nb::kw_only(), nb::arg("send").noconvert(),
             nb::arg("receive").noconvert(), nb::arg("link").noconvert(), nb::arg("channels").noconvert());
    nb::class_<Pressure>(module, "Pressure")
        .def(
            "__init__",
            [](Pressure* self, double start, double growth, double history, double most) {
                new (self) Pressure{start, growth, history, most};
            },
            nb::kw_only(), nb::arg("start"), nb::arg("growth"), nb::arg("history"), nb::arg("most"));
    nb::class_<NegotiatedItems>(module, "NegotiatedItems")
        .def("__init__", &make_fixed, nb::arg("network"), nb::arg("messages"), nb::arg("width").noconvert(),
             nb::arg("exchange"))
        .def_static("free", &make_free, nb::arg("wiring"), nb::arg("messages"), nb::arg("width").noconvert())
        .def_prop_ro("has_free_routes", &NegotiatedItems::free)
        .def("least_slots", &least, nb::arg("limits"));
    nb::class_<Negotiation>(module, "Negotiation")
        .def("__init__", &make_negotiation, nb::arg("items"), nb::arg("slots"), nb::arg("limits"), nb::arg("pressure"),
             nb::arg("seed"), nb::arg("planes") = 1, nb::keep_alive<1, 2>())
        .def("run", &Negotiation::run, nb::arg("sweeps"), nb::arg("work"), nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("sweeps", &Negotiation::sweeps)
        .def_prop_ro("work", &Negotiation::work)
        .def("slot_of_messages", [](const Negotiation& n) { return give(n.slot_of_messages()); })
        .def("paths", &Negotiation::paths);
}

}  // namespace conset::bindings
