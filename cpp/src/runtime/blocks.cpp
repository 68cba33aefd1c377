#include "conset/runtime/blocks.hpp"

#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "conset/runtime/collectives.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset {

namespace {

// Where a block lies in its buffer [B].
struct Place {
    const std::byte *begin, *end;
    bool receive;
};

[[noreturn]] void refuse(std::int32_t rank, const char* side, std::size_t block, const std::string& what) {
    throw Failure(Code::argument,
                  "rank " + std::to_string(rank) + ": " + side + ": block " + std::to_string(block) + ": " + what);
}

// Messages in the caller's order, those with itself apart.
Array<Row::Entry> check_side(std::int32_t rank, std::int32_t ranks, const char* side, const Blocks& blocks,
                             const TypeShape& type, Array<std::int32_t>& own) {
    const std::size_t count = blocks.peer.size();
    if (blocks.count.size() != count || blocks.displacement.size() != count || count > INT_MAX)
        throw Failure(Code::argument, "rank " + std::to_string(rank) + ": " + side + ": " + std::to_string(count) +
                                          " peers, " + std::to_string(blocks.count.size()) + " counts, " +
                                          std::to_string(blocks.displacement.size()) + " displacements: must agree");
    Array<Row::Entry> messages;
    for (std::size_t k = 0; k < count; ++k) {
        const std::int32_t peer = blocks.peer[k];
        const std::int64_t elements = blocks.count[k];
        if (peer < 0 || peer >= ranks)
            refuse(rank, side, k, "peer " + std::to_string(peer) + " must be from 0 to " + std::to_string(ranks - 1));
        if (elements < 0 || elements > INT_MAX)
            refuse(rank, side, k,
                   "count " + std::to_string(elements) + " must be from 0 to " + std::to_string(INT_MAX));
        if (elements == 0 || type.size == 0) continue;
        if (std::int64_t offset = 0; __builtin_mul_overflow(blocks.displacement[k], type.extent, &offset))
            refuse(rank, side, k, "displacement " + std::to_string(blocks.displacement[k]) + " is out of memory");
        const auto block = static_cast<std::int32_t>(k);
        if (peer == rank)
            own.push_back(block);
        else
            messages.push_back({peer, block, elements * type.size});
    }
    return messages;
}

void check_own(std::int32_t rank, const RankRows& rows, const Blocks& sends, std::int64_t send_size,
               const Blocks& receives, std::int64_t receive_size) {
    const auto fail = [&](const std::string& expects, const std::string& comes) {
        throw Failure(Code::mismatch,
                      "rank " + std::to_string(rank) + " expects " + expects + " from itself, which sends " + comes);
    };
    const std::size_t both = std::min(rows.own_send.size(), rows.own_receive.size());
    for (std::size_t k = 0; k < both; ++k) {
        const std::int64_t sent = sends.count[rows.own_send[k]] * send_size;
        const std::int64_t expected = receives.count[rows.own_receive[k]] * receive_size;
        if (sent != expected) fail(std::to_string(expected) + " B", std::to_string(sent) + " B");
    }
    if (both < rows.own_send.size())
        fail("nothing", std::to_string(sends.count[rows.own_send[both]] * send_size) + " B");
    if (both < rows.own_receive.size())
        fail(std::to_string(receives.count[rows.own_receive[both]] * receive_size) + " B", "nothing");
}

void add_places(Array<Place>& places, const Blocks& blocks, std::int64_t extent, const std::byte* buffer,
                bool receive) {
    for (std::size_t k = 0; k < blocks.peer.size(); ++k) {
        if (blocks.count[k] == 0) continue;
        const std::byte* begin = buffer + blocks.displacement[k] * extent;
        places.push_back({begin, begin + blocks.count[k] * extent, receive});
    }
}

void require_buffer(std::int32_t rank, const char* side, const Blocks& blocks, const std::byte* buffer) {
    for (std::size_t k = 0; k < blocks.peer.size() && buffer == nullptr; ++k)
        if (blocks.count[k] > 0)
            refuse(rank, side, k, std::to_string(blocks.count[k]) + " elements, but there is no buffer");
}

}  // namespace

template <class Handle>
TypeShape type_shape(const Mpi<Handle>& mpi, Handle type) {
    const auto require = [&](const char* call, int code) {
        if (code != 0) throw Failure(Code::mpi, describe_mpi(mpi, call, code));
    };
    int size = 0, integers = 0, addresses = 0, types = 0, combiner = 0;
    typename MpiCalls<Handle>::Address lower = 0, extent = 0;
    require("MPI_Type_size", mpi.calls.type_size(type, &size));
    require("MPI_Type_get_extent", mpi.calls.type_get_extent(type, &lower, &extent));
    // refused where counts were large ones: then it is none that MPI names
    const bool named =
        mpi.calls.type_get_envelope(type, &integers, &addresses, &types, &combiner) == 0 && combiner == mpi.named;
    // a size that an int does not hold is MPI_UNDEFINED, which is negative
    if (size < 0) throw Failure(Code::argument, "a datatype of more than 2147483647 B");
    return {size, extent, named && lower == 0 && extent == size};
}

Row::Row(Array<Entry> in_order) : entries_(std::move(in_order)) {
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.peer < b.peer; });
}

View<const Row::Entry> Row::with(std::int32_t peer) const {
    const auto range = std::equal_range(entries_.begin(), entries_.end(), Entry{peer, 0, 0},
                                        [](const Entry& a, const Entry& b) { return a.peer < b.peer; });
    return {entries_.data() + (range.first - entries_.begin()), static_cast<std::size_t>(range.second - range.first)};
}

RankRows check_blocks(std::int32_t rank, std::int32_t ranks, const Blocks& sends, const TypeShape& send_type,
                      const Blocks& receives, const TypeShape& receive_type, bool sources_known) {
    RankRows rows;
    rows.in_order = check_side(rank, ranks, "sends", sends, send_type, rows.own_send);
    rows.sends = Row(rows.in_order);
    if (!sources_known) return rows;
    rows.receives = Row(check_side(rank, ranks, "receives", receives, receive_type, rows.own_receive));
    check_own(rank, rows, sends, send_type.size, receives, receive_type.size);
    return rows;
}

void check_places(std::int32_t rank, const Blocks& sends, const TypeShape& send_type, const std::byte* send,
                  const Blocks& receives, const TypeShape& receive_type, const std::byte* receive) {
    // MPI_BOTTOM, which may be null, has only derived datatypes
    if (send_type.plain) require_buffer(rank, "sends", sends, send);
    if (receive_type.plain) require_buffer(rank, "receives", receives, receive);
    if (!send_type.plain || !receive_type.plain) return;
    Array<Place> places;
    add_places(places, sends, send_type.extent, send, false);
    add_places(places, receives, receive_type.extent, receive, true);
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.begin < b.begin; });
    const std::byte *read = nullptr, *written = nullptr;  // up to there
    for (const Place& place : places) {
        if (place.begin < written || (place.receive && place.begin < read))
            throw Failure(Code::argument, "rank " + std::to_string(rank) +
                                              ": a block that is received overlaps one that is " +
                                              (place.receive && place.begin < written ? "received" : "sent"));
        (place.receive ? written : read) = std::max(place.receive ? written : read, place.end);
    }
}

template TypeShape type_shape(const Mpi<int>&, int);
template TypeShape type_shape(const Mpi<void*>&, void*);

}  // namespace conset
