#include "conset/runtime/own_plan.hpp"

#include <algorithm>
#include <array>

#include "conset/runtime/outcome.hpp"

namespace conset {

namespace {

void add_operation(RankOperations& operations, const PlanSide& side, std::int32_t phase, std::int32_t peer,
                   std::int32_t block) {
    const std::int64_t count = side.blocks.count[block];
    operations.phase.push_back(phase);
    operations.peer.push_back(peer);
    operations.offset.push_back(side.blocks.displacement[block] * side.type.extent);
    operations.bytes.push_back(count * side.type.size);
    operations.count.push_back(static_cast<std::int32_t>(count));
}

void add_operations(RankOperations& operations, const PlanSide& side, const PartOperations& part) {
    for (std::size_t k = 0; k < part.size(); ++k) {
        const View<const Row::Entry> of_pair = side.row.with(part.peer[k]);
        if (as_size(part.nth[k]) >= of_pair.size())
            throw Failure(Code::internal, "message " + std::to_string(part.nth[k]) + " with rank " +
                                              std::to_string(part.peer[k]) + " is in no row");
        add_operation(operations, side, part.phase[k], part.peer[k], of_pair[part.nth[k]].block);
    }
}

}  // namespace

std::string format_sync(SyncKind sync, std::int64_t every) {
    constexpr std::array kNames{"none", "local", "ready", "barrier"};
    const std::string name = kNames[static_cast<std::size_t>(sync)];
    return every == 1 ? name : name + ":" + std::to_string(every);
}

RankPlan make_own_plan(std::int32_t rank, const RankPart& part, const ScheduleSummary& summary, const PlanSide& sends,
                       const PlanSide& receives, bool own_by_message) {
    RankPlan plan;
    plan.phases = summary.phases;
    plan.sync = summary.sync;
    plan.every = summary.every;
    plan.in_flight = summary.in_flight;
    const bool copied = sends.type.plain && receives.type.plain && !own_by_message;
    for (std::size_t k = 0; k < std::min(sends.own.size(), receives.own.size()); ++k) {
        const std::int32_t send = sends.own[k], receive = receives.own[k];
        if (copied) {
            plan.own.source.push_back(sends.blocks.displacement[send] * sends.type.extent);
            plan.own.target.push_back(receives.blocks.displacement[receive] * receives.type.extent);
            plan.own.bytes.push_back(sends.blocks.count[send] * sends.type.size);
        } else {
            plan.phases = std::max<std::int64_t>(plan.phases, 1);
            add_operation(plan.sends, sends, 0, rank, send);
            add_operation(plan.receives, receives, 0, rank, receive);
        }
    }
    add_operations(plan.sends, sends, part.sends);
    add_operations(plan.receives, receives, part.receives);
    return plan;
}

}  // namespace conset
