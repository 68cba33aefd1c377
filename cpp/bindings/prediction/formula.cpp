#include "conset/prediction/formula.hpp"

#include <nanobind/stl/tuple.h>

#include <cmath>
#include <tuple>

#include "conset/prediction/stage_clock.hpp"
#include "network/transfers.hpp"

namespace conset::bindings {

namespace {

// Keeps the arrays that `MessageCosts` looks at.
class GivenCosts {
public:
    GivenCosts(In<double> up_to, In<double> send, In<double> receive, In<double> latency, In<double> hop, double out,
               double in, double node, double copy, double exchange, In<double> link, In<std::int32_t> width,
               double tolerance, double blocking, double setup, double signal, double signal_hop, double eager,
               bool before, bool one_processor, bool shared_processor, std::int64_t in_flight, double startup,
               double detects)
        : up_to_(bindings::copy(up_to)),
          send_(bindings::copy(send)),
          receive_(bindings::copy(receive)),
          latency_(bindings::copy(latency)),
          hop_(bindings::copy(hop)),
          link_(bindings::copy(link)),
          width_(bindings::copy(width)),
          costs{up_to_,  send_,    receive_,      latency_,         hop_,      out,      in,    node,   copy,
                startup, exchange, link_,         width_,           tolerance, blocking, setup, signal, signal_hop,
                eager,   before,   one_processor, shared_processor, in_flight, detects} {
        require(!up_to_.empty(), "up_to", "at least 1 entry required");
        check_size("send", send_.size(), up_to_.size());
        check_size("receive", receive_.size(), up_to_.size());
        check_size("latency", latency_.size(), up_to_.size());
        check_size("hop", hop_.size(), up_to_.size());
        check_count("in_flight", in_flight, 0, std::numeric_limits<std::int64_t>::max());
    }
    GivenCosts(const GivenCosts&) = delete;
    GivenCosts& operator=(const GivenCosts&) = delete;

private:
    Array<double> up_to_, send_, receive_, latency_, hop_, link_;
    Array<std::int32_t> width_;

public:
    const MessageCosts costs;
};

// What messages cost on a network, which it fits.
const MessageCosts& costs_on(const Network& network, const GivenCosts& given) {
    check_each_or_none("link", given.costs.link.size(), static_cast<std::size_t>(network.link_slots()));
    check_width(network, given.costs.width);
    return given.costs;
}

// What transfers wait for; keeps the arrays it looks at.
class BoundWaits {
public:
    BoundWaits(std::size_t transfers, In<std::int32_t> first, In<std::int32_t> second, In<std::int32_t> posted)
        : posted_(posted) {
        check_pairs(view(first), view(second), transfers);
        check_ids("posted", view(posted), static_cast<std::int64_t>(transfers));
        if (posted.shape(0) != 0) check_size("posted", posted.shape(0), transfers);
        before_ = Rows::by(transfers, first.shape(0), {}, [&](auto k) { return view(second)[k]; });
        for (std::int32_t& k : before_.items) k = view(first)[k];
    }

    Waits of(const BoundTransfers& transfers) const {
        check_size("waits", before_.offsets.size() - 1, (*transfers).size());
        return {before_, view(posted_)};
    }

private:
    Rows before_;
    In<std::int32_t> posted_;
};

Formula phases(const BoundTransfers& transfers, const BoundRanks& ranks, const BoundWaits& waits,
               In<std::int64_t> phase_offsets, In<std::int64_t> batch_offsets, bool partners, const GivenCosts& costs) {
    const Routes routes = transfers.walked();
    nb::gil_scoped_release released;
    check_phases(view(phase_offsets), view(batch_offsets), routes.size());
    return time_phases(routes, ranks.of(transfers), transfers.size(), view(phase_offsets), view(batch_offsets),
                       partners, costs_on(routes.network, costs), waits.of(transfers));
}

// (synchronization, setup, transfer, all three) [s].
std::tuple<double, double, double, double> terms(In<double> busy, In<std::int64_t> setups,
                                                 In<std::int64_t> batch_offsets, std::int64_t barriers, double barrier,
                                                 double setup) {
    check_size("setups", setups.shape(0), busy.shape(0));
    check_rise("batch_offsets", view(batch_offsets), busy.shape(0));
    const FormulaTerms found = add_up(view(busy), view(setups), view(batch_offsets), barriers, barrier, setup);
    return {found.synchronization, found.setup, found.transfer, found.total()};
}

auto least(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<double> value) {
    Array<double> result;
    {
        nb::gil_scoped_release released;
        const Routes routes = checked_routes(network, view(source), view(target));
        check_size("value", value.shape(0), routes.size());
        result = least_on_links(routes, view(value));
    }
    return give(std::move(result));
}

void run_stage(StageClock& clock, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> bytes,
               In<std::uint8_t> packed, In<std::int64_t> parts, In<std::uint8_t> forwarded) {
    const StageClock::Stage stage{view(source), view(target), view(bytes), view(packed), view(parts), view(forwarded)};
    nb::gil_scoped_release released;
    for (const auto& ends : {stage.source, stage.target}) check_ids("ends", ends, clock.ranks());
    for (const std::size_t size : {stage.target.size(), stage.bytes.size(), stage.parts.size(), stage.forwarded.size()})
        check_size("bundles", size, stage.size());
    if (!stage.packed.empty()) check_size("packed", stage.packed.size(), stage.size());
    clock.run(stage);
}

}  // namespace

void bind_formula(nb::module_& module) {
    nb::class_<StageClock>(module, "StageClock")
        .def(
            "__init__",
            [](StageClock* self, const Network& network, In<std::int32_t> node, const GivenCosts& costs,
               bool one_processor, double part_s) {
                check_ids("node", view(node), network.nodes());
                require(std::isfinite(part_s) && part_s >= 0, "part_s", "must be finite and at least 0");
                new (self) StageClock(network, view(node), costs_on(network, costs), one_processor, part_s);
            },
            nb::arg("network"), nb::arg("node").noconvert(), nb::arg("costs"), nb::kw_only(), nb::arg("one_processor"),
            nb::arg("part_s"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 4>())
        .def("run", &run_stage, nb::arg("source").noconvert(), nb::arg("target").noconvert(),
             nb::arg("bytes").noconvert(), nb::kw_only(), nb::arg("packed").noconvert(), nb::arg("parts").noconvert(),
             nb::arg("forwarded").noconvert())
        .def("finish", &StageClock::finish)
        .def_prop_ro("now", &StageClock::now)
        .def_prop_ro("work", &StageClock::work)
        .def_prop_ro("busiest", &StageClock::busiest);
    nb::class_<GivenCosts>(module, "MessageCosts")
        .def(nb::init<In<double>, In<double>, In<double>, In<double>, In<double>, double, double, double, double,
                      double, In<double>, In<std::int32_t>, double, double, double, double, double, double, bool, bool,
                      bool, std::int64_t, double, double>(),
             nb::kw_only(), nb::arg("up_to").noconvert(), nb::arg("send").noconvert(), nb::arg("receive").noconvert(),
             nb::arg("latency").noconvert(), nb::arg("hop").noconvert(), nb::arg("out"), nb::arg("in_"),
             nb::arg("node"), nb::arg("copy"), nb::arg("exchange"), nb::arg("link").noconvert(),
             nb::arg("width").noconvert(), nb::arg("tolerance"), nb::arg("blocking"), nb::arg("setup"),
             nb::arg("signal"), nb::arg("signal_hop"), nb::arg("eager"), nb::arg("before"), nb::arg("one_processor"),
             nb::arg("shared_processor"), nb::arg("in_flight"), nb::arg("startup"), nb::arg("detects"));
    nb::class_<Formula>(module, "Formula")
        .def_prop_ro("busy", &entries<Formula, &Formula::busy>)
        .def_prop_ro("kind", &entries<Formula, &Formula::kind>)
        .def_prop_ro("index", &entries<Formula, &Formula::index>)
        .def_prop_ro("setups", &entries<Formula, &Formula::setups>)
        .def(
            "take_timetable",
            [](Formula& found, In<double> time, In<std::int64_t> setups) {
                check_size("time", time.shape(0), found.busy.size());
                check_size("setups", setups.shape(0), found.busy.size());
                found.take_later(view(time), Busy::timetable, view(setups), view(setups));
            },
            nb::arg("time").noconvert(), nb::arg("setups").noconvert());
    nb::class_<BoundWaits>(module, "Waits")
        .def(nb::init<std::size_t, In<std::int32_t>, In<std::int32_t>, In<std::int32_t>>(), nb::arg("transfers"),
             nb::arg("first").noconvert(), nb::arg("second").noconvert(), nb::arg("posted").noconvert());
    module.def("time_phases", &phases, nb::arg("transfers"), nb::arg("ranks"), nb::arg("waits"),
               nb::arg("phase_offsets").noconvert(), nb::arg("batch_offsets").noconvert(), nb::arg("partners"),
               nb::arg("costs"));
    module.def("add_up", &terms, nb::arg("busy").noconvert(), nb::arg("setups").noconvert(),
               nb::arg("batch_offsets").noconvert(), nb::kw_only(), nb::arg("barriers"), nb::arg("barrier"),
               nb::arg("setup"));
    module.def("least_on_links", &least, nb::arg("network"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("value").noconvert());
}

}  // namespace conset::bindings
