// Boxes of ranks through which messages travel one dimension a stage, rings whose digits they take one after the other,
// and ways by the nodes of ranks (conset/methods/paths/multiphase.py): which there are, and where every message is
// before each stage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conset/array.hpp"

namespace conset {

using BoxSides = Array<std::int64_t>;

// All ways to write a number as a product of two or more factors above 1, the least sum first; factors rise. With sides
// of a network only those that split its sides, or take several in a row whole.
std::vector<BoxSides> factorisations(std::int64_t number, View<const std::int64_t> network = {});

// Rising sides as equal as possible whose product is at least `ranks`, as small as that allows.
BoxSides balanced_sides(std::int64_t ranks, std::int64_t stages);

// The order in which sides fill radices, the fastest first: divisors of one, or several whole ones. Empty: they do not.
Array<std::int32_t> fitted_order(const BoxSides& sides, View<const std::int64_t> radices);

// Paths of all messages: through a box whose cells follow the network's routes (`along`, the last coordinate corrected
// first), the numbers of ranks or which ranks communicate (`traffic`), around a ring, or by way of ranks that carry for
// their nodes.
struct StageWay {
    enum class Kind : std::uint8_t { along, numbers, traffic, ring, nodes };
    Kind kind;
    std::string word;  // as `--combine` takes it
    BoxSides sides;    // of the box, its cells numbered row by row, or the radices of the digits; nodes: 1 a stage
    Array<std::int32_t> order;  // the dimension that each stage of a box corrects
};

// The network as boxes see it: its sides, with the ranks of a node as the last one, and whether its routes follow them.
struct BoxNetwork {
    std::int64_t places = 0;  // for ranks
    Array<std::int64_t> sides{};
    bool follows = false;
    std::int64_t fill = 2;  // boxes along it have at most so many times as many cells as ranks; 1: ranks fill all boxes
    std::int32_t crowd = 1;   // ranks of a node
    bool by_traffic = false;  // whether boxes over numbers of ranks are tried over traffic, too
};

// Above this share of all pairs of ranks the order of a box by traffic hardly matters.
inline constexpr double kSparse = 0.5;

// The number of each rank among those of its node, and the most ranks of a node; of no nodes none, and 1.
struct RanksOnNodes {
    Array<std::int32_t> local;
    std::int32_t crowd = 1;
};
RanksOnNodes ranks_on_nodes(View<const std::int32_t> node);

// Ranks in an order in which those that communicate are near each other: reverse Cuthill-McKee, breadth first from a
// rank at the rim, those with few partners first. O(messages * log(messages)).
Array<std::int32_t> ranks_by_traffic(std::int32_t ranks, View<const std::int32_t> source,
                                     View<const std::int32_t> target);

// In which order a box laid along the network's routes corrects its dimensions; empty: it does not fit them.
Array<std::int32_t> order_along(const BoxSides& sides, const BoxNetwork& network);

// As in a word: `4x8`.
std::string written(const BoxSides& sides);

// By nodes where they have several ranks, then boxes along the network's routes and over rank numbers, rings where
// ranks do not factor: first the best of every number of stages, then the second best.
std::vector<StageWay> stage_ways(std::int64_t ranks, const BoxNetwork& network);

// The rank that holds each message before stage j, and after the last: by stage, then message.
using Positions = Array<Array<std::int32_t>>;

// A message whose next
// cell has no rank stays, and the stage after corrects both coordinates. `node` of each rank; empty: rank r is on node
// r.
Positions positions_along(const StageWay& way, std::int32_t ranks, View<const std::int32_t> source,
                          View<const std::int32_t> target, View<const std::int64_t> bytes,
                          View<const std::int32_t> node);

// The same by way of nodes, one message from each to each other one: gathered at a rank of the first, sent to one of
// the second, scattered (3 steps), or sent by every rank itself (2). Who carries is spread: the nodes that a node sends
// to, the most bytes first, are dealt to its ranks forwards and backwards in turns; those that it receives from
// likewise, beginning at the last rank. Messages inside a node go directly in the first stage. O(messages *
// log(messages)).
Positions positions_by_nodes(View<const std::int32_t> source, View<const std::int32_t> target,
                             View<const std::int64_t> bytes, View<const std::int32_t> node, std::int32_t steps);

}  // namespace conset
