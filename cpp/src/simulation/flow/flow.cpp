#include "conset/simulation/flow/flow.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "conset/simulation/flow/sharing.hpp"
#include "conset/simulation/fluid.hpp"

namespace conset {

namespace {

constexpr std::size_t kMostNodes = 16384;  // a bit for each pair of them is 32 MB

class Flow : public Fluid {
public:
    Flow(const Routes& routes, const Messages<double>& messages, const Execution<double>& execution,
         const FlowCosts& costs, bool record)
        : Fluid(routes, messages, execution),
          costs_(costs),
          nested_(execution.receives > 0 || execution.eager >= 0),
          record_(record) {
        const Rates& rates = costs_.rates;
        if ((execution.exchanges && rates.exchange_weight < 1) || execution.preempts || execution.startup || ways_) {
            streaming_ = std::make_unique<Streaming>(routes_, messages_, rates, release_);
        } else {
            sharing_ =
                std::make_unique<Sharing>(rates.capacities(links_, nodes_),
                                          [this](std::int32_t m, Array<std::int32_t>& route) { find_route(m, route); });
            alone_ = !routes.offsets.empty() || distinct();
        }
        if (!record) return;
        if (streaming_) streaming_->record_changes();
        if (sharing_) sharing_->record_changes();
    }

    Simulated run() {
        release_.begin();
        while (next_instant(std::min(next_timer(), next_end()), sharing_ ? sharing_->work() : streaming_->work()))
            handle();
        for (const std::int32_t m : timers_) release_.times.end[m] = kNever;  // stopped before
        if (stuck()) trace_waits([&](std::int32_t m) { return waits_at_ends(m); });
        if (sharing_) {
            const auto busy = sharing_->busy();
            finish([&](std::int32_t resource) { return busy[resource]; });
        } else {
            finish([&](std::int32_t resource) { return streaming_->busy(resource); });
        }
        result_.solves = sharing_ ? sharing_->solves() : streaming_->solves();
        return std::move(result_);
    }

    // A timer needs no time of its own: that stands where the message's delivery will.
    void depart(std::int32_t m, double at) override {
        release_.times.end[m] = at + (each(costs_.latency, m) + hops(m) * each(costs_.hop, m));
        timers_.push_back(m);
        std::push_heap(timers_.begin(), timers_.end(), later());
    }

    void stream(std::int32_t m, double at) override {
        if (at > until_ || nested_) {
            events_.at(at, EventKind::stream, m);
        } else {
            begin(m);
        }
    }

    void start_up(std::int32_t m) override { streaming_->start_up(m, now_); }

    void hold(std::int32_t rank, bool held) override {
        if (streaming_) streaming_->hold(rank, held);
    }

private:
    double time_of(std::int32_t timer) const { return release_.times.end[timer]; }
    double next_timer() const { return timers_.empty() ? kNever : time_of(timers_.front()); }
    double next_end() { return sharing_ ? sharing_->next_end() : streaming_->next_end(); }
    struct Later {
        const Flow& flow;
        bool operator()(std::int32_t a, std::int32_t b) const {
            const double first = flow.time_of(a), second = flow.time_of(b);
            return first != second ? first > second : a > b;
        }
    };
    Later later() const { return {*this}; }

    // Whether no two messages have the same ends: then none can share a flow with another.
    bool distinct() const {
        const auto nodes = static_cast<std::size_t>(nodes_);
        if (nodes > kMostNodes || messages_.size() > nodes * nodes) return false;
        Array<bool> seen(nodes * nodes, false);
        for (std::size_t m = 0; m < messages_.size(); ++m) {
            auto place =
                seen[static_cast<std::size_t>(routes_.source[m]) * nodes + static_cast<std::size_t>(routes_.target[m])];
            if (place) return false;
            place = true;
        }
        return true;
    }

    // The resources of a message; what one of its kind can take at most.
    double find_route(std::int32_t m, Array<std::int32_t>& route) const {
        const Rates& rates = costs_.rates;
        double limit = kNever;
        routes_.each_link(static_cast<std::size_t>(m), [&](std::int32_t link) {
            if (rates.link.empty() || each(rates.link, link) == kNever) return;
            route.push_back(link);
            if (each(rates.width, link) > 1) limit = std::min(limit, each(rates.link, link));
        });
        const std::int32_t s = routes_.source[m], t = routes_.target[m];
        if (rates.out < kNever) route.push_back(links_ + s);
        if (rates.in < kNever) route.push_back(links_ + nodes_ + t);
        if (rates.node < kNever) {
            route.push_back(links_ + 2 * nodes_ + s);
            route.push_back(links_ + 2 * nodes_ + t);
        }
        return limit;
    }

    void handle() {
        ++result_.events;
        events_.open(until_);
        if (sharing_) {
            sharing_->end_until(until_, now_, [&](std::int32_t m, std::int32_t held_by) {
                const bool at_limit = held_by >= links_ + 3 * nodes_;
                result_.held_by[m] = at_limit ? costs_.rates.narrowest_link(routes_, m) : held_by;
                release_.left(m, now_);
            });
        } else {
            for (std::int32_t m = streaming_->end_next(until_, now_); m >= 0; m = streaming_->end_next(until_, now_)) {
                if (const std::int32_t started = streaming_->started(m); started >= 0) {
                    events_.at(now_, EventKind::port, started, Release<double>::kStarted);
                    continue;
                }
                result_.held_by[m] = streaming_->held_by(m);
                streaming_->ended(m);
                release_.left(m, now_);
            }
        }
        do {
            while (events_.has_due()) {
                const auto event = events_.take();
                if (event.kind == EventKind::stream) {
                    begin(event.which);
                } else {
                    release_.handle(event, now_);
                }
            }
            while (next_timer() <= until_) {
                const std::int32_t m = timers_.front();
                std::pop_heap(timers_.begin(), timers_.end(), later());
                timers_.pop_back();
                release_.times.end[m] = kNever;
                release_.arrived(m, now_);
            }
        } while (events_.has_due() || next_timer() <= until_);
        events_.close();
        const auto change = [&](std::int32_t m, double rate) { record(m, rate); };
        if (sharing_) {
            sharing_->solve(now_);
            if (record_) sharing_->each_change(change);
        } else {
            streaming_->solve(now_);
            if (record_) streaming_->each_change(change);
        }
    }

    void begin(std::int32_t m) {
        count_bytes(m);
        const std::int64_t bytes = messages_.bytes[m];
        if (streaming_) {
            if (!streaming_->begin(m, now_, until_)) release_.left(m, now_);
            return;
        }
        route_.clear();
        const double limit = find_route(m, route_);
        if (bytes == 0 || route_.empty()) {
            release_.left(m, now_);
            return;
        }
        sharing_->set_route(m, route_);
        const std::uint64_t pair =
            static_cast<std::uint64_t>(routes_.source[m]) << 32U | static_cast<std::uint32_t>(routes_.target[m]);
        sharing_->add(alone_ ? Sharing::kAlone : pair, weight(m), limit, m, static_cast<double>(bytes), now_);
    }

    double weight(std::int32_t m) const {
        if (!costs_.rtt) return 1;
        const double latency = costs_.rtt_latency + hops(m) * each(costs_.hop, m);
        return latency > 0 ? 1 / latency : 1;
    }

    FlowCosts costs_;
    std::unique_ptr<Sharing> sharing_;  // the one or the other
    std::unique_ptr<Streaming> streaming_;
    bool nested_;  // whether a stream may begin while another message ends
    bool record_, alone_ = false;
    Array<std::int32_t> timers_;  // a heap of messages whose latency passes
    Array<std::int32_t> route_;
};

}  // namespace

Simulated simulate_flow(const Routes& routes, const Messages<double>& messages, const Execution<double>& execution,
                        const FlowCosts& costs, bool record) {
    return Flow(routes, messages, execution, costs, record).run();
}

}  // namespace conset
