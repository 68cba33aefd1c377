#include "program_mpi.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace conset::capi {

namespace {

#define CONSET_NAME(call) std::string_view(#call),
constexpr std::array kHeaderCalls{CONSET_LIB_CALLS(CONSET_NAME)};
#undef CONSET_NAME

constexpr bool same_calls() {
    for (std::size_t k = 0; k < kHeaderCalls.size(); ++k)
        if (kHeaderCalls[k] != kMpiCalls[k]) return false;
    return true;
}
static_assert(kHeaderCalls.size() == kMpiCalls.size() && same_calls(),
              "conset.h has the calls of conset/execution/mpi_calls.hpp in their order; with others, raise "
              "CONSET_LIB_INTERFACE");

}  // namespace

void require_running(std::uint64_t finalized) {
    int ended = 0;
    reinterpret_cast<int (*)(int*)>(finalized)(&ended);
    if (ended != 0) throw Failure(Code::state, "MPI_Finalize has been called: free exchanges and plans before it");
}

void require_usable(const conset_lib_mpi* mpi, const conset_lib_comm& comm) {
    if (mpi->interface_number != CONSET_LIB_INTERFACE)
        throw Failure(Code::argument, "the program was compiled with conset.h of interface " +
                                          std::to_string(mpi->interface_number) + ", the library has " +
                                          std::to_string(CONSET_LIB_INTERFACE) + ": compile it again");
    require_running(mpi->finalized);
    if (comm.kind == CONSET_LIB_NULL) throw Failure(Code::argument, "comm: is MPI_COMM_NULL");
    if (comm.kind == CONSET_LIB_INTER)
        throw Failure(Code::argument, "comm: is an intercommunicator, must be an intracommunicator");
}

MpiNumbers numbers_of(const conset_lib_mpi& mpi) {
    MpiNumbers numbers;
    std::copy(std::begin(mpi.calls), std::end(mpi.calls), numbers.calls.begin());
    numbers.byte = mpi.byte;
    numbers.errors_return = mpi.errors_return;
    numbers.handle_bytes = mpi.handle_bytes;
    numbers.status_bytes = mpi.status_bytes;
    numbers.source_at = mpi.source_at;
    numbers.any_source = mpi.any_source;
    numbers.named = mpi.named;
    return numbers;
}

}  // namespace conset::capi
