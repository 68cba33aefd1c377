// Events: what is to happen at a time, in an order that nothing but the events decides.
//
// Events of one time (the owner says how near that is) are handled in the order of `EventKind`, inside a kind by
// message or rank. An event that is due at once joins the batch that is being handled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "conset/array.hpp"

namespace conset {

// Infinity where there is one, else the largest number.
template <class Time>
constexpr Time kNeverOf =
    std::numeric_limits<Time>::has_infinity ? std::numeric_limits<Time>::infinity() : std::numeric_limits<Time>::max();

enum class EventKind : std::uint8_t {
    ended,     // the last byte of a message has left (owner's)
    gate,      // a release time, a group of phases, a phase, a set-up (`Release`)
    signal,    // one half of a signal (`Release`)
    received,  // the receiver's overhead is paid (`Release`)
    copied,    // a message inside a node is copied (`Release`)
    port,      // a message comes to the port of its node to start up, or has done so (`Release`)
    header,    // a header asks for its next channel (owner's)
    arrived,   // work of a receiver that sends preempt (`Release`)
    stream,    // bytes begin to flow (owner's)
    idle,      // a processor that holds streams may be free (`Release`)
};

template <class Time>
class Events {
public:
    struct Event {
        Time time;
        std::int32_t which;
        EventKind kind;
        std::uint8_t what;
    };

    // When the next event is due; never within an open batch.
    Time next() const {
        const Time pending = pending_.empty() ? kNeverOf<Time> : pending_.front().time;
        return known_.empty() ? pending : std::min(pending, known_.back().time);
    }

    // Events that are known from the start: cheaper than one by one.
    void load(Array<Event> events) {
        known_ = std::move(events);
        std::sort(known_.begin(), known_.end(), Later());
    }

    void at(Time time, EventKind kind, std::int32_t which, std::uint8_t what = 0) {
        if (open_ && time <= until_) {
            push(batch_, {time, which, kind, what}, BatchLater());
        } else {
            push(pending_, {time, which, kind, what}, Later());
        }
    }

    // Opens the batch of all that is due by `until`.
    void open(Time until) {
        open_ = true;
        until_ = until;
        while (!pending_.empty() && pending_.front().time <= until) push(batch_, pop(pending_, Later()), BatchLater());
        for (; !known_.empty() && known_.back().time <= until; known_.pop_back())
            push(batch_, known_.back(), BatchLater());
    }
    bool has_due() const { return !batch_.empty(); }
    Event take() { return pop(batch_, BatchLater()); }
    void close() { open_ = false; }
    Time until() const { return until_; }

private:
    struct Later {
        bool operator()(const Event& a, const Event& b) const {
            return std::tie(a.time, a.kind, a.which, a.what) > std::tie(b.time, b.kind, b.which, b.what);
        }
    };
    struct BatchLater {
        bool operator()(const Event& a, const Event& b) const {
            return std::tie(a.kind, a.which, a.what) > std::tie(b.kind, b.which, b.what);
        }
    };
    template <class Compare>
    static void push(Array<Event>& heap, const Event& event, Compare compare) {
        heap.push_back(event);
        std::push_heap(heap.begin(), heap.end(), compare);
    }
    template <class Compare>
    static Event pop(Array<Event>& heap, Compare compare) {
        const Event event = heap.front();
        std::pop_heap(heap.begin(), heap.end(), compare);
        heap.pop_back();
        return event;
    }

    Array<Event> pending_, batch_;
    Array<Event> known_;  // the next is the last
    Time until_{};
    bool open_ = false;
};

}  // namespace conset
