/* MPI's own exchanges, and the persistent direct exchange; see exchange.h.
 *
 * The blocking collectives are called as they are; how they wait is theirs. Their nonblocking and persistent forms are
 * waited for with fair waits, so that the best of MPI's own is not the one that happens to yield. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "fair_waits.h"

/* For blocks of exchanges to start together. */
void exchange_barrier(const MPI_Comm *comm);

enum Kind {
  ALLTOALL,
  IALLTOALL,
  ALLTOALLV,
  IALLTOALLV,
  NEIGHBOR,
  INEIGHBOR,
  NEIGHBOR_INIT,
  PERSISTENT,
  KINDS
};

static const char *const NAMES[KINDS] = {"alltoall",           "ialltoall",           "alltoallv",
                                         "ialltoallv",         "neighbor_alltoallv",  "ineighbor_alltoallv",
                                         "neighbor_alltoallv_init", "persistent"};

typedef struct {
  enum Kind kind;
  MPI_Comm comm;
  Task task;
  int *counts; /* four of one per rank: out, their places, in, their places */
  char *out, *in;
  MPI_Request *requests; /* receives, then sends */
  int count;
} Exchange;

const char *exchange_names(void) {
  static char names[256];
  names[0] = 0;
  for (int k = 0; k < KINDS; k++) {
    if (k) strcat(names, " ");
    strcat(names, NAMES[k]);
  }
  return names;
}

void exchange_waiting(int looks, long nap_ns) {
  waiting_looks = looks;
  waiting_nap_ns = nap_ns;
}

void exchange_barrier(const MPI_Comm *comm) {
  MPI_Request request;
  if (!MPI_Ibarrier(*comm, &request)) fair_wait(&request, MPI_STATUS_IGNORE);
}

static void open_dense(Exchange *x) {
  const Task *t = &x->task;
  x->counts = calloc(4 * (size_t)t->ranks, sizeof(int));
  int *out = x->counts, *out_at = out + t->ranks, *in = out_at + t->ranks, *in_at = in + t->ranks;
  for (int k = 0; k < t->sends; k++) out[t->targets[k]] = t->send_bytes[k], out_at[t->targets[k]] = t->send_places[k];
  for (int k = 0; k < t->receives; k++) in[t->sources[k]] = t->receive_bytes[k], in_at[t->sources[k]] = t->receive_places[k];
}

/* MPI_Alltoall has a block for the rank itself, the task none. */
static void open_blocks(Exchange *x) {
  const Task *t = &x->task;
  const size_t block = (size_t)t->same;
  x->out = calloc((size_t)t->ranks, block);
  x->in = calloc((size_t)t->ranks, block);
  for (int k = 0; k < t->sends; k++) memcpy(x->out + (size_t)t->targets[k] * block, t->send + t->send_places[k], block);
}

static int open_graph(Exchange *x, const MPI_Comm *comm) {
  const Task *t = &x->task;
  return MPI_Dist_graph_create_adjacent(*comm, t->receives, t->sources, MPI_UNWEIGHTED, t->sends, t->targets,
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &x->comm);
}

static int open_requests(Exchange *x) {
  const Task *t = &x->task;
  x->count = t->receives + t->sends;
  x->requests = malloc((size_t)(x->count + 1) * sizeof(MPI_Request));
  int error = 0;
  for (int k = 0; k < t->receives && !error; k++)
    error = MPI_Recv_init(t->receive + t->receive_places[k], t->receive_bytes[k], MPI_BYTE, t->sources[k], 1, x->comm,
                          &x->requests[k]);
  for (int k = 0; k < t->sends && !error; k++)
    error = MPI_Send_init(t->send + t->send_places[k], t->send_bytes[k], MPI_BYTE, t->targets[k], 1, x->comm,
                          &x->requests[t->receives + k]);
  return error;
}

static int open_neighbor_init(Exchange *x) {
  const Task *t = &x->task;
  x->count = 1;
  x->requests = malloc(sizeof(MPI_Request));
  return MPI_Neighbor_alltoallv_init(t->send, t->send_bytes, t->send_places, MPI_BYTE, t->receive, t->receive_bytes,
                                     t->receive_places, MPI_BYTE, x->comm, MPI_INFO_NULL, &x->requests[0]);
}

void *exchange_open(const MPI_Comm *comm, const Task *task, const char *name) {
  int kind = 0;
  while (kind < KINDS && strcmp(name, NAMES[kind])) kind++;
  if (kind == KINDS || (kind <= IALLTOALL && !task->same)) return NULL;
  Exchange *x = calloc(1, sizeof(Exchange));
  x->kind = (enum Kind)kind;
  x->task = *task;
  int error = 0;
  if (kind >= NEIGHBOR && kind <= NEIGHBOR_INIT)
    error = open_graph(x, comm);
  else
    error = MPI_Comm_dup(*comm, &x->comm);
  if (kind <= IALLTOALL) open_blocks(x);
  if (kind == ALLTOALLV || kind == IALLTOALLV) open_dense(x);
  if (kind == NEIGHBOR_INIT && !error) error = open_neighbor_init(x);
  if (kind == PERSISTENT && !error) error = open_requests(x);
  if (error) {
    fprintf(stderr, "exchange_open: %s: error %d of MPI\n", name, error);
    MPI_Abort(*comm, 1);
  }
  return x;
}

static int run_once(Exchange *x) {
  const Task *t = &x->task;
  const int *out = x->counts, *out_at = out + t->ranks, *in = out_at + t->ranks, *in_at = in + t->ranks;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = 0;
  switch (x->kind) {
    case ALLTOALL:
      return MPI_Alltoall(x->out, t->same, MPI_BYTE, x->in, t->same, MPI_BYTE, x->comm);
    case IALLTOALL:
      error = MPI_Ialltoall(x->out, t->same, MPI_BYTE, x->in, t->same, MPI_BYTE, x->comm, &request);
      break;
    case ALLTOALLV:
      return MPI_Alltoallv(t->send, out, out_at, MPI_BYTE, t->receive, in, in_at, MPI_BYTE, x->comm);
    case IALLTOALLV:
      error = MPI_Ialltoallv(t->send, out, out_at, MPI_BYTE, t->receive, in, in_at, MPI_BYTE, x->comm, &request);
      break;
    case NEIGHBOR:
      return MPI_Neighbor_alltoallv(t->send, t->send_bytes, t->send_places, MPI_BYTE, t->receive, t->receive_bytes,
                                    t->receive_places, MPI_BYTE, x->comm);
    case INEIGHBOR:
      error = MPI_Ineighbor_alltoallv(t->send, t->send_bytes, t->send_places, MPI_BYTE, t->receive, t->receive_bytes,
                                      t->receive_places, MPI_BYTE, x->comm, &request);
      break;
    default:
      error = x->count ? MPI_Startall(x->count, x->requests) : 0;
      return error ? error : fair_wait_all(x->count, x->requests);
  }
  return error ? error : fair_wait(&request, MPI_STATUS_IGNORE);
}

int exchange_run(void *exchange, int times) {
  for (int k = 0; k < times; k++) {
    const int error = run_once(exchange);
    if (error) return error;
  }
  return 0;
}

void exchange_collect(void *exchange) {
  const Exchange *x = exchange;
  const Task *t = &x->task;
  if (!x->in) return;
  for (int k = 0; k < t->receives; k++)
    memcpy(t->receive + t->receive_places[k], x->in + (size_t)t->sources[k] * (size_t)t->same, (size_t)t->same);
}

void exchange_close(void *exchange) {
  Exchange *x = exchange;
  for (int k = 0; k < x->count; k++) MPI_Request_free(&x->requests[k]);
  MPI_Comm_free(&x->comm);
  free(x->requests);
  free(x->counts);
  free(x->out);
  free(x->in);
  free(x);
}
