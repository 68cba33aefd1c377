#include "network/transfers.hpp"

namespace conset::bindings {

void bind_transfers(nb::module_& module) {
    using Unlocked = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<BoundTransfers>(module, "Transfers")
        .def(nb::init<const Network&, In<std::int32_t>, In<std::int32_t>, In<std::int64_t>, In<std::int32_t>,
                      In<std::int64_t>>(),
             nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
             nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert(), nb::arg("size").noconvert(),
             nb::keep_alive<1, 2>(), Unlocked());
    nb::class_<BoundRanks>(module, "Ranks")
        .def(nb::init<In<std::int32_t>, In<std::int32_t>, std::int32_t, In<std::uint8_t>>(),
             nb::arg("sender").noconvert(), nb::arg("receiver").noconvert(), nb::arg("ranks"),
             nb::arg("packed").noconvert(), Unlocked());
}

}  // namespace conset::bindings
