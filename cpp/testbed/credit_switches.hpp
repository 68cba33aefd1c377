// Switches with back-pressure: one FIFO per input, room in the next node before a packet moves.
#pragma once

#include "switches.hpp"

namespace conset::testbed {

class CreditSwitches final : public Switches {
public:
    CreditSwitches(Network network, Options options, Callbacks callbacks);
    bool has_room(std::int32_t endpoint) const override;

private:
    struct Input {
        std::deque<Slot> queue;
        std::int64_t bytes = 0;  // in it, or on the way into it
    };
    struct Output {
        bool busy = false;
        Port from = 0;         // the input whose head it sends
        std::size_t turn = 0;  // of the node's inputs, which is asked first
    };

    void accept(Port input, Slot slot, Nanoseconds time) override;
    void sent(Port output, Nanoseconds time) override;
    void eligible(Port input, Nanoseconds time) override;
    // Lets an output start with the next of its node's heads that may go, if it is free.
    void try_output(Port output, Nanoseconds time);
    bool fits(Port output, const Slot& slot) const;

    Array<Input> inputs_;
    Array<Output> outputs_;
    Array<std::vector<Port>> inputs_of_;  // by node
};

}  // namespace conset::testbed
