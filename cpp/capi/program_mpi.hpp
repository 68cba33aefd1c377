// The MPI of the program that calls, as conset.h has described it.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "conset.h"
#include "conset/execution/mpi_calls.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset::capi {

// Throws Failure: compiled with another conset.h, a communicator that is none, MPI that has ended.
void require_usable(const conset_lib_mpi* mpi, const conset_lib_comm& comm);
// Throws Failure (Code::state) where MPI has ended; `finalized`: MPI_Finalized.
void require_running(std::uint64_t finalized);

MpiNumbers numbers_of(const conset_lib_mpi& mpi);

template <class Handle>
MpiWorld<Handle> world_of(const conset_lib_mpi& mpi, const conset_lib_comm& comm) {
    return {mpi_of<Handle>(numbers_of(mpi)), handle_of<Handle>(comm.bits)};
}

// make(type_identity<int>) or make(type_identity<void*>), by the size of a handle.
template <class Make>
auto with_handle(const conset_lib_mpi& mpi, Make&& make) {
    if (mpi.handle_bytes == sizeof(int)) return make(std::type_identity<int>{});
    if (mpi.handle_bytes == sizeof(void*)) return make(std::type_identity<void*>{});
    throw Failure(Code::mpi, "handles of MPI have " + std::to_string(mpi.handle_bytes) + " bytes: known are " +
                                 std::to_string(sizeof(int)) + " and " + std::to_string(sizeof(void*)));
}

}  // namespace conset::capi
