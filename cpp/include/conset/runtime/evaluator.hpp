// What the chooser (conset/compilation/choice.hpp) asks for, answered by methods and models without Python.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "conset/array.hpp"
#include "conset/compilation/choice.hpp"
#include "conset/runtime/machine_data.hpp"
#include "conset/runtime/schedule.hpp"
#include "conset/runtime/schedule_time.hpp"

namespace conset {

// Machine and messages must outlive it. Of stages the messages are their bundles: every stage is scheduled by the same
// method, one after the other.
class NativeEvaluator final : public Evaluator {
public:
    NativeEvaluator(const MachineData& machine, const RankMessages& messages, std::uint64_t seed,
                    const StageBundles* stages = nullptr)
        : machine_(machine), messages_(messages), seed_(seed), stages_(stages) {}

    Question question(const ScheduleOptions& options) const;
    // The schedule with an id that a base has.
    const TimedSchedule& schedule(std::int64_t id) const { return made_[as_size(id)]; }
    // Keeps a schedule and describes it.
    TrialBase add(std::string_view method, const Limits& limits, Phases phases, std::string_view posting = kAsListed);

    Array<std::optional<TrialBase>> make(View<const Attempt> attempts) override;
    Array<TrialBase> orders(const TrialBase& naive) override;
    void predict(View<const TrialBase> bases, View<Trial> trials) override;
    Array<Simulation> simulate(View<const TrialBase> bases, View<const Trial> trials, double until_s,
                               std::int64_t max_work) override;
    double floor_s(const TrialBase& naive) override;
    double crowding(const TrialBase& naive) override;
    std::int64_t least_phases(const TrialBase&) override { return 0; }  // phases are never the objective here
    void progress(double) override {}

private:
    Phases phases_of(const Attempt& attempt, const Limits& limits) const;

    const MachineData& machine_;
    const RankMessages& messages_;
    std::uint64_t seed_;
    const StageBundles* stages_;  // null: messages go directly
    std::deque<TimedSchedule> made_;
};

}  // namespace conset
