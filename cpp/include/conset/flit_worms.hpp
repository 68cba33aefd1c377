// Worms of the flit model that are on their way: what they carry, and their routes as runs through one port.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "conset/flit.hpp"
#include "conset/flit_router.hpp"

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
        }
        const std::int32_t worm = vacant_.back();
        vacant_.pop_back();
        worms_[worm] = {message, flits};
        find_way(ways_[worm], message);
        return worm;
    }

    void remove(std::int32_t worm) { vacant_.push_back(worm); }

    // The port by which the head leaves the router it has reached, and the lanes it may take there.
    std::pair<std::uint8_t, Half> next_output(std::int32_t worm) {
        Way& way = ways_[worm];
        if (way.left == 0) way.left = way.runs[++way.at].hops;
        --way.left;
        return {way.runs[way.at].output, way.runs[way.at].halves};
    }

private:
    struct Run {
        std::int32_t hops;
        std::uint8_t output;
        Half halves;
    };
    struct Way {
        std::int32_t at, left;
        std::vector<Run> runs;
    };

    void find_way(Way& way, std::int32_t message) const {
        way.runs.clear();
        routes_.each_link(static_cast<std::size_t>(message), [&](std::int32_t link) {
            const auto output = static_cast<std::uint8_t>(network_.out_port[link]);
            const auto ring = static_cast<FlitRing>(network_.ring[link]);
            if (way.runs.empty() || way.runs.back().output != output || ring == FlitRing::open)
                way.runs.push_back({0, output, first_half(ring)});
            ++way.runs.back().hops;
            if (ring == FlitRing::up_across) way.runs.back().halves = upper;
            if (ring == FlitRing::down_across) way.runs.back().halves = lower;
        });
        way.runs.push_back({1, static_cast<std::uint8_t>(network_.ports - 1), either});
        way.at = 0;
        way.left = way.runs[0].hops;
    }

    // Lanes of a run that does not cross the dateline.
    static Half first_half(FlitRing ring) {
        if (ring == FlitRing::open) return either;
        return ring == FlitRing::up || ring == FlitRing::up_across ? lower : upper;
    }

    const FlitNetwork& network_;
    const Routes& routes_;
    std::vector<Worm> worms_;
    std::vector<Way> ways_;
    std::vector<std::int32_t> vacant_;
};

}  // namespace conset
