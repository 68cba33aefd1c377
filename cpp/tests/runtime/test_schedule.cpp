// Scheduling without Python: limits are kept, choices repeat; that phases are those of Python stands in
// tests/unit/test_runtime_schedule.py.
#include "conset/runtime/schedule.hpp"

#include <gtest/gtest.h>

#include "instances.hpp"
#include "runtime/rank_messages.hpp"

namespace conset {
namespace {

using testing_::draw_messages;
using testing_::expect_kept;

TEST(ScheduleMessages, KeepsTheLimitsOfEveryMethod) {
    for (const char* spec : {"torus:4x4", "hypercube:4", "crossbar:16"}) {
        const MachineData machine = machine_in_words(spec, 16);
        const RankMessages messages = draw_messages(16, 6, 1);
        for (const char* method : {"naive", "lp", "rs-n", "rs-nl", "coloring", "first-fit", "negotiated", "event-list"})
            expect_kept(machine, messages, schedule_messages(machine, messages, {method, "barrier", 3}));
    }
}

TEST(ScheduleMessages, ChoosesTheSameAgain) {
    MachineData machine = machine_in_words("torus:4x4", 16);
    machine.costs.model = CostModel::wormhole;
    machine.costs.send_overhead.seconds = {5e-6};
    machine.costs.in_flight = 2;
    const RankMessages messages = draw_messages(16, 6, 2);
    const RankSchedule one = schedule_messages(machine, messages, {}), two = schedule_messages(machine, messages, {});
    expect_kept(machine, messages, one);
    EXPECT_EQ(one.message, two.message);
    EXPECT_EQ(one.phase_offsets, two.phase_offsets);
    EXPECT_EQ(one.method, two.method);
    EXPECT_GT(one.predicted_s, 0);
    EXPECT_GE(one.in_flight, 1);
    EXPECT_LE(one.in_flight, 2);
}

TEST(ScheduleMessages, RefusesLimitsThatAMethodCannotKeep) {
    MachineData machine = machine_in_words("torus:4x4", 16);
    machine.limits.link = 1;
    const RankMessages messages = draw_messages(16, 6, 2);
    for (const char* method : {"naive", "lp", "rs-n", "coloring", "event-list"}) {
        try {
            schedule_messages(machine, messages, {method, "auto", 0});
            ADD_FAILURE() << method;
        } catch (const Failure& failure) {
            EXPECT_EQ(failure.code, Code::schedule);
        }
    }
    machine.limits_methods = {"first-fit"};
    EXPECT_EQ(schedule_messages(machine, messages, {"naive", "none", 0}).phase_offsets.size(), 2U);
    EXPECT_EQ(schedule_messages(machine, messages, {"first-fit", "auto", 0}).sync, SyncKind::barrier);
}

}  // namespace
}  // namespace conset
