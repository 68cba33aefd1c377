/* Blocking functions of MPI as MPI_Test and sched_yield, for peers linked with -Wl,--wrap=NAME; see exchange.h. */
#include "fair_waits.h"

#include "exchange.h"

void exchange_waiting(int looks, long nap_ns) {
  waiting_looks = looks;
  waiting_nap_ns = nap_ns;
}

int __wrap_MPI_Wait(MPI_Request *request, MPI_Status *status) { return fair_wait(request, status); }

int __wrap_MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  if (statuses == MPI_STATUSES_IGNORE) return fair_wait_all(count, requests);
  for (int k = 0; k < count; k++) {
    const int error = fair_wait(&requests[k], &statuses[k]);
    if (error) return error;
  }
  return MPI_SUCCESS;
}

int __wrap_MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status) {
  for (int look = 0;; look++) {
    int done = 0;
    const int error = MPI_Testany(count, requests, index, &done, status);
    if (error || done) return error;
    fair_pause(look);
  }
}

int __wrap_MPI_Send(const void *buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm) {
  MPI_Request request;
  const int error = MPI_Isend(buffer, count, type, target, tag, comm, &request);
  return error ? error : fair_wait(&request, MPI_STATUS_IGNORE);
}

int __wrap_MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                    MPI_Status *status) {
  MPI_Request request;
  const int error = MPI_Irecv(buffer, count, type, source, tag, comm, &request);
  return error ? error : fair_wait(&request, status);
}

int __wrap_MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int target, int out_tag, void *in,
                        int in_count, MPI_Datatype in_type, int source, int in_tag, MPI_Comm comm,
                        MPI_Status *status) {
  MPI_Request receive, send;
  int error = MPI_Irecv(in, in_count, in_type, source, in_tag, comm, &receive);
  if (!error) error = MPI_Isend(out, out_count, out_type, target, out_tag, comm, &send);
  if (!error) error = fair_wait(&receive, status);
  return error ? error : fair_wait(&send, MPI_STATUS_IGNORE);
}

int __wrap_MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
  for (int look = 0;; look++) {
    int found = 0;
    const int error = MPI_Iprobe(source, tag, comm, &found, status);
    if (error || found) return error;
    fair_pause(look);
  }
}
