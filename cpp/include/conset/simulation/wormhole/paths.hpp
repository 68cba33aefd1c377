// Paths: the channels a header takes on its way, and how far it is.
//
// Channels are numbered link * pools + pool. A path is stored while its message is in the network only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "conset/array.hpp"
#include "conset/network/routes.hpp"
#include "conset/simulation/wormhole/wormhole.hpp"

namespace conset {

class Paths {
public:
    struct Path {
        Array<std::int32_t> channels;  // a lane of each link
        std::size_t taken = 0;
        double asked = 0;
        bool complete() const { return taken == channels.size(); }
    };

    Paths(const Routes& routes, const WormholeCosts& costs)
        : routes_(routes), costs_(costs), place_(routes.size(), -1) {}

    // Lanes of each link and pool; more than an int32 counts are as good as any number.
    Array<std::int32_t> capacities() const {
        constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
        Array<std::int32_t> capacity;
        for (std::int32_t l = 0; l < routes_.network.link_slots(); ++l) {
            const std::int64_t lanes = std::int64_t{costs_.lanes} * each(costs_.rates.width, l);
            capacity.insert(capacity.end(), as_size(costs_.pools), static_cast<std::int32_t>(std::min(lanes, kMost)));
        }
        return capacity;
    }

    Path& open(std::int32_t m) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::int32_t>(paths_.size()));
            paths_.emplace_back();
        }
        place_[m] = free_.back();
        free_.pop_back();
        Path& path = paths_[place_[m]];
        path.taken = 0;
        path.channels.clear();
        std::int32_t pool = 0;
        routes_.each_link(static_cast<std::size_t>(m), [&](std::int32_t link) {
            if (!costs_.dateline.empty() && costs_.dateline[link] != 0) pool = std::min(pool + 1, costs_.pools - 1);
            path.channels.push_back(link * costs_.pools + pool);
        });
        return path;
    }
    void close(std::int32_t m) {
        free_.push_back(place_[m]);
        place_[m] = -1;
    }
    bool is_open(std::int32_t m) const { return place_[m] >= 0; }
    Path& of(std::int32_t m) { return paths_[place_[m]]; }
    const Path& of(std::int32_t m) const { return paths_[place_[m]]; }
    bool holds(std::int32_t m, std::int32_t channel) const {
        if (!is_open(m)) return false;
        const Path& path = of(m);
        const auto last = path.channels.begin() + static_cast<std::ptrdiff_t>(path.taken);
        return std::find(path.channels.begin(), last, channel) != last;
    }
    // The link whose channel the header of m asks for next.
    std::int32_t next_link(std::int32_t m) const { return of(m).channels[of(m).taken] / costs_.pools; }

private:
    const Routes& routes_;
    const WormholeCosts& costs_;
    Array<std::int32_t> place_, free_;  // place_: by message, into paths_
    Array<Path> paths_;
};

}  // namespace conset
