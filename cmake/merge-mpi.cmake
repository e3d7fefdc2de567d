# SPDX-License-Identifier: Apache-2.0
# Builds glint-merge-mpi, which merges profiles as an MPI program, where an MPI is installed.

# Packages for other machines do not have it, because each MPI needs a program of its own.
if(NOT CMAKE_CROSSCOMPILING AND NOT GLINT_STATIC_RUNTIME AND NOT GLINT_SANITIZE AND NOT GLINT_FUZZ)
    find_package(MPI COMPONENTS C QUIET)
endif()
if(MPI_C_FOUND)
    file(GLOB mpi_sources CONFIGURE_DEPENDS src/merge/mpi/*.c)
    add_executable(glint-merge-mpi ${mpi_sources})
    target_link_libraries(glint-merge-mpi PRIVATE glint_merge MPI::MPI_C)
    install(TARGETS glint-merge-mpi RUNTIME DESTINATION bin)
else()
    message(STATUS "MPI was not found: glint-merge-mpi is not built (Debian: libopenmpi-dev or libmpich-dev)")
endif()
