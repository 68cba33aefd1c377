// What changed in the rows of all ranks: all that travels when an exchange is updated.
//
// The n-th message of a pair is the n-th one of before; others are removed, or added behind those that are left. Every
// rank keeps its own row in that order, which may be another one than the application's.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/runtime/blocks.hpp"
#include "conset/runtime/kept_schedule.hpp"
#include "conset/runtime/schedule.hpp"

namespace conset {

enum class ChangeKind : std::int32_t { removed, resized, added };

// `at`: the message by its place in the row of before, or the target of one that is added; bytes: now.
struct RowChange {
    ChangeKind kind;
    std::int32_t at;
    std::int64_t bytes;
};

struct RowUpdate {
    Array<RowChange> changes;
    Array<Row::Entry> row;  // after them; blocks are not looked at
};
RowUpdate compare_rows(View<const Row::Entry> before, View<const Row::Entry> now);

// Changes of all ranks, one after the other, so many of each, as a schedule that is kept takes them.
class RowsChanges {
public:
    RowsChanges(View<const std::byte> changes, View<const std::int64_t> counts, const RankMessages& before);
    MessageChanges view() const;

private:
    Array<std::int32_t> removed_, resized_;
    Array<std::int64_t> bytes_;
    RankMessages added_;
};

}  // namespace conset
