#include "conset/scheduling/complete_exchange/exchange_search.hpp"

#include "checks.hpp"

namespace conset::bindings {

namespace {

// What `find` returns, without Python's lock while it works.
template <class Find>
auto released(Find&& find) {
    Array<std::int32_t> found;
    {
        nb::gil_scoped_release released;
        found = find();
    }
    return give(std::move(found));
}

void make_search(ExchangeSearch* self, const Network& network, std::int32_t contention) {
    nb::gil_scoped_release released;
    check_count("nodes", network.nodes(), 1, 46'340);  // whose messages 32 bits number
    new (self) ExchangeSearch(network, contention);
}

auto fill(const ExchangeSearch& search, In<std::int32_t> start) {
    return released([&] {
        check_size("start", start.shape(0), search.messages());
        return search.fill(view(start));
    });
}

auto peel(const ExchangeSearch& search, std::uint64_t seed) {
    return released([&] { return search.peel(seed); });
}

auto reorder(const ExchangeSearch& search, In<std::int32_t> phase, std::int32_t target, std::int64_t rounds,
             std::uint64_t seed) {
    return released([&] {
        check_size("phase", phase.shape(0), search.messages());
        check_ids("phase", view(phase), static_cast<std::int64_t>(search.messages()) + 1);
        return search.reorder(copy(phase), target, rounds, seed);
    });
}

}  // namespace

void bind_exchange_search(nb::module_& module) {
    nb::class_<ExchangeSearch>(module, "ExchangeSearch")
        .def("__init__", &make_search, nb::arg("network"), nb::arg("contention"))
        .def("fill", &fill, nb::arg("start").noconvert())
        .def("peel", &peel, nb::arg("seed"))
        .def("reorder", &reorder, nb::arg("phase").noconvert(), nb::arg("target"), nb::arg("rounds"), nb::arg("seed"));
}

}  // namespace conset::bindings
