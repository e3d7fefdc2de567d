// SPDX-License-Identifier: Apache-2.0
// Writes launches and the accesses of their instructions to the log. A device without a log calls
// only sim_log_launch(), sim_log_launch_end() and sim_log_flush().
#ifndef GLINT_GPUSIM_MACHINE_LOGGING_H
#define GLINT_GPUSIM_MACHINE_LOGGING_H

#include "access.h"
#include "gpusim/gpusim.h"
#include "gpusim/log/write.h"

// Writes the start and the end of a launch. A log of NULL does nothing.
void sim_log_launch(struct log_file *log, const struct sim_launch *launch);
void sim_log_launch_end(struct log_file *log, const struct sim_launch *launch,
                        const struct sim_fault *fault);

// Makes every instruction of decoded code write its accesses when it has run. Leaves by the arena's
// escape when memory runs out.
void sim_log_code(struct log_file *log, struct sim_code *code, struct base_arena *arena);

// Notes an access of the running instruction by all active lanes, before the instruction performs
// it. Redirects loads to a copy of the memory, so that the logged value is the loaded one.
void sim_log_access(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                    enum sim_access_kind kind, struct sim_access *access);
// Notes an access of one lane to memory at `place`. If `space` is 0, the space is derived from
// `place`. ACCESS_ATOMIC means a reduction.
void sim_log_lane(struct sim_warp *warp, int lane, enum gpusim_log_space space, const void *place,
                  uint32_t bytes, enum sim_access_kind kind);
// Notes the values before and after an atomic operation on `bytes` bytes at `offset` of the newest
// access. Without this call, the log gets the contents of memory before and after the whole
// instruction.
void sim_log_atomic(struct sim_warp *warp, int lane, uint32_t offset, uint32_t bytes,
                    const void *before, const void *after);

// Writes the accesses that the worker has buffered and frees the buffer. Called when the worker
// ends its work on a launch.
void sim_log_flush(struct sim_worker *worker);

#endif
