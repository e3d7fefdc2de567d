// SPDX-License-Identifier: Apache-2.0
// Copies and fills that kernels request by the device runtime.
#ifndef GLINT_GPUSIM_MACHINE_TRANSFERS_H
#define GLINT_GPUSIM_MACHINE_TRANSFERS_H

#include "children.h"

// Executes and logs the task, a copy or fill. If its memory is not all in objects that kernels of
// the device may access, the root's launch has failed. The device's lock is not held.
void sim_transfer_run(struct sim_family *family, const struct sim_task *task);

#endif
