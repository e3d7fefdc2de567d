// SPDX-License-Identifier: Apache-2.0
// Launches whose blocks all wait for each other, as many as an H200 holds. Every register that is
// used after the wait has its value again, and the machine's memory beyond the program's stays
// within its bound.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpusim/machine/sim.h"

enum {
    THREADS = 256,
    BLOCKS = 132 * 2048 / THREADS, // as many as fit
    WIDE_VALUES = 6,
    BOUND = 64, // MB
};

// Each thread of a kernel has `values` numbers, of which it uses `kept` after the wait. The wait is
// in the kernel itself or in a function that it calls.
struct shape {
    unsigned values, kept;
    bool calls;
};

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

// Waits for the whole grid. `back` becomes 7 * own + 1; 7 * own is computed before the wait.
static void write_wait(struct base_buf *text, const char *back, const char *at, const char *goal,
                       const char *own)
{
    base_buf_printf(text,
                    "{ .reg .b32 %%i<4>; .reg .pred %%q<3>;\n"
                    "mul.lo.u32 %%i1, %s, 7; mov.u32 %%i2, %%tid.x; setp.ne.u32 %%q1, %%i2, 0;\n"
                    "bar.sync 0; @%%q1 bra DONE; atom.global.add.u32 %%i3, [%s], 1;\n"
                    "WAIT: ld.acquire.gpu.global.u32 %%i3, [%s]; setp.lt.u32 %%q2, %%i3, %s;\n"
                    "@%%q2 bra WAIT; DONE: bar.sync 0; add.u32 %s, %%i1, 1; }\n",
                    own, at, at, goal, back);
}

static void write_wait_or_call(struct base_buf *text, bool calls, const char *own)
{
    if (calls)
        base_buf_printf(text, "call (%%r10), waits, (%%d1, %%r3, %s);\n", own);
    else
        write_wait(text, "%r10", "%d1", "%r3", own);
}

// Odd and even lanes wait separately, each with its own values.
static void write_kernel(struct base_buf *text, struct shape shape)
{
    base_buf_puts(text, HEAD ".func (.reg .b32 %back) waits(.reg .b64 %at, .reg .b32 %goal, "
                             ".reg .b32 %own) {\n");
    write_wait(text, "%back", "%at", "%goal", "%own");
    base_buf_puts(text, "ret; }\n.visible .entry k(.param .u64 counter, .param .u64 out) {\n");
    base_buf_printf(text,
                    ".reg .b32 %%v<%u>; .reg .b64 %%w<%d>; .reg .b32 %%r<16>; .reg .b64 %%d<5>;\n"
                    ".reg .pred %%p<4>; ld.param.u64 %%d1, [counter]; ld.param.u64 %%d2, [out];\n"
                    "mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x; mov.u32 %%r3, %%nctaid.x;\n"
                    "mad.lo.u32 %%r4, %%r2, %d, %%r1; mad.lo.u32 %%r5, %%r2, 5, 1;\n"
                    "mov.u32 %%r6, 0; and.b32 %%r7, %%r4, 1; setp.ne.u32 %%p1, %%r7, 0;\n"
                    "and.b32 %%r7, %%r4, 6; setp.eq.u32 %%p2, %%r7, 4;\n",
                    shape.values, WIDE_VALUES, THREADS);
    for (unsigned i = 0; i < shape.values; i++)
        base_buf_printf(text, "mad.lo.u32 %%v%u, %%r4, %u, %u;\n", i, 2 * i + 1, i);
    for (unsigned i = shape.kept; i < shape.values; i++)
        base_buf_printf(text, "xor.b32 %%r6, %%r6, %%v%u;\n", i);
    for (unsigned i = 0; i < WIDE_VALUES; i++)
        base_buf_printf(text, "mul.wide.u32 %%w%u, %%r4, %u;\n", i, 0x10000001u + i);
    base_buf_puts(text, "@%p1 bra ODD; mul.lo.u32 %r8, %r4, 13; add.u32 %r9, %r8, 5;\n");
    write_wait_or_call(text, shape.calls, "%r8");
    base_buf_puts(text, "xor.b32 %r10, %r10, %r8; xor.b32 %r10, %r10, %r9; bra BOTH;\n"
                        "ODD: mul.lo.u32 %r11, %r4, 11;\n");
    write_wait_or_call(text, shape.calls, "%r11");
    base_buf_puts(text, "xor.b32 %r10, %r10, %r11;\n"
                        "BOTH: xor.b32 %r6, %r6, %r10; xor.b32 %r6, %r6, %r5;\n"
                        "@%p2 add.u32 %r6, %r6, 77;\n");
    for (unsigned i = 0; i < shape.kept; i++)
        base_buf_printf(text, "xor.b32 %%r6, %%r6, %%v%u;\n", i);
    for (unsigned i = 0; i < WIDE_VALUES; i++)
        base_buf_printf(text,
                        "mov.b64 {%%r12, %%r13}, %%w%u; xor.b32 %%r6, %%r6, %%r12;\n"
                        "add.u32 %%r6, %%r6, %%r13;\n",
                        i);
    base_buf_puts(text, "mul.wide.u32 %d3, %r4, 4; add.s64 %d4, %d2, %d3;\n"
                        "st.global.u32 [%d4], %r6; ret; }\n");
}

static uint32_t expected(struct shape shape, uint32_t thread)
{
    uint32_t result = 0, own = thread * (thread & 1 ? 11 : 13), back = (own * 7 + 1) ^ own;
    for (unsigned i = shape.kept; i < shape.values; i++)
        result ^= thread * (2 * i + 1) + i;
    result ^= thread & 1 ? back : back ^ (own + 5);
    result ^= thread / THREADS * 5 + 1;
    result += (thread & 6) == 4 ? 77 : 0;
    for (unsigned i = 0; i < shape.kept; i++)
        result ^= thread * (2 * i + 1) + i;
    for (unsigned i = 0; i < WIDE_VALUES; i++) {
        uint64_t wide = (uint64_t)thread * (0x10000001u + i);
        result = (result ^ (uint32_t)wide) + (uint32_t)(wide >> 32);
    }
    return result;
}

static long peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
}

// Runs the kernel on the whole device. Returns the number of the first thread with a wrong result,
// -1 if there is none, -2 if it could not run. *took: peak memory in bytes beyond the program's.
static long run_grid(struct shape shape, long *took)
{
    struct base_error error = {0};
    struct base_buf text = {0};
    struct sim_device *device = NULL;
    struct sim_module *module = NULL;
    struct sim_fault fault = {.kind = SIM_FAULT_NO_MEMORY};
    uint32_t counter = 0, *out = malloc((size_t)BLOCKS * THREADS * sizeof(*out));
    memset(out, 1, (size_t)BLOCKS * THREADS * sizeof(*out)); // so that its pages are resident
    long before = peak_bytes(), wrong = -1;
    write_kernel(&text, shape);
    struct sim_ptx ptx = {text.text, text.length, "test"};
    if (sim_device_create(sim_preset_find("h200"), 2, NULL, &device, &error) == BASE_OK &&
        sim_object_add(device, (uintptr_t)out, (size_t)BLOCKS * THREADS * sizeof(*out),
                       GPUSIM_OBJECT_DEVICE, "out", &error) == BASE_OK &&
        sim_object_add(device, (uintptr_t)&counter, sizeof(counter), GPUSIM_OBJECT_DEVICE,
                       "counter", &error) == BASE_OK &&
        sim_module_load(device, &ptx, 1, &module, &error) == BASE_OK) {
        uint64_t params[] = {(uintptr_t)&counter, (uintptr_t)out};
        struct sim_launch launch = {.kernel = sim_module_kernel(module, "k"),
                                    .grid = {BLOCKS, 1, 1},
                                    .block = {THREADS, 1, 1},
                                    .params = params,
                                    .cooperative = true,
                                    .id = 1};
        sim_launch_run(device, &launch, NULL, &fault);
    }
    *took = peak_bytes() - before;
    for (uint32_t i = 0; i < BLOCKS * THREADS && wrong < 0; i++)
        wrong = out[i] == expected(shape, i) ? -1 : (long)i;
    if (fault.kind != SIM_FAULT_NONE)
        wrong = -2;
    sim_module_unload(module);
    sim_device_destroy(device);
    base_buf_fini(&text);
    free(out);
    return wrong;
}

// Runs in a child, because nothing must have raised the peak before.
static void check_grid(struct shape shape)
{
    struct {
        long wrong, took;
    } answer = {-3, 0};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        answer.wrong = run_grid(shape, &answer.took);
        _exit(write(ends[1], &answer, sizeof(answer)) != sizeof(answer));
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &answer, sizeof(answer)), sizeof(answer));
    close(ends[0]);
    waitpid(child, NULL, 0);
    assert_int_equal(answer.wrong, -1);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // sanitizers need more
    if (!shape.calls && answer.took > BOUND * 1000000L)
        fail_msg("%u values, %u kept: %ld MB", shape.values, shape.kept, answer.took / 1000000);
#endif
}

static void registers_needed_behind_a_wait_are_kept(void **state)
{
    (void)state;
    // Together with all others, more than an H200 can hold.
    check_grid((struct shape){20, 20, false});
}

// Parameters and stack of calls count as the program's memory.
static void callers_of_a_function_that_waits_keep_their_registers(void **state)
{
    (void)state;
    check_grid((struct shape){30, 30, true});
}

static void registers_not_needed_behind_a_wait_take_no_memory(void **state)
{
    (void)state;
    check_grid((struct shape){150, 6, false});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_needed_behind_a_wait_are_kept),
        cmocka_unit_test(callers_of_a_function_that_waits_keep_their_registers),
        cmocka_unit_test(registers_not_needed_behind_a_wait_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
