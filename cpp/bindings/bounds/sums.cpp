#include "conset/bounds/sums.hpp"

#include "network/transfers.hpp"

namespace conset::bindings {

namespace {

// Keeps the arrays that `BoundPrices` looks at.
class GivenPrices {
public:
    GivenPrices(In<double> up_to, In<double> send, In<double> receive, In<double> once, In<double> link,
                In<double> per_byte, double port, double node_Bps, double copy_Bps, double setup, double signal,
                double signal_link, double eager, bool before, bool ready, bool split, bool leads_of_links,
                double startup)
        : up_to_(bindings::copy(up_to)),
          send_(bindings::copy(send)),
          receive_(bindings::copy(receive)),
          once_(bindings::copy(once)),
          link_(bindings::copy(link)),
          per_byte_(bindings::copy(per_byte)),
          prices{up_to_,  send_, receive_, once_,       link_, per_byte_, port,  node_Bps, copy_Bps,
                 startup, setup, signal,   signal_link, eager, before,    ready, split,    leads_of_links} {
        require(!up_to_.empty(), "up_to", "at least 1 entry required");
        check_size("send", send_.size(), up_to_.size());
        check_size("receive", receive_.size(), up_to_.size());
        check_size("once", once_.size(), up_to_.size());
        check_size("link", link_.size(), up_to_.size());
    }
    GivenPrices(const GivenPrices&) = delete;
    GivenPrices& operator=(const GivenPrices&) = delete;

private:
    Array<double> up_to_, send_, receive_, once_, link_, per_byte_;

public:
    const BoundPrices prices;
};

MessageSums sums(const BoundTransfers& transfers, const BoundRanks& ranks, In<double> weight,
                 const GivenPrices& given) {
    nb::gil_scoped_release released;
    const Routes& routes = *transfers;
    if (weight.shape(0) != 0) check_size("weight", weight.shape(0), routes.size());
    check_each_or_none("per_byte", given.prices.per_byte.size(), static_cast<std::size_t>(routes.network.link_slots()));
    return sum_messages(routes, ranks.of(transfers), transfers.size(), view(weight), given.prices);
}

}  // namespace

void bind_bounds_sums(nb::module_& module) {
    nb::class_<GivenPrices>(module, "BoundPrices")
        .def(nb::init<In<double>, In<double>, In<double>, In<double>, In<double>, In<double>, double, double, double,
                      double, double, double, double, bool, bool, bool, bool, double>(),
             nb::kw_only(), nb::arg("up_to").noconvert(), nb::arg("send").noconvert(), nb::arg("receive").noconvert(),
             nb::arg("once").noconvert(), nb::arg("link").noconvert(), nb::arg("per_byte").noconvert(), nb::arg("port"),
             nb::arg("node_Bps"), nb::arg("copy_Bps"), nb::arg("setup"), nb::arg("signal"), nb::arg("signal_link"),
             nb::arg("eager"), nb::arg("before"), nb::arg("ready"), nb::arg("split"), nb::arg("leads_of_links"),
             nb::arg("startup"));
    nb::class_<Leads>(module, "Leads")
        .def_prop_ro("into", &entries<Leads, &Leads::into>)
        .def_prop_ro("out", &entries<Leads, &Leads::out>);
    nb::class_<MessageSums>(module, "MessageSums")
        .def_prop_ro("send", &entries<MessageSums, &MessageSums::send>)
        .def_prop_ro("receive", &entries<MessageSums, &MessageSums::receive>)
        .def_prop_ro("held", &entries<MessageSums, &MessageSums::held>)
        .def_prop_ro("sends", &entries<MessageSums, &MessageSums::sends>)
        .def_prop_ro("receives", &entries<MessageSums, &MessageSums::receives>)
        .def_ro("sending", &MessageSums::sending)
        .def_ro("receiving", &MessageSums::receiving)
        .def_ro("holding", &MessageSums::holding)
        .def_prop_ro("out", &entries<MessageSums, &MessageSums::out>)
        .def_prop_ro("into", &entries<MessageSums, &MessageSums::in>)
        .def_prop_ro("weighed_out", &entries<MessageSums, &MessageSums::weighed_out>)
        .def_prop_ro("weighed_in", &entries<MessageSums, &MessageSums::weighed_in>)
        .def_ro("leaving", &MessageSums::leaving)
        .def_ro("entering", &MessageSums::entering)
        .def_ro("passing", &MessageSums::passing)
        .def_ro("links", &MessageSums::links)
        .def_ro("first", &MessageSums::first)
        .def_ro("last", &MessageSums::last)
        .def_ro("longest", &MessageSums::longest)
        .def_ro("least", &MessageSums::least)
        .def_ro("longest_at", &MessageSums::longest_at);
    module.def("sum_messages", &sums, nb::arg("transfers"), nb::arg("ranks"), nb::arg("weight").noconvert(),
               nb::arg("prices"));
}

}  // namespace conset::bindings
