// One rank's part of a schedule: what it sends and receives in which phase, in the order of posting.
#pragma once

#include <cstdint>
#include <string>

#include "conset/array.hpp"
#include "conset/runtime/blocks.hpp"
#include "conset/runtime/schedule.hpp"

namespace conset {

// Operation k is of the nth[k]-th message of this rank and peer[k] in that direction; bytes: of receives alone.
struct PartOperations {
    Array<std::int32_t> phase, peer, nth;
    Array<std::int64_t> bytes;
    std::size_t size() const { return phase.size(); }
};

// Operation k is of a bundle: the messages `parts` of it travel one after the other.
struct BundleOperations {
    Array<std::int32_t> phase, peer;
    Rows parts;
    std::size_t size() const { return phase.size(); }
};

// Messages that a rank sends first, passes on or gets: the nth from `source` to `target`.
struct PassedMessages {
    Array<std::int32_t> source, target, nth;
    Array<std::int64_t> bytes;
    std::size_t size() const { return source.size(); }
};

// Of stages `sends` and `receives` are the messages, in no phase, and bundles carry them.
struct RankPart {
    PartOperations sends, receives;
    BundleOperations bundle_sends{}, bundle_receives{};
    PassedMessages passed{};
    bool in_stages = false;
};

Array<std::byte> encode_part(const RankPart& part);
RankPart decode_part(View<const std::byte> bytes);

// Parts of all ranks; of each in O(its messages) after O(messages) once.
class RankParts {
public:
    RankParts(const RankMessages& messages, const RankSchedule& schedule);
    RankPart of(std::int32_t rank) const;

private:
    RankPart in_stages(std::int32_t rank) const;

    const RankMessages& messages_;
    const RankSchedule& schedule_;
    Array<std::int32_t> phase_, nth_;                     // by message; of stages the phase is by bundle
    Array<std::int64_t> send_offsets_, receive_offsets_;  // by rank
    Array<std::int32_t> sends_, receives_;                // messages, by rank, in the order of posting
    Array<std::int64_t> out_offsets_, in_offsets_;        // the same of bundles
    Array<std::int32_t> out_, in_;
};

// What this rank expects is what the others send it: else throws Failure (Code::mismatch) that names the first source
// of which this is not so, and both sizes.
void check_receives(std::int32_t rank, const PartOperations& receives, const Row& expected);

// Where sources were not known before: by source, the messages of each in their order, from 0 on without gaps; those
// that a rank has for itself in their place. Throws Failure (Code::mismatch) where they are no whole elements.
Blocks receives_of(std::int32_t rank, const PartOperations& receives, View<const std::int64_t> own_bytes,
                   std::int64_t element_bytes);

}  // namespace conset
