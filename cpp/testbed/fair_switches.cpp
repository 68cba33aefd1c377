#include "fair_switches.hpp"

#include <utility>

namespace conset::testbed {

FairSwitches::FairSwitches(Network network, Options options, Callbacks callbacks)
    : Switches(std::move(network), options, std::move(callbacks)),
      arriving_(as_size(ports())),
      outputs_(as_size(ports())) {}

void FairSwitches::accept(Port input, Slot slot, Nanoseconds /*time*/) {
    schedule(EventKind::eligible, input, slot.eligible);
    arriving_[input].push_back(std::move(slot));
}

// The first of those that arrive may leave now: it joins the queue of its pair.
void FairSwitches::eligible(Port input, Nanoseconds time) {
    Slot slot = std::move(arriving_[input].front());
    arriving_[input].pop_front();
    const Port output = output_towards(node_of_input(input), slot.packet->target);
    const Flow flow{slot.packet->source, slot.packet->target};
    auto& queue = outputs_[output].queues[flow];
    if (queue.empty()) outputs_[output].ring.push_back(flow);
    queue.push_back(std::move(slot));
    try_output(output, time);
}

void FairSwitches::try_output(Port output, Nanoseconds time) {
    Output& out = outputs_[output];
    if (out.busy || out.ring.empty()) return;
    const auto found = out.queues.find(out.ring.front());
    out.ring.pop_front();
    Slot slot = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty())
        out.queues.erase(found);
    else
        out.ring.push_back(found->first);
    const Nanoseconds end = end_of_sending(output, slot, time);
    out.busy = true;
    if (is_local(output))
        out.ejecting = std::move(slot.packet);
    else
        accept(output, arriving(std::move(slot.packet), time, end), time);
    schedule(EventKind::sent, output, end);
}

void FairSwitches::sent(Port output, Nanoseconds time) {
    outputs_[output].busy = false;
    if (is_local(output)) deliver(std::move(outputs_[output].ejecting), time);
    try_output(output, time);
}

}  // namespace conset::testbed
