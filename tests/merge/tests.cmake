# SPDX-License-Identifier: Apache-2.0
# The test of glint-merge-mpi, where an MPI is installed.

if(TARGET glint-merge-mpi)
    glint_test(merge.mpi sh ${CMAKE_CURRENT_SOURCE_DIR}/merge/mpi.sh
        $<TARGET_FILE:job_write_ranks> ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:glint-merge-mpi>)
else()
    glint_test(merge.mpi sh -c "echo 'SKIP: no MPI (libopenmpi-dev)'; exit 77")
endif()
