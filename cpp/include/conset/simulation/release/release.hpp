// Release: when a message may go, and what processors do for it; the same for every model, whose `Carrier` says how
// bytes cross the network. The life of a message (docs/cost-model.md):
//
//   1 released   its time has come, what it depends on is delivered, its policy lets it go:
//                barrier   its group of phases is open: everything of the groups before is delivered, a barrier passed;
//                local     its sender has entered its phase: all that it sends or receives in phases before is
//                delivered; ready     local, and its receiver's signal has arrived (of a synchronized exchange: both
//                signals); set-up    both its ranks have paid for its phase; none and detect   at once
//   2 slot       it is the next of its sender in posting order, and one of the sender's `in_flight` slots is free. A
//                trace without slots has no posting order: what may go goes. Of more than `eager` bytes, where that is
//                given, and without a ready signal: a request to the receiver and, as soon as a receive is there, a
//                grant back; the receive is kept for it
//   3 send overhead on the sender's processor; then, where messages start up, `Carrier::start_up` at the port of its
//                node, one message after the other. `Carrier::depart`
//   4 latency, channels: the carrier's business. It ends with `arrived`, which asks for a receive: of `receives` per
//                rank, first come, first served, or, in list order, for the first messages of its list that are not
//                delivered. Where `eager` is given, a message of up to so many bytes that finds no receive takes room
//                in the receiver's system buffer, `buffers` bytes a rank: in turn, one that does not fit blocks those
//                behind it; under local and ready a receive is there from when its rank enters the phase
//   5 bytes flow: `Carrier::stream`, at once or, with `receive_before`, after the receiver's overhead; ends with `left`
//   6 the slot is free, the receive another's (in list order: when it is delivered)
//   7 receive overhead on the receiver's processor, unless it was paid before; of a buffered message when its receive
//                is there, with `copy`, as under detect every message that could be buffered: it has a receive only
//                once it has come, whichever is first. Then `delay`, which keeps nothing busy. Delivered
//
// A message inside a node: 1-3, `copy` in its slot, 7. A signal: work of the sending processor of the one, `signal_hop`
// for each link, work of the receiving processor of the other; it takes no channel. A set-up: work of both processors
// of a rank, begun when its first transfer of the phase comes to its turn: after every send before it in its list has
// taken its slot and, where its next send is of the phase, a slot is free; under local and ready when the rank
// enters it.
//
// Complexity: O(1) per message and condition, and the heap of events. Memory: 21 bytes per message, 4 more for each
// list (slots or phases: sends; phases: receives), 4 per message with conditions, 4 per dependence.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "conset/array.hpp"
#include "conset/network/routes.hpp"
#include "conset/rows.hpp"
#include "conset/simulation/release/events.hpp"
#include "conset/simulation/release/processors.hpp"

namespace conset {

enum class Policy : std::uint8_t { none, local, ready, barrier, detect };

// Messages and their order, as conset.models.Workload has them; an empty span is the documented default.
template <class Time>
struct Messages {
    View<const std::int32_t> sender, receiver;  // ranks
    View<const std::int64_t> bytes;
    View<const Time> time;                 // empty: 0
    View<const std::int64_t> dep_offsets;  // empty: none
    View<const std::int32_t> deps;
    View<const std::int64_t> phase_offsets;  // empty: a trace
    View<const std::int32_t> order;          // empty: by index
    std::size_t size() const { return sender.size(); }
};

// How messages are executed and what their ends take. By message, or one for all: `send`, `receive`, `copy`, `delay`.
template <class Time>
struct Execution {
    Policy policy = Policy::none;
    std::int64_t every = 1;      // phases of a group, for barriers
    std::int64_t in_flight = 0;  // slots of a rank, 0: no limit
    std::int64_t receives = 0;   // of a rank at once, 0: no limit
    bool receive_list = true;    // receives in list order, else first come, first served
    bool receive_before = false, one_processor = false, preempts = false;
    bool startup = false;           // whether messages that leave their node start up at its port
    bool shared_processor = false;  // the ranks of a node have one processor together
    bool inside_crosses = false;    // whether messages inside a node are the carrier's too
    bool exchanges = false;         // whether two messages of a pair in one phase are a synchronized exchange
    bool first_barrier = false;
    Time barrier = 0, setup = 0;
    Time signal_send = 0, signal_hop = 0, signal_receive = 0;
    double eager = -1;   // [B], below 0: there is no threshold
    double buffers = 0;  // [B] per rank
    View<const Time> send, receive, copy;
    View<const Time> delay;       // by message: from the end of all else to its delivery; empty: none
    Time until = kNeverOf<Time>;  // the clock stops here
    std::int64_t work = std::numeric_limits<std::int64_t>::max();  // and after so much counted work
    bool detailed = false;                                         // whether `sent`, `flowed`, `left` are kept
};

// Entry k, or the one for all; nothing is 0.
template <class T>
T each(View<const T> values, std::int32_t k) {
    return values.size() == 1 ? values[0] : values.empty() ? T{} : values[k];
}

// What happened to each message; infinite (kNeverOf) where it did not.
template <class Time>
struct Times {
    Array<Time> start, end;          // slot taken, delivered
    Array<Time> sent, flowed, left;  // send overhead paid, first byte, last byte; where detailed
};

// Messages wait for each other: nothing is under way and work is left. Message k of `message` waits for `place[k]`, as
// the model numbers places, which message k + 1 (the last: the first) has; place -1: for that one to be delivered.
struct WaitCycle {
    Array<std::int32_t> message, place;
};

template <class Time>
class Carrier {
public:
    virtual ~Carrier() = default;
    virtual void start_up(std::int32_t /*m*/) {}       // begins now; an event `port` with `kStarted` when it ends
    virtual void depart(std::int32_t m, Time at) = 0;  // all that goes before ends at `at`, which may lie ahead
    virtual void stream(std::int32_t m, Time at) = 0;  // has what it needs at its receiver; bytes flow from `at` on
    virtual void delivered(std::int32_t /*m*/) {}
    virtual void hold(std::int32_t /*rank*/, bool /*held*/) {}  // whether bytes into the rank stand still
    virtual std::int32_t hops(std::int32_t m) const = 0;
};

// The other message of each exchange: the k-th from u to v of a phase with the k-th from v to u; -1 without one.
Array<std::int32_t> exchange_partners(View<const std::int32_t> source, View<const std::int32_t> target,
                                      View<const std::int64_t> phase_offsets);

// What chance adds to each delivery [s], exponential with this mean: drawn by sender and receiver alone, the same in
// every run and in every schedule, so that no schedule is chosen for its luck.
Array<double> delays(View<const std::int32_t> sender, View<const std::int32_t> receiver, double mean);

template <class Time>
class Release {
public:
    Release(const Routes& routes, const Messages<Time>& messages, const Execution<Time>& execution,
            Events<Time>& events, Carrier<Time>& carrier);

    // Puts in the events of time 0. After this the owner hands over every event of gate, signal, received, copied,
    // port, arrived and idle.
    void begin();
    void handle(const typename Events<Time>::Event& event, Time now);

    void arrived(std::int32_t m, Time now);
    void flows(std::int32_t m, Time now) {
        if (execution_.detailed) times.flowed[m] = now;
    }
    void left(std::int32_t m, Time now);

    std::size_t undelivered() const { return left_; }
    std::int32_t ranks() const { return ranks_; }
    bool is_delivered(std::int32_t m) const { return (state_[m] & kDelivered) != 0; }
    bool has_slot(std::int32_t m) const { return (state_[m] & kPosted) != 0; }
    bool preempting() const { return processors_.preempting(); }
    // Whether the sending processor of a rank has work beyond `time`.
    bool sends_beyond(std::int32_t rank, Time time) const { return processors_.sends_until(rank) > time; }
    std::int32_t partner_of(std::int32_t m) const { return partner_.empty() ? -1 : partner_[m]; }

    // What a message waits for that has no slot, or has its slot and waits for a grant or, at its end, for a receive:
    // (kind of place, message that has it).
    enum class Place : std::uint8_t { delivery, receive, buffer };
    std::pair<Place, std::int32_t> waits_for(std::int32_t m) const;

    std::int64_t buffered() const { return buffered_; }
    double buffered_most() const { return buffered_most_; }

    Times<Time> times;
    static constexpr std::uint8_t kStarted = 1;

private:
    static constexpr std::uint8_t kPosted = 1, kDelivered = 2, kLeft = 4;
    enum Gate : std::uint8_t { kRelease, kGroup, kEnter, kSetUp };
    enum Signal : std::uint8_t {
        kReadyArrives,
        kReadyTaken,
        kRequestArrives,
        kRequestTaken,
        kGrantArrives,
        kGrantTaken
    };
    enum Then : std::uint8_t { kStreams, kDelivers };
    // What a receiver knows of a message.
    enum Mark : std::uint8_t {
        kHasReceive = 1,  // a receive is there for it
        kAtEnd = 2,       // it has come and waits for a receive, or for room
        kTakenIn = 4,     // its bytes flow into the buffer, or have
        kBuffered = 8,    // all of them have
        kRequests = 16,   // its sender has asked
    };
    struct Fifo {
        Array<std::int32_t> items;
        std::size_t head = 0;
        bool empty() const { return head == items.size(); }
        std::int32_t front() const { return items[head]; }
        void push(std::int32_t m) { items.push_back(m); }
        void pop();
        void erase(std::int32_t m);
        bool contains(std::int32_t m) const;
    };
    struct Receiver {
        std::size_t next = 0;         // of its list, the first without a receive
        std::int64_t open = 0;        // receives in use
        double room = 0, filled = 0;  // [B]
        Fifo asking, queue;           // for a receive, first come, first served; for room
        Array<std::int32_t> early;    // of phases not entered yet
    };

    bool phased() const { return !messages_.phase_offsets.empty(); }
    bool enters() const { return execution_.policy == Policy::local || execution_.policy == Policy::ready; }
    bool pays() const { return execution_.setup > 0 && phased(); }
    bool takes_list() const {
        return execution_.receive_list && execution_.receives > 0 && execution_.policy != Policy::detect;
    }
    bool has_protocol() const { return execution_.eager >= 0; }
    bool detects(std::int32_t m) const { return execution_.policy == Policy::detect && leaves(m) && is_eager(m); }
    bool is_eager(std::int32_t m) const { return static_cast<double>(messages_.bytes[m]) <= execution_.eager; }
    bool leaves(std::int32_t m) const { return routes_.leaves(static_cast<std::size_t>(m)); }
    std::int32_t phase_of(std::int32_t m) const { return phase_.empty() ? 0 : phase_[m]; }
    std::int32_t waits(std::int32_t m) const { return waits_.empty() ? 0 : waits_[m]; }
    std::int32_t in_order(std::size_t k) const {
        return messages_.order.empty() ? static_cast<std::int32_t>(k) : messages_.order[k];
    }

    // release_lists.cpp: before the first message goes
    void number_phases();
    void make_lists();
    void count_waits();
    void list_dependents();

    // release.cpp: 1-3, 6, 7
    void decrement_waits(std::int32_t m);
    void post(std::int32_t m);
    void overhead(std::int32_t m);
    void start_up(std::int32_t m, bool started);
    void advance(std::int32_t rank);
    bool has_free_slot(std::int32_t rank) const {
        return execution_.in_flight == 0 || open_[rank] < execution_.in_flight;
    }
    void free_slot(std::int32_t m);
    Time send_on(std::int32_t rank, Time work);
    void signal(std::int32_t m, Signal what);
    void send_signal(std::int32_t rank, std::int32_t m, Signal what);
    void receive(std::int32_t m, Then then);
    void end_receive(std::int32_t m, Then then, Time at);
    Time receive_work(std::int32_t m) const;
    void deliver(std::int32_t m);

    // release_phases.cpp: policies and set-ups
    void advance_phases(std::int32_t rank);
    bool comes_to_turn(std::int32_t rank, std::int32_t phase) const;
    std::int32_t next_phase(std::int32_t rank) const;
    void enter(std::int32_t rank);
    void finish_part(std::int32_t rank, std::int32_t phase);
    void next_group(Time after);
    void open_group(std::int32_t group);
    std::int64_t phases() const { return static_cast<std::int64_t>(messages_.phase_offsets.size()) - 1; }

    // release_receivers.cpp
    void open_receivers();
    bool has_entered(std::int32_t m) const {
        return !phased() || !enters() || phase_now_[messages_.receiver[m]] >= phase_of(m);
    }
    bool has_receive(std::int32_t m);
    void post_receives(std::int32_t rank);
    void posts_early(std::int32_t rank);
    void receive_posted(std::int32_t m);
    void free_receive(std::int32_t rank);
    bool needs_request(std::int32_t m) const;
    void fill_room(std::int32_t rank);
    void received(std::int32_t m);

    // release_waits.cpp
    std::int32_t blocker_of(std::int32_t m) const;
    std::int32_t waiting_before(std::int32_t rank, std::int32_t phase) const;
    std::pair<Place, std::int32_t> waits_at_receiver(std::int32_t m) const;

    const Routes& routes_;
    Messages<Time> messages_;
    Execution<Time> execution_;
    Events<Time>& events_;
    Carrier<Time>& carrier_;
    Time now_ = 0;
    std::int32_t ranks_ = 0;
    std::size_t left_ = 0;
    bool in_lists_ = false;
    Processors<Time> processors_;
    Array<Fifo> ports_;  // by node: the message that starts up, and those that wait for that
    Array<std::uint8_t> state_, marks_;
    Array<std::int32_t> waits_, phase_, partner_;
    Rows sends_, receives_, dependents_;
    Array<std::int64_t> send_at_;  // next of each rank's list
    Array<std::int64_t> open_;     // slots in use
    // phases of each rank: how far its lists are entered, the phase it is in, what it has left there
    Array<std::int64_t> entered_sends_, entered_receives_;
    Array<std::int32_t> phase_now_, phase_left_;
    Array<char> setting_up_;
    std::int64_t group_ = -1;  // the last group that is open or about to be
    bool group_open_ = false;
    std::size_t group_left_ = 0;
    Array<Receiver> receivers_;
    std::int64_t buffered_ = 0;
    double buffered_most_ = 0;
};

}  // namespace conset
