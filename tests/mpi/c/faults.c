/* What is refused, and what a late rank does. */
#include <mpi.h>
/* then */
#include <conset.h>

#include "check.h"

enum { RANKS = 4 };

static double from[2 * RANKS], to[2 * RANKS];
static const int one[RANKS] = {1, 1, 1, 1}, places[RANKS] = {0, 2, 4, 6};

static int init(const int sendcounts[], MPI_Datatype type, const int recvcounts[], MPI_Comm comm, const char* options,
                conset_exchange** exchange) {
    return conset_alltoallv_init(from, sendcounts, places, MPI_DOUBLE, to, recvcounts, places, type, comm, options,
                                 exchange);
}

/* Every rank has the code and the words of the rank that found it, and no exchange. */
static void refused(int code, int expected, const char* words, conset_exchange** exchange) {
    CHECK_CODE(code, expected);
    CHECK(*exchange == NULL);
    CHECK(strstr(conset_error_detail(), words) != NULL);
    CHECK(strlen(conset_error_string(code)) > 0);
    *exchange = (conset_exchange*)&from; /* whatever stands there is overwritten */
}

static void check_options(void) {
    static const char* const options[] = {"machin=torus:2x2", "machine=torus:2x",
                                          "machine=ring:3",   "method=fast",
                                          "sync=sometimes",   "sync=barrier:0",
                                          "timeout=soon",     "timeout=-1s",
                                          "seed=x",           "compute=two",
                                          "torus:2x2",        "seed=-1",
                                          "schedule=no.plan", "schedule=x.plan;method=lp"};
    conset_exchange* exchange = NULL;
    size_t k;
    for (k = 0; k < sizeof options / sizeof *options; ++k) {
        const int code = init(one, MPI_DOUBLE, one, MPI_COMM_WORLD, options[k], &exchange);
        if (code == CONSET_SUCCESS) printf("option %s\n", options[k]);
        CHECK(code == CONSET_ERR_ARGUMENT || code == CONSET_ERR_SCHEDULE || code == CONSET_ERR_FILE);
        CHECK(exchange == NULL && strlen(conset_error_detail()) > 0);
    }
    refused(init(one, MPI_DOUBLE, one, MPI_COMM_WORLD, rank == 2 ? "seed=x" : NULL, &exchange), CONSET_ERR_ARGUMENT,
            "seed", &exchange);
    refused(init(one, MPI_DOUBLE, one, MPI_COMM_WORLD, "machine=no.machine", &exchange), CONSET_ERR_FILE, "no.machine",
            &exchange);
}

void check_refused(void) {
    const int two[RANKS] = {1, 2, 1, 1}, negative[RANKS] = {1, -1, 1, 1};
    conset_exchange* exchange = (conset_exchange*)&from;
    const int* mine = rank == 2 ? two : one;
    check_options();
    /* rank 2 expects two numbers of rank 1, which sends one; and the other way round */
    refused(init(one, MPI_DOUBLE, mine, MPI_COMM_WORLD, NULL, &exchange), CONSET_ERR_MISMATCH, "rank 2", &exchange);
    refused(init(mine, MPI_DOUBLE, one, MPI_COMM_WORLD, NULL, &exchange), CONSET_ERR_MISMATCH, "rank 1", &exchange);
    refused(init(one, rank == 3 ? MPI_FLOAT : MPI_DOUBLE, one, MPI_COMM_WORLD, NULL, &exchange), CONSET_ERR_MISMATCH,
            "rank 3", &exchange);
    refused(init(rank == 1 ? negative : one, MPI_DOUBLE, one, MPI_COMM_WORLD, NULL, &exchange), CONSET_ERR_ARGUMENT,
            "-1", &exchange);
    refused(init(rank == 1 ? NULL : one, MPI_DOUBLE, one, MPI_COMM_WORLD, NULL, &exchange), CONSET_ERR_ARGUMENT,
            "rank 1: sendcounts", &exchange);
    refused(init(one, rank == 0 ? MPI_DATATYPE_NULL : MPI_DOUBLE, one, MPI_COMM_WORLD, NULL, &exchange),
            CONSET_ERR_ARGUMENT, "rank 0: recvtype", &exchange);
    refused(init(one, MPI_DOUBLE, one, MPI_COMM_NULL, NULL, &exchange), CONSET_ERR_ARGUMENT, "MPI_COMM_NULL",
            &exchange);
    CHECK_CODE(init(one, MPI_DOUBLE, rank == 1 ? NULL : one, MPI_COMM_WORLD, NULL, &exchange), CONSET_ERR_MISMATCH);
    refused(conset_alltoallv_init(MPI_IN_PLACE, one, places, MPI_DOUBLE, to, one, places, MPI_DOUBLE, MPI_COMM_WORLD,
                                  NULL, &exchange),
            CONSET_ERR_ARGUMENT, "MPI_IN_PLACE", &exchange);
    refused(conset_alltoallv_init(to, one, places, MPI_DOUBLE, to, one, places, MPI_DOUBLE, MPI_COMM_WORLD, NULL,
                                  &exchange),
            CONSET_ERR_ARGUMENT, "overlap", &exchange);
    refused(conset_neighbor_alltoallv_init(from, one, places, MPI_DOUBLE, to, one, places, MPI_DOUBLE, MPI_COMM_WORLD,
                                           NULL, &exchange),
            CONSET_ERR_ARGUMENT, "graph", &exchange);
    CHECK_CODE(init(one, MPI_DOUBLE, one, MPI_COMM_WORLD, NULL, NULL), CONSET_ERR_ARGUMENT);
}

/* Rank 3 sends to all; the others cannot end before it has started. */
static conset_exchange* wait_for_rank_3(const char* options) {
    static const int none[RANKS] = {0, 0, 0, 0}, of_3[RANKS] = {0, 0, 0, 1};
    conset_exchange* exchange = NULL;
    CHECK_CODE(init(rank == 3 ? one : none, MPI_DOUBLE, of_3, MPI_COMM_WORLD, options, &exchange), CONSET_SUCCESS);
    return exchange;
}

void check_states(void) {
    conset_exchange *exchange = wait_for_rank_3(NULL), *other = wait_for_rank_3("sync=ready"), *none = NULL;
    int done = 7;
    CHECK_CODE(conset_wait(exchange), CONSET_SUCCESS); /* none was started */
    CHECK_CODE(conset_progress(exchange, &done), CONSET_SUCCESS);
    CHECK(done == 1);
    if (rank != 3) {
        CHECK_CODE(conset_start(other), CONSET_SUCCESS);
        CHECK_CODE(conset_start(exchange), CONSET_SUCCESS);
        CHECK_CODE(conset_start(exchange), CONSET_ERR_STATE);
        CHECK_CODE(conset_progress(exchange, &done), CONSET_SUCCESS);
        CHECK(done == 0);
        CHECK_CODE(conset_free(&exchange), CONSET_ERR_STATE);
        CHECK(exchange != NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 3) {
        from[0] = from[2] = from[4] = from[6] = 3.5;
        CHECK_CODE(conset_start(exchange), CONSET_SUCCESS);
        CHECK_CODE(conset_wait(exchange), CONSET_SUCCESS);
        CHECK_CODE(conset_start(other), CONSET_SUCCESS);
    }
    CHECK_CODE(conset_wait(exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_wait(exchange), CONSET_SUCCESS);
    CHECK(to[6] == 3.5);
    CHECK_CODE(conset_wait(other), CONSET_SUCCESS);
    CHECK_CODE(conset_free(&other), CONSET_SUCCESS);
    CHECK_CODE(conset_free(&exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_free(&none), CONSET_SUCCESS);
    CHECK_CODE(conset_free(NULL), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_start(NULL), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_start((conset_exchange*)&from), CONSET_ERR_STATE); /* something else */
    CHECK(strstr(conset_error_string(99), "unknown") != NULL);
}

void check_timeout(void) {
    conset_exchange* exchange = wait_for_rank_3("timeout=1s");
    if (rank != 3) {
        CHECK_CODE(conset_start(exchange), CONSET_SUCCESS);
        CHECK_CODE(conset_wait(exchange), CONSET_ERR_TIMEOUT);
        CHECK(strstr(conset_error_detail(), "data from 3") != NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 3) CHECK_CODE(conset_start(exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_wait(exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_free(&exchange), CONSET_SUCCESS);
}
