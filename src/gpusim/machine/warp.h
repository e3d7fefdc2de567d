// SPDX-License-Identifier: Apache-2.0
// Control flow of a warp: divergence and joins, exits, waits of lanes for one another, and faults.
// Called by the worker that runs the warp's block.
#ifndef GLINT_GPUSIM_MACHINE_WARP_H
#define GLINT_GPUSIM_MACHINE_WARP_H

#include "fault.h"
#include "machine.h"

// --- Life ----------------------------------------------------------------------------------------

// A warp is initialized once for a launch, then started and stopped for each block that it runs.
// sim_warp_init() and sim_warp_start() return false when memory runs out.
bool sim_warp_init(struct sim_warp *warp, struct sim_block *block, uint32_t index);
bool sim_warp_start(struct sim_warp *warp);
void sim_warp_stop(struct sim_warp *warp);
void sim_warp_fini(struct sim_warp *warp);
// Bytes of memory for a warp of the launch.
uint64_t sim_warp_bytes(const struct sim_run *launch);

// A warp's turn within its block. The warps of a GPU start together and run side by side, and
// programs with races unknowingly rely on that. So the first turn is short; each later turn is
// twice as long, until switching costs almost nothing. After a barrier, turns are short again.
enum { FIRST_WARP_TURN = 1 << 4, WARP_TURN = 1 << 9 };

// Runs until every path waits or has ended, or until `budget` instructions have run. Returns false
// when the launch has failed.
bool sim_warp_run(struct sim_warp *warp, uint64_t budget);

// --- For handlers --------------------------------------------------------------------------------

void sim_warp_set_mask(struct sim_warp *warp, uint32_t mask);

// Ends these lanes of the running path.
enum sim_step sim_warp_exit_lanes(struct sim_warp *warp, uint32_t lanes);
// Continues the lanes `taken` at `to` and the others at `next`. If both are non-empty, the path
// splits until op->rejoin.
enum sim_step sim_warp_branch(struct sim_warp *warp, const struct sim_uop *op, uint32_t taken,
                              uint32_t to, uint32_t next);
// Returns from the running path's function; from a kernel, ends its lanes.
enum sim_step sim_warp_return(struct sim_warp *warp);
// Lets `lanes` call the function and continues the others at `others`. All join after the call.
enum sim_step sim_warp_call_some(struct sim_warp *warp, const struct sim_uop *op, uint32_t lanes,
                                 uint32_t others, const struct sim_code *code);
// The running path has reached its join.
enum sim_step sim_warp_arrive(struct sim_warp *warp, const struct sim_uop *op);
// Splits off the lanes of the running path that do not execute this instruction; they continue with
// the next one. Returns false when memory runs out: the launch has failed.
bool sim_warp_part(struct sim_warp *warp, const struct sim_uop *op);
// For instructions that several lanes execute together. Returns true when all live members have
// arrived: the instruction then runs with warp->mask set to them and ends with sim_warp_apart().
// Returns false when the path has to wait.
bool sim_warp_together(struct sim_warp *warp, const struct sim_uop *op, uint32_t members);
enum sim_step sim_warp_apart(struct sim_warp *warp);
// Releases the barrier if it waited only for lanes of this warp that have ended (ops_control.c).
void sim_warp_left_barrier(struct sim_warp *warp, unsigned id);

#endif
