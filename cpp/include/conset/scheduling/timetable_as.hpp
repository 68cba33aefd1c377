// AS: the ConSet text's scheduler, a greedy filling of a global timetable.
//
// The method is described in conset/methods/timetable_as.py.
// Complexity: time O(messages * (degree * hops + log messages)), memory O(messages + sum of hops).
#pragma once

#include <cstdint>
#include <span>

#include "conset/scheduling/time_lines.hpp"

namespace conset {

// The timetable of each phase. The processor with the most work left schedules its longest transfer, in either
// direction, into the first gap of all lines it holds; ties at random. A transfer is scheduled after those before it,
// pairs (first[k], second[k]) of transfers of one phase.
Timetable time_as(const TimeLines& lines, std::span<const std::int32_t> source, std::span<const std::int32_t> target,
                  std::span<const std::int64_t> phase_offsets, std::span<const double> duration,
                  std::span<const std::int32_t> first, std::span<const std::int32_t> second, std::uint64_t seed);

}  // namespace conset
