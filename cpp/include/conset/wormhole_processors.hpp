// Processors: what a rank works on, one piece after the other: sends, receives, copies, signals.
//
// separate     one for sending, one for receiving
// one          both share one, first come, first served
// preempting   one, which sending takes at once: a receive handler begins when the send handler that runs as its
//              message arrives has ended, and runs to its end whatever is sent later; bytes into the rank stand still
//              while it sends (the owner's business: `sends_until`)
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace conset {

class Processors {
public:
    Processors(std::size_t ranks, bool one, bool preempting)
        : one_(one && !preempting), preempting_(preempting), sending_(ranks, 0), receiving_(one_ ? 0 : ranks, 0) {
        if (preempting) queues_.resize(ranks);
    }

    bool preempting() const { return preempting_; }

    // Work that begins at `now` or later: when it ends.
    double send(std::int32_t rank, double seconds, double now) {
        double& free = sending_[rank];
        free = std::max(free, now) + seconds;
        if (preempting_) queues_[rank].ends.push_back(free);
        return free;
    }

    double receive(std::int32_t rank, double seconds, double now) {
        double& free = one_ ? sending_[rank] : receiving_[rank];
        if (preempting_) free = std::max(free, handler_end(rank, now));
        return free = std::max(free, now) + seconds;
    }

    // When all that the rank is to send so far is off its processor.
    double sends_until(std::int32_t rank) const { return sending_[rank]; }

private:
    struct Queue {
        std::vector<double> ends;  // of send handlers, rising; those before `next` are over
        std::size_t next = 0;
    };

    // When the send handler ends that runs now; `now` where none does.
    double handler_end(std::int32_t rank, double now) {
        Queue& queue = queues_[rank];
        while (queue.next < queue.ends.size() && queue.ends[queue.next] <= now * (1 + kTogether)) ++queue.next;
        if (queue.next < queue.ends.size()) return queue.ends[queue.next];
        queue.ends.clear();
        queue.next = 0;
        return now;
    }

    static constexpr double kTogether = 1e-12;  // relative: events nearer than this are one

    bool one_, preempting_;
    std::vector<double> sending_, receiving_;  // free from then on
    std::vector<Queue> queues_;
};

}  // namespace conset
