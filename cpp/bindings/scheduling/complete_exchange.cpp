#include "conset/scheduling/complete_exchange/complete_exchange.hpp"

#include <nanobind/stl/string.h>

#include "checks.hpp"
#include "conset/scheduling/complete_exchange/exchange_choice.hpp"

namespace conset::bindings {

namespace {

Phases square_phases(const SquareExchange& square, std::int32_t contention) {
    nb::gil_scoped_release released;
    return square.phases(contention);
}

std::int64_t link_load(const ExchangeBox& box, std::int32_t axis) {
    check_count("axis", axis, 0, static_cast<std::int64_t>(box.sides.size()) - 1);
    return box.link_load(axis);
}

}  // namespace

void bind_complete_exchange(nb::module_& module) {
    nb::class_<SquareExchange>(module, "SquareExchange")
        .def(nb::init<std::int32_t>(), nb::arg("side"))
        .def_prop_ro("steps", &SquareExchange::steps)
        .def("partner", &SquareExchange::partner, nb::arg("node"), nb::arg("step"))
        .def("step", &SquareExchange::step, nb::arg("source"), nb::arg("target"))
        .def("phases", &square_phases, nb::arg("contention"));
    nb::class_<ExchangeChoice>(module, "ExchangeChoice")
        .def_ro("phases", &ExchangeChoice::phases)
        .def_ro("name", &ExchangeChoice::name);
    nb::class_<ExchangeBox>(module, "ExchangeBox")
        .def(nb::init<const Network&, std::int64_t>(), nb::arg("network"), nb::arg("contention"))
        .def_ro("bound", &ExchangeBox::bound)
        .def_prop_ro("messages", &ExchangeBox::messages)
        .def("link_load", &link_load, nb::arg("axis"))
        .def("merged", &merge_phases, nb::arg("phases"), nb::arg("most"), nb::call_guard<nb::gil_scoped_release>())
        .def("choose", &choose_exchange, nb::kw_only(), nb::arg("effort"), nb::arg("seed"),
             nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace conset::bindings
