// AS: the ConSet text's scheduler, a greedy filling of a global timetable.
//
// The method is described in conset/methods/timetables.py.
// Complexity: time O(messages * (degree * hops + log messages)), memory O(messages + sum of hops).
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/scheduling/time_lines.hpp"

namespace conset {

// The timetable of each phase. The processor with the most work left schedules its longest transfer, in either
// direction, into the first gap of all lines it holds; ties at random. A transfer is scheduled after those before it,
// pairs (first[k], second[k]) of transfers of one phase.
Timetable time_as(const TimeLines& lines, View<const std::int32_t> source, View<const std::int32_t> target,
                  View<const std::int64_t> phase_offsets, View<const double> duration, View<const std::int32_t> first,
                  View<const std::int32_t> second, std::uint64_t seed);

}  // namespace conset
