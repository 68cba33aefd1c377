// Phases: messages grouped by the phase a method gave them, and the orders in which ranks post them.
#pragma once

#include <cstdint>
#include <string_view>

#include "conset/array.hpp"

namespace conset {

struct Phases {
    Array<std::int64_t> offsets;         // phase p holds message[offsets[p]] ... message[offsets[p + 1] - 1]
    Array<std::int32_t> message;         // rising inside a phase
    Array<double> start = {}, end = {};  // by place in `message`: a timetable [s], from the start of the phase; or none

    std::int32_t count() const { return static_cast<std::int32_t>(offsets.size()) - 1; }
};

// `phase[message]`, from 0, in any numbering: empty phases vanish. Time and memory O(messages + largest phase).
Phases group_phases(View<const std::int32_t> phase);

// The phase of every message, the inverse of `group_phases`.
Array<std::int32_t> phase_of_messages(const Phases& phases);

// Message m goes from rank source[m] to target[m], `size` by message or one for all. Of a grid (a hypercube has sides
// of 2) also its sides and the nodes of both ends, numbered along the last side first.
struct Posted {
    std::int32_t ranks;
    View<const std::int32_t> source, target;
    View<const std::int64_t> size;
    View<const std::int32_t> sides = {}, source_node = {}, target_node = {};
};

// Messages by source, and those of each rank in the order in which it posts them, equal ones by index: `ascending`,
// `rotated`, `random`, `longest-first`, `pairwise`, `dimension` (of a grid) as `order_messages` of
// conset/schedule/policy.py defines them; any other word, as `schedule`: by index. Time O(messages * log(messages)).
Array<std::int32_t> order_messages(const Posted& messages, std::string_view order, std::uint64_t seed);

}  // namespace conset
