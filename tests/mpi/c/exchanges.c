/* What arrives is what MPI's own collectives bring. */
#include <mpi.h>
/* then */
#include <conset.h>

#include "check.h"

enum { RANKS = 4, MOST = 20000 };

/* Elements from each rank to each, some of them none, every rank the same table. */
static void random_counts(unsigned seed, int most, int counts[RANKS][RANKS]) {
    int i, j;
    for (i = 0; i < RANKS; ++i)
        for (j = 0; j < RANKS; ++j)
            counts[i][j] = next_random(&seed) % 4 == 0 ? 0 : (int)(next_random(&seed) % (unsigned)most);
}

typedef struct Row {
    int sendcounts[RANKS], sdispls[RANKS], recvcounts[RANKS], rdispls[RANKS];
} Row;

/* This rank's part; blocks to send have gaps and lie in another order than those that are received. */
static Row row_of(int counts[RANKS][RANKS]) {
    Row row;
    int k, at = 0;
    for (k = RANKS - 1; k >= 0; --k) {
        row.sendcounts[k] = counts[rank][k];
        row.sdispls[k] = at;
        at += row.sendcounts[k] + 3;
    }
    for (k = 0, at = 0; k < RANKS; ++k) {
        row.recvcounts[k] = counts[k][rank];
        row.rdispls[k] = at;
        at += row.recvcounts[k];
    }
    return row;
}

/* On the machine of a file, where every message costs much, ranks pass on bundles of a basic type in stages. */
static void check_counts(unsigned seed, int most, MPI_Datatype type, int extent, const char* options) {
    const int staged = options != NULL && strstr(options, ".machine") != NULL;
    const size_t bytes = (size_t)RANKS * (size_t)(most + 3) * (size_t)extent;
    char *from = malloc(bytes), *to = malloc(bytes), *expected = malloc(bytes);
    int counts[RANKS][RANKS], round, done;
    conset_exchange* exchange = NULL;
    conset_info info;
    MPI_Datatype own_type = type;
    Row row;
    random_counts(seed, most, counts);
    row = row_of(counts);
    if (!staged) MPI_Type_dup(type, &own_type);
    CHECK_CODE(conset_alltoallv_init(from, row.sendcounts, row.sdispls, own_type, to, row.recvcounts, row.rdispls, type,
                                     MPI_COMM_WORLD, options, &exchange),
               CONSET_SUCCESS);
    if (!staged) MPI_Type_free(&own_type);
    for (round = 0; round < 3; ++round) {
        if (round == 2) { /* other blocks */
            random_counts(seed + 1, most, counts);
            row = row_of(counts);
            CHECK_CODE(conset_alltoallv_update(exchange, from, row.sendcounts, row.sdispls, type, to, row.recvcounts,
                                               row.rdispls, type),
                       CONSET_SUCCESS);
        }
        CHECK_CODE(conset_exchange_info(exchange, &info), CONSET_SUCCESS);
        CHECK((strcmp(info.combine, "none") != 0) == staged && (info.memory_bytes > 0) == staged);
        fill(from, (int)bytes, seed + (unsigned)(100 * round + rank));
        memset(to, 0, bytes);
        memset(expected, 0, bytes);
        MPI_Alltoallv(from, row.sendcounts, row.sdispls, type, expected, row.recvcounts, row.rdispls, type,
                      MPI_COMM_WORLD);
        CHECK_CODE(conset_start(exchange), CONSET_SUCCESS);
        for (done = 0; round == 1 && !done;) {
            CHECK_CODE(conset_progress(exchange, &done), CONSET_SUCCESS);
            if (wrong) break;
        }
        CHECK_CODE(conset_wait(exchange), CONSET_SUCCESS);
        CHECK(memcmp(to, expected, bytes) == 0);
    }
    CHECK_CODE(conset_free(&exchange), CONSET_SUCCESS);
    CHECK(exchange == NULL);
    free(from);
    free(to);
    free(expected);
}

static void check_info(void) {
    const int counts[RANKS] = {1, 1, 1, 1}, displs[RANKS] = {0, 1, 2, 3};
    double from[RANKS] = {0}, to[RANKS] = {0};
    conset_exchange* exchange = NULL;
    conset_info info;
    CHECK_CODE(conset_alltoallv_init(from, counts, displs, MPI_DOUBLE, to, counts, displs, MPI_DOUBLE, MPI_COMM_WORLD,
                                     "method=lp;sync=barrier:2;", &exchange),
               CONSET_SUCCESS);
    CHECK_CODE(conset_exchange_info(exchange, &info), CONSET_SUCCESS);
    CHECK(strcmp(info.method, "lp") == 0);
    CHECK(strcmp(info.sync, "barrier:2") == 0);
    CHECK(info.phases == RANKS - 1);
    CHECK(info.rows_s > 0 && info.schedule_s > 0 && info.plan_s > 0);
    CHECK(strcmp(info.combine, "none") == 0 && info.memory_bytes == 0 && info.left_out_bytes == 0);
    CHECK(info.schedule_run_s == 0 && info.mpi_run_s == 0);
    CHECK_CODE(conset_free(&exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_alltoallv_init(from, counts, displs, MPI_DOUBLE, to, counts, displs, MPI_DOUBLE, MPI_COMM_WORLD,
                                     "measure=3;combine=none;", &exchange),
               CONSET_SUCCESS);
    CHECK_CODE(conset_exchange_info(exchange, &info), CONSET_SUCCESS);
    CHECK(info.schedule_run_s > 0 && info.mpi_run_s > 0);
    CHECK((strcmp(info.method, "MPI_Ialltoallv") == 0) == (info.mpi_run_s < info.schedule_run_s));
    CHECK_CODE(conset_free(&exchange), CONSET_SUCCESS);
    CHECK(strcmp(conset_version(), "0.0.0") > 0);
}

void check_buffers(const char* machine) {
    char options[4096];
    MPI_Datatype column, item;
    check_info();
    check_counts(1, MOST, MPI_BYTE, 1, NULL);
    check_counts(2, MOST / 8, MPI_DOUBLE, 8, "machine=torus:2x2;method=rs-nl;sync=local;seed=7");
    check_counts(3, 50, MPI_INT, 4, "method=lp;sync=ready;");
    check_counts(4, 3000, MPI_SHORT, 2, "sync=barrier:2;compute=one");
    CHECK(snprintf(options, sizeof options, "machine=%s", machine) < (int)sizeof options);
    check_counts(13, 400, MPI_INT, 4, options);
    /* every second of 6 numbers, and one that is not sent after them */
    MPI_Type_vector(3, 1, 2, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, 7 * (MPI_Aint)sizeof(int), &item);
    MPI_Type_commit(&item);
    check_counts(5, 400, item, 7 * (int)sizeof(int), "machine=hypercube:2");
    MPI_Type_free(&column);
    MPI_Type_free(&item);
}

/* Blocks of 1000 B with gaps in the phases of a plan; its orders between messages (all plans but x.plan) are refused.
 */
void check_compiled(const char* path) {
    const size_t length = strlen(path);
    const int whole = length >= 7 && strcmp(path + length - 7, "/x.plan") == 0;
    int counts[RANKS], displs[RANKS], from[RANKS * 260], to[RANKS * 260], expected[RANKS * 260];
    char options[4096];
    conset_exchange* exchange = NULL;
    conset_info info;
    int k;
    for (k = 0; k < RANKS; ++k) {
        counts[k] = 250;
        displs[k] = 260 * (RANKS - 1 - k);
    }
    fill((char*)from, (int)sizeof from, 17 + (unsigned)rank);
    memset(to, 0, sizeof to);
    memset(expected, 0, sizeof expected);
    MPI_Alltoallv(from, counts, displs, MPI_INT, expected, counts, displs, MPI_INT, MPI_COMM_WORLD);
    CHECK(snprintf(options, sizeof options, "schedule=%s;timeout=60s", path) < (int)sizeof options);
    CHECK_CODE(conset_alltoallv_init(from, counts, displs, MPI_INT, to, counts, displs, MPI_INT, MPI_COMM_WORLD,
                                     options, &exchange),
               whole ? CONSET_SUCCESS : CONSET_ERR_SCHEDULE);
    if (!whole) return;
    CHECK_CODE(conset_exchange_info(exchange, &info), CONSET_SUCCESS);
    CHECK(strcmp(info.method, "plan") == 0 && info.phases == RANKS - 1);
    CHECK_CODE(conset_start(exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_wait(exchange), CONSET_SUCCESS);
    CHECK(memcmp(to, expected, sizeof to) == 0);
    CHECK_CODE(conset_free(&exchange), CONSET_SUCCESS);
    counts[(rank + 1) % RANKS] = 251; /* sent to the next, expected from it */
    CHECK_CODE(conset_alltoallv_init(from, counts, displs, MPI_INT, to, counts, displs, MPI_INT, MPI_COMM_WORLD,
                                     options, &exchange),
               CONSET_ERR_MISMATCH);
    CHECK(strstr(conset_error_detail(), "1004 B") != NULL && strstr(conset_error_detail(), "1000 B") != NULL);
}

/* Each rank sends to the next twice, to itself, and to the one before. */
void check_neighbors(void) {
    const int next = (rank + 1) % RANKS, before = (rank + RANKS - 1) % RANKS;
    const int targets[] = {next, rank, next, before}, sources[] = {rank, before, before, next};
    const int sendcounts[] = {5, 7, 11, 0}, sdispls[] = {0, 5, 12, 23};
    const int recvcounts[] = {7, 5, 11, 0}, rdispls[] = {0, 7, 12, 23};
    double from[32], to[32], expected[32];
    conset_exchange* exchange = NULL;
    MPI_Comm graph;
    int i;
    for (i = 0; i < 32; ++i) {
        from[i] = 100 * rank + i;
        to[i] = expected[i] = -1;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 4, sources, recvcounts, 4, targets, sendcounts, MPI_INFO_NULL, 0,
                                   &graph);
    MPI_Neighbor_alltoallv(from, sendcounts, sdispls, MPI_DOUBLE, expected, recvcounts, rdispls, MPI_DOUBLE, graph);
    CHECK_CODE(conset_neighbor_alltoallv_init(from, sendcounts, sdispls, MPI_DOUBLE, to, recvcounts, rdispls,
                                              MPI_DOUBLE, graph, "machine=ring:4", &exchange),
               CONSET_SUCCESS);
    MPI_Comm_free(&graph);
    CHECK_CODE(conset_start(exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_wait(exchange), CONSET_SUCCESS);
    CHECK(memcmp(to, expected, sizeof to) == 0);
    CHECK_CODE(conset_free(&exchange), CONSET_SUCCESS);
}

/* Nobody knows what comes: rank r sends r + k numbers to rank k. */
void check_learned(void) {
    int sendcounts[RANKS], sdispls[RANKS], sources[RANKS], counts[RANKS], displs[RANKS];
    int from[RANKS * RANKS * 2], to[RANKS * RANKS * 2], k, i, at = 0, blocks = 0;
    conset_exchange* exchange = NULL;
    for (k = 0; k < RANKS; ++k) {
        sendcounts[k] = rank + k;
        sdispls[k] = at;
        for (i = 0; i < rank + k; ++i) from[at++] = 100 * rank + 10 * k + i;
    }
    CHECK_CODE(conset_alltoallv_init(from, sendcounts, sdispls, MPI_INT, NULL, NULL, NULL, MPI_INT, MPI_COMM_WORLD,
                                     NULL, &exchange),
               CONSET_SUCCESS);
    CHECK_CODE(conset_start(exchange), CONSET_ERR_STATE); /* it has nowhere to put them */
    CHECK_CODE(conset_exchange_receives(exchange, &blocks, NULL, NULL, NULL), CONSET_SUCCESS);
    CHECK(blocks == (rank == 0 ? RANKS - 1 : RANKS));
    CHECK_CODE(conset_exchange_receives(exchange, NULL, sources, counts, displs), CONSET_SUCCESS);
    CHECK_CODE(conset_alltoallv_update(exchange, from, sendcounts, sdispls, MPI_INT, to, NULL, NULL, MPI_INT),
               CONSET_SUCCESS);
    CHECK_CODE(conset_start(exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_wait(exchange), CONSET_SUCCESS);
    for (k = 0, at = 0; k < blocks; ++k) {
        CHECK(counts[k] == sources[k] + rank && displs[k] == at);
        for (i = 0; i < counts[k]; ++i) CHECK(to[at++] == 100 * sources[k] + 10 * rank + i);
    }
    CHECK_CODE(conset_free(&exchange), CONSET_SUCCESS);
}

void check_plan(const char* path) {
    const int counts[RANKS] = {1000, 1000, 1000, 1000};
    int sendcounts[RANKS], displs[RANKS], k, round, at = 0;
    char from[RANKS * 1000], to[RANKS * 1000], expected[RANKS * 1000];
    int64_t send_bytes = 0, receive_bytes = 0;
    conset_plan* plan = NULL;
    conset_exchange *exchange = NULL, *second = NULL;
    CHECK_CODE(conset_plan_read("no.plan", MPI_COMM_WORLD, &plan), CONSET_ERR_FILE);
    CHECK(plan == NULL && strstr(conset_error_detail(), "no.plan") != NULL);
    CHECK_CODE(conset_plan_read(path, MPI_COMM_SELF, &plan), CONSET_ERR_MISMATCH);
    CHECK_CODE(conset_plan_read(rank == 1 ? NULL : path, MPI_COMM_WORLD, &plan), CONSET_ERR_ARGUMENT);
    CHECK(plan == NULL);
    CHECK_CODE(conset_plan_read(path, MPI_COMM_WORLD, &plan), CONSET_SUCCESS);
    if (plan == NULL) return;
    CHECK_CODE(conset_plan_buffers(plan, &send_bytes, &receive_bytes), CONSET_SUCCESS);
    CHECK(send_bytes == (RANKS - 1) * 1000 && receive_bytes == send_bytes);
    CHECK_CODE(conset_exchange_init(plan, from, rank == 2 ? NULL : to, &exchange), CONSET_ERR_ARGUMENT);
    CHECK(exchange == NULL && strstr(conset_error_detail(), "rank 2: recvbuf") != NULL);
    CHECK_CODE(conset_exchange_init(plan, from, from + 10, &exchange), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_plan_timeout(plan, -1), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_plan_timeout(plan, 60), CONSET_SUCCESS);
    CHECK_CODE(conset_exchange_init(plan, from, to, &exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_exchange_init(plan, from, to, &second), CONSET_SUCCESS);
    CHECK_CODE(conset_plan_free(&plan), CONSET_SUCCESS);
    CHECK(plan == NULL);
    for (k = 0; k < RANKS; ++k) {
        sendcounts[k] = k == rank ? 0 : counts[k];
        displs[k] = at;
        at += sendcounts[k];
    }
    for (round = 0; round < 2; ++round) {
        fill(from, (int)sizeof from, (unsigned)(10 * round + rank));
        memset(to, 0, sizeof to);
        memset(expected, 0, sizeof expected);
        MPI_Alltoallv(from, sendcounts, displs, MPI_BYTE, expected, sendcounts, displs, MPI_BYTE, MPI_COMM_WORLD);
        CHECK_CODE(conset_start(round ? second : exchange), CONSET_SUCCESS);
        CHECK_CODE(conset_wait(round ? second : exchange), CONSET_SUCCESS);
        CHECK(memcmp(to, expected, sizeof to) == 0);
    }
    CHECK_CODE(conset_exchange_receives(second, &k, NULL, NULL, NULL), CONSET_ERR_STATE);
    CHECK_CODE(conset_free(&exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_free(&second), CONSET_SUCCESS);
}
