#include "conset/execution/rank_executor.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "checks.hpp"
#include "conset/execution/items.hpp"

namespace conset::bindings {

namespace {

RankOperations operations_of(In<std::int32_t> phase, In<std::int32_t> peer, In<std::int64_t> offset,
                             In<std::int64_t> bytes, In<std::uint8_t> work) {
    const std::size_t count = phase.shape(0);
    check_size("peer", peer.shape(0), count);
    check_size("offset", offset.shape(0), count);
    check_size("bytes", bytes.shape(0), count);
    if (work.shape(0) != 0) check_size("work", work.shape(0), count);
    check_ids("phase", view(phase), std::int64_t{1} << 31);
    check_ids("peer", view(peer), std::int64_t{1} << 31);
    check_ids("bytes", view(bytes), std::int64_t{1} << 31);
    require(std::is_sorted(phase.data(), phase.data() + count), "phase", "must rise");
    return {copy(phase), copy(peer), copy(offset), copy(bytes), copy(work), {}};
}

RankCopies copies_of(In<std::int64_t> offsets, In<std::uint8_t> work, In<std::int64_t> source, In<std::int64_t> target,
                     In<std::int64_t> bytes) {
    check_rise("offsets", view(offsets), bytes.shape(0));
    check_size("work", work.shape(0), bytes.shape(0));
    check_size("source", source.shape(0), bytes.shape(0));
    check_size("target", target.shape(0), bytes.shape(0));
    return {copy(offsets), copy(work), copy(source), copy(target), copy(bytes)};
}

RankItems items_of(std::int64_t item_bytes, In<std::int64_t> send_items, In<std::int64_t> receive_items, bool add,
                   int type) {
    check_count("item_bytes", item_bytes, 1, std::int64_t{1} << 31);
    check_count("type", type, 0, static_cast<int>(ItemType::complex128));
    const auto number = static_cast<ItemType>(type);
    require(!add || number != ItemType::bytes, "type", "must be a number's to add");
    require(item_bytes % number_bytes(number) == 0, "item_bytes", "must be a multiple of its number's");
    return {item_bytes, copy(send_items), copy(receive_items), add, number};
}

void check_range(const char* what, std::int64_t start, std::int64_t bytes, std::size_t area) {
    const auto size = static_cast<std::int64_t>(area);
    check_count(what, bytes, 0, size);
    check_count(what, start, 0, size - bytes);
}

void check_areas(const char* what, const RankOperations& operations, std::size_t buffer, std::size_t work) {
    for (std::size_t k = 0; k < operations.size(); ++k)
        check_range(what, operations.offset[k], operations.bytes[k], operations.in_work(k) ? work : buffer);
}

void check_copies(const char* what, const RankCopies& copies, std::size_t operations, std::size_t send,
                  std::size_t work, std::size_t target) {
    if (copies.offsets.empty()) return;
    check_size(what, copies.offsets.size(), operations + 1);
    for (std::size_t k = 0; k < copies.bytes.size(); ++k) {
        check_range(what, copies.source[k], copies.bytes[k], copies.work[k] != 0 ? work : send);
        check_range(what, copies.target[k], copies.bytes[k], target);
    }
}

// Of items every one is in its buffer; a plan's bytes then lie in the lists.
void check_plan(const RankPlan& plan, const RankItems& items, std::size_t send, std::size_t receive) {
    if (items.item_bytes != 0) {
        const std::size_t each = as_size(items.item_bytes);
        check_ids("send_items", View<const std::int64_t>(items.send_items), static_cast<std::int64_t>(send / each));
        check_ids("receive_items", View<const std::int64_t>(items.receive_items),
                  static_cast<std::int64_t>(receive / each));
        send = items.send_items.size() * each;
        receive = items.receive_items.size() * each;
    }
    const auto work = static_cast<std::size_t>(plan.work_bytes);
    check_areas("sends", plan.sends, send, work);
    check_areas("receives", plan.receives, receive, work);
    check_copies("packs", plan.packs, plan.sends.size(), send, work, work);
    check_copies("unpacks", plan.unpacks, plan.receives.size(), send, work, receive);
    for (const RankOperations* operations : {&plan.sends, &plan.receives})
        check_ids("phase", View<const std::int32_t>(operations->phase), plan.phases);
}

RankNeeds needs_of(In<std::int64_t> offsets, In<std::int32_t> operations) { return {copy(offsets), copy(operations)}; }

void check_needs(const char* name, const RankNeeds& needs, std::size_t own, std::size_t all) {
    if (!needs.offsets.empty())
        check_offsets(name, View<const std::int64_t>(needs.offsets), own, needs.operations.size());
    else
        check_size(name, needs.operations.size(), 0);
    check_ids(name, View<const std::int32_t>(needs.operations), static_cast<std::int64_t>(all));
}

RankPlan plan_of(std::int64_t phases, int sync, std::int64_t every, std::int64_t in_flight, const RankOperations& sends,
                 const RankOperations& receives, std::int64_t work_bytes, const RankCopies* packs,
                 const RankCopies* unpacks, const RankNeeds* needs, const RankNeeds* signals,
                 In<std::uint8_t> signalled) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    check_count("phases", phases, 0, std::int64_t{1} << 31);
    check_count("sync", sync, 0, static_cast<int>(SyncKind::detect));
    check_count("every", every, 1, kMost);
    check_count("in_flight", in_flight, 0, kMost);
    check_count("work_bytes", work_bytes, 0, kMost);
    const RankNeeds none;
    const RankNeeds &of_sends = needs == nullptr ? none : *needs, &of_receives = signals == nullptr ? none : *signals;
    check_needs("needs", of_sends, sends.size(), receives.size() + sends.size());
    check_needs("signals", of_receives, receives.size(), receives.size() + sends.size());
    if (signalled.shape(0) != 0) check_size("signalled", signalled.shape(0), sends.size());
    return {phases,
            static_cast<SyncKind>(sync),
            every,
            in_flight,
            sends,
            receives,
            work_bytes,
            packs == nullptr ? RankCopies{} : *packs,
            unpacks == nullptr ? RankCopies{} : *unpacks,
            of_sends,
            of_receives,
            copy(signalled),
            {}};
}

// A buffer of the caller's, of whatever device.
struct Buffer {
    std::uint64_t address;
    std::size_t bytes;
};

// An executor, and what keeps alive the buffers that its requests know by address.
template <class Handle>
class BoundExecutor {
public:
    BoundExecutor(const MpiNumbers& mpi, std::uint64_t comm, const RankPlan& plan, const RankItems* items,
                  const Buffer& send, const Buffer& receive, nb::object owner)
        : owner_(std::move(owner)) {
        check_size("bytes of a handle", as_size(mpi.handle_bytes), sizeof(Handle));
        const RankItems given = items == nullptr ? RankItems{} : *items;
        check_plan(plan, given, send.bytes, receive.bytes);
        const MpiWorld<Handle> world{mpi_of<Handle>(mpi), handle_of<Handle>(comm)};
        const RankBuffers<Handle> buffers{reinterpret_cast<const std::byte*>(send.address),
                                          reinterpret_cast<std::byte*>(receive.address), Handle{}, Handle{}};
        executor_ = std::make_unique<RankExecutor<Handle>>(world, plan, given, buffers);
    }
    BoundExecutor(const BoundExecutor&) = delete;
    BoundExecutor& operator=(const BoundExecutor&) = delete;
    // MPI goes on using the buffers of an exchange that never ended: they are never given back.
    ~BoundExecutor() {
        if (executor_ && executor_->running()) static_cast<void>(owner_.release());
    }

    void prepare() {
        if (!executor_->prepare()) fail();
    }
    bool start() { return ended(executor_->start()); }
    bool progress() { return ended(executor_->progress()); }
    bool wait(double seconds, double nap_s) { return ended(executor_->wait(seconds, nap_s)); }
    bool running() const { return executor_->running(); }
    std::string missing() { return executor_->describe(executor_->missing()); }
    void release() { executor_->release(); }

private:
    bool ended(ExchangeState state) const {
        if (state == ExchangeState::failed) fail();
        return state == ExchangeState::ended;
    }
    [[noreturn]] void fail() const { throw std::runtime_error(executor_->describe(executor_->failure())); }

    nb::object owner_;
    std::unique_ptr<RankExecutor<Handle>> executor_;
};

template <class Handle>
void bind_executor(nb::module_& module, const char* name) {
    using Bound = BoundExecutor<Handle>;
    using Released = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<Bound>(module, name)
        .def(nb::init<const MpiNumbers&, std::uint64_t, const RankPlan&, const RankItems*, const Buffer&, const Buffer&,
                      nb::object>(),
             nb::arg("mpi"), nb::arg("comm"), nb::arg("plan"), nb::arg("items").none(), nb::arg("send"),
             nb::arg("receive"), nb::arg("owner"))
        .def("prepare", &Bound::prepare, Released())
        .def("start", &Bound::start, Released())
        .def("progress", &Bound::progress, Released())
        .def("wait", &Bound::wait, Released(), nb::arg("seconds"), nb::arg("nap_s"))
        .def("missing", &Bound::missing, Released())
        .def("release", &Bound::release, Released())
        .def_prop_ro("running", &Bound::running);
}

MpiNumbers numbers_of(In<std::uint64_t> calls, std::uint64_t byte, std::uint64_t errors_return,
                      std::uint64_t handle_bytes, std::uint64_t status_bytes, std::uint64_t source_at,
                      std::int64_t any_source, std::int64_t named) {
    check_size("calls", calls.shape(0), kMpiCalls.size());
    MpiNumbers numbers{{}, byte, errors_return, handle_bytes, status_bytes, source_at, any_source, named};
    std::copy_n(calls.data(), numbers.calls.size(), numbers.calls.begin());
    return numbers;
}

// In the order of ItemType; NumPy's names.
std::vector<std::string> item_types() {
    return {"bytes", "int32", "int64", "float32", "float64", "complex64", "complex128"};
}

std::vector<std::string> call_names() { return {kMpiCalls.begin(), kMpiCalls.end()}; }

}  // namespace

void bind_rank_executor(nb::module_& module) {
    nb::class_<RankOperations>(module, "RankOperations")
        .def(
            "__init__",
            [](RankOperations* self, In<std::int32_t> phase, In<std::int32_t> peer, In<std::int64_t> offset,
               In<std::int64_t> bytes,
               In<std::uint8_t> work) { new (self) RankOperations(operations_of(phase, peer, offset, bytes, work)); },
            nb::kw_only(), nb::arg("phase").noconvert(), nb::arg("peer").noconvert(), nb::arg("offset").noconvert(),
            nb::arg("bytes").noconvert(), nb::arg("work").noconvert());
    nb::class_<RankCopies>(module, "RankCopies")
        .def(
            "__init__",
            [](RankCopies* self, In<std::int64_t> offsets, In<std::uint8_t> work, In<std::int64_t> source,
               In<std::int64_t> target,
               In<std::int64_t> bytes) { new (self) RankCopies(copies_of(offsets, work, source, target, bytes)); },
            nb::kw_only(), nb::arg("offsets").noconvert(), nb::arg("work").noconvert(), nb::arg("source").noconvert(),
            nb::arg("target").noconvert(), nb::arg("bytes").noconvert());
    nb::class_<RankNeeds>(module, "RankNeeds")
        .def(
            "__init__",
            [](RankNeeds* self, In<std::int64_t> offsets, In<std::int32_t> operations) {
                new (self) RankNeeds(needs_of(offsets, operations));
            },
            nb::kw_only(), nb::arg("offsets").noconvert(), nb::arg("operations").noconvert());
    nb::class_<RankPlan>(module, "RankPlan")
        .def(
            "__init__",
            [](RankPlan* self, std::int64_t phases, int sync, std::int64_t every, std::int64_t in_flight,
               const RankOperations& sends, const RankOperations& receives, std::int64_t work_bytes,
               const RankCopies* packs, const RankCopies* unpacks, const RankNeeds* needs, const RankNeeds* signals,
               In<std::uint8_t> signalled) {
                new (self) RankPlan(plan_of(phases, sync, every, in_flight, sends, receives, work_bytes, packs, unpacks,
                                            needs, signals, signalled));
            },
            nb::kw_only(), nb::arg("phases"), nb::arg("sync"), nb::arg("every"), nb::arg("in_flight"), nb::arg("sends"),
            nb::arg("receives"), nb::arg("work_bytes"), nb::arg("packs").none(), nb::arg("unpacks").none(),
            nb::arg("needs").none(), nb::arg("signals").none(), nb::arg("signalled").noconvert());
    nb::class_<RankItems>(module, "RankItems")
        .def(
            "__init__",
            [](RankItems* self, std::int64_t item_bytes, In<std::int64_t> send_items, In<std::int64_t> receive_items,
               bool add,
               int type) { new (self) RankItems(items_of(item_bytes, send_items, receive_items, add, type)); },
            nb::kw_only(), nb::arg("item_bytes"), nb::arg("send_items").noconvert(),
            nb::arg("receive_items").noconvert(), nb::arg("add"), nb::arg("type"));
    nb::class_<Buffer>(module, "Buffer")
        .def(
            "__init__",
            [](Buffer* self, std::uint64_t address, std::uint64_t bytes) {
                require(address != 0 || bytes == 0, "address", "must not be 0");
                new (self) Buffer{address, bytes};
            },
            nb::kw_only(), nb::arg("address"), nb::arg("bytes"));
    nb::class_<MpiNumbers>(module, "Mpi")
        .def(
            "__init__",
            [](MpiNumbers* self, In<std::uint64_t> calls, std::uint64_t byte, std::uint64_t errors_return,
               std::uint64_t handle_bytes, std::uint64_t status_bytes, std::uint64_t source_at, std::int64_t any_source,
               std::int64_t named) {
                new (self) MpiNumbers(
                    numbers_of(calls, byte, errors_return, handle_bytes, status_bytes, source_at, any_source, named));
            },
            nb::kw_only(), nb::arg("calls").noconvert(), nb::arg("byte"), nb::arg("errors_return"),
            nb::arg("handle_bytes"), nb::arg("status_bytes"), nb::arg("source_at"), nb::arg("any_source"),
            nb::arg("named"));
    bind_executor<int>(module, "ExecutorOfInts");
    bind_executor<void*>(module, "ExecutorOfPointers");
    module.def("item_types", &item_types);
    module.def("mpi_calls", &call_names);
}

}  // namespace conset::bindings
