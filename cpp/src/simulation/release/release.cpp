#include "conset/simulation/release/release.hpp"

#include <algorithm>
#include <utility>

namespace conset {

template <class Time>
void Release<Time>::begin() {
    Array<typename Events<Time>::Event> releases;
    for (std::size_t m = 0; m < messages_.time.size(); ++m)
        if (messages_.time[m] > 0)
            releases.push_back({messages_.time[m], static_cast<std::int32_t>(m), EventKind::gate, kRelease});
    events_.load(std::move(releases));
    open_receivers();
    if (execution_.policy == Policy::barrier) next_group(execution_.first_barrier ? execution_.barrier : 0);
    if (in_lists_) {
        for (std::int32_t r = 0; r < ranks_; ++r) {
            if (enters() || pays()) advance_phases(r);
            advance(r);
        }
        return;
    }
    for (std::size_t k = 0; k < messages_.size(); ++k)
        if (const std::int32_t m = in_order(k); waits(m) == 0) post(m);
}

template <class Time>
void Release<Time>::handle(const typename Events<Time>::Event& event, Time now) {
    now_ = now;
    const std::int32_t which = event.which;
    switch (event.kind) {
        case EventKind::gate:
            switch (static_cast<Gate>(event.what)) {
                case kRelease: decrement_waits(which); break;
                case kGroup: open_group(which); break;
                case kEnter: advance_phases(which); break;
                case kSetUp:
                    setting_up_[which] = 0;
                    enter(which);
                    advance_phases(which);
                    break;
            }
            break;
        case EventKind::signal: signal(which, static_cast<Signal>(event.what)); break;
        case EventKind::received: deliver(which); break;
        case EventKind::copied:
            if (execution_.detailed) times.left[which] = now;
            free_slot(which);
            receive(which, kDelivers);
            break;
        case EventKind::arrived:
            end_receive(which, static_cast<Then>(event.what),
                        processors_.receive(messages_.receiver[which], receive_work(which), now));
            break;
        case EventKind::port: start_up(which, event.what == kStarted); break;
        case EventKind::idle:
            if (processors_.sends_until(which) <= events_.until()) carrier_.hold(which, false);
            break;
        default: break;
    }
}

// One condition less.
template <class Time>
void Release<Time>::decrement_waits(std::int32_t m) {
    if (--waits_[m] > 0) return;
    if (in_lists_) {
        advance(messages_.sender[m]);
    } else {
        post(m);
    }
}

template <class Time>
void Release<Time>::advance(std::int32_t rank) {
    auto& at = send_at_[rank];
    while (at < sends_.offsets[rank + 1] && waits(sends_.items[at]) == 0 && has_free_slot(rank)) {
        ++open_[rank];
        post(sends_.items[at++]);
    }
    if (pays() && !enters()) advance_phases(rank);
}

template <class Time>
void Release<Time>::post(std::int32_t m) {
    state_[m] |= kPosted;
    times.start[m] = now_;
    if (needs_request(m)) {
        send_signal(messages_.sender[m], m, kRequestArrives);
    } else {
        overhead(m);
    }
}

template <class Time>
void Release<Time>::overhead(std::int32_t m) {
    const Time end = send_on(messages_.sender[m], each(execution_.send, m));
    if (execution_.detailed) times.sent[m] = end;
    if (leaves(m) && !ports_.empty()) {
        events_.at(end, EventKind::port, m);
    } else if (leaves(m) || execution_.inside_crosses) {
        carrier_.depart(m, end);
    } else {
        if (execution_.detailed) times.flowed[m] = end;
        events_.at(end + each(execution_.copy, m), EventKind::copied, m);
    }
}

// The port of its node lets messages start up one after the other.
template <class Time>
void Release<Time>::start_up(std::int32_t m, bool started) {
    Fifo& port = ports_[routes_.source[m]];
    if (started) {
        port.pop();
        carrier_.depart(m, now_);
        if (!port.empty()) carrier_.start_up(port.front());
    } else {
        port.push(m);
        if (port.front() == m) carrier_.start_up(m);
    }
}

// Work on a rank's sending processor: when it ends. Where sends preempt receives, bytes into the rank stand still.
template <class Time>
Time Release<Time>::send_on(std::int32_t rank, Time work) {
    const Time end = processors_.send(rank, work, now_);
    if (processors_.preempting() && work > 0) {
        carrier_.hold(rank, true);
        events_.at(end, EventKind::idle, rank);
    }
    return end;
}

template <class Time>
void Release<Time>::free_slot(std::int32_t m) {
    state_[m] |= kLeft;
    if (!in_lists_) return;
    --open_[messages_.sender[m]];
    advance(messages_.sender[m]);
}

// The first half of a signal about m is work where it is sent.
template <class Time>
void Release<Time>::send_signal(std::int32_t rank, std::int32_t m, Signal what) {
    events_.at(send_on(rank, execution_.signal_send) + carrier_.hops(m) * execution_.signal_hop, EventKind::signal, m,
               what);
}

// The second half is work where it is taken: at the other processor.
template <class Time>
void Release<Time>::signal(std::int32_t m, Signal what) {
    const std::int32_t from = messages_.sender[m], to = messages_.receiver[m];
    const auto taken = [&](std::int32_t rank, Signal next) {
        events_.at(processors_.receive(rank, execution_.signal_receive, now_), EventKind::signal, m, next);
    };
    switch (what) {
        case kReadyArrives: taken(from, kReadyTaken); break;
        case kReadyTaken:
            decrement_waits(m);
            if (!partner_.empty() && partner_[m] >= 0) decrement_waits(partner_[m]);
            break;
        case kRequestArrives: taken(to, kRequestTaken); break;
        case kRequestTaken:
            marks_[m] |= kRequests;
            if (has_receive(m)) receive_posted(m);
            break;
        case kGrantArrives: taken(from, kGrantTaken); break;
        case kGrantTaken: overhead(m); break;
    }
}

// The last byte has left: into the receiver, or into its buffer.
template <class Time>
void Release<Time>::left(std::int32_t m, Time now) {
    now_ = now;
    if (execution_.detailed) times.left[m] = now;
    const bool buffers = !marks_.empty() && (marks_[m] & kTakenIn) != 0;
    if (!marks_.empty() && !buffers && !takes_list()) free_receive(messages_.receiver[m]);
    if (buffers) marks_[m] |= kBuffered;
    free_slot(m);
    if (buffers) {
        if ((marks_[m] & kHasReceive) != 0 || (detects(m) && has_receive(m))) receive(m, kDelivers);
    } else if (execution_.receive_before && execution_.delay.empty()) {
        deliver(m);
    } else if (execution_.receive_before) {
        end_receive(m, kDelivers, now_);
    } else {
        receive(m, kDelivers);
    }
}

template <class Time>
Time Release<Time>::receive_work(std::int32_t m) const {
    const Time work = each(execution_.receive, m);
    const bool taken_in = !marks_.empty() && (marks_[m] & kTakenIn) != 0;
    const bool detected = execution_.policy == Policy::detect && leaves(m) && !has_protocol();
    return taken_in || detected ? work + each(execution_.copy, m) : work;
}

// Work of a receiver on a message; where sends preempt, after all that is sent from this instant on.
template <class Time>
void Release<Time>::receive(std::int32_t m, Then then) {
    if (processors_.preempting()) {
        events_.at(now_, EventKind::arrived, m, then);
    } else {
        end_receive(m, then, processors_.receive(messages_.receiver[m], receive_work(m), now_));
    }
}

template <class Time>
void Release<Time>::end_receive(std::int32_t m, Then then, Time at) {
    if (then == kStreams) {
        carrier_.stream(m, at);
        return;
    }
    at += each(execution_.delay, m);
    if (at > now_ || !marks_.empty()) {
        events_.at(at, EventKind::received, m);
    } else {
        deliver(m);
    }
}

template <class Time>
void Release<Time>::deliver(std::int32_t m) {
    times.end[m] = now_;
    state_[m] |= kDelivered;
    --left_;
    if (!marks_.empty() && leaves(m)) received(m);
    if (!dependents_.empty())
        for (const std::int32_t d : dependents_.of(m)) decrement_waits(d);
    if (enters()) {
        finish_part(messages_.sender[m], phase_of(m));
        finish_part(messages_.receiver[m], phase_of(m));
    }
    if (execution_.policy == Policy::barrier && --group_left_ == 0) next_group(execution_.barrier);
    carrier_.delivered(m);
}

template class Release<double>;
template class Release<std::int64_t>;

}  // namespace conset
