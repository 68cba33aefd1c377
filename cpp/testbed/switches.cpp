#include "switches.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "credit_switches.hpp"
#include "fair_switches.hpp"

namespace conset::testbed {

namespace {

void check(const Network& network, const Options& options) {
    const auto refuse = [](const std::string& why) { throw std::invalid_argument(why); };
    if (network.endpoints < 1 || network.endpoints > network.nodes) refuse("endpoints: from 1 to the number of nodes");
    if (network.next.size() != cell(network.nodes, network.endpoints, 0))
        refuse("next: one link for each node and endpoint is required");
    const auto count = static_cast<std::int32_t>(network.links.size());
    for (const Link& link : network.links) {
        if (link.source < 0 || link.source >= network.nodes || link.target < 0 || link.target >= network.nodes)
            refuse("link: joins nodes that do not exist");
        if (!(link.bits_per_s > 0) || !std::isfinite(link.bits_per_s)) refuse("link: its rate must be above 0");
    }
    for (std::int32_t node = 0; node < network.nodes; ++node)
        for (std::int32_t target = 0; target < network.endpoints; ++target) {
            const std::int32_t link = network.next[cell(node, network.endpoints, target)];
            if (link < -1 || link >= count || (link >= 0 && network.links[link].source != node))
                refuse("next: names a link that does not leave the node");
        }
    if (options.buffer_bytes < 1) refuse("buffer: must be at least 1 byte");
    if (options.latency < 0) refuse("latency: must be at least 0");
}

}  // namespace

Switches::Switches(Network network, Options options, Callbacks callbacks)
    : network_(std::move(network)), options_(options), callbacks_(std::move(callbacks)) {
    check(network_, options_);
    counters_.resize(network_.links.size());
}

void Switches::inject(PacketPointer packet, Nanoseconds time) {
    if (packet->target < 0 || packet->target >= network_.endpoints || packet->source < 0 ||
        packet->source >= network_.endpoints)
        throw std::invalid_argument("packet: source and target must be endpoints");
    if (options_.discipline == Discipline::credit && packet->wire_bytes > options_.buffer_bytes)
        throw std::invalid_argument("packet: does not fit into any buffer");
    output_towards(packet->source, packet->target);
    ++injected_;
    const Port input = local(packet->source);
    const std::int64_t bytes = packet->wire_bytes;
    accept(input, Slot{std::move(packet), bytes, time, time, false}, time);
}

void Switches::run_until(Nanoseconds time) {
    while (!events_.empty() && events_.top().time <= time) {
        const Event event = events_.top();
        events_.pop();
        worst_lateness_ = std::max(worst_lateness_, time - event.time);
        if (event.kind == EventKind::sent)
            sent(event.port, event.time);
        else
            eligible(event.port, event.time);
    }
}

Nanoseconds Switches::take_worst_lateness() { return std::exchange(worst_lateness_, 0); }

std::int32_t Switches::node_of_input(Port input) const {
    return is_local(input) ? input - links() : network_.links[input].target;
}

std::int32_t Switches::node_of_output(Port output) const {
    return is_local(output) ? output - links() : network_.links[output].source;
}

Switches::Port Switches::output_towards(std::int32_t node, std::int32_t endpoint) const {
    if (node == endpoint) return local(endpoint);
    const std::int32_t link = network_.next[cell(node, network_.endpoints, endpoint)];
    if (link < 0) throw std::invalid_argument("packet: no route leads to its target");
    return link;
}

Nanoseconds Switches::end_of_sending(Port output, const Slot& slot, Nanoseconds time) {
    if (is_local(output)) return std::max(time, slot.tail);  // an endpoint takes what comes
    const double seconds = static_cast<double>(slot.bytes) * 8.0 / network_.links[output].bits_per_s;
    const Nanoseconds end = std::max(time + static_cast<Nanoseconds>(std::llround(seconds * 1e9)), slot.tail);
    LinkCounters& count = counters_[output];
    count.bytes += slot.bytes;
    ++count.packets;
    count.busy += end - time;
    return end;
}

Switches::Slot Switches::arriving(PacketPointer packet, Nanoseconds start, Nanoseconds end) const {
    const Nanoseconds first = options_.store_and_forward ? end : start;
    const std::int64_t bytes = packet->wire_bytes;
    return {std::move(packet), bytes, first + options_.latency, end + options_.latency, false};
}

void Switches::schedule(EventKind kind, Port port, Nanoseconds time) { events_.push({time, scheduled_++, kind, port}); }

void Switches::deliver(PacketPointer packet, Nanoseconds time) {
    ++delivered_;
    callbacks_.deliver(std::move(packet), time);
}

void Switches::offer_room(std::int32_t endpoint, Nanoseconds time) {
    if (callbacks_.room) callbacks_.room(endpoint, time);
}

std::unique_ptr<Switches> make_switches(Network network, Options options, Callbacks callbacks) {
    if (options.discipline == Discipline::fair)
        return std::make_unique<FairSwitches>(std::move(network), options, std::move(callbacks));
    return std::make_unique<CreditSwitches>(std::move(network), options, std::move(callbacks));
}

}  // namespace conset::testbed
