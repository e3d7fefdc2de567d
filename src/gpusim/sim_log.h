// SPDX-License-Identifier: Apache-2.0
// The oracle's log, as the machine writes it: objects, launches and accesses. Internal; the
// driver's part is in sim.h.
#ifndef GLINT_GPUSIM_SIM_LOG_H
#define GLINT_GPUSIM_SIM_LOG_H

#include "access.h"
#include "gpusim.h"

// --- Objects and launches (sim_log.c) ------------------------------------------------------------

// A log of NULL takes these and does nothing.
void sim_log_object(struct sim_log *log, const struct sim_object *object);
void sim_log_object_end(struct sim_log *log, uint64_t id);
void sim_log_launch(struct sim_log *log, const struct sim_launch *launch);
void sim_log_launch_end(struct sim_log *log, uint64_t number, const struct sim_fault *fault);

// Sites are announced before the first access of theirs is written, each once.
void sim_log_site(struct sim_log *log, const struct gpusim_log_site *site, atomic_bool *announced);
// Numbers for so many sites; returns the first.
uint32_t sim_log_reserve_sites(struct sim_log *log, uint32_t count);
// Nothing is written after this; error is an errno.
void sim_log_fail(struct sim_log *log, int error);

// Empties the frame and begins it anew: enum log_frame. Then numbers and texts, then the file.
void log_begin(struct base_buf *frame, unsigned type);
void sim_log_frame(struct sim_log *log, struct base_buf *frame);
void log_put_number(struct base_buf *to, uint64_t value);
void log_put_text(struct base_buf *to, const char *text);

// --- Accesses (sim_log_access.c) -----------------------------------------------------------------

// Makes every instruction of decoded code tell the log when it is done. Leaves by the arena's
// escape when memory runs out.
void sim_log_code(struct sim_log *log, struct code *code, struct base_arena *arena);

// An access of the running instruction: all active lanes, before the instruction does it. Loads are
// made from a copy from then on, so that what is logged is what is loaded.
void sim_log_access(struct warp *warp, const struct uop *op, uint32_t bytes, enum access_kind kind,
                    struct access *access);
// The same of one lane, at a place known already. Space 0: see the place. ACCESS_ATOMIC is a
// reduction.
void sim_log_lane(struct warp *warp, int lane, enum gpusim_log_space space, const void *place,
                  uint32_t bytes, enum access_kind kind);
// What an atomic operation on `bytes` bytes from `offset` of the newest access found and left.
// Where nobody says, it is what memory holds before the whole instruction and after it.
void sim_log_atomic(struct warp *warp, int lane, uint32_t offset, uint32_t bytes,
                    const void *before, const void *after);

// Writes what the worker has kept back, and lets go of it: at the end of its work on a launch.
void sim_log_flush(struct worker *worker);

#endif
