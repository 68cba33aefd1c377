// Routes: the path of every transfer, walked from the network's formula or read from stored links.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/network/network.hpp"
#include "conset/rows.hpp"

namespace conset {

// Transfer k goes from node source[k] to node target[k]. Where `offsets` is not empty its links are
// links[offsets[k] ... offsets[k + 1]], chosen by a compiler; else the network's own route is walked.
struct Routes {
    const Network& network;
    View<const std::int32_t> source, target;
    View<const std::int64_t> offsets;
    View<const std::int32_t> links;

    std::size_t size() const { return source.size(); }

    // Whether transfer k uses the network at all: messages inside a node use no port, link or channel.
    bool leaves(std::integral auto k) const { return source[k] != target[k]; }

    // Whether `holds(link)` for every link of transfer k; none is looked at after one for which it does not.
    template <class Holds>
    bool all_links(std::integral auto k, Holds&& holds) const {
        bool all = true;
        if (offsets.empty())
            network.walk(source[k], target[k], [&](std::int32_t link, std::int32_t) { all = all && holds(link); });
        else
            for (std::int64_t i = offsets[k]; all && i < offsets[k + 1]; ++i) all = holds(links[i]);
        return all;
    }

    template <class Visit>  // visit(link)
    void each_link(std::integral auto k, Visit&& visit) const {
        all_links(k, [&](std::int32_t link) {
            visit(link);
            return true;
        });
    }

    // The links of transfer k, which are walked into `walked` unless they are stored.
    View<const std::int32_t> way(std::size_t k, Array<std::int32_t>& walked) const {
        if (!offsets.empty()) return links.subspan(as_size(offsets[k]), as_size(offsets[k + 1] - offsets[k]));
        walked.clear();
        each_link(k, [&](std::int32_t link) { walked.push_back(link); });
        return walked;
    }

    template <class Visit>  // visit(node), both ends included; nothing for a transfer inside a node
    void each_node(std::integral auto k, Visit&& visit) const {
        if (!leaves(k)) return;
        visit(source[k]);
        if (!network.has_links()) {
            visit(target[k]);
        } else if (offsets.empty()) {
            network.walk(source[k], target[k], [&](std::int32_t, std::int32_t node) { visit(node); });
        } else {
            for (std::int64_t i = offsets[k]; i < offsets[k + 1]; ++i) visit(network.link_target(links[i]));
        }
    }
};

// Routes that are walked once for all who ask; not where messages spread over several, or for more links than are kept.
class WalkedRoutes {
public:
    WalkedRoutes() = default;
    explicit WalkedRoutes(const Routes& routes) {
        if (!routes.offsets.empty() || !routes.network.has_links() || routes.network.spreads()) return;
        ways_.offsets.push_back(0);
        for (std::size_t k = 0; k < routes.size(); ++k) {
            routes.each_link(k, [&](std::int32_t link) { ways_.items.push_back(link); });
            ways_.offsets.push_back(static_cast<std::int64_t>(ways_.items.size()));
            if (ways_.items.size() <= kMost) continue;
            ways_ = {};
            return;
        }
    }

    // The same routes as were walked.
    Routes of(const Routes& routes) const {
        if (ways_.empty()) return routes;
        return {routes.network, routes.source, routes.target, ways_.offsets, ways_.items};
    }

private:
    static constexpr std::size_t kMost = std::size_t{1} << 21U;  // links: 8 MiB

    Rows ways_;
};

}  // namespace conset
