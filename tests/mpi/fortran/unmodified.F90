! A Fortran program that does not know conset, with `use mpi` or (-DWITH_F08) `use mpi_f08`. Rank 0 prints a checksum of
! all that the ranks received: it is the same whether the program is run alone, recorded or intercepted.
#ifdef WITH_F08
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif
program unmodified
    use, intrinsic :: iso_fortran_env, only: int64
#ifdef WITH_F08
    use mpi_f08
#else
    use mpi
#endif
    implicit none

    integer, parameter :: each = 1000, calls = 20, rows = 3
    integer, allocatable :: even(:), even_in(:), sent(:), sent_at(:), received(:), received_at(:), uneven(:), uneven_in(:)
    integer, allocatable :: slab(:, :), turned(:, :), ones(:), starts(:), turned_starts(:)
    HANDLE(MPI_Datatype), allocatable :: blocks(:), turned_blocks(:)
    HANDLE(MPI_Datatype) :: block
    HANDLE(MPI_Comm) :: copy
    integer(int64) :: checksum, total
    integer :: rank, ranks, call, k, ierror

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierror)
    checksum = 0

    allocate (even(each * ranks), even_in(each * ranks))
    do call = 1, calls
        even = [(1000003 * rank + 10007 * call + k, k=1, each * ranks)]
        even_in = -1
        call MPI_Alltoall(even, each, MPI_INTEGER, even_in, each, MPI_INTEGER, MPI_COMM_WORLD, ierror)
        call take(even_in)
    end do
    call MPI_Alltoall(MPI_IN_PLACE, each, MPI_INTEGER, even_in, each, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call take(even_in)

    allocate (sent(ranks), sent_at(ranks), received(ranks), received_at(ranks))
    do call = 1, calls
        sent = [(block_size(call, rank, k), k=0, ranks - 1)]
        received = [(block_size(call, k, rank), k=0, ranks - 1)]
        sent_at = [(sum(sent(:k)), k=0, ranks - 1)]
        received_at = [(sum(received(:k)), k=0, ranks - 1)]
        uneven = [(1000003 * rank + 10007 * call + k, k=0, sum(sent))]
        uneven_in = [(-1, k=0, sum(received))]
        call MPI_Alltoallv(uneven, sent, sent_at, MPI_INTEGER, uneven_in, received, received_at, MPI_INTEGER, copy, ierror)
        call take(uneven_in)
    end do

    ! the transpose of a matrix of rows * ranks columns, in slabs
    allocate (slab(rows * ranks, rows), turned(rows, rows * ranks), ones(ranks), starts(ranks), turned_starts(ranks))
    allocate (blocks(ranks), turned_blocks(ranks))
    call MPI_Type_vector(rows, rows, rows * ranks, MPI_INTEGER, block, ierror)
    call MPI_Type_commit(block, ierror)
    ones = 1
    starts = [(4 * rows * k, k=0, ranks - 1)]
    turned_starts = [(4 * rows * rows * k, k=0, ranks - 1)]
    blocks = block
    turned_blocks = MPI_INTEGER
    do call = 1, calls
        slab = reshape([(1000003 * rank + 10007 * call + k, k=1, size(slab))], shape(slab))
        turned = -1
        call MPI_Alltoallw(slab, ones, starts, blocks, turned, [(rows * rows, k=1, ranks)], turned_starts, turned_blocks, &
                           MPI_COMM_WORLD, ierror)
        call take(reshape(turned, [size(turned)]))
    end do
    call MPI_Type_free(block, ierror)

    call MPI_Comm_free(copy, ierror)
    call MPI_Reduce(checksum, total, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
    if (rank == 0) print '(a, i0)', 'checksum ', total
    call MPI_Finalize(ierror)

contains

    ! About every fourth pair exchanges nothing.
    pure function block_size(call, source, target) result(count)
        integer, intent(in) :: call, source, target
        integer :: count
        count = modulo(source * 31 + target * 17 + 7 * modulo(call, 2), 4) * (50 + 10 * target + source)
    end function block_size

    subroutine take(values)
        integer, intent(in) :: values(:)
        integer :: i
        do i = 1, size(values)
            checksum = modulo(checksum * 31 + values(i), 1000000007_int64)
        end do
    end subroutine take
end program unmodified
