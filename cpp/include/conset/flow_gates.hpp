// Gates: when the execution lets a message go; policies, lists, set-ups and signals, without a word about bandwidth.
//
// A message goes when nothing holds it back any more, and then as its sender's and its receiver's list allow:
//   its time and the messages it depends on;
//   barrier     its group of phases is open: everything of the groups before is delivered, a barrier has passed;
//   local       its sender has ended its own sends and receives of all phases before;
//   ready       local, and its receiver's zero-byte signal has arrived: sent when the receiver entered the phase, or,
//               where a receiver takes its list a few at a time, when the message became next there;
//   set-up      both its ranks have paid for entering its phase;
//   in flight   fewer than `in_flight` messages of its sender are under way, in list order: one that may not go blocks
//               those behind it;
//   receives    fewer than `receives` of its receiver, in list order too, or first come, first served.
//
// Every condition but the last two counts one in `waits_`; a message whose count falls to 0 is ready to be posted.
// Memory: 9 bytes per message, 8 more where ranks have lists, 4 per dependency.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace conset {

enum class Policy : std::uint8_t { none, local, ready, barrier };

// Messages and their order, as conset.simulation.Workload has them; an empty span is the documented default.
struct Messages {
    std::span<const std::int32_t> sender, receiver;  // ranks
    std::span<const double> time;                    // empty: 0
    std::span<const std::int64_t> dep_offsets;       // empty: none
    std::span<const std::int32_t> deps;
    std::span<const std::int64_t> phase_offsets;  // empty: a trace
    std::span<const std::int32_t> order;          // empty: by index
    std::size_t size() const { return sender.size(); }
};

struct Execution {
    Policy policy = Policy::none;
    std::int64_t every = 1;      // phases of a group, for barriers
    std::int64_t in_flight = 0;  // 0: all
    std::int64_t receives = 0;   // 0: all
    bool receive_list = true;    // receives in list order, else first come, first served
    double barrier = 0;
    bool first_barrier = false;
    double setup = 0;
};

class Gates {
public:
    // `signal(m)`: how long the ready signal of message m takes.
    Gates(const Messages& messages, const Execution& execution, std::function<double(std::int32_t)> signal);

    // Opens what is open at time 0. After this and after every call below, `take_started` has what may go now.
    void begin();
    void delivered(std::int32_t m, double now);

    // Events of our own, in order of time.
    double next_event() const { return timers_.empty() ? kNever : timers_.front().time; }
    void handle_until(double until, double now);

    // Messages that may go, in the order in which they were let go.
    std::vector<std::int32_t>& started() { return started_; }

    std::size_t undelivered() const { return left_; }
    // Some messages that wait for each other in a circle, or the first one that waits where there is none: each waits
    // for the next.
    std::vector<std::int32_t> waiting_cycle() const;

private:
    static constexpr char kPosted = 1, kStarted = 2, kDelivered = 4, kTaken = 8;  // bits of `state_`
    static constexpr double kNever = std::numeric_limits<double>::infinity();
    enum class Kind : std::uint8_t { release, group, entered, signal };
    struct Timer {
        double time;
        Kind kind;
        std::int32_t which;
        bool operator>(const Timer& other) const {
            return time != other.time   ? time > other.time
                   : kind != other.kind ? kind > other.kind
                                        : which > other.which;
        }
    };
    struct Visit {  // a phase in which a rank has something
        std::int32_t phase;
        std::int32_t left;  // own sends and receives not yet delivered
    };
    struct Row {  // compressed rows
        std::vector<std::int64_t> offsets;
        std::vector<std::int32_t> items;
        std::span<const std::int32_t> of(std::int32_t k) const {
            return {items.data() + offsets[k], static_cast<std::size_t>(offsets[k + 1] - offsets[k])};
        }
    };

    void at(double time, Kind kind, std::int32_t which);
    void let(std::int32_t m, double now);  // one condition less
    std::int32_t waits(std::size_t m) const { return waits_.empty() ? 0 : waits_[m]; }
    void post(std::int32_t m, double now);
    void ask_receiver(std::int32_t m, double now);
    void advance_sender(std::int32_t rank, double now);
    void advance_receiver(std::int32_t rank, double now);
    void open_group(std::int64_t group, double now);
    void next_group(double now, double barrier);
    void enter_phases(std::int32_t rank, double now);
    void entered(std::int32_t rank, double now);
    void signal_senders(std::int32_t rank, std::int32_t phase, double now);
    std::int32_t phase_of(std::int32_t m) const { return phase_.empty() ? 0 : phase_[m]; }
    Row rows_by(std::span<const std::int32_t> rank) const;
    bool phased() const { return !messages_.phase_offsets.empty(); }
    bool steps() const { return execution_.policy == Policy::local || execution_.policy == Policy::ready; }
    bool pays() const { return execution_.setup > 0 && phased(); }
    bool uses_visits() const { return steps() || pays(); }
    bool takes_list() const { return execution_.receives > 0 && execution_.receive_list; }
    bool may_enter(std::int32_t rank, const Visit& visit) const;
    Visit& visit_of(std::int32_t rank, std::int32_t phase);
    void count_visits();
    void count_waits();
    std::int32_t blocker_of(std::int32_t m) const;
    std::int32_t first_undelivered(std::span<const std::int32_t> list) const;

    Messages messages_;
    Execution execution_;
    std::function<double(std::int32_t)> signal_;
    std::int32_t ranks_ = 0;
    std::size_t left_ = 0;
    std::vector<std::int32_t> waits_, phase_;
    std::vector<char> state_;  // which of the bits above; taken: by the receiver's list
    std::vector<std::int32_t> started_;
    std::vector<Timer> timers_;
    Row dependents_, sends_, receives_;
    std::vector<std::int64_t> send_at_, receive_at_;  // list positions
    std::vector<std::int32_t> sending_, receiving_;   // slots in use
    std::vector<std::vector<std::int32_t>> queue_;    // first come, first served
    std::vector<std::size_t> queue_at_;
    // phases of each rank
    std::vector<std::int64_t> visit_offsets_;
    std::vector<Visit> visits_;
    std::vector<std::int64_t> begun_, entered_;  // visits begun (paying or paid) and paid, per rank
    std::vector<std::int64_t> visit_send_, visit_receive_;
    std::int64_t group_ = -1, groups_ = 0;  // the last group that is open or about to be
    bool group_open_ = false;
    std::size_t group_left_ = 0;
};

}  // namespace conset
