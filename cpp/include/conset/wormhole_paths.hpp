// Paths: the channels a header takes on its way, and how far it is.
//
// Channels are numbered: link * pools + pool, then per rank one pool into the network (injection), then per rank one
// out of it (ejection). A path is stored while its message is in the network only.
//
// For people places have other numbers: link, links + source node, links + nodes + target node, and for system buffers
// links + 2 * nodes + target node: pools of a link are one, ranks of a node too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "conset/flow_gates.hpp"
#include "conset/routes.hpp"
#include "conset/wormhole.hpp"

namespace conset {

class Paths {
public:
    struct Path {
        std::vector<std::int32_t> channels;  // injection, lanes, ejection
        std::size_t taken = 0;
        double asked = 0;
        bool at_end() const { return taken + 1 == channels.size(); }
        bool complete() const { return taken == channels.size(); }
    };

    Paths(const Routes& routes, const Messages& messages, const WormholeCosts& costs, std::int32_t ranks)
        : routes_(routes),
          messages_(messages),
          costs_(costs),
          ranks_(ranks),
          links_(routes.network.link_slots()),
          nodes_(routes.network.nodes()),
          place_(messages.size(), -1) {}

    // Of every channel; `ejection` instead of the costs', 0: no limit.
    std::vector<std::int32_t> capacities(std::int32_t ejection) const;

    Path& open(std::int32_t m);
    void close(std::int32_t m) {
        free_.push_back(place_[m]);
        place_[m] = -1;
    }
    bool is_open(std::int32_t m) const { return place_[m] >= 0; }
    Path& of(std::int32_t m) { return paths_[place_[m]]; }
    const Path& of(std::int32_t m) const { return paths_[place_[m]]; }
    bool holds(std::int32_t m, std::int32_t channel) const;

    std::int32_t injection(std::int32_t m) const { return links_ * costs_.pools + messages_.sender[m]; }
    std::int32_t ejection(std::int32_t m) const { return links_ * costs_.pools + ranks_ + messages_.receiver[m]; }
    std::int32_t hops(std::int32_t m) const {
        std::int32_t count = 0;
        routes_.each_link(static_cast<std::size_t>(m), [&](std::int32_t) { ++count; });
        return count;
    }
    // Where the header of m is to go next, and the places at its target.
    std::int32_t next_place(std::int32_t m) const;
    std::int32_t target_place(std::int32_t m) const { return links_ + nodes_ + routes_.target[m]; }
    std::int32_t buffer_place(std::int32_t m) const { return links_ + 2 * nodes_ + routes_.target[m]; }

private:
    const Routes& routes_;
    const Messages& messages_;
    const WormholeCosts& costs_;
    std::int32_t ranks_, links_, nodes_;
    std::vector<std::int32_t> place_, free_;  // place_: by message, into paths_
    std::vector<Path> paths_;
};

inline std::vector<std::int32_t> Paths::capacities(std::int32_t ejection) const {
    constexpr std::int32_t kNoLimit = std::numeric_limits<std::int32_t>::max();
    std::vector<std::int32_t> capacity;
    for (std::int32_t l = 0; l < links_; ++l)
        capacity.insert(capacity.end(), costs_.pools, costs_.lanes * each(costs_.width, l));
    for (const std::int32_t count : {costs_.injection, ejection})
        capacity.insert(capacity.end(), ranks_, count > 0 ? count : kNoLimit);
    return capacity;
}

inline Paths::Path& Paths::open(std::int32_t m) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::int32_t>(paths_.size()));
        paths_.emplace_back();
    }
    place_[m] = free_.back();
    free_.pop_back();
    Path& path = paths_[place_[m]];
    path.taken = 0;
    path.channels.clear();
    path.channels.push_back(injection(m));
    std::int32_t pool = 0;
    routes_.each_link(static_cast<std::size_t>(m), [&](std::int32_t link) {
        if (!costs_.dateline.empty() && costs_.dateline[link] != 0) pool = std::min(pool + 1, costs_.pools - 1);
        path.channels.push_back(link * costs_.pools + pool);
    });
    path.channels.push_back(ejection(m));
    return path;
}

inline bool Paths::holds(std::int32_t m, std::int32_t channel) const {
    if (!is_open(m)) return false;
    const Path& path = of(m);
    const auto last = path.channels.begin() + static_cast<std::ptrdiff_t>(path.taken);
    return std::find(path.channels.begin(), last, channel) != last;
}

inline std::int32_t Paths::next_place(std::int32_t m) const {
    const Path& path = of(m);
    if (path.taken == 0) return links_ + routes_.source[m];
    return path.at_end() ? target_place(m) : path.channels[path.taken] / costs_.pools;
}

}  // namespace conset
