#include "conset/runtime/exchange.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "checks.hpp"
#include "conset/execution/rank_executor.hpp"

namespace conset::bindings {

namespace {

Blocks blocks_of(In<std::int32_t> peer, In<std::int64_t> count, In<std::int64_t> displacement) {
    check_size("count", count.shape(0), peer.shape(0));
    check_size("displacement", displacement.shape(0), peer.shape(0));
    return {copy(peer), copy(count), copy(displacement)};
}

// Addresses of the caller's buffers and bits of their datatypes.
struct Sides {
    std::uint64_t send, receive, send_type, receive_type;

    template <class Handle>
    RankBuffers<Handle> buffers() const {
        return {reinterpret_cast<const std::byte*>(send), reinterpret_cast<std::byte*>(receive),
                handle_of<Handle>(send_type), handle_of<Handle>(receive_type)};
    }
};

ExchangeOptions options_of(std::string machine, std::string method, std::string sync, std::string compute,
                           double timeout_s, std::uint64_t seed, std::int64_t effort, std::string schedule,
                           std::string combine, std::int64_t memory, std::int64_t measure,
                           std::int32_t ranks_per_node) {
    return {std::move(machine),
            std::move(method),
            std::move(sync),
            std::move(compute),
            timeout_s,
            seed,
            effort,
            std::move(schedule),
            std::move(combine),
            memory,
            measure,
            ranks_per_node};
}

// An exchange, and what keeps alive the buffers that its requests know by address.
template <class Handle>
class BoundExchange {
public:
    BoundExchange(std::unique_ptr<Exchange<Handle>> exchange, nb::object owner)
        : exchange_(std::move(exchange)), owner_(std::move(owner)) {}
    BoundExchange(const BoundExchange&) = delete;
    BoundExchange& operator=(const BoundExchange&) = delete;
    // MPI goes on using the buffers of an exchange that never ended: they are never given back.
    ~BoundExchange() {
        if (exchange_->running()) static_cast<void>(owner_.release());
    }

    bool start() { return ended(executor().start()); }
    bool progress() { return ended(executor().progress()); }
    bool wait(double seconds, double nap_s) { return ended(executor().wait(seconds, nap_s)); }
    std::string missing() { return executor().describe(executor().missing()); }
    Outcome release() { return exchange_->free(); }
    Outcome update(const Sides& sides, const Blocks& sends, const Blocks& receives, const Outcome& before,
                   const std::string& elements, nb::object owner) {
        Outcome outcome;
        {
            const nb::gil_scoped_release released;
            outcome = exchange_->update(sides.buffers<Handle>(), sends, receives, before, elements);
        }
        if (outcome.fine()) owner_ = std::move(owner);
        return outcome;
    }
    const Exchange<Handle>& exchange() const { return *exchange_; }

private:
    RankExecutor<Handle>& executor() {
        if (exchange_->executor() == nullptr) throw std::runtime_error("the exchange was freed, or has no buffer");
        return *exchange_->executor();
    }
    bool ended(ExchangeState state) {
        if (state == ExchangeState::failed) throw std::runtime_error(executor().describe(executor().failure()));
        return state == ExchangeState::ended;
    }

    std::unique_ptr<Exchange<Handle>> exchange_;
    nb::object owner_;
};

// Called where sources are not known: takes counts, gives an address, or else what is wrong. Python's things are
// touched while its lock is held.
std::function<std::byte*(const Blocks&)> asked_of(const nb::object& give_buffer) {
    const std::shared_ptr<nb::object> callable(new nb::object(give_buffer), [](nb::object* held) {
        const nb::gil_scoped_acquire acquired;
        delete held;
    });
    return [callable](const Blocks& blocks) {
        const nb::gil_scoped_acquire acquired;
        Array<std::int64_t> count = blocks.count;
        const auto [address, wrong] =
            nb::cast<std::pair<std::uint64_t, std::string>>((*callable)(give(std::move(count))));
        if (!wrong.empty()) throw Failure(Code::mismatch, wrong);
        return reinterpret_cast<std::byte*>(address);
    };
}

template <class Handle>
std::pair<std::unique_ptr<BoundExchange<Handle>>, Outcome> of_rows(
    const MpiNumbers& mpi, std::uint64_t comm, const Sides& sides, const Blocks& sends, const Blocks* receives,
    const ExchangeOptions& options, const nb::object& give_buffer, bool own_by_message, const Outcome& before,
    const std::string& elements, nb::object owner) {
    check_size("bytes of a handle", as_size(mpi.handle_bytes), sizeof(Handle));
    ExchangeRequest<Handle> request;
    request.world = {mpi_of<Handle>(mpi), handle_of<Handle>(comm)};
    request.buffers = sides.buffers<Handle>();
    request.sends = sends;
    request.sources_known = receives != nullptr;
    if (receives != nullptr) request.receives = *receives;
    request.options = options;
    request.own_by_message = own_by_message;
    request.elements = elements;
    if (!give_buffer.is_none()) request.receive_buffer = asked_of(give_buffer);
    Outcome outcome = before;
    std::unique_ptr<Exchange<Handle>> exchange;
    {
        const nb::gil_scoped_release released;
        exchange = Exchange<Handle>::of_rows(request, outcome);
    }
    std::unique_ptr<BoundExchange<Handle>> bound;
    if (exchange) bound = std::make_unique<BoundExchange<Handle>>(std::move(exchange), std::move(owner));
    return {std::move(bound), outcome};
}

template <class Handle>
void bind_one(nb::module_& module, const char* name) {
    using Bound = BoundExchange<Handle>;
    using Released = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<Bound>(module, name)
        .def_static("of_rows", &of_rows<Handle>, nb::kw_only(), nb::arg("mpi"), nb::arg("comm"), nb::arg("sides"),
                    nb::arg("sends"), nb::arg("receives").none(), nb::arg("options"), nb::arg("give_buffer").none(),
                    nb::arg("own_by_message"), nb::arg("before"), nb::arg("elements"), nb::arg("owner"))
        .def("start", &Bound::start, Released())
        .def("progress", &Bound::progress, Released())
        .def("wait", &Bound::wait, Released(), nb::arg("seconds"), nb::arg("nap_s"))
        .def("missing", &Bound::missing, Released())
        .def("release", &Bound::release, Released())
        .def("update", &Bound::update, nb::kw_only(), nb::arg("sides"), nb::arg("sends"), nb::arg("receives"),
             nb::arg("before"), nb::arg("elements"), nb::arg("owner"))
        .def_prop_ro("running", [](const Bound& bound) { return bound.exchange().running(); })
        .def_prop_ro("nap_s", [](const Bound& bound) { return bound.exchange().nap(); })
        .def_prop_ro("method", [](const Bound& bound) { return bound.exchange().method(); })
        .def_prop_ro("sync", [](const Bound& bound) { return bound.exchange().sync(); })
        .def_prop_ro("phases", [](const Bound& bound) { return bound.exchange().phases(); })
        .def_prop_ro("stages", [](const Bound& bound) { return bound.exchange().stages(); })
        .def_prop_ro("times", [](const Bound& bound) { return bound.exchange().times(); })
        .def_prop_ro("receives", [](const Bound& bound) { return bound.exchange().receives(); });
}

}  // namespace

void bind_exchange(nb::module_& module) {
    nb::enum_<Code>(module, "Code")
        .value("fine", Code::fine)
        .value("argument", Code::argument)
        .value("file", Code::file)
        .value("mismatch", Code::mismatch)
        .value("state", Code::state)
        .value("schedule", Code::schedule)
        .value("timeout", Code::timeout)
        .value("mpi", Code::mpi)
        .value("memory", Code::memory)
        .value("internal", Code::internal);
    nb::class_<Outcome>(module, "Outcome")
        .def(
            "__init__",
            [](Outcome* self, Code code, std::string detail) { new (self) Outcome{code, std::move(detail)}; },
            nb::arg("code"), nb::arg("detail"))
        .def_ro("code", &Outcome::code)
        .def_ro("detail", &Outcome::detail);
    nb::class_<Blocks>(module, "Blocks")
        .def(
            "__init__",
            [](Blocks* self, In<std::int32_t> peer, In<std::int64_t> count, In<std::int64_t> displacement) {
                new (self) Blocks(blocks_of(peer, count, displacement));
            },
            nb::kw_only(), nb::arg("peer").noconvert(), nb::arg("count").noconvert(),
            nb::arg("displacement").noconvert())
        .def_prop_ro("peer", &entries<Blocks, &Blocks::peer>)
        .def_prop_ro("count", &entries<Blocks, &Blocks::count>)
        .def_prop_ro("displacement", &entries<Blocks, &Blocks::displacement>);
    nb::class_<Sides>(module, "Sides")
        .def(
            "__init__",
            [](Sides* self, std::uint64_t send, std::uint64_t receive, std::uint64_t send_type,
               std::uint64_t receive_type) { new (self) Sides{send, receive, send_type, receive_type}; },
            nb::kw_only(), nb::arg("send"), nb::arg("receive"), nb::arg("send_type"), nb::arg("receive_type"));
    nb::class_<ExchangeOptions>(module, "ExchangeOptions")
        .def(
            "__init__",
            [](ExchangeOptions* self, std::string machine, std::string method, std::string sync, std::string compute,
               double timeout_s, std::uint64_t seed, std::int64_t effort, std::string schedule, std::string combine,
               std::int64_t memory, std::int64_t measure, std::int32_t ranks_per_node) {
                new (self) ExchangeOptions(options_of(std::move(machine), std::move(method), std::move(sync),
                                                      std::move(compute), timeout_s, seed, effort, std::move(schedule),
                                                      std::move(combine), memory, measure, ranks_per_node));
            },
            nb::kw_only(), nb::arg("machine"), nb::arg("method"), nb::arg("sync"), nb::arg("compute"),
            nb::arg("timeout_s"), nb::arg("seed"), nb::arg("effort") = 1, nb::arg("schedule") = "",
            nb::arg("combine") = "auto", nb::arg("memory") = ExchangeOptions{}.memory, nb::arg("measure") = 0,
            nb::arg("ranks_per_node") = 1);
    nb::class_<ExchangeTimes>(module, "ExchangeTimes")
        .def_ro("rows", &ExchangeTimes::rows)
        .def_ro("schedule", &ExchangeTimes::schedule)
        .def_ro("plan", &ExchangeTimes::plan)
        .def_ro("schedule_run", &ExchangeTimes::schedule_run)
        .def_ro("mpi_run", &ExchangeTimes::mpi_run);
    bind_one<int>(module, "ExchangeOfInts");
    bind_one<void*>(module, "ExchangeOfPointers");
}

}  // namespace conset::bindings
