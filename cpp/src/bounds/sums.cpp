#include "conset/bounds/sums.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "conset/network/box_lines.hpp"

namespace conset {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Lead {
    double into = kNever, out = kNever;
    void least(double in, double o) {
        if (in < into) into = in;
        if (o < out) out = o;
    }
};

template <class T>
T entry(View<const T> values, std::size_t k) {
    return values.size() == 1 ? values[0] : values[k];
}

// Times of one message alone [s]; as `conset.machine.times.Times`, with the wait for set-up and signal.
struct Alone {
    double send, receive, to_bytes, after, to_receive, left, held, alone, wait;
};

// The entries a message of some size pays.
struct Step {
    double bytes = -1, send = 0, receive = 0, once = 0, link = 0;
};

Step step_of(const BoundPrices& prices, double bytes) {
    const auto found = std::lower_bound(prices.up_to.begin(), prices.up_to.end(), bytes);
    const auto k = std::min(static_cast<std::size_t>(found - prices.up_to.begin()), prices.up_to.size() - 1);
    return {bytes, prices.send[k], prices.receive[k], prices.once[k], prices.link[k]};
}

// `copy`: of a packed message, at each end.
Alone alone_of(const BoundPrices& prices, const Step& step, bool leaves, double hops, double slowest, double copy) {
    const double bytes = step.bytes, send = step.send + copy, receive = step.receive + copy;
    const double latency = leaves ? step.once + hops * step.link + prices.startup : 0;
    const double through = leaves ? bytes * slowest : bytes / prices.copy_Bps;
    const double flow = prices.split ? 0 : through;
    const bool before = leaves && prices.before, kept = before && bytes > prices.eager;
    Alone m{};
    m.send = send;
    m.receive = receive;
    m.to_bytes = send + latency + (kept ? receive : 0);
    m.after = before ? 0 : receive;
    m.to_receive = send + latency + (before ? 0 : flow);
    m.left = kept ? flow : 0;
    m.held = m.to_bytes + flow;
    m.alone = send + latency + flow + receive;
    m.wait = std::max(prices.setup, leaves && prices.ready ? prices.signal + hops * prices.signal_link : 0);
    return m;
}

class Sums {
public:
    Sums(const Routes& routes, const Ranks& ranks, View<const double> weight, const BoundPrices& prices)
        : routes_(routes),
          ranks_of_(ranks),
          weight_(weight),
          prices_(prices),
          ranks_(as_size(ranks.ranks)),
          nodes_(as_size(routes.network.nodes())),
          asks_nodes_(prices.node_Bps < kNever) {
        if (!prices.leads_of_links) return;
        if (LineLeast::pay(routes, routes.size())) {
            lines_.emplace(routes.network);
            least_.emplace(*lines_);
        } else {
            links_.resize(as_size(routes.network.link_slots()));
        }
    }

    void add(std::size_t k, std::int64_t size) {
        const bool leaves = routes_.leaves(k);
        const double hops = leaves ? routes_.network.hops(routes_.source[k], routes_.target[k]) : 0;
        const double slowest = std::max(slowest_link(k, hops), port_or_node(k));
        if (static_cast<double>(size) != step_.bytes) step_ = step_of(prices_, static_cast<double>(size));
        const double copy = ranks_of_.packs(k) ? step_.bytes / prices_.copy_Bps : 0;
        const Alone m = alone_of(prices_, step_, leaves, hops, slowest, prices_.split ? 0 : copy);
        add_ranks(k, m, leaves, slowest, copy);
        const double alone = m.wait + m.alone;
        if (longest_at_ < 0 || alone > longest_) {
            longest_ = alone;
            longest_at_ = static_cast<std::int64_t>(k);
        }
        shortest_ = std::min(shortest_, alone);
        if (leaves) add_bytes(k, m);
    }

    MessageSums result();

private:
    struct Rank {
        double send = 0, receive = 0, held = 0;
        std::int64_t sends = 0, receives = 0;
        Lead sending, receiving, holding;
    };
    struct Node {
        double out = 0, in = 0, weighed_out = 0, weighed_in = 0;
        Lead leaving, entering, passing;
    };

    double slowest_link(std::size_t k, double hops) const {
        if (prices_.per_byte.empty() || hops == 0) return 0;
        if (prices_.per_byte.size() == 1) return prices_.per_byte[0];
        double slowest = 0;
        routes_.each_link(k, [&](std::int32_t l) { slowest = std::max(slowest, prices_.per_byte[l]); });
        return slowest;
    }

    double weight(std::size_t k) const { return weight_.empty() ? 1 : weight_[k]; }
    double port_or_node(std::size_t k) const { return std::max(prices_.port, weight(k) / prices_.node_Bps); }

    // Of a split message the bytes of all parts are copied, whatever each of them has.
    void add_ranks(std::size_t k, const Alone& m, bool leaves, double slowest, double copy) {
        const double copied = prices_.split ? copy : 0;
        Rank &sender = ranks_[ranks_of_.sender[k]], &receiver = ranks_[ranks_of_.receiver[k]];
        sender.send += m.send + copied;
        sender.sending.least(0, m.alone - m.send);
        receiver.receive += m.receive + copied;
        receiver.receiving.least(m.wait + m.to_receive, m.left);
        const double apart = prices_.split ? (leaves ? step_.bytes * slowest : step_.bytes / prices_.copy_Bps) : 0;
        sender.held += prices_.split ? m.held + apart + copied : m.held;
        sender.holding.least(m.wait, m.alone - m.held);
        if (!leaves) return;
        ++sender.sends;
        ++receiver.receives;
        if (!prices_.ready) return;
        receiver.sending.least(0, m.alone);
        sender.receiving.least(0, m.alone);
    }

    void add_bytes(std::size_t k, const Alone& m) {
        const std::int32_t s = routes_.source[k], t = routes_.target[k];
        Node &source = nodes_[s], &target = nodes_[t];
        const double head = m.wait + m.to_bytes, tail = m.after, bytes = step_.bytes;
        overall_.least(head, tail);
        source.out += bytes;
        target.in += bytes;
        source.leaving.least(prices_.startup > 0 ? m.wait + m.send : head, tail);
        target.entering.least(head, tail);
        if (asks_nodes_) {
            source.weighed_out += bytes * weight(k);
            target.weighed_in += bytes * weight(k);
            source.passing.least(head, tail);
            target.passing.least(head, tail);
        }
        if (least_) {
            least_->add(s, t, {head, tail});
        } else if (!links_.empty()) {
            routes_.each_link(k, [&](std::int32_t l) { links_[l].least(head, tail); });
        }
    }

    Leads leads_of_links();

    const Routes& routes_;
    const Ranks& ranks_of_;
    View<const double> weight_;
    const BoundPrices& prices_;
    Array<Rank> ranks_;
    Array<Node> nodes_;
    Array<Lead> links_;
    std::optional<BoxLines> lines_;
    std::optional<LineLeast> least_;
    bool asks_nodes_;
    Step step_;
    Lead overall_;
    double longest_ = 0, shortest_ = kNever;
    std::int64_t longest_at_ = -1;
};

template <class Row, class Value>
Array<Value> column(const Array<Row>& rows, Value Row::* field) {
    Array<Value> values(rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) values[k] = rows[k].*field;
    return values;
}

template <class Row>
Leads leads(const Array<Row>& rows, Lead Row::* field) {
    Leads result{Array<double>(rows.size()), Array<double>(rows.size())};
    for (std::size_t k = 0; k < rows.size(); ++k) {
        result.into[k] = (rows[k].*field).into;
        result.out[k] = (rows[k].*field).out;
    }
    return result;
}

Leads Sums::leads_of_links() {
    if (!lines_ || !least_) return {column(links_, &Lead::into), column(links_, &Lead::out)};
    const View<const LineLeast::Pair> cells = least_->settle();
    Leads result{Array<double>(cells.size()), Array<double>(cells.size())};
    for (std::size_t slot = 0; slot < cells.size(); ++slot) {
        const LineLeast::Pair& pair = cells[lines_->cell(static_cast<std::int32_t>(slot))];
        result.into[slot] = pair.into;
        result.out[slot] = pair.out;
    }
    return result;
}

MessageSums Sums::result() {
    MessageSums sums;
    sums.send = column(ranks_, &Rank::send);
    sums.receive = column(ranks_, &Rank::receive);
    sums.held = column(ranks_, &Rank::held);
    sums.sends = column(ranks_, &Rank::sends);
    sums.receives = column(ranks_, &Rank::receives);
    sums.sending = leads(ranks_, &Rank::sending);
    sums.receiving = leads(ranks_, &Rank::receiving);
    sums.holding = leads(ranks_, &Rank::holding);
    sums.out = column(nodes_, &Node::out);
    sums.in = column(nodes_, &Node::in);
    if (asks_nodes_) {
        sums.weighed_out = column(nodes_, &Node::weighed_out);
        sums.weighed_in = column(nodes_, &Node::weighed_in);
    }
    sums.leaving = leads(nodes_, &Node::leaving);
    sums.entering = leads(nodes_, &Node::entering);
    sums.passing = leads(nodes_, &Node::passing);
    sums.links = leads_of_links();
    sums.first = overall_.into;
    sums.last = overall_.out;
    sums.longest = longest_;
    sums.least = shortest_;
    sums.longest_at = longest_at_;
    return sums;
}

}  // namespace

MessageSums sum_messages(const Routes& routes, const Ranks& ranks, View<const std::int64_t> size,
                         View<const double> weight, const BoundPrices& prices) {
    Sums sums(routes, ranks, weight, prices);
    for (std::size_t k = 0; k < routes.size(); ++k) sums.add(k, entry(size, k));
    return sums.result();
}

}  // namespace conset
