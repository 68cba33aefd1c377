/* An all-to-all exchange that is scheduled while the program runs, beside MPI_Alltoallv.
 *
 *     mpiexec -n 4 ./alltoallv ["machine=torus:2x2;method=auto"]
 *
 * Every rank knows only what it sends; which ranks send to it is learned (recvcounts NULL). Then the traffic changes,
 * as in an adaptive mesh, and the exchange is updated.
 */
#include <mpi.h>

#include <conset.h>

#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 5000 };

/* What both libraries exchange. */
typedef struct Traffic {
    int rank, ranks;
    int *sendcounts, *sdispls, *recvcounts, *rdispls;
    double *send, *expected, *received;
    int sent, got;
} Traffic;

static void check(const char* call, int code) {
    if (code != CONSET_SUCCESS) {
        fprintf(stderr, "alltoallv: %s: %s: %s\n", call, conset_error_string(code), conset_error_detail());
        MPI_Abort(MPI_COMM_WORLD, code);
    }
}

static void* allocate(size_t count, size_t size) {
    void* memory = calloc(count ? count : 1, size);
    if (!memory) MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

static int sum_before(const int* counts, int* displs, int ranks) {
    int sum = 0;
    for (int r = 0; r < ranks; ++r) {
        displs[r] = sum;
        sum += counts[r];
    }
    return sum;
}

/* How many doubles go from one rank to another in a round: about every second pair has none. Round 1 is round 0 with
 * what rank 1 sends doubled. */
static int count_of(int source, int target, int round) {
    unsigned mixed = (unsigned)(source * 31 + target * 17 + 5) * 2654435761u;
    int count = (mixed >> 13) % 2 ? (int)((mixed >> 16) % LARGEST) : 0;
    return round && source == 1 ? 2 * count : count;
}

static Traffic make_traffic(int round) {
    Traffic t;
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.ranks);
    size_t ranks = (size_t)t.ranks;
    t.sendcounts = allocate(ranks, sizeof(int)), t.sdispls = allocate(ranks, sizeof(int));
    t.recvcounts = allocate(ranks, sizeof(int)), t.rdispls = allocate(ranks, sizeof(int));
    for (int r = 0; r < t.ranks; ++r) {
        t.sendcounts[r] = count_of(t.rank, r, round);
        t.recvcounts[r] = count_of(r, t.rank, round);
    }
    t.sent = sum_before(t.sendcounts, t.sdispls, t.ranks);
    t.got = sum_before(t.recvcounts, t.rdispls, t.ranks);
    t.send = allocate((size_t)t.sent, sizeof(double));
    t.expected = allocate((size_t)t.got, sizeof(double)), t.received = allocate((size_t)t.got, sizeof(double));
    return t;
}

static void free_traffic(Traffic* t) {
    free(t->sendcounts), free(t->sdispls), free(t->recvcounts), free(t->rdispls);
    free(t->send), free(t->expected), free(t->received);
}

/* Exchanges by both; how many values differ. */
static int compare(Traffic* t, conset_exchange* exchange) {
    int wrong = 0;
    for (int repetition = 0; repetition < 3; ++repetition) {
        for (int k = 0; k < t->sent; ++k) t->send[k] = t->rank * 1e6 + repetition * 1e5 + k;
        for (int k = 0; k < t->got; ++k) t->received[k] = -1;
        check("conset_start", conset_start(exchange));
        for (int done = 0; !done;) check("conset_progress", conset_progress(exchange, &done));
        check("conset_wait", conset_wait(exchange));
        MPI_Alltoallv(t->send, t->sendcounts, t->sdispls, MPI_DOUBLE, t->expected, t->recvcounts, t->rdispls,
                      MPI_DOUBLE, MPI_COMM_WORLD);
        for (int k = 0; k < t->got; ++k) wrong += t->received[k] != t->expected[k];
    }
    return wrong;
}

/* Blocks that were learned must be those of MPI_Alltoallv: by source, without gaps. */
static int compare_sources(const Traffic* t, const conset_exchange* exchange) {
    int blocks = 0, wrong = 0, next = 0;
    check("conset_exchange_receives", conset_exchange_receives(exchange, &blocks, NULL, NULL, NULL));
    int *source = allocate((size_t)blocks, sizeof(int)), *count = allocate((size_t)blocks, sizeof(int));
    int* displ = allocate((size_t)blocks, sizeof(int));
    check("conset_exchange_receives", conset_exchange_receives(exchange, &blocks, source, count, displ));
    for (int r = 0; r < t->ranks; ++r) {
        if (!t->recvcounts[r]) continue;
        wrong += next >= blocks || source[next] != r || count[next] != t->recvcounts[r] || displ[next] != t->rdispls[r];
        ++next;
    }
    free(source), free(count), free(displ);
    return wrong + (next != blocks);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const char* options = argc > 1 ? argv[1] : "timeout=30s";
    conset_exchange* exchange = NULL;
    conset_info info;
    int wrong, all;

    Traffic before = make_traffic(0), after = make_traffic(1);
    check("conset_alltoallv_init",
          conset_alltoallv_init(before.send, before.sendcounts, before.sdispls, MPI_DOUBLE, before.received, NULL, NULL,
                                MPI_DOUBLE, MPI_COMM_WORLD, options, &exchange));
    wrong = compare_sources(&before, exchange) + compare(&before, exchange);
    check("conset_alltoallv_update",
          conset_alltoallv_update(exchange, after.send, after.sendcounts, after.sdispls, MPI_DOUBLE, after.received,
                                  after.recvcounts, after.rdispls, MPI_DOUBLE));
    wrong += compare(&after, exchange);
    check("conset_exchange_info", conset_exchange_info(exchange, &info));
    check("conset_free", conset_free(&exchange));

    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (before.rank == 0)
        printf("alltoallv: method %s, combine %s, sync %s, %ld phases, %d wrong values\n", info.method, info.combine,
               info.sync, (long)info.phases, all);
    free_traffic(&before), free_traffic(&after);
    MPI_Finalize();
    return all != 0;
}
