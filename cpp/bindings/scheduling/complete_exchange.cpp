#include "conset/scheduling/complete_exchange/complete_exchange.hpp"

#include "checks.hpp"
#include "conset/scheduling/complete_exchange/exchange_product.hpp"
#include "conset/scheduling/complete_exchange/transversal.hpp"

namespace conset::bindings {

namespace {

Phases square_phases(const SquareExchange& square, std::int32_t contention) {
    nb::gil_scoped_release released;
    return square.phases(contention);
}

// The sides of a box with their decompositions; keeps the arrays it looks at.
class BoundAxes {
public:
    BoundAxes(In<std::int32_t> sides, In<std::int32_t> strides, std::int32_t variants, In<std::int32_t> permutation,
              In<std::int32_t> label)
        : sides_(sides), strides_(strides), permutation_(permutation), label_(label), variants_(variants) {
        check_strides();
        check_count("variants", variants, 1, std::numeric_limits<std::int16_t>::max());
        std::size_t cells = 0;
        for (const std::int32_t side : view(sides_)) cells += as_size(variants) * as_size(side) * as_size(side);
        check_size("permutation", permutation_.shape(0), cells);
        check_size("label", label_.shape(0), cells);
        check_ids("permutation", view(permutation_), kMost);
        check_ids("label", view(label_), kMost);
    }

    ProductAxes operator*() const {
        return {view(sides_), view(strides_), variants_, view(permutation_), view(label_)};
    }

private:
    static constexpr std::int64_t kMost = 1 << 15;  // nodes, and more than any other number

    // Nodes are numbered from 0 without gaps.
    void check_strides() const {
        check_size("strides", strides_.shape(0), sides_.shape(0));
        require(sides_.shape(0) > 0, "sides", "at least 1 entry required");
        check_ids("sides", view(sides_), kMost, 1);
        Array<std::pair<std::int32_t, std::int32_t>> axes;
        for (std::size_t k = 0; k < sides_.shape(0); ++k)
            if (view(sides_)[k] > 1) axes.emplace_back(view(strides_)[k], view(sides_)[k]);
        std::sort(axes.begin(), axes.end());
        std::int64_t nodes = 1;
        for (const auto& [stride, side] : axes) {
            require(stride == nodes, "strides", "must number all nodes");
            nodes *= side;
            check_count("nodes", nodes, 1, kMost);
        }
    }

    In<std::int32_t> sides_, strides_, permutation_, label_;
    std::int32_t variants_;
};

// Groups of steps; keeps the arrays it looks at.
class BoundGroups {
public:
    BoundGroups(In<std::int32_t> stride, In<std::int32_t> variant, In<std::int32_t> base, In<std::int32_t> modulus,
                In<std::int32_t> shift)
        : stride_(stride), variant_(variant), base_(base), modulus_(modulus), shift_(shift) {
        check_size("modulus", modulus_.shape(0), base_.shape(0));
        check_size("shift", shift_.shape(0), base_.shape(0));
        check_ids("base", view(base_), kMost);
        check_ids("modulus", view(modulus_), kMost, 1);
        check_ids("shift", view(shift_), kMost);
        check_ids("stride", view(stride_), kMost);
    }

    // They fit the axes: every product of permutations has its group, and every pair of labels its slot.
    ProductGroups of(const ProductAxes& axes, const ProductSlots& slots) const {
        check_size("stride", stride_.shape(0), axes.sides.size() * as_size(axes.variants));
        check_ids("variant", view(variant_), axes.variants);
        for (std::int32_t v = 0; v < axes.variants; ++v) check_variant(axes, slots, v);
        return {view(stride_), view(variant_), view(base_), view(modulus_), view(shift_)};
    }

private:
    static constexpr std::int64_t kMost = std::int64_t{1} << 30;

    void check_variant(const ProductAxes& axes, const ProductSlots& slots, std::int32_t v) const {
        std::int64_t group = 0, label = 0;
        std::size_t table = 0;
        for (std::size_t k = 0; k < axes.sides.size(); ++k) {
            const bool last = k + 1 == axes.sides.size();
            const std::size_t cells = as_size(axes.sides[k]) * as_size(axes.sides[k]);
            const std::size_t at = table + (last ? 0 : as_size(v) * cells);
            table += as_size(axes.variants) * cells;
            const std::int64_t permutation = largest(axes.permutation.subspan(at, cells));
            const std::int64_t most = largest(axes.label.subspan(at, cells));
            if (last) check_count("permutation", permutation, 0, static_cast<std::int64_t>(variant_.shape(0)) - 1);
            group += permutation * view(stride_)[cell(k, axes.variants, last ? 0 : v)];
            label = slots.slot.empty() || !last ? label + most : label * slots.columns + most;
        }
        check_count("group", group, 0, static_cast<std::int64_t>(base_.shape(0)) - 1);
        if (!slots.slot.empty()) check_count("label", label, 0, static_cast<std::int64_t>(slots.slot.size()) - 1);
    }

    static std::int32_t largest(std::span<const std::int32_t> values) {
        return *std::max_element(values.begin(), values.end());
    }

    In<std::int32_t> stride_, variant_, base_, modulus_, shift_;
};

auto steps_of_product(const BoundAxes& axes, const BoundGroups& groups, In<std::int32_t> slots, std::int32_t columns,
                      std::int32_t merge) {
    Array<std::int32_t> step;
    {
        nb::gil_scoped_release released;
        check_ids("slots", view(slots), 1 << 30);
        check_count("columns", columns, 0, 1 << 15);
        check_count("merge", merge, 1, std::numeric_limits<std::int32_t>::max());
        const ProductSlots table{view(slots), columns};
        step = product_steps(*axes, groups.of(*axes, table), table, merge);
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
    using Ints = In<std::int32_t>;
    nb::class_<BoundAxes>(module, "ProductAxes")
        .def(nb::init<Ints, Ints, std::int32_t, Ints, Ints>(), nb::kw_only(), nb::arg("sides").noconvert(),
             nb::arg("strides").noconvert(), nb::arg("variants"), nb::arg("permutation").noconvert(),
             nb::arg("label").noconvert());
    nb::class_<BoundGroups>(module, "ProductGroups")
        .def(nb::init<Ints, Ints, Ints, Ints, Ints>(), nb::kw_only(), nb::arg("stride").noconvert(),
             nb::arg("variant").noconvert(), nb::arg("base").noconvert(), nb::arg("modulus").noconvert(),
             nb::arg("shift").noconvert());
    module.def("product_steps", &steps_of_product, nb::arg("axes"), nb::arg("groups"), nb::kw_only(),
               nb::arg("slots").noconvert(), nb::arg("columns"), nb::arg("merge"));
    module.def("merge_phases", &merged_offsets, nb::arg("nodes"), nb::arg("offsets").noconvert(),
               nb::arg("message").noconvert(), nb::arg("most"));
    module.def("find_transversal", &transversal, nb::arg("nodes"), nb::arg("symbol").noconvert(), nb::arg("most"),
               nb::arg("seed"));
}

}  // namespace conset::bindings
