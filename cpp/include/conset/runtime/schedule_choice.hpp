// Choice at run time: method, policy and sends in flight with the least time by the machine's model, as
// conset/compilation/auto.py chooses, from fewer candidates and within a budget of counted work, so that all ranks
// choose the same and soon.
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

// Trials simulated best first; each is stopped when its clock passes the best so far.
class TrialSearch {
public:
    explicit TrialSearch(std::int64_t budget) : budget_(budget) {}

    // Simulates a trial unless its lower bound says that it cannot win, or the budget is spent.
    void run(const Trial& trial, double floor_s);
    // The least time, the first of equals; nothing where none ended.
    std::optional<Trial> best() const;
    double best_s() const { return best_s_; }
    bool spent() const { return spent_ >= budget_; }
    bool tried(const Trial& trial) const;

private:
    std::int64_t budget_, spent_ = 0;
    double best_s_ = kUnlimited;
    Array<Trial> finished_, seen_;
};

// The fastest policy of one schedule; by formula where messages are many, or no simulation ended.
Trial choose_policy(const TimedSchedule& schedule);

// The fastest trial of all candidates; `bases` keeps the schedules that it points to.
Trial choose_schedule(const MachineData& machine, const RankMessages& messages, std::optional<SyncPolicy> policy,
                      std::uint64_t seed, std::deque<TimedSchedule>& bases);

}  // namespace conset
