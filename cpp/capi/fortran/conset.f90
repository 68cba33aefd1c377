! conset for Fortran 2018: conset.h says what each function does. Compile this file with the program and conset_f.c with
! the mpicc of the same MPI; link both with `conset config --libs`.
!
!     use mpi                      ! of mpi_f08 hand over type%MPI_VAL and comm%MPI_VAL
!     use conset
!     type(c_ptr) :: exchange
!     real(real64), target, asynchronous :: values(...), received(...)
!     code = conset_alltoallv_init(c_loc(values), sendcounts, sdispls, MPI_DOUBLE_PRECISION, c_loc(received), &
!                                  recvcounts, rdispls, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, &
!                                  'machine=torus:4x4' // c_null_char, exchange)
!
! Every function returns conset_success or a code. Displacements count from 0, as MPI's. Buffers are handed over by
! c_loc of a contiguous array with the attributes target and asynchronous, since they are the exchange's from
! conset_start to the end of conset_wait; c_null_ptr where a rank has none. Texts end with c_null_char.
module conset
    use, intrinsic :: iso_c_binding, only: c_char, c_double, c_f_pointer, c_int, c_int64_t, c_null_char, c_null_ptr, &
        c_ptr, c_size_t
    implicit none

    integer(c_int), parameter :: conset_success = 0, conset_err_argument = 1, conset_err_file = 2, &
        conset_err_mismatch = 3, conset_err_state = 4, conset_err_schedule = 5, conset_err_timeout = 6, &
        conset_err_mpi = 7, conset_err_memory = 8, conset_err_internal = 9

    type, bind(c) :: conset_info
        character(kind=c_char) :: method(32), sync(32)
        integer(c_int64_t) :: phases
        real(c_double) :: rows_s, schedule_s, plan_s
        character(kind=c_char) :: combine(64)
        integer(c_int64_t) :: memory_bytes, left_out_bytes
        real(c_double) :: schedule_run_s, mpi_run_s
    end type conset_info

    interface
        ! recvcounts and rdispls absent on all ranks: what comes is learned from those who send.
        function conset_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, &
                                       recvtype, comm, options, exchange) result(code) &
                                       bind(c, name='conset_f_alltoallv_init')
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: sendbuf, recvbuf
            integer(c_int), intent(in) :: sendcounts(*), sdispls(*)
            integer(c_int), intent(in), optional :: recvcounts(*), rdispls(*)
            integer(c_int), value :: sendtype, recvtype, comm
            character(kind=c_char), intent(in) :: options(*)
            type(c_ptr), intent(out) :: exchange
            integer(c_int) :: code
        end function conset_alltoallv_init

        function conset_neighbor_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, &
                                                recvtype, comm, options, exchange) result(code) &
                                                bind(c, name='conset_f_neighbor_alltoallv_init')
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: sendbuf, recvbuf
            integer(c_int), intent(in) :: sendcounts(*), sdispls(*)
            integer(c_int), intent(in), optional :: recvcounts(*), rdispls(*)
            integer(c_int), value :: sendtype, recvtype, comm
            character(kind=c_char), intent(in) :: options(*)
            type(c_ptr), intent(out) :: exchange
            integer(c_int) :: code
        end function conset_neighbor_alltoallv_init

        function conset_alltoallv_update(exchange, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
                                         rdispls, recvtype) result(code) bind(c, name='conset_f_alltoallv_update')
            import :: c_int, c_ptr
            type(c_ptr), value :: exchange, sendbuf, recvbuf
            integer(c_int), intent(in) :: sendcounts(*), sdispls(*)
            integer(c_int), intent(in), optional :: recvcounts(*), rdispls(*)
            integer(c_int), value :: sendtype, recvtype
            integer(c_int) :: code
        end function conset_alltoallv_update

        function conset_plan_read(path, comm, plan) result(code) bind(c, name='conset_f_plan_read')
            import :: c_char, c_int, c_ptr
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int), value :: comm
            type(c_ptr), intent(out) :: plan
            integer(c_int) :: code
        end function conset_plan_read

        function conset_plan_buffers(plan, send_bytes, receive_bytes) result(code) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: plan
            integer(c_int64_t), intent(out), optional :: send_bytes, receive_bytes
            integer(c_int) :: code
        end function conset_plan_buffers

        function conset_plan_timeout(plan, seconds) result(code) bind(c)
            import :: c_double, c_int, c_ptr
            type(c_ptr), value :: plan
            real(c_double), value :: seconds
            integer(c_int) :: code
        end function conset_plan_timeout

        function conset_exchange_init(plan, sendbuf, recvbuf, exchange) result(code) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: plan, sendbuf, recvbuf
            type(c_ptr), intent(out) :: exchange
            integer(c_int) :: code
        end function conset_exchange_init

        function conset_plan_free(plan) result(code) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), intent(inout) :: plan
            integer(c_int) :: code
        end function conset_plan_free

        function conset_start(exchange) result(code) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: exchange
            integer(c_int) :: code
        end function conset_start

        function conset_progress(exchange, done) result(code) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: exchange
            integer(c_int), intent(out) :: done
            integer(c_int) :: code
        end function conset_progress

        function conset_wait(exchange) result(code) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: exchange
            integer(c_int) :: code
        end function conset_wait

        function conset_free(exchange) result(code) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), intent(inout) :: exchange
            integer(c_int) :: code
        end function conset_free

        function conset_exchange_info(exchange, info) result(code) bind(c)
            import :: c_int, c_ptr, conset_info
            type(c_ptr), value :: exchange
            type(conset_info), intent(out) :: info
            integer(c_int) :: code
        end function conset_exchange_info

        function conset_exchange_receives(exchange, blocks, sources, counts, displs) result(code) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: exchange
            integer(c_int), intent(out) :: blocks
            integer(c_int), optional :: sources(*), counts(*), displs(*)
            integer(c_int) :: code
        end function conset_exchange_receives
    end interface

    interface
        function conset_error_string_c(code) result(text) bind(c, name='conset_error_string')
            import :: c_int, c_ptr
            integer(c_int), value :: code
            type(c_ptr) :: text
        end function conset_error_string_c

        function conset_error_detail_c() result(text) bind(c, name='conset_error_detail')
            import :: c_ptr
            type(c_ptr) :: text
        end function conset_error_detail_c

        function conset_strlen(text) result(length) bind(c, name='strlen')
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function conset_strlen
    end interface

    private :: conset_error_string_c, conset_error_detail_c, conset_strlen, text_of

contains

    ! What a code means.
    function conset_error_string(code) result(text)
        integer(c_int), intent(in) :: code
        character(len=:), allocatable :: text
        text = text_of(conset_error_string_c(code))
    end function conset_error_string

    ! One line on the last error in this thread: rank, peer, phase.
    function conset_error_detail() result(text)
        character(len=:), allocatable :: text
        text = text_of(conset_error_detail_c())
    end function conset_error_detail

    function text_of(pointer) result(text)
        type(c_ptr), intent(in) :: pointer
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        integer :: k, length
        length = int(conset_strlen(pointer))
        call c_f_pointer(pointer, letters, [length])
        allocate (character(len=length) :: text)
        do k = 1, length
            text(k:k) = letters(k)
        end do
    end function text_of
end module conset
