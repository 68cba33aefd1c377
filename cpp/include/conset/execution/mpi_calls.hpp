// The calls of MPI that are made, as a table that is filled while a program runs: no mpi.h, no link to an MPI.
//
// A handle of MPI is an int in one binary interface (MPICH and what follows it: Intel MPI, MVAPICH) and a pointer in
// the other (Open MPI, the standard ABI); all else that is called here is the same, and the code of success is 0. What
// differs besides are a few constants, and where a status keeps its source. Python fills the table by late binding to
// the library that mpi4py has loaded, C programs by code of conset.h that is compiled with their own mpi.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "conset/array.hpp"

namespace conset {

inline constexpr std::array kMpiCalls{
    "MPI_Send_init",
    "MPI_Recv_init",
    "MPI_Startall",
    "MPI_Test",
    "MPI_Request_free",
    "MPI_Issend",
    "MPI_Irecv",
    "MPI_Iprobe",
    "MPI_Get_count",
    "MPI_Ibarrier",
    "MPI_Ibcast",
    "MPI_Iallgather",
    "MPI_Iallgatherv",
    "MPI_Igatherv",
    "MPI_Iscatterv",
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Comm_dup",
    "MPI_Comm_free",
    "MPI_Comm_set_errhandler",
    "MPI_Dist_graph_neighbors_count",
    "MPI_Dist_graph_neighbors",
    "MPI_Type_size",
    "MPI_Type_get_extent",
    "MPI_Type_get_envelope",
    "MPI_Error_string",
    "MPI_Isend",
    "MPI_Start",
    "MPI_Cancel",
    "MPI_Ialltoallv",
};

template <class Handle>
struct MpiCalls {
    using Address = std::ptrdiff_t;  // MPI_Aint

    int (*send_init)(const void* from, int count, Handle type, int target, int tag, Handle comm, Handle* request);
    int (*recv_init)(void* to, int count, Handle type, int source, int tag, Handle comm, Handle* request);
    int (*startall)(int count, Handle* requests);
    int (*test)(Handle* request, int* ended, void* status);
    int (*request_free)(Handle* request);
    int (*issend)(const void* from, int count, Handle type, int target, int tag, Handle comm, Handle* request);
    int (*irecv)(void* to, int count, Handle type, int source, int tag, Handle comm, Handle* request);
    int (*iprobe)(int source, int tag, Handle comm, int* found, void* status);
    int (*get_count)(const void* status, Handle type, int* count);
    int (*ibarrier)(Handle comm, Handle* request);
    int (*ibcast)(void* buffer, int count, Handle type, int root, Handle comm, Handle* request);
    int (*iallgather)(const void* from, int count, Handle type, void* to, int each, Handle to_type, Handle comm,
                      Handle* request);
    int (*iallgatherv)(const void* from, int count, Handle type, void* to, const int* counts, const int* starts,
                       Handle to_type, Handle comm, Handle* request);
    int (*igatherv)(const void* from, int count, Handle type, void* to, const int* counts, const int* starts,
                    Handle to_type, int root, Handle comm, Handle* request);
    int (*iscatterv)(const void* from, const int* counts, const int* starts, Handle type, void* to, int count,
                     Handle to_type, int root, Handle comm, Handle* request);
    int (*comm_rank)(Handle comm, int* rank);
    int (*comm_size)(Handle comm, int* size);
    int (*comm_dup)(Handle comm, Handle* copy);
    int (*comm_free)(Handle* comm);
    int (*comm_set_errhandler)(Handle comm, Handle handler);
    int (*dist_graph_neighbors_count)(Handle comm, int* sources, int* targets, int* weighted);
    int (*dist_graph_neighbors)(Handle comm, int sources, int* source, int* source_weights, int targets, int* target,
                                int* target_weights);
    int (*type_size)(Handle type, int* bytes);
    int (*type_get_extent)(Handle type, Address* lower, Address* extent);
    int (*type_get_envelope)(Handle type, int* integers, int* addresses, int* types, int* combiner);
    int (*error_string)(int code, char* text, int* length);
    int (*isend)(const void* from, int count, Handle type, int target, int tag, Handle comm, Handle* request);
    int (*start)(Handle* request);
    int (*cancel)(Handle* request);
    int (*ialltoallv)(const void* from, const int* counts, const int* starts, Handle type, void* to,
                      const int* to_counts, const int* to_starts, Handle to_type, Handle comm, Handle* request);

    // From their addresses, in the order of kMpiCalls.
    static MpiCalls at(View<const std::uint64_t> addresses) {
        MpiCalls calls{};
        std::size_t k = 0;
        const auto take = [&](auto&... call) {
            ((call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(addresses[k++])), ...);
        };
        take(calls.send_init, calls.recv_init, calls.startall, calls.test, calls.request_free, calls.issend,
             calls.irecv, calls.iprobe, calls.get_count, calls.ibarrier, calls.ibcast, calls.iallgather,
             calls.iallgatherv, calls.igatherv, calls.iscatterv, calls.comm_rank, calls.comm_size, calls.comm_dup,
             calls.comm_free, calls.comm_set_errhandler, calls.dist_graph_neighbors_count, calls.dist_graph_neighbors,
             calls.type_size, calls.type_get_extent, calls.type_get_envelope, calls.error_string, calls.isend,
             calls.start, calls.cancel, calls.ialltoallv);
        return calls;
    }
};

// A library of MPI: its calls, and what is a constant in its header.
template <class Handle>
struct Mpi {
    MpiCalls<Handle> calls;
    Handle byte;               // MPI_BYTE
    Handle errors_return;      // MPI_ERRORS_RETURN
    std::size_t status_bytes;  // sizeof(MPI_Status)
    std::size_t source_at;     // offsetof(MPI_Status, MPI_SOURCE)
    int any_source;            // MPI_ANY_SOURCE
    int named;                 // MPI_COMBINER_NAMED
};

// The same as numbers, as it comes from other languages: of a handle its bits, unsigned.
struct MpiNumbers {
    std::array<std::uint64_t, kMpiCalls.size()> calls{};  // addresses
    std::uint64_t byte = 0, errors_return = 0;
    std::uint64_t handle_bytes = 0, status_bytes = 0, source_at = 0;
    std::int64_t any_source = 0, named = 0;
};

// A handle that is an int may be negative.
template <class Handle>
Handle handle_of(std::uint64_t bits) {
    if constexpr (std::is_pointer_v<Handle>)
        return reinterpret_cast<Handle>(bits);
    else
        return static_cast<Handle>(static_cast<std::uint32_t>(bits));
}

template <class Handle>
Mpi<Handle> mpi_of(const MpiNumbers& numbers) {
    return {MpiCalls<Handle>::at(numbers.calls),
            handle_of<Handle>(numbers.byte),
            handle_of<Handle>(numbers.errors_return),
            static_cast<std::size_t>(numbers.status_bytes),
            static_cast<std::size_t>(numbers.source_at),
            static_cast<int>(numbers.any_source),
            static_cast<int>(numbers.named)};
}

// A communicator of it, on which nobody else sends.
template <class Handle>
struct MpiWorld {
    Mpi<Handle> mpi;
    Handle comm;
};

}  // namespace conset
