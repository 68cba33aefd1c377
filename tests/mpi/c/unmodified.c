/* An MPI program that does not know conset: `unmodified SCENARIO`, one of the table at the end.
 *
 * Rank 0 prints the scenario and a digest of all bytes that the ranks received. It is the same whether the program is
 * run alone, recorded or intercepted. `tests/mpi/test_unmodified.py` computes the bytes of each pair by formulas. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HAS_PERSISTENT_COLLECTIVES (MPI_VERSION >= 4)
#define HAS_LARGE_COUNTS (MPI_VERSION >= 4)
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAS_SESSIONS 1
#else
#define HAS_SESSIONS 0
#endif

enum { THREADS = 4, EVEN = 1000, CALLS = 12, GAP = 3 };

static int rank, ranks;
static const char* program;
static __thread unsigned long long digest = 14695981039346656037ull;

/* FNV-1a. */
static void take(const void* received, size_t bytes) {
    const unsigned char* byte = received;
    size_t k;
    for (k = 0; k < bytes; ++k) digest = (digest ^ byte[k]) * 1099511628211ull;
}

static void print_digest(const char* scenario, MPI_Comm comm) {
    unsigned long long* all = calloc((size_t)ranks, sizeof *all);
    const unsigned long long mine = digest;
    MPI_Gather(&mine, 1, MPI_UNSIGNED_LONG_LONG, all, 1, MPI_UNSIGNED_LONG_LONG, 0, comm);
    take(all, (size_t)ranks * sizeof *all);
    if (rank == 0) printf("%s %016llx\n", scenario, digest);
    fflush(stdout);
    free(all);
}

static void know_ranks(MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
}

/* Each element is known by its call, its sender, its receiver and its place. */
static int value(int call, int from, int to, int k) { return call * 100000007 + from * 1000003 + to * 10007 + k * 31; }

/* Elements of 4 bytes that one rank of a communicator sends to another; zero for about every fourth pair. */
static int count_of(int call, int from, int to) { return (from * 31 + to * 17 + call * 7) % 4 * (25 + 10 * to + from); }

/* The buffers of one MPI_Alltoallv. Between blocks there are gaps, which nothing must be written to. */
typedef struct {
    int n, me, elements_in;
    int *out, *in, *sent, *sent_at, *received, *received_at, *sent_byte, *received_byte;
    MPI_Datatype* types;
} Blocks;

static Blocks make_blocks(MPI_Comm comm, int call) {
    Blocks b;
    int k, i, out = 0, in = 0;
    MPI_Comm_size(comm, &b.n);
    MPI_Comm_rank(comm, &b.me);
    b.sent = malloc(6 * (size_t)b.n * sizeof(int));
    b.sent_at = b.sent + b.n;
    b.received = b.sent_at + b.n;
    b.received_at = b.received + b.n;
    b.sent_byte = b.received_at + b.n;
    b.received_byte = b.sent_byte + b.n;
    b.types = malloc((size_t)b.n * sizeof *b.types);
    for (k = 0; k < b.n; ++k) {
        b.sent[k] = count_of(call, b.me, k);
        b.received[k] = count_of(call, k, b.me);
        b.sent_at[k] = out;
        b.received_at[k] = in;
        b.sent_byte[k] = 4 * out;
        b.received_byte[k] = 4 * in;
        b.types[k] = MPI_INT;
        out += b.sent[k] + k % GAP;
        in += b.received[k] + k % GAP;
    }
    b.elements_in = in;
    b.out = calloc((size_t)out + 1, sizeof(int));
    b.in = malloc(((size_t)in + 1) * sizeof(int));
    for (k = 0; k < b.n; ++k)
        for (i = 0; i < b.sent[k]; ++i) b.out[b.sent_at[k] + i] = value(call, b.me, k, i);
    for (i = 0; i <= in; ++i) b.in[i] = -1;
    return b;
}

static void end_blocks(Blocks* b) {
    take(b->in, ((size_t)b->elements_in + 1) * sizeof(int));
    free(b->out);
    free(b->in);
    free(b->sent);
    free(b->types);
}

static void exchange_uneven(MPI_Comm comm, int call) {
    Blocks b = make_blocks(comm, call);
    MPI_Alltoallv(b.out, b.sent, b.sent_at, MPI_INT, b.in, b.received, b.received_at, MPI_INT, comm);
    end_blocks(&b);
}

static int* fill_even(MPI_Comm comm, int call, int count) {
    int n, me, k, i, *out;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    out = malloc((size_t)n * (size_t)count * sizeof(int));
    for (k = 0; k < n; ++k)
        for (i = 0; i < count; ++i) out[k * count + i] = value(call, me, k, i);
    return out;
}

static void exchange_even(MPI_Comm comm, int call, int count) {
    int n, *out = fill_even(comm, call, count), *in;
    MPI_Comm_size(comm, &n);
    in = calloc((size_t)n * (size_t)count, sizeof(int));
    MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, comm);
    take(in, (size_t)n * (size_t)count * sizeof(int));
    free(out);
    free(in);
}

/* Even blocks: small, large, and with another type at the receiver. */
static void alltoall(void) {
    MPI_Datatype ten;
    int call, *out = fill_even(MPI_COMM_WORLD, 99, EVEN), *in = calloc((size_t)ranks * EVEN, sizeof(int));
    for (call = 0; call < CALLS; ++call) exchange_even(MPI_COMM_WORLD, call, EVEN);
    exchange_even(MPI_COMM_WORLD, call, 50 * EVEN);
    exchange_even(MPI_COMM_WORLD, call, 0);
    exchange_even(MPI_COMM_SELF, call, EVEN);
    MPI_Type_contiguous(10, MPI_INT, &ten);
    MPI_Type_commit(&ten);
    MPI_Alltoall(out, EVEN, MPI_INT, in, EVEN / 10, ten, MPI_COMM_WORLD);
    take(in, (size_t)ranks * EVEN * sizeof(int));
    /* the profiling names are the same call */
    PMPI_Alltoall(out, EVEN / 10, ten, in, EVEN, MPI_INT, MPI_COMM_WORLD);
    take(in, (size_t)ranks * EVEN * sizeof(int));
    MPI_Type_free(&ten);
    free(out);
    free(in);
}

/* Uneven blocks whose counts repeat after 3 calls, then others at each call. */
static void alltoallv(void) {
    int call;
    for (call = 0; call < CALLS; ++call) exchange_uneven(MPI_COMM_WORLD, call % 3);
    for (call = 0; call < CALLS; ++call) exchange_uneven(MPI_COMM_WORLD, call);
}

/* Even blocks, as many calls as a decision on line needs. */
static void many(void) {
    int call;
    for (call = 0; call < 60; ++call) exchange_even(MPI_COMM_WORLD, call, EVEN);
}

/* The transpose of a square matrix of doubles in slabs of rows: out of a vector type, into a subarray. */
static void transpose(int call) {
    const int rows = 3, n = rows * ranks;
    double *slab = malloc((size_t)rows * (size_t)n * sizeof *slab),
           *turned = malloc((size_t)rows * (size_t)n * sizeof *turned);
    int *one = malloc((size_t)ranks * sizeof(int)), *zero = calloc((size_t)ranks, sizeof(int)), k, i;
    int* bytes = malloc((size_t)ranks * sizeof(int));
    MPI_Datatype *out = malloc((size_t)ranks * sizeof *out), *in = malloc((size_t)ranks * sizeof *in);
    for (i = 0; i < rows * n; ++i) {
        slab[i] = value(call, rank, 0, i);
        turned[i] = -1;
    }
    for (k = 0; k < ranks; ++k) {
        const int sizes[2] = {n, rows}, block[2] = {rows, rows}, start[2] = {k * rows, 0};
        one[k] = 1;
        bytes[k] = k * rows * (int)sizeof(double);
        MPI_Type_vector(rows, rows, n, MPI_DOUBLE, &out[k]);
        MPI_Type_commit(&out[k]);
        MPI_Type_create_subarray(2, sizes, block, start, MPI_ORDER_C, MPI_DOUBLE, &in[k]);
        MPI_Type_commit(&in[k]);
    }
    MPI_Alltoallw(slab, one, bytes, out, turned, one, zero, in, MPI_COMM_WORLD);
    take(turned, (size_t)rows * (size_t)n * sizeof *turned);
    for (k = 0; k < ranks; ++k) {
        MPI_Type_free(&out[k]);
        MPI_Type_free(&in[k]);
    }
    free(slab);
    free(turned);
    free(one);
    free(zero);
    free(bytes);
    free(out);
    free(in);
}

/* Types that hold absolute addresses: both buffers are MPI_BOTTOM. */
static void exchange_absolute(int call) {
    Blocks b = make_blocks(MPI_COMM_WORLD, call);
    MPI_Datatype* in = malloc((size_t)ranks * sizeof *in);
    int *one = malloc((size_t)ranks * sizeof(int)), *zero = calloc((size_t)ranks, sizeof(int)), k;
    for (k = 0; k < ranks; ++k) {
        MPI_Aint address;
        one[k] = 1;
        MPI_Get_address(b.out + b.sent_at[k], &address);
        MPI_Type_create_hindexed(1, &b.sent[k], &address, MPI_INT, &b.types[k]);
        MPI_Type_commit(&b.types[k]);
        MPI_Get_address(b.in + b.received_at[k], &address);
        MPI_Type_create_hindexed(1, &b.received[k], &address, MPI_INT, &in[k]);
        MPI_Type_commit(&in[k]);
    }
    MPI_Alltoallw(MPI_BOTTOM, one, zero, b.types, MPI_BOTTOM, one, zero, in, MPI_COMM_WORLD);
    for (k = 0; k < ranks; ++k) {
        MPI_Type_free(&b.types[k]);
        MPI_Type_free(&in[k]);
    }
    free(in);
    free(one);
    free(zero);
    end_blocks(&b);
}

static void alltoallw(void) {
    int call;
    for (call = 0; call < CALLS; ++call) {
        transpose(call);
        exchange_absolute(call % 3);
    }
}

/* Rows of 3 ranks and columns in turn, by MPI_Comm_split and as a grid; at last all ranks in reversed order. */
static void subcommunicators(void) {
    const int dimensions[2] = {ranks / 3, 3}, periodic[2] = {0, 0}, keep_row[2] = {0, 1}, keep_column[2] = {1, 0};
    MPI_Comm row, column, grid, reversed;
    int call;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 3, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3, rank, &column);
    for (call = 0; call < CALLS; ++call) {
        exchange_uneven(row, call % 2);
        exchange_even(column, call, 100);
    }
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periodic, 0, &grid);
    MPI_Cart_sub(grid, keep_row, &row);
    MPI_Cart_sub(grid, keep_column, &column);
    for (call = 0; call < CALLS; ++call) {
        exchange_even(column, call, 100);
        exchange_even(row, call, 10);
    }
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
    MPI_Comm_free(&grid);
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reversed);
    for (call = 0; call < CALLS; ++call) exchange_uneven(reversed, call % 2);
    MPI_Comm_free(&reversed);
}

/* MPI_IN_PLACE, between exchanges with two buffers. */
static void in_place(void) {
    int *both = fill_even(MPI_COMM_WORLD, 0, EVEN), *counts = malloc((size_t)ranks * 3 * sizeof(int)), k, call;
    MPI_Datatype* types = malloc((size_t)ranks * sizeof *types);
    for (k = 0; k < ranks; ++k) {
        counts[k] = 100 + 10 * (rank + k); /* the same in both directions */
        counts[ranks + k] = k * EVEN;
        counts[2 * ranks + k] = 4 * k * EVEN;
        types[k] = MPI_INT;
    }
    for (call = 0; call < 3; ++call) {
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, both, EVEN, MPI_INT, MPI_COMM_WORLD);
        take(both, (size_t)ranks * EVEN * sizeof(int));
        exchange_even(MPI_COMM_WORLD, call, EVEN);
        MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, both, counts, counts + ranks, MPI_INT,
                      MPI_COMM_WORLD);
        take(both, (size_t)ranks * EVEN * sizeof(int));
        exchange_uneven(MPI_COMM_WORLD, call);
        MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, both, counts, counts + 2 * ranks, types, MPI_COMM_WORLD);
        take(both, (size_t)ranks * EVEN * sizeof(int));
    }
    free(both);
    free(counts);
    free(types);
}

/* Only what a rank sends to itself. */
static void self(void) {
    int *counts = calloc((size_t)ranks, sizeof(int)), *starts = calloc((size_t)ranks, sizeof(int)), out[EVEN], k, call;
    counts[rank] = EVEN;
    for (call = 0; call < CALLS; ++call) {
        int in[EVEN];
        for (k = 0; k < EVEN; ++k) out[k] = value(call, rank, rank, k);
        MPI_Alltoallv(out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, MPI_COMM_WORLD);
        take(in, sizeof in);
    }
    free(counts);
    free(starts);
}

#if HAS_LARGE_COUNTS
static void large_counts(void) {
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    int call, k, in[100], again[100];
    MPI_Request requests[2];
    for (call = 0; call < CALLS; ++call) {
        Blocks b = make_blocks(MPI_COMM_WORLD, call % 3);
        MPI_Count *counts = malloc((size_t)ranks * 2 * sizeof *counts), *received = counts + ranks;
        MPI_Aint *starts = malloc((size_t)ranks * 4 * sizeof *starts), *received_at = starts + ranks;
        MPI_Aint *bytes = starts + 2 * ranks, *received_byte = starts + 3 * ranks;
        int *even = fill_even(MPI_COMM_WORLD, call, EVEN), *even_in = malloc((size_t)ranks * EVEN * sizeof(int));
        for (k = 0; k < ranks; ++k) {
            counts[k] = b.sent[k];
            received[k] = b.received[k];
            starts[k] = b.sent_at[k];
            received_at[k] = b.received_at[k];
            bytes[k] = b.sent_byte[k];
            received_byte[k] = b.received_byte[k];
        }
        MPI_Alltoall_c(even, EVEN, MPI_INT, even_in, EVEN, MPI_INT, MPI_COMM_WORLD);
        take(even_in, (size_t)ranks * EVEN * sizeof(int));
        MPI_Alltoallv_c(b.out, counts, starts, MPI_INT, b.in, received, received_at, MPI_INT, MPI_COMM_WORLD);
        take(b.in, (size_t)b.elements_in * sizeof(int));
        MPI_Alltoallw_c(b.out, counts, bytes, b.types, b.in, received, received_byte, b.types, MPI_COMM_WORLD);
        end_blocks(&b);
        free(counts);
        free(starts);
        free(even);
        free(even_in);
    }
    for (k = 0; k < 100; ++k) in[k] = again[k] = value(0, rank, next, k);
    MPI_Sendrecv_replace_c(in, 100, MPI_INT, next, 0, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    take(in, sizeof in);
    MPI_Irecv_c(in, 100, MPI_INT, before, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend_c(again, 50, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    take(in, sizeof in);
    MPI_Isendrecv(again, 25, MPI_INT, next, 0, in, 100, MPI_INT, before, 0, MPI_COMM_WORLD, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    take(in, sizeof in);
}
#endif

/* Communicators come and go, and their handles are used again. */
static void communicators(void) {
    MPI_Comm comm;
    int k;
    for (k = 0; k < 200; ++k) {
        if (k % 2)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        else
            MPI_Comm_split(MPI_COMM_WORLD, 0, k % 4 ? rank : -rank, &comm);
        exchange_uneven(comm, k % 3);
        MPI_Comm_free(&comm);
    }
}

/* Communicators that are kept: with one more for each that exchanges there would be more than MPICH permits (2,048). */
static void kept(void) {
    enum { ALONE = 1300, TOGETHER = 400 };
    MPI_Comm* comms = malloc((ALONE + TOGETHER) * sizeof *comms);
    int k;
    for (k = 0; k < ALONE; ++k) MPI_Comm_dup(MPI_COMM_SELF, &comms[k]);
    for (; k < ALONE + TOGETHER; ++k) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[k]);
        exchange_even(comms[k], k, 1);
    }
    for (k = 0; k < ALONE + TOGETHER; ++k) MPI_Comm_free(&comms[k]);
    free(comms);
}

/* The program's attributes are copied and deleted as often as without conset. */
static int copied, deleted;
static int copy_attribute(MPI_Comm comm, int key, void* extra, void* from, void* to, int* flag) {
    (void)comm, (void)key, (void)extra;
    ++copied;
    *(void**)to = from;
    *flag = 1;
    return MPI_SUCCESS;
}
static int delete_attribute(MPI_Comm comm, int key, void* attribute, void* extra) {
    (void)comm, (void)key, (void)attribute, (void)extra;
    ++deleted;
    return MPI_SUCCESS;
}
static void attributes(void) {
    MPI_Comm one, two;
    int key, call;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_set_attr(one, key, &copied);
    for (call = 0; call < 3; ++call) exchange_even(one, call, EVEN);
    MPI_Comm_dup(one, &two);
    for (call = 0; call < 3; ++call) exchange_even(two, call, EVEN);
    MPI_Comm_free(&one);
    for (call = 0; call < 3; ++call) exchange_even(two, call, EVEN);
    MPI_Comm_free(&two);
    MPI_Comm_free_keyval(&key);
    take(&copied, sizeof copied);
    take(&deleted, sizeof deleted);
}

/* A receive from any source and a non-blocking exchange are pending while another exchange runs. */
static void pending(void) {
    const int next = (rank + 1) % ranks;
    int call, sent = rank, got, *out = fill_even(MPI_COMM_WORLD, 50, EVEN),
              *in = calloc((size_t)ranks * EVEN, sizeof(int));
    MPI_Request any, all;
    for (call = 0; call < CALLS; ++call) {
        got = -1;
        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any);
        MPI_Ialltoall(out, EVEN, MPI_INT, in, EVEN, MPI_INT, MPI_COMM_WORLD, &all);
        exchange_uneven(MPI_COMM_WORLD, call % 3);
        MPI_Send(&sent, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
        MPI_Wait(&any, MPI_STATUS_IGNORE);
        MPI_Wait(&all, MPI_STATUS_IGNORE);
        take(&got, sizeof got);
        take(in, (size_t)ranks * EVEN * sizeof(int));
    }
    free(out);
    free(in);
}

/* Every kind of non-blocking and persistent exchange, twice each. */
static void pending_kinds(void) {
    int call;
    MPI_Request request;
    for (call = 0; call < 2; ++call) {
        Blocks b = make_blocks(MPI_COMM_WORLD, call), c = make_blocks(MPI_COMM_WORLD, call);
        int *out = fill_even(MPI_COMM_WORLD, call, EVEN), *in = calloc((size_t)ranks * EVEN, sizeof(int));
        MPI_Ialltoall(out, EVEN, MPI_INT, in, EVEN, MPI_INT, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Ialltoallv(b.out, b.sent, b.sent_at, MPI_INT, b.in, b.received, b.received_at, MPI_INT, MPI_COMM_WORLD,
                       &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Ialltoallw(c.out, c.sent, c.sent_byte, c.types, c.in, c.received, c.received_byte, c.types, MPI_COMM_WORLD,
                       &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        take(in, (size_t)ranks * EVEN * sizeof(int));
        end_blocks(&b);
        end_blocks(&c);
        free(out);
        free(in);
    }
#if HAS_PERSISTENT_COLLECTIVES
    {
        Blocks b = make_blocks(MPI_COMM_WORLD, 0), c = make_blocks(MPI_COMM_WORLD, 1);
        int *out = fill_even(MPI_COMM_WORLD, call, EVEN), *in = calloc((size_t)ranks * EVEN, sizeof(int)), k;
        MPI_Request requests[3];
        MPI_Alltoall_init(out, EVEN, MPI_INT, in, EVEN, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
        MPI_Alltoallv_init(b.out, b.sent, b.sent_at, MPI_INT, b.in, b.received, b.received_at, MPI_INT, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &requests[1]);
        MPI_Alltoallw_init(c.out, c.sent, c.sent_byte, c.types, c.in, c.received, c.received_byte, c.types,
                           MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Start(&requests[1]);
        MPI_Start(&requests[2]);
        MPI_Waitall(2, requests + 1, MPI_STATUSES_IGNORE);
        MPI_Startall(3, requests);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (k = 0; k < 3; ++k) MPI_Request_free(&requests[k]);
        take(in, (size_t)ranks * EVEN * sizeof(int));
        end_blocks(&b);
        end_blocks(&c);
        free(out);
        free(in);
    }
#endif
}

/* Rank r sends 100 (r + 1) + k bytes to the next rank in the k-th of the ways that point-to-point has: 10 once, 4 as
 * persistent requests, which are started three times. */
static void point_to_point(void) {
    enum { WAYS = 10, KEPT = 4 };
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, room = 100 * ranks + WAYS + KEPT;
    const int buffered = (WAYS + 3 * KEPT) * (room + MPI_BSEND_OVERHEAD);
    char *out = calloc((size_t)room, 1), *in = calloc((size_t)room, KEPT), *buffer = malloc((size_t)buffered);
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request, sent, kept_requests[2 * KEPT];
    int k, size, start;
    MPI_Buffer_attach(buffer, buffered);
    for (k = 0; k < room; ++k) out[k] = (char)value(0, rank, next, k);
    for (k = 0; k < WAYS; ++k) {
        size = 100 * (rank + 1) + k;
        memset(in, 0, (size_t)room);
        if (k < 8) MPI_Irecv(in, room, MPI_BYTE, before, k, comm, &request);
        MPI_Barrier(comm); /* for the ready sends */
        sent = MPI_REQUEST_NULL;
        switch (k) {
            case 0: MPI_Send(out, size, MPI_BYTE, next, k, comm); break;
            case 1: MPI_Ssend(out, size, MPI_BYTE, next, k, comm); break;
            case 2: MPI_Bsend(out, size, MPI_BYTE, next, k, comm); break;
            case 3: MPI_Rsend(out, size, MPI_BYTE, next, k, comm); break;
            case 4: MPI_Isend(out, size, MPI_BYTE, next, k, comm, &sent); break;
            case 5: MPI_Issend(out, size, MPI_BYTE, next, k, comm, &sent); break;
            case 6: MPI_Ibsend(out, size, MPI_BYTE, next, k, comm, &sent); break;
            case 7: MPI_Irsend(out, size, MPI_BYTE, next, k, comm, &sent); break;
            case 8:
                MPI_Sendrecv(out, size, MPI_BYTE, next, k, in, room, MPI_BYTE, before, k, comm, MPI_STATUS_IGNORE);
                break;
            default: /* both directions have the same size */
                size = 100 + k;
                memcpy(in, out, (size_t)size);
                MPI_Sendrecv_replace(in, size, MPI_BYTE, next, k, before, k, comm, MPI_STATUS_IGNORE);
        }
        if (k < 8) MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        take(in, (size_t)room);
    }
    for (k = 0; k < KEPT; ++k) {
        size = 100 * (rank + 1) + WAYS + k;
        MPI_Recv_init(in + k * room, room, MPI_BYTE, before, WAYS + k, comm, &kept_requests[k]);
        if (k == 0) MPI_Send_init(out, size, MPI_BYTE, next, WAYS + k, comm, &kept_requests[KEPT + k]);
        if (k == 1) MPI_Ssend_init(out, size, MPI_BYTE, next, WAYS + k, comm, &kept_requests[KEPT + k]);
        if (k == 2) MPI_Bsend_init(out, size, MPI_BYTE, next, WAYS + k, comm, &kept_requests[KEPT + k]);
        if (k == 3) MPI_Rsend_init(out, size, MPI_BYTE, next, WAYS + k, comm, &kept_requests[KEPT + k]);
    }
    for (start = 0; start < 3; ++start) {
        memset(in, 0, (size_t)room * KEPT);
        MPI_Startall(KEPT, kept_requests);
        MPI_Barrier(comm);
        if (start == 1)
            for (k = 0; k < KEPT; ++k) MPI_Start(&kept_requests[KEPT + k]);
        else
            MPI_Startall(KEPT, kept_requests + KEPT);
        MPI_Waitall(2 * KEPT, kept_requests, MPI_STATUSES_IGNORE);
        take(in, (size_t)room * KEPT);
    }
    for (k = 0; k < 2 * KEPT; ++k) MPI_Request_free(&kept_requests[k]);
    MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm);
    MPI_Buffer_detach(&buffer, &k);
    free(out);
    free(in);
    free(buffer);
}

/* The other collectives, whose bytes are only counted. */
static void collectives(void) {
    double one = rank, *all = malloc((size_t)ranks * sizeof *all), sum;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    one = rank;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    take(&sum, sizeof sum);
    MPI_Allgather(&one, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    take(all, (size_t)ranks * sizeof *all);
    MPI_Scatter(all, 1, MPI_DOUBLE, &sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    take(&sum, sizeof sum);
    free(all);
}

static MPI_Comm of_threads[THREADS];
static void* exchange_in_thread(void* given) {
    const int thread = *(const int*)given;
    unsigned long long* found = malloc(sizeof *found);
    int call;
    for (call = 0; call < CALLS; ++call) {
        exchange_uneven(of_threads[thread], call % 3);
        exchange_even(of_threads[thread], THREADS * call + thread, 100);
    }
    *found = digest;
    return found;
}
/* Threads that exchange at the same time, each on its own communicator. */
static void threads(void) {
    pthread_t started[THREADS];
    int k, numbers[THREADS], provided;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) return;
    for (k = 0; k < THREADS; ++k) {
        numbers[k] = k;
        MPI_Comm_dup(MPI_COMM_WORLD, &of_threads[k]);
        pthread_create(&started[k], NULL, exchange_in_thread, &numbers[k]);
    }
    for (k = 0; k < THREADS; ++k) {
        void* found;
        pthread_join(started[k], &found);
        take(found, sizeof(unsigned long long));
        free(found);
        MPI_Comm_free(&of_threads[k]);
    }
}

/* Processes that are started by this one have the same environment, and a fork has the same memory. */
static void children(void) {
    int status, call;
    pid_t child;
    for (call = 0; call < 3; ++call) exchange_even(MPI_COMM_WORLD, call, EVEN);
    child = fork();
    if (child == 0) exit(0);
    waitpid(child, &status, 0);
    take(&status, sizeof status);
    status = system("true");
    take(&status, sizeof status);
    for (call = 0; call < 3; ++call) exchange_even(MPI_COMM_WORLD, call, EVEN);
}

/* The ends of programs. Launchers end the other ranks and lose what they have not printed yet. */
static void ends_without_finalize(void) {
    exchange_even(MPI_COMM_WORLD, 0, EVEN);
    print_digest("exit", MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(200000);
    exit(0);
}
static void ends_by_abort(void) {
    exchange_even(MPI_COMM_WORLD, 0, EVEN);
    print_digest("abort", MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(200000);
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
    for (;;) pause();
}
static void ends_by_signal(void) {
    int call;
    for (call = 0;; ++call) {
        if (rank == 1 && call == 10) raise(SIGKILL);
        exchange_even(MPI_COMM_WORLD, call, EVEN);
    }
}

/* Rank 1 has room for less than rank 2 sends. */
static void exchange_too_long(MPI_Comm comm) {
    Blocks b = make_blocks(comm, 0);
    int k;
    for (k = 0; k < ranks; ++k) {
        b.sent[k] = b.received[k] = 10;
        b.sent_at[k] = b.received_at[k] = 0;
    }
    if (rank == 1) b.received[2] = 1;
    MPI_Alltoallv(b.out, b.sent, b.sent_at, MPI_INT, b.in, b.received, b.received_at, MPI_INT, comm);
    free(b.out);
    free(b.in);
    free(b.sent);
    free(b.types);
}
static int handled, handled_class;
static MPI_Comm handled_comm;
static void handle_error(MPI_Comm* comm, int* code, ...) {
    ++handled;
    handled_comm = *comm;
    MPI_Error_class(*code, &handled_class);
}
/* The program's error handler is called, on its communicator. */
static void error_handler(void) {
    MPI_Errhandler handler;
    MPI_Comm comm;
    MPI_Comm_create_errhandler(handle_error, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    exchange_too_long(comm);
    if (rank == 1) {
        printf("handler: %d, %s communicator, %s\n", handled, handled_comm == comm ? "its" : "another",
               handled_class == MPI_SUCCESS ? "no error" : "an error");
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    exchange_even(MPI_COMM_WORLD, 0, EVEN);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}
/* The default handler ends the job. */
static void fatal_error(void) {
    exchange_too_long(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}
/* Arguments that MPI refuses, on all ranks: the codes that are returned. The errors are those of the communicator only:
 * the handler of the world would end the job. */
static void refused(void) {
    int *out = fill_even(MPI_COMM_WORLD, 0, EVEN), *in = calloc((size_t)ranks * EVEN, sizeof(int)), found[5], k;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    exchange_even(comm, 0, EVEN);
    found[0] = MPI_Alltoall(out, -1, MPI_INT, in, -1, MPI_INT, comm);
    found[1] = MPI_Alltoall(out, 1, MPI_DATATYPE_NULL, in, 1, MPI_DATATYPE_NULL, comm);
    found[2] = MPI_Send(out, 1, MPI_DATATYPE_NULL, (rank + 1) % ranks, 0, comm);
    found[3] = MPI_Send(out, 1, MPI_INT, ranks, 0, comm);
    found[4] = MPI_Alltoall(out, EVEN, MPI_INT, in, EVEN, MPI_INT, comm);
    for (k = 0; k < 5; ++k) {
        MPI_Error_class(found[k], &found[k]);
        take(&found[k], sizeof(int));
    }
    take(in, (size_t)ranks * EVEN * sizeof(int));
    exchange_even(comm, 0, EVEN);
    MPI_Comm_free(&comm);
    free(out);
    free(in);
}

/* Three children of their own world; they exchange, also with the parents, and send to them. */
static void spawned(void) {
    enum { CHILDREN = 3 };
    char name[] = "child", *arguments[] = {name, NULL};
    MPI_Comm family, together, parent;
    int call, got = 0;
    MPI_Comm_get_parent(&parent);
    for (call = 0; call < 3; ++call) exchange_even(MPI_COMM_WORLD, call, EVEN);
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(program, arguments, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &family, MPI_ERRCODES_IGNORE);
    else
        family = parent;
    if (rank == 0) {
        if (parent == MPI_COMM_NULL)
            for (call = 0; call < 10; ++call) MPI_Send(&call, 1, MPI_INT, 0, 0, family);
        else
            for (call = 0; call < 10; ++call) MPI_Recv(&got, 1, MPI_INT, 0, 0, family, MPI_STATUS_IGNORE);
    }
    MPI_Intercomm_merge(family, parent != MPI_COMM_NULL, &together);
    for (call = 0; call < 3; ++call) exchange_uneven(together, call);
    MPI_Comm_free(&together);
    MPI_Comm_disconnect(&family);
    for (call = 0; call < 3; ++call) exchange_even(MPI_COMM_WORLD, call, EVEN);
}

/* Lower and upper half of the ranks, as two groups of one inter-communicator. */
static void intercommunicator(void) {
    const int upper = rank >= ranks / 2;
    MPI_Comm half, both;
    int call;
    MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : ranks / 2, 0, &both);
    for (call = 0; call < 3; ++call) {
        int remote, *out = fill_even(MPI_COMM_WORLD, call, 100), *in = calloc((size_t)ranks * 100, sizeof(int));
        MPI_Comm_remote_size(both, &remote);
        MPI_Alltoall(out, 100, MPI_INT, in, 100, MPI_INT, both);
        take(in, (size_t)ranks * 100 * sizeof(int));
        free(out);
        free(in);
    }
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

#if HAS_SESSIONS
/* A session without MPI_Init. (One after the other: MPICH 5.0 hangs now and then, Open MPI 5.0 crashes.) */
static void in_session(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int call;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "unmodified", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    know_ranks(comm);
    for (call = 0; call < CALLS; ++call) exchange_uneven(comm, call % 3);
    print_digest("session", comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}
#endif

/* An exchange that MPI_Finalize calls, when it deletes an attribute. */
static int exchange_at_the_end(MPI_Comm comm, int key, void* attribute, void* extra) {
    (void)comm, (void)key, (void)attribute, (void)extra;
    exchange_even(MPI_COMM_WORLD, 9, EVEN);
    print_digest("finalize", MPI_COMM_WORLD);
    return MPI_SUCCESS;
}
static void finalize(void) {
    int key, call;
    for (call = 0; call < 3; ++call) exchange_even(MPI_COMM_WORLD, call, EVEN);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, exchange_at_the_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}

static const struct {
    const char* name;
    void (*run)(void);
} scenarios[] = {{"alltoall", alltoall},
                 {"alltoallv", alltoallv},
                 {"alltoallw", alltoallw},
                 {"many", many},
                 {"subcommunicators", subcommunicators},
                 {"in-place", in_place},
                 {"self", self},
#if HAS_LARGE_COUNTS
                 {"large-counts", large_counts},
#endif
                 {"communicators", communicators},
                 {"kept", kept},
                 {"attributes", attributes},
                 {"pending", pending},
                 {"pending-kinds", pending_kinds},
                 {"point-to-point", point_to_point},
                 {"collectives", collectives},
                 {"threads", threads},
                 {"children", children},
                 {"exit", ends_without_finalize},
                 {"abort", ends_by_abort},
                 {"killed", ends_by_signal},
                 {"error-handler", error_handler},
                 {"fatal-error", fatal_error},
                 {"refused", refused},
                 {"spawned", spawned},
                 {"child", spawned},
                 {"intercommunicator", intercommunicator},
                 {"finalize", finalize}};

int main(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : "";
    const size_t count = sizeof scenarios / sizeof *scenarios;
    size_t k;
    int provided;
    program = argv[0];
#if HAS_SESSIONS
    if (strcmp(name, "session") == 0) {
        in_session();
        return 0;
    }
#endif
    for (k = 0; k < count && strcmp(scenarios[k].name, name) != 0; ++k) continue;
    if (k == count) {
        printf("%s absent\n", name); /* not in this version of MPI */
        return 0;
    }
    if (strcmp(name, "threads") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(&argc, &argv);
    know_ranks(MPI_COMM_WORLD);
    scenarios[k].run();
    if (strcmp(name, "child") != 0) print_digest(name, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
