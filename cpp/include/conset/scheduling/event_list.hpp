// Event list: transfers start greedily, one by one, whenever all they hold is free.
//
// The method is described in conset/methods/event_list.py.
// Complexity: time O(restarts * messages * degree * (hops + log degree)), memory O(messages + sum of hops).
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/scheduling/time_lines.hpp"

namespace conset {

// The shortest timetable found for each phase. Transfers phase_offsets[p] ... of phase p last duration[k]; where pairs
// (first[k], second[k]) of transfers of one phase are given the second starts when the first has ended. The first run
// takes the most unfinished work first, `restarts` more multiply it by a factor of each transfer: those of the best
// run, some of them drawn anew as 1 + noise * u, u uniform in [0, 1). A wish to stop ends the restarts, half way
// through one if need be; in the first run it throws Interrupted.
Timetable time_event_list(const TimeLines& lines, View<const std::int64_t> phase_offsets, View<const double> duration,
                          View<const std::int32_t> first, View<const std::int32_t> second, std::int32_t restarts,
                          double noise, std::uint64_t seed);

// The timetable in which every line takes its transfers in the given order, each as soon as it is free. Times count
// from the start of the batch order[batch_offsets[b]] ... Pairs as above, across batches without effect.
Timetable time_in_order(const TimeLines& lines, View<const std::int32_t> order, View<const std::int64_t> batch_offsets,
                        View<const double> duration, View<const std::int32_t> first, View<const std::int32_t> second);

}  // namespace conset
