// SPDX-License-Identifier: Apache-2.0
// Runs kernels with shared memory, and compares the words that they access with the log.
#ifndef GLINT_TESTS_INSTRUMENT_WORDS_RUN_H
#define GLINT_TESTS_INSTRUMENT_WORDS_RUN_H

#include <stdio.h>

#include "oracle.h"

// Instruments the kernel, to count words in these ways. Ends the process if it has no clone.
struct instrument_module *words_module(const char *ptx, uint32_t ways);

struct words_run {
    const char *name, *ptx;
    uint32_t n;                // the kernel's number
    uint32_t bytes, dynamic;   // of each of its two buffers, and of dynamic shared memory
    const unsigned char *data; // of the first buffer; NULL: zeros
    bool ranges;               // with live ranges: only if all accesses are ordered
    uint32_t block[3];
    enum oracle_spoil spoil;
};
// Runs the kernel in each way of counting, but only in the first if it is spoiled. Returns whether
// what probes tell is what the log says.
bool words_hold(const struct words_run *run, FILE *complaints);

#endif
