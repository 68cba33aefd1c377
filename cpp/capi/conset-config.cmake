# find_package(conset): the target conset::conset. A program also links its own MPI (MPI::MPI_C), which conset.h is
# compiled with.
include("${CMAKE_CURRENT_LIST_DIR}/conset-targets.cmake")
