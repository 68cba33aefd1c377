#include "conset/runtime/schedule.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "checks.hpp"
#include "conset/runtime/evaluator.hpp"
#include "conset/runtime/kept_schedule.hpp"
#include "conset/runtime/machine_data.hpp"
#include "conset/runtime/outcome.hpp"
#include "conset/runtime/schedule_methods.hpp"
#include "conset/runtime/schedule_time.hpp"

namespace conset::bindings {

namespace {

// What `each_cost` visits, by name: numbers, counts, flags, and costs in steps as (up_to, seconds).
nb::typed<nb::dict, nb::str, nb::any> described(const MachineCosts& costs) {
    nb::typed<nb::dict, nb::str, nb::any> result;
    each_cost(costs, [&](const char* name, const auto& value) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, CostSteps>)
            result[name] = nb::make_tuple(static_cast<const std::vector<double>&>(value.up_to),
                                          static_cast<const std::vector<double>&>(value.seconds));
        else
            result[name] = value;
    });
    constexpr const char* models[] = {"flow", "wormhole", "circuit"};
    constexpr const char* processors[] = {"one", "two", "shared"};
    result["model"] = models[static_cast<int>(costs.model)];
    result["processors"] = processors[static_cast<int>(costs.processors)];
    nb::list syncs;
    for (const SyncKind kind : costs.exchange_syncs) syncs.append(policy_text({kind, 1}));
    result["exchange_syncs"] = syncs;
    return result;
}

// (send, receive, link, channels, exchange), 0 for no limit.
using LimitValues = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, bool>;
LimitValues values_of(const Limits& limits) {
    return {limits.send, limits.receive, limits.link, limits.channels, limits.exchange};
}

RankMessages messages_of(std::int32_t ranks, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> bytes) {
    return {ranks, copy(source), copy(target), copy(bytes)};
}

RankSchedule schedule(const MachineData& machine, std::int32_t ranks, In<std::int32_t> source, In<std::int32_t> target,
                      In<std::int64_t> bytes, const std::string& method, const std::string& sync, std::uint64_t seed,
                      std::int64_t effort, bool combine, std::int64_t memory) {
    nb::gil_scoped_release released;
    return schedule_messages(machine, messages_of(ranks, source, target, bytes),
                             {method, sync, seed, effort, combine, memory});
}

StageBundles bundles(const MachineData& machine, std::int32_t ranks, In<std::int32_t> source, In<std::int32_t> target,
                     In<std::int64_t> bytes, std::size_t way) {
    nb::gil_scoped_release released;
    const std::vector<StageWay> ways = stage_ways(machine, ranks);
    require(way < ways.size(), "way", "there are not so many");
    check_messages(machine, messages_of(ranks, source, target, bytes));
    return bundles_along(positions_along(ways[way], ranks, view(source), view(target), view(bytes), machine.placement),
                         ranks, view(bytes));
}

std::vector<std::string> words_of_ways(const MachineData& machine, std::int32_t ranks) {
    std::vector<std::string> words;
    for (const StageWay& way : stage_ways(machine, ranks)) words.push_back(way.word);
    return words;
}

// A method's schedule of messages, timed; `link` 0: its own limit of links. Of `naive`, ranks post by `order`.
void time_method(TimedSchedule* self, const MachineData& machine, std::int32_t ranks, In<std::int32_t> source,
                 In<std::int32_t> target, In<std::int64_t> bytes, const std::string& method, std::int32_t link,
                 std::uint64_t seed, std::int64_t effort, const std::string& order) {
    nb::gil_scoped_release released;
    const RankMessages messages = messages_of(ranks, source, target, bytes);
    check_messages(machine, messages);
    const Limits limits = method_limits(method, machine, link);
    Phases phases = phases_by(method, machine, messages, limits, seed, effort);
    if (method == "naive") phases.message = posting_order(order, machine, messages, seed);
    new (self) TimedSchedule(machine, messages, method, limits, std::move(phases));
}

// The same of the bundles of a way, stage after stage.
TimedSchedule time_stages(const MachineData& machine, const StageBundles& stages, std::int32_t ranks,
                          const std::string& method, std::int32_t link, std::uint64_t seed, std::int64_t effort) {
    nb::gil_scoped_release released;
    const RankMessages bundles = messages_of(stages, ranks);
    NativeEvaluator evaluator(machine, bundles, seed, &stages);
    const Attempt attempt{method, link, effort};
    const auto made = evaluator.make({&attempt, 1})[0];
    if (!made) throw Failure(Code::schedule, "method " + method + " does not apply to every stage");
    return evaluator.schedule(made->id);
}

void bind_timed_schedule(nb::module_& module) {
    module.def("time_stages", &time_stages, nb::arg("machine"), nb::arg("stages"), nb::arg("ranks"), nb::kw_only(),
               nb::arg("method"), nb::arg("link"), nb::arg("seed"), nb::arg("effort"), nb::keep_alive<0, 1>());
    nb::enum_<CostModel>(module, "CostModel")
        .value("flow", CostModel::flow)
        .value("wormhole", CostModel::wormhole)
        .value("circuit", CostModel::circuit);
    nb::class_<SimulatedTime>(module, "SimulatedTime")
        .def_ro("seconds", &SimulatedTime::seconds)
        .def_ro("work", &SimulatedTime::work)
        .def_ro("cut", &SimulatedTime::cut)
        .def_ro("refused", &SimulatedTime::refused);
    nb::class_<TimedSchedule>(module, "TimedSchedule")
        .def("__init__", &time_method, nb::arg("machine"), nb::arg("ranks"), nb::arg("source").noconvert(),
             nb::arg("target").noconvert(), nb::arg("bytes").noconvert(), nb::kw_only(), nb::arg("method"),
             nb::arg("link"), nb::arg("seed"), nb::arg("effort"), nb::arg("order"), nb::keep_alive<1, 2>())
        .def_prop_ro("phases", &TimedSchedule::phases)
        .def_prop_ro("limits", [](const TimedSchedule& schedule) { return values_of(schedule.limits()); })
        .def_prop_ro("measured", [](const TimedSchedule& schedule) { return schedule.costs().measured; })
        .def_prop_ro("most_in_flight", &TimedSchedule::most_in_flight)
        .def("policies",
             [](const TimedSchedule& schedule) {
                 std::vector<std::string> policies;
                 for (const SyncPolicy& policy : schedule.policies()) policies.push_back(policy_text(policy));
                 return policies;
             })
        .def(
            "receives_fit",
            [](const TimedSchedule& schedule, const std::string& sync) {
                return schedule.receives_fit(parse_policy(sync));
            },
            nb::arg("sync"))
        .def(
            "barriers_s",
            [](const TimedSchedule& schedule, const std::string& sync) {
                return schedule.barriers_s(parse_policy(sync));
            },
            nb::arg("sync"))
        .def(
            "predict",
            [](const TimedSchedule& schedule, const std::string& sync) { return schedule.predict(parse_policy(sync)); },
            nb::arg("sync"))
        .def(
            "loss",
            [](const TimedSchedule& schedule, const std::string& sync) { return schedule.loss(parse_policy(sync)); },
            nb::arg("sync"))
        .def(
            "simulate",
            [](const TimedSchedule& schedule, CostModel model, const std::string& sync, std::int64_t in_flight,
               double until_s, std::int64_t work) {
                nb::gil_scoped_release released;
                return schedule.simulate(model, parse_policy(sync), in_flight, until_s, work);
            },
            nb::arg("model"), nb::arg("sync"), nb::kw_only(), nb::arg("in_flight"), nb::arg("until_s"),
            nb::arg("work"));
}

// A schedule under changes, made with its first messages.
void keep(KeptSchedule* self, const MachineData& machine, std::int32_t ranks, In<std::int32_t> source,
          In<std::int32_t> target, In<std::int64_t> bytes, const std::string& method, const std::string& sync,
          std::uint64_t seed) {
    nb::gil_scoped_release released;
    RankMessages messages = messages_of(ranks, source, target, bytes);
    const ScheduleOptions options{method, sync, seed};
    const RankSchedule schedule = schedule_messages(machine, messages, options);
    new (self) KeptSchedule(machine, std::move(messages), schedule, options);
}

KeptUpdate compare(KeptSchedule& kept, In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> bytes) {
    nb::gil_scoped_release released;
    return kept.update(messages_of(kept.messages().ranks, source, target, bytes));
}

KeptUpdate change(KeptSchedule& kept, In<std::int32_t> removed, In<std::int32_t> source, In<std::int32_t> target,
                  In<std::int64_t> bytes, In<std::int32_t> resized, In<std::int64_t> resized_bytes) {
    nb::gil_scoped_release released;
    check_size("target", target.shape(0), source.shape(0));
    check_size("bytes", bytes.shape(0), source.shape(0));
    return kept.update(
        {view(removed), messages_of(kept.messages().ranks, source, target, bytes), view(resized), view(resized_bytes)});
}

void bind_kept_schedule(nb::module_& module) {
    nb::class_<KeptUpdate>(module, "KeptUpdate")
        .def_ro("full", &KeptUpdate::full)
        .def_ro("removed", &KeptUpdate::removed)
        .def_ro("added", &KeptUpdate::added);
    nb::class_<KeptSchedule>(module, "KeptSchedule")
        .def("__init__", &keep, nb::arg("machine"), nb::arg("ranks"), nb::arg("source").noconvert(),
             nb::arg("target").noconvert(), nb::arg("bytes").noconvert(), nb::kw_only(), nb::arg("method"),
             nb::arg("sync"), nb::arg("seed"))
        .def("update", &compare, nb::arg("source").noconvert(), nb::arg("target").noconvert(),
             nb::arg("bytes").noconvert())
        .def("change", &change, nb::kw_only(), nb::arg("removed").noconvert(), nb::arg("source").noconvert(),
             nb::arg("target").noconvert(), nb::arg("bytes").noconvert(), nb::arg("resized").noconvert(),
             nb::arg("resized_bytes").noconvert())
        .def("schedule", &KeptSchedule::schedule)
        .def_prop_ro("source", [](const KeptSchedule& kept) { return look(kept.messages().source); })
        .def_prop_ro("target", [](const KeptSchedule& kept) { return look(kept.messages().target); })
        .def_prop_ro("bytes", [](const KeptSchedule& kept) { return look(kept.messages().bytes); });
}

}  // namespace

void bind_schedule(nb::module_& module) {
    nb::class_<MachineData>(module, "MachineData")
        .def_static("in_words", &machine_in_words, nb::arg("text"), nb::arg("ranks"), nb::arg("ranks_per_node") = 1)
        .def_static("read", &read_machine_file, nb::arg("path"))
        .def_ro("name", &MachineData::name)
        .def_prop_ro("endpoints", &MachineData::endpoints)
        .def_prop_ro("nodes", [](const MachineData& machine) { return machine.network.nodes(); })
        .def_prop_ro("link_slots", [](const MachineData& machine) { return machine.network.link_slots(); })
        .def_prop_ro("wraps", [](const MachineData& machine) { return machine.wraps; })
        .def_prop_ro("width", &entries<MachineData, &MachineData::width>)
        .def_prop_ro("link_rate", &entries<MachineData, &MachineData::link_rate>)
        .def("hard_limits", [](const MachineData& machine,
                               const std::string& method) { return values_of(machine.hard_limits(method)); })
        .def("costs_for",
             [](const MachineData& machine, const std::string& method) { return described(machine.costs_for(method)); })
        .def("hops", [](const MachineData& machine, std::int32_t source, std::int32_t target) {
            check_count("source", source, 0, machine.endpoints() - 1);
            check_count("target", target, 0, machine.endpoints() - 1);
            return machine.network.hops(source, target);
        });
    nb::class_<StageChoice>(module, "StageChoice")
        .def_ro("combine", &StageChoice::combine)
        .def_ro("memory", &StageChoice::memory)
        .def_ro("left_out", &StageChoice::left_out);
    nb::class_<StageBundles>(module, "StageBundles")
        .def_prop_ro("source", &entries<StageBundles, &StageBundles::source>)
        .def_prop_ro("target", &entries<StageBundles, &StageBundles::target>)
        .def_prop_ro("stage", &entries<StageBundles, &StageBundles::stage>)
        .def_prop_ro("bytes", &entries<StageBundles, &StageBundles::bytes>)
        .def_prop_ro("packed", &entries<StageBundles, &StageBundles::packed>)
        .def_prop_ro("part_offsets", [](const StageBundles& stages) { return look(stages.parts.offsets); })
        .def_prop_ro("parts", [](const StageBundles& stages) { return look(stages.parts.items); })
        .def_prop_ro("need_offsets", [](const StageBundles& stages) { return look(stages.needs.offsets); })
        .def_prop_ro("needs", [](const StageBundles& stages) { return look(stages.needs.items); })
        .def_ro("memory", &StageBundles::memory);
    nb::class_<RankSchedule>(module, "RankSchedule")
        .def_prop_ro("phase_offsets", &entries<RankSchedule, &RankSchedule::phase_offsets>)
        .def_prop_ro("message", &entries<RankSchedule, &RankSchedule::message>)
        .def_prop_ro("sync", [](const RankSchedule& schedule) { return policy_text({schedule.sync, schedule.every}); })
        .def_ro("in_flight", &RankSchedule::in_flight)
        .def_ro("method", &RankSchedule::method)
        .def_prop_ro("limits", [](const RankSchedule& schedule) { return values_of(schedule.limits); })
        .def_ro("predicted_s", &RankSchedule::predicted_s)
        .def_ro("choice", &RankSchedule::choice);
    module.def("method_names", &method_names);
    module.def("stage_words", &words_of_ways, nb::arg("machine"), nb::arg("ranks"));
    module.def("stage_bundles", &bundles, nb::arg("machine"), nb::arg("ranks"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("bytes").noconvert(), nb::arg("way"));
    module.def("schedule_messages", &schedule, nb::arg("machine"), nb::arg("ranks"), nb::arg("source").noconvert(),
               nb::arg("target").noconvert(), nb::arg("bytes").noconvert(), nb::kw_only(), nb::arg("method"),
               nb::arg("sync"), nb::arg("seed"), nb::arg("effort") = 1, nb::arg("combine") = false,
               nb::arg("memory") = std::numeric_limits<std::int64_t>::max());
    bind_timed_schedule(module);
    bind_kept_schedule(module);
}

}  // namespace conset::bindings
