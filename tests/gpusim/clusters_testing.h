// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of clusters in the machine: a launch with clusters, and the pieces of
// kernels.
#ifndef GLINT_TESTS_GPUSIM_CLUSTERS_TESTING_H
#define GLINT_TESTS_GPUSIM_CLUSTERS_TESTING_H

#include "machine_testing.h"

#undef HEAD
#define HEAD ".version 8.6\n.target sm_90\n.address_size 64\n"

struct shape {
    uint32_t grid[3], cluster[3], threads;
};

static inline struct sim_fault run_clusters(struct fixture *fixture, const char *text,
                                            struct shape shape)
{
    struct sim_ptx ptx = {text, strlen(text), "test"};
    struct base_error error = {0};
    sim_module_unload(fixture->module);
    fixture->module = NULL;
    if (sim_module_load(fixture->device, &ptx, 1, &fixture->module, &error) != BASE_OK) {
        char message[512];
        base_error_text(&error, message, sizeof(message));
        fail_msg("%s", message);
    }
    uint64_t param = (uintptr_t)fixture->memory;
    struct sim_launch launch = {.kernel = sim_module_kernel_at(fixture->module, 0),
                                .block = {shape.threads, 1, 1},
                                .params = &param,
                                .id = 1};
    memcpy(launch.grid, shape.grid, sizeof(launch.grid));
    memcpy(launch.cluster, shape.cluster, sizeof(launch.cluster));
    struct sim_fault fault;
    memset(fixture->memory, 0, WORDS * sizeof(uint32_t));
    sim_launch_run(fixture->device, &launch, &fixture->work, &fault);
    return fault;
}

#define assert_good(fault)                 \
    do {                                   \
        const struct sim_fault is = fault; \
        if (is.kind != SIM_FAULT_NONE)     \
            fail_msg("%s", is.text);       \
    } while (0)

// The registers and shared memory of most kernels below. %r1 is the rank, %r2 the number of blocks
// in the cluster, %r3 the thread, %r4 the block in a grid of one dimension, %rd1 the memory.
#define BEGIN                                                                         \
    HEAD ".shared .align 16 .b32 words[64];\n"                                        \
         ".entry k(.param .u64 p) { .reg .b32 %r<20>; .reg .b64 %rd<10>; .reg .pred " \
         "%p<6>;\n"                                                                   \
         "ld.param.u64 %rd1, [p]; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, "       \
         "%cluster_nctarank; mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x;\n"
#define SYNC "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"

// Stores the register in word block * threads + thread.
#define PUT(reg)                                                                           \
    "mov.u32 %r19, %ntid.x; mad.lo.u32 %r19, %r4, %r19, %r3; mul.wide.u32 %rd9, %r19, 4; " \
    "add.u64 %rd9, %rd1, %rd9; st.global.u32 [%rd9], " reg ";\n"

static inline void expect_fault(struct fixture *fixture, const char *body, enum sim_fault_kind kind,
                                const char *says)
{
    char text[4096];
    snprintf(text, sizeof(text), "%s%s%s", BEGIN, body, "ret; }");
    const struct sim_fault fault =
        run_clusters(fixture, text, (struct shape){{4, 1, 1}, {2, 1, 1}, 32});
    assert_int_equal(fault.kind, kind);
    if (!strstr(fault.text, says))
        fail_msg("%s", fault.text);
}

#endif
