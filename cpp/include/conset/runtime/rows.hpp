// Rows of all ranks: what each sends to whom, compressed to its messages, as one list that is the same everywhere.
//
// The parallel compression of Wang and Ranka (Scheduling of unstructured communication on the Intel iPSC/860, section
// 4.2): every processor compresses its own row of the communication matrix, then all rows are put together.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/runtime/blocks.hpp"
#include "conset/runtime/schedule.hpp"

namespace conset {

inline constexpr std::int64_t kEntryBytes = 12;  // of a message in a row: int32 target, int64 bytes

// [target ...][bytes ...]
Array<std::byte> encode_row(View<const Row::Entry> in_order);

// Rows of all ranks, one after the other, with so many messages each.
RankMessages decode_rows(View<const std::byte> rows, View<const std::int64_t> messages);

}  // namespace conset
