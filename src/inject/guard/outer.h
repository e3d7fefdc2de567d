// SPDX-License-Identifier: Apache-2.0
// What libglint.so knows of the libraries that stand before the C library and before MPI
// (libglint-sync.so, libglint-mpi.so). They give it these tables when they join (hooks/inside.h).
#ifndef GLINT_INJECT_GUARD_OUTER_H
#define GLINT_INJECT_GUARD_OUTER_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

struct guard_outer_libc {
    void (*free)(void *block); // libglint-sync.so's, which the program calls
    // The C library's functions.
    int (*sigaction)(int number, const struct sigaction *action, struct sigaction *old);
    int (*mask)(int how, const sigset_t *set, sigset_t *old);
};

struct guard_outer_mpi {             // for dlsym
    void *(*find)(const char *name); // libglint-mpi.so's own function; NULL: there is none
    void *(*next)(const char *name); // MPI's function; NULL: there is none
};

#endif
