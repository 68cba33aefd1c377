// Placement: ranks put on nodes so that what is sent travels few hops; two searches over one cost.
//
// cost = sum over messages of weight * distance between their nodes, where a distance is the hops of the machine's
// route plus one, the channels a route takes, and 0 inside a node. The searches are described in
// conset/placement/annealed.py and conset/placement/bisection.py.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/network/network.hpp"

namespace conset {

// Hops + 1 between endpoints; a table where it is small, else the route is walked.
class Distances {
public:
    explicit Distances(const Network& network);

    std::int32_t operator()(std::int32_t u, std::int32_t v) const {
        if (!table_.empty()) return table_[cell(u, endpoints_, v)];
        return measure(u, v);
    }

private:
    static constexpr std::int32_t kLargestTable = 4096;  // endpoints; 64 MiB

    std::int32_t measure(std::int32_t u, std::int32_t v) const {
        return u == v ? 0 : (network_.has_links() ? network_.hops(u, v) : 1) + 1;
    }

    const Network& network_;
    std::int32_t endpoints_;
    Array<std::int32_t> table_;
};

// Who talks to whom, in compressed sparse rows: neighbours of rank r are neighbour[offsets[r] ... offsets[r + 1]].
struct PatternGraph {
    View<const std::int64_t> offsets;
    View<const std::int32_t> neighbour;
    View<const double> weight;

    std::int32_t ranks() const { return static_cast<std::int32_t>(offsets.size()) - 1; }

    template <class Visit>  // visit(neighbour, weight)
    void each(std::int32_t rank, Visit&& visit) const {
        for (std::int64_t k = offsets[rank]; k < offsets[rank + 1]; ++k) visit(neighbour[k], weight[k]);
    }
};

// `out` holds the messages by source, `in` the same by target. `node[r]` holds rank r at the start; the result costs no
// more. `steps` swaps of two places are tried. Time O(steps * degree), memory O(messages + endpoints^2 up to a limit).
Array<std::int32_t> anneal_placement(const Network& network, const PatternGraph& out, const PatternGraph& in,
                                     Array<std::int32_t> node, std::int32_t ranks_per_node, std::int64_t steps,
                                     std::uint64_t seed);

// The network cut in two again and again: `order` lists its endpoints so that part k is
// order[low[k] ... high[k]], cut at middle[k], larger parts first, down to single nodes.
struct NetworkCuts {
    View<const std::int32_t> order, low, middle, high;
};

// `graph` counts both directions of a pair at both its ends. Time O(messages * log(messages) * log(nodes)) per pass,
// memory O(messages).
Array<std::int32_t> bisect_placement(const Network& network, const PatternGraph& graph, const NetworkCuts& cuts,
                                     std::int32_t ranks_per_node, std::uint64_t seed);

}  // namespace conset
