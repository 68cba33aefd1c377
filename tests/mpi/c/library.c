/* The C interface on 4 ranks: `library x.plan slow.machine`, a plan of alltoall:size=1000 and
 * a machine on which stages pay. Prints `right` and ends with status 0. */
#include <mpi.h>
/* then */
#include <conset.h>

#include "check.h"

int rank, ranks, wrong;

int main(int argc, char** argv) {
    int all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(ranks == 4);
    check_buffers(argv[2]);
    check_neighbors();
    check_learned();
    check_refused();
    check_states();
    check_timeout();
    if (argc > 2) {
        check_plan(argv[1]);
        check_compiled(argv[1]);
    }
    fflush(stdout);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) printf("right\n");
    MPI_Finalize();
    return all != 0;
}
