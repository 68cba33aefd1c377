// What an exchange is made of. Only for the sources of Exchange.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "conset/execution/rank_executor.hpp"
#include "conset/runtime/collectives.hpp"
#include "conset/runtime/exchange.hpp"
#include "conset/runtime/shared_schedule.hpp"

namespace conset {

// What is made anew by an update.
template <class Handle>
struct MadeExchange {
    RankBuffers<Handle> buffers;
    TypeShape send_type, receive_type;
    Blocks sends, receives;
    std::string elements;
    RankRows rows;
    ScheduleSummary summary;
    std::unique_ptr<RankExecutor<Handle>> executor;  // null: there is no receive buffer yet
    ExchangeTimes times;
};

// What all ranks have alike of their parts of a plan.
std::uint64_t plan_digest(const RankPlan& plan);

template <class Handle>
struct Exchange<Handle>::State {
    // Duplicates the communicator, twice. Collective; throws Failure.
    State(const MpiWorld<Handle>& application, ExchangeOptions given);

    // Reads this rank's part of `options.schedule`. Throws Failure.
    void read_compiled();
    // What is not made yet, from buffers and blocks. Collective; what goes wrong, or went `before`, is the same
    // everywhere, but for a failure of MPI itself, which is thrown.
    Outcome make(MadeExchange<Handle>& made, const Outcome& before);
    void prepare(MadeExchange<Handle>& made, const RankPlan& plan, const RankItems& items) const;
    // Runs the schedule and MPI_Ialltoallv in turn on buffers of their own; the faster is what `made` executes. Only
    // where both can be made on every rank. Collective.
    void measure(MadeExchange<Handle>& made, const RankPlan& plan, bool plain);
    // Frees its requests.
    void drop(MadeExchange<Handle>& other) const;
    Outcome close();

    // `rank 3: what`
    std::string here(const std::string& what) const;
    Outcome not_ready() const;
    Outcome ended(ExchangeState state, bool& done);

    // Of the messages and barriers of an exchange, and of all else: ranks come to `update` while others exchange.
    MpiWorld<Handle> world, control;
    Collectives<Handle> collectives;
    ExchangeOptions options;
    std::unique_ptr<SharedSchedule<Handle>> shared;  // null: of a plan
    MachineData machine;
    std::optional<RankPlan> compiled;  // none: the ranks make the schedule
    bool sources_known = true, own_by_message = false, freed = false;
    std::function<std::byte*(const Blocks&)> receive_buffer;
    MadeExchange<Handle> now;
    std::optional<std::chrono::steady_clock::time_point> waits_since;
    bool started = false;  // and nobody was told that it has ended, on a rank with nothing to wait for too

private:
    void check(MadeExchange<Handle>& made) const;
    // What one execution takes, of the last rank [s]. Collective.
    double time_of(RankExecutor<Handle>& executor);
    Outcome make_compiled(MadeExchange<Handle>& made, const RankPlan& given);
    RankPlan plan(MadeExchange<Handle>& made, const ScheduledPart& scheduled) const;
    void learn_receives(MadeExchange<Handle>& made, const PartOperations& receives) const;
};

}  // namespace conset
