! An all-to-all exchange of unequal blocks that is scheduled while the program runs, beside MPI_Alltoallv.
!
!     F="$(conset config --prefix)/share/conset/fortran"
!     mpicc $(conset config --cflags) -c "$F/conset_f.c"
!     mpifort "$F/conset.f90" alltoallv.f90 conset_f.o $(conset config --libs) -o alltoallv
!     mpiexec -n 4 ./alltoallv
program alltoallv
    use, intrinsic :: iso_c_binding, only: c_int, c_loc, c_null_char, c_ptr
    use, intrinsic :: iso_fortran_env, only: error_unit, real64
    use mpi
    use conset
    implicit none

    integer, parameter :: steps = 5
    integer(c_int), allocatable :: sendcounts(:), sdispls(:), recvcounts(:), rdispls(:)
    real(real64), allocatable, target, asynchronous :: values(:), received(:)
    real(real64), allocatable :: expected(:)
    type(c_ptr) :: exchange
    integer :: rank, ranks, step, k, wrong, all, ierror

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)

    allocate (sendcounts(ranks), sdispls(ranks), recvcounts(ranks), rdispls(ranks))
    sendcounts(:) = [(block_size(rank, k), k=0, ranks - 1)]
    recvcounts(:) = [(block_size(k, rank), k=0, ranks - 1)]
    sdispls(:) = [(sum(sendcounts(:k)), k=0, ranks - 1)]
    rdispls(:) = [(sum(recvcounts(:k)), k=0, ranks - 1)]
    allocate (values(max(1, sum(sendcounts))), received(max(1, sum(recvcounts))), expected(max(1, sum(recvcounts))))

    call check('conset_alltoallv_init', &
               conset_alltoallv_init(c_loc(values), sendcounts, sdispls, MPI_DOUBLE_PRECISION, c_loc(received), &
                                     recvcounts, rdispls, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, &
                                     'method=auto;timeout=30s' // c_null_char, exchange))
    wrong = 0
    do step = 1, steps
        values = [(1e6_real64 * rank + 1e5_real64 * step + k, k=1, size(values))]
        received = -1
        expected = -1
        call check('conset_start', conset_start(exchange))
        call check('conset_wait', conset_wait(exchange))
        call MPI_Alltoallv(values, sendcounts, sdispls, MPI_DOUBLE_PRECISION, expected, recvcounts, rdispls, &
                           MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierror)
        wrong = wrong + count(received /= expected)
    end do
    ! a second start without a wait is a state that it must not be in: an error, and the first goes on
    call check('conset_start', conset_start(exchange))
    if (conset_start(exchange) /= conset_err_state) wrong = wrong + 1
    if (len(conset_error_detail()) == 0) wrong = wrong + 1
    call check('conset_wait', conset_wait(exchange))
    call check('conset_free', conset_free(exchange))

    call MPI_Allreduce(wrong, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (rank == 0) print '(a, i0, a, i0, a)', 'alltoallv: ', ranks, ' ranks, ', all, ' wrong values'
    call MPI_Finalize(ierror)
    if (all /= 0) error stop 1

contains

    ! About every fourth pair exchanges nothing.
    pure function block_size(source, target) result(count)
        integer, intent(in) :: source, target
        integer :: count
        count = modulo(source * 31 + target * 17, 4) * (500 + 100 * target + source)
    end function block_size

    subroutine check(call, code)
        character(len=*), intent(in) :: call
        integer(c_int), intent(in) :: code
        if (code == conset_success) return
        write (error_unit, '(6a)') 'alltoallv: ', call, ': ', conset_error_string(code), ': ', conset_error_detail()
        call MPI_Abort(MPI_COMM_WORLD, code, ierror)
    end subroutine check
end program alltoallv
