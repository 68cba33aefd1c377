// A schedule under changes: limits are kept, what did not change stays, the same updates give the same phases.
#include "conset/runtime/kept_schedule.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "conset/scheduling/occupancy.hpp"
#include "runtime/rank_messages.hpp"

namespace conset {
namespace {

using testing_::draw_messages;
using testing_::expect_kept;
using testing_::phases_of;

KeptSchedule keep(const MachineData& machine, const RankMessages& messages, const ScheduleOptions& options) {
    return {machine, messages, schedule_messages(machine, messages, options), options};
}

bool sends_to(const RankMessages& messages, std::int32_t source, std::int32_t target) {
    for (std::size_t m = 0; m < messages.size(); ++m)
        if (messages.source[m] == source && messages.target[m] == target) return true;
    return false;
}

// So many messages go to ranks to which their senders sent nothing.
RankMessages moved(RankMessages messages, std::int32_t count, Random& random) {
    for (std::int32_t k = 0; k < count; ++k) {
        const auto m = as_size(random.below(static_cast<std::int64_t>(messages.size())));
        std::int32_t target = messages.source[m];
        while (target == messages.source[m] || sends_to(messages, messages.source[m], target))
            target = static_cast<std::int32_t>(random.below(messages.ranks));
        messages.target[m] = target;
    }
    return messages;
}

TEST(Occupancy, GivesBackWhatWasTaken) {
    for (const std::int32_t capacity : {1, 2, 3, 5}) {
        Occupancy occupancy;
        const Array<std::int32_t> rows{occupancy.add_row(capacity)};
        for (std::int32_t phase = 0; phase < 400; ++phase)
            for (std::int32_t k = 0; k < capacity; ++k) occupancy.take(rows[0], phase);
        EXPECT_EQ(occupancy.find(rows, 0), 400);
        for (const std::int32_t phase : {399, 70, 3}) {
            occupancy.release(rows[0], phase);
            EXPECT_EQ(occupancy.find(rows, 0), phase);
        }
        occupancy.take(rows[0], 3);
        EXPECT_EQ(occupancy.find(rows, 0), 70);
        // a row that comes late, of a greater capacity than those before
        const Array<std::int32_t> both{rows[0], occupancy.add_row(9)};
        for (std::int32_t k = 0; k < 9; ++k) occupancy.take(both[1], 70);
        EXPECT_EQ(occupancy.find(both, 0), 399);
        occupancy.release(both[1], 70);
        EXPECT_EQ(occupancy.find(both, 0), 70);
        for (std::int32_t k = 0; k < capacity - 1; ++k) occupancy.release(rows[0], 3);
        EXPECT_EQ(occupancy.find(rows, 0), capacity > 1 ? 3 : 70);
    }
}

TEST(KeptSchedule, KeepsLimitsAndPhases) {
    const std::pair<const char*, std::int32_t> specs[] = {
        {"torus:4x4", 1}, {"crossbar:16", 1}, {"hypercube:4", 1}, {"torus:2x4", 2}, {"crossbar:4", 4}};
    for (const auto& [spec, ranks_per_node] : specs) {
        const MachineData machine = machine_in_words(spec, 16, ranks_per_node);
        for (const char* method : {"first-fit", "rs-n", "rs-nl", "coloring", "naive"}) {
            KeptSchedule kept = keep(machine, draw_messages(16, 6, 1), {method, "barrier", 0});
            Random random(2);
            for (int step = 0; step < 40; ++step) {
                const RankMessages old = kept.messages();
                const Array<std::int32_t> before = phases_of(kept.schedule(), old.size());
                const KeptUpdate update = kept.update(moved(old, 3, random));
                EXPECT_EQ(update.removed, update.added);
                expect_kept(machine, kept.messages(), kept.schedule());
                if (update.full) continue;
                const Array<std::int32_t> now = phases_of(kept.schedule(), old.size());
                // an empty phase moves those behind it down: messages that stay keep their order
                for (std::size_t m = 1; m < old.size(); ++m) {
                    if (old.target[m] != kept.messages().target[m]) continue;
                    if (old.target[m - 1] != kept.messages().target[m - 1]) continue;
                    EXPECT_EQ(before[m] < before[m - 1], now[m] < now[m - 1]);
                    EXPECT_EQ(before[m] > before[m - 1], now[m] > now[m - 1]);
                }
            }
        }
    }
}

TEST(KeptSchedule, ExchangesStayExchanges) {
    MachineData machine = machine_in_words("mesh:4x4", 16);
    machine.limits = {1, 1, 0, 0, true};
    KeptSchedule kept = keep(machine, draw_messages(16, 5, 1), {"first-fit", "barrier", 0});
    Random random(5);
    int incremental = 0;
    for (int step = 0; step < 40; ++step) {
        incremental += kept.update(moved(kept.messages(), 2, random)).full ? 0 : 1;
        expect_kept(machine, kept.messages(), kept.schedule());
    }
    EXPECT_GT(incremental, 10);
}

TEST(KeptSchedule, ChangesAreThoseOfAComparison) {
    const MachineData machine = machine_in_words("torus:4x4", 16);
    const RankMessages first = draw_messages(16, 6, 1);
    KeptSchedule told = keep(machine, first, {"first-fit", "none", 0}), compared = told;
    const Array<std::int32_t> removed{5, 40}, resized{0, 41};
    const Array<std::int64_t> bytes{7, 8};
    const RankMessages added{16, {0, 15}, {8, 7}, {9, 9}};
    const KeptUpdate update = told.update({removed, added, resized, bytes});
    EXPECT_EQ(update.removed, 2U);
    EXPECT_EQ(told.messages().bytes[0], 7);
    EXPECT_EQ(told.messages().source[5], 0);  // behind the five others of rank 0
    EXPECT_EQ(told.messages().bytes.back(), 9);
    EXPECT_EQ(compared.update(told.messages()).full, update.full);
    EXPECT_EQ(told.schedule().message, compared.schedule().message);
    EXPECT_EQ(told.schedule().phase_offsets, compared.schedule().phase_offsets);
}

TEST(KeptSchedule, FromNothingAndBack) {
    const MachineData machine = machine_in_words("crossbar:4", 4);
    KeptSchedule kept = keep(machine, {4, {}, {}, {}}, {"first-fit", "auto", 0});
    EXPECT_EQ(kept.schedule().phase_offsets.size(), 1U);
    kept.update(RankMessages{4, {0, 0}, {1, 2}, {1, 1}});
    EXPECT_EQ(kept.schedule().phase_offsets.size(), 3U);
    kept.update(RankMessages{4, {}, {}, {}});
    EXPECT_EQ(kept.schedule().phase_offsets.size(), 1U);
}

}  // namespace
}  // namespace conset
