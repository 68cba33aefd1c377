#include "conset/scheduling/complete_exchange/exchange_search.hpp"

#include "checks.hpp"

namespace conset::bindings {

namespace {

// The search with the items it refers to: NumPy's arrays are copied, they may go before it does.
class OwnedSearch {
public:
    OwnedSearch(const Network& network, std::int32_t contention, In<std::int64_t> offsets, In<std::int32_t> message)
        : offsets_(copy(offsets)), message_(copy(message)), search_(network, contention, checked(network)) {}

    std::size_t items() const { return offsets_.size() - 1; }

    // A packing of these items.
    ExchangePacking packing(const In<std::int32_t>& phase, const In<std::int64_t>& chosen) const {
        check_size("phase", phase.shape(0), items());
        check_ids("phase", view(phase), static_cast<std::int64_t>(items()) + 1);
        check_size("chosen", chosen.shape(0), items());
        for (std::size_t i = 0; i < items(); ++i)
            check_count("chosen", chosen.data()[i], offsets_[i], offsets_[i + 1] - 1);
        return {copy(phase), copy(chosen)};
    }

    const ExchangeSearch& operator*() const { return search_; }

private:
    ExchangeItems checked(const Network& network) const {
        check_rise("offsets", offsets_, message_.size());
        const std::int64_t nodes = network.nodes();
        check_ids<std::int32_t>("message", message_, nodes * (nodes - 1));
        return {offsets_, message_};
    }

    Array<std::int64_t> offsets_;
    Array<std::int32_t> message_;
    ExchangeSearch search_;
};

ExchangePacking fill(const OwnedSearch& search, In<std::int32_t> start) {
    nb::gil_scoped_release released;
    check_size("start", start.shape(0), search.items());
    return (*search).fill(view(start));
}

ExchangePacking peel(const OwnedSearch& search, std::uint64_t seed) {
    nb::gil_scoped_release released;
    return (*search).peel(seed);
}

ExchangePacking reorder(const OwnedSearch& search, In<std::int32_t> phase, In<std::int64_t> chosen, std::int32_t target,
                        std::int64_t rounds, std::uint64_t seed) {
    nb::gil_scoped_release released;
    return (*search).reorder(search.packing(phase, chosen), target, rounds, seed);
}

ExchangePacking eject(const OwnedSearch& search, In<std::int32_t> phase, In<std::int64_t> chosen, std::int32_t target,
                      std::int64_t moves, std::uint64_t seed) {
    nb::gil_scoped_release released;
    return (*search).eject(search.packing(phase, chosen), target, moves, seed);
}

}  // namespace

void bind_exchange_search(nb::module_& module) {
    nb::class_<ExchangePacking>(module, "ExchangePacking")
        .def_prop_ro("phase", &entries<ExchangePacking, &ExchangePacking::phase>)
        .def_prop_ro("chosen", &entries<ExchangePacking, &ExchangePacking::chosen>);
    nb::class_<OwnedSearch>(module, "ExchangeSearch")
        .def(nb::init<const Network&, std::int32_t, In<std::int64_t>, In<std::int32_t>>(), nb::arg("network"),
             nb::arg("contention"), nb::arg("offsets").noconvert(), nb::arg("message").noconvert())
        .def("fill", &fill, nb::arg("start").noconvert())
        .def("peel", &peel, nb::arg("seed"))
        .def("reorder", &reorder, nb::arg("phase").noconvert(), nb::arg("chosen").noconvert(), nb::arg("target"),
             nb::arg("rounds"), nb::arg("seed"))
        .def("eject", &eject, nb::arg("phase").noconvert(), nb::arg("chosen").noconvert(), nb::arg("target"),
             nb::arg("moves"), nb::arg("seed"));
}

}  // namespace conset::bindings
