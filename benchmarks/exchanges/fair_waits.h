/* Waits that leave the core to ranks that work; see exchange.h. */
#ifndef CONSET_BENCHMARK_FAIR_WAITS_H
#define CONSET_BENCHMARK_FAIR_WAITS_H

#include <mpi.h>
#include <sched.h>
#include <time.h>

static int waiting_looks = 0;
static long waiting_nap_ns = 0;

static inline void fair_pause(int look) {
  if (!waiting_looks || look < waiting_looks) {
    sched_yield();
  } else {
    /* as conset's executor: longer and longer */
    const int doubled = look - waiting_looks < 3 ? look - waiting_looks : 3;
    const struct timespec nap = {0, (waiting_nap_ns / 8) << doubled};
    nanosleep(&nap, NULL);
  }
}

static inline int fair_wait(MPI_Request *request, MPI_Status *status) {
  for (int look = 0;; look++) {
    int done = 0;
    const int error = MPI_Test(request, &done, status);
    if (error || done) return error;
    fair_pause(look);
  }
}

/* One after the other: MPI_Testall would walk all of them at each look. */
static inline int fair_wait_all(int count, MPI_Request *requests) {
  for (int k = 0; k < count; k++) {
    const int error = fair_wait(&requests[k], MPI_STATUS_IGNORE);
    if (error) return error;
  }
  return MPI_SUCCESS;
}

#endif
