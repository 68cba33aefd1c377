#include "conset/scheduling/complete_exchange/complete_exchange.hpp"

#include "checks.hpp"
#include "conset/scheduling/complete_exchange/exchange_product.hpp"
#include "conset/scheduling/complete_exchange/transversal.hpp"

namespace conset::bindings {

namespace {

auto square_phases(const SquareExchange& square, std::int32_t contention) {
    Phases phases;
    {
        nb::gil_scoped_release released;
        phases = square.phases(contention);
    }
    return std::make_pair(give(std::move(phases.offsets)), give(std::move(phases.message)));
}

auto steps_of_product(In<std::int32_t> sides, In<std::int32_t> strides, std::int32_t variants,
                      In<std::int32_t> permutation, In<std::int32_t> label, In<std::int32_t> group_stride,
                      In<std::int32_t> variant, In<std::int32_t> base, In<std::int32_t> modulus, In<std::int32_t> shift,
                      In<std::int32_t> cells, std::int32_t cell_columns, std::int32_t merge) {
    Array<std::int32_t> step;
    {
        nb::gil_scoped_release released;
        step = product_steps({view(sides), view(strides), variants, view(permutation), view(label), view(group_stride),
                              view(variant), view(base), view(modulus), view(shift), view(cells), cell_columns, merge});
    }
    return give(std::move(step));
}

auto merged_offsets(std::int32_t nodes, In<std::int64_t> offsets, In<std::int32_t> message, std::int32_t most) {
    Array<std::int64_t> merged;
    {
        nb::gil_scoped_release released;
        check_rise("offsets", view(offsets), message.shape(0));
        check_count("nodes", nodes, 1, 1 << 15);
        check_ids("message", view(message), std::int64_t{nodes} * (nodes - 1));
        merged = merge_phases(nodes, view(offsets), view(message), most);
    }
    return give(std::move(merged));
}

auto transversal(std::int32_t nodes, In<std::int32_t> symbol, std::int32_t most, std::uint64_t seed) {
    Array<std::int32_t> target;
    {
        nb::gil_scoped_release released;
        check_count("nodes", nodes, 1, 1 << 15);
        check_size("symbol", symbol.shape(0), static_cast<std::size_t>(nodes) * static_cast<std::size_t>(nodes));
        check_ids("symbol", view(symbol), nodes);
        target = find_transversal(nodes, view(symbol), most, seed);
    }
    return give(std::move(target));
}

}  // namespace

void bind_complete_exchange(nb::module_& module) {
    nb::class_<SquareExchange>(module, "SquareExchange")
        .def(nb::init<std::int32_t>(), nb::arg("side"))
        .def_prop_ro("steps", &SquareExchange::steps)
        .def("partner", &SquareExchange::partner, nb::arg("node"), nb::arg("step"))
        .def("step", &SquareExchange::step, nb::arg("source"), nb::arg("target"))
        .def("phases", &square_phases, nb::arg("contention"));
    module.def("product_steps", &steps_of_product, nb::arg("sides").noconvert(), nb::arg("strides").noconvert(),
               nb::arg("variants"), nb::arg("permutation").noconvert(), nb::arg("label").noconvert(),
               nb::arg("group_stride").noconvert(), nb::arg("variant").noconvert(), nb::arg("base").noconvert(),
               nb::arg("modulus").noconvert(), nb::arg("shift").noconvert(), nb::arg("cells").noconvert(),
               nb::arg("cell_columns"), nb::arg("merge"));
    module.def("merge_phases", &merged_offsets, nb::arg("nodes"), nb::arg("offsets").noconvert(),
               nb::arg("message").noconvert(), nb::arg("most"));
    module.def("find_transversal", &transversal, nb::arg("nodes"), nb::arg("symbol").noconvert(), nb::arg("most"),
               nb::arg("seed"));
}

}  // namespace conset::bindings
