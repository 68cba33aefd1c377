/* Every function that the header defines; compiled as C++ and as C. */
#include <mpi.h>
/* then */
#include <conset.h>

int call_all(const int counts[], const int displs[], MPI_Comm comm, conset_exchange** exchange, conset_plan** plan);

int call_all(const int counts[], const int displs[], MPI_Comm comm, conset_exchange** exchange, conset_plan** plan) {
    double from[1] = {0}, to[1] = {0};
    return conset_alltoallv_init(from, counts, displs, MPI_DOUBLE, to, counts, displs, MPI_DOUBLE, comm, "", exchange) +
           conset_neighbor_alltoallv_init(from, counts, displs, MPI_INT, to, counts, displs, MPI_INT, comm, "",
                                          exchange) +
           conset_alltoallv_update(*exchange, from, counts, displs, MPI_INT, to, counts, displs, MPI_INT) +
           conset_plan_read("", comm, plan);
}
