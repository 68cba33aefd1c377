// Choice at run time: method, policy and sends in flight with the least time by the machine's model, as
// conset/compilation/auto.py chooses, from fewer candidates and within a budget of counted work, so that all ranks
// choose the same and soon.
//
// Posting everything is simulated first, in several orders; where that is close to what no schedule beats, nothing else
// is looked at. Then every schedule under every policy is predicted by formula, and simulated: the best of each policy,
// every schedule under the best policy, the rest as predicted, the best with fewer sends in flight. A simulation is
// stopped when its clock passes the best time so far.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "conset/array.hpp"
#include "conset/runtime/machine_data.hpp"
#include "conset/runtime/schedule.hpp"
#include "conset/runtime/schedule_time.hpp"

namespace conset {

struct Trial {
    const TimedSchedule* base = nullptr;
    SyncPolicy policy;
    std::int64_t in_flight = 0;  // 0: the machine's number
    double predicted_s = 0;
    double time_s = kUnlimited;  // by the model
};

class TrialSearch {
public:
    explicit TrialSearch(std::int64_t budget) : budget_(budget) {}

    // Simulates a trial, within a share of the budget, unless it was before, cannot win, or the budget is spent.
    void run(const Trial& trial, double share = 0.25);
    // The least time, the first of equals; nothing where none ended.
    std::optional<Trial> best() const;
    double best_s() const { return best_s_; }
    double spent() const { return static_cast<double>(spent_) / static_cast<double>(budget_); }
    // What no schedule beats [s]; 0: nothing is known.
    void set_floor(double seconds) { floor_s_ = seconds; }
    bool over() const;
    // Whether what no schedule beats, with its barriers, is below the best time.
    bool may_win(const Trial& trial) const;
    // Whether a trial was simulated to its end.
    bool ended(const Trial& trial) const;

private:
    bool tried(const Trial& trial) const;

    std::int64_t budget_, spent_ = 0;
    double best_s_ = kUnlimited, floor_s_ = 0;
    Array<Trial> finished_, seen_;
};

// The fastest policy of one schedule; by formula where messages are many, or no simulation ended.
Trial choose_policy(const TimedSchedule& schedule);

// The fastest trial of all candidates, under `policy` where there is one; `bases` keeps the schedules that it points
// to.
Trial choose_schedule(const MachineData& machine, const RankMessages& messages, std::optional<SyncPolicy> policy,
                      std::uint64_t seed, std::deque<TimedSchedule>& bases);

}  // namespace conset
