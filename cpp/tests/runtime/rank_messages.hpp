// Messages of ranks for the tests of scheduling without Python, and what their phases must keep.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "conset/random.hpp"
#include "conset/runtime/outcome.hpp"
#include "conset/runtime/schedule.hpp"
#include "instances.hpp"

namespace conset::testing_ {

// Every rank sends to `degree` others.
inline RankMessages draw_messages(std::int32_t ranks, std::int32_t degree, std::uint64_t seed) {
    Random random(seed);
    RankMessages messages{ranks, {}, {}, {}};
    for (std::int32_t source = 0; source < ranks; ++source) {
        std::set<std::int32_t> targets;
        while (targets.size() < as_size(degree)) {
            const auto target = static_cast<std::int32_t>(random.below(ranks));
            if (target != source) targets.insert(target);
        }
        for (const std::int32_t target : targets) {
            messages.source.push_back(source);
            messages.target.push_back(target);
            messages.bytes.push_back(1024);
        }
    }
    return messages;
}

inline Array<std::int32_t> phases_of(const RankSchedule& schedule, std::size_t messages) {
    Array<std::int32_t> phase(messages, -1);
    for (std::size_t p = 0; p + 1 < schedule.phase_offsets.size(); ++p)
        for (std::int64_t k = schedule.phase_offsets[p]; k < schedule.phase_offsets[p + 1]; ++k)
            phase[schedule.message[k]] = static_cast<std::int32_t>(p);
    return phase;
}

// Every message stands in one phase, and phases keep what the schedule says of them.
inline void expect_kept(const MachineData& machine, const RankMessages& messages, const RankSchedule& schedule) {
    ASSERT_EQ(schedule.message.size(), messages.size());
    const Array<std::int32_t> phase = phases_of(schedule, messages.size());
    EXPECT_TRUE(std::none_of(phase.begin(), phase.end(), [](std::int32_t p) { return p < 0; })) << schedule.method;
    Array<std::int32_t> source, target;
    for (const std::int32_t rank : messages.source) source.push_back(machine.node_of(rank));
    for (const std::int32_t rank : messages.target) target.push_back(machine.node_of(rank));
    const Resources resources{{machine.network, source, target, {}, {}}, machine.width, schedule.limits};
    expect_within_limits(resources, phase);
    if (schedule.limits.exchange) expect_exchanges({messages.source, messages.target}, phase);
}

}  // namespace conset::testing_
