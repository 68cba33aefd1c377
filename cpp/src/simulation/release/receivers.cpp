// Receives, system buffers, requests: what a message needs at the end of its way.
#include <algorithm>
#include <utility>

#include "conset/simulation/release/release.hpp"

namespace conset {

template <class Time>
void Release<Time>::Fifo::pop() {
    if (++head * 2 < items.size()) return;
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(head));
    head = 0;
}

template <class Time>
void Release<Time>::Fifo::erase(std::int32_t m) {
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(head);
    if (const auto found = std::find(first, items.end(), m); found != items.end()) items.erase(found);
}

template <class Time>
bool Release<Time>::Fifo::contains(std::int32_t m) const {
    return std::find(items.begin() + static_cast<std::ptrdiff_t>(head), items.end(), m) != items.end();
}

// Only where a message may find no receive for it.
template <class Time>
void Release<Time>::open_receivers() {
    if (execution_.receives == 0 && !has_protocol()) return;
    marks_.assign(messages_.size(), 0);
    receivers_.resize(static_cast<std::size_t>(ranks_));
    for (Receiver& receiver : receivers_) receiver.room = execution_.buffers;
    for (std::int32_t rank = 0; rank < ranks_; ++rank) post_receives(rank);
}

// A message has come to the end of its way, and asks for a receive.
template <class Time>
void Release<Time>::arrived(std::int32_t m, Time now) {
    now_ = now;
    if (marks_.empty() || (!detects(m) && has_receive(m))) {
        if (execution_.receive_before) {
            receive(m, kStreams);
        } else {
            carrier_.stream(m, now);
        }
        return;
    }
    marks_[m] |= kAtEnd;
    if (!is_eager(m)) return;
    receivers_[messages_.receiver[m]].queue.push(m);
    fill_room(messages_.receiver[m]);
}

// Whether m has a receive; else it gets one by `receive_posted`, in turn. Asked once, but for those that have one.
template <class Time>
bool Release<Time>::has_receive(std::int32_t m) {
    if ((marks_[m] & kHasReceive) != 0) return true;
    if (takes_list()) return false;
    Receiver& receiver = receivers_[messages_.receiver[m]];
    if (has_protocol() && !has_entered(m)) {
        receiver.early.push_back(m);
        return false;
    }
    if (execution_.receives > 0 && receiver.open >= execution_.receives) {
        receiver.asking.push(m);
        return false;
    }
    ++receiver.open;
    marks_[m] |= kHasReceive;
    return true;
}

// In list order: receives for the first messages of a rank's list that are not delivered.
template <class Time>
void Release<Time>::post_receives(std::int32_t rank) {
    if (!takes_list()) return;
    Receiver& receiver = receivers_[rank];
    const auto list = receives_.of(rank);
    while (receiver.open < execution_.receives && receiver.next < list.size()) {
        const std::int32_t m = list[receiver.next];
        if (has_protocol() && !has_entered(m)) return;
        ++receiver.next;
        if (!leaves(m)) continue;
        ++receiver.open;
        receive_posted(m);
    }
}

// A rank has entered a phase: its receives are there now.
template <class Time>
void Release<Time>::posts_early(std::int32_t rank) {
    if (!has_protocol()) return;
    post_receives(rank);
    const auto early = std::exchange(receivers_[rank].early, {});
    for (const std::int32_t m : early)
        if (has_receive(m)) receive_posted(m);
}

// A receive is there for m, wherever m is.
template <class Time>
void Release<Time>::receive_posted(std::int32_t m) {
    std::uint8_t& mark = marks_[m];
    mark |= kHasReceive;
    const std::int32_t rank = messages_.receiver[m];
    if ((mark & kRequests) != 0) {
        mark &= static_cast<std::uint8_t>(~kRequests);
        send_signal(rank, m, kGrantArrives);
    } else if ((mark & kAtEnd) != 0) {
        mark &= static_cast<std::uint8_t>(~kAtEnd);
        if (has_protocol()) receivers_[rank].queue.erase(m);
        if (execution_.receive_before) {
            receive(m, kStreams);
        } else {
            carrier_.stream(m, now_);
        }
        fill_room(rank);
    } else if ((mark & kBuffered) != 0) {
        receive(m, kDelivers);
    }
}

// A receive that went to whoever came first is another's.
template <class Time>
void Release<Time>::free_receive(std::int32_t rank) {
    Receiver& receiver = receivers_[rank];
    --receiver.open;
    if (receiver.asking.empty()) return;
    const std::int32_t next = receiver.asking.front();
    receiver.asking.pop();
    ++receiver.open;
    receive_posted(next);
}

template <class Time>
bool Release<Time>::needs_request(std::int32_t m) const {
    if (!has_protocol() || !leaves(m) || is_eager(m)) return false;
    return execution_.policy != Policy::ready;  // its signal says as much
}

// Messages that wait for room take it, in turn: one that does not fit blocks those behind it.
template <class Time>
void Release<Time>::fill_room(std::int32_t rank) {
    Receiver& receiver = receivers_[rank];
    while (!receiver.queue.empty()) {
        const std::int32_t m = receiver.queue.front();
        const auto size = static_cast<double>(messages_.bytes[m]);
        if (size > receiver.room) return;
        receiver.queue.pop();
        receiver.room -= size;
        receiver.filled += size;
        ++buffered_;
        buffered_most_ = std::max(buffered_most_, receiver.filled);
        marks_[m] = static_cast<std::uint8_t>((marks_[m] & ~kAtEnd) | kTakenIn);
        carrier_.stream(m, now_);
    }
}

// A message is delivered: its place in the list and its room are another's.
template <class Time>
void Release<Time>::received(std::int32_t m) {
    const std::int32_t rank = messages_.receiver[m];
    Receiver& receiver = receivers_[rank];
    if ((marks_[m] & kTakenIn) != 0) {
        receiver.room += static_cast<double>(messages_.bytes[m]);
        receiver.filled -= static_cast<double>(messages_.bytes[m]);
        if (!takes_list()) free_receive(rank);
        fill_room(rank);
    }
    if (!takes_list()) return;
    --receiver.open;
    post_receives(rank);
}

template class Release<double>;
template class Release<std::int64_t>;

}  // namespace conset
