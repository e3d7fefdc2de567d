// SPDX-License-Identifier: Apache-2.0
// What the machine adds to the log: launches and the accesses of their instructions. A device
// without a log calls none of these but sim_log_launch(), sim_log_launch_end() and sim_log_flush().
#ifndef GLINT_GPUSIM_MACHINE_LOGGING_H
#define GLINT_GPUSIM_MACHINE_LOGGING_H

#include "access.h"
#include "gpusim/gpusim.h"
#include "gpusim/log/write.h"

// Writes the start and the end of a launch. A log of NULL does nothing.
void sim_log_launch(struct log_file *log, const struct sim_launch *launch);
void sim_log_launch_end(struct log_file *log, const struct sim_launch *launch,
                        const struct sim_fault *fault);

// Makes every instruction of decoded code tell the log when it is done. Leaves by the arena's
// escape when memory runs out.
void sim_log_code(struct log_file *log, struct sim_code *code, struct base_arena *arena);

// An access of the running instruction: all active lanes, before the instruction does it. Loads are
// made from a copy from then on, so that what is logged is what is loaded.
void sim_log_access(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                    enum sim_access_kind kind, struct sim_access *access);
// The same of one lane, at a place known already. Space 0: see the place. ACCESS_ATOMIC is a
// reduction.
void sim_log_lane(struct sim_warp *warp, int lane, enum gpusim_log_space space, const void *place,
                  uint32_t bytes, enum sim_access_kind kind);
// What an atomic operation on `bytes` bytes from `offset` of the newest access found and left.
// Where nobody says, it is what memory holds before the whole instruction and after it.
void sim_log_atomic(struct sim_warp *warp, int lane, uint32_t offset, uint32_t bytes,
                    const void *before, const void *after);

// Writes what the worker has kept back, and lets go of it: at the end of its work on a launch.
void sim_log_flush(struct sim_worker *worker);

#endif
