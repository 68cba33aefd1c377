// Worms of the flit model that are on their way: what they carry, and their routes as runs through one port.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "conset/array.hpp"
#include "conset/simulation/flit/flit.hpp"
#include "conset/simulation/flit/router.hpp"

namespace conset {

class FlitWorms {
public:
    struct Worm {
        std::int32_t message, flits;
    };

    FlitWorms(const FlitNetwork& network, const Routes& routes) : network_(network), routes_(routes) {}

    const Worm& operator[](std::int32_t worm) const { return worms_[worm]; }

    // A worm at its source. Numbers of worms that have arrived are used again.
    std::int32_t add(std::int32_t message, std::int32_t flits) {
        if (vacant_.empty()) {
            vacant_.push_back(static_cast<std::int32_t>(worms_.size()));
            worms_.emplace_back();
            ways_.emplace_back();
            runs_.resize(runs_.size() + most_runs_);
        }
        const std::int32_t worm = vacant_.back();
        vacant_.pop_back();
        worms_[worm] = {message, flits};
        find_way(worm, message);
        return worm;
    }

    void remove(std::int32_t worm) { vacant_.push_back(worm); }

    // The port by which the head leaves the router it has reached, and the lanes it may take there.
    std::pair<std::uint8_t, Half> next_output(std::int32_t worm) {
        Way& way = ways_[worm];
        const Run* runs = runs_.data() + cell(worm, most_runs_, 0);
        if (way.left == 0) way.left = runs[++way.at].hops;
        --way.left;
        return {runs[way.at].output, runs[way.at].halves};
    }

private:
    struct Run {
        std::int32_t hops;
        std::uint8_t output;
        Half halves;
    };
    struct Way {
        std::int32_t at, left;
    };

    void find_way(std::int32_t worm, std::int32_t message) {
        found_.clear();
        routes_.each_link(static_cast<std::size_t>(message), [&](std::int32_t link) {
            const auto output = static_cast<std::uint8_t>(network_.out_port[link]);
            const auto ring = static_cast<FlitRing>(network_.ring[link]);
            if (found_.empty() || found_.back().output != output) found_.push_back({0, output, first_half(ring)});
            ++found_.back().hops;
            if (ring == FlitRing::up_across) found_.back().halves = upper;
            if (ring == FlitRing::down_across) found_.back().halves = lower;
        });
        found_.push_back({1, static_cast<std::uint8_t>(network_.ports - 1), either});
        if (found_.size() > most_runs_) widen(found_.size());
        std::copy(found_.begin(), found_.end(), runs_.begin() + static_cast<std::ptrdiff_t>(cell(worm, most_runs_, 0)));
        ways_[worm] = {0, found_[0].hops};
    }

    void widen(std::size_t most) {
        Array<Run> wider(worms_.size() * most);
        for (std::size_t worm = 0; worm < worms_.size(); ++worm)
            std::copy_n(runs_.begin() + static_cast<std::ptrdiff_t>(worm * most_runs_), most_runs_,
                        wider.begin() + static_cast<std::ptrdiff_t>(worm * most));
        runs_ = std::move(wider);
        most_runs_ = most;
    }

    // Lanes of a run that does not cross the dateline.
    static Half first_half(FlitRing ring) {
        if (ring == FlitRing::open) return either;
        return ring == FlitRing::up || ring == FlitRing::up_across ? lower : upper;
    }

    const FlitNetwork& network_;
    const Routes& routes_;
    Array<Worm> worms_;
    Array<Way> ways_;
    std::size_t most_runs_ = 4;
    Array<Run> runs_, found_;  // most_runs_ of each worm; those of the last route
    Array<std::int32_t> vacant_;
};

}  // namespace conset
