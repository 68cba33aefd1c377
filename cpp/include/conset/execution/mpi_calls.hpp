// The calls of MPI that an executor makes, as a table that is filled while a program runs: no mpi.h, no link to an MPI.
//
// A handle of MPI is an int in one binary interface (MPICH and what follows it: Intel MPI, MVAPICH) and a pointer in
// the other (Open MPI); all else that is called here is the same in both, and the code of success is 0.
#pragma once

#include <array>
#include <cstdint>

#include "conset/array.hpp"

namespace conset {

inline constexpr std::array kMpiCalls{
    "MPI_Send_init", "MPI_Recv_init",    "MPI_Startall",     "MPI_Test",
    "MPI_Ibarrier",  "MPI_Request_free", "MPI_Error_string",
};

template <class Handle>
struct MpiCalls {
    int (*send_init)(const void* from, int count, Handle type, int target, int tag, Handle comm, Handle* request);
    int (*recv_init)(void* to, int count, Handle type, int source, int tag, Handle comm, Handle* request);
    int (*startall)(int count, Handle* requests);
    int (*test)(Handle* request, int* ended, void* status);
    int (*ibarrier)(Handle comm, Handle* request);
    int (*request_free)(Handle* request);
    int (*error_string)(int code, char* text, int* length);

    // From their addresses, in the order of kMpiCalls.
    static MpiCalls at(View<const std::uint64_t> addresses) {
        MpiCalls calls{};
        std::size_t k = 0;
        const auto take = [&](auto& call) {
            call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(addresses[k++]);
        };
        take(calls.send_init);
        take(calls.recv_init);
        take(calls.startall);
        take(calls.test);
        take(calls.ibarrier);
        take(calls.request_free);
        take(calls.error_string);
        return calls;
    }
};

// What is the same for all calls of one executor.
template <class Handle>
struct MpiWorld {
    MpiCalls<Handle> calls;
    Handle comm;  // nobody else sends on it
    Handle byte;  // MPI_BYTE
    std::size_t status_bytes;
};

}  // namespace conset
