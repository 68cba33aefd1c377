// Routes: the path of every transfer, walked from the network's formula or read from stored links.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/network/network.hpp"

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

    template <class Visit>  // visit(link)
    void each_link(std::integral auto k, Visit&& visit) const {
        if (offsets.empty()) {
            network.walk(source[k], target[k], [&](std::int32_t link, std::int32_t) { visit(link); });
            return;
        }
        for (std::int64_t i = offsets[k]; i < offsets[k + 1]; ++i) visit(links[i]);
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

}  // namespace conset
