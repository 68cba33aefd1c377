// Exchanges in stages on the buffers of an application: every way delivers what rows say, whatever the sizes and gaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "conset/runtime/exchange.hpp"
#include "conset/runtime/own_plan.hpp"
#include "conset/runtime/schedule.hpp"
#include "runtime/random_rows.hpp"
#include "runtime/toy_calls.hpp"

namespace conset {
namespace {

using toy_ranks::in_ranks;
using toy_ranks::Mpi;

constexpr TypeShape kNumber{sizeof(double), sizeof(double), true};

RankRows rows_of(int rank, int ranks, const RandomRows::Rank& one) {
    return check_blocks(rank, ranks, one.sends, kNumber, one.receives, kNumber, true);
}

RankMessages all_messages(const RandomRows& rows) {
    const auto ranks = static_cast<std::int32_t>(rows.ranks.size());
    RankMessages messages{ranks, {}, {}, {}};
    for (std::int32_t rank = 0; rank < ranks; ++rank)
        for (const Row::Entry& entry : rows_of(rank, ranks, rows.at(rank)).in_order) {
            messages.source.push_back(rank);
            messages.target.push_back(entry.peer);
            messages.bytes.push_back(entry.bytes);
        }
    return messages;
}

// Every stage in one phase, its bundles as they are numbered.
RankSchedule posted(const RankMessages& messages, const StageWay& way, SyncKind sync, View<const std::int32_t> node) {
    RankSchedule schedule;
    schedule.sync = sync;
    schedule.stages =
        bundles_along(positions_along(way, messages.ranks, messages.source, messages.target, messages.bytes, node),
                      messages.ranks, messages.bytes);
    schedule.phase_offsets.push_back(0);
    for (std::int32_t stage = 0; stage < schedule.stages.stages; ++stage) {
        for (std::size_t b = 0; b < schedule.stages.size(); ++b)
            if (schedule.stages.stage[b] == stage) schedule.message.push_back(static_cast<std::int32_t>(b));
        schedule.phase_offsets.push_back(static_cast<std::int64_t>(schedule.message.size()));
    }
    return schedule;
}

RankPlan plan_of(int rank, const RandomRows& rows, const RankPart& part, const ScheduleSummary& summary) {
    const RandomRows::Rank& one = rows.at(rank);
    const RankRows checked = rows_of(rank, static_cast<int>(rows.ranks.size()), one);
    return make_own_plan(rank, part, summary, {one.sends, checked.sends, checked.own_send, kNumber},
                         {one.receives, checked.receives, checked.own_receive, kNumber}, false);
}

void deliver(int ranks, const char* machine, std::uint64_t seed, int ranks_per_node = 1) {
    RandomRows rows(ranks, seed);
    const RankMessages messages = all_messages(rows);
    const MachineData data = machine_in_words(machine, ranks, ranks_per_node);
    std::size_t number = 0;
    for (const StageWay& way : stage_ways(data, ranks)) {
        const SyncKind sync = number++ % 2 == 0 ? SyncKind::none : SyncKind::local;
        const RankSchedule schedule = posted(messages, way, sync, data.placement);
        const RankParts parts(messages, schedule);
        const ScheduleSummary summary{schedule.stages.stages, sync, 1, 0, "naive", 0, {}};
        std::int64_t most = 0;
        Mpi mpi(ranks);
        std::vector<std::int64_t> work(static_cast<std::size_t>(ranks));
        in_ranks(ranks, [&](int rank) {
            // as it is given by the rank that computes
            const Array<std::byte> told = encode_part(parts.of(rank));
            const RankPlan plan =
                plan_of(rank, rows, decode_part(View<const std::byte>(told.data(), told.size())), summary);
            work[static_cast<std::size_t>(rank)] = plan.work_bytes;
            RandomRows::Rank& one = rows.at(rank);
            const RankBuffers<int> buffers{reinterpret_cast<const std::byte*>(one.send.data()),
                                           reinterpret_cast<std::byte*>(one.receive.data())};
            Outcome outcome;
            auto exchange =
                Exchange<int>::of_plan(toy_ranks::world_of<int>(rank), plan, RankItems{}, buffers, 0, outcome);
            ASSERT_TRUE(exchange) << outcome.detail;
            for (int k = 0; k < 2; ++k) {
                std::fill(one.receive.begin(), one.receive.end(), -1);
                ASSERT_TRUE(exchange->start().fine());
                ASSERT_TRUE(exchange->wait().fine());
                EXPECT_EQ(one.receive, one.expected) << way.word << " on rank " << rank;
            }
            EXPECT_TRUE(exchange->free().fine());
        });
        most = *std::max_element(work.begin(), work.end());
        EXPECT_LE(most, schedule.stages.memory) << way.word;
        EXPECT_EQ(mpi.left(), 0U);
    }
}

TEST(Stages, DeliverWhatRowsSay) {
    deliver(8, "hypercube:3", 1);
    deliver(12, "torus:2x3x2", 2);
    deliver(11, "torus:3x4", 3);
    deliver(7, "", 4);
    deliver(12, "torus:2x3", 5, 2);
    deliver(11, "crossbar:4", 6, 3);
}

// 12 ranks send 8 B to each other; what counts is how many messages a processor handles.
RankSchedule chosen(const ScheduleOptions& options, std::int64_t bytes) {
    MachineData machine = machine_in_words("torus:2x3x2", 12);
    machine.costs.send_overhead = machine.costs.receive_overhead = CostSteps{{kUnlimited}, {2e-6}};
    RankMessages messages{12, {}, {}, {}};
    for (std::int32_t source = 0; source < 12; ++source)
        for (std::int32_t target = 0; target < 12; ++target)
            if (source != target) {
                messages.source.push_back(source);
                messages.target.push_back(target);
                messages.bytes.push_back(bytes);
            }
    return schedule_messages(machine, messages, options);
}

TEST(Stages, AreChosenWhereTheyGainAndFit) {
    ScheduleOptions options;
    const RankSchedule direct = chosen(options, 8);
    EXPECT_EQ(direct.choice.combine, "none");
    options.combine = true;
    const RankSchedule staged = chosen(options, 8);
    EXPECT_NE(staged.choice.combine, "none");
    EXPECT_LE(staged.predicted_s, 0.95 * direct.predicted_s);
    EXPECT_EQ(staged.choice.memory, staged.stages.memory);
    EXPECT_GT(staged.stages.stages, 1);
    options.memory = 0;
    const RankSchedule limited = chosen(options, 8);
    EXPECT_EQ(limited.choice.combine, "none");
    EXPECT_GT(limited.choice.left_out, 0);
    EXPECT_EQ(limited.message, direct.message);
    options.memory = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(chosen(options, 1 << 20).choice.combine, "none");
    options.method = "lp";
    EXPECT_EQ(chosen(options, 8).choice.combine, "none");
    options.method = "auto";
    options.effort = 0;
    EXPECT_EQ(chosen(options, 8).choice.combine, "none");
}

TEST(Stages, FactorisationsAreInOrder) {
    EXPECT_EQ(factorisations(12), (std::vector<BoxSides>{{3, 4}, {2, 2, 3}, {2, 6}}));
    const Array<std::int64_t> network{4, 3};
    EXPECT_EQ(factorisations(12, network), (std::vector<BoxSides>{{3, 4}, {2, 2, 3}}));
    EXPECT_TRUE(factorisations(7).empty());
    EXPECT_EQ(balanced_sides(11, 2), (BoxSides{3, 4}));
    EXPECT_EQ(fitted_order({2, 6}, Array<std::int64_t>{6, 2}), (Array<std::int32_t>{1, 0}));
    EXPECT_TRUE(fitted_order({4, 3}, Array<std::int64_t>{2, 6}).empty());
}

}  // namespace
}  // namespace conset
