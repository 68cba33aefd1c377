// Carries out one rank's plan over MPI, again and again, on buffers that are the caller's.
//
// Every message has a persistent request, made once; the communicator is the executor's alone, so one tag for data and
// one for signals are enough. A rank goes from step to step: all that it does between two of its waits.
//     none      one step: start all receives, then the sends, wait at the end.
//     local     a step a phase: start its receives and sends, wait for both.
//     ready     also signal the sources of a phase once its receives are started; a send starts after its target's
//               signal.
//     detect    one step: start the sends, look for what has come from anyone and receive that (send-detect-receive):
//               no receive is there before its message. What comes of a later exchange waits until it begins.
//     barrier   a step is a group of phases; its receives are started before the barrier that it begins with, so that
//               every message is expected. A rank without a message in a group takes part in its barrier.
// Sends start in posting order; one that may not start yet holds those behind it: its target has not signalled, a
// receive or an earlier send that it needs has not ended, or as many are open as may be (whichever ends first makes
// place). Under every policy a receive that has needs of its own is signalled: its target tells its source when they
// have ended, in posting order, whatever else it waits for. What a send carries is packed or gathered just before it
// starts; what a receive brings is unpacked or scattered when it is seen to have ended
// (conset/execution/rank_memory.hpp). What a rank has for itself is copied when an exchange begins; a message to itself
// is one like any other.
//
// Invariant: a rank starts the receives of a step and gives its signals before it waits, and it waits for nothing but
// what the graph of conset/execution/check.py knows: a plan that passes there ends here, eager or rendezvous. No call
// blocks inside MPI; each look asks for the first thing that is waited for (of open sends: for all), never again for
// what has ended.
//
// Order: consecutive sends, or receives, that wait for nothing in between are started by one MPI_Startall. That may
// start in any order, so two messages of one pair never stand in one call: those of a pair match in the order of their
// starts.
//
// Errors are states and codes, nothing throws but want of memory. The destructor calls nothing of MPI, which may be
// over by then: `release` frees the requests. Cost: one call of MPI to start each message (a share of it), one or two
// to see it end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "conset/execution/mpi_calls.hpp"
#include "conset/execution/rank_memory.hpp"
#include "conset/execution/rank_plan.hpp"
#include "conset/execution/rank_steps.hpp"

namespace conset {

enum class ExchangeState : std::uint8_t { ended, waiting, failed };

// The call of MPI that failed, and what it returned.
struct MpiFailure {
    const char* call = nullptr;
    int code = 0;
};

// Whom a rank waits for, in posting order, a peer as often as it has messages.
struct MissingPeers {
    std::int64_t step = 0;               // its number: the phase or the group of phases
    Array<std::int32_t> data, signals;   // what does not come
    Array<std::int32_t> taken, noticed;  // data and signals that are not taken
    bool barrier = false;                // other ranks have not come to a barrier
    bool collective = false;             // MPI_Ialltoallv has not ended
};

// One MPI_Ialltoallv in place of a plan: counts and starts by rank, in elements of the buffers' types.
struct RankCollective {
    Array<int> send_counts, send_starts, receive_counts, receive_starts;
};

template <class Handle>
class RankExecutor {
public:
    // The buffers stay the caller's and must live, at their place, until `release`; the plan fits them.
    RankExecutor(const MpiWorld<Handle>& world, RankPlan plan, RankItems items, const RankBuffers<Handle>& buffers);
    RankExecutor(const MpiWorld<Handle>& world, RankCollective collective, const RankBuffers<Handle>& buffers);
    RankExecutor(const RankExecutor&) = delete;
    RankExecutor& operator=(const RankExecutor&) = delete;
    ~RankExecutor();

    // Makes the requests; false where MPI failed. Before anything else, once.
    bool prepare();

    // Begins an exchange and goes on as far as possible without waiting. Only when none is running.
    ExchangeState start();
    // Goes on as far as possible without waiting.
    ExchangeState progress();
    // Goes on until the exchange has ended or so many seconds are over, polling. With `nap_s` 0 it yields its core
    // every 16th look (a yield takes as long as a small message). Else, where ranks share cores, it yields between two
    // looks, and after 16 that found nothing naps, longer and longer up to `nap_s`: one that only yields keeps others
    // from working, three to five times where the machine has other work too.
    ExchangeState wait(double seconds, double nap_s);

    bool running() const { return stage_ != Stage::idle; }
    const MpiFailure& failure() const { return failure_; }
    std::string describe(const MpiFailure& failure) const;
    // While an exchange runs; asks MPI again.
    MissingPeers missing();
    // `phase 3, sync barrier: no data from 2, 5; data not taken by 1`
    std::string describe(const MissingPeers& missing) const;

    // Frees the requests, also those of a `prepare` that failed. Only while MPI lives and no exchange is running.
    void release();

private:
    enum class Stage : std::uint8_t { idle, enter, barrier, send, receives, sends, signals, collective };
    // The requests of one kind; `run_end[k]`: up to where those from k on may be started by one call.
    struct Requests {
        Array<Handle> handles;
        Array<std::size_t> run_end;
        Array<std::uint8_t> ended;
    };

    static constexpr int kData = 1, kSignal = 2;

    // Elements of operation k, and their datatype.
    std::pair<int, Handle> shape_of(const RankOperations& operations, const Array<Handle>& types, Handle one,
                                    std::size_t k) const;
    bool make_requests(Requests& requests, const RankOperations& operations, bool sends);
    // Zero bytes to, or from, the peers of some operations, which are named in their order.
    struct Signals {
        Array<std::size_t> operation;
        Array<Handle> handles;
        std::size_t from(std::size_t k) const;  // the first of operation k or a later one
    };
    bool make_signals(Signals& signals, const RankOperations& operations, bool sends);

    bool fine(const char* call, int code);
    bool test(Handle& request, bool& ended);
    bool startall(Array<Handle>& requests, std::size_t begin, std::size_t end);

    bool detects() const { return plan_.sync == SyncKind::detect; }
    bool detect();  // starts the receives of all that has come
    // Of one message from a rank or from any; waiting: there is none of this exchange.
    ExchangeState take_in(int source);
    bool give_signals();  // to those whose needs have ended
    ExchangeState enter();
    ExchangeState pass_barrier();
    ExchangeState end_collective();
    ExchangeState begin_sends();
    ExchangeState start_sends();
    ExchangeState end_receives();
    ExchangeState end_sends();
    ExchangeState end_signals();
    // Whether send k may start behind `gathered` others that are about to.
    ExchangeState may_start(std::size_t k, std::size_t gathered);
    ExchangeState has_place(std::size_t gathered);
    // Whether the needs of operation k have ended; `next`: the first that was not seen to.
    ExchangeState needs_ended(const RankNeeds& needs, std::size_t k, std::size_t& next);
    ExchangeState receive_ended(std::size_t k);
    ExchangeState send_ended(std::size_t k);

    const MpiWorld<Handle> world_;
    const RankPlan plan_;
    const RankItems items_;
    const std::optional<RankCollective> collective_;
    const RankBuffers<Handle> buffers_;
    RankMemory memory_;
    std::unique_ptr<std::byte[]> status_;
    MpiFailure failure_;

    Array<RankStep> steps_;
    Requests sends_, receives_;
    Array<std::size_t> next_of_peer_;   // under detect, by receive: the next one of its peer; the number of all: none
    Signals signals_in_, signals_out_;  // of sends, of receives

    // Where the exchange is. A cursor never goes back.
    Stage stage_ = Stage::idle;
    std::size_t step_ = 0;
    Handle barrier_{};              // or what is in place of the plan
    std::size_t next_send_ = 0;     // the first that has not started
    std::size_t next_need_ = 0;     // the first need that has not been seen to be met
    std::size_t next_signal_ = 0;   // the first signal to this rank that has not been seen
    std::size_t next_given_ = 0;    // the first signal that this rank has not given
    std::size_t may_give_ = 0;      // up to where its signals are of steps that it has entered
    std::size_t next_reason_ = 0;   // the first need of a signal that has not been seen to be met
    std::size_t next_receive_ = 0;  // the first to look at when a step ends
    std::size_t next_end_ = 0;      // likewise, of sends
    std::size_t next_noticed_ = 0;  // likewise, of signals that this rank gave
    Array<std::size_t> next_from_;  // under detect, by peer: its first receive that has not started
    std::size_t undetected_ = 0;    // receives that have not started
    bool ahead_ = false;            // the last message that was found is of a later exchange
    Array<std::size_t> open_;       // sends that may take the place of others; only where there is a limit
    Handle freed_{};                // of a request that ended with an error, as Open MPI leaves it
    std::uint64_t seen_ = 0;        // how many things were seen to have ended
};

extern template class RankExecutor<int>;
extern template class RankExecutor<void*>;

}  // namespace conset
