// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the simulated GPU's driver: a context and some kernels. The kernel `hold`
// runs until a word in pinned memory is set, so that tests can detect without a clock whether a
// call waits for the device. A thread sets the word a little later; a call that returns before that
// did not wait.
#ifndef GLINT_TESTS_GPUSIM_DRIVER_TESTING_H
#define GLINT_TESTS_GPUSIM_DRIVER_TESTING_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cudaabi/cudaabi.h"

#define assert_ok(call)       assert_int_equal((call), CUDA_SUCCESS)
#define assert_is(call, code) assert_int_equal((call), (code))

static const char kernels[] =
    ".version 8.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .global .align 4 .u32 answer = 42;\n"
    // p[i] = p[i] * factor + summand, for i < count
    ".visible .entry scale(.param .u64 p, .param .u32 count, .param .u32 factor, .param .u32 "
    "summand)\n"
    "{\n"
    "  .reg .pred %q; .reg .u32 %r<8>; .reg .u64 %a<4>;\n"
    "  ld.param.u64 %a0, [p]; ld.param.u32 %r0, [count];\n"
    "  ld.param.u32 %r1, [factor]; ld.param.u32 %r2, [summand];\n"
    "  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
    "  mad.lo.u32 %r3, %r3, %r4, %r5;\n"
    "  setp.ge.u32 %q, %r3, %r0; @%q bra done;\n"
    "  cvta.to.global.u64 %a0, %a0; mul.wide.u32 %a1, %r3, 4; add.u64 %a1, %a0, %a1;\n"
    "  ld.global.u32 %r6, [%a1]; mad.lo.u32 %r6, %r6, %r1, %r2; st.global.u32 [%a1], %r6;\n"
    "done: ret;\n"
    "}\n"
    ".visible .entry hold(.param .u64 flag)\n"
    "{\n"
    "  .reg .pred %q; .reg .u32 %r0; .reg .u64 %a0;\n"
    "  ld.param.u64 %a0, [flag]; cvta.to.global.u64 %a0, %a0;\n"
    "again: ld.volatile.global.u32 %r0, [%a0]; setp.eq.u32 %q, %r0, 0; @%q bra again;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry small(.param .u64 p) .maxntid 128, 1, 1 { ret; }\n"
    ".visible .entry exact(.param .u64 p) .reqntid 64, 1, 1 { ret; }\n"
    ".visible .entry nothing() { ret; }\n";

struct testing {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction scale, hold, small, exact, nothing;
    uint32_t *flag; // pinned
    pthread_t setter;
};

static struct testing t;

static inline void testing_open(void)
{
    unsetenv("GLINT_SIM_DEVICE");
    assert_ok(cuInit(0));
    assert_ok(cuDeviceGet(&t.device, 0));
    assert_ok(cuCtxCreate_v4(&t.context, NULL, 0, t.device));
    assert_ok(cuModuleLoadData(&t.module, kernels));
    assert_ok(cuModuleGetFunction(&t.scale, t.module, "scale"));
    assert_ok(cuModuleGetFunction(&t.hold, t.module, "hold"));
    assert_ok(cuModuleGetFunction(&t.small, t.module, "small"));
    assert_ok(cuModuleGetFunction(&t.exact, t.module, "exact"));
    assert_ok(cuModuleGetFunction(&t.nothing, t.module, "nothing"));
    assert_ok(cuMemHostAlloc((void **)&t.flag, 4096, 0));
}

static inline int testing_setup(void **state)
{
    (void)state;
    testing_open();
    return 0;
}

static inline int testing_teardown(void **state)
{
    (void)state;
    assert_ok(cuCtxDestroy_v2(t.context));
    return 0;
}

// Runs the body in a child process with the fixture above, because a kernel's fault makes the
// device unusable for its process. The parent must not have used the driver before.
static inline void testing_in_child(void (*body)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        testing_open();
        body();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

// Launches `hold` on the stream: the device is busy until testing_let_go or testing_end_later's
// thread.
static inline void testing_hold(CUstream stream)
{
    *t.flag = 0;
    CUdeviceptr flag = (CUdeviceptr)(uintptr_t)t.flag;
    void *params[] = {&flag};
    assert_ok(cuLaunchKernel(t.hold, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static inline void testing_let_go(void)
{
    __atomic_store_n(t.flag, 1, __ATOMIC_SEQ_CST);
}

static inline void *testing_set_later(void *unused)
{
    (void)unused;
    usleep(30000);
    testing_let_go();
    return NULL;
}

// Makes the kernel end by itself after 30 ms.
static inline void testing_end_later(void)
{
    assert_int_equal(pthread_create(&t.setter, NULL, testing_set_later, NULL), 0);
}

static inline int testing_released(void)
{
    return __atomic_load_n(t.flag, __ATOMIC_SEQ_CST) == 1;
}

#define assert_waits(stream, call)       \
    do {                                 \
        testing_hold(stream);            \
        testing_end_later();             \
        assert_ok(call);                 \
        int waited = testing_released(); \
        pthread_join(t.setter, NULL);    \
        assert_ok(cuCtxSynchronize());   \
        assert_true(waited);             \
    } while (0)

#define assert_does_not_wait(stream, call) \
    do {                                   \
        testing_hold(stream);              \
        assert_ok(call);                   \
        assert_false(testing_released());  \
        testing_let_go();                  \
        assert_ok(cuCtxSynchronize());     \
    } while (0)

static inline void testing_scale(CUdeviceptr p, uint32_t count, uint32_t factor, uint32_t summand,
                                 CUstream stream)
{
    void *params[] = {&p, &count, &factor, &summand};
    assert_ok(cuLaunchKernel(t.scale, (count + 63) / 64, 1, 1, 64, 1, 1, 0, stream, params, NULL));
}

static inline uint32_t testing_read(CUdeviceptr p)
{
    uint32_t value;
    assert_ok(cuMemcpyDtoH_v2(&value, p, 4));
    return value;
}

#endif
