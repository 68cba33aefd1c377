// Switches of ideal fairness: queues without limit at every output, one for each pair, served round robin.
#pragma once

#include "switches.hpp"

namespace conset::testbed {

class FairSwitches final : public Switches {
public:
    FairSwitches(Network network, Options options, Callbacks callbacks);
    bool has_room(std::int32_t /*endpoint*/) const override { return true; }

private:
    using Flow = std::pair<std::int32_t, std::int32_t>;  // source, target
    struct Output {
        bool busy = false;
        std::map<Flow, std::deque<Slot>> queues;  // those that hold something
        std::deque<Flow> ring;                    // the same, in the order of their turns
        PacketPointer ejecting;
    };

    void accept(Port input, Slot slot, Nanoseconds time) override;
    void sent(Port output, Nanoseconds time) override;
    void eligible(Port input, Nanoseconds time) override;
    void try_output(Port output, Nanoseconds time);

    Array<std::deque<Slot>> arriving_;  // by input: what may not leave yet, in order
    Array<Output> outputs_;
};

}  // namespace conset::testbed
