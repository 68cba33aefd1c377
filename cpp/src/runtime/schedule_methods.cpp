#include "conset/runtime/schedule_methods.hpp"

#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "conset/runtime/outcome.hpp"
#include "conset/scheduling/coloring.hpp"
#include "conset/scheduling/complete_exchange/exchange_choice.hpp"
#include "conset/scheduling/first_fit.hpp"
#include "conset/scheduling/random_schedule.hpp"

namespace conset {

namespace {

enum Keeps : std::uint8_t { kNothing = 0, kLinks = 1, kDuplex = 2, kAny = 4, kChannels = 8 };

// Rows of conset/methods/table.py: its own limits, and those it keeps at other values.
struct MethodRow {
    std::string_view name;
    Limits own;
    std::uint8_t keeps;
};

constexpr std::array kRows{
    MethodRow{"lp", {1, 1, 0, 0, false}, kDuplex},
    MethodRow{"gen", {1, 1, 0, 0, false}, kNothing},
    MethodRow{"bounded", {1, 1, 1, 0, false}, kLinks},
    MethodRow{"pex-gen-shift", {1, 1, 0, 0, false}, kDuplex},
    MethodRow{"rs-n", {1, 1, 0, 0, false}, kNothing},
    MethodRow{"rs-nl", {1, 1, 1, 0, false}, kLinks},
    MethodRow{"coloring", {1, 1, 0, 0, false}, kNothing},
    MethodRow{"first-fit", {1, 1, 1, 0, false}, kAny},
    MethodRow{"decreasing", {1, 1, 1, 0, false}, kAny},
    MethodRow{"negotiated", {1, 1, 1, 0, false}, kAny},
    MethodRow{"event-list", {0, 0, 0, 0, false}, kNothing},
    MethodRow{"half-duplex", {1, 1, 1, 0, true}, kLinks | kDuplex | kChannels},
    MethodRow{"naive", {0, 0, 0, 0, false}, kNothing},
};

const MethodRow& row_of(std::string_view method) {
    std::string known;
    for (const MethodRow& row : kRows) {
        if (row.name == method) return row;
        known += std::string(row.name) + " ";
    }
    throw Failure(Code::argument, "method '" + std::string(method) + "': must be one of " + known + "or auto");
}

std::int32_t stricter(std::int32_t one, std::int32_t other) {
    return one == 0 ? other : other == 0 ? one : std::min(one, other);
}

std::string number(std::int32_t limit) { return limit == 0 ? "unlimited" : std::to_string(limit); }

[[noreturn]] void refuse(const MethodRow& row, const char* limit, const std::string& kept, const std::string& given) {
    throw Failure(Code::schedule, "method " + std::string(row.name) + " keeps " + limit + " " + kept + ": " + limit +
                                      "=" + given + " was asked; first-fit keeps any");
}

void check(const MethodRow& row, const char* limit, std::int32_t kept, std::int32_t given, bool adjustable) {
    if (given == kept || given == 0 || adjustable) return;
    refuse(row, limit, number(kept), std::to_string(given));
}

bool equal_sizes(const RankMessages& messages) {
    const auto& bytes = messages.bytes;
    return std::adjacent_find(bytes.begin(), bytes.end(), std::not_equal_to<>()) == bytes.end();
}

Phases one_phase(Array<std::int32_t> order) {
    if (order.empty()) return {{0}, {}};
    return {{0, static_cast<std::int64_t>(order.size())}, std::move(order)};
}

// The first message that is not the first one from its source to its target; `messages.size()`: there is none.
std::size_t first_repeat(const RankMessages& messages) {
    Array<std::int32_t> last(as_size(messages.ranks), -1);  // who sent to each target last
    for (std::size_t k = 0; k < messages.size(); ++k)
        if (std::exchange(last[messages.target[k]], messages.source[k]) == messages.source[k]) return k;
    return messages.size();
}

// The phase step(source, target) of every message, which no two pairs of ranks with one end in common share.
template <class Step>
Array<std::int32_t> by_step(const RankMessages& messages, Step&& step) {
    Array<std::int32_t> phase(messages.size());
    for (std::size_t k = 0; k < phase.size(); ++k) phase[k] = step(messages.source[k], messages.target[k]);
    return phase;
}

constexpr auto kPartner = [](std::int32_t source, std::int32_t target) { return (source ^ target) - 1; };

// Throws unless the messages are one from each node to each other one, by rising target, on a mesh or torus, dead nodes
// or not.
void require_exchange(const MachineData& machine, const RankMessages& messages) {
    const std::string nodes = std::to_string(machine.endpoints());
    const bool holes = machine.shape == Shape::graph && machine.network.nodes() == machine.endpoints();
    if (!machine.network.is_box() && !holes)
        throw Failure(Code::schedule,
                      "method bounded requires a mesh or torus, dead nodes or not, given " + machine.name);
    const std::string needed = "method bounded requires a complete exchange of the " + nodes + " nodes";
    if (messages.ranks != machine.endpoints())
        throw Failure(Code::schedule, needed + ", given " + std::to_string(messages.ranks) + " ranks");
    const std::size_t others = as_size(messages.ranks - 1), all = as_size(messages.ranks) * others;
    if (messages.size() != all)
        throw Failure(Code::schedule,
                      needed + ": " + std::to_string(all) + " messages, given " + std::to_string(messages.size()));
    const auto ends = [](auto s, auto t) { return "one from " + std::to_string(s) + " to " + std::to_string(t); };
    for (std::size_t k = 0; k < all; ++k) {
        const std::size_t source = k / others, target = k % others + (k % others >= source ? 1 : 0);
        if (as_size(messages.source[k]) != source || as_size(messages.target[k]) != target)
            throw Failure(Code::schedule, needed + ": one message for each pair of ranks, by rising target, given " +
                                              ends(messages.source[k], messages.target[k]) + " in place of " +
                                              ends(source, target));
    }
}

// Whether the nodes of ranks differ by the XOR of one number for each bit in which the ranks do.
bool is_linear(const MachineData& machine) {
    const auto node = [&](std::int32_t rank) { return machine.node_of(rank); };
    for (std::int32_t rank = 1; rank < static_cast<std::int32_t>(machine.placement.size()); ++rank)
        if (const std::int32_t rest = rank & (rank - 1); (node(rank) ^ node(rest) ^ node(rank ^ rest)) != node(0))
            return false;
    return true;
}

// The best construction; with `effort` 0 without a search where it misses the bound.
Phases by_exchange(const MachineData& machine, std::int32_t link, std::int32_t effort, std::uint64_t seed) {
    const std::int64_t nodes = machine.network.nodes(), wide = std::int64_t{link} * machine.width[0];
    const ExchangeBox box(machine.network, link == 0 ? nodes : wide);
    Phases found = choose_exchange(box, effort, seed).phases;
    if (machine.placement.empty()) return found;
    Array<std::int32_t> rank(as_size(nodes));  // on each node
    for (std::int32_t r = 0; r < box.nodes(); ++r) rank[machine.node_of(r)] = r;
    for (std::int32_t& m : found.message) m = box.message(rank[box.source(m)], rank[box.target(m)]);
    return found;
}

}  // namespace

Limits method_limits(std::string_view method, const MachineData& machine, std::int32_t link) {
    const MethodRow& row = row_of(method);
    const bool has_links = machine.network.link_slots() > 0, any = (row.keeps & kAny) != 0;
    Limits own = row.own;
    if (row.name == "lp" && machine.shape == Shape::hypercube) own.link = 1;
    const Limits kept = own;
    if (link > 0) own.link = link;
    if (machine.network.spreads()) {  // nobody knows what meets on a link
        if (row.name == "rs-nl" || row.name == "bounded" || row.name == "negotiated" || row.name == "event-list")
            throw Failure(Code::schedule, "method " + std::string(row.name) + " orders messages on links: " +
                                              machine.name + " does not know its routes; first-fit orders ports");
        own.link = own.channels = 0;
    }
    const Limits hard = machine.hard_limits(method);
    const Limits limits{stricter(own.send, hard.send), stricter(own.receive, hard.receive),
                        stricter(own.link, hard.link), stricter(own.channels, hard.channels),
                        own.exchange || hard.exchange};
    check(row, "send", kept.send, limits.send, any);
    check(row, "receive", kept.receive, limits.receive, any);
    check(row, "link", kept.link, limits.link, any || (row.keeps & kLinks) != 0 || !has_links);
    check(row, "channels", kept.channels, limits.channels, any || (row.keeps & kChannels) != 0);
    if (limits.exchange && !any && (row.keeps & kDuplex) == 0) refuse(row, "duplex", "full", "exchange");
    if (row.name == "negotiated" && limits.exchange && (limits.send != 1 || limits.receive != 1))
        throw Failure(Code::schedule, "method negotiated with duplex exchange requires send=1, receive=1, given send=" +
                                          number(limits.send) + ", receive=" + number(limits.receive) +
                                          "; first-fit keeps any");
    return limits;
}

std::vector<std::string> method_names() {
    std::vector<std::string> names;
    names.reserve(std::size(kRows) + 1);
    for (const MethodRow& row : kRows) names.emplace_back(row.name);
    names.emplace_back("auto");
    return names;
}

bool is_by_rank(std::string_view method) { return method == "lp" || method == "gen" || method == "pex-gen-shift"; }

View<const std::int64_t> unequal_sizes(const RankMessages& messages) {
    if (equal_sizes(messages)) return {};
    return messages.bytes;
}

Array<std::int32_t> posting_order(std::string_view order, const MachineData& machine, const RankMessages& messages,
                                  std::uint64_t seed) {
    Array<std::int32_t> sides = machine.network.sides();
    if (machine.shape == Shape::hypercube) sides.assign(as_size(std::bit_width(as_size(machine.endpoints())) - 1), 2);
    if (order == "dimension" && !machine.network.is_box() && machine.shape != Shape::hypercube)
        throw Failure(Code::argument,
                      "posting dimension: requires a mesh, torus, ring or hypercube, given " + machine.name);
    const NodeEnds nodes(machine, messages);
    return order_messages(
        {messages.ranks, messages.source, messages.target, messages.bytes, sides, nodes.source_node, nodes.target_node},
        order, seed);
}

NodeEnds::NodeEnds(const MachineData& machine, const RankMessages& messages)
    : source_node(messages.source), target_node(messages.target) {
    for (Array<std::int32_t>* ends : {&source_node, &target_node})
        for (std::int32_t& each : *ends) each = machine.node_of(each);
}

Phases phases_by(std::string_view method, const MachineData& machine, const RankMessages& messages,
                 const Limits& limits, std::uint64_t seed, std::int64_t effort) {
    const PlacedResources resources(machine, messages, limits);
    if (method == "naive") {
        Array<std::int32_t> order(messages.size());
        std::iota(order.begin(), order.end(), 0);
        return one_phase(std::move(order));
    }
    if (method == "event-list") return schedule_event_list(machine, messages, seed, effort);
    const std::size_t repeat = is_by_rank(method) || method == "half-duplex" ? first_repeat(messages) : messages.size();
    const bool shared = machine.crowd() > 1, cube = machine.shape == Shape::hypercube;
    if (shared && (is_by_rank(method) || method == "bounded"))
        throw Failure(Code::schedule, "method " + std::string(method) + " requires one rank per node, given " +
                                          std::to_string(machine.crowd()));
    if (method == "lp" && cube && limits.link > 0 && !is_linear(machine))
        throw Failure(Code::schedule, "method lp with a limit on links requires a placement that is linear over bits");
    if (is_by_rank(method) && repeat < messages.size())
        throw Failure(Code::schedule, "method " + std::string(method) +
                                          " requires one message from a rank to another one, given two from " +
                                          std::to_string(messages.source[repeat]) + " to " +
                                          std::to_string(messages.target[repeat]));
    if (method == "lp") return group_phases(by_step(messages, kPartner));
    if (method == "gen") {
        const std::int32_t ranks = messages.ranks;
        return group_phases(by_step(messages, [&](auto s, auto t) { return (t - s + ranks) % ranks - 1; }));
    }
    if (method == "pex-gen-shift") {
        const auto ranks = static_cast<std::uint32_t>(messages.ranks);
        const auto shift = static_cast<std::int32_t>((std::bit_ceil(ranks) - ranks) / 2);
        return group_phases(by_step(messages, [&](auto s, auto t) { return ((s + shift) ^ (t + shift)) - 1; }));
    }
    if (method == "bounded") {
        require_exchange(machine, messages);
        if (machine.network.is_box()) return by_exchange(machine, limits.link, static_cast<std::int32_t>(effort), seed);
    }
    if (method == "rs-n" || method == "rs-nl")
        return group_phases(schedule_random(resources, method == "rs-nl", {}, {}, seed));
    if (method == "coloring")
        return group_phases(
            color_ports(machine.network.nodes(), resources.routes().source, resources.routes().target, seed));
    if (method == "decreasing") return group_phases(schedule_decreasing(machine, messages, resources, seed, effort));
    Array<std::int32_t> start = first_fit_sweeps(resources, unequal_sizes(messages), {}, {}, effort, seed);
    // a box with dead nodes or links has no construction: first fit where a negotiation would take long
    const bool many = method == "bounded" && messages.size() > 20'000;
    if (method == "first-fit" || many) return group_phases(start);
    // the partners of lp keep the limits of half-duplex where they keep links free
    const bool links_free = limits.link == 0 || (cube && is_linear(machine)) || machine.network.link_slots() == 0;
    if (method == "half-duplex" && links_free && limits.channels == 0 && repeat == messages.size() && !shared) {
        Array<std::int32_t> partner = by_step(messages, kPartner);
        if (group_phases(partner).offsets.size() < group_phases(start).offsets.size()) start = std::move(partner);
    }
    return group_phases(schedule_negotiated(machine, resources, std::move(start), seed, effort));
}

}  // namespace conset
