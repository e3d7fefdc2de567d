// SPDX-License-Identifier: Apache-2.0
// Launches, for the tasks that kernels request (children.h).
#ifndef GLINT_GPUSIM_MACHINE_GRID_H
#define GLINT_GPUSIM_MACHINE_GRID_H

#include "machine.h"

// Sets what follows from run->device and run->request. The device's lock is not held.
void sim_run_prepare(struct sim_run *run);
// Makes the table of thread indices, which the caller frees. False: out of memory.
bool sim_run_place(struct sim_run *run);
// Ends the root's launch, because memory ran out.
void sim_run_no_memory(struct sim_run *run);

#endif
