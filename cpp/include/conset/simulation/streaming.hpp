// Streaming: bytes of messages that flow over ports, nodes and links, where a node may share its rate in both
// directions: while the bytes of both messages of a synchronized exchange flow, each counts `exchange_weight` there.
// Where sends preempt receives, bytes into a rank stand still while it sends. A message that starts up takes the port
// of its node as the bytes would that flow out in that time. Where nodes spread messages over next links, a byte counts
// on each link as the part of the message that takes it: the fullest link on any of its ways holds it all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "conset/array.hpp"
#include "conset/network/routes.hpp"
#include "conset/network/spread.hpp"
#include "conset/simulation/release/release.hpp"
#include "conset/simulation/streams.hpp"

namespace conset {

// Rates [B per time]; an infinite one limits nothing.
struct Rates {
    View<const double> link;         // per unit of width: by slot, or one for all
    View<const std::int32_t> width;  // by slot, or one for all
    double out = 0, in = 0, node = 0;
    double exchange_weight = 1;
    double startup = 0;  // of a message at the port out of its node [time]

    double capacity(std::int32_t slot) const { return each(link, slot) * each(width, slot); }
    // The narrowest link, by its unit of width, on the way of m; -1 without any.
    std::int32_t narrowest_link(const Routes& routes, std::int32_t m) const;
    // Of every link, then port out, port in and both together of every node.
    Array<double> capacities(std::int32_t links, std::int32_t nodes) const;
};

class Streaming {
public:
    static constexpr double kNever = Streams::kNever;

    Streaming(const Routes& routes, const Messages<double>& messages, const Rates& rates,
              const Release<double>& release);

    // Bytes of m flow from `now` on; false where that takes no time.
    bool begin(std::int32_t m, double now, double until);
    void start_up(std::int32_t m, double now);
    // Of what ends: the message whose start-up it is; below 0 where bytes of a message do.
    std::int32_t started(std::int32_t ended) const { return ended - static_cast<std::int32_t>(slot_.size()); }
    // The next that ends by `until`; -1 without any. The owner calls `ended` for bytes.
    std::int32_t end_next(double until, double now) { return streams_.end_next(until, now); }
    void ended(std::int32_t m);
    // Whether bytes into a rank stand still.
    void hold(std::int32_t rank, bool held);

    double next_end() { return streams_.next_end(); }
    void solve(double now) { streams_.solve(now); }
    double busy(std::int32_t resource) const { return streams_.busy(resource); }
    std::int64_t solves() const { return streams_.solves(); }
    std::int64_t work() const { return streams_.work(); }
    // What holds m: a link, port out, port in or node as `Rates::capacities` numbers them. Until `ended`.
    std::int32_t held_by(std::int32_t m) const;
    void record_changes() { streams_.record_changes(); }
    template <class Visit>
    void each_change(Visit&& visit) {
        streams_.each_change([&](std::int32_t m, double rate) {
            if (started(m) < 0) visit(m, rate);
        });
    }

private:
    bool flows(std::int32_t m) const { return m >= 0 && slot_[m] >= 0 && streams_.is_open(slot_[m], m); }
    void weigh(std::int32_t m, double weight) {
        streams_.weigh(slot_[m], links_ + 2 * nodes_, links_ + 3 * nodes_, weight);
    }
    void weigh_exchange(std::int32_t m);

    const Routes& routes_;
    const Messages<double>& messages_;
    Rates rates_;
    const Release<double>& release_;
    std::int32_t links_, nodes_;
    Streams streams_;
    Array<std::int32_t> slot_;  // by message
    Array<Streams::Use> uses_;
    std::optional<Spread> ways_;       // where messages are spread over links
    Array<Array<std::int32_t>> into_;  // what flows into each rank, where its sends hold it
};

}  // namespace conset
