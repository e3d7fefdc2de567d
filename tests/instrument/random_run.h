// SPDX-License-Identifier: Apache-2.0
// Launches a random kernel again and again, with equal parameters and sizes, and with other
// contents of all memory that it may read: buffers, tables of pointers, variables and constants.
// Uses the driver that the process has. Exits if CUDA fails.
#ifndef GLINT_TESTS_INSTRUMENT_RANDOM_RUN_H
#define GLINT_TESTS_INSTRUMENT_RANDOM_RUN_H

#include "cudaabi/cudaabi.h"
#include "random_kernel.h"

struct random_run {
    const struct random_kernel *kernel;
    CUmodule module;
    CUfunction function;
    CUdeviceptr buffers[ORACLE_BUFFERS];
    unsigned char params[ORACLE_PARAMS];
};

// A context must be current. The kernel must outlive the run.
void random_run_start(struct random_run *run, const struct random_kernel *kernel);
void random_run_renew(const struct random_run *run, uint64_t round);
// Gives the kernel other parameters: pointers to other buffers of the same kind that are not
// smaller, or (moved == false) those that it had at first. Kernels with FEATURE_FORMS keep theirs.
void random_run_move(struct random_run *run, bool moved);
// Waits until the launch has ended. blocks: of the grid's first dimension; 0: as many as the kernel
// is made for, else not more.
void random_run_launch(const struct random_run *run, uint32_t blocks);
void random_run_end(struct random_run *run);

#endif
