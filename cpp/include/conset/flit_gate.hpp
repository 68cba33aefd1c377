// Gate of the flit model: the lists of the nodes, and from which cycle on the head of each may go.
//
// A message waits for its release, for what it depends on, for its node's messages in flight, and for its phase under
// the policy; what stands behind it waits too. A node that is told `never` is woken when something it waits for
// happens.
#pragma once

#include "conset/flit.hpp"

namespace conset {

class FlitGate {
public:
    static constexpr std::int64_t never = -1;

    FlitGate(const FlitWorkload& workload, const FlitExecution& execution, std::int32_t nodes);

    std::int32_t head(std::int32_t node) const { return head_[node]; }
    std::int64_t undelivered() const { return undelivered_; }

    // From which cycle on, not before `now`, the head of a node may go, as far as is known now; `never`: it is woken.
    std::int64_t opens(std::int32_t node, std::int64_t now) {
        const std::int32_t m = head_[node];
        if (workload_.release[m] > now) return workload_.release[m];
        if (!waits_.empty() && waits_[m] > 0) return never;
        if (execution_.in_flight > 0 && open_[node] >= execution_.in_flight) return never;
        return execution_.phase.empty() ? now : opens_phase(node, m, now);
    }

    // The head of a node has gone.
    void leave(std::int32_t node) {
        if (execution_.in_flight > 0) ++open_[node];
        head_[node] = next_[head_[node]];
    }

    template <class Wake>  // wake(node, cycle): the node may ask again from that cycle on
    void deliver(std::int32_t m, std::int64_t now, Wake&& wake) {
        --undelivered_;
        const std::int32_t from = workload_.routes.source[m];
        if (!waits_.empty())
            for (std::int64_t k = after_offsets_[m]; k < after_offsets_[m + 1]; ++k)
                if (--waits_[after_[k]] == 0) wake(workload_.routes.source[after_[k]], now + 1);
        if (execution_.in_flight > 0) {
            --open_[from];
            wake(from, now + 1);
        }
        if (execution_.phase.empty()) return;
        woken_.clear();
        deliver_phase(m, now);
        for (const Woken& w : woken_) wake(w.node, w.cycle);
    }

    // Some message that must be delivered before `m`, which has not gone, may go; -1 where there is none.
    std::int32_t blocker(std::int32_t m, const std::vector<std::int64_t>& end) const;

private:
    struct Woken {
        std::int32_t node;
        std::int64_t cycle;
    };

    void list_dependents();
    void list_groups();
    void list_visits(std::int32_t nodes);
    std::int64_t opens_phase(std::int32_t node, std::int32_t m, std::int64_t now);
    void deliver_phase(std::int32_t m, std::int64_t now);
    void open_group(std::int64_t now, std::int64_t cost);
    void settle(std::int32_t node, std::int64_t now);
    void enter(std::int32_t node, std::int64_t now);

    const FlitWorkload& workload_;
    const FlitExecution& execution_;
    std::int64_t undelivered_;
    std::vector<std::int32_t> head_, next_;    // lists: first of a node, next of a message
    std::vector<std::int32_t> waits_, after_;  // dependencies left; dependents of m: after_[after_offsets_[m] ...]
    std::vector<std::int64_t> after_offsets_, open_;
    std::vector<std::int32_t> paid_;  // set-up: the last phase a node has paid for, and until when
    std::vector<std::int64_t> busy_;
    std::vector<std::int64_t> group_left_;  // barrier: undelivered of each group
    std::int64_t group_ = -1, group_opens_ = 0;
    // local, ready: a visit is a node's share of a phase; visits of a node are linked in order
    std::vector<std::int32_t> visit_phase_, visit_next_, visit_left_, sends_in_, receives_in_, visit_;
    std::vector<std::int32_t> first_receive_, next_receive_;
    std::vector<std::int64_t> signal_;  // when the receiver's signal arrives; never until it is sent
    std::vector<Woken> woken_;
};

}  // namespace conset
