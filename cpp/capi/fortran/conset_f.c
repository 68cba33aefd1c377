/* The functions of conset.h that take handles, for Fortran's: compile this file with the mpicc of the program's MPI and
 * link it to the program (conset.f90 has the interfaces). */
#include <mpi.h>

#include <conset.h>

int conset_f_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Fint sendtype,
                            void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Fint recvtype,
                            MPI_Fint comm, const char* options, conset_exchange** exchange);
int conset_f_neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                     MPI_Fint sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                     MPI_Fint recvtype, MPI_Fint comm, const char* options, conset_exchange** exchange);
int conset_f_alltoallv_update(conset_exchange* exchange, const void* sendbuf, const int sendcounts[],
                              const int sdispls[], MPI_Fint sendtype, void* recvbuf, const int recvcounts[],
                              const int rdispls[], MPI_Fint recvtype);
int conset_f_plan_read(const char* path, MPI_Fint comm, conset_plan** plan);

int conset_f_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Fint sendtype,
                            void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Fint recvtype,
                            MPI_Fint comm, const char* options, conset_exchange** exchange) {
    return conset_alltoallv_init(sendbuf, sendcounts, sdispls, MPI_Type_f2c(sendtype), recvbuf, recvcounts, rdispls,
                                 MPI_Type_f2c(recvtype), MPI_Comm_f2c(comm), options, exchange);
}

int conset_f_neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                     MPI_Fint sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                     MPI_Fint recvtype, MPI_Fint comm, const char* options,
                                     conset_exchange** exchange) {
    return conset_neighbor_alltoallv_init(sendbuf, sendcounts, sdispls, MPI_Type_f2c(sendtype), recvbuf, recvcounts,
                                          rdispls, MPI_Type_f2c(recvtype), MPI_Comm_f2c(comm), options, exchange);
}

int conset_f_alltoallv_update(conset_exchange* exchange, const void* sendbuf, const int sendcounts[],
                              const int sdispls[], MPI_Fint sendtype, void* recvbuf, const int recvcounts[],
                              const int rdispls[], MPI_Fint recvtype) {
    return conset_alltoallv_update(exchange, sendbuf, sendcounts, sdispls, MPI_Type_f2c(sendtype), recvbuf, recvcounts,
                                   rdispls, MPI_Type_f2c(recvtype));
}

int conset_f_plan_read(const char* path, MPI_Fint comm, conset_plan** plan) {
    return conset_plan_read(path, MPI_Comm_f2c(comm), plan);
}
