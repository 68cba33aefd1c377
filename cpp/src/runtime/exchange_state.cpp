#include "conset/runtime/exchange_state.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "conset/formats/plan_file.hpp"
#include "conset/runtime/agreement.hpp"

namespace conset {

namespace {

using Clock = std::chrono::steady_clock;

// The blocks of a side by rank, as MPI_Alltoallv takes them; false where it takes no such, or one lies before the
// buffer.
bool by_rank(const Blocks& blocks, int ranks, Array<int>& counts, Array<int>& starts) {
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    counts.assign(as_size(ranks), 0);
    starts.assign(as_size(ranks), 0);
    for (std::size_t k = 0; k < blocks.peer.size(); ++k) {
        if (blocks.count[k] == 0) continue;
        const std::size_t peer = as_size(blocks.peer[k]);
        const std::int64_t start = blocks.displacement[k];
        if (counts[peer] != 0 || blocks.count[k] > most || start < 0 || start > most) return false;
        counts[peer] = static_cast<int>(blocks.count[k]);
        starts[peer] = static_cast<int>(start);
    }
    return true;
}

// Memory for the blocks of a side, where they lie.
Array<std::byte> room_for(const Blocks& blocks, const TypeShape& type) {
    std::int64_t end = 0;
    for (std::size_t k = 0; k < blocks.peer.size(); ++k)
        if (blocks.count[k] > 0) end = std::max(end, blocks.displacement[k] + blocks.count[k]);
    Array<std::byte> room(as_size(end * type.extent));
    return room;
}

// The application's communicator once more: with errors returned, and for the exchange alone.
template <class Handle>
MpiWorld<Handle> duplicate(const MpiWorld<Handle>& world) {
    MpiWorld<Handle> own = world;
    const auto require = [&](const char* call, int code) {
        if (code != 0) throw Failure(Code::mpi, describe_mpi(world.mpi, call, code));
    };
    require("MPI_Comm_dup", world.mpi.calls.comm_dup(world.comm, &own.comm));
    require("MPI_Comm_set_errhandler", own.mpi.calls.comm_set_errhandler(own.comm, own.mpi.errors_return));
    return own;
}

}  // namespace

std::uint64_t plan_digest(const RankPlan& plan) {
    Digest digest;
    digest.add(static_cast<std::uint64_t>(plan.phases));
    digest.add(static_cast<std::uint64_t>(plan.sync));
    digest.add(static_cast<std::uint64_t>(plan.every));
    return digest.value();
}

template <class Handle>
Exchange<Handle>::State::State(const MpiWorld<Handle>& application, ExchangeOptions given)
    : world(duplicate(application)), control(duplicate(application)), collectives(control), options(std::move(given)) {
    collectives.set_deadline(options.timeout_s, "making an exchange");
}

template <class Handle>
std::string Exchange<Handle>::State::here(const std::string& what) const {
    return "rank " + std::to_string(collectives.rank()) + ": " + what;
}

template <class Handle>
void Exchange<Handle>::State::check(MadeExchange<Handle>& made) const {
    const int rank = collectives.rank();
    made.send_type = type_shape(world.mpi, made.buffers.send_type);
    made.receive_type = type_shape(world.mpi, made.buffers.receive_type);
    made.rows = check_blocks(rank, collectives.ranks(), made.sends, made.send_type, made.receives, made.receive_type,
                             sources_known);
    check_places(rank, made.sends, made.send_type, made.buffers.send, made.receives, made.receive_type,
                 made.buffers.receive);
}

template <class Handle>
void Exchange<Handle>::State::read_compiled() {
    const PlanFile file = read_plan_file(options.schedule, collectives.rank(), collectives.ranks());
    if (file.items.item_bytes > 0)
        throw Failure(Code::schedule, options.schedule + ": a plan with a layout has buffers of its own");
    compiled = file.plan;
}

template <class Handle>
Outcome Exchange<Handle>::State::make(MadeExchange<Handle>& made, const Outcome& before) {
    auto began = Clock::now();
    const auto lap = [&began] {
        const auto since = std::exchange(began, Clock::now());
        return std::chrono::duration<double>(began - since).count();
    };
    Outcome own = before;
    if (own.fine()) own = outcome_of([&] { check(made); });
    const View<const Row::Entry> row(made.rows.in_order.data(), made.rows.in_order.size());
    const bool packable = made.send_type.plain && made.receive_type.plain && !own_by_message;
    if (const Outcome wrong = shared->agree_to_start(own, row, made.elements, packable); !wrong.fine()) return wrong;
    if (compiled) return make_compiled(made, *compiled);
    shared->exchange_rows();
    made.times.rows = lap();
    const ScheduledPart scheduled = shared->schedule(machine, own);
    made.times.schedule = lap();
    made.summary = scheduled.summary;
    RankPlan own_plan;
    if (own.fine())
        own = outcome_of([&] {
            own_plan = plan(made, scheduled);
            prepare(made, own_plan, RankItems{});
        });
    own = agree(collectives, own, scheduled.digest, "its schedule is not that of rank 0: machine files differ");
    made.times.plan = lap();
    if (own.fine() && options.measure > 0 && sources_known)
        own = outcome_of([&] { measure(made, own_plan, packable); });
    if (!own.fine()) {
        drop(made);
        shared->forget();
    }
    return own;
}

template <class Handle>
double Exchange<Handle>::State::time_of(RankExecutor<Handle>& executor) {
    collectives.all_gather(0.0);  // all begin once all are here
    const auto began = Clock::now();
    auto state = executor.start();
    if (state == ExchangeState::waiting)
        state = executor.wait(std::numeric_limits<double>::infinity(), collectives.nap());
    const double took = std::chrono::duration<double>(Clock::now() - began).count();
    if (state == ExchangeState::failed) throw Failure(Code::mpi, here(executor.describe(executor.failure())));
    const Array<double> all = collectives.all_gather(took);
    return *std::max_element(all.begin(), all.end());
}

template <class Handle>
void Exchange<Handle>::State::measure(MadeExchange<Handle>& made, const RankPlan& plan, bool plain) {
    RankCollective own;
    const int ranks = collectives.ranks();
    const bool can = plain && by_rank(made.sends, ranks, own.send_counts, own.send_starts) &&
                     by_rank(made.receives, ranks, own.receive_counts, own.receive_starts);
    const Array<double> able = collectives.all_gather(can ? 1.0 : 0.0);
    if (std::find(able.begin(), able.end(), 0.0) != able.end()) return;
    Array<std::byte> sent = room_for(made.sends, made.send_type), received = room_for(made.receives, made.receive_type);
    RankBuffers<Handle> apart = made.buffers;
    apart.send = sent.data();
    apart.receive = received.data();
    RankExecutor<Handle> scheduled(world, plan, RankItems{}, apart), collective(world, own, apart);
    if (!scheduled.prepare()) throw Failure(Code::mpi, here(scheduled.describe(scheduled.failure())));
    std::array<Array<double>, 2> times;
    for (std::int64_t round = 0; round <= options.measure; ++round)  // the first is not counted
        for (const std::size_t turn : {std::size_t{0}, std::size_t{1}}) {
            const std::size_t which = (turn + as_size(round)) % 2;
            const double took = time_of(which == 0 ? scheduled : collective);
            if (round > 0) times[which].push_back(took);
        }
    scheduled.release();
    for (Array<double>& each : times) std::nth_element(each.begin(), each.begin() + std::ssize(each) / 2, each.end());
    made.times.schedule_run = times[0][times[0].size() / 2];
    made.times.mpi_run = times[1][times[1].size() / 2];
    if (made.times.mpi_run >= made.times.schedule_run) return;
    drop(made);
    made.executor = std::make_unique<RankExecutor<Handle>>(world, std::move(own), made.buffers);
    made.summary = {1, SyncKind::none, 1, 0, "MPI_Ialltoallv", 0};
}

template <class Handle>
Outcome Exchange<Handle>::State::make_compiled(MadeExchange<Handle>& made, const RankPlan& given) {
    const auto began = Clock::now();
    Outcome own = outcome_of([&] {
        made.summary = {given.executed, given.sync, given.every, given.in_flight, "plan", 0};
        if (!sources_known) learn_receives(made, receives_in(given));
        const RankPlan plan = make_own_plan(
            collectives.rank(), given, {made.sends, made.rows.sends, made.rows.own_send, made.send_type},
            {made.receives, made.rows.receives, made.rows.own_receive, made.receive_type}, own_by_message);
        prepare(made, plan, RankItems{});
    });
    own = agree(collectives, own, plan_digest(given), "its plan is not that of rank 0");
    if (!own.fine()) drop(made);
    made.times.plan = std::chrono::duration<double>(Clock::now() - began).count();
    return own;
}

template <class Handle>
RankPlan Exchange<Handle>::State::plan(MadeExchange<Handle>& made, const ScheduledPart& scheduled) const {
    const RankPart& part = scheduled.part;
    if (sources_known)
        check_receives(collectives.rank(), part.receives, made.rows.receives);
    else
        learn_receives(made, part.receives);
    return make_own_plan(collectives.rank(), part, made.summary,
                         {made.sends, made.rows.sends, made.rows.own_send, made.send_type},
                         {made.receives, made.rows.receives, made.rows.own_receive, made.receive_type}, own_by_message);
}

template <class Handle>
void Exchange<Handle>::State::learn_receives(MadeExchange<Handle>& made, const PartOperations& receives) const {
    const int rank = collectives.rank();
    Array<std::int64_t> own;
    for (const std::int32_t block : made.rows.own_send) own.push_back(made.sends.count[block] * made.send_type.size);
    made.receives =
        receives_of(rank, receives, View<const std::int64_t>(own.data(), own.size()), made.receive_type.size);
    if (made.buffers.receive == nullptr && receive_buffer) made.buffers.receive = receive_buffer(made.receives);
    const RankRows learned =
        check_blocks(rank, collectives.ranks(), made.sends, made.send_type, made.receives, made.receive_type, true);
    made.rows.receives = learned.receives;
    made.rows.own_receive = learned.own_receive;
    if (made.buffers.receive != nullptr)
        check_places(rank, made.sends, made.send_type, made.buffers.send, made.receives, made.receive_type,
                     made.buffers.receive);
}

template <class Handle>
void Exchange<Handle>::State::prepare(MadeExchange<Handle>& made, const RankPlan& plan, const RankItems& items) const {
    if (!sources_known && made.buffers.receive == nullptr && !made.receives.peer.empty()) return;
    made.executor = std::make_unique<RankExecutor<Handle>>(world, plan, items, made.buffers);
    if (made.executor->prepare()) return;
    throw Failure(Code::mpi, here(made.executor->describe(made.executor->failure())));
}

template <class Handle>
void Exchange<Handle>::State::drop(MadeExchange<Handle>& other) const {
    if (other.executor) other.executor->release();
    other.executor.reset();
}

template <class Handle>
Outcome Exchange<Handle>::State::close() {
    drop(now);
    freed = true;
    Outcome outcome;
    for (MpiWorld<Handle>* each : {&world, &control})
        if (const int code = each->mpi.calls.comm_free(&each->comm); code != 0)
            outcome = {Code::mpi, describe_mpi(world.mpi, "MPI_Comm_free", code)};
    return outcome;
}

template <class Handle>
Outcome Exchange<Handle>::State::not_ready() const {
    if (freed) return {Code::state, here("the exchange was freed")};
    if (!now.executor) return {Code::state, here("the exchange has no receive buffer, update hands one over")};
    return {};
}

template <class Handle>
Outcome Exchange<Handle>::State::ended(ExchangeState state, bool& done) {
    done = state == ExchangeState::ended;
    if (done) waits_since.reset();
    if (state != ExchangeState::failed) return {};
    return {Code::mpi, here(now.executor->describe(now.executor->failure()))};
}

template struct Exchange<int>::State;
template struct Exchange<void*>::State;

}  // namespace conset
