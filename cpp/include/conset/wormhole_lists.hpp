// Lists: when a node may post its messages under a policy; what that costs is the owner's business.
//
// A message may go when nothing holds it back:
//   its time and the messages it depends on;
//   barrier     its group of phases is open;
//   local       its sender has entered its phase: everything it sends or receives in phases before is delivered;
//   ready       local, and its signal has arrived (of an exchange: both signals).
// A rank posts in list order, at most `in_flight` messages at a time, and one that may not go blocks those behind it. A
// trace with all in flight has no lists: what may go goes.
//
// Every call appends to `orders` what the owner is to do. Memory: about 30 bytes per message.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "conset/flow_gates.hpp"

namespace conset {

class WormholeLists {
public:
    enum class Task : std::uint8_t { release, group, enter, signal, post };
    struct Order {
        Task task;
        std::int32_t which;  // release, signal, post: a message; group: a group; enter: a rank
        double time;         // of release, group and enter, to be handed back to `handle` then
    };

    // `partner`: the other message of an exchange or -1, empty where there are none. `inside`: source is target.
    WormholeLists(const Messages& messages, const Execution& execution, std::span<const std::int32_t> partner,
                  std::vector<char> inside);

    void begin();
    // The sender of m is done with it, before its delivery.
    void sent(std::int32_t m);
    void delivered(std::int32_t m, double now);
    void handle(Task task, std::int32_t which, double now);
    void signalled(std::int32_t m);

    std::vector<Order>& orders() { return orders_; }
    std::size_t undelivered() const { return left_; }
    bool is_delivered(std::int32_t m) const { return state_[m] == kDelivered; }
    bool is_posted(std::int32_t m) const { return state_[m] != kWaits; }
    std::int32_t ranks() const { return ranks_; }
    std::int32_t phase_of(std::int32_t m) const { return phase_.empty() ? 0 : phase_[m]; }
    std::span<const std::int32_t> receives(std::int32_t rank) const { return receives_.of(rank); }
    // Whether the receiver of m has entered its phase; always where ranks do not enter phases one by one.
    bool has_entered(std::int32_t m) const {
        return !phased() || !steps() || phase_now_[messages_.receiver[m]] >= phase_[m];
    }
    // The first undelivered message that a rank sends or receives in phases before `phase`, -1 without any.
    std::int32_t waiting_before(std::int32_t rank, std::int32_t phase) const;
    // An undelivered message that a message not yet posted waits for.
    std::int32_t blocker_of(std::int32_t m) const;

private:
    enum State : char { kWaits, kPosted, kSent, kDelivered };
    struct Rows {
        std::vector<std::int64_t> offsets;
        std::vector<std::int32_t> items;
        std::span<const std::int32_t> of(std::int32_t k) const {
            return {items.data() + offsets[k], static_cast<std::size_t>(offsets[k + 1] - offsets[k])};
        }
    };

    Rows rows_by(std::span<const std::int32_t> rank) const;
    bool phased() const { return !messages_.phase_offsets.empty(); }
    bool steps() const { return execution_.policy == Policy::local || execution_.policy == Policy::ready; }
    bool in_lists() const { return phased() || execution_.in_flight > 0; }
    void make_dependents();
    void count_waits();
    void let(std::int32_t m);
    void post(std::int32_t m);
    void advance(std::int32_t rank);
    void enter(std::int32_t rank, double now);
    void finished(std::int32_t rank, std::int32_t phase, double now);
    void next_group(double at_time);
    void open_group(std::int32_t group);

    Messages messages_;
    Execution execution_;
    std::span<const std::int32_t> partner_;
    std::vector<char> inside_, state_;
    std::int32_t ranks_ = 0;
    std::size_t left_ = 0, group_left_ = 0;
    std::int64_t group_ = -1;
    std::vector<std::int32_t> waits_, phase_, in_flight_, phase_left_, phase_now_;
    Rows sends_, receives_, dependents_;
    std::vector<std::int64_t> send_at_, entered_sends_, entered_receives_;
    std::vector<Order> orders_;
};

}  // namespace conset
