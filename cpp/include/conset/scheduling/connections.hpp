// Connections: what routes are chosen for, the links they are chosen from, and how far it is to every target.
#pragma once

#include <cstdint>
#include <limits>

#include "conset/array.hpp"

namespace conset {

// Links of a network for the choice of routes; a link from a node to itself is none.
struct Wiring {
    std::int32_t nodes;
    View<const std::int32_t> source, target;
};

// Connection i leads from node source[i] to node target[i]; second[k] is at least `apart` phases later than first[k]:
// 1, or 0 where a phase keeps their order inside.
struct Connections {
    View<const std::int32_t> source, target;
    View<const std::int32_t> first, second;
    std::int32_t apart = 1;
};

// Nodes of every route, ends included, and the link by which each is entered, -1 at the first.
struct RoutePaths {
    Array<std::int64_t> offsets{0};
    Array<std::int32_t> nodes, entered;

    void stop(std::int32_t node, std::int32_t link) {
        nodes.push_back(node);
        entered.push_back(link);
    }
};

// Links by the node they leave, in compressed rows. O(nodes + links).
struct OutLinks {
    OutLinks() = default;
    explicit OutLinks(const Wiring& wiring);

    Array<std::int32_t> offsets, link;
};

// Hops from every node to each of some targets, breadth first against the links. Time O(targets * (nodes + links)),
// memory O(targets * nodes).
class HopTable {
public:
    static constexpr std::uint16_t kUnreachable = std::numeric_limits<std::uint16_t>::max();

    HopTable() = default;
    HopTable(const Wiring& wiring, View<const std::int32_t> targets);

    // By node; `target` is one of the targets.
    const std::uint16_t* to(std::int32_t target) const { return hops_.data() + cell(row_[target], row_.size(), 0); }

private:
    Array<std::int32_t> row_;  // by node; -1: no target
    Array<std::uint16_t> hops_;
};

}  // namespace conset
