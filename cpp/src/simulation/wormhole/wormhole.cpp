#include "conset/simulation/wormhole/wormhole.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "conset/simulation/fluid.hpp"
#include "conset/simulation/wormhole/channels.hpp"
#include "conset/simulation/wormhole/paths.hpp"

namespace conset {

namespace {

class Wormhole : public Fluid {
public:
    Wormhole(const Routes& routes, const Messages<double>& messages, const Execution<double>& execution,
             const WormholeCosts& costs, bool record)
        : Fluid(routes, messages, execution),
          costs_(costs),
          streaming_(routes_, messages_, costs_.rates, release_),
          paths_(routes_, costs_),
          channels_(paths_.capacities(), messages.size()),
          record_(record) {
        result_.blocked.assign(messages.size(), 0);
        longest_.assign(messages.size(), 0);
        if (record) streaming_.record_changes();
    }

    Simulated run() {
        release_.begin();
        while (next_instant(std::min(hops_.empty() ? kNever : hops_.front().first, streaming_.next_end()),
                            streaming_.work()))
            handle();
        if (stuck()) find_cycle();
        finish([&](std::int32_t resource) { return streaming_.busy(resource); });
        result_.solves = streaming_.solves();
        return std::move(result_);
    }

    void depart(std::int32_t m, double at) override { events_.at(at + each(costs_.latency, m), EventKind::header, m); }

    // Its header has all it asked for.
    void stream(std::int32_t m, double at) override {
        waited(m, place_into(m));
        events_.at(at, EventKind::stream, m);
    }

    void start_up(std::int32_t m) override { streaming_.start_up(m, now_); }

    void hold(std::int32_t rank, bool held) override { streaming_.hold(rank, held); }

private:
    // Everything of one time, then rates.
    void handle() {
        events_.open(until_);
        for (; !hops_.empty() && hops_.front().first <= until_; hops_.pop_front())
            events_.at(now_, EventKind::header, hops_.front().second);
        for (std::int32_t m = streaming_.end_next(until_, now_); m >= 0; m = streaming_.end_next(until_, now_)) {
            if (const std::int32_t started = streaming_.started(m); started >= 0)
                events_.at(now_, EventKind::port, started, Release<double>::kStarted);
            else
                events_.at(now_, EventKind::ended, m);
        }
        while (events_.has_due()) {
            const auto event = events_.take();
            ++result_.events;
            switch (event.kind) {
                case EventKind::ended: ended(event.which); break;
                case EventKind::header: ask(event.which); break;
                case EventKind::stream: begin(event.which); break;
                default: release_.handle(event, now_);
            }
        }
        events_.close();
        streaming_.solve(now_);
        if (record_) streaming_.each_change([&](std::int32_t m, double rate) { record(m, rate); });
    }

    // A header asks for its next channel, at the end of its way for a receive.
    void ask(std::int32_t m) {
        Paths::Path& path = paths_.is_open(m) ? paths_.of(m) : paths_.open(m);
        path.asked = now_;
        if (path.complete()) {
            release_.arrived(m, now_);
        } else if (channels_.ask(path.channels[path.taken], m)) {
            granted(m);
        }
    }

    // A link further. Equal hops end in the order in which they begin: most events of a run need no heap.
    void granted(std::int32_t m) {
        waited(m, paths_.next_link(m));
        ++paths_.of(m).taken;
        const double time = now_ + each(costs_.hop, m);
        if (costs_.hop.size() == 1 && time > until_) {
            hops_.emplace_back(time, m);
        } else {
            events_.at(time, EventKind::header, m);
        }
    }

    void waited(std::int32_t m, std::int32_t place) {
        const double time = now_ - paths_.of(m).asked;
        result_.blocked[m] += time;
        if (time <= longest_[m]) return;
        longest_[m] = time;
        result_.held_by[m] = place;
    }

    void begin(std::int32_t m) {
        count_bytes(m);
        if (!streaming_.begin(m, now_, until_)) events_.at(now_, EventKind::ended, m);
    }

    // The last byte has flowed: what m has passes to those who wait, in path order.
    void ended(std::int32_t m) {
        streaming_.ended(m);
        const Paths::Path& path = paths_.of(m);
        for (const std::int32_t channel : path.channels)
            if (const std::int32_t next = channels_.release(channel); next >= 0) granted(next);
        paths_.close(m);
        release_.left(m, now_);
    }

    // From a waiting message to one that has what it waits for, until one repeats.
    void find_cycle() {
        trace_waits([&](std::int32_t m) -> std::pair<std::int32_t, std::int32_t> {
            if (!paths_.is_open(m) || paths_.of(m).complete()) return waits_at_ends(m);
            const std::int32_t channel = paths_.of(m).channels[paths_.of(m).taken], link = paths_.next_link(m);
            for (std::int32_t other = 0; other < static_cast<std::int32_t>(messages_.size()); ++other)
                if (other != m && paths_.holds(other, channel)) return {link, other};
            return {link, -1};
        });
    }

    WormholeCosts costs_;
    Streaming streaming_;
    Paths paths_;
    Channels channels_;
    bool record_;
    std::deque<std::pair<double, std::int32_t>> hops_;  // headers under way where all hops take the same: in order
    Array<double> longest_;
};

}  // namespace

Simulated simulate_wormhole(const Routes& routes, const Messages<double>& messages, const Execution<double>& execution,
                            const WormholeCosts& costs, bool record) {
    return Wormhole(routes, messages, execution, costs, record).run();
}

}  // namespace conset
