#include "credit_switches.hpp"

#include <utility>

namespace conset::testbed {

CreditSwitches::CreditSwitches(Network network, Options options, Callbacks callbacks)
    : Switches(std::move(network), options, std::move(callbacks)),
      inputs_(as_size(ports())),
      outputs_(as_size(ports())),
      inputs_of_(as_size(this->network().nodes)) {
    for (Port input = 0; input < ports(); ++input) inputs_of_[node_of_input(input)].push_back(input);
}

bool CreditSwitches::has_room(std::int32_t endpoint) const {
    return inputs_[local(endpoint)].bytes < options().buffer_bytes;
}

void CreditSwitches::accept(Port input, Slot slot, Nanoseconds /*time*/) {
    Input& at = inputs_[input];
    at.bytes += slot.bytes;
    const Nanoseconds when = slot.eligible;
    at.queue.push_back(std::move(slot));
    if (at.queue.size() == 1) schedule(EventKind::eligible, input, when);
}

// The head of an input may have changed: its output gets a chance.
void CreditSwitches::eligible(Port input, Nanoseconds time) {
    const auto& queue = inputs_[input].queue;
    if (queue.empty() || queue.front().sending) return;
    if (queue.front().eligible > time)
        schedule(EventKind::eligible, input, queue.front().eligible);
    else
        try_output(output_towards(node_of_input(input), queue.front().packet->target), time);
}

void CreditSwitches::try_output(Port output, Nanoseconds time) {
    Output& out = outputs_[output];
    if (out.busy) return;
    const std::int32_t node = node_of_output(output);
    const std::vector<Port>& candidates = inputs_of_[node];
    for (std::size_t k = 0; k < candidates.size(); ++k) {
        const std::size_t turn = (out.turn + k) % candidates.size();
        const Port input = candidates[turn];
        auto& queue = inputs_[input].queue;
        if (queue.empty() || queue.front().sending || queue.front().eligible > time) continue;
        Slot& head = queue.front();
        if (output_towards(node, head.packet->target) != output || !fits(output, head)) continue;
        const Nanoseconds end = end_of_sending(output, head, time);
        head.sending = true;
        out.busy = true;
        out.from = input;
        out.turn = turn + 1;
        // the packet takes room in both FIFOs until its tail has left
        if (!is_local(output)) accept(output, arriving(std::move(head.packet), time, end), time);
        schedule(EventKind::sent, output, end);
        return;
    }
}

bool CreditSwitches::fits(Port output, const Slot& slot) const {
    return is_local(output) || inputs_[output].bytes + slot.bytes <= options().buffer_bytes;
}

void CreditSwitches::sent(Port output, Nanoseconds time) {
    Output& out = outputs_[output];
    const Port input = out.from;
    out.busy = false;
    Slot slot = std::move(inputs_[input].queue.front());
    inputs_[input].queue.pop_front();
    inputs_[input].bytes -= slot.bytes;
    if (is_local(output)) deliver(std::move(slot.packet), time);
    if (is_local(input))
        offer_room(input - links(), time);
    else
        try_output(input, time);  // the credit goes back: the output that feeds this input
    eligible(input, time);
    try_output(output, time);
}

}  // namespace conset::testbed
