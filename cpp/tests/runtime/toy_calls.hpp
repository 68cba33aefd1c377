// The table of calls of toy_ranks.hpp, in either binary interface.
#pragma once

#include "runtime/toy_ranks.hpp"

namespace conset::toy_ranks {

template <class Handle>
void add_messages(MpiCalls<Handle>& calls) {
    calls.send_init = [](const void* from, int count, Handle type, int target, int tag, Handle comm, Handle* made) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        const int rank = rank_in(comm);
        if (rank == Mpi::here()->fail_send_init_at) return 15;
        *made = handle<Handle>(Mpi::here()->make({true,
                                                  true,
                                                  false,
                                                  false,
                                                  false,
                                                  const_cast<void*>(from),
                                                  count,
                                                  number(type),
                                                  target,
                                                  tag,
                                                  number(comm) / kMostRanks,
                                                  rank,
                                                  false,
                                                  {},
                                                  0}));
        return 0;
    };
    calls.recv_init = [](void* to, int count, Handle type, int source, int tag, Handle comm, Handle* made) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        *made = handle<Handle>(Mpi::here()->make({false,
                                                  true,
                                                  false,
                                                  false,
                                                  false,
                                                  to,
                                                  count,
                                                  number(type),
                                                  source,
                                                  tag,
                                                  number(comm) / kMostRanks,
                                                  rank_in(comm),
                                                  false,
                                                  {},
                                                  0}));
        return 0;
    };
    calls.issend = [](const void* from, int count, Handle type, int target, int tag, Handle comm, Handle* made) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        const int request = Mpi::here()->make({true,
                                               false,
                                               false,
                                               false,
                                               false,
                                               const_cast<void*>(from),
                                               count,
                                               number(type),
                                               target,
                                               tag,
                                               number(comm) / kMostRanks,
                                               rank_in(comm),
                                               false,
                                               {},
                                               0});
        Mpi::here()->start(request);
        *made = handle<Handle>(request);
        return 0;
    };
    calls.irecv = [](void* to, int count, Handle type, int source, int tag, Handle comm, Handle* made) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        const int request = Mpi::here()->make({false,
                                               false,
                                               false,
                                               false,
                                               false,
                                               to,
                                               count,
                                               number(type),
                                               source,
                                               tag,
                                               number(comm) / kMostRanks,
                                               rank_in(comm),
                                               false,
                                               {},
                                               0});
        Mpi::here()->start(request);
        *made = handle<Handle>(request);
        return 0;
    };
    calls.isend = [](const void* from, int count, Handle type, int target, int tag, Handle comm, Handle* made) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        const int rank = rank_in(comm);
        if (rank == Mpi::here()->fail_isend_at) return 16;
        Request request;
        request.buffer = const_cast<void*>(from);
        request.count = count;
        request.type = number(type);
        request.peer = target;
        request.tag = tag;
        request.comm = number(comm) / kMostRanks;
        request.rank = rank;
        const int started = Mpi::here()->make(request);
        Mpi::here()->start(started);
        *made = handle<Handle>(started);
        return 0;
    };
    calls.start = [](Handle* request) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        Mpi::here()->start(number(*request));
        return 0;
    };
    calls.cancel = [](Handle* request) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        Mpi::here()->cancel(number(*request));
        return 0;
    };
    calls.startall = [](int count, Handle* requests) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        for (int k = count - 1; k >= 0; --k) Mpi::here()->start(number(requests[k]));  // in any order
        return 0;
    };
    calls.test = [](Handle* request, int* ended, void*) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        *ended = Mpi::here()->test(number(*request)) ? 1 : 0;
        return 0;
    };
    calls.request_free = [](Handle* request) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        Mpi::here()->free(number(*request));
        return 0;
    };
    // a status: source at 4, bytes at 8
    calls.iprobe = [](int, int tag, Handle comm, int* found, void* status) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        const auto [source, bytes] = Mpi::here()->probe(number(comm) / kMostRanks, rank_in(comm), tag);
        *found = source >= 0 ? 1 : 0;
        std::memcpy(static_cast<std::byte*>(status) + 4, &source, sizeof(source));
        std::memcpy(static_cast<std::byte*>(status) + 8, &bytes, sizeof(bytes));
        return 0;
    };
    calls.get_count = [](const void* status, Handle type, int* count) {
        std::size_t bytes = 0;
        std::memcpy(&bytes, static_cast<const std::byte*>(status) + 8, sizeof(bytes));
        *count = static_cast<int>(bytes) / type_of(number(type)).size;
        return 0;
    };
}

template <class Handle>
void come_to(const char* name, Handle comm, std::vector<std::byte> given, std::function<void(const Collective&)> take,
             Handle* made) {
    const std::scoped_lock lock(Mpi::here()->mutex);
    *made = handle<Handle>(
        Mpi::here()->collective(name, number(comm) / kMostRanks, rank_in(comm), std::move(given), std::move(take)));
}

template <class Handle>
void add_collectives(MpiCalls<Handle>& calls) {
    calls.ibarrier = [](Handle comm, Handle* made) {
        come_to("barrier", comm, {}, [](const Collective&) {}, made);
        return 0;
    };
    calls.ibcast = [](void* buffer, int count, Handle, int root, Handle comm, Handle* made) {
        come_to(
            "broadcast", comm, packed(buffer, count, kByte),
            [=](const Collective& all) { unpack(all.given.at(root), buffer, count, kByte); }, made);
        return 0;
    };
    calls.iallgather = [](const void* from, int count, Handle, void* to, int each, Handle, Handle comm, Handle* made) {
        come_to(
            "all-gather", comm, packed(from, count, kByte),
            [=](const Collective& all) {
                for (const auto& [rank, data] : all.given)
                    unpack(data, static_cast<std::byte*>(to) + rank * each, each, kByte);
            },
            made);
        return 0;
    };
    calls.iallgatherv = [](const void* from, int count, Handle, void* to, const int* counts, const int* starts, Handle,
                           Handle comm, Handle* made) {
        come_to(
            "all-gather of rows", comm, packed(from, count, kByte),
            [=](const Collective& all) {
                for (const auto& [rank, data] : all.given)
                    unpack(data, static_cast<std::byte*>(to) + starts[rank], counts[rank], kByte);
            },
            made);
        return 0;
    };
    calls.igatherv = [](const void* from, int count, Handle, void* to, const int* counts, const int* starts, Handle,
                        int root, Handle comm, Handle* made) {
        const bool takes = rank_in(comm) == root;
        come_to(
            "gather", comm, packed(from, count, kByte),
            [=](const Collective& all) {
                for (const auto& [rank, data] : all.given)
                    if (takes) unpack(data, static_cast<std::byte*>(to) + starts[rank], counts[rank], kByte);
            },
            made);
        return 0;
    };
    calls.iscatterv = [](const void* from, const int* counts, const int* starts, Handle, void* to, int count, Handle,
                         int root, Handle comm, Handle* made) {
        const int rank = rank_in(comm);
        std::vector<std::byte> parts;  // all of them, of equal length with zeros behind
        static constexpr int kMost = 1 << 16;
        for (int other = 0; rank == root && other < Mpi::here()->ranks(); ++other) {
            auto part = packed(static_cast<const std::byte*>(from) + starts[other], counts[other], kByte);
            part.resize(kMost);
            parts.insert(parts.end(), part.begin(), part.end());
        }
        come_to(
            "scatter", comm, std::move(parts),
            [=](const Collective& all) {
                if (count > 0)
                    std::memcpy(to, all.given.at(root).data() + rank * kMost, static_cast<std::size_t>(count));
            },
            made);
        return 0;
    };
}

template <class Handle>
void add_queries(MpiCalls<Handle>& calls) {
    calls.comm_rank = [](Handle comm, int* rank) {
        *rank = rank_in(comm);
        return 0;
    };
    calls.comm_size = [](Handle, int* size) {
        *size = Mpi::here()->ranks();
        return 0;
    };
    calls.comm_dup = [](Handle comm, Handle* copy) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        const int rank = rank_in(comm);
        *copy = handle<Handle>(Mpi::here()->duplicate(number(comm) / kMostRanks, rank) * kMostRanks + rank);
        return 0;
    };
    calls.comm_free = [](Handle*) {
        const std::scoped_lock lock(Mpi::here()->mutex);
        Mpi::here()->forget_communicator();
        return 0;
    };
    calls.comm_set_errhandler = [](Handle, Handle) { return 0; };
    calls.type_size = [](Handle type, int* bytes) {
        *bytes = type_of(number(type)).size;
        return 0;
    };
    calls.type_get_extent = [](Handle type, std::ptrdiff_t* lower, std::ptrdiff_t* extent) {
        *lower = 0;
        *extent = type_of(number(type)).extent;
        return 0;
    };
    calls.type_get_envelope = [](Handle type, int*, int*, int*, int* combiner) {
        *combiner = type_of(number(type)).named ? 3 : 4;
        return 0;
    };
    calls.error_string = [](int code, char* text, int* length) {
        const std::string said = "toy error " + std::to_string(code);
        std::memcpy(text, said.c_str(), said.size() + 1);
        *length = static_cast<int>(said.size());
        return 0;
    };
}

template <class Handle>
MpiWorld<Handle> world_of(int rank) {
    MpiCalls<Handle> calls{};
    add_messages(calls);
    add_collectives(calls);
    add_queries(calls);
    return {{calls, handle<Handle>(kByte), Handle{}, 24, 4, -1, 3}, handle<Handle>(kMostRanks + rank)};
}

}  // namespace conset::toy_ranks
