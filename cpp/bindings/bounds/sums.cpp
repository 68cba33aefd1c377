#include "conset/bounds/sums.hpp"

#include "checks.hpp"

namespace conset::bindings {

namespace {

// Keeps the arrays that `BoundPrices` looks at.
class GivenPrices {
public:
    GivenPrices(In<double> up_to, In<double> send, In<double> receive, In<double> once, In<double> link,
                In<double> per_byte, double port, double node_Bps, double copy_Bps, double setup, double signal,
                double signal_link, double eager, bool before, bool ready, bool split, bool leads_of_links)
        : up_to_(bindings::copy(up_to)),
          send_(bindings::copy(send)),
          receive_(bindings::copy(receive)),
          once_(bindings::copy(once)),
          link_(bindings::copy(link)),
          per_byte_(bindings::copy(per_byte)),
          prices{up_to_, send_,  receive_,    once_, link_,  per_byte_, port,  node_Bps,      copy_Bps,
                 setup,  signal, signal_link, eager, before, ready,     split, leads_of_links} {
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

MessageSums sums(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int32_t> sender,
                 In<std::int32_t> receiver, std::int32_t ranks, In<std::int64_t> size, In<double> weight,
                 const GivenPrices& given) {
    nb::gil_scoped_release released;
    const Routes routes = checked_routes(network, view(source), view(target));
    check_each("size", size.shape(0), routes.size());
    if (weight.shape(0) != 0) check_size("weight", weight.shape(0), routes.size());
    check_count("ranks", ranks, 0, std::numeric_limits<std::int32_t>::max());
    check_size("sender", sender.shape(0), routes.size());
    check_size("receiver", receiver.shape(0), routes.size());
    check_ids("sender", view(sender), ranks);
    check_ids("receiver", view(receiver), ranks);
    check_each_or_none("per_byte", given.prices.per_byte.size(), static_cast<std::size_t>(network.link_slots()));
    return sum_messages(routes, {view(sender), view(receiver), ranks}, view(size), view(weight), given.prices);
}

template <class T>
auto column(Array<T> MessageSums::* field) {
    return [field](MessageSums& s) { return give(Array<T>(s.*field)); };
}

auto leads(Leads MessageSums::* field) {
    return [field](MessageSums& s) {
        return std::make_pair(give(Array<double>((s.*field).into)), give(Array<double>((s.*field).out)));
    };
}

}  // namespace

void bind_bounds_sums(nb::module_& module) {
    nb::class_<GivenPrices>(module, "BoundPrices")
        .def(nb::init<In<double>, In<double>, In<double>, In<double>, In<double>, In<double>, double, double, double,
                      double, double, double, double, bool, bool, bool, bool>(),
             nb::arg("up_to").noconvert(), nb::arg("send").noconvert(), nb::arg("receive").noconvert(),
             nb::arg("once").noconvert(), nb::arg("link").noconvert(), nb::arg("per_byte").noconvert(), nb::arg("port"),
             nb::arg("node_Bps"), nb::arg("copy_Bps"), nb::arg("setup"), nb::arg("signal"), nb::arg("signal_link"),
             nb::arg("eager"), nb::arg("before"), nb::arg("ready"), nb::arg("split"), nb::arg("leads_of_links"));
    constexpr auto move = nb::rv_policy::move;
    nb::class_<MessageSums>(module, "MessageSums")
        .def_prop_ro("send", column(&MessageSums::send), move)
        .def_prop_ro("receive", column(&MessageSums::receive), move)
        .def_prop_ro("held", column(&MessageSums::held), move)
        .def_prop_ro("sends", column(&MessageSums::sends), move)
        .def_prop_ro("receives", column(&MessageSums::receives), move)
        .def_prop_ro("sending", leads(&MessageSums::sending), move)
        .def_prop_ro("receiving", leads(&MessageSums::receiving), move)
        .def_prop_ro("holding", leads(&MessageSums::holding), move)
        .def_prop_ro("out", column(&MessageSums::out), move)
        .def_prop_ro("into", column(&MessageSums::in), move)
        .def_prop_ro("weighed_out", column(&MessageSums::weighed_out), move)
        .def_prop_ro("weighed_in", column(&MessageSums::weighed_in), move)
        .def_prop_ro("leaving", leads(&MessageSums::leaving), move)
        .def_prop_ro("entering", leads(&MessageSums::entering), move)
        .def_prop_ro("passing", leads(&MessageSums::passing), move)
        .def_prop_ro("links", leads(&MessageSums::links), move)
        .def_ro("first", &MessageSums::first)
        .def_ro("last", &MessageSums::last)
        .def_ro("longest", &MessageSums::longest)
        .def_ro("least", &MessageSums::least)
        .def_ro("longest_at", &MessageSums::longest_at);
    module.def("sum_messages", &sums, nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
               nb::arg("sender").noconvert(), nb::arg("receiver").noconvert(), nb::arg("ranks"),
               nb::arg("size").noconvert(), nb::arg("weight").noconvert(), nb::arg("prices"));
}

}  // namespace conset::bindings
