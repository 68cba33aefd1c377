#include "conset/compilation/choice.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>

#include "bindings.hpp"
#include "conset/compilation/search.hpp"
#include "conset/compilation/stages.hpp"
#include "conset/runtime/schedule_time.hpp"
#include "conset/stop.hpp"

namespace conset::bindings {

namespace {

constexpr const char* kRefusals[] = {"", "deadlock", "room", "steps"};
constexpr const char* kInstead[] = {"", "many", "too long", "no end"};
constexpr const char* kFailed[] = {"", "no method", "no simulation", "none faster"};

// An object of Python whose methods are called, with the interpreter held.
class PythonObject {
public:
    explicit PythonObject(nb::handle given) : given_(given) {}

    template <class Result, class... Args>
    Result call(const char* name, const Args&... args) const {
        try {
            return nb::cast<Result>(given_.attr(name)(args...));
        } catch (nb::python_error& error) {
            if (error.matches(PyExc_KeyboardInterrupt)) throw Interrupted();
            throw;
        }
    }

private:
    nb::handle given_;
};

// Schedules, predictions and simulations by an object of Python.
class PythonEvaluator final : public Evaluator, PythonObject {
public:
    using PythonObject::PythonObject;

    Array<std::optional<TrialBase>> make(View<const Attempt> attempts) override {
        std::vector<std::tuple<std::string, std::int32_t, std::int64_t>> asked;
        for (const Attempt& each : attempts) asked.emplace_back(each.method, each.contention, each.effort);
        return call<std::vector<std::optional<TrialBase>>>("make", asked);
    }
    Array<TrialBase> orders(const TrialBase& naive) override {
        return call<std::vector<TrialBase>>("orders", naive.id);
    }
    void predict(View<const TrialBase> bases, View<Trial> trials) override {
        std::vector<std::tuple<std::int64_t, std::string>> asked;
        for (const Trial& trial : trials) asked.emplace_back(bases[trial.base].id, policy_text(trial.policy));
        const auto found = call<std::vector<std::tuple<double, bool>>>("predict", asked);
        for (std::size_t k = 0; k < found.size(); ++k) std::tie(trials[k].predicted_s, trials[k].fits) = found[k];
    }
    Array<Simulation> simulate(View<const TrialBase> bases, View<const Trial> trials, double until_s,
                               std::int64_t max_work) override {
        std::vector<std::tuple<std::int64_t, std::string, std::int64_t, std::string>> asked;
        for (const Trial& trial : trials)
            asked.emplace_back(bases[trial.base].id, policy_text(trial.policy), trial.in_flight, trial.model);
        Array<Simulation> simulated;
        using Found = std::vector<std::tuple<double, std::int64_t, bool, std::string>>;
        for (const auto& [time_s, work, cut, refused] : call<Found>("simulate", asked, until_s, max_work)) {
            const auto* name = std::find(std::begin(kRefusals), std::end(kRefusals), refused);
            simulated.push_back({time_s, work, cut, static_cast<Refusal>(name - std::begin(kRefusals))});
        }
        return simulated;
    }
    double floor_s(const TrialBase& naive) override { return call<double>("floor_s", naive.id); }
    double crowding(const TrialBase& naive) override { return call<double>("crowding", naive.id); }
    std::int64_t least_phases(const TrialBase& like) override { return call<std::int64_t>("least_phases", like.id); }
    void progress(double stages) override { call<nb::object>("progress", stages); }
};

// Ways to combine, and searches along them, by an object of Python.
class PythonStages final : public StageEvaluator, PythonObject {
public:
    using PythonObject::PythonObject;

    std::pair<Array<EstimatedWay>, double> ways() override {
        using Found = std::pair<std::vector<std::tuple<double, std::int64_t, bool>>, double>;
        const auto [found, direct_s] = call<Found>("ways");
        Array<EstimatedWay> all;
        for (const auto& [time_s, bundles, mixes] : found)
            all.push_back({.time_s = time_s, .bundles = bundles, .mixes = mixes});
        return {std::move(all), direct_s};
    }
    bool same(std::size_t way, std::size_t other) override { return call<bool>("same", way, other); }
    double posted_s(std::size_t way) override { return call<double>("posted_s", way); }
    std::optional<double> along(std::size_t way, double beat_s) override {
        return call<std::optional<double>>("along", way, beat_s);
    }
    void keep() override { call<nb::object>("keep"); }
    std::optional<double> direct(double rival_s) override { return call<double>("direct", rival_s); }
    double least_s() override { return call<double>("least_s"); }
};

std::optional<SyncPolicy> policy_of(const std::string& sync) {
    return sync.empty() ? std::nullopt : std::optional(parse_policy(sync));
}

const Candidate* find_candidate(const std::string& method) {
    for (const Candidate& candidate : candidates())
        if (candidate.method == method) return &candidate;
    return nullptr;
}

void bind_constants(nb::module_& module) {
    module.attr("MOST_SIMULATED") = kMostSimulated;
    module.attr("EQUAL") = kEqual;
    module.attr("ERROR") = kError;
    module.attr("PACKET_ERROR") = kPacketError;
    module.attr("SLACK") = kSlack;
    module.def("allowed_work", &allowed_work, nb::arg("messages"), nb::arg("model"), nb::arg("effort"));
    module.def("candidates", [] {
        std::vector<std::tuple<std::string, bool>> listed;
        for (const Candidate& candidate : candidates()) listed.emplace_back(candidate.method, candidate.box);
        return listed;
    });
    module.def(
        "contentions",
        [](const std::string& method, const Situation& situation, double crowding) -> std::vector<std::int32_t> {
            const Candidate* candidate = find_candidate(method);
            if (candidate == nullptr) return {};
            return candidate->contentions(situation, crowding);
        },
        nb::arg("method"), nb::arg("situation"), nb::arg("crowding"));
}

void bind_stages(nb::module_& module) {
    nb::class_<StageDecision>(module, "StageDecision")
        .def_ro("way", &StageDecision::way)
        .def_prop_ro("ways", [](const StageDecision& decision) { return std::vector<std::size_t>(decision.ways); })
        .def_prop_ro(
            "tried",
            [](const StageDecision& decision) { return std::vector<std::pair<std::size_t, double>>(decision.tried); })
        .def_ro("estimated_s", &StageDecision::estimated_s)
        .def_ro("direct_s", &StageDecision::direct_s)
        .def_ro("is_bound", &StageDecision::is_bound)
        .def_ro("stopped", &StageDecision::stopped);
    module.def(
        "choose_stages",
        [](nb::handle evaluator, std::int64_t messages, std::int64_t effort, bool direct_first) {
            PythonStages asked(evaluator);
            return choose_stages(asked, {.messages = messages, .effort = effort, .direct_first = direct_first});
        },
        nb::arg("evaluator"), nb::kw_only(), nb::arg("messages"), nb::arg("effort"), nb::arg("direct_first"));
    module.attr("STAGES_WORTH") = kStagesWorth;
}

}  // namespace

void bind_choice(nb::module_& module) {
    nb::class_<TrialBase>(module, "TrialBase")
        .def(
            "__init__",
            [](TrialBase* self, std::int64_t id, std::string method, std::string model, std::string key,
               const std::vector<std::string>& policies, std::int64_t phases, std::int64_t transfers,
               std::int64_t most_in_flight, std::int64_t send_limit, double barrier_s, double load, bool shares,
               bool measured, std::string posting) {
                new (self) TrialBase{id,        std::move(method), std::move(model), std::move(key), {},   phases,
                                     transfers, most_in_flight,    send_limit,       barrier_s,      load, shares,
                                     measured,  std::move(posting)};
                for (const std::string& sync : policies) self->policies.push_back(parse_policy(sync));
            },
            nb::kw_only(), nb::arg("id"), nb::arg("method"), nb::arg("model"), nb::arg("key"), nb::arg("policies"),
            nb::arg("phases"), nb::arg("transfers"), nb::arg("most_in_flight"), nb::arg("send_limit"),
            nb::arg("barrier_s"), nb::arg("load"), nb::arg("shares"), nb::arg("measured"), nb::arg("posting"))
        .def_ro("id", &TrialBase::id);
    nb::class_<Trial>(module, "Trial")
        .def_prop_ro("sync", [](const Trial& trial) { return policy_text(trial.policy); })
        .def_ro("in_flight", &Trial::in_flight)
        .def_ro("predicted_s", &Trial::predicted_s)
        .def_ro("time_s", &Trial::time_s)
        .def_ro("model", &Trial::model);
    nb::class_<ModelTimes>(module, "ModelTimes")
        .def_ro("model", &ModelTimes::model)
        .def_ro("chosen_s", &ModelTimes::chosen_s)
        .def_ro("posted_s", &ModelTimes::posted_s)
        .def_ro("best_s", &ModelTimes::best_s)
        .def_ro("best", &ModelTimes::best)
        .def_prop_ro("refused", [](const ModelTimes& times) { return kRefusals[static_cast<int>(times.refused)]; });
    nb::class_<Decision>(module, "Decision")
        .def_prop_ro("failed", [](const Decision& verdict) { return kFailed[static_cast<int>(verdict.failed)]; })
        .def_prop_ro("instead", [](const Decision& verdict) { return kInstead[static_cast<int>(verdict.instead)]; })
        .def_ro("chosen", &Decision::chosen)
        .def_prop_ro("models", [](const Decision& verdict) { return std::vector<ModelTimes>(verdict.models); })
        .def_prop_ro("known", [](const Decision& verdict) { return std::vector<Trial>(verdict.known); })
        .def_prop_ro("estimated", [](const Decision& verdict) { return std::vector<Trial>(verdict.estimated); })
        .def("base_of", [](const Decision& verdict, const Trial& trial) { return verdict.bases[trial.base].id; })
        .def_ro("tried", &Decision::tried)
        .def_ro("left_out", &Decision::left_out)
        .def_ro("allowed", &Decision::allowed)
        .def_ro("optimal", &Decision::optimal)
        .def_ro("is_fastest", &Decision::is_fastest);
    nb::class_<Situation>(module, "Situation")
        .def(
            "__init__",
            [](Situation* self, std::int64_t ranks, std::int64_t messages, bool equal_sizes, bool half_duplex,
               bool channels, bool routes_known, bool has_links, std::vector<std::int32_t> sides,
               std::int64_t tolerance) {
                new (self) Situation{ranks,        messages,  equal_sizes,      half_duplex, channels,
                                     routes_known, has_links, std::move(sides), tolerance};
            },
            nb::kw_only(), nb::arg("ranks"), nb::arg("messages"), nb::arg("equal_sizes"), nb::arg("half_duplex"),
            nb::arg("channels"), nb::arg("routes_known"), nb::arg("has_links"), nb::arg("sides"), nb::arg("tolerance"))
        .def(
            "applies",
            [](const Situation& situation, const std::string& method, std::int64_t effort) {
                const Candidate* candidate = find_candidate(method);
                return candidate != nullptr && candidate->applies(situation, effort);
            },
            nb::arg("method"), nb::arg("effort"));
    nb::class_<Question>(module, "Question")
        .def(
            "__init__",
            [](Question* self, const Situation& situation, std::string rank_by, std::string model,
               std::vector<std::string> models, std::int64_t effort, std::int64_t most_simulated,
               const std::string& sync, bool limits_given, bool fewest_phases, bool hashed, bool adaptive,
               double beat_s, double rival_s) {
                new (self) Question{situation,        std::move(rank_by),
                                    std::move(model), std::move(models),
                                    effort,           most_simulated,
                                    policy_of(sync),  limits_given,
                                    fewest_phases,    hashed,
                                    adaptive,         beat_s,
                                    rival_s};
            },
            nb::kw_only(), nb::arg("situation"), nb::arg("rank_by"), nb::arg("model"), nb::arg("models"),
            nb::arg("effort"), nb::arg("most_simulated"), nb::arg("sync"), nb::arg("limits_given"),
            nb::arg("fewest_phases"), nb::arg("hashed"), nb::arg("adaptive"), nb::arg("beat_s"), nb::arg("rival_s"));
    module.def(
        "choose_schedule",
        [](nb::handle evaluator, const Question& question) {
            PythonEvaluator asked(evaluator);
            return choose_schedule(asked, question);
        },
        nb::arg("evaluator"), nb::arg("question"));
    module.def(
        "choose_policy",
        [](nb::handle evaluator, const Question& question, const TrialBase& base) {
            PythonEvaluator asked(evaluator);
            return choose_policy(asked, question, base);
        },
        nb::arg("evaluator"), nb::arg("question"), nb::arg("base"));
    bind_stages(module);
    bind_constants(module);
}

}  // namespace conset::bindings
