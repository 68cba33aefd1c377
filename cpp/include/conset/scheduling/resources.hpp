// Resources: everything a limit counts, numbered densely: send ports, receive ports, channels of nodes, links.
#pragma once

#include <cstdint>
#include <limits>

#include "conset/array.hpp"
#include "conset/network/routes.hpp"

namespace conset {

// What a phase may hold at most; 0 is no limit. `link` counts per unit of width.
struct Limits {
    std::int32_t send = 0, receive = 0, link = 0, channels = 0;
    bool exchange = false;  // a node that sends and receives in one phase does so with one partner
    // Slots of a phase: `link` holds in each of them, ports are shared by all. Only for first fit, with no more limits.
    std::int32_t planes = 1;
};

// Routes whose links or nodes count are walked once.
class Resources {
public:
    // `width[link]` for every link slot, or a single entry for all of them.
    Resources(const Routes& routes, View<const std::int32_t> width, const Limits& limits)
        : walked_(limits.link > 0 || limits.channels > 0 ? WalkedRoutes(routes) : WalkedRoutes()),
          routes_(walked_.of(routes)),
          width_(width),
          limits_(limits),
          nodes_(routes.network.nodes()) {}
    Resources(const Resources&) = delete;
    Resources& operator=(const Resources&) = delete;

    std::int32_t count() const { return 3 * nodes_ + routes_.network.link_slots(); }
    const Routes& routes() const { return routes_; }
    const Limits& limits() const { return limits_; }

    // Whether `holds(resource)` for all that transfer k takes of what is limited.
    template <class Holds>
    bool all(std::integral auto k, Holds&& holds) const {
        if (!routes_.leaves(k)) return true;
        if (limits_.send > 0 && !holds(routes_.source[k])) return false;
        if (limits_.receive > 0 && !holds(nodes_ + routes_.target[k])) return false;
        bool all = true;
        if (limits_.channels > 0)
            routes_.each_node(k, [&](std::int32_t node) { all = all && holds(2 * nodes_ + node); });
        if (limits_.link == 0) return all;
        return all && routes_.all_links(k, [&](std::int32_t link) { return holds(3 * nodes_ + link); });
    }

    template <class Visit>  // visit(resource)
    void each(std::integral auto k, Visit&& visit) const {
        all(k, [&](std::int32_t resource) {
            visit(resource);
            return true;
        });
    }

    // How many transfers of a phase may take it.
    std::int32_t capacity(std::int32_t resource) const {
        if (resource < nodes_) return limits_.send;
        if (resource < 2 * nodes_) return limits_.receive;
        if (resource < 3 * nodes_) return limits_.channels;
        const std::int64_t width = width_.size() == 1 ? width_[0] : width_[resource - 3 * nodes_];
        constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
        return static_cast<std::int32_t>(std::min(most, limits_.link * width));
    }

    // Whether all slots of a phase share it.
    bool is_port(std::int32_t resource) const { return resource < 2 * nodes_; }

    // How many transfers take each resource in all.
    Array<std::int32_t> loads() const {
        Array<std::int32_t> load(static_cast<std::size_t>(count()), 0);
        for (std::size_t k = 0; k < routes_.size(); ++k) each(k, [&](std::int32_t resource) { ++load[resource]; });
        return load;
    }

    // No fewer phases than the busiest resource needs.
    std::int32_t least_phases() const {
        const Array<std::int32_t> load = loads();
        std::int32_t least = routes_.size() > 0 ? 1 : 0;
        for (std::int32_t resource = 0; resource < count(); ++resource)
            if (load[resource] > 0)
                least = std::max(least, static_cast<std::int32_t>((load[resource] - 1) / in_phase(resource)) + 1);
        return least;
    }

private:
    std::int64_t in_phase(std::int32_t resource) const {
        return std::int64_t{capacity(resource)} * (is_port(resource) ? 1 : limits_.planes);
    }

    WalkedRoutes walked_;
    Routes routes_;  // may look into `walked_`
    View<const std::int32_t> width_;
    Limits limits_;
    std::int32_t nodes_;
};

}  // namespace conset
