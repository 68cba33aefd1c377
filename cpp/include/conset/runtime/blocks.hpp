// Blocks: what one rank sends, or receives, as it says itself; checked before anything is sent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "conset/array.hpp"
#include "conset/execution/mpi_calls.hpp"

namespace conset {

// Block k goes to (comes from) peer[k]: `count[k]` elements of its side's datatype from element displacement[k] of the
// buffer on. Blocks of one pair are matched in their order; those of no bytes are no messages.
struct Blocks {
    Array<std::int32_t> peer;
    Array<std::int64_t> count, displacement;
};

// Of a datatype [B]; plain: a named one whose elements lie side by side.
struct TypeShape {
    std::int64_t size = 1, extent = 1;
    bool plain = true;
};

// Throws Failure (Code::mpi).
template <class Handle>
TypeShape type_shape(const Mpi<Handle>& mpi, Handle type);

// Blocks that are messages, by peer, then in the caller's order: the n-th of a pair is found at once.
class Row {
public:
    struct Entry {
        std::int32_t peer, block;  // block: its number in `Blocks`
        std::int64_t bytes;
    };
    Row() = default;
    explicit Row(Array<Entry> in_order);

    std::size_t size() const { return entries_.size(); }
    View<const Entry> entries() const { return entries_; }
    // The messages with one peer.
    View<const Entry> with(std::int32_t peer) const;

private:
    Array<Entry> entries_;
};

// What a rank sends and receives, apart from what it has for itself.
struct RankRows {
    Array<Row::Entry> in_order;    // what it sends, as the caller lists it
    Row sends, receives;           // receives: empty where sources are not known
    Array<std::int32_t> own_send;  // blocks from itself to itself, the n-th to the n-th
    Array<std::int32_t> own_receive;
};

// Throws Failure (Code::argument, or Code::mismatch where what a rank sends to itself is not what it receives).
RankRows check_blocks(std::int32_t rank, std::int32_t ranks, const Blocks& sends, const TypeShape& send_type,
                      const Blocks& receives, const TypeShape& receive_type, bool sources_known);

// Nothing is written where something is read or written otherwise. Throws Failure (Code::argument).
void check_places(std::int32_t rank, const Blocks& sends, const TypeShape& send_type, const std::byte* send,
                  const Blocks& receives, const TypeShape& receive_type, const std::byte* receive);

}  // namespace conset
