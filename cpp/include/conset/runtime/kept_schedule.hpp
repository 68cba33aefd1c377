// A schedule that is kept while its pattern changes: what did not change stays in its phase, what is new goes into the
// first phase with room.
//
// Problem: an adaptive mesh changes a few messages in a hundred; scheduling all of them anew costs more than it gains,
// and would move messages whose buffers and requests are fine where they are.
// Idea: keep for every phase what is taken of what the method limits, as rows of bits. What is removed gives back what
// it took; what is added is placed first fit; a new phase is begun where none has room.
// Invariant: every phase keeps the limits of the schedule that was made. The same updates give the same phases on every
// rank.
// Full schedule: made anew where more than a quarter of the messages change, or where the phases are more than 1.25
// times what their bound and the last full schedule lead to expect. Duplex exchange with other limits of ports than 1
// and stages are always scheduled anew. Complexity: O(messages + changes * hops * phases / 64) in time, O(resources *
// phases / 64) in memory.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/runtime/machine_data.hpp"
#include "conset/runtime/schedule.hpp"
#include "conset/runtime/schedule_methods.hpp"
#include "conset/scheduling/occupancy.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset {

// What changes: `removed` and `resized` are indices of the messages before; what is added goes behind the other
// messages of its source, in its order.
struct MessageChanges {
    View<const std::int32_t> removed;
    RankMessages added;  // by source; `ranks` is not looked at
    View<const std::int32_t> resized;
    View<const std::int64_t> bytes;  // of the resized ones
};

struct KeptUpdate {
    bool full = false;  // everything was scheduled anew
    std::size_t removed = 0, added = 0;
};

class KeptSchedule {
public:
    // `schedule` is what `schedule_messages` gave for the three others.
    KeptSchedule(MachineData machine, RankMessages messages, const RankSchedule& schedule, ScheduleOptions options);

    // The pattern after this; throws Failure as `schedule_messages`, and then nothing has changed.
    KeptUpdate update(const MessageChanges& changes);
    // The same, with what changed found by comparing: the k-th message of a pair is the k-th one of before.
    KeptUpdate update(RankMessages now);

    // Whether the next full schedule may have stages.
    void allow_stages(bool allowed) { options_.combine = allowed; }
    const MachineData& machine() const { return machine_; }
    const RankMessages& messages() const { return messages_; }
    // By index in `messages`; phases without messages are left out.
    RankSchedule schedule() const;

private:
    // The phases a transfer may not join because of the partners of its ends.
    class Partners {
    public:
        explicit Partners(std::int32_t nodes) : to_(as_size(nodes)), from_(as_size(nodes)) {}
        bool fits(std::int32_t source, std::int32_t target, std::int32_t phase) const;
        void join(std::int32_t source, std::int32_t target, std::int32_t phase);
        void leave(std::int32_t source, std::int32_t target, std::int32_t phase);

    private:
        static std::int32_t at(const Array<std::int32_t>& partners, std::int32_t phase);
        Array<Array<std::int32_t>> to_, from_;  // by node, then phase: whom it sends to, receives from; -1: nobody
    };

    KeptUpdate apply(RankMessages now, const Array<std::int32_t>& before, const Array<std::int32_t>& removed);
    void take_over(const RankSchedule& schedule);
    bool schedule_anew(RankMessages& now);
    bool keepable() const;
    bool grown_too_far() const;
    std::int32_t bound() const;
    PlacedResources resources(const RankMessages& messages) const { return {machine_, messages, plain_.limits}; }
    void collect(const Resources& resources, std::size_t k);
    void join(const Resources& resources, std::size_t k, std::int32_t phase);
    void leave(const Resources& resources, std::size_t k, std::int32_t phase);
    std::int32_t place(const Resources& resources, std::size_t k);

    MachineData machine_;
    RankMessages messages_;
    ScheduleOptions options_;
    RankSchedule plain_;                // the policy, method and limits; no phases
    Array<std::int32_t> phase_, turn_;  // by message: its phase, and its place in the order of posting
    std::int32_t phases_ = 0, turns_ = 0;
    double stretch_ = 1;  // phases over their bound when all were scheduled
    Occupancy occupancy_;
    Array<std::int32_t> row_of_, load_, rows_;  // by resource: its row and how many take it; rows of one transfer
    Partners partners_;
};

}  // namespace conset
