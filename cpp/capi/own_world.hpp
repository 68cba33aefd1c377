// A duplicate of a communicator, with errors returned.
#pragma once

#include "conset/execution/mpi_calls.hpp"
#include "conset/runtime/agreement.hpp"

namespace conset::capi {

// Throws Failure (Code::mpi).
template <class Handle>
void require_success(const Mpi<Handle>& mpi, const char* call, int code) {
    if (code != 0) throw Failure(Code::mpi, describe_mpi(mpi, call, code));
}

// Freed by `free` alone, since MPI may be over in a destructor. Making it is collective, and throws Failure.
template <class Handle>
class OwnWorld {
public:
    explicit OwnWorld(const MpiWorld<Handle>& theirs) : world_(theirs) {
        require_success(world_.mpi, "MPI_Comm_dup", world_.mpi.calls.comm_dup(theirs.comm, &world_.comm));
        require_success(world_.mpi, "MPI_Comm_set_errhandler",
                        world_.mpi.calls.comm_set_errhandler(world_.comm, world_.mpi.errors_return));
    }
    const MpiWorld<Handle>& world() const { return world_; }
    Outcome free() {
        return outcome_of(
            [&] { require_success(world_.mpi, "MPI_Comm_free", world_.mpi.calls.comm_free(&world_.comm)); });
    }

private:
    MpiWorld<Handle> world_;
};

}  // namespace conset::capi
