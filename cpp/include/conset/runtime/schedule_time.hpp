// How long a schedule takes on a machine, by formula (conset/prediction/) or by a model of simulation, under any
// policy: the same to the last bit as `conset.predict` and `conset.simulate` of the same schedule.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "conset/array.hpp"
#include "conset/combining/stage_bundles.hpp"
#include "conset/compilation/trial.hpp"
#include "conset/network/routes.hpp"
#include "conset/prediction/stage_clock.hpp"
#include "conset/runtime/machine_data.hpp"
#include "conset/runtime/schedule.hpp"
#include "conset/scheduling/phases.hpp"
#include "conset/simulation/release/release.hpp"

namespace conset {

// `none`, `local`, `ready`, `barrier`, `barrier:K`. Throws Failure (Code::argument).
SyncPolicy parse_policy(std::string_view text);
std::string policy_text(const SyncPolicy& policy);

struct FormulaCosts;

struct SimulatedTime {
    double seconds = kUnlimited;  // infinite: stopped, or refused
    std::int64_t work = 0;        // of the model, counted
    bool cut = false;             // stopped because its work exceeded what was allowed
    bool refused = false;         // a deadlock, no room for its receives, or no model of the network
};

// What the bundles of stages cost, without an event in time (`StageClock`). The machine must outlive it.
class StageTimes {
public:
    StageTimes(const MachineData& machine, std::int32_t ranks);
    ~StageTimes();

    StageEstimate of(const StageBundles& stages) const;

private:
    std::unique_ptr<FormulaCosts> costs_;
    std::unique_ptr<StageClock> clock_;
};

// Messages in the order of a schedule, with what its models make of the machine. The machine must outlive it. Of stages
// the messages are bundles, which are copied where they are packed and wait for what brings their parts.
class TimedSchedule {
public:
    TimedSchedule(const MachineData& machine, const RankMessages& messages, std::string_view method,
                  const Limits& limits, Phases phases, const StageBundles* stages = nullptr);

    const Phases& phases() const { return phases_; }
    const std::string& method() const { return method_; }
    const Limits& limits() const { return limits_; }
    const MachineCosts& costs() const { return costs_; }
    bool packs() const { return !packed_.empty(); }
    std::int64_t phase_count() const { return static_cast<std::int64_t>(phases_.offsets.size()) - 1; }

    // The policies it may run under, those without barriers first: only a barrier after every phase under hard limits.
    Array<SyncPolicy> policies() const;
    // Whether `detect`, which adds copies to `none`, may gain: receives, which it posts none of, are limited.
    bool detect_may_gain() const;
    // Whether every node has room for the receives it posts or, under `detect`, a system buffer for every message.
    bool receives_fit(const SyncPolicy& policy) const;
    // What its barriers take [s].
    double barriers_s(const SyncPolicy& policy) const;

    double predict(const SyncPolicy& policy) const { return predict(policy, costs_, true); }
    // The same with other costs; links may take no time.
    double predict(const SyncPolicy& policy, const MachineCosts& costs, bool links) const;
    // What losses multiply its time by: the formula with `blocking` over the formula without, where fair sharing is the
    // machine's model; 1: nothing. Messages of two phases may meet under `local` and `ready`, where half of the
    // tolerance is left to each.
    double loss(const SyncPolicy& policy) const;
    // The most sends that a rank can have in flight: the machine's number, or all it has.
    std::int64_t most_in_flight() const;
    // The sends that its limits, for which messages inside a node do not count, allow a rank in a phase; 0: any number,
    // or the limits hold by times.
    std::int64_t send_limit() const;
    // Sends of a rank open at once: `in_flight`, 0: the machine's number. Ends when its clock passes `until_s` and
    // after so much counted work.
    SimulatedTime simulate(CostModel model, const SyncPolicy& policy, std::int64_t in_flight, double until_s,
                           std::int64_t work = std::numeric_limits<std::int64_t>::max()) const;

private:
    Routes routes() const { return {machine_.network, source_node_, target_node_, {}, {}}; }
    Array<std::int64_t> batches(const SyncPolicy& policy) const;
    double timetable_end(const SyncPolicy& policy) const;
    std::int32_t most_datelines(const Array<std::uint8_t>& dateline) const;

    const MachineData& machine_;
    const MachineCosts& costs_;
    std::string method_;
    Limits limits_;
    std::int32_t ranks_;
    Phases phases_;
    Array<std::int32_t> source_, target_, source_node_, target_node_;
    Array<std::int64_t> bytes_;
    Array<std::uint8_t> packed_;  // empty: none is
    Rows waits_;                  // places in `phases` that each one waits for, all before it; empty: none
    WalkedRoutes walked_;
};

}  // namespace conset
