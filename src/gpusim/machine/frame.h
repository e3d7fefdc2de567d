// SPDX-License-Identifier: Apache-2.0
// Frames: the registers and parameters of a function's activation.
#ifndef GLINT_GPUSIM_MACHINE_FRAME_H
#define GLINT_GPUSIM_MACHINE_FRAME_H

#include "machine.h"

// Returns a frame for a call from `caller`, or for the kernel if `caller` is NULL. Its registers
// are zero, so that a program that reads a register it never wrote behaves the same in every run.
// NULL when memory runs out.
struct sim_frame *sim_frame_new(struct sim_warp *warp, const struct sim_code *code,
                                struct sim_frame *caller);
// Moves the frame to the warp's list of unused frames.
void sim_frame_end(struct sim_warp *warp, struct sim_frame *frame);
// Frees an unused frame.
void sim_frame_free(struct sim_frame *frame);
// Bytes that follow a frame of the function, for its parameters.
size_t sim_frame_room_bytes(const struct sim_code *code);

// Takes memory for the registers of a frame, and gives it back for other frames of the worker.
// sim_frame_take_room() returns false when memory runs out.
bool sim_frame_take_room(struct sim_worker *worker, struct sim_frame *frame);
void sim_frame_give_room(struct sim_worker *worker, struct sim_frame *frame);
// Frees the memory that a worker keeps for the warps of a launch.
void sim_worker_clear(struct sim_worker *worker);

// Copies registers of the lanes to their places among the frame's parameters, and back.
void sim_frame_store_params(struct sim_frame *frame, const struct sim_passed *passed,
                            uint32_t count, uint32_t lanes);
void sim_frame_load_params(struct sim_frame *frame, const struct sim_passed *passed, uint32_t count,
                           uint32_t lanes);

// Enters the function with the running path.
enum sim_step sim_frame_call(struct sim_warp *warp, const struct sim_uop *op,
                             const struct sim_code *code);
// Returns the running path to the caller's frame, with the function's result.
void sim_frame_leave(struct sim_warp *warp);

#endif
