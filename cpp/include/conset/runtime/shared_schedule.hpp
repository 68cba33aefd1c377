// A schedule that all ranks share: made of the rows of all, computed by every rank for itself or by rank 0 for all.
//
// Every rank has a header with what the others must know before rows travel; then the rows go to all (each computes the
// same from the same seed), or to rank 0 alone, which gives each rank its part. Rank 0 computes where that is said, or
// where ranks exceed cores: there all ranks that compute share them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "conset/array.hpp"
#include "conset/runtime/blocks.hpp"
#include "conset/runtime/collectives.hpp"
#include "conset/runtime/exchange.hpp"
#include "conset/runtime/host.hpp"
#include "conset/runtime/kept_schedule.hpp"
#include "conset/runtime/machine_data.hpp"
#include "conset/runtime/own_plan.hpp"
#include "conset/runtime/rank_part.hpp"
#include "conset/runtime/schedule.hpp"

namespace conset {

// A rank's part of a schedule, and what ranks compare of it: equal on all of them, or it is wrong.
struct ScheduledPart {
    ScheduleSummary summary;
    RankPart part;
    std::uint64_t digest = 0;
};

template <class Handle>
class SharedSchedule {
public:
    // Options, and whether sources are known, must be those of rank 0; elements those of all that say some.
    SharedSchedule(Collectives<Handle>& collectives, const ExchangeOptions& options, bool sources_known);

    // What is wrong before rows travel (`own`: here), on every rank. `row`: this rank's, in its order. `packable`:
    // whether a processor may copy its buffers byte by byte; of all ranks, or nothing goes in stages. Collective;
    // throws Failure as all of these.
    Outcome agree_to_start(const Outcome& own, View<const Row::Entry> row, const std::string& elements, bool packable);
    // Rows of all ranks, or what changed in them since the last time: here, or at rank 0. Collective, after
    // `agree_to_start` was fine.
    void exchange_rows();
    // Collective where rank 0 computes. What goes wrong with the schedule itself is in `outcome`, everywhere.
    ScheduledPart schedule(const MachineData& machine, Outcome& outcome);
    // The next schedule is made of whole rows again; on every rank, or on none.
    void forget();

private:
    struct Header;
    Outcome check_headers(View<const Header> headers, const std::string& elements, Array<Code>& codes) const;
    ScheduledPart schedule_for_all(const MachineData& machine, Outcome& outcome);
    void compute(const MachineData& machine);

    Collectives<Handle>& collectives_;
    ExchangeOptions options_;
    std::uint64_t agreed_;  // digest of what all ranks must have in common
    HostPlace place_;
    bool one_computes_ = false;
    bool packable_ = false;
    bool made_ = false;                 // there is a schedule, of which changes are told
    Array<Row::Entry> row_, next_row_;  // this rank's, as the schedule knows it; and what it will be
    Array<std::byte> told_, heard_;     // rows, or changes: of this rank, and of all
    Array<std::int64_t> entries_;       // of them, by rank
    RankMessages messages_;             // the last whole rows; where schedules are computed
    RankSchedule schedule_;
    std::optional<KeptSchedule> kept_;  // after the first change
};

extern template class SharedSchedule<int>;
extern template class SharedSchedule<void*>;

}  // namespace conset
