// Exchange: what an application holds, from C or Python: buffers, and an executor that moves the bytes again and again.
//
// Made of the rows of all ranks (run-time scheduling: each rank knows what it sends; the rows are exchanged, every rank
// computes the same schedule or one computes it for all; or the rows are those of a compiled schedule) or of a plan
// file. Making, updating and freeing are
// collective; what goes wrong while one is made goes wrong on every rank, with the words of the lowest rank that found
// something.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "conset/execution/mpi_calls.hpp"
#include "conset/execution/rank_plan.hpp"
#include "conset/runtime/blocks.hpp"
#include "conset/runtime/outcome.hpp"
#include "conset/runtime/schedule.hpp"

namespace conset {

template <class Handle>
class RankExecutor;

// `machine=torus:4x4;ranks_per_node=1;method=auto;sync=auto;timeout=10s;seed=0;compute=auto;effort=1;combine=auto;
// memory=64MiB;measure=0` in any order; pairs end with `;`. Or `schedule=x.plan`, with a timeout alone: the schedule is
// compiled already.
struct ExchangeOptions {
    std::string machine, method = "auto", sync = "auto";
    std::string compute =
        "auto";            // all: every rank computes the schedule; one: rank 0 does, and scatters; auto: by size
    double timeout_s = 0;  // 0: no deadline
    std::uint64_t seed = 0;
    std::int64_t effort = 1;       // of the search for the schedule, as `conset compile --effort`; 0: by formula
    std::string schedule;          // a plan file; empty: the ranks make the schedule
    std::string combine = "auto";  // auto: ranks pass on bundles in stages where that pays; none
    std::int64_t memory = std::int64_t{64} << 20;  // temporary memory that stages may take of each rank [B]
    std::int64_t measure = 0;  // rounds in which the schedule and MPI's own take turns, to choose; 0: the schedule
    std::int32_t ranks_per_node = 1;  // rank r is on node r / ranks_per_node unless the machine's file says where
    // Both throw Failure (Code::argument). Words of method and sync are checked by `schedule_messages`.
    static ExchangeOptions parse(std::string_view text);
    void check() const;
};

template <class Handle>
struct ExchangeRequest {
    MpiWorld<Handle> world;  // its communicator is the application's, of which the exchange takes duplicates
    RankBuffers<Handle> buffers;
    Blocks sends, receives;
    bool sources_known = true;  // else `receives` is empty: blocks lie in the receive buffer by source, without gaps
    ExchangeOptions options;
    // Where sources are not known and there is no receive buffer: gives one for these blocks. Neither: it is handed
    // over by `update`, before which the exchange does not start.
    std::function<std::byte*(const Blocks&)> receive_buffer;
    // What elements are, in the caller's words (empty: not said): those of one rank are those of all.
    std::string elements;
    // What a rank has for itself is a message too: its buffers are not for a processor to copy.
    bool own_by_message = false;
};

// Seconds of this rank.
struct ExchangeTimes {
    double rows = 0;                       // exchange of rows
    double schedule = 0;                   // computation
    double plan = 0;                       // this rank's part and its requests
    double schedule_run = 0, mpi_run = 0;  // what `measure` found, of the last rank; 0: not measured
};

template <class Handle>
class Exchange {
public:
    // Null on every rank or on none. `outcome`: what the caller found wrong already, which then every rank returns;
    // else fine. Collective.
    static std::unique_ptr<Exchange> of_rows(const ExchangeRequest<Handle>& request, Outcome& outcome);
    static std::unique_ptr<Exchange> of_plan(const MpiWorld<Handle>& world, const RankPlan& plan,
                                             const RankItems& items, const RankBuffers<Handle>& buffers,
                                             double timeout_s, Outcome& outcome);
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    // Calls nothing of MPI, which may be over by then: what was not freed stays MPI's.
    ~Exchange();

    Outcome start();
    Outcome progress(bool& done);
    // Until the exchange has ended, or the deadline has passed (counted from here): Code::timeout, and it still runs.
    Outcome wait();
    // The same for at most so many seconds; the deadline is counted from the first of them.
    Outcome wait(double seconds, bool& done);
    // Other blocks, in the same buffers or in others: what did not change stays in its phase where limits allow. An
    // exchange that is running on some rank is refused. Where this fails, all is as before. Collective; `outcome` as in
    // `of_rows`. `receives` is not looked at where sources are not known.
    Outcome update(const RankBuffers<Handle>& buffers, const Blocks& sends, const Blocks& receives,
                   const Outcome& before = {}, const std::string& elements = {});
    // Frees requests and communicator. Collective; an exchange that is running is refused.
    Outcome free();

    bool running() const;
    const ExchangeTimes& times() const;
    const std::string& method() const;
    std::string sync() const;
    std::int64_t phases() const;
    const StageChoice& stages() const;
    // What this rank receives, by source; also where sources were not known before.
    const Blocks& receives() const;
    // Longest nap between two looks [s]; 0 where every rank has a core.
    double nap() const;
    // What moves the bytes, for callers that wait in their own way; null while there is no receive buffer.
    RankExecutor<Handle>* executor();

private:
    struct State;
    explicit Exchange(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

extern template class Exchange<int>;
extern template class Exchange<void*>;

}  // namespace conset
