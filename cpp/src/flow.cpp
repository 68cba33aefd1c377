#include "conset/flow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "conset/flow_sharing.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostNodes = 16384;  // a bit for each pair of them is 32 MB
constexpr std::size_t kMany = 4096;        // messages at once for which room is made before
constexpr double kTogether = 1e-12;        // events nearer than this (relative) are one

double step(std::span<const double> up_to, std::span<const double> seconds, std::int64_t bytes) {
    std::size_t k = 0;
    while (k + 1 < seconds.size() && static_cast<double>(bytes) > up_to[k]) ++k;
    return seconds[k];
}

class Flow {
public:
    Flow(const Routes& routes, std::span<const std::int64_t> bytes, const Messages& messages,
         const Execution& execution, const FlowCosts& costs, bool record)
        : routes_(routes),
          bytes_(bytes),
          messages_(messages),
          costs_(costs),
          links_(routes.network.link_slots()),
          nodes_(routes.network.nodes()),
          gates_(messages, execution, [this](std::int32_t m) { return costs_.signal + hops(m) * costs_.hop; }),
          sharing_(capacities(), [this](std::int32_t m, std::vector<std::int32_t>& route) { find_route(m, route); }),
          record_(record) {
        const std::size_t n = messages.size();
        result_.start.assign(n, 0);
        result_.end.assign(n, 0);
        result_.held_by.assign(n, -1);
        result_.link_bytes.assign(static_cast<std::size_t>(links_), 0);
        result_.out_bytes.assign(static_cast<std::size_t>(nodes_), 0);
        result_.in_bytes = result_.out_bytes;
        if (costs.serial) {
            std::int32_t ranks = 0;
            for (std::size_t m = 0; m < n; ++m)
                ranks = std::max({ranks, messages.sender[m] + 1, messages.receiver[m] + 1});
            send_free_.assign(static_cast<std::size_t>(ranks), 0);
            receive_free_ = send_free_;
        }
        if (record) sharing_.record_changes();
        alone_ = !routes.offsets.empty() || distinct();
    }

    FlowResult run() {
        gates_.begin();
        let_go(0);
        std::int64_t glance = 0;
        for (double now = 0;;) {
            const double next = std::min({next_timer(), sharing_.next_end(), gates_.next_event()});
            if (next == kNever) break;
            now = std::max(now, next);
            handle(now, now + kTogether * now);
            if ((++glance & 1023) != 0) continue;
            should_stop(false);
            tell_delivered(static_cast<std::int64_t>(messages_.size() - gates_.undelivered()));
        }
        if (gates_.undelivered() > 0) throw Deadlock(cycle());
        finish();
        return std::move(result_);
    }

private:
    // A timer needs no time of its own: that stands where the message's end will.
    double time_of(std::int32_t timer) const { return result_.end[timer < size() ? timer : timer - size()]; }
    double next_timer() const { return timers_.empty() ? kNever : time_of(timers_.front()); }
    struct Later {
        const Flow& flow;
        bool operator()(std::int32_t a, std::int32_t b) const {
            const double first = flow.time_of(a), second = flow.time_of(b);
            return first != second ? first > second : a > b;
        }
    };
    Later later() const { return {*this}; }

    std::int32_t hops(std::int32_t m) const {
        if (routes_.source[m] == routes_.target[m]) return 0;
        if (!routes_.offsets.empty()) return static_cast<std::int32_t>(routes_.offsets[m + 1] - routes_.offsets[m]);
        return routes_.network.hops(routes_.source[m], routes_.target[m]);
    }

    // Whether no two messages have the same ends: then none can share a flow with another.
    bool distinct() const {
        const auto nodes = static_cast<std::size_t>(nodes_);
        if (nodes > kMostNodes || messages_.size() > nodes * nodes) return false;
        std::vector<bool> seen(nodes * nodes, false);
        for (std::size_t m = 0; m < messages_.size(); ++m) {
            auto place =
                seen[static_cast<std::size_t>(routes_.source[m]) * nodes + static_cast<std::size_t>(routes_.target[m])];
            if (place) return false;
            place = true;
        }
        return true;
    }

    // The resources of a message; what one of its kind can take at most.
    double find_route(std::int32_t m, std::vector<std::int32_t>& route) const {
        return find_route(m, route, [](std::int32_t) {});
    }

    template <class Visit>  // visit(link), whatever its rate
    double find_route(std::int32_t m, std::vector<std::int32_t>& route, Visit&& visit) const {
        double limit = kNever;
        routes_.each_link(m, [&](std::int32_t link) {
            visit(link);
            if (link_rate(link) == kNever) return;
            route.push_back(link);
            if (link_width(link) > 1) limit = std::min(limit, link_rate(link));
        });
        const std::int32_t s = routes_.source[m], t = routes_.target[m];
        if (costs_.out < kNever) route.push_back(links_ + s);
        if (costs_.in < kNever) route.push_back(links_ + nodes_ + t);
        if (costs_.node < kNever) {
            route.push_back(links_ + 2 * nodes_ + s);
            route.push_back(links_ + 2 * nodes_ + t);
        }
        return limit;
    }

    double link_rate(std::int32_t link) const {
        if (costs_.link.empty()) return kNever;
        return costs_.link.size() == 1 ? costs_.link[0] : costs_.link[link];
    }
    std::int32_t link_width(std::int32_t link) const {
        return costs_.width.size() == 1 ? costs_.width[0] : costs_.width[link];
    }

    std::vector<double> capacities() const {
        std::vector<double> capacity;
        capacity.reserve(static_cast<std::size_t>(links_) + 3 * static_cast<std::size_t>(nodes_));
        for (std::int32_t link = 0; link < links_; ++link) capacity.push_back(link_rate(link) * link_width(link));
        for (const double rate : {costs_.out, costs_.in, costs_.node}) capacity.insert(capacity.end(), nodes_, rate);
        return capacity;
    }

    void handle(double now, double until) {
        ++result_.events;
        sharing_.end_until(until, now, [&](std::int32_t m, std::int32_t held_by) {
            result_.held_by[m] = held_by;
            flowed(m, now);
        });
        let_go(now);
        do {
            gates_.handle_until(until, now);
            let_go(now);
            while (next_timer() <= until) {
                const std::int32_t which = timers_.front();
                std::pop_heap(timers_.begin(), timers_.end(), later());
                timers_.pop_back();
                if (which < size()) {
                    begin_flow(which, now);
                } else {
                    deliver(which - size(), now);
                }
            }
            let_go(now);
        } while (gates_.next_event() <= until || next_timer() <= until);
        sharing_.solve(now);
        if (!record_) return;
        sharing_.each_change([&](std::int32_t m, double rate) {
            result_.rate_time.push_back(now);
            result_.rate_message.push_back(m);
            result_.rate.push_back(rate);
        });
    }

    std::int32_t size() const { return static_cast<std::int32_t>(messages_.size()); }

    void at(double time, std::int32_t m, bool delivers) {
        result_.end[m] = time;
        timers_.push_back(delivers ? size() + m : m);
        std::push_heap(timers_.begin(), timers_.end(), later());
    }

    // What the gates let go begins its latency; what stays inside a node is there at once.
    void let_go(double now) {
        auto& started = gates_.started();
        if (started.size() > kMany) {
            timers_.reserve(timers_.size() + started.size());
            sharing_.reserve(started.size());
        }
        for (std::size_t k = 0; k < started.size(); ++k) {
            const std::int32_t m = started[k];
            result_.start[m] = now;
            if (routes_.source[m] == routes_.target[m]) {
                deliver(m, now);  // may append to what we walk over
                continue;
            }
            const double inject = step(costs_.inject_up_to, costs_.inject, bytes_[m]) + costs_.per_transfer;
            if (!costs_.serial) {
                at(now + (inject + hops(m) * costs_.hop + step(costs_.eject_up_to, costs_.eject, bytes_[m])), m, false);
                continue;
            }
            double& free = send_free_[messages_.sender[m]];
            free = std::max(free, now) + inject;
            at(free + hops(m) * costs_.hop, m, false);
        }
        if (started.size() > kMany) std::vector<std::int32_t>().swap(started);
        started.clear();
    }

    void begin_flow(std::int32_t m, double now) {
        const std::int32_t s = routes_.source[m], t = routes_.target[m];
        result_.out_bytes[s] += bytes_[m];
        result_.in_bytes[t] += bytes_[m];
        route_.clear();
        const double limit = find_route(m, route_, [&](std::int32_t link) { result_.link_bytes[link] += bytes_[m]; });
        if (bytes_[m] == 0 || route_.empty()) {
            flowed(m, now);
            return;
        }
        sharing_.tell_route(m, route_);
        const std::uint64_t pair = static_cast<std::uint64_t>(s) << 32U | static_cast<std::uint32_t>(t);
        sharing_.add(alone_ ? Sharing::kAlone : pair, weight(m), limit, m, static_cast<double>(bytes_[m]), now);
    }

    double weight(std::int32_t m) const {
        if (!costs_.rtt) return 1;
        // of the route alone: messages of one route are one flow, whatever steps their overheads have
        const double latency = costs_.inject[0] + hops(m) * costs_.hop + costs_.eject[0];
        return latency > 0 ? 1 / latency : 1;
    }

    void flowed(std::int32_t m, double now) {
        if (!costs_.serial) {
            deliver(m, now);
            return;
        }
        double& free = receive_free_[messages_.receiver[m]];
        free = std::max(free, now) + step(costs_.eject_up_to, costs_.eject, bytes_[m]);
        if (free <= now) {
            deliver(m, now);
        } else {
            at(free, m, true);
        }
    }

    void deliver(std::int32_t m, double now) {
        result_.end[m] = now;
        gates_.delivered(m, now);
    }

    std::string cycle() const {
        std::string text = std::to_string(gates_.undelivered()) + " messages wait for each other: ";
        const std::vector<std::int32_t> waiting = gates_.waiting_cycle();
        const std::size_t shown = std::min<std::size_t>(waiting.size(), 8);
        for (std::size_t k = 0; k < shown; ++k) {
            const std::int32_t m = waiting[k];
            text += (k > 0 ? ", which waits for " : "message ") + std::to_string(m) + " (" +
                    std::to_string(messages_.sender[m]) + " -> " + std::to_string(messages_.receiver[m]) + ")";
        }
        if (waiting.size() > shown) text += ", and " + std::to_string(waiting.size() - shown) + " more";
        return waiting.empty() ? text : text + ", which waits for " + std::to_string(waiting[0]);
    }

    void finish() {
        const auto busy = sharing_.busy();
        const auto links = static_cast<std::size_t>(links_), nodes = static_cast<std::size_t>(nodes_);
        result_.link_busy.assign(busy.begin(), busy.begin() + links_);
        result_.out_busy.assign(busy.begin() + links_, busy.begin() + static_cast<std::ptrdiff_t>(links + nodes));
        result_.in_busy.assign(busy.begin() + static_cast<std::ptrdiff_t>(links + nodes),
                               busy.begin() + static_cast<std::ptrdiff_t>(links + 2 * nodes));
        result_.solves = sharing_.solves();
    }

    const Routes& routes_;
    std::span<const std::int64_t> bytes_;
    Messages messages_;
    FlowCosts costs_;
    std::int32_t links_, nodes_;
    Gates gates_;
    Sharing sharing_;
    bool record_, alone_ = false;
    FlowResult result_;
    std::vector<std::int32_t> timers_;              // a heap: message m flows; from `size` on: m - size is delivered
    std::vector<double> send_free_, receive_free_;  // when each rank's processor is free
    std::vector<std::int32_t> route_;
};

}  // namespace

FlowResult simulate_flow(const Routes& routes, std::span<const std::int64_t> bytes, const Messages& messages,
                         const Execution& execution, const FlowCosts& costs, bool record) {
    return Flow(routes, bytes, messages, execution, costs, record).run();
}

}  // namespace conset
