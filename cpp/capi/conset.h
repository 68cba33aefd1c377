/* conset: message exchanges that follow a schedule of a communication compiler.
 *
 *     #include <mpi.h>
 *     #include <conset.h>
 *
 *     conset_exchange *exchange;
 *     int code = conset_alltoallv_init(sendbuf, sendcounts, sdispls, MPI_DOUBLE, recvbuf, recvcounts, rdispls,
 *                                      MPI_DOUBLE, MPI_COMM_WORLD, "machine=torus:4x4", &exchange);
 *     for (...) {
 *         conset_start(exchange);         // sendbuf and recvbuf are the exchange's until it has ended
 *         ...                             // compute meanwhile; conset_progress now and then
 *         code = conset_wait(exchange);
 *     }
 *     conset_free(&exchange);
 *
 * Every function returns CONSET_SUCCESS or another code of `conset_code`; conset_error_string says what a code means,
 * conset_error_detail who and where. Nothing ends the program. What MPI itself does when it fails is the caller's to
 * choose on its own communicator; conset works on a duplicate of it, with errors returned.
 *
 * "Collective" is meant as in MPI: all ranks of the communicator call it, in the same order. Making is agreed: if it
 * fails on one rank it fails on all, and each has a code and NULL for what was to be made.
 *
 * One exchange, or plan, is used by one thread at a time; several of them at once as the level of MPI allows.
 *
 * Compile with `conset config --cflags`, link with `conset config --libs` (or pkg-config, or CMake's
 * find_package(conset)). The functions below that take handles of MPI are compiled into the program, with its mpi.h;
 * the library itself knows no MPI. So the same libconset.so serves MPICH, Open MPI and MPI's standard ABI. C99 or
 * later, or C++.
 */
#ifndef CONSET_H
#define CONSET_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(MPI_VERSION) && !defined(CONSET_WITHOUT_MPI)
#error "conset.h: include <mpi.h> before it"
#elif defined(MPI_VERSION) && MPI_VERSION < 3
#error "conset.h: needs MPI 3.0 or newer"
#endif

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* What functions return. */
typedef enum conset_code {
    CONSET_SUCCESS = 0,
    CONSET_ERR_ARGUMENT = 1, /* an argument or option is wrong */
    CONSET_ERR_FILE = 2,     /* a file cannot be read, or is none of conset's */
    CONSET_ERR_MISMATCH = 3, /* ranks do not agree: bytes sent and received, number of ranks */
    CONSET_ERR_STATE = 4,    /* started twice, freed, still running */
    CONSET_ERR_SCHEDULE = 5, /* no schedule within the limits, or a method that does not apply */
    CONSET_ERR_TIMEOUT = 6,  /* the deadline has passed */
    CONSET_ERR_MPI = 7,      /* a call of MPI failed */
    CONSET_ERR_MEMORY = 8,   /* memory is used up */
    CONSET_ERR_INTERNAL = 9  /* a fault of conset's */
} conset_code;

/* Messages between ranks, their buffers and their schedule: started again and again. */
typedef struct conset_exchange conset_exchange;
/* What a plan file holds for this rank, and its communicator. */
typedef struct conset_plan conset_plan;
/* A program whose connections are opened phase by phase, and one of them. (conset_connection is a function.) */
typedef struct conset_program conset_program;
struct conset_connection;

/* How an exchange was made. Times are this rank's, in seconds; 0 of what was not done. */
typedef struct conset_info {
    char method[32]; /* of the schedule: "lp", "first-fit", ...; "plan" of a plan file; "MPI_Ialltoallv": `measure` */
    char sync[32];   /* "none", "local", "ready", "detect", "barrier" or "barrier:<k>" */
    int64_t phases;
    double rows_s;          /* telling the others what this rank sends */
    double schedule_s;      /* computing the schedule */
    double plan_s;          /* this rank's part, and its requests */
    char combine[64];       /* how ranks pass on bundles of messages in stages: "2x4", ...; "none": they do not */
    int64_t memory_bytes;   /* temporary memory of that, of the rank that needs most */
    int64_t left_out_bytes; /* least that a way needs which `memory` left out; 0: none was */
    double schedule_run_s;  /* what `measure` found that the schedule takes, the last rank's end; 0: not measured */
    double mpi_run_s;       /* the same of MPI_Ialltoallv */
} conset_info;

/* A block of a program: a schedule, run `repeat` times. */
typedef struct conset_block_info {
    char name[64]; /* cut short where it is longer */
    int phases;    /* of one repetition */
    int64_t repeat;
    int turns; /* 1: every second repetition runs the phases backwards */
} conset_block_info;

/* A step of a program, between conset_instantiate and conset_phase_end: a phase in a repetition of a block. */
typedef struct conset_step {
    int block, phase;
    int64_t repetition; /* of the block, from 0 on */
} conset_step;

/* Whether this rank sends on a connection, or receives. */
enum { CONSET_SEND = 0, CONSET_RECEIVE = 1 };

/* A connection of this rank in a phase, as the schedule has it. */
typedef struct conset_connection_info {
    int peer, direction; /* CONSET_SEND, CONSET_RECEIVE */
    int order;           /* in which the schedule starts this rank's connections of the phase, from 0 on */
    int id;              /* as the pattern of the block calls it, else its message's index; the same at both ends */
    int64_t bytes;       /* of the pattern's messages; more or fewer may be sent */
    double bandwidth;    /* least that is guaranteed [B/s]; infinite where nothing limits it */
    double latency;      /* most that is guaranteed [s] */
} conset_connection_info;

/* What phases and switches took: sums of this rank since the program was opened, times in seconds. */
typedef struct conset_switch_times {
    int64_t phases;           /* that have ended */
    int64_t switches;         /* from one set of open connections to another */
    double drain_s;           /* waiting for what is under way: in conset_phase_end, and before a switch */
    double synchronization_s; /* waiting for all ranks at a switch */
    double setup_s;           /* closing and opening connections, also the first ones */
    int64_t packets;          /* sent; some at the end of phases carry no element */
    int64_t elements;         /* sent */
} conset_switch_times;

/* Consumes `count` elements that lie one after the other; writes so many. `state` is what was handed over with it. */
typedef void (*conset_operator)(const void* elements, int64_t count, void* state);
typedef void (*conset_producer)(void* elements, int64_t count, void* state);

/* ---- Making an exchange ---------------------------------------------------------------------------------------- */

/* conset_alltoallv_init: every rank sends sendcounts[r] elements to rank r and receives recvcounts[r] from it.
 * conset_neighbor_alltoallv_init: the same with the neighbours of a distributed graph (MPI_Dist_graph_create...), in
 * the order of its lists. Both are defined below, since they take handles:
 *
 *     int conset_alltoallv_init(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype
 * sendtype, void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, const
 * char *options, conset_exchange **exchange);
 *
 * Collective; nothing of the buffers is sent. Counts and displacements are elements of the types, as in MPI_Alltoallv,
 * and are read here only; buffers must stay at their place until conset_free. Zero counts are no messages. A buffer may
 * be NULL where nothing is sent, or received; no memory may be of both. The types may be derived ones (committed) and
 * may be freed after it.
 *
 * recvcounts == NULL, on all ranks: what comes is not known and is learned from those who send; blocks then lie in
 * recvbuf by source, without gaps, and rdispls is not read. recvbuf must hold them: where it is NULL, or too small, ask
 * conset_exchange_receives and hand over another by conset_alltoallv_update.
 *
 * options: NULL, or pairs that end with `;`, in any order (the last may lack it):
 *     machine=torus:4x4   mesh:, torus:, hypercube:, ring:, crossbar:, or a file that `conset machines X -o x.machine`
 *                         wrote; default: a crossbar
 *     ranks_per_node=1    rank r is on node r / ranks_per_node of it, unless the file knows the hosts of its job
 *     method=auto         naive, lp, gen, pex-gen-shift, rs-n, rs-nl, coloring, first-fit, decreasing, negotiated,
 *                         half-duplex, event-list, bounded, auto
 *     sync=auto           none, local, ready, detect, barrier, barrier:<k>; auto: the fastest by the machine's model,
 *                         whatever the method
 *     timeout=10s         a wait that takes longer ends with CONSET_ERR_TIMEOUT; default none
 *     seed=0
 *     effort=1            how long to search, counted as by `conset compile --effort`; 0: by formula
 *     combine=auto        auto: messages travel in bundles that ranks pass on, in stages, where the machine's model
 *                         says that this takes 5 % less (method=auto, plain types, not by formula); none
 *     memory=64MiB        temporary memory that this may take of a rank (B, KB, MB, GB, KiB, MiB, GiB)
 *     measure=0           so many times the schedule and MPI_Ialltoallv take turns when the exchange is made or
 *                         updated, on buffers of their own, and the faster is used (plain types, sources known,
 *                         a pair's messages in one block); 0: MPI's own is not considered
 *     compute=auto        all (every rank computes the schedule), one (rank 0 does), auto
 *     schedule=x.plan     what `conset plan FILE -o x.plan` wrote: its phases and policy instead of those that the
 *                         ranks would make; beside it only a timeout. Counts must be its bytes, pair by pair
 *
 * Errors: CONSET_ERR_ARGUMENT (NULL where it may not be, a negative count, an unknown option, no graph),
 * CONSET_ERR_MISMATCH (what one sends and the other expects, in bytes, or the schedule has; recvcounts NULL on some
 * ranks only), CONSET_ERR_SCHEDULE (also a plan that forwards or orders messages), CONSET_ERR_FILE (the machine, the
 * schedule), CONSET_ERR_MPI, CONSET_ERR_MEMORY. */

/* conset_alltoallv_update: other blocks for an exchange that one of the two above made; what did not change stays in
 * its phase where the limits allow. Collective; not while the exchange runs. Arguments as for the function that made
 * it. Where it fails, all ranks keep the exchange as it was.
 *
 *     int conset_alltoallv_update(conset_exchange *exchange, const void *sendbuf, const int sendcounts[],
 *                                 const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
 *                                 const int rdispls[], MPI_Datatype recvtype);
 */

/* conset_plan_read: this rank's part of the file that `conset plan FILE -o x.plan` wrote of a schedule or program.
 * Collective; every rank reads the file.
 *
 *     int conset_plan_read(const char *path, MPI_Comm comm, conset_plan **plan);
 *
 * Errors: CONSET_ERR_FILE, CONSET_ERR_MISMATCH (a plan of another number of ranks). */

/* The sizes of this rank's buffers [B], without a block of its own (that is no MPI_Alltoall buffer); either pointer may
 * be NULL. Local. */
int conset_plan_buffers(const conset_plan* plan, int64_t* send_bytes, int64_t* receive_bytes);

/* The deadline of exchanges that are made of the plan from now on, in seconds; 0 (the default): none. Local. */
int conset_plan_timeout(conset_plan* plan, double seconds);

/* An exchange as the plan says. Collective. The buffers have conset_plan_buffers' sizes: messages one after
 * the other, sends by target, receives by source, then by message; or, of a plan with a layout, the rank's items. They
 * must stay at their place until conset_free; one may be NULL where it is of 0 bytes. The plan may be freed before. */
int conset_exchange_init(conset_plan* plan, const void* sendbuf, void* recvbuf, conset_exchange** exchange);

/* Frees the plan and sets *plan to NULL; a NULL *plan is fine. Collective. */
int conset_plan_free(conset_plan** plan);

/* ---- Using it -------------------------------------------------------------------------------------------------- */

/* Begins the exchange and goes on as far as possible without waiting. Not collective, though it ends only when all that
 * this rank talks to have started too. CONSET_ERR_STATE: it is running. */
int conset_start(conset_exchange* exchange);

/* Goes on as far as possible without waiting; *done: 1 once the exchange has ended (and where none was started),
 * else 0. After an error the exchange cannot go on: the caller ends its job, as with an MPI error. */
int conset_progress(conset_exchange* exchange, int* done);

/* Waits until the exchange has ended; returns at once where it has, or where none was started. CONSET_ERR_TIMEOUT: the
 * deadline (of options, counted from here) has passed; the detail says phase and peers that are missing. The exchange
 * still runs then: waiting again is possible, freeing it is not. */
int conset_wait(conset_exchange* exchange);

/* Frees the exchange and sets *exchange to NULL; a NULL *exchange is fine. Collective. CONSET_ERR_STATE: it is running
 * (it stays as it is), or MPI has ended. */
int conset_free(conset_exchange** exchange);

/* ---- Connections ----------------------------------------------------------------------------------------------- */

/* A program (or schedule) as sets of connections: open it, open the connections of a phase, send and receive elements
 * on them in any order, end the phase.
 *
 *     conset_program *program;
 *     struct conset_connection *to, *from;
 *     conset_step step = CONSET_NO_STEP;
 *     conset_program_open("x.plan", MPI_COMM_WORLD, &program);
 *     while (conset_program_next(program, &step) == CONSET_SUCCESS && step.block >= 0) {
 *         conset_instantiate(program, step.block, step.phase);
 *         conset_connection(program, next, CONSET_SEND, &to);
 *         conset_connection(program, before, CONSET_RECEIVE, &from);
 *         for (...) {
 *             conset_send_elements(to, &x, 1, MPI_DOUBLE);
 *             conset_receive_elements(from, &y, 1, MPI_DOUBLE);
 *         }
 *         conset_phase_end(program);
 *     }
 *     conset_program_close(&program);
 *
 * Elements travel in packets. At most `credits` packets of a connection are being filled, under way or unread, so
 * memory is bounded: credits * (bytes of a packet + 32) at either end. A sender without credits waits until its
 * receiver has read a packet. A packet that is not full leaves at the latest when its rank has to wait for anything,
 * calls conset_program_progress, or ends the phase. So programs end in which every rank receives in an order that is
 * some interleaving of the order in which the senders sent. Others wait for each other; with a deadline, the functions
 * that wait return CONSET_ERR_TIMEOUT, and the detail names the ranks of the cycle.
 *
 * After CONSET_ERR_TIMEOUT, CONSET_ERR_MPI, CONSET_ERR_MEMORY of conset_instantiate, and where ranks turn out to have
 * opened different phases (CONSET_ERR_MISMATCH) only conset_program_close is of use, and the duplicate of the
 * communicator is left as it is, since messages may be under way.
 *
 * conset_program_open: this rank's connections in the file that `conset plan FILE -o x.plan` wrote. Collective; every
 * rank reads the file. Defined below, like the other functions here that take handles:
 *
 *     int conset_program_open(const char *path, MPI_Comm comm, conset_program **program);
 *
 * Errors: CONSET_ERR_FILE, CONSET_ERR_MISMATCH (a plan of another number of ranks). */

/* How many blocks it has; a schedule is one block. Local, like all that ask. */
int conset_program_blocks(const conset_program* program, int* count);
int conset_program_block(const conset_program* program, int block, conset_block_info* info);
int conset_program_phases(const conset_program* program, int block, int* count);

/* The number of the block with this name, as in the program file. CONSET_ERR_ARGUMENT: no block has it (the detail
 * lists those there are), or several do. */
int conset_program_find(const conset_program* program, const char* name, int* block);

/* Sets *step to the step that follows it: blocks in order, each repetition from its first phase to its last; of a block
 * that turns, every second repetition from the last to the first. After CONSET_NO_STEP comes the first step, after the
 * last one CONSET_NO_STEP, with a block of -1. The program remembers no step: several walks may go on at once, and
 * start anywhere. CONSET_ERR_ARGUMENT: the program has no such step (it stays as it is). */
#define CONSET_NO_STEP {-1, 0, 0}
int conset_program_next(const conset_program* program, conset_step* step);

/* This rank's connections in a phase of a block, whichever phase is open: receives before sends, by peer and id.
 * `connections` may be NULL: ask for *count first. */
int conset_phase_connections(const conset_program* program, int block, int phase, int* count,
                             conset_connection_info* connections);

/* Bytes of elements in a packet (default 4096) and packets of a connection (default 4), the same on all ranks. Before
 * the first conset_instantiate (else CONSET_ERR_STATE). Local. */
int conset_program_packets(conset_program* program, int64_t bytes, int credits);

/* Deadline of every wait that moves nothing, in seconds; 0 (the default): none. Local. */
int conset_program_timeout(conset_program* program, double seconds);

/* Opens a phase of a block; all ranks open the same ones in the same order. Where it shares its set of open connections
 * with the phase before, nothing is waited for. Else this is a switch, and collective: what was sent is read, all ranks
 * come, connections are closed and opened. The first call opens connections too and is no switch. CONSET_ERR_ARGUMENT:
 * no such phase; CONSET_ERR_STATE: another phase has not ended; CONSET_ERR_MISMATCH: packets differ (the first time).
 */
int conset_instantiate(conset_program* program, int block, int phase);

/* A connection of the open phase, until it ends, by its peer or by its id. CONSET_ERR_ARGUMENT: the phase does not hold
 * it (the detail names block, phase, both ranks and nodes, and a phase of the block that does), or holds several with
 * this peer in this direction (the detail names their ids); CONSET_ERR_STATE: no phase is open. Local.
 */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* of C++: the struct has the name too */
#endif
int conset_connection(conset_program* program, int peer, int direction, struct conset_connection** connection);
int conset_connection_by_id(conset_program* program, int id, struct conset_connection** connection);
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

/* Elements of a type that has no gaps (its size is its extent); the first send of a phase says the size of the
 * connection's elements, which both sides keep until the phase ends. A send copies, and waits where credits are used
 * up; a receive waits for the elements.
 *
 *     int conset_send_elements(struct conset_connection *connection, const void *data, int64_t count,
 *                              MPI_Datatype type);
 *     int conset_receive_elements(struct conset_connection *connection, void *data, int64_t count,
 *                                 MPI_Datatype type);
 *
 * CONSET_ERR_MISMATCH: elements of another size; more are received than were sent, once their sender has ended the
 * phase.
 *
 * Systolic: `produce` writes elements where they leave from, `apply` consumes them where they arrive, in runs of at
 * least one, in order. They may use other connections, not this one. An element must fit a packet.
 *
 *     int conset_send_computed(struct conset_connection *connection, int64_t count, MPI_Datatype type,
 *                              conset_producer produce, void *state);
 *     int conset_receive_apply(struct conset_connection *connection, int64_t count, MPI_Datatype type,
 *                              conset_operator apply, void *state);
 *
 * Spooling: the same as sends and receives, but in the background of all calls on this program. `data` is the program's
 * until conset_spool_wait or conset_phase_end has returned; what follows on the connection comes after it.
 *
 *     int conset_spool_send(struct conset_connection *connection, const void *data, int64_t count, MPI_Datatype type);
 *     int conset_spool_receive(struct conset_connection *connection, void *data, int64_t count, MPI_Datatype type);
 */

/* Waits until all that is spooled on the connection has left, or arrived. */
int conset_spool_wait(struct conset_connection* connection);

/* Goes on with what is spooled without waiting, and sends packets that are not full. */
int conset_program_progress(conset_program* program);

/* Ends the phase: says so to all targets, waits for all sources, and for what is spooled. Not collective, though it
 * ends only when the sources have ended the phase. CONSET_ERR_MISMATCH: elements were not read (the phase has ended).
 */
int conset_phase_end(conset_program* program);

int conset_program_times(const conset_program* program, conset_switch_times* times);

/* Closes the connections, frees the program and sets *program to NULL; a NULL *program is fine. Collective.
 * CONSET_ERR_STATE: a phase has not ended (it stays as it is, except where only this function is of use), an operator
 * or producer runs, or MPI has ended. */
int conset_program_close(conset_program** program);

/* ---- Asking ---------------------------------------------------------------------------------------------------- */

/* How the exchange was made. Local. */
int conset_exchange_info(const conset_exchange* exchange, conset_info* info);

/* What this rank receives, by source: block k are counts[k] elements of the receive type from sources[k], from element
 * displs[k] of recvbuf on. *blocks: how many. Arrays may be NULL: ask for *blocks first, then for the rest. Of the two
 * exchanges that are made of counts (CONSET_ERR_STATE for one of a plan); of use where recvcounts was NULL. Local. */
int conset_exchange_receives(const conset_exchange* exchange, int* blocks, int sources[], int counts[], int displs[]);

/* What a code means; never NULL. */
const char* conset_error_string(int code);

/* One line on the last error in this thread: rank, peer, phase. Empty where there was none; valid until the next. */
const char* conset_error_detail(void);

/* The version of the library: "0.1.0". */
const char* conset_version(void);

/* ---- Between a program and the library: not to be called by others ----------------------------------------------- */

/* The calls of MPI that the library makes. */
#define CONSET_LIB_CALLS(call)                                                                                        \
    call(MPI_Send_init) call(MPI_Recv_init) call(MPI_Startall) call(MPI_Test) call(MPI_Request_free) call(MPI_Issend) \
        call(MPI_Irecv) call(MPI_Iprobe) call(MPI_Get_count) call(MPI_Ibarrier) call(MPI_Ibcast) call(MPI_Iallgather) \
            call(MPI_Iallgatherv) call(MPI_Igatherv) call(MPI_Iscatterv) call(MPI_Comm_rank) call(MPI_Comm_size)      \
                call(MPI_Comm_dup) call(MPI_Comm_free) call(MPI_Comm_set_errhandler)                                  \
                    call(MPI_Dist_graph_neighbors_count) call(MPI_Dist_graph_neighbors) call(MPI_Type_size)           \
                        call(MPI_Type_get_extent) call(MPI_Type_get_envelope) call(MPI_Error_string) call(MPI_Isend)  \
                            call(MPI_Start) call(MPI_Cancel) call(MPI_Ialltoallv)
#define CONSET_LIB_COUNT_(name) +1
enum { CONSET_LIB_CALL_COUNT = 0 CONSET_LIB_CALLS(CONSET_LIB_COUNT_) };

/* Which calls, in which order: changes with what stands in conset_lib_mpi. */
enum { CONSET_LIB_INTERFACE = 3 };

/* The program's MPI: addresses, bits of handles, constants of mpi.h. */
typedef struct conset_lib_mpi {
    uint64_t interface_number; /* CONSET_LIB_INTERFACE */
    uint64_t calls[CONSET_LIB_CALL_COUNT];
    uint64_t finalized; /* MPI_Finalized */
    uint64_t byte, errors_return, datatype_null;
    uint64_t handle_bytes, status_bytes, source_at;
    int64_t any_source, named;
    const void* in_place;
} conset_lib_mpi;

/* Arguments of an alltoallv. */
typedef struct conset_lib_blocks {
    const void* sendbuf;
    const int *sendcounts, *sdispls;
    void* recvbuf;
    const int *recvcounts, *rdispls;
    uint64_t sendtype, recvtype;
} conset_lib_blocks;

/* What a communicator is. */
enum { CONSET_LIB_NULL = 0, CONSET_LIB_INTER = 1, CONSET_LIB_GRAPH = 2, CONSET_LIB_PLAIN = 3 };
typedef struct conset_lib_comm {
    uint64_t bits;
    int kind;
} conset_lib_comm;

int conset_lib_alltoallv_init(const conset_lib_mpi* mpi, conset_lib_comm comm, int neighbor,
                              const conset_lib_blocks* blocks, const char* options, conset_exchange** exchange);
int conset_lib_alltoallv_update(conset_exchange* exchange, const conset_lib_blocks* blocks);
int conset_lib_plan_read(const conset_lib_mpi* mpi, conset_lib_comm comm, const char* path, conset_plan** plan);
int conset_lib_program_open(const conset_lib_mpi* mpi, conset_lib_comm comm, const char* path,
                            conset_program** program);

/* What is left of the packet in hand: most elements need no more than a copy. As PacketWindow of the core. */
typedef struct conset_lib_window {
    unsigned char* at;
    int64_t room, element_bytes;
    int32_t send;
} conset_lib_window;
struct conset_connection {
    conset_lib_window* window;
    uint64_t type;  /* the last type that was asked for, where it is one that no program can free */
    int type_bytes; /* of one such element; 0: no type */
    int number;
    conset_program* program;
};
int conset_lib_send_elements(struct conset_connection* connection, const void* data, int64_t count, uint64_t type);
int conset_lib_receive_elements(struct conset_connection* connection, void* data, int64_t count, uint64_t type);
int conset_lib_send_computed(struct conset_connection* connection, int64_t count, uint64_t type,
                             conset_producer produce, void* state);
int conset_lib_receive_apply(struct conset_connection* connection, int64_t count, uint64_t type, conset_operator apply,
                             void* state);
int conset_lib_spool_send(struct conset_connection* connection, const void* data, int64_t count, uint64_t type);
int conset_lib_spool_receive(struct conset_connection* connection, void* data, int64_t count, uint64_t type);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef MPI_VERSION

#ifdef __cplusplus
#define CONSET_LIB_CALL_(function) reinterpret_cast<void (*)()>(&function)
#else
#define CONSET_LIB_CALL_(function) ((void (*)(void))(&function))
#endif

/* The bits of a handle or address, of an int or a pointer, as an unsigned number. */
static inline uint64_t conset_lib_bits(const void* value, size_t size) {
    uint32_t narrow = 0;
    uint64_t wide = 0;
    if (size == sizeof narrow) {
        memcpy(&narrow, value, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, value, size < sizeof wide ? size : sizeof wide);
    return wide;
}

static inline uint64_t conset_lib_address(void (*call)(void)) { return conset_lib_bits(&call, sizeof call); }
static inline uint64_t conset_lib_datatype(MPI_Datatype type) { return conset_lib_bits(&type, sizeof type); }

static inline conset_lib_comm conset_lib_communicator(MPI_Comm comm) {
    conset_lib_comm described;
    int inter = 0, topology = MPI_UNDEFINED;
    described.bits = conset_lib_bits(&comm, sizeof comm);
    described.kind = CONSET_LIB_NULL;
    if (comm == MPI_COMM_NULL) return described;
    if (MPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && MPI_Topo_test(comm, &topology) == MPI_SUCCESS)
        described.kind = inter ? CONSET_LIB_INTER : topology == MPI_DIST_GRAPH ? CONSET_LIB_GRAPH : CONSET_LIB_PLAIN;
    return described;
}

/* The MPI of this program, as its mpi.h has it. */
static inline conset_lib_mpi conset_lib_this_mpi(void) {
#define CONSET_LIB_ADDRESS_(name) conset_lib_address(CONSET_LIB_CALL_(name)),
    const uint64_t calls[] = {CONSET_LIB_CALLS(CONSET_LIB_ADDRESS_)};
#undef CONSET_LIB_ADDRESS_
    const MPI_Errhandler errors_return = MPI_ERRORS_RETURN;
    conset_lib_mpi mpi;
    memset(&mpi, 0, sizeof mpi);
    mpi.interface_number = CONSET_LIB_INTERFACE;
    memcpy(mpi.calls, calls, sizeof calls);
    mpi.finalized = conset_lib_address(CONSET_LIB_CALL_(MPI_Finalized));
    mpi.byte = conset_lib_datatype(MPI_BYTE);
    mpi.errors_return = conset_lib_bits(&errors_return, sizeof errors_return);
    mpi.datatype_null = conset_lib_datatype(MPI_DATATYPE_NULL);
    mpi.handle_bytes = sizeof(MPI_Comm);
    mpi.status_bytes = sizeof(MPI_Status);
    mpi.source_at = offsetof(MPI_Status, MPI_SOURCE);
    mpi.any_source = MPI_ANY_SOURCE;
    mpi.named = MPI_COMBINER_NAMED;
    mpi.in_place = MPI_IN_PLACE;
    return mpi;
}
#undef CONSET_LIB_CALL_

static inline conset_lib_blocks conset_lib_arguments(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                     MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                     const int rdispls[], MPI_Datatype recvtype) {
    conset_lib_blocks blocks;
    blocks.sendbuf = sendbuf;
    blocks.sendcounts = sendcounts;
    blocks.sdispls = sdispls;
    blocks.sendtype = conset_lib_datatype(sendtype);
    blocks.recvbuf = recvbuf;
    blocks.recvcounts = recvcounts;
    blocks.rdispls = rdispls;
    blocks.recvtype = conset_lib_datatype(recvtype);
    return blocks;
}

/* Documented above, "Making an exchange". */
static inline int conset_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                        MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                        const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, const char* options,
                                        conset_exchange** exchange) {
    const conset_lib_mpi mpi = conset_lib_this_mpi();
    const conset_lib_blocks blocks =
        conset_lib_arguments(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype);
    return conset_lib_alltoallv_init(&mpi, conset_lib_communicator(comm), 0, &blocks, options, exchange);
}

/* Documented above, "Making an exchange". */
static inline int conset_neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                 const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                                                 const char* options, conset_exchange** exchange) {
    const conset_lib_mpi mpi = conset_lib_this_mpi();
    const conset_lib_blocks blocks =
        conset_lib_arguments(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype);
    return conset_lib_alltoallv_init(&mpi, conset_lib_communicator(comm), 1, &blocks, options, exchange);
}

/* Documented above, "Making an exchange". */
static inline int conset_alltoallv_update(conset_exchange* exchange, const void* sendbuf, const int sendcounts[],
                                          const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                          const int recvcounts[], const int rdispls[], MPI_Datatype recvtype) {
    const conset_lib_blocks blocks =
        conset_lib_arguments(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype);
    return conset_lib_alltoallv_update(exchange, &blocks);
}

/* Documented above, "Making an exchange". */
static inline int conset_plan_read(const char* path, MPI_Comm comm, conset_plan** plan) {
    const conset_lib_mpi mpi = conset_lib_this_mpi();
    return conset_lib_plan_read(&mpi, conset_lib_communicator(comm), path, plan);
}

/* Documented above, "Connections". */
static inline int conset_program_open(const char* path, MPI_Comm comm, conset_program** program) {
    const conset_lib_mpi mpi = conset_lib_this_mpi();
    return conset_lib_program_open(&mpi, conset_lib_communicator(comm), path, program);
}

/* Whether elements fit the packet in hand and leave some of it. */
static inline int conset_lib_fits(const struct conset_connection* connection, int64_t count, uint64_t type, int send) {
    return connection != NULL && connection->type_bytes > 0 && connection->type == type && count > 0 &&
           count < connection->window->room && connection->window->send == send &&
           connection->window->element_bytes == connection->type_bytes &&
           count * connection->type_bytes < connection->window->room;
}

/* Documented above, "Connections". */
static inline int conset_send_elements(struct conset_connection* connection, const void* data, int64_t count,
                                       MPI_Datatype type) {
    const uint64_t bits = conset_lib_datatype(type);
    if (data != NULL && conset_lib_fits(connection, count, bits, 1)) {
        conset_lib_window* const window = connection->window;
        const int64_t bytes = count * window->element_bytes;
        memcpy(window->at, data, (size_t)bytes);
        window->at += bytes;
        window->room -= bytes;
        return CONSET_SUCCESS;
    }
    return conset_lib_send_elements(connection, data, count, bits);
}

/* Documented above, "Connections". */
static inline int conset_receive_elements(struct conset_connection* connection, void* data, int64_t count,
                                          MPI_Datatype type) {
    const uint64_t bits = conset_lib_datatype(type);
    if (data != NULL && conset_lib_fits(connection, count, bits, 0)) {
        conset_lib_window* const window = connection->window;
        const int64_t bytes = count * window->element_bytes;
        memcpy(data, window->at, (size_t)bytes);
        window->at += bytes;
        window->room -= bytes;
        return CONSET_SUCCESS;
    }
    return conset_lib_receive_elements(connection, data, count, bits);
}

/* Documented above, "Connections". */
static inline int conset_send_computed(struct conset_connection* connection, int64_t count, MPI_Datatype type,
                                       conset_producer produce, void* state) {
    return conset_lib_send_computed(connection, count, conset_lib_datatype(type), produce, state);
}

/* Documented above, "Connections". */
static inline int conset_receive_apply(struct conset_connection* connection, int64_t count, MPI_Datatype type,
                                       conset_operator apply, void* state) {
    return conset_lib_receive_apply(connection, count, conset_lib_datatype(type), apply, state);
}

/* Documented above, "Connections". */
static inline int conset_spool_send(struct conset_connection* connection, const void* data, int64_t count,
                                    MPI_Datatype type) {
    return conset_lib_spool_send(connection, data, count, conset_lib_datatype(type));
}

/* Documented above, "Connections". */
static inline int conset_spool_receive(struct conset_connection* connection, void* data, int64_t count,
                                       MPI_Datatype type) {
    return conset_lib_spool_receive(connection, data, count, conset_lib_datatype(type));
}

#endif /* MPI_VERSION */

#ifdef __cplusplus
}
#endif

#endif /* CONSET_H */
