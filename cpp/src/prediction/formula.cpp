// Batches of phases: work adds up at every resource, and the busiest one says how long the batch takes.
#include "conset/prediction/formula.hpp"

#include <optional>
#include <utility>

#include "conset/prediction/formula_costs.hpp"

namespace conset {

namespace {

using namespace formula;

// Of equals the first kind is named; sums of the same terms in another order are equals.
constexpr double kRounding = 1e-12;
constexpr auto kBusyKinds = static_cast<std::size_t>(Busy::partners);  // that a batch has

class Batches {
public:
    Batches(const Routes& routes, const Ranks& ranks, const MessageCosts& costs, bool phase_by_phase)
        : routes_(routes),
          ranks_of_(ranks),
          costs_(costs),
          phase_by_phase_(phase_by_phase),
          partners_(routes, costs),
          at_(as_size(routes.network.nodes()), -1),
          ranks_(as_size(ranks.ranks)),
          shared_(costs.shared_processor ? as_size(routes.network.nodes()) : 0),
          links_(costs.link.empty() ? 0 : as_size(routes.network.link_slots())),
          slots_(costs.in_flight > 0 ? as_size(ranks.ranks) : 0),
          losses_(costs),
          walks_(walks(costs)),
          spread_(expectation_of(routes, costs)),
          ways_(routes.network.choice() == Choice::even ? ways_of(routes, costs) : std::nullopt) {
        nodes_.reserve(std::min(at_.size(), 2 * routes.size()));  // references to nodes stay valid
    }

    void open_batch() {
        ++batch_;
        most_.fill(0);
        where_.fill(-1);
        setups_.fill(0);
    }

    void open_phase() {
        ++phase_;
        touched_nodes_.clear();
        touched_ranks_.clear();
        touched_links_.clear();
        touched_shared_.clear();
        head_ = tail_ = never;
    }

    void meet(std::size_t first, std::size_t last) { partners_.meet(first, last); }

    // Returns what the transfer takes alone.
    double add(std::size_t k, std::int64_t bytes) {
        const std::int32_t s = ranks_of_.sender[k], t = ranks_of_.receiver[k];
        Rank &sender = rank(s, routes_.source[k]), &receiver = rank(t, routes_.target[k]);
        double slowest = std::max({costs_.out, costs_.in, costs_.node});
        const bool leaves = routes_.leaves(k);
        const View<const std::int32_t> way = leaves && walks_ ? routes_.way(k, walked_) : View<const std::int32_t>{};
        if (ways_ && leaves) {
            slowest = std::max(slowest, slowest_part(*ways_, costs_, routes_.source[k], routes_.target[k]));
        } else if (!links_.empty()) {
            slowest = std::max(slowest, slowest_link(costs_, way));
        }
        const Message m =
            message_of(costs_, bytes, static_cast<std::int64_t>(way.size()), slowest, leaves, ranks_of_.packs(k));
        const double wait = costs_.setup + m.signal;
        sender.send.add(m.send, 0, m.alone - m.send);
        receiver.receive.add(m.receive, wait + m.to_receive, m.left);
        if (m.leaves && costs_.signal > 0) {
            sender.receive.add(costs_.signal / 2, 0, m.alone);
            receiver.send.add(costs_.signal / 2, 0, m.alone);
        }
        if (costs_.shared_processor) add_shared(k, m);
        raise(Busy::message, static_cast<std::int64_t>(k), wait + m.alone, 1);
        if (costs_.in_flight > 0) {
            const double start = slots_[static_cast<std::size_t>(s)].take(m, m.signal, costs_.in_flight);
            raise(Busy::slots, s, start + m.alone, sender.setups);
        }
        if (leaves) add_bytes(k, bytes, m, wait, way);
        return m.alone;
    }

    void close_phase(Formula& formula) {
        if (spread_) {  // any of the messages may be the first or last on a link
            spread_->settle(
                [&](std::int32_t l, double bytes, double messages) { carry(l, bytes, messages, head_, tail_); });
        }
        for (std::int32_t v : touched_nodes_) close_node(v);
        for (std::int32_t r : touched_ranks_) close_rank(r);
        for (std::int32_t v : touched_shared_) close_shared(v);
        for (std::int32_t l : touched_links_) raise(Busy::link, l, link_time(l), 1);
        const double longest = *std::max_element(most_.begin(), most_.end());
        std::size_t kind = 0;
        while (where_[kind] < 0 || most_[kind] < longest * (1 - kRounding))
            if (++kind == kBusyKinds) break;
        const bool idle = kind == kBusyKinds;
        formula.busy.push_back(longest);
        formula.kind.push_back(idle ? -1 : static_cast<std::int32_t>(kind));
        formula.index.push_back(idle ? -1 : where_[kind]);
        formula.setups.push_back(idle ? 0 : setups_[kind]);
    }

private:
    struct Node {
        Span out, in, both;
        std::int64_t batch = 0, phase = 0;
    };
    struct Rank {
        Span send, receive;
        std::int64_t setups = 0, batch = 0, phase = 0;
    };
    // The processor of all ranks of a node.
    struct Shared {
        Span span;
        std::int64_t setups = 0, batch = 0, phase = 0;
    };
    struct Link {
        std::int32_t phase = 0, batch = 0;
        double bytes = 0, load = 0;
        double head = never, tail = never;
        double past = 0;  // work of earlier phases of the batch, where loads are counted phase by phase

        void add(double more, double messages, double from, double to) {
            bytes += more;
            load += messages;
            head = std::min(head, from);
            tail = std::min(tail, to);
        }
    };

    Node& node(std::int32_t v) {
        std::int32_t& at = at_[static_cast<std::size_t>(v)];
        if (at < 0) {
            at = static_cast<std::int32_t>(nodes_.size());
            nodes_.emplace_back();
        }
        Node& it = nodes_[static_cast<std::size_t>(at)];
        if (it.phase != phase_) {
            if (it.batch != batch_) it = {{}, {}, {}, batch_, 0};
            it.phase = phase_;
            touched_nodes_.push_back(v);
        }
        return it;
    }

    Shared& shared(std::int32_t v) {
        Shared& it = shared_[static_cast<std::size_t>(v)];
        if (it.phase != phase_) {
            if (it.batch != batch_) it = {{}, 0, batch_, 0};
            it.phase = phase_;
            touched_shared_.push_back(v);
        }
        return it;
    }

    Rank& rank(std::int32_t r, std::int32_t on) {
        Rank& it = ranks_[static_cast<std::size_t>(r)];
        if (it.phase != phase_) {
            if (it.batch != batch_) {
                it = {{}, {}, 0, batch_, 0};
                if (costs_.in_flight > 0) slots_[static_cast<std::size_t>(r)].reset(0);
            }
            it.phase = phase_;
            touched_ranks_.push_back(r);
            if (costs_.setup > 0) {
                ++it.setups;
                if (costs_.shared_processor) ++shared(on).setups;
                if (costs_.in_flight > 0) slots_[static_cast<std::size_t>(r)].work(costs_.setup);
            }
        }
        return it;
    }

    void raise(Busy kind, std::int64_t index, double time, std::int64_t setups) {
        const auto k = static_cast<std::size_t>(kind);
        if (time > most_[k] || where_[k] < 0) {
            most_[k] = time;
            where_[k] = index;
            setups_[k] = costs_.setup > 0 ? setups : 0;
        }
    }

    void add_shared(std::size_t k, const Message& m) {
        Span &source = shared(routes_.source[k]).span, &target = shared(routes_.target[k]).span;
        source.add(m.send, 0, m.alone - m.send);
        target.add(m.receive, 0, m.left);
        if (!m.leaves || costs_.signal <= 0) return;
        source.add(costs_.signal / 2, 0, m.alone);
        target.add(costs_.signal / 2, 0, m.alone);
    }

    void add_bytes(std::size_t k, std::int64_t bytes, const Message& m, double wait, View<const std::int32_t> way) {
        const double head = wait + m.to_bytes;
        Node &source = node(routes_.source[k]), &target = node(routes_.target[k]);
        add_at_nodes(source, target, costs_, partners_, k, bytes, m, wait);
        if (links_.empty()) return;
        if (spread_) {
            spread_->add(routes_.source[k], routes_.target[k], static_cast<double>(bytes));
            head_ = std::min(head_, head);
            tail_ = std::min(tail_, m.after);
            return;
        }
        carry(way, static_cast<double>(bytes), head, m.after);
    }

    // On its own, so that what it looks at for every link stays in registers.
    [[gnu::noinline]] void carry(View<const std::int32_t> way, double bytes, double head, double tail) {
        Link* const links = links_.data();
        const std::int32_t phase = phase_;
        for (const std::int32_t l : way) {
            Link& link = links[l];
            if (link.phase != phase) open(link, l);
            link.add(bytes, 1, head, tail);
        }
    }

    void carry(std::int32_t l, double bytes, double messages, double head, double tail) {
        Link& link = links_[static_cast<std::size_t>(l)];
        if (link.phase != phase_) open(link, l);
        link.add(bytes, messages, head, tail);
    }

    void open(Link& link, std::int32_t l) {
        if (link.batch != batch_) link = {.batch = batch_};
        link.phase = phase_;
        touched_links_.push_back(l);
    }

    void close_node(std::int32_t v) {
        const Node& it = nodes_[static_cast<std::size_t>(at_[static_cast<std::size_t>(v)])];
        raise(Busy::out, v, it.out.time(), 1);
        raise(Busy::in, v, it.in.time(), 1);
        if (costs_.node > 0) raise(Busy::node, v, it.both.time(), 1);
    }

    // Set-ups are work of both processors; the first of a rank goes before all its messages.
    void close_rank(std::int32_t r) {
        const Rank& it = ranks_[static_cast<std::size_t>(r)];
        const double opening = static_cast<double>(it.setups) * costs_.setup;
        if (it.send.head < never) raise(Busy::send, r, opening + it.send.time(), it.setups);
        if (it.receive.head < never) {
            const double from = std::max(opening, it.receive.head);
            raise(Busy::receive, r, from + it.receive.work + it.receive.tail, from > opening ? 1 : it.setups);
        }
        if (costs_.one_processor)
            raise(Busy::processor, r,
                  opening + it.send.work + it.receive.work + std::min(it.send.tail, it.receive.tail), it.setups);
    }

    void close_shared(std::int32_t v) {
        const Shared& it = shared_[static_cast<std::size_t>(v)];
        const double opening = static_cast<double>(it.setups) * costs_.setup;
        raise(Busy::shared, v, opening + it.span.work + it.span.tail, it.setups);
    }

    // The time of a link so far in its batch; closes the phase's own share where loads are counted phase by phase.
    double link_time(std::int32_t l) {
        const auto at = static_cast<std::size_t>(l);
        Link& link = links_[at];
        const double time = link.bytes * entry(costs_.link, at) * losses_.at(link.load, at);
        if (!phase_by_phase_) return link.head + time + link.tail;
        link.bytes = link.load = 0;
        link.past += time;
        return link.head + link.past + link.tail;
    }

    const Routes& routes_;
    const Ranks& ranks_of_;
    const MessageCosts& costs_;
    bool phase_by_phase_;
    Partners partners_;
    Array<std::int32_t> at_;  // by node: its entry of nodes_, -1 where no message begins or ends
    Array<Node> nodes_;
    Array<Rank> ranks_;
    Array<Shared> shared_;  // by node, where ranks share a processor
    Array<Link> links_;
    Array<Slots> slots_;
    Losses losses_;
    bool walks_;                          // whether links or their number cost anything
    std::optional<Spread> spread_;        // of the phase, where links carry expectations
    std::optional<Spread> ways_;          // of a message that is spread
    double head_ = never, tail_ = never;  // the least of the phase, of `spread_`
    Array<std::int32_t> walked_;          // links of the transfer at hand
    Array<std::int32_t> touched_nodes_, touched_ranks_, touched_links_, touched_shared_;
    std::array<double, kBusyKinds> most_{};
    std::array<std::int64_t, kBusyKinds> where_{}, setups_{};
    std::int32_t batch_ = 0, phase_ = 0;
};

}  // namespace

Formula time_batches(const Routes& routes, const Ranks& ranks, View<const std::int64_t> size,
                     View<const std::int64_t> phase_offsets, View<const std::int64_t> batch_offsets,
                     bool phase_by_phase, const MessageCosts& costs, Array<double>* alone) {
    Batches batches(routes, ranks, costs, phase_by_phase);
    Formula result;
    const auto transfer = [&](std::size_t p) { return static_cast<std::size_t>(phase_offsets[p]); };
    for (std::size_t b = 0; b + 1 < batch_offsets.size(); ++b) {
        batches.open_batch();
        const auto first = static_cast<std::size_t>(batch_offsets[b]),
                   last = static_cast<std::size_t>(batch_offsets[b + 1]);
        if (!phase_by_phase) batches.meet(transfer(first), transfer(last));
        for (std::size_t p = first; p < last; ++p) {
            batches.open_phase();
            if (phase_by_phase) batches.meet(transfer(p), transfer(p + 1));
            for (std::size_t k = transfer(p); k < transfer(p + 1); ++k) {
                const double seconds = batches.add(k, entry(size, k));
                if (alone != nullptr) alone->push_back(seconds);
            }
            batches.close_phase(result);
        }
    }
    return result;
}

void Formula::take_later(View<const double> time, Busy of, View<const std::int64_t> at,
                         View<const std::int64_t> setups_of) {
    for (std::size_t p = 0; p < time.size(); ++p) {
        if (time[p] > busy[p] * (1 + kRounding)) {
            kind[p] = static_cast<std::int32_t>(of);
            index[p] = at[p];
            setups[p] = setups_of[p];
        }
        busy[p] = std::max(busy[p], time[p]);
    }
}

FormulaTerms add_up(View<const double> busy, View<const std::int64_t> setups, View<const std::int64_t> batch_offsets,
                    std::int64_t barriers, double barrier, double setup) {
    double time = 0, opened = 0;
    for (std::size_t b = 0; b + 1 < batch_offsets.size(); ++b) {
        const std::int64_t last = batch_offsets[b + 1] - 1;
        time += busy[last];
        opened += std::min(static_cast<double>(setups[last]) * setup, busy[last]);
    }
    return {static_cast<double>(barriers) * barrier, opened, std::max(0.0, time - opened)};
}

Array<double> least_on_links(const Routes& routes, View<const double> value) {
    Array<double> least(static_cast<std::size_t>(routes.network.link_slots()), never);
    for (std::size_t k = 0; k < routes.size(); ++k)
        routes.each_link(k, [&](std::int32_t l) {
            auto& it = least[static_cast<std::size_t>(l)];
            it = std::min(it, entry(value, k));
        });
    return least;
}

}  // namespace conset
