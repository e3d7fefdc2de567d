// SPDX-License-Identifier: Apache-2.0
// Faults of kernels, which end the launch.
#ifndef GLINT_GPUSIM_MACHINE_FAULT_H
#define GLINT_GPUSIM_MACHINE_FAULT_H

#include "machine.h"

// Fails the launch. The message names kernel, instruction, source line, block and thread besides
// the formatted text. Only the first fault of a launch is kept.
enum sim_step sim_warp_fault(struct sim_warp *warp, const struct sim_uop *op,
                             enum sim_fault_kind kind, int lane, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
// Reports an invalid access that does not end the launch, once for each instruction.
void sim_warp_warn(struct sim_warp *warp, const struct sim_uop *op, int lane, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

#endif
