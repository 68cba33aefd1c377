#include "conset/runtime/schedule_time.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "conset/network/profile.hpp"
#include "conset/prediction/formula.hpp"
#include "conset/prediction/stage_clock.hpp"
#include "conset/runtime/outcome.hpp"
#include "conset/runtime/schedule_methods.hpp"
#include "conset/scheduling/event_list.hpp"
#include "conset/simulation/flow/flow.hpp"
#include "conset/simulation/wormhole/wormhole.hpp"

namespace conset {

// What `MessageCosts` looks at, for one policy.
struct FormulaCosts {
    const MachineCosts& of;
    Array<double> up_to, send, receive, latency, hop, link;
    MessageCosts costs;

    FormulaCosts(const MachineData& machine, const MachineCosts& given, SyncKind sync);
    FormulaCosts(const FormulaCosts&) = delete;
    FormulaCosts& operator=(const FormulaCosts&) = delete;
};

namespace {

constexpr double kNs = 1e9;

// In nanoseconds, without the last bit of noise, as conset/simulation/nanoseconds.py rounds them: events of one time
// must meet.
double rounded(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.15g", value * 1.0);
    return std::strtod(text, nullptr);
}
double to_ns(double seconds) { return rounded(seconds * kNs); }
double per_ns(double rate) { return rounded(rate / kNs); }

// By message, or one where all pay the same.
Array<double> by_message(const CostSteps& steps, const Array<std::int64_t>& bytes) {
    Array<double> ns;
    for (const double seconds : steps.seconds) ns.push_back(to_ns(seconds));
    if (std::adjacent_find(ns.begin(), ns.end(), std::not_equal_to<>()) == ns.end()) return {ns[0]};
    const CostSteps in_ns{steps.up_to, ns};
    Array<double> result;
    result.reserve(bytes.size());
    for (const std::int64_t size : bytes) result.push_back(in_ns.at(static_cast<double>(size)));
    return result;
}

Array<double> link_work(const MachineData& machine, const MachineCosts& costs) {
    if (machine.shape == Shape::crossbar) return {};
    const std::size_t entries = std::max(machine.link_rate.size(), machine.width.size());
    Array<double> work(entries);
    for (std::size_t k = 0; k < entries; ++k) {
        const double rate = machine.link_rate.empty() ? costs.link : machine.link_rate[k];
        work[k] = 1 / (rate * machine.width[machine.width.size() == 1 ? 0 : k]);
    }
    if (std::adjacent_find(work.begin(), work.end(), std::not_equal_to<>()) == work.end()) work.resize(1);
    return std::all_of(work.begin(), work.end(), [](double w) { return w == 0; }) ? Array<double>{} : work;
}

// By link slot: whether a route goes on in the next pool of channels; empty where none does.
Array<std::uint8_t> datelines(const MachineData& machine) {
    const Network& network = machine.network;
    if (!machine.wraps) return machine.dateline;
    const std::vector<std::int32_t>&sides = network.sides(), &strides = network.strides();
    Array<std::uint8_t> crosses(as_size(network.link_slots()), 0);
    std::size_t slot = 0;
    for (std::int32_t node = 0; node < network.nodes(); ++node) {
        for (std::size_t k = 0; k < sides.size(); ++k, slot += 2) {
            const std::int32_t at = node / strides[k] % sides[k];
            if (sides[k] <= 2) continue;
            crosses[slot] = at == sides[k] - 1 ? 1 : 0;
            crosses[slot + 1] = at == 0 ? 1 : 0;
        }
    }
    return crosses;
}

Execution<double> execution_of(const MachineCosts& costs, const SyncPolicy& policy, std::int64_t in_flight,
                               CostModel model) {
    Execution<double> execution;
    execution.policy = static_cast<Policy>(policy.kind);
    execution.every = policy.every;
    execution.in_flight = in_flight > 0 ? in_flight : costs.in_flight;
    execution.receives = costs.receives;
    execution.receive_list = model == CostModel::flow;
    execution.receive_before = costs.receive_before;
    execution.one_processor = costs.one_processor();
    execution.preempts = costs.preempts;
    execution.shared_processor = costs.processors == ProcessorKind::shared;
    execution.exchanges = costs.exchanges(policy.kind) && costs.node < kUnlimited;
    execution.first_barrier = costs.first_barrier;
    execution.barrier = to_ns(costs.barrier);
    execution.setup = to_ns(costs.setup);
    execution.signal_send = execution.signal_receive = to_ns(costs.signal) / 2;
    execution.signal_hop = to_ns(costs.hop.at(0));
    execution.startup = costs.startup > 0;
    execution.eager = costs.eager;
    execution.buffers = costs.buffers;
    return execution;
}

}  // namespace

FormulaCosts::FormulaCosts(const MachineData& machine, const MachineCosts& given, SyncKind sync) : of(given) {
    const bool ready = sync == SyncKind::ready;
    CostSteps once = given.inject + given.eject + CostSteps{{kUnlimited}, {given.per_transfer}};
    if (!ready) once = once + given.requests();
    // one table of sizes for all four
    up_to = (given.send_overhead + given.receive_overhead + once + given.hop).up_to;
    for (const double size : up_to) {
        send.push_back(given.send_overhead.at(size));
        receive.push_back(given.receive_overhead.at(size));
        latency.push_back(once.at(size));
        hop.push_back(given.hop.at(size));
    }
    link = link_work(machine, given);
    const bool exchanges = given.exchanges(sync) && given.node < kUnlimited;
    costs = {.up_to = up_to,
             .send = send,
             .receive = receive,
             .latency = latency,
             .hop = hop,
             .out = 1 / given.port_out,
             .in = 1 / given.port_in,
             .node = 1 / given.node,
             .copy = 1 / given.copy,
             .startup = given.startup,
             .exchange = exchanges ? given.exchange_weight : 1.0,
             .link = link,
             .width = machine.width,
             .tolerance = static_cast<double>(given.tolerance),
             .blocking = given.blocking,
             .setup = given.setup,
             .signal = ready ? given.signal : 0.0,
             .signal_hop = ready ? given.hop.at(0) : 0.0,
             .eager = given.eager,
             .before = given.receive_before,
             .one_processor = given.one_processor() && !given.preempts,
             .shared_processor = given.processors == ProcessorKind::shared,
             .in_flight = given.in_flight,
             .detects = sync != SyncKind::detect ? -1.0
                        : given.eager < 0        ? kUnlimited
                                                 : given.eager};
}

StageTimes::StageTimes(const MachineData& machine, std::int32_t ranks) {
    Array<std::int32_t> node;
    for (std::int32_t rank = 0; rank < ranks; ++rank) node.push_back(machine.node_of(rank));
    costs_ = std::make_unique<FormulaCosts>(machine, machine.costs, SyncKind::none);
    clock_ = std::make_unique<StageClock>(machine.network, node, costs_->costs, machine.costs.one_processor(), 0);
}

StageTimes::~StageTimes() = default;

StageEstimate StageTimes::of(const StageBundles& stages) const { return clock_->estimate(stages); }

static_assert(static_cast<int>(SyncKind::none) == static_cast<int>(Policy::none) &&
              static_cast<int>(SyncKind::local) == static_cast<int>(Policy::local) &&
              static_cast<int>(SyncKind::ready) == static_cast<int>(Policy::ready) &&
              static_cast<int>(SyncKind::barrier) == static_cast<int>(Policy::barrier) &&
              static_cast<int>(SyncKind::detect) == static_cast<int>(Policy::detect));

SyncPolicy parse_policy(std::string_view text) {
    const auto* known = std::find(kSyncNames.begin(), kSyncNames.end(), text);
    if (known != kSyncNames.end()) return {static_cast<SyncKind>(known - kSyncNames.begin()), 1};
    constexpr std::string_view counted = "barrier:";
    if (text.starts_with(counted)) {
        const std::string_view digits = text.substr(counted.size());
        std::int32_t every = 0;
        const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), every);
        if (error == std::errc() && last == digits.data() + digits.size() && every >= 1)
            return {SyncKind::barrier, every};
        throw Failure(Code::argument,
                      "sync '" + std::string(text) + "': K of barrier:K must be a whole number of at least 1");
    }
    throw Failure(Code::argument,
                  "sync '" + std::string(text) + "': must be none, local, ready, detect, barrier, barrier:K or auto");
}

std::string policy_text(const SyncPolicy& policy) {
    const std::string name(kSyncNames[static_cast<std::size_t>(policy.kind)]);
    return policy.every == 1 ? name : name + ":" + std::to_string(policy.every);
}

TimedSchedule::TimedSchedule(const MachineData& machine, const RankMessages& messages, std::string_view method,
                             const Limits& limits, Phases phases, const StageBundles* stages)
    : machine_(machine),
      costs_(machine.costs_for(method)),
      method_(method),
      limits_(limits),
      ranks_(messages.ranks),
      phases_(std::move(phases)) {
    for (const std::int32_t m : phases_.message) {
        source_.push_back(messages.source[m]);
        target_.push_back(messages.target[m]);
        source_node_.push_back(machine.node_of(messages.source[m]));
        target_node_.push_back(machine.node_of(messages.target[m]));
        bytes_.push_back(messages.bytes[m]);
    }
    walked_ = WalkedRoutes(routes());
    if (stages == nullptr) return;
    Array<std::int32_t> place(messages.size());
    for (std::size_t k = 0; k < place.size(); ++k) place[phases_.message[k]] = static_cast<std::int32_t>(k);
    waits_.offsets.push_back(0);
    for (const std::int32_t m : phases_.message) {
        packed_.push_back(stages->packed[m]);
        for (const std::int32_t before : stages->needs.of(m)) waits_.items.push_back(place[before]);
        waits_.offsets.push_back(static_cast<std::int64_t>(waits_.items.size()));
    }
    const auto packs = [](std::uint8_t packed) { return packed != 0; };
    if (std::none_of(packed_.begin(), packed_.end(), packs)) packed_.clear();
}

Array<SyncPolicy> TimedSchedule::policies() const {
    // phases that are set up on a machine of channels are contexts, which all ranks switch at once; what posts
    // everything passes messages and opens none
    const bool contexts = method_ != "naive" && machine_.limits.channels > 0 && costs_.setup > 0;
    if (phase_count() > 0 && contexts) return {{SyncKind::barrier, 1}};
    if (phase_count() <= 1) {
        Array<SyncPolicy> all{{SyncKind::none, 1}, {SyncKind::ready, 1}};
        for (const SyncKind kind : costs_.exchange_syncs)
            if (kind != SyncKind::none && kind != SyncKind::ready) all.push_back({kind, 1});
        if (detect_may_gain()) all.push_back({SyncKind::detect, 1});
        return all;
    }
    const Limits hard = machine_.hard_limits(method_);
    if (hard.send > 0 || hard.receive > 0 || hard.link > 0 || hard.channels > 0 || hard.exchange)
        return {{SyncKind::barrier, 1}};
    Array<SyncPolicy> all{{SyncKind::none, 1}, {SyncKind::local, 1}, {SyncKind::ready, 1}};
    for (std::int64_t every = 1; every < phase_count(); every *= 2) all.push_back({SyncKind::barrier, every});
    if (detect_may_gain()) all.push_back({SyncKind::detect, 1});
    return all;
}

bool TimedSchedule::detect_may_gain() const {
    return costs_.copy < kUnlimited && (costs_.outstanding_receives > 0 || costs_.receives > 0);
}

bool TimedSchedule::receives_fit(const SyncPolicy& policy) const {
    if (policy.kind == SyncKind::detect) {  // none is posted: a system buffer holds what comes
        for (std::size_t k = 0; k < bytes_.size(); ++k)
            if (const auto bytes = static_cast<double>(bytes_[k]); source_node_[k] != target_node_[k] &&
                                                                   bytes > costs_.buffers &&
                                                                   (costs_.eager < 0 || bytes <= costs_.eager))
                return false;
        return true;
    }
    if (costs_.outstanding_receives == 0) return true;
    Array<std::int64_t> posted(as_size(machine_.network.nodes()), 0);
    Array<std::int64_t> group_of(posted.size(), -1);
    for (std::int64_t p = 0; p < phase_count(); ++p) {
        const std::int64_t group = policy.kind == SyncKind::none ? 0 : p / policy.every;
        for (std::int64_t k = phases_.offsets[p]; k < phases_.offsets[p + 1]; ++k) {
            const std::int32_t node = target_node_[k];
            if (source_node_[k] == node) continue;
            if (group_of[node] != group) posted[node] = 0;
            group_of[node] = group;
            if (++posted[node] > costs_.outstanding_receives) return false;
        }
    }
    return true;
}

double TimedSchedule::barriers_s(const SyncPolicy& policy) const {
    if (policy.kind != SyncKind::barrier || phase_count() == 0) return 0;
    const std::int64_t barriers = (phase_count() - 1) / policy.every;
    return static_cast<double>(barriers) * costs_.barrier;
}

Array<std::int64_t> TimedSchedule::batches(const SyncPolicy& policy) const {
    const std::int64_t step =
        policy.kind == SyncKind::barrier ? policy.every : std::max<std::int64_t>(phase_count(), 1);
    Array<std::int64_t> offsets;
    for (std::int64_t p = 0; p < phase_count(); p += step) offsets.push_back(p);
    offsets.push_back(phase_count());
    return offsets;
}

double TimedSchedule::predict(const SyncPolicy& policy, const MachineCosts& costs, bool links) const {
    if (phase_count() == 0) return 0;
    FormulaCosts given(machine_, costs, policy.kind);
    if (!links) given.costs.link = {};
    if (!phases_.end.empty()) given.costs.blocking = 0;  // a timetable keeps its messages apart
    const Ranks ranks{source_, target_, ranks_, packed_};
    const Array<std::int64_t> offsets = batches(policy);
    const bool partners = policy.kind == SyncKind::local || policy.kind == SyncKind::ready;
    Formula found =
        time_phases(walked_.of(routes()), ranks, bytes_, phases_.offsets, offsets, partners, given.costs, {waits_});
    if (!phases_.end.empty()) {
        const Array<std::int64_t> opened{costs.setup > 0 ? 1 : 0};
        const Array<double> end{timetable_end(policy) + static_cast<double>(opened[0]) * costs.setup};
        found.take_later(end, Busy::timetable, opened, opened);
    }
    const auto groups = static_cast<std::int64_t>(offsets.size()) - 1;
    const std::int64_t barriers = policy.kind == SyncKind::barrier ? groups - (costs.first_barrier ? 0 : 1) : 0;
    return add_up(found.busy, found.setups, offsets, barriers, costs.barrier, costs.setup).total();
}

double TimedSchedule::timetable_end(const SyncPolicy& policy) const {
    const Array<double> duration = transfer_times(machine_, costs_, routes(), bytes_, policy.kind == SyncKind::ready);
    Array<std::int32_t> order(bytes_.size());
    std::iota(order.begin(), order.end(), 0);
    const TimeLines lines(routes(), machine_.width, costs_.half_duplex());
    const Timetable table = time_in_order(lines, order, phases_.offsets, duration, {}, {});
    return std::max(*std::max_element(table.end.begin(), table.end.end()),
                    *std::max_element(phases_.end.begin(), phases_.end.end()));
}

double TimedSchedule::loss(const SyncPolicy& policy) const {
    if (costs_.model != CostModel::flow || costs_.blocking == 0) return 1;
    const bool meet = policy.kind == SyncKind::local || policy.kind == SyncKind::ready;
    MachineCosts fair = costs_, lossy = costs_;
    fair.blocking = 0;
    lossy.tolerance = std::max<std::int64_t>(costs_.tolerance / (meet ? 2 : 1), 1);
    const double fair_s = predict(policy, fair, true);
    return fair_s > 0 ? predict(policy, lossy, true) / fair_s : 1;
}

std::int64_t TimedSchedule::most_in_flight() const {
    Array<std::int64_t> sends(as_size(std::max(ranks_, 1)), 0);
    for (const std::int32_t rank : source_) ++sends[rank];
    const std::int64_t most = *std::max_element(sends.begin(), sends.end());
    return costs_.in_flight > 0 ? std::min(costs_.in_flight, most) : most;
}

std::int64_t TimedSchedule::send_limit() const {
    if (!phases_.start.empty()) return 0;
    for (std::size_t k = 0; k < source_node_.size(); ++k)
        if (source_node_[k] == target_node_[k]) return 0;
    return limits_.send;
}

// The most datelines on the route of a message.
std::int32_t TimedSchedule::most_datelines(const Array<std::uint8_t>& dateline) const {
    std::int32_t most = 0;
    for (std::size_t k = 0; k < source_.size(); ++k) {
        std::int32_t crossed = 0;
        routes().each_link(k, [&](std::int32_t link) { crossed += dateline[link]; });
        most = std::max(most, crossed);
    }
    return most;
}

SimulatedTime TimedSchedule::simulate(CostModel model, const SyncPolicy& policy, std::int64_t in_flight, double until_s,
                                      std::int64_t work) const {
    // headers follow one route, which a message that switches spread does not have
    const bool headers = model != CostModel::flow, spread = machine_.network.choice() == Choice::even;
    if ((headers && spread) || !receives_fit(policy)) return {.refused = true};
    if (phase_count() == 0) return {.seconds = 0};
    Execution<double> execution = execution_of(costs_, policy, in_flight, model);
    Array<double> send = by_message(costs_.send_overhead, bytes_);
    Array<double> receive = by_message(costs_.receive_overhead, bytes_);
    const Array<double> latency =
        by_message(costs_.inject + costs_.eject + CostSteps{{kUnlimited}, {costs_.per_transfer}}, bytes_);
    const Array<double> hop = by_message(costs_.hop, bytes_);
    Array<double> copy, link, delay;
    if (costs_.copy < kUnlimited)
        for (const std::int64_t size : bytes_) copy.push_back(static_cast<double>(size) / per_ns(costs_.copy));
    for (const double rate : machine_.link_rate) link.push_back(per_ns(rate));
    if (link.empty()) link.push_back(per_ns(costs_.link));
    if (costs_.jitter > 0) delay = delays(source_, target_, costs_.jitter);
    for (double& seconds : delay) seconds *= kNs;
    if (!packed_.empty() && !copy.empty())
        for (Array<double>* overhead : {&send, &receive}) {
            if (overhead->size() == 1) overhead->assign(bytes_.size(), (*overhead)[0]);
            for (std::size_t k = 0; k < bytes_.size(); ++k) (*overhead)[k] += packed_[k] != 0 ? copy[k] : 0.0;
        }
    execution.send = send;
    execution.receive = receive;
    execution.copy = copy;
    execution.delay = delay;
    if (until_s < kUnlimited) execution.until = until_s * kNs;
    execution.work = work;
    const Rates rates{link,
                      machine_.width,
                      per_ns(costs_.port_out),
                      per_ns(costs_.port_in),
                      per_ns(costs_.node),
                      costs_.exchange_weight,
                      to_ns(costs_.startup)};
    const Messages<double> messages{source_, target_, bytes_, {}, waits_.offsets, waits_.items, phases_.offsets, {}};
    Simulated result;
    if (!headers) {
        result = simulate_flow(routes(), messages, execution, {rates, latency, hop, false, 0.0}, false);
    } else {
        WormholeCosts costs{rates, latency, hop, {}, 1, 1};
        Array<std::uint8_t> dateline;
        if (model == CostModel::wormhole) {
            dateline = datelines(machine_);
            const bool crosses = std::any_of(dateline.begin(), dateline.end(), [](auto c) { return c != 0; });
            const auto dimensions = static_cast<std::int32_t>(machine_.network.sides().size());
            costs.dateline = dateline;
            costs.lanes = static_cast<std::int32_t>(costs_.lanes);
            if (crosses) costs.pools = 1 + (dimensions > 0 ? dimensions : most_datelines(dateline));
        }
        result = simulate_wormhole(routes(), messages, execution, costs, false);
    }
    if (!result.cycle.message.empty()) return {.work = result.work, .refused = true};
    return {*std::max_element(result.times.end.begin(), result.times.end.end()) / kNs, result.work, result.cut};
}

}  // namespace conset
