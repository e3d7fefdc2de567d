// SPDX-License-Identifier: Apache-2.0
// A small log, written by the machine, with every kind of record and most shapes of accesses. The
// tests of the reader and its fuzz target start from it.
#ifndef GLINT_TESTS_GPUSIM_LOG_SAMPLE_H
#define GLINT_TESTS_GPUSIM_LOG_SAMPLE_H

#include <stdint.h>
#include <string.h>

#include "gpusim/log/write.h"
#include "gpusim/machine/sim.h"

static const char log_sample_ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".file 1 \"sample.cu\"\n"
    ".const .align 4 .u32 c = 3;\n"
    ".entry sample(.param .u64 p) {\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %q1; .shared .align 8 .b8 s[256];\n"
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"
    "add.s64 %rd2, %rd1, %rd2; ld.const.u32 %r2, [c];\n"
    ".loc 1 4 1\n"
    "ld.global.u32 %r3, [%rd2]; ld.global.u32 %r4, [%rd1];\n"
    "setp.lt.u32 %q1, %r1, 7; @%q1 st.global.v2.u32 [%rd1+64], {%r1, %r3};\n"
    "xor.b32 %r5, %r1, 3; mul.wide.u32 %rd3, %r5, 4; mov.u64 %rd4, s; cvta.shared.u64 %rd4, %rd4;\n"
    "add.s64 %rd3, %rd3, %rd4; selp.b64 %rd5, %rd3, %rd2, %q1; st.u32 [%rd5], %r1;\n"
    "atom.global.add.u32 %r6, [%rd1], 1; red.global.add.u32 [%rd2], %r1;\n"
    "ret; }\n";

// Writes a copy of two slices of two rows, a copy to the host and a fill, as the driver would.
static inline void log_sample_copies(struct log_file *log, uint64_t address)
{
    const struct gpusim_object object = {.id = 1};
    const struct gpusim_object *const objects[] = {&object};
    const struct gpusim_log_rows rows = {address, 16, 64, objects, 1};
    const struct gpusim_log_copy to_object = {
        .call = 2, .stream = 2, .width = 4, .height = 2, .depth = 2, .to = rows};
    const struct gpusim_log_copy to_host = {
        .call = 1, .width = 4, .height = 2, .depth = 1, .to = {0x10, 4, 8, NULL, 0}, .from = rows};
    const struct gpusim_log_fill fill = {
        .call = 1, .width = 4, .height = 2, .to = rows, .value = 0xABC, .value_bytes = 2};
    log_copy(log, &to_object);
    log_copy(log, &to_host);
    log_fill(log, &fill);
}

// Writes the log. Returns false on any failure.
static inline bool log_sample_write(const char *path)
{
    static uint32_t memory[256];
    struct log_file *log;
    struct sim_device *device;
    struct sim_module *module = NULL;
    struct base_error error = {0};
    struct sim_ptx ptx = {log_sample_ptx, strlen(log_sample_ptx), "sample"};
    uint64_t param = (uintptr_t)memory;
    struct sim_fault fault = {.kind = SIM_FAULT_TRAP};
    if (log_open(path, &log, &error) != BASE_OK)
        return false;
    for (uint32_t i = 0; i < 256; i++)
        memory[i] = i;
    uint64_t outer = log_call(log, 0, 1, "cudaLaunchKernel", "func=0x1 stream=0x0");
    uint64_t inner = log_call(log, outer, 1, "cuLaunchKernel", "f=0x2");
    log_return(log, inner, 0, "");
    log_return(log, outer, -5, "name=\"a b\"");
    if (sim_device_create(sim_preset_find("h200"), 1, log, &device, &error) == BASE_OK) {
        bool added = sim_object_add(device, param, sizeof(memory), GPUSIM_OBJECT_DEVICE,
                                    "cudaMalloc", &error) == BASE_OK;
        if (added && sim_module_load(device, &ptx, 1, &module, &error) == BASE_OK) {
            struct sim_launch launch = {.kernel = sim_module_kernel_at(module, 0),
                                        .grid = {2, 1, 1},
                                        .block = {40, 1, 1},
                                        .params = &param,
                                        .id = 1,
                                        .call = inner,
                                        .stream = 2};
            sim_launch_run(device, &launch, NULL, &fault);
        }
        if (added)
            log_sample_copies(log, param);
        sim_object_remove(device, param);
        sim_module_unload(module);
        sim_device_destroy(device);
    }
    int failed = log_end(log);
    log_close(log);
    return !failed && fault.kind == SIM_FAULT_NONE;
}

#endif
