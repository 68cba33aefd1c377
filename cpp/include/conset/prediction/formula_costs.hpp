// Message costs worked out: lead-ins and lead-outs of one transfer, and which transfers of a phase meet as exchanges.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>

#include "conset/array.hpp"
#include "conset/network/spread.hpp"
#include "conset/prediction/formula.hpp"

namespace conset::formula {

inline constexpr double never = std::numeric_limits<double>::infinity();

template <class T>
T entry(View<const T> values, std::size_t k) {
    return values.size() == 1 ? values[0] : values[k];
}

// One transfer: overheads, seconds to the first byte and after the last one, seconds of bytes alone.
struct Message {
    double send, receive;     // overheads
    double signal;            // until its ready signal has arrived, from when it was sent
    double to_port;           // from the start to where it keeps the port of its node busy at least
    double to_bytes, after;   // from the start to the first byte at least; from the last byte to delivery at least
    double to_receive, left;  // from the start to the receive overhead at least; from its end to delivery at least
    double flow;              // bytes alone
    double held;              // how long it keeps a slot at least
    double alone;             // from the start to delivery
    bool leaves;
};

inline std::size_t step_of(const MessageCosts& costs, std::int64_t bytes) {
    if (costs.up_to.size() == 1) return 0;
    const auto step = std::lower_bound(costs.up_to.begin(), costs.up_to.end(), static_cast<double>(bytes));
    return static_cast<std::size_t>(step - costs.up_to.begin());
}

// `per_byte` is that of the slowest resource on its way.
inline Message message_of(const MessageCosts& costs, std::int64_t bytes, std::int64_t hops, double per_byte,
                          bool leaves, bool packed) {
    const std::size_t step = step_of(costs, bytes);
    const double b = static_cast<double>(bytes), copy = packed ? b * costs.copy : 0;
    const double detected = leaves && b <= costs.detects ? b * costs.copy : 0;
    const double send = costs.send[step] + copy, receive = costs.receive[step] + copy + detected;
    Message m{send, receive, 0, 0, 0, 0, 0, 0, 0, 0, 0, leaves};
    if (!leaves) {
        m.flow = b * costs.copy;
        m.to_bytes = send;
        m.after = receive;
        m.to_receive = send + m.flow;
        m.held = send + m.flow;
        m.alone = send + m.flow + receive;
        return m;
    }
    const double latency = costs.latency[step] + static_cast<double>(hops) * costs.hop[step] + costs.startup;
    const bool before = costs.before, loose = before && b <= costs.eager;
    m.flow = b * per_byte;
    m.signal = costs.signal + static_cast<double>(hops) * costs.signal_hop;
    m.to_bytes = send + latency + (before && !loose ? receive : 0);
    m.to_port = costs.startup > 0 ? send : m.to_bytes;
    m.after = before ? 0 : receive;
    m.to_receive = send + latency + (before ? 0 : m.flow);
    m.left = before && !loose ? m.flow : 0;
    m.held = m.to_bytes + m.flow;
    m.alone = send + latency + m.flow + receive;
    return m;
}

// What a resource needs: its work between the least lead-in and the least lead-out of what it works on.
struct Span {
    double work = 0, head = never, tail = never;
    void add(double w, double h, double t) {
        work += w;
        head = std::min(head, h);
        tail = std::min(tail, t);
    }
    double time() const { return head < never ? head + work + tail : 0; }
};

// Bytes each way between two nodes.
class Exchanges {
public:
    // Adds `bytes` from s to t and returns by how much the bytes that meet as many of the other direction grew.
    std::int64_t add(std::int32_t s, std::int32_t t, std::int64_t bytes) {
        auto& way = between_[key(s, t)];
        const std::int64_t before = std::min(way[0], way[1]);
        way[s < t ? 0 : 1] += bytes;
        return std::min(way[0], way[1]) - before;
    }
    bool both(std::int32_t s, std::int32_t t) const {
        const auto at = between_.find(key(s, t));
        return at != between_.end() && at->second[0] > 0 && at->second[1] > 0;
    }
    void clear() { between_.clear(); }

private:
    static std::uint64_t key(std::int32_t s, std::int32_t t) {
        const auto [low, high] = std::minmax(s, t);
        return static_cast<std::uint64_t>(low) << 32U | static_cast<std::uint32_t>(high);
    }
    std::unordered_map<std::uint64_t, std::array<std::int64_t, 2>> between_;
};

// Counts messages of every node in transfers that are in flight together: two messages are a synchronized exchange only
// where neither node does anything else meanwhile.
class Partners {
public:
    Partners(const Routes& routes, const MessageCosts& costs)
        : routes_(routes),
          used_(costs.exchange < 1 && costs.node > 0),
          at_(used_ ? as_size(routes.network.nodes()) : 0) {}

    void meet(std::size_t first, std::size_t last) {
        if (!used_) return;
        ++scope_;
        exchanges_.clear();
        for (std::size_t k = first; k < last; ++k) {
            if (!routes_.leaves(k)) continue;
            ++of(routes_.source[k]).sends;
            ++of(routes_.target[k]).receives;
        }
    }

    // Bytes by which those that meet grow with transfer k.
    std::int64_t matched(std::size_t k, std::int64_t bytes) {
        if (!used_ || !alone(routes_.source[k]) || !alone(routes_.target[k])) return 0;
        return exchanges_.add(routes_.source[k], routes_.target[k], bytes);
    }

private:
    struct Count {
        std::int64_t sends = 0, receives = 0, scope = 0;
    };
    Count& of(std::int32_t v) {
        Count& it = at_[static_cast<std::size_t>(v)];
        if (it.scope != scope_) it = {0, 0, scope_};
        return it;
    }
    bool alone(std::int32_t v) {
        const Count& it = of(v);
        return it.sends <= 1 && it.receives <= 1;
    }

    const Routes& routes_;
    bool used_;
    Array<Count> at_;
    Exchanges exchanges_;
    std::int64_t scope_ = 0;
};

// The slots of one rank: its messages take them in posting order, each once the processor is free.
class Slots {
public:
    void reset(double from) {
        free_ = from;
        held_.clear();
    }
    void work(double seconds) { free_ += seconds; }
    // When message m, which may start from `ready` on, starts.
    double take(const Message& m, double ready, std::int64_t in_flight) {
        double start = std::max(free_, ready);
        if (std::cmp_greater_equal(held_.size(), in_flight)) {
            std::pop_heap(held_.begin(), held_.end(), std::greater<>());
            start = std::max(start, held_.back());
            held_.pop_back();
        }
        free_ = start + m.send;
        held_.push_back(start + m.held);
        std::push_heap(held_.begin(), held_.end(), std::greater<>());
        return start;
    }

private:
    double free_ = 0;
    Array<double> held_;  // a heap, the earliest first
};

// Whether routes need to be walked.
inline bool walks(const MessageCosts& costs) {
    const auto costly = [](double hop) { return hop > 0; };
    return !costs.link.empty() || costs.signal_hop > 0 || std::any_of(costs.hop.begin(), costs.hop.end(), costly);
}

// What links carry in expectation, where messages take routes that nobody knows and links cost anything.
inline std::optional<Spread> expectation_of(const Routes& routes, const MessageCosts& costs) {
    if (!routes.network.spreads() || !routes.offsets.empty() || costs.link.empty()) return std::nullopt;
    return Spread(routes.network);
}

// As `expectation_of`, for the links that one message may take, which with `valiant` are nearly all.
inline std::optional<Spread> ways_of(const Routes& routes, const MessageCosts& costs) {
    return routes.network.choice() == Choice::valiant ? std::nullopt : expectation_of(routes, costs);
}

// Of a message on a way [s/B]: of the slowest link, 0 where there is none. Nothing is looked at where all are alike.
inline double slowest_link(const MessageCosts& costs, View<const std::int32_t> way) {
    if (costs.link.size() == 1) return way.empty() ? 0 : costs.link[0];
    double slowest = 0;
    for (const std::int32_t l : way) slowest = std::max(slowest, costs.link[as_size(l)]);
    return slowest;
}

// Of a message that is spread [s/B]: of the link that needs longest for its part.
inline double slowest_part(Spread& ways, const MessageCosts& costs, std::int32_t source, std::int32_t target) {
    double slowest = 0;
    ways.each_share(source, target, [&](std::int32_t l, double share) {
        slowest = std::max(slowest, share * entry(costs.link, static_cast<std::size_t>(l)));
    });
    return slowest;
}

// Factors of time by which links that carry more than is tolerated lose.
class Losses {
public:
    explicit Losses(const MessageCosts& costs) : costs_(costs) {}

    double at(double load, std::size_t link) {
        if (costs_.blocking <= 0) return 1;
        const double over = load / (costs_.tolerance * entry(costs_.width, link));
        if (over <= 1) return 1;
        // messages are counted: few numbers come again and again
        const bool counted = costs_.width.size() == 1 && load < kRemembered && load == std::floor(load);
        if (!counted) return std::pow(over, costs_.blocking);
        const auto count = static_cast<std::size_t>(load);
        if (count >= known_.size()) known_.resize(count + 1, 0);
        if (known_[count] <= 0) known_[count] = std::pow(over, costs_.blocking);
        return known_[count];
    }

private:
    static constexpr double kRemembered = 1 << 16;

    const MessageCosts& costs_;
    Array<double> known_;  // by load, where links are alike; 0: not asked for
};

// Bytes of transfer k, message m, at the ports of its nodes, and at both together where these share a rate; its
// start-up at the port out. It starts at `from`.
template <class Node>
void add_at_nodes(Node& source, Node& target, const MessageCosts& costs, Partners& partners, std::size_t k,
                  std::int64_t bytes, const Message& m, double from) {
    const double b = static_cast<double>(bytes), head = from + m.to_bytes, tail = m.after;
    source.out.add(b * costs.out + costs.startup, from + m.to_port, tail);
    target.in.add(b * costs.in, head, tail);
    if (costs.node <= 0) return;
    const double work = (b - 2 * (1 - costs.exchange) * static_cast<double>(partners.matched(k, bytes))) * costs.node;
    source.both.add(work, head, tail);
    target.both.add(work, head, tail);
}

}  // namespace conset::formula
