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

// Where bytes are: in the buffer of a side, or in the work area.
struct Place {
    bool work = false;
    std::int64_t offset = 0;
};

// Walks the stages of one rank, as conset/execution/planner.py does for all: knows of every message that passes where
// it is, and gives every pack and every arrival a range of the work area of its own.
class StageWalk {
public:
    StageWalk(std::int32_t rank, const RankPart& part, const PlanSide& sends, const PlanSide& receives, RankPlan& plan)
        : rank_(rank),
          part_(part),
          sends_(sends),
          receives_(receives),
          plan_(plan),
          at_(part.passed.size()),
          end_(part.passed.size()),
          brought_(part.passed.size(), -1),
          left_(part.passed.size(), 0) {}

    void walk() {
        const PassedMessages& passed = part_.passed;
        for (std::size_t m = 0; m < passed.size(); ++m) {
            if (passed.source[m] == rank_) at_[m] = place_of(sends_, passed.target[m], passed.nth[m]);
            if (passed.target[m] == rank_) end_[m] = place_of(receives_, passed.source[m], passed.nth[m]);
        }
        const BundleOperations &sends = part_.bundle_sends, &receives = part_.bundle_receives;
        for (const std::int32_t m : sends.parts.items) ++left_[m];
        std::size_t send = 0, receive = 0;
        while (send < sends.size() || receive < receives.size()) {
            // what arrives in a phase is passed on in a later one
            if (receive == receives.size() || (send < sends.size() && sends.phase[send] <= receives.phase[receive]))
                leave(send++);
            else
                arrive(receive++);
        }
        for (RankCopies* copies : {&plan_.packs, &plan_.unpacks})
            if (copies->bytes.empty()) copies->offsets.clear();
        if (plan_.needs.operations.empty()) plan_.needs.offsets.clear();
    }

private:
    Place place_of(const PlanSide& side, std::int32_t peer, std::int32_t nth) const {
        const View<const Row::Entry> of_pair = side.row.with(peer);
        if (as_size(nth) >= of_pair.size())
            throw Failure(Code::internal,
                          "message " + std::to_string(nth) + " with rank " + std::to_string(peer) + " is in no row");
        return {false, side.blocks.displacement[of_pair[nth].block] * side.type.extent};
    }

    // Messages of one bundle in pieces: what follows one another at the same place is one.
    struct Piece {
        Place place;
        std::int64_t within, bytes;  // of the bundle
    };
    template <class PlaceOf, class Kept>
    Array<Piece> pieces(View<const std::int32_t> parts, const PlaceOf& place_of, const Kept& kept) const {
        Array<Piece> found;
        std::int64_t within = 0;
        bool follows = false;
        for (const std::int32_t m : parts) {
            const Place place = place_of(m);
            const std::int64_t bytes = part_.passed.bytes[m];
            if (kept(m)) {
                if (follows && found.back().place.work == place.work &&
                    found.back().place.offset + found.back().bytes == place.offset)
                    found.back().bytes += bytes;
                else
                    found.push_back({place, within, bytes});
            }
            follows = kept(m);
            within += bytes;
        }
        return found;
    }

    std::int64_t bytes_of(View<const std::int32_t> parts) const {
        std::int64_t bytes = 0;
        for (const std::int32_t m : parts) bytes += part_.passed.bytes[m];
        return bytes;
    }

    std::int64_t allocate(std::int64_t bytes) { return std::exchange(plan_.work_bytes, plan_.work_bytes + bytes); }

    static void add(RankOperations& operations, std::int32_t phase, std::int32_t peer, Place place,
                    std::int64_t bytes) {
        operations.phase.push_back(phase);
        operations.peer.push_back(peer);
        operations.offset.push_back(place.offset);
        operations.bytes.push_back(bytes);
        operations.work.push_back(place.work ? 1 : 0);
    }

    static void add(RankCopies& copies, bool work, std::int64_t source, std::int64_t target, std::int64_t bytes) {
        copies.work.push_back(work ? 1 : 0);
        copies.source.push_back(source);
        copies.target.push_back(target);
        copies.bytes.push_back(bytes);
    }

    template <class Offsets, class Values>
    static void end_row(Offsets& offsets, const Values& values) {
        if (offsets.empty()) offsets.push_back(0);
        offsets.push_back(static_cast<std::int64_t>(values.size()));
    }

    void leave(std::size_t k) {
        const BundleOperations& sends = part_.bundle_sends;
        const View<const std::int32_t> parts = sends.parts.of(static_cast<std::int32_t>(k));
        const std::int64_t bytes = bytes_of(parts);
        const auto found = pieces(parts, [&](auto m) { return at_[m]; }, [](auto) { return true; });
        Place place = found[0].place;
        if (found.size() > 1) {
            place = {true, allocate(bytes)};
            for (const Piece& piece : found)
                add(plan_.packs, piece.place.work, piece.place.offset, place.offset + piece.within, piece.bytes);
        }
        add(plan_.sends, sends.phase[k], sends.peer[k], place, bytes);
        end_row(plan_.packs.offsets, plan_.packs.bytes);
        Array<std::int32_t> needs;
        for (const std::int32_t m : parts) {
            --left_[m];
            if (brought_[m] >= 0) needs.push_back(brought_[m]);
        }
        std::sort(needs.begin(), needs.end());
        needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
        plan_.needs.operations.insert(plan_.needs.operations.end(), needs.begin(), needs.end());
        end_row(plan_.needs.offsets, plan_.needs.operations);
    }

    // A message ends here if it is not sent again.
    void arrive(std::size_t k) {
        const BundleOperations& receives = part_.bundle_receives;
        const View<const std::int32_t> parts = receives.parts.of(static_cast<std::int32_t>(k));
        const std::int64_t bytes = bytes_of(parts);
        const auto ends = [&](auto m) { return part_.passed.target[m] == rank_ && left_[m] == 0; };
        const auto found = pieces(parts, [&](auto m) { return end_[m]; }, ends);
        const bool straight = found.size() == 1 && found[0].bytes == bytes;
        const Place place = straight ? found[0].place : Place{true, allocate(bytes)};
        if (!straight)
            for (const Piece& piece : found)
                add(plan_.unpacks, true, place.offset + piece.within, piece.place.offset, piece.bytes);
        add(plan_.receives, receives.phase[k], receives.peer[k], place, bytes);
        end_row(plan_.unpacks.offsets, plan_.unpacks.bytes);
        std::int64_t within = 0;
        for (const std::int32_t m : parts) {
            at_[m] = {place.work, place.offset + within};
            within += part_.passed.bytes[m];
            brought_[m] = static_cast<std::int32_t>(k);
        }
    }

    std::int32_t rank_;
    const RankPart& part_;
    const PlanSide &sends_, &receives_;
    RankPlan& plan_;
    Array<Place> at_, end_;               // of each message: now, and in the receive buffer
    Array<std::int32_t> brought_, left_;  // by which receive; how often it will be sent from here
};

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
    const std::string name(kSyncNames[static_cast<std::size_t>(sync)]);
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
    if (part.in_stages) {
        StageWalk(rank, part, sends, receives, plan).walk();
        return plan;
    }
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
