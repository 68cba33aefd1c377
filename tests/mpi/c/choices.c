/* Algorithms that an MPI library chooses for MPI_Alltoall. Rank 0 prints one line for each argument:
 *   RANKS:SIZE  the algorithm of an MPI_Alltoall of the first RANKS ranks, with SIZE bytes to each rank
 *   ring:SIZE   nothing: rank r sends SIZE * (r + 1) bytes to the next rank
 *   NAME        the value of a control variable of MPI_T if it is a number, else whether it exists
 *
 * Link it with -rdynamic: functions that are defined here then replace those of the library, record the call, and
 * call the original. For Open MPI these are the algorithms themselves. MPICH does not export its algorithms; the
 * program counts what MPICH gives to UCX. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 20, MAX_RANKS = 64, TEXT = 4096 };

static char choice[64];

static void* original(const char* name) {
    void* function = dlsym(RTLD_NEXT, name);
    if (!function) {
        fprintf(stderr, "%s: not exported by the MPI library\n", name);
        exit(1);
    }
    return function;
}

#ifdef OPEN_MPI

#define PARAMETERS                                                                                               \
    const void *from, int count, MPI_Datatype type, void *to, int expected, MPI_Datatype to_type, MPI_Comm comm, \
        void *module
#define ARGUMENTS from, count, type, to, expected, to_type, comm, module
#define RECORD(function, name)                                                    \
    int function(PARAMETERS);                                                     \
    int function(PARAMETERS) {                                                    \
        int (*const call)(PARAMETERS) = (int (*)(PARAMETERS))original(#function); \
        snprintf(choice, sizeof choice, name);                                    \
        return call(ARGUMENTS);                                                   \
    }

RECORD(ompi_coll_base_alltoall_intra_basic_linear, "linear")
RECORD(ompi_coll_base_alltoall_intra_pairwise, "pairwise")
RECORD(ompi_coll_base_alltoall_intra_bruck, "bruck")
RECORD(ompi_coll_base_alltoall_intra_two_procs, "two processes")

int ompi_coll_base_alltoall_intra_linear_sync(PARAMETERS, int requests);
int ompi_coll_base_alltoall_intra_linear_sync(PARAMETERS, int requests) {
    int (*const call)(PARAMETERS, int) =
        (int (*)(PARAMETERS, int))original("ompi_coll_base_alltoall_intra_linear_sync");
    snprintf(choice, sizeof choice, "throttled %d", requests);
    return call(ARGUMENTS, requests);
}

static void start_recording(void) { snprintf(choice, sizeof choice, "unknown"); }
static void end_recording(int ranks) { (void)ranks; }

#else

/* Sends of this rank: how many, to how many peers, and the most between two posted receives. The throttled exchange
 * posts a block of receives and then a block of sends; pairwise and Bruck's exchange alternate. */
static void* peers[MAX_RANKS];
static int sends, known, run, longest, recording;

void* ucp_tag_send_nbx(void* peer, const void* data, size_t count, uint64_t tag, const void* options);
void* ucp_tag_send_nbx(void* peer, const void* data, size_t count, uint64_t tag, const void* options) {
    void* (*const call)(void*, const void*, size_t, uint64_t, const void*) =
        (void* (*)(void*, const void*, size_t, uint64_t, const void*))original("ucp_tag_send_nbx");
    int k;
    if (recording) {
        for (k = 0; k < known && peers[k] != peer; ++k) continue;
        if (k == known && known < MAX_RANKS) peers[known++] = peer;
        ++sends;
        if (++run > longest) longest = run;
    }
    return call(peer, data, count, tag, options);
}

void* ucp_tag_recv_nbx(void* worker, void* data, size_t count, uint64_t tag, uint64_t mask, const void* options);
void* ucp_tag_recv_nbx(void* worker, void* data, size_t count, uint64_t tag, uint64_t mask, const void* options) {
    void* (*const call)(void*, void*, size_t, uint64_t, uint64_t, const void*) =
        (void* (*)(void*, void*, size_t, uint64_t, uint64_t, const void*))original("ucp_tag_recv_nbx");
    run = 0;
    return call(worker, data, count, tag, mask, options);
}

static void start_recording(void) {
    sends = known = run = longest = 0;
    recording = 1;
}

static void end_recording(int ranks) {
    recording = 0;
    if (sends == 0)
        snprintf(choice, sizeof choice, "unknown");
    else if (known < ranks - 1)
        snprintf(choice, sizeof choice, "bruck");
    else if (longest == 1)
        snprintf(choice, sizeof choice, "pairwise");
    else if (longest == ranks - 1)
        snprintf(choice, sizeof choice, "linear");
    else
        snprintf(choice, sizeof choice, "throttled %d", longest);
}

#endif

static int rank, size;
static char *from, *to;

static void exchange(const char* word, int ranks, int bytes) {
    MPI_Comm comm = MPI_COMM_WORLD;
    /* creating a communicator sends messages, which Open MPI's monitoring counts */
    if (ranks != size) MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
    if (comm == MPI_COMM_NULL) return;
    start_recording();
    MPI_Alltoall(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, comm);
    end_recording(ranks);
    if (rank == 0) printf("%s %s\n", word, choice);
    if (ranks != size) MPI_Comm_free(&comm);
}

static void send_around(int bytes) {
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Sendrecv(from, bytes * (rank + 1), MPI_CHAR, next, 0, to, LARGEST, MPI_CHAR, before, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void print_variable(const char* name) {
    MPI_T_cvar_handle handle;
    MPI_T_enum values;
    MPI_Datatype type;
    char found[TEXT], description[TEXT];
    int index = 0, number = 0, count, verbosity, bind, scope, name_length = TEXT, description_length = TEXT;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) {
        printf("%s unknown\n", name);
        return;
    }
    MPI_T_cvar_get_info(index, found, &name_length, &verbosity, &type, &values, description, &description_length, &bind,
                        &scope);
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    if (type == MPI_INT && count == 1) {
        MPI_T_cvar_read(handle, &number);
        printf("%s %d\n", name, number);
    } else {
        printf("%s exists\n", name); /* MPICH 5.0.2 does not return the text of a variable */
    }
    MPI_T_cvar_handle_free(&handle);
}

int main(int argc, char** argv) {
    int k, ranks, bytes, provided;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    from = calloc((size_t)size, LARGEST);
    to = calloc((size_t)size, LARGEST);
    for (k = 1; k < argc; ++k) {
        if (sscanf(argv[k], "%d:%d", &ranks, &bytes) == 2)
            exchange(argv[k], ranks, bytes);
        else if (sscanf(argv[k], "ring:%d", &bytes) == 1)
            send_around(bytes);
        else if (rank == 0)
            print_variable(argv[k]);
    }
    free(from);
    free(to);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
