// What `auto` chooses from: schedules (bases), each under a policy and with a number of sends in flight (trials), and
// who makes, predicts and simulates them (an evaluator). The chooser sees nothing else of a schedule, so that the
// command line, Python, C and run-time scheduling share it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "conset/array.hpp"
#include "conset/execution/rank_plan.hpp"

namespace conset {

// How phases are kept apart: every `every` phases, for barriers.
struct SyncPolicy {
    SyncKind kind = SyncKind::none;
    std::int64_t every = 1;
    friend bool operator==(const SyncPolicy&, const SyncPolicy&) = default;
};

// The order of posting in which messages are listed, and that in which no two ranks begin with one target.
inline constexpr const char *kAsListed = "schedule", *kRotated = "rotated";
// What decides where no model does.
inline constexpr const char* kFormula = "formula";
inline constexpr double kNever = std::numeric_limits<double>::infinity();
// Times closer than this are one time: sums in another order.
inline constexpr double kRelTol = 1 + 1e-9;
// Factor up to which two times are called equal: a model is not that exact.
inline constexpr double kEqual = 1.02;
// The same on a machine whose numbers were measured.
inline constexpr double kError = 1.05;
// The same by packets, for the naive exchange beside other orders: a model that is less exact (docs/cost-model.md).
inline constexpr double kPacketError = 1.15;
// Trials that take up to so many times the best are simulated to their end.
inline constexpr double kSlack = 1.05;
// Messages above which a prediction takes a noticeable part of a second.
inline constexpr std::int64_t kLarge = 1 << 17;
// Messages up to which every method is tried at many contentions, and more may be simulated of each.
inline constexpr std::int64_t kSmall = 1 << 13;

// A schedule whose own policy does not count; what all its trials share.
struct TrialBase {
    std::int64_t id = 0;  // the evaluator's
    std::string method;
    std::string model;           // which simulates the method on this machine
    std::string key;             // bases with one key are one schedule
    Array<SyncPolicy> policies;  // it may run under, those without barriers first
    std::int64_t phases = 0;
    std::int64_t transfers = 0;
    std::int64_t most_in_flight = 0;  // sends that a rank can have in flight at once
    std::int64_t send_limit = 0;      // sends that its limits allow a rank in a phase; 0: any number
    double barrier_s = 0;             // of one synchronization
    double load = 0;                  // sum over phases of the largest load, where phases are the objective
    bool shares = false;              // bytes share rates and nothing else: no slots, processors or receives
    bool measured = false;            // the numbers of its machine were, and have errors
    std::string posting = kAsListed;  // the order in which ranks send

    bool is_naive() const { return method == "naive"; }
    bool is_as_listed() const { return posting == kAsListed; }
};

struct Trial {
    std::int32_t base = -1;  // of the bases of the choice
    SyncPolicy policy;
    std::int64_t in_flight = 0;    // sends a rank keeps open at once; 0: the machine's number
    double predicted_s = 0;        // by formula
    double time_s = kNever;        // what it is ranked by; infinite where a simulation was stopped
    bool fits = true;              // every node has room for the receives it posts
    std::string model = kFormula;  // what ranks it

    friend bool operator==(const Trial& one, const Trial& other) {
        return one.base == other.base && one.policy == other.policy && one.in_flight == other.in_flight;
    }
};

// Why a model has no time.
enum class Refusal : std::uint8_t {
    none,
    deadlock,
    room,   // a node cannot post its receives
    steps,  // it takes more than was allowed
};

// What a simulation came to; `cut`: it was stopped because its work exceeded what was allowed.
struct Simulation {
    double time_s = kNever;
    std::int64_t work = 0;
    bool cut = false;
    Refusal refused = Refusal::none;
};

// One schedule to make: a method at a contention (0: what options ask for, or its own) with so many sweeps of search.
struct Attempt {
    std::string method;
    std::int32_t contention = 0;
    std::int64_t effort = 1;
};

class Evaluator {
public:
    Evaluator() = default;
    Evaluator(const Evaluator&) = delete;
    Evaluator& operator=(const Evaluator&) = delete;
    virtual ~Evaluator() = default;

    // A base for every attempt that applies, in their order.
    virtual Array<std::optional<TrialBase>> make(View<const Attempt> attempts) = 0;
    // Everything at once in the other orders of posting.
    virtual Array<TrialBase> orders(const TrialBase& naive) = 0;
    // Sets `predicted_s` and `fits` of each; what was stopped before keeps a negative time.
    virtual void predict(View<const TrialBase> bases, View<Trial> trials) = 0;
    // What each trial's model says of it; clocks stop at `until_s`, and each may take so much counted work.
    virtual Array<Simulation> simulate(View<const TrialBase> bases, View<const Trial> trials, double until_s,
                                       std::int64_t max_work) = 0;
    // What no schedule takes less than, whatever its policy; 0: nothing is known.
    virtual double floor_s(const TrialBase& naive) = 0;
    // The most messages of a link over the most of a port, of everything at once.
    virtual double crowding(const TrialBase& naive) = 0;
    // Phases that no candidate has fewer of.
    virtual std::int64_t least_phases(const TrialBase& like) = 0;
    // How far the choice is, in stages.
    virtual void progress(double stages) = 0;
};

}  // namespace conset
