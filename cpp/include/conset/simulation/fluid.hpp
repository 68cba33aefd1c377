// Fluid: what the models of fluids share: one clock, one release engine, what they report.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "conset/array.hpp"
#include "conset/network/spread.hpp"
#include "conset/simulation/simulated.hpp"
#include "conset/simulation/streaming.hpp"
#include "conset/stop.hpp"

namespace conset {

class Fluid : public Carrier<double> {
public:
    Fluid(const Routes& routes, const Messages<double>& messages, const Execution<double>& execution)
        : routes_(routes),
          messages_(messages),
          execution_(execution),
          links_(routes.network.link_slots()),
          nodes_(routes.network.nodes()),
          release_(routes_, messages_, execution_, events_, *this) {
        result_.held_by.assign(messages.size(), -1);
        result_.link_bytes.assign(static_cast<std::size_t>(links_), 0);
        result_.out_bytes.assign(static_cast<std::size_t>(nodes_), 0);
        result_.in_bytes = result_.out_bytes;
        if (routes.network.choice() == Choice::even && routes.offsets.empty()) {
            ways_.emplace(routes.network);
            parts_.assign(as_size(links_), 0);
        }
    }

    std::int32_t hops(std::int32_t m) const override {
        if (!routes_.leaves(static_cast<std::size_t>(m))) return 0;
        if (!routes_.offsets.empty()) return static_cast<std::int32_t>(routes_.offsets[m + 1] - routes_.offsets[m]);
        return routes_.network.hops(routes_.source[m], routes_.target[m]);
    }

protected:
    static constexpr double kNever = std::numeric_limits<double>::infinity();
    static constexpr double kTogether = 1e-12;  // events nearer than this (relative) are one

    // On to the next time at which something happens, `network` or an event; false where nothing does, or the run is to
    // end. `touched`: work of the solver.
    bool next_instant(double network, std::int64_t touched) {
        const double next = std::min(network, events_.next());
        if (next == kNever) return false;
        if ((++instants_ & 1023) == 0) {
            should_stop(false);
            publish_progress(static_cast<std::int64_t>(messages_.size() - release_.undelivered()));
        }
        result_.work = result_.events + touched;
        result_.late = std::max(now_, next) > execution_.until;
        result_.cut = result_.work > execution_.work;
        if (result_.late || result_.cut) return false;
        now_ = std::max(now_, next);
        until_ = now_ + kTogether * now_;
        return true;
    }

    bool stuck() const { return release_.undelivered() > 0 && !result_.late && !result_.cut; }

    std::int32_t place_into(std::int32_t m) const { return links_ + nodes_ + routes_.target[m]; }

    void count_bytes(std::int32_t m) {
        const std::int64_t bytes = messages_.bytes[m];
        if (ways_) {
            ways_->each_share(routes_.source[m], routes_.target[m], [&](std::int32_t link, double share) {
                parts_[link] += share * static_cast<double>(bytes);
            });
        } else if (parts_.empty()) {
            routes_.each_link(static_cast<std::size_t>(m),
                              [&](std::int32_t link) { result_.link_bytes[link] += bytes; });
        }
        result_.out_bytes[routes_.source[m]] += bytes;
        result_.in_bytes[routes_.target[m]] += bytes;
        release_.flows(m, now_);
    }

    void record(std::int32_t m, double rate) {
        result_.rate_time.push_back(now_);
        result_.rate_message.push_back(m);
        result_.rate.push_back(rate);
    }

    // Where a message waits that is not under way, and which one must move first.
    std::pair<std::int32_t, std::int32_t> waits_at_ends(std::int32_t m) const {
        using Place = Release<double>::Place;
        const auto [place, other] = release_.waits_for(m);
        if (place == Place::delivery) return {-1, other};
        return {place == Place::receive ? place_into(m) : links_ + 2 * nodes_ + routes_.target[m], other};
    }

    // From the first message that is not delivered to what it waits for, `waits_for(m)`, until one repeats.
    template <class WaitsFor>
    void trace_waits(WaitsFor&& waits_for) {
        Array<std::int32_t> seen_at(messages_.size(), -1);
        WaitCycle& cycle = result_.cycle;
        std::int32_t m = 0;
        while (release_.is_delivered(m)) ++m;
        while (m >= 0 && seen_at[m] < 0) {
            seen_at[m] = static_cast<std::int32_t>(cycle.message.size());
            const auto [place, next] = waits_for(m);
            cycle.message.push_back(m);
            cycle.place.push_back(place);
            m = next;
        }
        const std::int32_t first = m < 0 ? 0 : seen_at[m];
        cycle.message.erase(cycle.message.begin(), cycle.message.begin() + first);
        cycle.place.erase(cycle.place.begin(), cycle.place.begin() + first);
    }

    template <class Busy>  // busy(resource)
    void finish(Busy&& busy) {
        for (std::int32_t l = 0; l < links_; ++l) result_.link_busy.push_back(busy(l));
        if (!parts_.empty())
            for (std::int32_t l = 0; l < links_; ++l) result_.link_bytes[l] = std::llround(parts_[l]);
        for (std::int32_t node = 0; node < nodes_; ++node) {
            result_.out_busy.push_back(busy(links_ + node));
            result_.in_busy.push_back(busy(links_ + nodes_ + node));
        }
        result_.buffered = release_.buffered();
        result_.buffered_most = release_.buffered_most();
        result_.stopped = now_;
        result_.times = std::move(release_.times);
    }

    const Routes& routes_;
    Messages<double> messages_;
    Execution<double> execution_;
    std::int32_t links_, nodes_;
    Events<double> events_;
    Release<double> release_;
    Simulated result_;
    std::optional<Spread> ways_;  // where messages are spread over links
    Array<double> parts_;         // of bytes on each link, then, or where packets choose links
    double now_ = 0, until_ = 0;
    std::int64_t instants_ = 0;
};

}  // namespace conset
