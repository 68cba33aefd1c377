#include <algorithm>
#include <utility>

#include "conset/wormhole_run.hpp"

namespace conset {

// Only where a message may find no receive for it: in list order, or with an eager threshold.
void WormholeRun::open_receivers() {
    if (!has_protocol() && !takes_list()) return;
    marks_.assign(messages_.size(), 0);
    receivers_.resize(static_cast<std::size_t>(lists_.ranks()));
    for (Receiver& receiver : receivers_) receiver.room = costs_.buffers;
    for (std::int32_t rank = 0; rank < lists_.ranks(); ++rank) post_receives(rank);
}

// Work of a receiver on a message; where sends preempt, after all that is sent from this instant on.
void WormholeRun::receive(std::int32_t m, Kind then) {
    if (processors_.preempting()) {
        at(now_, kArrived, m, then);
    } else {
        at(processors_.receive(messages_.receiver[m], receive_work(m), now_), then, m);
    }
}

double WormholeRun::receive_work(std::int32_t m) const {
    const double seconds = each(costs_.receive, m);
    if (!has_protocol() || (marks_[m] & kTakenIn) == 0) return seconds;
    return seconds + static_cast<double>(bytes_[m]) * costs_.copy;
}

// Whether m has a receive; else it gets one by `receive_posted`, in turn. Asked once, but for those that have one.
bool WormholeRun::has_receive(std::int32_t m) {
    if ((marks_[m] & kHasReceive) != 0) return true;
    if (takes_list()) return false;
    if (has_protocol() && !lists_.has_entered(m)) {
        receivers_[messages_.receiver[m]].early.push_back(m);
        return false;
    }
    if (!channels_.ask(paths_.ejection(m), m)) return false;
    marks_[m] |= kHasReceive;
    return true;
}

// In list order: receives for the first messages of a rank's list that are not delivered.
void WormholeRun::post_receives(std::int32_t rank) {
    if (!takes_list()) return;
    Receiver& receiver = receivers_[rank];
    const auto list = lists_.receives(rank);
    while (receiver.open < costs_.ejection && receiver.next < list.size()) {
        const std::int32_t m = list[receiver.next];
        if (has_protocol() && !lists_.has_entered(m)) return;
        ++receiver.next;
        if (!leaves(m)) continue;
        ++receiver.open;
        channels_.take(paths_.ejection(m));
        receive_posted(m);
    }
}

// A rank has entered a phase: its receives are there now.
void WormholeRun::entered(std::int32_t rank) {
    if (!has_protocol()) return;
    post_receives(rank);
    const auto early = std::exchange(receivers_[rank].early, {});
    for (const std::int32_t m : early)
        if (has_receive(m)) receive_posted(m);
}

// A receive is there for m, wherever m is.
void WormholeRun::receive_posted(std::int32_t m) {
    std::uint8_t& mark = marks_[m];
    mark |= kHasReceive;
    const std::int32_t rank = messages_.receiver[m];
    if ((mark & kRequests) != 0) {
        mark &= static_cast<std::uint8_t>(~kRequests);
        at(send_on(rank, costs_.signal / 2) + paths_.hops(m) * costs_.signal_hop, kSignal, m, kGrantArrives);
    } else if ((mark & kAtEnd) != 0) {
        mark &= static_cast<std::uint8_t>(~kAtEnd);
        std::erase(receivers_[rank].queue, m);
        granted(m);
        fill_room(rank);
    } else if ((mark & kBuffered) != 0) {
        receive(m, kReceived);
    }
}

bool WormholeRun::needs_request(std::int32_t m) const {
    if (!has_protocol() || !leaves(m) || static_cast<double>(bytes_[m]) <= costs_.eager) return false;
    return messages_.phase_offsets.empty() || execution_.policy != Policy::ready;  // its signal says as much
}

void WormholeRun::requested(std::int32_t m) {
    marks_[m] |= kRequests;
    if (has_receive(m)) receive_posted(m);
}

// A header asks for a receive at the end of its way.
void WormholeRun::arrive(std::int32_t m) {
    if (has_receive(m)) {
        granted(m);
        return;
    }
    marks_[m] |= kAtEnd;
    if (!has_protocol() || static_cast<double>(bytes_[m]) > costs_.eager) return;
    receivers_[messages_.receiver[m]].queue.push_back(m);
    fill_room(messages_.receiver[m]);
}

// Headers that wait for room take it, in turn: one that does not fit blocks those behind it.
void WormholeRun::fill_room(std::int32_t rank) {
    Receiver& receiver = receivers_[rank];
    while (!receiver.queue.empty()) {
        const std::int32_t m = receiver.queue.front();
        const auto size = static_cast<double>(bytes_[m]);
        if (size > receiver.room) return;
        receiver.queue.pop_front();
        receiver.room -= size;
        receiver.filled += size;
        ++result_.buffered;
        result_.buffered_most = std::max(result_.buffered_most, receiver.filled);
        marks_[m] = static_cast<std::uint8_t>((marks_[m] & ~kAtEnd) | kTakenIn);
        waited(m);
        at(now_, kStream, m);
    }
}

void WormholeRun::deliver(std::int32_t m) {
    result_.end[m] = now_;
    if (!receivers_.empty() && leaves(m)) received(m);
    lists_.delivered(m, now_);
}

// A receive is over: its place and its room are another's.
void WormholeRun::received(std::int32_t m) {
    const std::int32_t rank = messages_.receiver[m];
    Receiver& receiver = receivers_[rank];
    if ((marks_[m] & kTakenIn) != 0) {
        receiver.room += static_cast<double>(bytes_[m]);
        receiver.filled -= static_cast<double>(bytes_[m]);
        if (const std::int32_t next = channels_.release(paths_.ejection(m)); next >= 0) receive_posted(next);
        fill_room(rank);
    }
    if (!takes_list()) return;
    --receiver.open;
    post_receives(rank);
}

}  // namespace conset
