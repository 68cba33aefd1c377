// Processors: what a rank works on, one piece after the other: sends, receives, copies, signals, set-ups.
//
// two          one for sending, one for receiving
// one          both are one, first come, first served
// preempting   one, which sending takes at once: a receive handler begins when the send handler that runs as its
//              message arrives has ended, and runs to its end whatever is sent later; bytes into the rank stand still
//              while it sends (the owner's business: `sends_until`)
//
// shared       one for all ranks of a node, first come, first served
//
// Work is served in order of readiness: the calls come in order of time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "conset/array.hpp"

namespace conset {

template <class Time>
class Processors {
public:
    // `shared`: by rank, the first rank of its node, whose processor it is; empty: each rank has its own.
    Processors(std::size_t ranks, bool one, bool preempting, Array<std::int32_t> shared = {})
        : one_((one && !preempting) || !shared.empty()),
          preempting_(preempting),
          shared_(std::move(shared)),
          sending_(ranks, 0),
          receiving_(one_ ? 0 : ranks, 0) {
        if (preempting) queues_.resize(ranks);
    }

    bool preempting() const { return preempting_; }

    // Work that begins at `now` or later: when it ends.
    Time send(std::int32_t rank, Time work, Time now) {
        Time& free = sending_[of(rank)];
        free = std::max(free, now) + work;
        if (preempting_) queues_[rank].ends.push_back(free);
        return free;
    }

    Time receive(std::int32_t rank, Time work, Time now) {
        Time& free = one_ ? sending_[of(rank)] : receiving_[rank];
        if (preempting_) free = std::max(free, handler_end(rank, now));
        return free = std::max(free, now) + work;
    }

    // Work of both at the same time.
    Time both(std::int32_t rank, Time work, Time now) {
        if (one_) return send(rank, work, now);
        const Time begin = std::max(now, receiving_[rank]);
        const Time end = send(rank, work, begin);
        receiving_[rank] = end;
        return end;
    }

    // When all that the rank is to send so far is off its processor.
    Time sends_until(std::int32_t rank) const { return sending_[of(rank)]; }

private:
    std::int32_t of(std::int32_t rank) const { return shared_.empty() ? rank : shared_[rank]; }

    struct Queue {
        Array<Time> ends;  // of send handlers, rising; those before `next` are over
        std::size_t next = 0;
    };

    // When the send handler ends that runs now; `now` where none does.
    Time handler_end(std::int32_t rank, Time now) {
        Queue& queue = queues_[rank];
        const double over = static_cast<double>(now) * (1 + kTogether);
        while (queue.next < queue.ends.size() && static_cast<double>(queue.ends[queue.next]) <= over) ++queue.next;
        if (queue.next < queue.ends.size()) return queue.ends[queue.next];
        queue.ends.clear();
        queue.next = 0;
        return now;
    }

    static constexpr double kTogether = 1e-12;  // relative: events nearer than this are one

    bool one_, preempting_;
    Array<std::int32_t> shared_;
    Array<Time> sending_, receiving_;  // free from then on
    Array<Queue> queues_;
};

}  // namespace conset
