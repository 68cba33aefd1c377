// Items of a buffer, taken and given by lists of their indices. Buffers need not be aligned; indices are in range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "conset/array.hpp"
#include "conset/execution/rank_plan.hpp"

namespace conset {

// to[k] = from[items[k]], all items of so many bytes.
void gather_items(const std::byte* from, View<const std::int64_t> items, std::int64_t item_bytes, std::byte* to);

// to[items[k]] = from[k], in the order of the list.
void scatter_items(const std::byte* from, View<const std::int64_t> items, std::int64_t item_bytes, std::byte* to);

// to[items[k]] += from[k], in the order of the list; an item is one or several numbers of `type`, integers wrap.
void add_items(const std::byte* from, View<const std::int64_t> items, std::int64_t item_bytes, ItemType type,
               std::byte* to);

// Bytes of one number; 1 for bytes.
std::int64_t number_bytes(ItemType type);

}  // namespace conset
