#include "conset/runtime/rank_part.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "conset/runtime/bytes.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset {

namespace {

void add_operations(ByteWriter& writer, const PartOperations& operations) {
    writer.add_array(operations.phase);
    writer.add_array(operations.peer);
    writer.add_array(operations.nth);
    writer.add_array(operations.bytes);
}

PartOperations take_operations(ByteReader& reader) {
    PartOperations operations;
    operations.phase = reader.array<std::int32_t>();
    operations.peer = reader.array<std::int32_t>();
    operations.nth = reader.array<std::int32_t>();
    operations.bytes = reader.array<std::int64_t>();
    return operations;
}

// Messages by rank, those of one rank in the order of `posted`.
void by_rank(const Array<std::int32_t>& rank_of, const Array<std::int32_t>& posted, std::int32_t ranks,
             Array<std::int64_t>& offsets, Array<std::int32_t>& messages) {
    offsets.assign(as_size(ranks) + 1, 0);
    for (const std::int32_t rank : rank_of) ++offsets[rank + 1];
    for (std::int32_t rank = 0; rank < ranks; ++rank) offsets[rank + 1] += offsets[rank];
    Array<std::int64_t> next = offsets;
    messages.resize(posted.size());
    for (const std::int32_t m : posted) messages[next[rank_of[m]]++] = m;
}

// The order of a rank's receives by source, then as they are sent.
Array<std::int32_t> by_source(const PartOperations& receives) {
    Array<std::int32_t> order(receives.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int32_t>(k);
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return std::tuple(receives.peer[a], receives.nth[a]) < std::tuple(receives.peer[b], receives.nth[b]);
    });
    return order;
}

}  // namespace

Array<std::byte> encode_part(const RankPart& part) {
    ByteWriter writer;
    add_operations(writer, part.sends);
    add_operations(writer, part.receives);
    if (!part.in_stages) return writer.bytes();
    for (const BundleOperations* bundles : {&part.bundle_sends, &part.bundle_receives}) {
        writer.add_array(bundles->phase);
        writer.add_array(bundles->peer);
        writer.add_array(bundles->parts.offsets);
        writer.add_array(bundles->parts.items);
    }
    writer.add_array(part.passed.source);
    writer.add_array(part.passed.target);
    writer.add_array(part.passed.nth);
    writer.add_array(part.passed.bytes);
    return writer.bytes();
}

RankPart decode_part(View<const std::byte> bytes) {
    ByteReader reader(bytes);
    RankPart part;
    part.sends = take_operations(reader);
    part.receives = take_operations(reader);
    part.in_stages = !reader.ended();
    if (!part.in_stages) return part;
    for (BundleOperations* bundles : {&part.bundle_sends, &part.bundle_receives}) {
        bundles->phase = reader.array<std::int32_t>();
        bundles->peer = reader.array<std::int32_t>();
        bundles->parts.offsets = reader.array<std::int64_t>();
        bundles->parts.items = reader.array<std::int32_t>();
    }
    part.passed.source = reader.array<std::int32_t>();
    part.passed.target = reader.array<std::int32_t>();
    part.passed.nth = reader.array<std::int32_t>();
    part.passed.bytes = reader.array<std::int64_t>();
    return part;
}

RankParts::RankParts(const RankMessages& messages, const RankSchedule& schedule)
    : messages_(messages), schedule_(schedule), nth_(messages.size()) {
    const StageBundles& stages = schedule.stages;
    phase_.assign(stages.stages > 0 ? stages.size() : messages.size(), 0);
    for (std::size_t p = 0; p + 1 < schedule.phase_offsets.size(); ++p)
        for (std::int64_t k = schedule.phase_offsets[p]; k < schedule.phase_offsets[p + 1]; ++k)
            phase_[schedule.message[k]] = static_cast<std::int32_t>(p);
    Array<std::int32_t> of_pair(as_size(messages.ranks), 0);
    for (std::size_t begin = 0, end = 0; begin < messages.size(); begin = end) {
        for (end = begin; end < messages.size() && messages.source[end] == messages.source[begin]; ++end)
            nth_[end] = of_pair[messages.target[end]]++;
        for (std::size_t m = begin; m < end; ++m) of_pair[messages.target[m]] = 0;
    }
    if (stages.stages == 0) {
        by_rank(messages.source, schedule.message, messages.ranks, send_offsets_, sends_);
        by_rank(messages.target, schedule.message, messages.ranks, receive_offsets_, receives_);
        return;
    }
    Array<std::int32_t> listed(messages.size());
    std::iota(listed.begin(), listed.end(), 0);
    by_rank(messages.source, listed, messages.ranks, send_offsets_, sends_);
    by_rank(messages.target, listed, messages.ranks, receive_offsets_, receives_);
    by_rank(stages.source, schedule.message, messages.ranks, out_offsets_, out_);
    by_rank(stages.target, schedule.message, messages.ranks, in_offsets_, in_);
}

RankPart RankParts::in_stages(std::int32_t rank) const {
    RankPart part;
    part.in_stages = true;
    const StageBundles& stages = schedule_.stages;
    std::map<std::int32_t, std::int32_t> number;  // of messages that pass here
    const auto add = [&](BundleOperations& bundles, const Array<std::int32_t>& posted,
                         const Array<std::int64_t>& offsets, const Array<std::int32_t>& peer) {
        bundles.parts.offsets.push_back(0);
        for (std::int64_t k = offsets[rank]; k < offsets[rank + 1]; ++k) {
            const std::int32_t bundle = posted[k];
            bundles.phase.push_back(phase_[bundle]);
            bundles.peer.push_back(peer[bundle]);
            for (const std::int32_t m : stages.parts.of(bundle)) {
                const auto [at, is_new] = number.try_emplace(m, static_cast<std::int32_t>(number.size()));
                bundles.parts.items.push_back(at->second);
                if (!is_new) continue;
                part.passed.source.push_back(messages_.source[m]);
                part.passed.target.push_back(messages_.target[m]);
                part.passed.nth.push_back(nth_[m]);
                part.passed.bytes.push_back(messages_.bytes[m]);
            }
            bundles.parts.offsets.push_back(static_cast<std::int64_t>(bundles.parts.items.size()));
        }
    };
    add(part.bundle_sends, out_, out_offsets_, stages.target);
    add(part.bundle_receives, in_, in_offsets_, stages.source);
    return part;
}

RankPart RankParts::of(std::int32_t rank) const {
    const bool direct = schedule_.stages.stages == 0;
    RankPart part = direct ? RankPart{} : in_stages(rank);
    const auto add = [&](PartOperations& operations, const Array<std::int32_t>& posted,
                         const Array<std::int64_t>& offsets, const Array<std::int32_t>& peer) {
        for (std::int64_t k = offsets[rank]; k < offsets[rank + 1]; ++k) {
            const std::int32_t m = posted[k];
            operations.phase.push_back(direct ? phase_[m] : 0);
            operations.peer.push_back(peer[m]);
            operations.nth.push_back(nth_[m]);
            if (&peer == &messages_.source) operations.bytes.push_back(messages_.bytes[m]);
        }
    };
    add(part.sends, sends_, send_offsets_, messages_.target);
    add(part.receives, receives_, receive_offsets_, messages_.source);
    return part;
}

void check_receives(std::int32_t rank, const PartOperations& receives, const Row& expected) {
    const Array<std::int32_t> order = by_source(receives);
    const View<const Row::Entry> entries = expected.entries();
    const auto fail = [&](std::int32_t source, std::int64_t expects, std::int64_t sends) {
        const auto size = [](std::int64_t bytes) { return bytes == 0 ? "nothing" : std::to_string(bytes) + " B"; };
        throw Failure(Code::mismatch, "rank " + std::to_string(rank) + " expects " + size(expects) + " from rank " +
                                          std::to_string(source) + ", which sends " + size(sends));
    };
    for (std::size_t k = 0; k < std::max(order.size(), entries.size()); ++k) {
        const bool comes = k < order.size(), expects = k < entries.size();
        const std::int32_t source = comes ? receives.peer[order[k]] : INT32_MAX;
        if (!comes || (expects && entries[k].peer < source)) fail(entries[k].peer, entries[k].bytes, 0);
        const std::int64_t bytes = receives.bytes[order[k]];
        if (!expects || entries[k].peer > source) fail(source, 0, bytes);
        if (entries[k].bytes != bytes) fail(source, entries[k].bytes, bytes);
    }
}

Blocks receives_of(std::int32_t rank, const PartOperations& receives, View<const std::int64_t> own_bytes,
                   std::int64_t element_bytes) {
    Blocks blocks;
    std::int64_t next = 0;
    const auto add = [&](std::int32_t source, std::int64_t bytes) {
        if (element_bytes == 0 || bytes % element_bytes != 0)
            throw Failure(Code::mismatch, "rank " + std::to_string(rank) + " receives " + std::to_string(bytes) +
                                              " B from rank " + std::to_string(source) + ": no whole elements of " +
                                              std::to_string(element_bytes) + " B");
        blocks.peer.push_back(source);
        blocks.count.push_back(bytes / element_bytes);
        blocks.displacement.push_back(next);
        next += bytes / element_bytes;
    };
    bool own_added = false;
    const auto add_own = [&] {
        for (const std::int64_t bytes : own_bytes) add(rank, bytes);
        own_added = true;
    };
    for (const std::int32_t k : by_source(receives)) {
        if (!own_added && receives.peer[k] > rank) add_own();
        add(receives.peer[k], receives.bytes[k]);
    }
    if (!own_added) add_own();
    return blocks;
}

}  // namespace conset
