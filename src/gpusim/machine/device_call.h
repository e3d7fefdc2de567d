// SPDX-License-Identifier: Apache-2.0
// A call of the device runtime by one lane, for the files that implement its functions. A function
// returns its error, or CALL_FAILED. Functions that return something else store that in *result,
// which is 0 at first.
#ifndef GLINT_GPUSIM_MACHINE_DEVICE_CALL_H
#define GLINT_GPUSIM_MACHINE_DEVICE_CALL_H

#include "machine.h"

// Codes of cudaError_t.
enum sim_call_error {
    CALL_OK = 0,
    CALL_INVALID_VALUE = 1,
    CALL_OUT_OF_MEMORY = 2,
    CALL_INVALID_CONFIGURATION = 9,
    CALL_INVALID_PITCH = 12,
    CALL_INVALID_DIRECTION = 21,
    CALL_MAX_DEPTH_EXCEEDED = 65,
    CALL_PENDING_EXCEEDED = 69,
    CALL_INVALID_FUNCTION = 98,
    CALL_INVALID_HANDLE = 400,
    CALL_FAILED = -1, // the launch has failed
};

// A call by one lane.
struct sim_call {
    struct sim_warp *warp;
    const struct sim_uop *op;
    struct sim_block *block;
    int lane;
    bool per_thread; // default streams are the thread's own
};

uint64_t sim_call_argument(const struct sim_call *call, uint32_t index);
// Writes a result through a pointer argument. Returns CALL_FAILED if the lane may not write there.
int sim_call_put(const struct sim_call *call, uint64_t address, const void *value, uint32_t bytes);
int sim_call_put_int(const struct sim_call *call, uint64_t address, int value);
// Ends the launch, because memory ran out, and returns CALL_FAILED.
int sim_call_no_memory(const struct sim_call *call);
// Returns the kernel that a function pointer names, or NULL.
const struct sim_kernel *sim_call_kernel(const struct sim_call *call, uint64_t function);

// Requests of work, streams, events and memory (device_requests.c).
int sim_request_get_parameter_buffer(const struct sim_call *call, uint64_t *result);
int sim_request_get_parameter_buffer_2(const struct sim_call *call, uint64_t *result);
int sim_request_launch_device(const struct sim_call *call, uint64_t *result);
int sim_request_launch_device_2(const struct sim_call *call, uint64_t *result);
int sim_request_create_stream(const struct sim_call *call, uint64_t *result);
int sim_request_destroy_stream(const struct sim_call *call, uint64_t *result);
int sim_request_wait_event(const struct sim_call *call, uint64_t *result);
int sim_request_create_event(const struct sim_call *call, uint64_t *result);
int sim_request_record_event(const struct sim_call *call, uint64_t *result);
int sim_request_destroy_event(const struct sim_call *call, uint64_t *result);
int sim_request_allocate(const struct sim_call *call, uint64_t *result);
int sim_request_release_memory(const struct sim_call *call, uint64_t *result);
int sim_request_copy_1d(const struct sim_call *call, uint64_t *result);
int sim_request_copy_2d(const struct sim_call *call, uint64_t *result);
int sim_request_copy_3d(const struct sim_call *call, uint64_t *result);
int sim_request_fill_1d(const struct sim_call *call, uint64_t *result);
int sim_request_fill_2d(const struct sim_call *call, uint64_t *result);
int sim_request_fill_3d(const struct sim_call *call, uint64_t *result);

#endif
