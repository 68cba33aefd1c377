/* How exchanges end, on 4 ranks, with every call of MPI counted: `ends right`, `ends stops` (rank 1 stops), `ends dies`
 * (it is killed).
 *
 * The calls that are counted are defined here and hand over to PMPI: conset.h gives the library these. */
#include <mpi.h>
/* then */
#include <conset.h>

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { RANKS = 4, EACH = 1000 };

int rank, ranks, wrong;

static int communicators, requests, starts, begun;
static double from[RANKS * EACH], to[RANKS * EACH];

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
    ++communicators;
    return PMPI_Comm_dup(comm, copy);
}
int MPI_Comm_free(MPI_Comm* comm) {
    --communicators;
    return PMPI_Comm_free(comm);
}
int MPI_Send_init(const void* data, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm,
                  MPI_Request* request) {
    ++requests;
    return PMPI_Send_init(data, count, type, target, tag, comm, request);
}
int MPI_Recv_init(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
    ++requests;
    return PMPI_Recv_init(data, count, type, source, tag, comm, request);
}
int MPI_Request_free(MPI_Request* request) {
    --requests;
    return PMPI_Request_free(request);
}
int MPI_Startall(int count, MPI_Request handles[]) {
    starts += count;
    return PMPI_Startall(count, handles);
}
/* Those that end by themselves: what is begun and what is seen to end. */
int MPI_Issend(const void* data, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm,
               MPI_Request* request) {
    ++begun;
    return PMPI_Issend(data, count, type, target, tag, comm, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
    ++begun;
    return PMPI_Irecv(data, count, type, source, tag, comm, request);
}
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    ++begun;
    return PMPI_Ibarrier(comm, request);
}
int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    ++begun;
    return PMPI_Ibcast(data, count, type, root, comm, request);
}
int MPI_Iallgather(const void* data, int count, MPI_Datatype type, void* all, int each, MPI_Datatype all_type,
                   MPI_Comm comm, MPI_Request* request) {
    ++begun;
    return PMPI_Iallgather(data, count, type, all, each, all_type, comm, request);
}
int MPI_Iallgatherv(const void* data, int count, MPI_Datatype type, void* all, const int counts[], const int displs[],
                    MPI_Datatype all_type, MPI_Comm comm, MPI_Request* request) {
    ++begun;
    return PMPI_Iallgatherv(data, count, type, all, counts, displs, all_type, comm, request);
}
int MPI_Igatherv(const void* data, int count, MPI_Datatype type, void* all, const int counts[], const int displs[],
                 MPI_Datatype all_type, int root, MPI_Comm comm, MPI_Request* request) {
    ++begun;
    return PMPI_Igatherv(data, count, type, all, counts, displs, all_type, root, comm, request);
}
int MPI_Iscatterv(const void* all, const int counts[], const int displs[], MPI_Datatype all_type, void* data, int count,
                  MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    ++begun;
    return PMPI_Iscatterv(all, counts, displs, all_type, data, count, type, root, comm, request);
}
int MPI_Test(MPI_Request* request, int* ended, MPI_Status* status) {
    const int known = *request != MPI_REQUEST_NULL, code = PMPI_Test(request, ended, status);
    if (known && *ended && *request == MPI_REQUEST_NULL) --begun; /* persistent ones stay */
    return code;
}

static int init(const int counts[], MPI_Comm comm, MPI_Datatype type, const char* options, conset_exchange** exchange) {
    static const int expected[RANKS] = {EACH, EACH, EACH, EACH}, displs[RANKS] = {0, EACH, 2 * EACH, 3 * EACH};
    return conset_alltoallv_init(from, counts, displs, type, to, expected, displs, MPI_DOUBLE, comm, options, exchange);
}

static void check_values(const char* options) {
    static const int all[RANKS] = {EACH, EACH, EACH, EACH};
    conset_exchange* exchange = NULL;
    int step, k;
    CHECK_CODE(init(all, MPI_COMM_WORLD, MPI_DOUBLE, options, &exchange), CONSET_SUCCESS);
    for (step = 0; step < 3; ++step) {
        for (k = 0; k < RANKS * EACH; ++k) from[k] = 100 * rank + step;
        CHECK_CODE(conset_start(exchange), CONSET_SUCCESS);
        CHECK_CODE(conset_wait(exchange), CONSET_SUCCESS);
        for (k = 0; k < RANKS * EACH; ++k) wrong += to[k] != 100 * (k / EACH) + step;
    }
    CHECK(starts > 0 && requests > 0 && communicators > 0);
    CHECK_CODE(conset_free(&exchange), CONSET_SUCCESS);
    CHECK(requests == 0 && communicators == 0 && begun == 0);
}

/* Nothing is sent, and nothing stays. */
static void check_nothing_sent(void) {
    static const int all[RANKS] = {EACH, EACH, EACH, EACH}, less[RANKS] = {EACH, EACH, EACH - 1, EACH};
    const int before = starts;
    conset_exchange* exchange = NULL;
    CHECK_CODE(init(rank == 1 ? less : all, MPI_COMM_WORLD, MPI_DOUBLE, NULL, &exchange), CONSET_ERR_MISMATCH);
    CHECK_CODE(init(all, MPI_COMM_WORLD, rank == 1 ? MPI_FLOAT : MPI_DOUBLE, NULL, &exchange), CONSET_ERR_MISMATCH);
    CHECK_CODE(init(rank == 1 ? NULL : all, MPI_COMM_WORLD, MPI_DOUBLE, NULL, &exchange), CONSET_ERR_ARGUMENT);
    CHECK_CODE(init(all, MPI_COMM_WORLD, MPI_DOUBLE, "method=none", &exchange), CONSET_ERR_ARGUMENT);
    CHECK_CODE(init(all, MPI_COMM_WORLD, MPI_DOUBLE, rank == 1 ? "seed=1" : NULL, &exchange), CONSET_ERR_MISMATCH);
    CHECK(exchange == NULL && starts == before);
    CHECK(requests == 0 && communicators == 0 && begun == 0);
}

/* Rank 1 ends in the middle of an exchange that the others wait for. */
static void lose_rank(int number, const char* options) {
    static const int all[RANKS] = {EACH, EACH, EACH, EACH};
    conset_exchange* exchange = NULL;
    struct timespec now;
    CHECK_CODE(init(all, MPI_COMM_WORLD, MPI_DOUBLE, options, &exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_start(exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_wait(exchange), CONSET_SUCCESS);
    PMPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("lost at %.3f\n", (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
        fflush(stdout);
        kill(getpid(), number);
        return;
    }
    CHECK_CODE(conset_start(exchange), CONSET_SUCCESS);
    if (conset_wait(exchange) == CONSET_ERR_TIMEOUT) fprintf(stderr, "timeout: %s\n", conset_error_detail());
    usleep(200000); /* all say theirs, and the launcher takes it, before one ends the job */
    MPI_Abort(MPI_COMM_WORLD, 4);
}

int main(int argc, char** argv) {
    int all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(ranks == RANKS && argc == 2);
    if (strcmp(argv[1], "stops") == 0) lose_rank(SIGSTOP, "sync=none;timeout=1s");
    if (strcmp(argv[1], "dies") == 0) lose_rank(SIGKILL, "sync=none");
    check_values(NULL);
    check_nothing_sent();
    check_values("machine=torus:2x2;method=lp;sync=barrier;compute=one");
    fflush(stdout);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) printf("right\n");
    MPI_Finalize();
    return all != 0;
}
