// SPDX-License-Identifier: Apache-2.0
// For the doors: functions of MPI that have one of ours before them.
#ifndef GLINT_INJECT_FIRST_USE_MPI_H
#define GLINT_INJECT_FIRST_USE_MPI_H

// Ours that stands before the function; NULL: none does.
void *use_mpi_find(const char *name);

#endif
