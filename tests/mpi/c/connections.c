/* Connections on 4 ranks: `connections x.plan twice.plan two.plan`, a schedule of alltoall:size=1000 in at least two
 * phases of one connection to each rank and one from each, one of two messages to the next rank in one phase, and a
 * program of blocks, `first` and `second` among them. Prints the steps of the program, `right`, and ends with status 0.
 */
#include <mpi.h>
/* then */
#include <conset.h>

#include "check.h"

enum { RANKS = 4, MANY = 1000 };

int rank, ranks, wrong;

/* Element k of the connection between two ranks. */
static double element(int from, int to, int64_t k) { return 1000000.0 * from + 10000.0 * to + (double)k; }

/* This rank's only target, or source, in a phase. */
static int peer_of(conset_program* program, int phase, int direction) {
    conset_connection_info info[2 * RANKS];
    int count = 0, k, found = -1;
    CHECK_CODE(conset_phase_connections(program, 0, phase, &count, NULL), CONSET_SUCCESS);
    CHECK(count == 2);
    CHECK_CODE(conset_phase_connections(program, 0, phase, &count, info), CONSET_SUCCESS);
    for (k = 0; k < count; ++k) {
        CHECK(info[k].bytes == MANY && info[k].bandwidth > 0 && info[k].latency >= 0);
        if (info[k].direction == direction) found = info[k].peer;
    }
    return found;
}

/* Opens a phase, and both its connections. */
static void open_phase(conset_program* program, int phase, struct conset_connection** to,
                       struct conset_connection** from) {
    CHECK_CODE(conset_instantiate(program, 0, phase), CONSET_SUCCESS);
    CHECK_CODE(conset_connection(program, peer_of(program, phase, CONSET_SEND), CONSET_SEND, to), CONSET_SUCCESS);
    CHECK_CODE(conset_connection(program, peer_of(program, phase, CONSET_RECEIVE), CONSET_RECEIVE, from),
               CONSET_SUCCESS);
}

static void check_questions(conset_program* program, int* phases) {
    conset_block_info block;
    int blocks = 0;
    CHECK_CODE(conset_program_blocks(program, &blocks), CONSET_SUCCESS);
    CHECK(blocks == 1);
    CHECK_CODE(conset_program_block(program, 0, &block), CONSET_SUCCESS);
    CHECK_CODE(conset_program_phases(program, 0, phases), CONSET_SUCCESS);
    CHECK(*phases == RANKS - 1 && block.phases == *phases && block.repeat == 1 && block.turns == 0);
    CHECK_CODE(conset_program_block(program, 1, &block), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_program_phases(program, -1, phases), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_phase_connections(program, 0, *phases, NULL, NULL), CONSET_ERR_ARGUMENT);
}

/* One by one, and both ways at once: more than all credits hold. */
static void check_elements(conset_program* program, int phase) {
    const int target = peer_of(program, phase, CONSET_SEND), source = peer_of(program, phase, CONSET_RECEIVE);
    struct conset_connection *to = NULL, *from = NULL;
    double x, y;
    int k;
    open_phase(program, phase, &to, &from);
    for (k = 0; k < MANY; ++k) {
        x = element(rank, target, k);
        CHECK_CODE(conset_send_elements(to, &x, 1, MPI_DOUBLE), CONSET_SUCCESS);
        CHECK_CODE(conset_receive_elements(from, &y, 1, MPI_DOUBLE), CONSET_SUCCESS);
        CHECK(y == element(source, rank, k));
    }
    CHECK_CODE(conset_phase_end(program), CONSET_SUCCESS);
    CHECK_CODE(conset_send_elements(to, &x, 1, MPI_DOUBLE), CONSET_ERR_STATE);
}

/* A block of triples, of a derived type, in pieces. */
static void check_blocks(conset_program* program, int phase) {
    static double sent[3 * MANY], received[3 * MANY];
    const int target = peer_of(program, phase, CONSET_SEND), source = peer_of(program, phase, CONSET_RECEIVE);
    struct conset_connection *to = NULL, *from = NULL;
    MPI_Datatype triple;
    int k;
    MPI_Type_contiguous(3, MPI_DOUBLE, &triple);
    MPI_Type_commit(&triple);
    for (k = 0; k < 3 * MANY; ++k) sent[k] = element(rank, target, k);
    open_phase(program, phase, &to, &from);
    CHECK_CODE(conset_spool_receive(from, received, MANY - 7, triple), CONSET_SUCCESS);
    CHECK_CODE(conset_send_elements(to, sent, 7, triple), CONSET_SUCCESS);
    CHECK_CODE(conset_send_elements(to, sent + 21, MANY - 7, triple), CONSET_SUCCESS);
    CHECK_CODE(conset_receive_elements(from, received + 3 * (MANY - 7), 7, triple), CONSET_SUCCESS);
    CHECK_CODE(conset_phase_end(program), CONSET_SUCCESS);
    for (k = 0; k < 3 * MANY; ++k) CHECK(received[k] == element(source, rank, k));
    MPI_Type_free(&triple);
}

/* Of a stream of elements: where it is, and what comes of it. */
typedef struct stream {
    int from, to;
    int64_t next;
    double sum;
} stream;

static void produce(void* elements, int64_t count, void* state) {
    stream* s = (stream*)state;
    double* x = (double*)elements;
    int64_t k;
    for (k = 0; k < count; ++k) x[k] = element(s->from, s->to, s->next++);
}

static void add(const void* elements, int64_t count, void* state) {
    stream* s = (stream*)state;
    const double* x = (const double*)elements;
    int64_t k;
    for (k = 0; k < count; ++k, ++s->next) s->sum += x[k] == element(s->from, s->to, s->next) ? 1 : -1000;
}

/* What is sent is computed, and added up where it arrives. */
static void check_systolic(conset_program* program, int phase) {
    stream out = {0, 0, 0, 0}, in = {0, 0, 0, 0};
    struct conset_connection *to = NULL, *from = NULL;
    int k;
    out.from = in.to = rank;
    out.to = peer_of(program, phase, CONSET_SEND);
    in.from = peer_of(program, phase, CONSET_RECEIVE);
    open_phase(program, phase, &to, &from);
    for (k = 0; k < 10; ++k) {
        CHECK_CODE(conset_send_computed(to, MANY / 10, MPI_DOUBLE, produce, &out), CONSET_SUCCESS);
        CHECK_CODE(conset_receive_apply(from, MANY / 10, MPI_DOUBLE, add, &in), CONSET_SUCCESS);
    }
    CHECK_CODE(conset_phase_end(program), CONSET_SUCCESS);
    CHECK(in.sum == MANY);
}

/* Everything at once, in the background: no rank receives before it has sent all. */
static void check_spooling(conset_program* program, int phase) {
    static int sent[10 * MANY], received[10 * MANY];
    struct conset_connection *to = NULL, *from = NULL;
    int k;
    for (k = 0; k < 10 * MANY; ++k) {
        sent[k] = 100000 * rank + k;
        received[k] = -1;
    }
    open_phase(program, phase, &to, &from);
    CHECK_CODE(conset_spool_send(to, sent, 10 * MANY, MPI_INT), CONSET_SUCCESS);
    CHECK_CODE(conset_spool_receive(from, received, 5 * MANY, MPI_INT), CONSET_SUCCESS);
    CHECK_CODE(conset_program_progress(program), CONSET_SUCCESS);
    CHECK_CODE(conset_receive_elements(from, received + 5 * MANY, 5 * MANY, MPI_INT), CONSET_SUCCESS);
    CHECK_CODE(conset_spool_wait(to), CONSET_SUCCESS);
    CHECK_CODE(conset_phase_end(program), CONSET_SUCCESS);
    for (k = 0; k < 10 * MANY; ++k) CHECK(received[k] == 100000 * peer_of(program, phase, CONSET_RECEIVE) + k);
}

static void check_said(const char* words) { CHECK(strstr(conset_error_detail(), words) != NULL); }

static void check_refusals(conset_program* program) {
    const int target = peer_of(program, 0, CONSET_SEND);
    struct conset_connection *to = NULL, *from = NULL;
    double x[4] = {0, 0, 0, 0};
    float y = 0;
    MPI_Datatype gaps;
    CHECK_CODE(conset_phase_end(program), CONSET_ERR_STATE);
    CHECK_CODE(conset_connection(program, target, CONSET_SEND, &to), CONSET_ERR_STATE);
    CHECK_CODE(conset_instantiate(program, 0, RANKS), CONSET_ERR_ARGUMENT);
    open_phase(program, 0, &to, &from);
    CHECK_CODE(conset_instantiate(program, 0, 0), CONSET_ERR_STATE);
    CHECK_CODE(conset_program_packets(program, 4096, 4), CONSET_ERR_STATE);
    CHECK_CODE(conset_program_close(&program), CONSET_ERR_STATE);
    CHECK(program != NULL);
    CHECK_CODE(conset_connection(program, rank, CONSET_SEND, &to), CONSET_ERR_ARGUMENT);
    CHECK(to == NULL);
    check_said("phase 0: no connection from rank");
    CHECK_CODE(conset_connection(program, peer_of(program, 1, CONSET_SEND), CONSET_SEND, &to), CONSET_ERR_ARGUMENT);
    check_said("phase 1 has it");
    CHECK_CODE(conset_connection(program, target, 7, &to), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_connection(program, RANKS, CONSET_SEND, &to), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_connection(program, target, CONSET_SEND, &to), CONSET_SUCCESS);
    CHECK_CODE(conset_send_elements(NULL, x, 1, MPI_DOUBLE), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_send_elements(to, NULL, 1, MPI_DOUBLE), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_send_elements(to, x, -1, MPI_DOUBLE), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_send_elements(to, x, 1, MPI_DATATYPE_NULL), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_send_elements(from, x, 1, MPI_DOUBLE), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_receive_elements(to, x, 1, MPI_DOUBLE), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_send_computed(to, 1, MPI_DOUBLE, NULL, NULL), CONSET_ERR_ARGUMENT);
    MPI_Type_create_resized(MPI_DOUBLE, 0, 16, &gaps);
    MPI_Type_commit(&gaps);
    CHECK_CODE(conset_send_elements(to, x, 1, gaps), CONSET_ERR_ARGUMENT);
    MPI_Type_free(&gaps);
    /* three are sent, two read with some of another size between them; a fourth is none; and in the next phase one
     * unread */
    CHECK_CODE(conset_send_elements(to, x, 3, MPI_DOUBLE), CONSET_SUCCESS);
    CHECK_CODE(conset_send_elements(to, &y, 1, MPI_FLOAT), CONSET_ERR_MISMATCH);
    CHECK_CODE(conset_send_elements(to, &y, 1, MPI_FLOAT), CONSET_ERR_MISMATCH); /* and remains an error */
    CHECK_CODE(conset_receive_elements(from, x, 1, MPI_DOUBLE), CONSET_SUCCESS);
    CHECK_CODE(conset_receive_elements(from, &y, 1, MPI_FLOAT), CONSET_ERR_MISMATCH);
    check_said("of 4 B");
    check_said("of 8 B");
    CHECK_CODE(conset_receive_elements(from, &y, 1, MPI_FLOAT), CONSET_ERR_MISMATCH);
    CHECK_CODE(conset_receive_elements(from, x, 1, MPI_DOUBLE), CONSET_SUCCESS);
    CHECK_CODE(conset_phase_end(program), CONSET_ERR_MISMATCH);
    check_said("has received 2 of 3 elements");
}

/* Rank 0 receives what its source has not sent and never will. */
static void check_beyond(conset_program* program) {
    struct conset_connection *to = NULL, *from = NULL;
    double x[5] = {0, 0, 0, 0, 0};
    open_phase(program, 0, &to, &from);
    CHECK_CODE(conset_send_elements(to, x, 3, MPI_DOUBLE), CONSET_SUCCESS);
    if (rank == 0) {
        CHECK_CODE(conset_receive_elements(from, x, 5, MPI_DOUBLE), CONSET_ERR_MISMATCH);
        check_said("receives 5 elements");
        check_said("has sent 3");
    } else {
        CHECK_CODE(conset_receive_elements(from, x, 3, MPI_DOUBLE), CONSET_SUCCESS);
    }
    CHECK_CODE(conset_phase_end(program), CONSET_SUCCESS);
}

/* Everybody receives before it sends. */
static void check_cycle(const char* path) {
    conset_program* program = NULL;
    struct conset_connection *to = NULL, *from = NULL;
    double x = 0;
    CHECK_CODE(conset_program_open(path, MPI_COMM_WORLD, &program), CONSET_SUCCESS);
    CHECK_CODE(conset_program_timeout(program, -1), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_program_timeout(program, 0.5), CONSET_SUCCESS);
    open_phase(program, 0, &to, &from);
    CHECK_CODE(conset_receive_elements(from, &x, 1, MPI_DOUBLE), CONSET_ERR_TIMEOUT);
    check_said("waits for an element of");
    CHECK_CODE(conset_send_elements(to, &x, 1, MPI_DOUBLE), CONSET_ERR_STATE);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CODE(conset_program_close(&program), CONSET_SUCCESS);
    CHECK(program == NULL);
}

static void check_packets(const char* path) {
    conset_program* program = NULL;
    int phase;
    CHECK_CODE(conset_program_open(path, MPI_COMM_WORLD, &program), CONSET_SUCCESS);
    CHECK_CODE(conset_program_packets(program, 0, 4), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_program_packets(program, 16, 0), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_program_packets(program, 16 + 8 * rank, 1), CONSET_SUCCESS);
    CHECK_CODE(conset_instantiate(program, 0, 0), CONSET_ERR_MISMATCH); /* all ranks alike */
    check_said("rank 1");
    CHECK_CODE(conset_program_packets(program, 16, 1), CONSET_SUCCESS);
    for (phase = 0; phase < RANKS - 1; ++phase) check_elements(program, phase);
    CHECK_CODE(conset_program_close(&program), CONSET_SUCCESS);
}

/* Two connections to the next rank and two from the one before, by their ids. */
static void check_twice(const char* path) {
    conset_program* program = NULL;
    conset_connection_info info[4];
    struct conset_connection *end[4], *one = NULL;
    double x;
    int count = 0, k, j;
    CHECK_CODE(conset_program_open(path, MPI_COMM_WORLD, &program), CONSET_SUCCESS);
    CHECK_CODE(conset_program_timeout(program, 60), CONSET_SUCCESS);
    CHECK_CODE(conset_connection_by_id(program, 0, &one), CONSET_ERR_STATE);
    CHECK_CODE(conset_phase_connections(program, 0, 0, &count, info), CONSET_SUCCESS);
    CHECK(count == 4 && info[0].direction == CONSET_RECEIVE && info[1].id == info[0].id + 1);
    CHECK(info[2].id == 69 - 2 * rank && info[3].id == 70 - 2 * rank);
    CHECK_CODE(conset_instantiate(program, 0, 0), CONSET_SUCCESS);
    for (k = 0; k < 4; ++k) CHECK_CODE(conset_connection_by_id(program, info[k].id, &end[k]), CONSET_SUCCESS);
    CHECK(end[2] != end[3]);
    CHECK_CODE(conset_connection(program, (rank + 1) % RANKS, CONSET_SEND, &one), CONSET_ERR_ARGUMENT);
    check_said("one is chosen by its id");
    CHECK_CODE(conset_connection_by_id(program, 8, &one), CONSET_ERR_ARGUMENT);
    CHECK(one == NULL);
    for (j = 0; j < MANY; ++j) {
        for (k = 2; k < 4; ++k) {
            x = element(info[k].id, 0, j);
            CHECK_CODE(conset_send_elements(end[k], &x, 1, MPI_DOUBLE), CONSET_SUCCESS);
        }
        for (k = 1; k >= 0; --k) { /* the later one first */
            CHECK_CODE(conset_receive_elements(end[k], &x, 1, MPI_DOUBLE), CONSET_SUCCESS);
            CHECK(x == element(info[k].id, 0, j));
        }
    }
    CHECK_CODE(conset_phase_end(program), CONSET_SUCCESS);
    CHECK_CODE(conset_program_close(&program), CONSET_SUCCESS);
}

/* The bytes of a connection in a step: no two steps send the same. */
static unsigned seed_of(conset_step step, int from, int to) {
    return ((((unsigned)step.block * 101 + (unsigned)step.repetition) * 101 + (unsigned)step.phase) * RANKS +
            (unsigned)from) *
               RANKS +
           (unsigned)to;
}

/* Every message of a step as one element after the other, all sent in the background; every byte is compared. */
static void check_step(conset_program* program, conset_step step) {
    conset_connection_info info[2 * RANKS];
    static char sent[RANKS][MANY], received[RANKS][MANY], expected[MANY];
    struct conset_connection* end = NULL;
    int count = 0, k;
    CHECK_CODE(conset_phase_connections(program, step.block, step.phase, &count, info), CONSET_SUCCESS);
    CHECK_CODE(conset_instantiate(program, step.block, step.phase), CONSET_SUCCESS);
    memset(received, 0, sizeof received);
    for (k = 0; k < count; ++k) {
        const int peer = info[k].peer, bytes = (int)info[k].bytes;
        CHECK(bytes <= MANY);
        CHECK_CODE(conset_connection(program, peer, info[k].direction, &end), CONSET_SUCCESS);
        if (info[k].direction == CONSET_SEND) {
            fill(sent[peer], bytes, seed_of(step, rank, peer));
            CHECK_CODE(conset_spool_send(end, sent[peer], bytes, MPI_CHAR), CONSET_SUCCESS);
        } else {
            CHECK_CODE(conset_spool_receive(end, received[peer], bytes, MPI_CHAR), CONSET_SUCCESS);
        }
    }
    CHECK_CODE(conset_phase_end(program), CONSET_SUCCESS);
    for (k = 0; k < count; ++k) {
        if (info[k].direction != CONSET_RECEIVE) continue;
        fill(expected, (int)info[k].bytes, seed_of(step, info[k].peer, rank));
        CHECK(memcmp(received[info[k].peer], expected, (size_t)info[k].bytes) == 0);
    }
}

/* An exchange of the program counts what a walk meets, though phases that share a context are one of its plan. */
static void check_count(const char* path, int steps) {
    conset_plan* plan = NULL;
    conset_exchange* exchange = NULL;
    conset_info info;
    int64_t bytes[2] = {0, 0};
    char from[1 << 16], to[1 << 16];
    CHECK_CODE(conset_plan_read(path, MPI_COMM_WORLD, &plan), CONSET_SUCCESS);
    CHECK_CODE(conset_plan_buffers(plan, bytes, bytes + 1), CONSET_SUCCESS);
    CHECK(bytes[0] <= (int64_t)sizeof from && bytes[1] <= (int64_t)sizeof to);
    CHECK_CODE(conset_exchange_init(plan, from, to, &exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_exchange_info(exchange, &info), CONSET_SUCCESS);
    CHECK(info.phases == steps);
    CHECK_CODE(conset_free(&exchange), CONSET_SUCCESS);
    CHECK_CODE(conset_plan_free(&plan), CONSET_SUCCESS);
}

/* A program from its first step to its last, and its blocks by name. */
static void check_walk(const char* path) {
    const conset_step before = CONSET_NO_STEP;
    conset_program* program = NULL;
    conset_step step = CONSET_NO_STEP, wrong_step = CONSET_NO_STEP;
    conset_block_info info;
    int block = -1, steps = 0;
    CHECK_CODE(conset_program_open(path, MPI_COMM_WORLD, &program), CONSET_SUCCESS);
    CHECK_CODE(conset_program_timeout(program, 60), CONSET_SUCCESS);
    CHECK_CODE(conset_program_find(program, "second", &block), CONSET_SUCCESS);
    CHECK_CODE(conset_program_block(program, block, &info), CONSET_SUCCESS);
    CHECK(strcmp(info.name, "second") == 0);
    CHECK_CODE(conset_program_find(program, "third", &block), CONSET_ERR_ARGUMENT);
    check_said("known: first, second");
    CHECK_CODE(conset_program_find(program, "twice", &block), CONSET_ERR_ARGUMENT);
    check_said("have this name");
    CHECK_CODE(conset_program_find(program, NULL, &block), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_program_next(program, NULL), CONSET_ERR_ARGUMENT);
    for (;;) {
        CHECK_CODE(conset_program_next(program, &step), CONSET_SUCCESS);
        if (step.block < 0) break;
        if (rank == 0) printf("%d %d %d\n", step.block, (int)step.repetition, step.phase);
        check_step(program, step);
        ++steps;
    }
    CHECK(step.block == before.block && step.phase == before.phase && step.repetition == before.repetition);
    wrong_step.block = 99;
    CHECK_CODE(conset_program_next(program, &wrong_step), CONSET_ERR_ARGUMENT);
    wrong_step.block = 0;
    wrong_step.repetition = info.repeat + 99;
    CHECK_CODE(conset_program_next(program, &wrong_step), CONSET_ERR_ARGUMENT);
    check_said("repetition");
    CHECK(wrong_step.block == 0);
    CHECK_CODE(conset_program_close(&program), CONSET_SUCCESS);
    check_count(path, steps);
}

int main(int argc, char** argv) {
    conset_program* program = NULL;
    conset_switch_times times;
    int all = 0, phases = 0, phase;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != RANKS || argc < 4) return 2;
    CHECK_CODE(conset_program_open("no.plan", MPI_COMM_WORLD, &program), CONSET_ERR_FILE);
    CHECK(program == NULL);
    check_said("no.plan");
    CHECK_CODE(conset_program_open(argv[1], MPI_COMM_SELF, &program), CONSET_ERR_MISMATCH);
    CHECK_CODE(conset_program_open(rank == 1 ? NULL : argv[1], MPI_COMM_WORLD, &program), CONSET_ERR_ARGUMENT);
    CHECK_CODE(conset_program_open(argv[1], MPI_COMM_WORLD, &program), CONSET_SUCCESS);
    if (program == NULL) return 1;
    check_questions(program, &phases);
    CHECK_CODE(conset_program_timeout(program, 60), CONSET_SUCCESS);
    for (phase = 0; phase < RANKS - 1; ++phase) {
        check_elements(program, phase);
        check_blocks(program, phase);
        check_systolic(program, phase);
        check_spooling(program, phase);
    }
    check_refusals(program);
    check_beyond(program);
    CHECK_CODE(conset_program_times(program, &times), CONSET_SUCCESS);
    CHECK(times.phases == 4 * (RANKS - 1) + 2 && times.switches > 0);
    CHECK(times.elements == (RANKS - 1) * (int64_t)(13 * MANY) + 6 && times.packets > 0);
    CHECK(times.drain_s > 0 && times.synchronization_s > 0 && times.setup_s > 0);
    CHECK_CODE(conset_program_close(&program), CONSET_SUCCESS);
    CHECK_CODE(conset_program_close(&program), CONSET_SUCCESS);
    CHECK(program == NULL);
    check_packets(argv[1]);
    check_twice(argv[2]);
    check_cycle(argv[1]);
    check_walk(argv[3]);
    fflush(stdout);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) printf("right\n");
    MPI_Finalize();
    return all != 0;
}
