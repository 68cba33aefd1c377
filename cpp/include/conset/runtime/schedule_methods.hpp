// Methods without Python: what conset/methods/ makes of the core's algorithms, for messages without an order between
// them. Tests hold the phases of each against those of `conset.compile`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conset/array.hpp"
#include "conset/runtime/machine_data.hpp"
#include "conset/runtime/schedule.hpp"
#include "conset/scheduling/phases.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset {

// What `schedule_messages` takes as a method, `auto` last.
std::vector<std::string> method_names();

// The limits that a method keeps on a machine: its own, as strict as the machine's hard ones; `link` above 0 is a limit
// of links in place of the method's own. Throws Failure: Code::argument (an unknown method), Code::schedule (it cannot
// keep them, or does not apply on this network).
Limits method_limits(std::string_view method, const MachineData& machine, std::int32_t link = 0);

// Whether partners are functions of rank and phase alone: for dense patterns, one message from a rank to another one.
bool is_by_rank(std::string_view method);

// Phases by one method, messages in the order of posting. `limits` are those of `method_limits`. How long to search is
// counted in sweeps (`effort`, as SearchOptions.effort in Python; 0: not at all, where a construction does). Throws
// Failure.
Phases phases_by(std::string_view method, const MachineData& machine, const RankMessages& messages,
                 const Limits& limits, std::uint64_t seed, std::int64_t effort = 1);

// The orders in which ranks may post what `naive` sends, as `order_messages` of conset/schedule/policy.py names them.
// Throws Failure (Code::argument): `dimension` where the network is no grid.
Array<std::int32_t> posting_order(std::string_view order, const MachineData& machine, const RankMessages& messages,
                                  std::uint64_t seed);

// The nodes of both ends of messages.
struct NodeEnds {
    Array<std::int32_t> source_node, target_node;
    NodeEnds(const MachineData& machine, const RankMessages& messages);
};

// Transfers with what they take of limits, over the machine's routes between the nodes that it keeps.
struct PlacedResources : private NodeEnds, Resources {
    PlacedResources(const MachineData& machine, const RankMessages& messages, const Limits& limits)
        : NodeEnds(machine, messages),
          Resources({machine.network, source_node, target_node, {}, {}}, machine.width, limits) {}
    PlacedResources(const PlacedResources&) = delete;
    PlacedResources& operator=(const PlacedResources&) = delete;
};

// What each message takes alone with its ports and links, as methods of unequal sizes weigh it [s]; `ready`: its signal
// included, else its request and grant.
Array<double> transfer_times(const MachineData& machine, const MachineCosts& costs, const Routes& routes,
                             View<const std::int64_t> bytes, bool ready = false);

// The methods with searches of their own (schedule_searches.cpp).
Array<std::int32_t> schedule_decreasing(const MachineData& machine, const RankMessages& messages,
                                        const Resources& resources, std::uint64_t seed, std::int64_t effort);
// The same for every message of `phase`, or fewer phases.
Array<std::int32_t> schedule_negotiated(const MachineData& machine, const Resources& resources,
                                        Array<std::int32_t> phase, std::uint64_t seed, std::int64_t effort);
// One phase with a timetable, in the order of posting.
Phases schedule_event_list(const MachineData& machine, const RankMessages& messages, std::uint64_t seed,
                           std::int64_t effort);

// The sizes, or none where all are equal, as `order_longest_first` takes them.
View<const std::int64_t> unequal_sizes(const RankMessages& messages);

}  // namespace conset
