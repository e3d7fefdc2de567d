// SPDX-License-Identifier: Apache-2.0
// Lanes wait at a join for those that run for long, but not for those that spin.
#include "machine_testing.h"

#define KERNEL                                                                         \
    HEAD "%s .entry k(.param .u64 p) {\n"                                              \
         ".reg .b32 %%r<12>; .reg .b64 %%d<4>; .reg .pred %%p<6>;\n"                   \
         "ld.param.u64 %%d1, [p]; mov.u32 %%r1, %%tid.x; setp.eq.u32 %%p1, %%r1, 0;\n" \
         "%s\n}"

static void run_body(struct fixture *fixture, const char *functions, const char *body)
{
    char text[4096];
    const int length = snprintf(text, sizeof(text), KERNEL, functions, body);
    assert_true(length > 0 && (size_t)length < sizeof(text));
    memset(fixture->memory, 0, WORDS * sizeof(*fixture->memory));
    const struct sim_fault fault = run(fixture, text, 1, 32);
    if (fault.kind != SIM_FAULT_NONE)
        fail_msg("%s: %s", body, fault.text);
}

// Loops of 200 and of 60 rounds, as those that probes insert.
#define COUNT_200 "mov.u32 %r2, 0; B: add.u32 %r2, %r2, 1; setp.ne.u32 %p3, %r2, 200; @%p3 bra B; "
static const char count_60[] = ".func count_60() { .reg .b32 %r; .reg .pred %p; mov.u32 %r, 0;\n"
                               "L: add.u32 %r, %r, 1; setp.ne.u32 %p, %r, 60; @%p bra L; ret; }\n";

// The other lanes store which of them are active after the join.
static void lanes_wait_for_one_that_runs_for_long(void **state)
{
    static const char *const bodies[] = {
        "@!%p1 bra J; mov.u32 %r3, 0;\n"
        "A: " COUNT_200 "call count_60; add.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 500; @%p2 bra "
        "A; J: activemask.b32 %r4; st.global.u32 [%d1], %r4; ret;",
        // The loop of 500 rounds is called, too, and lanes diverge and join in each.
        "@!%p1 bra J; call count_500; J: activemask.b32 %r4; st.global.u32 [%d1], %r4; ret;",
        // Lanes leave the loop in different rounds.
        "mov.u32 %r3, 0; A: call count_60; " COUNT_200 "add.u32 %r3, %r3, 50;\n"
        "mul.lo.u32 %r4, %r1, 100; setp.lt.u32 %p2, %r3, %r4; @%p2 bra A;\n"
        "activemask.b32 %r4; st.global.u32 [%d1], %r4; ret;",
        // Many calls in code without a loop: their rounds do not add up.
        "@!%p1 bra J; call eighty; J: activemask.b32 %r4; st.global.u32 [%d1], %r4; ret;",
    };
    static const char *const calls = "call count_60; call count_60; call count_60; call count_60; "
                                     "call count_60; call count_60; call count_60; call count_60; ";
    char functions[4096];
    snprintf(functions, sizeof(functions),
             "%s.func count_500() { .reg .b32 %%r; .reg .pred %%p<2>; mov.u32 %%r, 0;\n"
             "L: and.b32 %%r, %%r, 1023; setp.lt.u32 %%p1, %%r, 100; @%%p1 bra M; call count_60;\n"
             "M: add.u32 %%r, %%r, 1; setp.ne.u32 %%p0, %%r, 500; @%%p0 bra L; ret; }\n"
             ".func eighty() { %s%s%s%s%s%s%s%s%s%s ret; }\n",
             count_60, calls, calls, calls, calls, calls, calls, calls, calls, calls, calls);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct fixture *fixture = *state;
        run_body(fixture, functions, bodies[i]);
        if (fixture->memory[0] != UINT32_MAX)
            fail_msg("%s: 0x%08x", bodies[i], fixture->memory[0]);
    }
}

// Lane 0 waits at J, and then writes what the others wait for.
#define READ     "ld.volatile.global.u32 %r2, [%d1]; setp.eq.u32 %p2, %r2, 0; "
#define WRITE    "J: @%p1 st.volatile.global.u32 [%d1], 1; ret;"
#define SPINNING "@%p1 bra J; "

static void lanes_that_spin_are_not_waited_for(void **state)
{
    static const char *const bodies[] = {
        SPINNING "L: " READ "@%p2 bra L; " WRITE,
        // They diverge, and join again, in each round.
        SPINNING "L: and.b32 %r3, %r1, 1; setp.eq.u32 %p3, %r3, 0; @%p3 bra M; add.u32 %r4, %r4, "
                 "1; M: " READ "@%p2 bra L; " WRITE,
        // They join where the loop begins.
        SPINNING "L: " READ "@!%p2 bra J; and.b32 %r3, %r1, 1; setp.eq.u32 %p3, %r3, 0; @%p3 bra "
                 "L; add.u32 %r4, %r4, 1; bra L; " WRITE,
        // They spin in a function, or call one with a loop in each round.
        SPINNING "call spin, (%d1); " WRITE,
        SPINNING "L: call count_60; " READ "@%p2 bra L; " WRITE,
        // The loop has others in it, also where more loops preceded it than are known.
        SPINNING "L: " COUNT_200 READ "@%p2 bra L; " WRITE,
        SPINNING "mov.u32 %r3, 0; A: add.u32 %r3, %r3, 1; setp.ne.u32 %p3, %r3, 9; @%p3 bra A;\n"
                 "C: add.u32 %r3, %r3, 1; setp.ne.u32 %p3, %r3, 19; @%p3 bra C;\n"
                 "D: add.u32 %r3, %r3, 1; setp.ne.u32 %p3, %r3, 29; @%p3 bra D;\n"
                 "E: add.u32 %r3, %r3, 1; setp.ne.u32 %p3, %r3, 39; @%p3 bra E;\n"
                 "F: add.u32 %r3, %r3, 1; setp.ne.u32 %p3, %r3, 49; @%p3 bra F;\n"
                 "G: add.u32 %r3, %r3, 1; setp.ne.u32 %p3, %r3, 59; @%p3 bra G;\n"
                 "H: add.u32 %r3, %r3, 1; setp.ne.u32 %p3, %r3, 69; @%p3 bra H;\n"
                 "L: " COUNT_200 READ "@%p2 bra L; " WRITE,
        // The loop's parts are in another order.
        "@%p1 bra J; bra M; K: " READ "@!%p2 bra J; bra N; M: add.u32 %r4, %r4, 1; bra K; N: "
        "add.u32 %r4, %r4, 2; bra M; " WRITE,
    };
    char functions[1024];
    snprintf(functions, sizeof(functions),
             "%s.func spin(.param .b64 at) { .reg .b32 %%r; .reg .b64 %%d; .reg .pred %%p;\n"
             "ld.param.b64 %%d, [at];\n"
             "L: ld.volatile.global.u32 %%r, [%%d]; setp.eq.u32 %%p, %%r, 0; @%%p bra L; ret; }\n",
             count_60);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        run_body(*state, functions, bodies[i]);
}

// Lane 0 runs a loop for 20000 rounds, and the others store which of them are active after it.
#define LONG                                                                                   \
    "@!%p1 bra J; mov.u32 %r3, 0; mov.u64 %d3, %d1; A: add.u32 %r3, %r3, 1; setp.ne.u32 %p2, " \
    "%r3, "                                                                                    \
    "20000; "
#define AGAIN "@%p2 bra A; J: activemask.b32 %r4; st.global.u32 [%d1], %r4; ret;"

// Such a loop does not read memory, or nothing that others could write depends on it.
static void lanes_wait_for_a_loop_that_cannot_wait_for_others(void **state)
{
    static const char *const bodies[] = {
        LONG AGAIN,
        LONG "st.volatile.global.u32 [%d1+64], %r3; " AGAIN,
        LONG "red.global.add.u32 [%d1+64], %r3; " AGAIN,
        LONG "ld.volatile.global.u32 %r5, [%d1+64]; add.u32 %r6, %r6, %r5; " AGAIN,
        LONG "atom.global.add.u32 %r5, [%d1+64], %r3; " AGAIN,
        // What it reads decides a branch, but each round reads another place.
        LONG "and.b32 %r5, %r3, 255; mul.wide.u32 %d2, %r5, 4; add.u64 %d2, %d1, %d2; "
             "ld.global.u32 %r5, [%d2+64]; setp.ne.u32 %p3, %r5, 0; @%p3 bra J; " AGAIN,
        LONG "call count_60; " AGAIN,
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct fixture *fixture = *state;
        run_body(fixture, count_60, bodies[i]);
        if (fixture->memory[0] != UINT32_MAX)
            fail_msg("%s: 0x%08x", bodies[i], fixture->memory[0]);
    }
}

// These loops read what others may write, and it decides a branch.
static void lanes_do_not_wait_for_a_loop_that_may_wait_for_others(void **state)
{
    static const char *const bodies[] = {
        LONG "ld.volatile.global.u32 %r5, [%d1+64]; setp.ne.u32 %p3, %r5, 0; @%p3 bra J; " AGAIN,
        LONG "ld.global.u32 %r5, [%d1+64]; setp.ne.u32 %p3, %r5, 0; @%p3 bra J; " AGAIN,
        LONG "atom.global.cas.b32 %r5, [%d1+64], 1, 2; setp.ne.u32 %p3, %r5, 0; @%p3 bra J; " AGAIN,
        LONG "and.b32 %r5, %r3, 255; mul.wide.u32 %d2, %r5, 4; add.u64 %d2, %d1, %d2; "
             "ld.volatile.global.u32 %r5, [%d2+64]; setp.ne.u32 %p3, %r5, 0; @%p3 bra J; " AGAIN,
        // A load after a fence sees what others have written.
        LONG "membar.gl; and.b32 %r5, %r3, 255; mul.wide.u32 %d2, %r5, 4; add.u64 %d2, %d1, %d2; "
             "ld.global.u32 %r5, [%d2+64]; setp.ne.u32 %p3, %r5, 0; @%p3 bra J; " AGAIN,
        // Through a selection and the next round.
        LONG "setp.ne.u32 %p3, %r7, 0; @%p3 bra J; ld.volatile.global.u32 %r5, [%d1+64]; max.u32 "
             "%r7, %r5, %r7; " AGAIN,
        LONG "call look, (%d1); " AGAIN,
    };
    static const char look[] = ".func look(.param .b64 at) { .reg .b32 %r; .reg .b64 %d; .reg "
                               ".pred %p; ld.param.b64 %d, [at]; ld.volatile.global.u32 %r, "
                               "[%d+64]; setp.ne.u32 %p, %r, 0; @%p trap; ret; }\n";
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct fixture *fixture = *state;
        run_body(fixture, look, bodies[i]);
        if (fixture->memory[0] == UINT32_MAX)
            fail_msg("%s: lanes waited", bodies[i]);
    }
}

// Lane t runs it for 6000 + 16 t rounds. It may wait for others, and lanes leave it alone: they run
// as one again where they stand at the same place.
static void lanes_that_are_not_waited_for_do_not_stay_alone(void **state)
{
    struct fixture *fixture = *state;
    uint64_t ran[2];
    for (uint32_t i = 0; i < 2; i++) {
        char body[512];
        snprintf(body, sizeof(body),
                 "mul.lo.u32 %%r2, %%r1, 16; add.u32 %%r2, %%r2, %u; mov.u32 %%r3, 0;\n"
                 "A: add.u32 %%r3, %%r3, 1; ld.volatile.global.u32 %%r5, [%%d1]; setp.ne.u32 "
                 "%%p3, %%r5, 0; @%%p3 bra B; setp.lt.u32 %%p2, %%r3, %%r2; @%%p2 bra A;\n"
                 "@%%p1 bra C; add.u32 %%r4, %%r4, 1; C: setp.ne.u32 %%p4, %%r3, 0; @%%p4 bra B; "
                 "membar.gl; B: ret;",
                 (i + 1) * 8000);
        run_body(fixture, "", body);
        ran[i] = fixture->work.warp_instructions;
    }
    // Alone, each lane would run another 48000 instructions.
    assert_in_range(ran[1] - ran[0], 6 * 8000, 6 * 8000 * 3 / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lanes_wait_for_one_that_runs_for_long),
        TEST(lanes_that_spin_are_not_waited_for),
        TEST(lanes_wait_for_a_loop_that_cannot_wait_for_others),
        TEST(lanes_do_not_wait_for_a_loop_that_may_wait_for_others),
        TEST(lanes_that_are_not_waited_for_do_not_stay_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
