// Exchange: what an application holds, from C or Python: buffers, and an executor that moves the bytes again and again.
//
// Made of the rows of all ranks (run-time scheduling: each rank knows what it sends; the rows are exchanged, every rank
// computes the same schedule or one computes it for all) or of a plan file. Making, updating and freeing are
// collective; what goes wrong while one is made goes wrong on every rank, with the words of the lowest rank that found
// something.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "conset/execution/mpi_calls.hpp"
#include "conset/execution/rank_executor.hpp"
#include "conset/formats/plan_file.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset {

// What one rank sends, or receives: block k goes to (comes from) peer[k], `count[k]` elements of its side's datatype
// from element displacement[k] of the buffer on. Blocks of one pair are matched in their order.
struct Blocks {
    Array<std::int32_t> peer;
    Array<std::int64_t> count, displacement;
};

// `machine=torus:4x4;method=auto;sync=auto;timeout=10s;seed=0;compute=auto` in any order; pairs end with `;`.
struct ExchangeOptions {
    std::string machine, method = "auto", sync = "auto";
    std::string compute =
        "auto";            // all: every rank computes the schedule; one: rank 0 does, and scatters; auto: by size
    double timeout_s = 0;  // 0: no deadline
    std::uint64_t seed = 0;
    static ExchangeOptions parse(std::string_view text);  // throws Failure
};

template <class Handle>
struct ExchangeRequest {
    MpiWorld<Handle> world;  // its communicator is the application's, of which the exchange takes a duplicate
    RankBuffers<Handle> buffers;
    Blocks sends, receives;
    bool sources_known = true;  // else `receives` is empty: blocks lie in the receive buffer by source, without gaps
    ExchangeOptions options;
};

// Seconds of this rank.
struct ExchangeTimes {
    double rows = 0;      // exchange of rows
    double schedule = 0;  // computation
    double plan = 0;      // this rank's part and its requests
};

template <class Handle>
class Exchange {
public:
    // Null on every rank or on none.
    static std::unique_ptr<Exchange> of_rows(const ExchangeRequest<Handle>& request, Outcome& outcome);
    static std::unique_ptr<Exchange> of_plan(const MpiWorld<Handle>& world, const RankPlan& plan,
                                             const RankItems& items, const RankBuffers<Handle>& buffers,
                                             double timeout_s, Outcome& outcome);
    ~Exchange();

    Outcome start();
    Outcome progress(bool& done);
    Outcome wait();
    // Other blocks, in the same buffers or in others: what did not change stays in its phase where limits allow.
    Outcome update(const RankBuffers<Handle>& buffers, const Blocks& sends, const Blocks& receives);
    // Collective; an exchange that is running is refused.
    Outcome free();

    const ExchangeTimes& times() const;
    const std::string& method() const;
    std::string sync() const;
    std::int64_t phases() const;
    // What this rank receives, by source; also where sources were not known before.
    const Blocks& receives() const;

private:
    struct State;
    explicit Exchange(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

extern template class Exchange<int>;
extern template class Exchange<void*>;

}  // namespace conset
