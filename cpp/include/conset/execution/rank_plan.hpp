// What one rank executes: its part of a plan (conset/execution/plan.py), its receives numbered from 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "conset/array.hpp"

namespace conset {

enum class SyncKind : std::uint8_t { none, local, ready, barrier, detect };

// By their numbers, as they are written.
inline constexpr std::array<std::string_view, 5> kSyncNames{"none", "local", "ready", "barrier", "detect"};

// Sends or receives in posting order, phases rising; `offset` [B] counts from the start of the rank's buffer, or of its
// work area where `work` is nonzero (empty: nowhere). A message is `bytes` of MPI_BYTE, or, where there are counts,
// count[k] elements of the datatype of its side (`RankBuffers`).
struct RankOperations {
    Array<std::int32_t> phase, peer;
    Array<std::int64_t> offset, bytes;
    Array<std::uint8_t> work;
    Array<std::int32_t> count;

    std::size_t size() const { return phase.size(); }
    bool in_work(std::size_t k) const { return !work.empty() && work[k] != 0; }
    bool operator==(const RankOperations&) const = default;
};

// Copies of operation k are offsets[k] to offsets[k + 1] - 1; no offsets: none.
struct RankCopies {
    Array<std::int64_t> offsets;
    Array<std::uint8_t> work;
    Array<std::int64_t> source, target, bytes;
    bool operator==(const RankCopies&) const = default;
};

// What a rank has for itself: copied from its send to its receive buffer within an exchange [B].
struct RankOwnCopies {
    Array<std::int64_t> source, target, bytes;
    bool operator==(const RankOwnCopies&) const = default;
};

// What must have ended before a send starts (`needs`), or before the source of a receive is told to send it
// (`signals`): receives, and, from receives.size() on, sends that stand earlier. Those of send or receive k are
// operations[offsets[k]] to operations[offsets[k + 1] - 1]; no offsets: none.
struct RankNeeds {
    Array<std::int64_t> offsets;
    Array<std::int32_t> operations;

    bool any(std::size_t k) const { return !offsets.empty() && offsets[k] != offsets[k + 1]; }
    bool operator==(const RankNeeds&) const = default;
};

struct RankPlan {
    std::int64_t phases = 0;
    SyncKind sync = SyncKind::none;
    std::int64_t every = 1;      // phases from one barrier to the next
    std::int64_t in_flight = 0;  // sends open at once; 0: all
    RankOperations sends, receives;
    std::int64_t work_bytes = 0;
    RankCopies packs, unpacks;
    RankNeeds needs;                // of sends
    RankNeeds signals;              // of receives
    Array<std::uint8_t> signalled;  // by send, nonzero: its target has needs for it; empty: none
    RankOwnCopies own;
    std::int64_t executed = 0;  // phases as its program counts them: a plan has one of those that nothing separates
    bool operator==(const RankPlan&) const = default;
};

enum class ItemType : std::uint8_t { bytes, int32, int64, float32, float64, complex64, complex128 };

// Where the bytes of a plan lie in the caller's buffers, if not one after the other: byte b of what the plan sends is
// of item send_items[b / item_bytes] of the send buffer, likewise for what it receives. `add`: items that arrive are
// added to what is there, in the order of the list whatever arrives first, so that sums are the same every time.
struct RankItems {
    std::int64_t item_bytes = 0;  // 0: no lists, buffers are contiguous
    Array<std::int64_t> send_items, receive_items;
    bool add = false;
    ItemType type = ItemType::bytes;  // of what is added; an item is one or several of them
};

// The caller's buffers; types are of operations that have counts: one for all of a side, or one for each.
template <class Handle>
struct RankBuffers {
    const std::byte* send = nullptr;
    std::byte* receive = nullptr;
    Handle send_type{}, receive_type{};
    Array<Handle> send_types{}, receive_types{};  // by operation; empty: one for all
};

}  // namespace conset
