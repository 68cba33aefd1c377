#include "conset/runtime/own_plan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

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

// What a rank has for itself.
void add_own(RankPlan& plan, std::int32_t rank, const PlanSide& sends, const PlanSide& receives, bool own_by_message) {
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
}

std::map<std::int32_t, std::int64_t> bytes_by_peer(const RankOperations& operations) {
    std::map<std::int32_t, std::int64_t> sums;
    for (std::size_t k = 0; k < operations.size(); ++k)
        if (operations.bytes[k] > 0) sums[operations.peer[k]] += operations.bytes[k];
    return sums;
}

// One side of a compiled plan, placed in the blocks of the caller.
class Placement {
public:
    Placement(std::int32_t rank, bool sends, const RankOperations& compiled, const PlanSide& side)
        : compiled_(compiled),
          side_(side),
          who_("rank " + std::to_string(rank)),
          verb_(sends ? "sends" : "expects"),
          preposition_(sends ? " to rank " : " from rank ") {}

    void add_to(RankOperations& operations) {
        check_sizes();
        find_blocks();
        for (std::size_t k = 0; k < compiled_.size(); ++k) {
            if (compiled_.bytes[k] == 0) continue;
            if (follows(operations, k))
                operations.bytes.back() += compiled_.bytes[k];
            else {
                operations.phase.push_back(compiled_.phase[k]);
                operations.peer.push_back(compiled_.peer[k]);
                operations.offset.push_back(offset_[k]);
                operations.bytes.push_back(compiled_.bytes[k]);
                operations.count.push_back(0);
            }
            last_ = k;
            const std::int64_t count = operations.bytes.back() / side_.type.size;
            operations.count.back() = static_cast<std::int32_t>(count);
        }
    }

private:
    [[noreturn]] void refuse(std::int32_t peer, const std::string& what) const {
        throw Failure(Code::mismatch, who_ + " " + verb_ + preposition_ + std::to_string(peer) + what);
    }

    void check_sizes() const {
        std::map<std::int32_t, std::pair<std::int64_t, std::int64_t>> sizes;  // by peer: of the caller, of the plan
        for (const Row::Entry& entry : side_.row.entries()) sizes[entry.peer].first += entry.bytes;
        for (const auto& [peer, bytes] : bytes_by_peer(compiled_)) sizes[peer].second = bytes;
        for (const auto& [peer, size] : sizes)
            if (size.first != size.second)
                throw Failure(Code::mismatch, who_ + " " + verb_ + " " + std::to_string(size.first) + " B" +
                                                  preposition_ + std::to_string(peer) + ", the schedule has " +
                                                  std::to_string(size.second) + " B");
    }

    // Where every operation begins in the caller's buffer, and in which block.
    void find_blocks() {
        Array<std::size_t> order(compiled_.size());
        for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return std::tuple(compiled_.peer[a], compiled_.offset[a]) <
                   std::tuple(compiled_.peer[b], compiled_.offset[b]);
        });
        offset_.resize(order.size());
        block_.resize(order.size());
        std::size_t entry = 0;
        std::int64_t within = 0;  // bytes of the block that are placed
        for (const std::size_t k : order) {
            const std::int64_t bytes = compiled_.bytes[k];
            if (bytes == 0) continue;
            if (within == side_.row.entries()[entry].bytes) ++entry, within = 0;
            const Row::Entry& block = side_.row.entries()[entry];
            if (within % side_.type.size != 0 || bytes % side_.type.size != 0)
                refuse(block.peer, ": the schedule has a part of " + std::to_string(bytes) + " B, an element has " +
                                       std::to_string(side_.type.size) + " B: must be whole elements");
            if (bytes > block.bytes - within)
                refuse(block.peer, ": a message of the schedule has " + std::to_string(bytes) +
                                       " B, reaching into the next block of the pair");
            offset_[k] = side_.blocks.displacement[block.block] * side_.type.extent +
                         within / side_.type.size * side_.type.extent;
            block_[k] = block.block;
            within += bytes;
        }
    }

    // Whether operation k goes on where the last one of the result ends.
    bool follows(const RankOperations& operations, std::size_t k) const {
        if (!last_ || operations.peer.back() != compiled_.peer[k] || operations.phase.back() != compiled_.phase[k] ||
            block_[*last_] != block_[k])
            return false;
        return operations.offset.back() + operations.bytes.back() / side_.type.size * side_.type.extent == offset_[k];
    }

    const RankOperations& compiled_;
    const PlanSide& side_;
    std::string who_, verb_, preposition_;
    Array<std::int64_t> offset_;  // by operation
    Array<std::int32_t> block_;
    std::optional<std::size_t> last_;
};

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
    add_own(plan, rank, sends, receives, own_by_message);
    add_operations(plan.sends, sends, part.sends);
    add_operations(plan.receives, receives, part.receives);
    return plan;
}

RankPlan make_own_plan(std::int32_t rank, const RankPlan& compiled, const PlanSide& sends, const PlanSide& receives,
                       bool own_by_message) {
    if (compiled.work_bytes > 0 || !compiled.packs.offsets.empty() || !compiled.unpacks.offsets.empty() ||
        !compiled.needs.offsets.empty() || !compiled.signals.offsets.empty())
        throw Failure(Code::schedule, "the schedule forwards or orders messages: only buffers of its plan can be used");
    RankPlan plan;
    plan.phases = compiled.phases;
    plan.sync = compiled.sync;
    plan.every = compiled.every;
    plan.in_flight = compiled.in_flight;
    add_own(plan, rank, sends, receives, own_by_message);
    Placement(rank, true, compiled.sends, sends).add_to(plan.sends);
    Placement(rank, false, compiled.receives, receives).add_to(plan.receives);
    return plan;
}

PartOperations receives_in(const RankPlan& compiled) {
    PartOperations receives;
    for (const auto& [source, bytes] : bytes_by_peer(compiled.receives)) {
        receives.phase.push_back(0);
        receives.peer.push_back(source);
        receives.nth.push_back(0);
        receives.bytes.push_back(bytes);
    }
    return receives;
}

}  // namespace conset
