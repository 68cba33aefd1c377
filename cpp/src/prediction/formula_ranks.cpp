// Ranks that keep phases apart by themselves (`local`, `ready`): a recurrence over ranks and phases.
//
// A rank enters a phase when its own messages of the phase before are delivered. In its phase every resource begins
// when the first of its messages can reach it and is then busy for its work; a message is delivered when all resources
// on its way have done their work of the phase. So a rank waits for its partners, and these for theirs. A processor
// that the ranks of a node share begins a phase when the first of them enters it.
#include <optional>
#include <utility>

#include "conset/prediction/formula.hpp"
#include "conset/prediction/formula_costs.hpp"

namespace conset {

namespace {

using namespace formula;

// Transfers of a phase whose routes are kept rather than walked twice.
constexpr std::size_t kKept = std::size_t{1} << 18U;

class RankClock {
public:
    RankClock(const Routes& routes, const Ranks& ranks, View<const std::int64_t> size, const MessageCosts& costs)
        : routes_(routes),
          who_(ranks),
          size_(size),
          costs_(costs),
          partners_(routes, costs),
          waits_for_both_(costs.exchange < 1 && costs.node > 0 && costs.signal + costs.signal_hop > 0),
          nodes_(as_size(routes.network.nodes())),
          ranks_(as_size(ranks.ranks)),
          shared_(costs.shared_processor ? as_size(routes.network.nodes()) : 0),
          links_(costs.link.empty() ? 0 : as_size(routes.network.link_slots())),
          slots_(costs.in_flight > 0 ? as_size(ranks.ranks) : 0),
          losses_(costs),
          walks_(walks(costs)),
          spread_(expectation_of(routes, costs)),
          may_take_(ways_of(routes, costs)) {}

    void run_phase(std::size_t first, std::size_t last, Ends& ends) {
        ++phase_;
        messages_.clear();
        ways_.clear();
        offsets_.assign(1, 0);
        keeps_ways_ = last - first <= kKept;
        partners_.meet(first, last);
        if (waits_for_both_) pair_up(first, last);
        head_ = tail_ = never;
        for (std::size_t k = first; k < last; ++k) start(k);
        if (spread_) settle_links();
        for (std::size_t k = first; k < last; ++k) end(k, k - first);
        ends.end.push_back(last_end_);
        ends.rank.push_back(last_rank_);
        ends.setups.push_back(last_rank_ < 0 ? 0 : ranks_[static_cast<std::size_t>(last_rank_)].setups);
    }

private:
    struct Node {
        Span out, in, both;
        std::int64_t phase = 0;
    };
    struct Rank {
        double entered = 0, done = 0, own = 0, slots = 0;  // own: from where its processors are free for messages
        Span send, receive;
        std::int64_t setups = 0, phase = 0;
    };
    // The processor of all ranks of a node; its head is when the first of them enters.
    struct Shared {
        Span span;
        std::int64_t phase = 0;
    };
    struct Link {
        double bytes = 0, load = 0;
        std::int64_t phase = 0, ended = 0;
        double head = never, tail = never, end = 0;
    };

    Node& node(std::int32_t v) {
        Node& it = nodes_[static_cast<std::size_t>(v)];
        if (it.phase != phase_) it = {{}, {}, {}, phase_};
        return it;
    }

    Shared& shared(std::int32_t v) {
        Shared& it = shared_[static_cast<std::size_t>(v)];
        if (it.phase != phase_) it = {{}, phase_};
        return it;
    }

    Rank& rank(std::int32_t r, std::int32_t on) {
        Rank& it = ranks_[static_cast<std::size_t>(r)];
        if (it.phase == phase_) return it;
        it.phase = phase_;
        it.entered = it.done;
        it.own = it.entered + costs_.setup;
        it.slots = 0;
        it.send = it.receive = {};
        if (costs_.setup > 0) ++it.setups;
        if (costs_.shared_processor) shared(on).span.add(costs_.setup, it.entered, never);
        if (costs_.in_flight > 0) slots_[static_cast<std::size_t>(r)].reset(it.own);
        return it;
    }

    void pair_up(std::size_t first, std::size_t last) {
        pairs_.clear();
        for (std::size_t k = first; k < last; ++k)
            if (routes_.leaves(k)) pairs_.add(routes_.source[k], routes_.target[k], 1);
    }

    // From when transfer k may start: set-ups at both ends, and its ready signal (of an exchange both signals).
    double released(std::size_t k, const Rank& sender, const Rank& receiver, const Message& m) const {
        double from = sender.entered;
        if (m.signal > 0) {
            from = std::max(from, receiver.entered + m.signal);
            if (waits_for_both_ && pairs_.both(routes_.source[k], routes_.target[k]))
                from = std::max(from, sender.entered + m.signal);
        } else if (costs_.setup > 0) {
            from = std::max(from, receiver.entered);
        }
        return from + costs_.setup;
    }

    void start(std::size_t k) {
        const std::int64_t bytes = entry(size_, k);
        Rank &sender = rank(who_.sender[k], routes_.source[k]), &receiver = rank(who_.receiver[k], routes_.target[k]);
        double slowest = std::max({costs_.out, costs_.in, costs_.node});
        const bool leaves = routes_.leaves(k);
        if (!keeps_ways_) ways_.clear();
        const std::size_t begins = ways_.size();
        if (leaves && walks_) routes_.each_link(k, [&](std::int32_t l) { ways_.push_back(l); });
        offsets_.push_back(ways_.size());
        if (may_take_ && routes_.network.choice() == Choice::even && leaves) {
            slowest = std::max(slowest, slowest_part(*may_take_, costs_, routes_.source[k], routes_.target[k]));
        } else if (!links_.empty()) {
            slowest = std::max(slowest, slowest_link(costs_, View<const std::int32_t>(ways_).subspan(begins)));
        }
        const Message m =
            message_of(costs_, bytes, static_cast<std::int64_t>(ways_.size() - begins), slowest, leaves, who_.packs(k));
        const double from = released(k, sender, receiver, m);
        sender.send.add(m.send, from, m.alone - m.send);
        receiver.receive.add(m.receive, from + m.to_receive, m.left);
        if (leaves && costs_.signal > 0) {
            sender.receive.add(costs_.signal / 2, sender.own, m.alone);
            receiver.send.add(costs_.signal / 2, receiver.own, m.alone);
        }
        if (costs_.shared_processor) add_shared(k, m);
        double delivered = from + m.alone;
        if (costs_.in_flight > 0) {
            delivered = slots_[static_cast<std::size_t>(who_.sender[k])].take(m, from, costs_.in_flight) + m.alone;
            sender.slots = std::max(sender.slots, delivered);
        }
        messages_.push_back(delivered);
        if (leaves) add_bytes(k, bytes, m, from, begins);
    }

    void add_shared(std::size_t k, const Message& m) {
        const double signal = m.leaves ? costs_.signal / 2 : 0;
        shared(routes_.source[k]).span.add(m.send + signal, never, m.alone - m.send);
        shared(routes_.target[k]).span.add(m.receive + signal, never, m.left);
    }

    void add_bytes(std::size_t k, std::int64_t bytes, const Message& m, double from, std::size_t begins) {
        const double head = from + m.to_bytes;
        Node &source = node(routes_.source[k]), &target = node(routes_.target[k]);
        add_at_nodes(source, target, costs_, partners_, k, bytes, m, from);
        if (links_.empty()) return;
        if (spread_) {
            spread_->add(routes_.source[k], routes_.target[k], static_cast<double>(bytes));
            head_ = std::min(head_, head);
            tail_ = std::min(tail_, m.after);
            return;
        }
        for (std::size_t i = begins; i < ways_.size(); ++i)
            carry(ways_[i], static_cast<double>(bytes), 1, head, m.after);
    }

    void carry(std::int32_t l, double bytes, double messages, double head, double tail) {
        Link& link = links_[static_cast<std::size_t>(l)];
        if (link.phase != phase_) link = {0, 0, phase_, 0};
        link.bytes += bytes;
        link.load += messages;
        link.head = std::min(link.head, head);
        link.tail = std::min(link.tail, tail);
    }

    // What links carry in expectation: any message of the phase may be the first or last on any of these links.
    void settle_links() {
        busiest_ = 0;
        if (!spread_) return;
        spread_->settle([&](std::int32_t l, double bytes, double messages) {
            carry(l, bytes, messages, head_, tail_);
            busiest_ = std::max(busiest_, link_end(static_cast<std::size_t>(l)));
        });
    }

    // The later of: work from when the rank is there, work from when its first message is.
    static double processor(double own, const Span& span) {
        return span.head < never ? std::max(own, span.head) + span.work + span.tail : 0;
    }

    double both_processors(const Rank& it) const {
        return it.own + it.send.work + it.receive.work + std::min(it.send.tail, it.receive.tail);
    }

    void end(std::size_t k, std::size_t at) {
        const double delivered = messages_[at];
        const Rank &sender = ranks_[static_cast<std::size_t>(who_.sender[k])],
                   &receiver = ranks_[static_cast<std::size_t>(who_.receiver[k])];
        double end = std::max(
            {delivered, sender.slots, processor(sender.own, sender.send), processor(receiver.own, receiver.receive)});
        if (costs_.one_processor) end = std::max({end, both_processors(sender), both_processors(receiver)});
        if (costs_.shared_processor)
            end = std::max({end, shared(routes_.source[k]).span.time(), shared(routes_.target[k]).span.time()});
        if (routes_.leaves(k)) {
            const Node &source = node(routes_.source[k]), &target = node(routes_.target[k]);
            end = std::max({end, source.out.time(), target.in.time()});
            if (costs_.node > 0) end = std::max({end, source.both.time(), target.both.time()});
            if (!links_.empty()) end = std::max(end, way_end(k, at));
        }
        for (const std::int32_t r : {who_.sender[k], who_.receiver[k]}) {
            Rank& it = ranks_[static_cast<std::size_t>(r)];
            it.done = std::max(it.done, end);
        }
        if (end > last_end_ || last_rank_ < 0) {
            last_end_ = end;
            last_rank_ = who_.receiver[k];
        }
    }

    // When the links on the way of transfer k, which is number `at` of the phase, are done.
    double way_end(std::size_t k, std::size_t at) {
        if (spread_ && !may_take_) return busiest_;
        double end = 0;
        const auto see = [&](std::int32_t l) { end = std::max(end, link_end(static_cast<std::size_t>(l))); };
        if (may_take_) {
            may_take_->each_share(routes_.source[k], routes_.target[k], [&](std::int32_t l, double) { see(l); });
            return end;
        }
        if (keeps_ways_)
            for (std::size_t i = offsets_[at]; i < offsets_[at + 1]; ++i) see(ways_[i]);
        else
            routes_.each_link(k, see);
        return end;
    }

    // Worked out once in a phase.
    double link_end(std::size_t l) {
        Link& link = links_[l];
        if (link.ended == phase_) return link.end;
        link.ended = phase_;
        const double time = link.bytes * entry(costs_.link, l) * losses_.at(link.load, l);
        return link.end = link.head + time + link.tail;
    }

    const Routes& routes_;
    const Ranks& who_;
    View<const std::int64_t> size_;
    const MessageCosts& costs_;
    Partners partners_;
    bool waits_for_both_;
    Array<Node> nodes_;
    Array<Rank> ranks_;
    Array<Shared> shared_;  // by node, where ranks share a processor
    Array<Link> links_;
    Array<Slots> slots_;
    Losses losses_;
    bool keeps_ways_ = true;
    bool walks_;                                        // whether links or their number cost anything
    std::optional<Spread> spread_;                      // of the phase, where links carry expectations
    std::optional<Spread> may_take_;                    // of a message
    double head_ = never, tail_ = never, busiest_ = 0;  // of the phase and `spread_`
    Array<std::int32_t> ways_;                          // links of the transfers of the phase
    Array<std::size_t> offsets_;                        // into them
    Array<double> messages_;                            // when each of the phase is delivered at the earliest
    Exchanges pairs_;
    double last_end_ = 0;
    std::int64_t last_rank_ = -1, phase_ = 0;
};

}  // namespace

Ends time_ranks(const Routes& routes, const Ranks& ranks, View<const std::int64_t> size,
                View<const std::int64_t> phase_offsets, const MessageCosts& costs) {
    RankClock clock(routes, ranks, size, costs);
    Ends ends;
    for (std::size_t p = 0; p + 1 < phase_offsets.size(); ++p)
        clock.run_phase(static_cast<std::size_t>(phase_offsets[p]), static_cast<std::size_t>(phase_offsets[p + 1]),
                        ends);
    return ends;
}

}  // namespace conset
