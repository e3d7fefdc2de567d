// SPDX-License-Identifier: Apache-2.0
// The machine of the simulated GPU alone: small kernels with known answers for divergence,
// barriers, warps that wait for their own lanes, calls, atomics and printf.
#include <fenv.h>

#include "machine_testing.h"

static void each_thread_of_each_block_writes_its_number(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault = run(
        fixture,
        HEAD ".entry k(.param .u64 p) {\n"
             ".reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
             "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, "
             "%ntid.x;\n"
             "mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;\n"
             "st.global.u32 [%rd3], %r4; ret; }",
        7, 100);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    for (uint32_t i = 0; i < 700; i++)
        assert_int_equal(fixture->memory[i], i);
    assert_int_equal(fixture->memory[700], 0);
}

// 1 / 3, rounded to nearest, and half of the smallest normal number. Threads inherit the rounding
// of the one that creates them.
static void kernels_do_not_round_as_the_program_does(void **state)
{
    static const int roundings[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++) {
        fesetround(roundings[i]);
#ifdef __x86_64__
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); // flush subnormals
#endif
        struct fixture *fixture = NULL;
        setup((void **)&fixture);
        const struct sim_fault fault =
            run(fixture,
                HEAD ".entry k(.param .u64 p) {\n"
                     ".reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
                     "ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 8;\n"
                     "add.s64 %rd1, %rd1, %rd2; cvt.rn.f32.u32 %r2, 3; rcp.rn.f32 %r2, %r2;\n"
                     "mul.rn.f32 %r3, 0f3F000000, 0f00800000;\n"
                     "st.global.u32 [%rd1], %r2; st.global.u32 [%rd1+4], %r3; ret; }",
                500, 32);
        const int after = fegetround();
        fesetenv(FE_DFL_ENV);
        assert_int_equal(after, roundings[i]);
        assert_int_equal(fault.kind, SIM_FAULT_NONE);
        for (int k = 0; k < 500; k++) {
            assert_int_equal(fixture->memory[2 * k], 0x3EAAAAAB);
            assert_int_equal(fixture->memory[2 * k + 1], 0x00400000);
        }
        void *made = fixture;
        teardown(&made);
    }
    (void)state;
}

// Each block announces itself and waits until all blocks have, twice.
#define ALL_WAIT_FOR_ALL                                                                   \
    HEAD ".entry k(.param .u64 p) {\n"                                                     \
         ".reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<3>;\n"                          \
         "ld.param.u64 %rd1, [p]; mov.u32 %r1, %nctaid.x; mov.u32 %r2, %tid.x;\n"          \
         "setp.ne.u32 %p1, %r2, 0; @%p1 bra D; mov.u32 %r5, %r1;\n"                        \
         "N: atom.global.add.u32 %r3, [%rd1], 1;\n"                                        \
         "L: ld.volatile.global.u32 %r4, [%rd1]; setp.lt.u32 %p2, %r4, %r5; @%p2 bra L;\n" \
         "add.u32 %r5, %r5, %r1; add.u32 %r6, %r1, %r1; setp.le.u32 %p2, %r5, %r6;\n"      \
         "@%p2 bra N; D: bar.sync 0; ret; }"

static void blocks_of_a_cooperative_launch_run_together(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault = run_as(fixture, ALL_WAIT_FOR_ALL, 2000, 64, true);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[0], 4000);
}

// CUDA does not guarantee it, but on a real device all blocks run if they fit.
static void blocks_that_wait_for_later_ones_go_on_when_these_begin(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault = run(fixture, ALL_WAIT_FOR_ALL, 6, 64);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[0], 12);
    // A block that waits soon gives way to the next one.
    fixture->memory[0] = 0;
    fault = run(fixture, ALL_WAIT_FOR_ALL, 132, 64);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[0], 264);
    assert_in_range(fixture->work.warp_instructions, 0, 40000000);
}

// In each round, block 0 writes two words and then, after a fence, a flag. Block 1 waits for the
// flag and counts the rounds in which the words are wrong. The flag back uses .release and
// .acquire.
static void fences_order_what_other_blocks_see(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault = run(
        fixture,
        HEAD
        ".entry k(.param .u64 p) {\n"
        ".reg .b32 %r<9>; .reg .b64 %rd<2>; .reg .pred %p<4>;\n"
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 1; mov.u32 %r2, 0;\n"
        "mov.u32 %r7, 0; @%p1 bra READ;\n"
        "WRITE: add.u32 %r2, %r2, 1; st.global.u32 [%rd1], %r2; st.global.u32 [%rd1+1024], %r2;\n"
        "membar.gl; st.volatile.global.u32 [%rd1+2048], %r2;\n"
        "BACK: ld.acquire.gpu.global.u32 %r3, [%rd1+3072]; setp.ne.u32 %p2, %r3, %r2;\n"
        "@%p2 bra BACK; setp.lt.u32 %p3, %r2, 30000; @%p3 bra WRITE; ret;\n"
        "READ: add.u32 %r2, %r2, 1;\n"
        "WAIT: ld.volatile.global.u32 %r3, [%rd1+2048]; setp.ne.u32 %p2, %r3, %r2;\n"
        "@%p2 bra WAIT; membar.gl; ld.global.u32 %r4, [%rd1]; ld.global.u32 %r5, [%rd1+1024];\n"
        "setp.ne.u32 %p2, %r4, %r2; @%p2 add.u32 %r7, %r7, 1;\n"
        "setp.ne.u32 %p2, %r5, %r2; @%p2 add.u32 %r7, %r7, 1;\n"
        "st.global.u32 [%rd1+4096], %r7; st.release.gpu.global.u32 [%rd1+3072], %r2;\n"
        "setp.lt.u32 %p3, %r2, 30000; @%p3 bra READ; ret; }",
        2, 1);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[0], 30000);
    assert_int_equal(fixture->memory[1024], 0);
}

static void special_registers_can_be_converted(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault =
        run(fixture,
            HEAD ".entry k(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %rd<4>; .reg .pred %p;\n"
                 "ld.param.u64 %rd1, [p]; cvt.u64.u32 %rd2, %tid.x; shl.b64 %rd3, %rd2, 2;\n"
                 "add.s64 %rd3, %rd1, %rd3; mov.u32 %r1, %tid.x; setp.gt.u32 %p, %r1, 4;\n"
                 "mov.u32 %r2, 9; @%p cvt.rn.f32.u32 %r2, %ntid.x; st.global.u32 [%rd3], %r2; "
                 "ret; }",
            1, 40);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(fixture->memory[i], i > 4 ? 0x42200000 : 9); // 40 as a float
}

// Lane i loops i times; after the loop, all lanes have reconverged.
static void lanes_that_leave_a_loop_at_different_times_meet_behind_it(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault =
        run(fixture,
            HEAD ".entry k(.param .u64 p) {\n"
                 ".reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p<3>;\n"
                 "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
                 "L: setp.ge.u32 %p1, %r2, %r1; @%p1 bra D; add.s32 %r3, %r3, %r2; add.s32 %r2, "
                 "%r2, 1; bra L;\n"
                 "D: activemask.b32 %r4; mul.wide.u32 %rd2, %r1, 8; add.s64 %rd3, %rd1, %rd2;\n"
                 "st.global.u32 [%rd3], %r3; st.global.u32 [%rd3+4], %r4; ret; }",
            1, 32);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(fixture->memory[2 * i], i ? i * (i - 1) / 2 : 0);
        assert_int_equal(fixture->memory[2 * i + 1], 0xFFFFFFFF);
    }
}

// Both sides of a branch, nested; the inner condition differs from the outer one.
static void nested_branches_take_each_lane_its_own_way(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault = run(
        fixture,
        HEAD
        ".entry k(.param .u64 p) {\n"
        ".reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n"
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; and.b32 %r3, %r1, 2;\n"
        "setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r3, 0;\n"
        "@%p1 bra A; @%p2 bra B; mov.u32 %r4, 3; bra E; B: mov.u32 %r4, 1; bra E;\n"
        "A: @%p2 bra C; mov.u32 %r4, 2; bra E; C: mov.u32 %r4, 0;\n"
        "E: mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r4; ret; }",
        1, 48);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    for (uint32_t i = 0; i < 48; i++)
        assert_int_equal(fixture->memory[i], i & 3);
}

// A branch whose target is the next instruction, in a loop that lanes leave at different times.
static void lanes_meet_behind_a_branch_to_the_next_instruction(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault =
        run(fixture,
            HEAD ".entry k(.param .u64 p) {\n"
                 ".reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<4>;\n"
                 "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r3, 0;\n"
                 "and.b32 %r2, %r1, 7; setp.lt.u32 %p1, %r1, 5; setp.lt.u32 %p2, %r1, 99;\n"
                 "L2: setp.eq.u32 %p3, %r2, 0; @%p3 bra L4;\n"
                 "@%p2 bra L5; @%p2 bra L4; bra L6;\n"
                 "L5: @!%p1 bra L6;\n"
                 "L6: add.u32 %r3, %r3, 1; sub.u32 %r2, %r2, 1; bra L2;\n"
                 "L4: bar.sync 0; mad.wide.u32 %d2, %r1, 4, %d1; st.global.u32 [%d2], %r3; ret; }",
            1, 64);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(fixture->memory[i], i % 8);
}

// Lanes call different functions by address, return at different times, and continue after the
// call.
static void lanes_that_call_different_functions_meet_behind_the_call(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault = run(
        fixture,
        HEAD
        ".func (.reg .b32 %o) one(.reg .b32 %a) { add.u32 %o, %a, 1; ret; }\n"
        ".func (.reg .b32 %o) two(.reg .b32 %a) { .reg .b32 %i; .reg .pred %p; mov.u32 %i, %a;\n"
        "L: setp.eq.u32 %p, %i, 0; @%p bra E; sub.u32 %i, %i, 1; bra L;\n"
        "E: add.u32 %o, %a, 2; ret; }\n"
        ".func (.reg .b32 %o) outer(.reg .b32 %a) { .reg .b32 %r, %m; .reg .b64 %f, %g; .reg .pred "
        "%p, %q;\n"
        "and.b32 %r, %a, 1; setp.eq.u32 %p, %r, 0; mov.u64 %f, one; mov.u64 %g, two;\n"
        "selp.b64 %f, %f, %g, %p;\n"
        "P: .callprototype (.reg .b32 _) _ (.reg .b32 _); call (%r), %f, (%a), P;\n"
        "activemask.b32 %m; popc.b32 %m, %m; shl.b32 %m, %m, 16; add.u32 %r, %r, %m;\n"
        "setp.lt.u32 %q, %a, 7; @%q call (%r), one, (%r); add.u32 %o, %r, 0; ret; }\n"
        ".entry k(.param .u64 p) { .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
        "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; call (%r2), outer, (%r1);\n"
        "activemask.b32 %r3; popc.b32 %r3, %r3; shl.b32 %r3, %r3, 24; add.u32 %r2, %r2, %r3;\n"
        "mad.wide.u32 %d2, %r1, 4, %d1; st.global.u32 [%d2], %r2; ret; }",
        1, 64);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(fixture->memory[i], i + 1 + i % 2 + (i < 7) + (32 << 16) + (32 << 24));
}

// One lane of a warp takes the lock while the others spin. They must not starve it.
static void a_spin_lock_inside_a_warp_ends(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault =
        run(fixture,
            HEAD ".entry k(.param .u64 p) {\n"
                 ".reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n"
                 "ld.param.u64 %rd1, [p];\n"
                 "L: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;\n"
                 "ld.volatile.global.u32 %r2, [%rd1+4]; add.s32 %r2, %r2, 1; "
                 "st.volatile.global.u32 [%rd1+4], %r2;\n"
                 "atom.global.exch.b32 %r3, [%rd1], 0; ret; }",
            3, 64);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[1], 3 * 64);
}

// A tree reduction in shared memory, which is wrong if any barrier is missing.
static void barriers_order_warps_of_a_block(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault = run(
        fixture,
        HEAD ".entry k(.param .u64 p) {\n"
             ".reg .b32 %r<10>; .reg .b64 %rd<4>; .reg .pred %p<4>; .shared .align 4 .b8 s[1024];\n"
             "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; shl.b32 %r3, %r1, 2;\n"
             "add.s32 %r4, %r2, %r3; st.shared.u32 [%r4], %r1; mov.u32 %r5, 128;\n"
             "L: bar.sync 0; setp.ge.u32 %p1, %r1, %r5; @%p1 bra N; shl.b32 %r6, %r5, 2; add.s32 "
             "%r6, %r4, %r6;\n"
             "ld.shared.u32 %r7, [%r6]; ld.shared.u32 %r8, [%r4]; add.s32 %r8, %r8, %r7; "
             "st.shared.u32 [%r4], %r8;\n"
             "N: shr.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra L;\n"
             "setp.ne.u32 %p3, %r1, 0; @%p3 ret; st.global.u32 [%rd1], %r8; ret; }",
        1, 256);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[0], 255 * 256 / 2);
}

static void a_function_may_call_itself(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault = run(
        fixture,
        HEAD
        ".func (.param .b32 r) fib(.param .b32 n);\n"
        ".func (.param .b32 r) fib(.param .b32 n) { .reg .b32 %r<8>; .reg .pred %p;\n"
        "ld.param.b32 %r1, [n]; setp.lt.u32 %p, %r1, 2; @%p bra S;\n"
        "{ .param .b32 a; .param .b32 o; sub.s32 %r2, %r1, 1; st.param.b32 [a], %r2; call (o), "
        "fib, (a);\n"
        "ld.param.b32 %r3, [o]; }\n"
        "{ .param .b32 a; .param .b32 o; sub.s32 %r4, %r1, 2; st.param.b32 [a], %r4; call (o), "
        "fib, (a);\n"
        "ld.param.b32 %r5, [o]; }\n"
        "add.s32 %r6, %r3, %r5; st.param.b32 [r], %r6; ret; S: st.param.b32 [r], %r1; ret; }\n"
        ".entry k(.param .u64 p) { .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n"
        "{ .param .b32 a; .param .b32 o; st.param.b32 [a], %r1; call (o), fib, (a); ld.param.b32 "
        "%r2, [o]; }\n"
        "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2; ret; }",
        1, 14);
    static const uint32_t expected[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233};
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    assert_memory_equal(fixture->memory, expected, sizeof(expected));
}

// Each lane calls one of two functions by address.
static void lanes_may_call_different_functions_by_address(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault = run(
        fixture,
        HEAD
        ".func (.param .b32 r) one(.param .b32 n) { .reg .b32 %r<3>; ld.param.b32 %r1, [n];\n"
        "add.s32 %r2, %r1, 100; st.param.b32 [r], %r2; ret; }\n"
        ".func (.param .b32 r) two(.param .b32 n) { .reg .b32 %r<3>; ld.param.b32 %r1, [n];\n"
        "add.s32 %r2, %r1, 200; st.param.b32 [r], %r2; ret; }\n"
        ".global .u64 table[2] = {one, two};\n"
        ".entry k(.param .u64 p) { .reg .b32 %r<6>; .reg .b64 %rd<8>;\n"
        "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; and.b32 %r3, %r1, 1; mul.wide.u32 %rd4, %r3, "
        "8;\n"
        "mov.u64 %rd5, table; add.s64 %rd5, %rd5, %rd4; ld.global.u64 %rd6, [%rd5];\n"
        "{ .param .b32 a; .param .b32 o; st.param.b32 [a], %r1; call (o), %rd6, (a), proto; "
        "ld.param.b32 %r2, [o]; }\n"
        "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2; ret; }",
        1, 32);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(fixture->memory[i], i + (i & 1 ? 200 : 100));
}

static void atomics_of_all_blocks_add_up(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault = run(
        fixture,
        HEAD ".entry k(.param .u64 p) { .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
             "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; atom.global.add.u32 %r2, [%rd1], 1;\n"
             "red.global.max.u32 [%rd1+4], %r1; atom.global.inc.u32 %r3, [%rd1+8], 6; ret; }",
        40, 96);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[0], 40 * 96);
    assert_int_equal(fixture->memory[1], 95);
    assert_int_equal(fixture->memory[2], 40 * 96 % 7);
}

static void lanes_exchange_values(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault =
        run(fixture,
            HEAD ".entry k(.param .u64 p) { .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<3>;\n"
                 "ld.param.u64 %rd1, [p]; mov.u32 %r1, %laneid; mul.lo.s32 %r2, %r1, 10;\n"
                 "shfl.sync.down.b32 %r3|%p1, %r2, 4, 31, -1; selp.b32 %r4, 1, 0, %p1;\n"
                 "setp.gt.u32 %p2, %r1, 20; vote.sync.ballot.b32 %r5, %p2, -1;\n"
                 "mul.wide.u32 %rd2, %r1, 12; add.s64 %rd3, %rd1, %rd2;\n"
                 "st.global.u32 [%rd3], %r3; st.global.u32 [%rd3+4], %r4; st.global.u32 [%rd3+8], "
                 "%r5; ret; }",
            1, 32);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(fixture->memory[3 * i], (i < 28 ? i + 4 : i) * 10);
        assert_int_equal(fixture->memory[3 * i + 1], i < 28);
        assert_int_equal(fixture->memory[3 * i + 2], 0xFFE00000);
    }
}

// The lanes of a warp form three groups, by number modulo 3. Each group reduces and votes among
// itself, first with all lanes converged, then with one group diverged.
static void groups_of_lanes_work_for_themselves(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault =
        run(fixture,
            HEAD ".entry k(.param .u64 p) {\n"
                 ".reg .b32 %r<12>; .reg .b64 %rd<4>; .reg .pred %p<5>;\n"
                 "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 3;\n"
                 "match.any.sync.b32 %r3, %r2, 0xffffffff;\n"
                 "redux.sync.add.u32 %r4, %r1, %r3;\n"
                 "setp.ge.u32 %p1, %r1, 16; vote.sync.ballot.b32 %r5, %p1, %r3;\n"
                 "setp.lt.u32 %p2, %r1, 30; vote.sync.all.pred %p3, %p2, %r3;\n"
                 "selp.u32 %r6, 1, 0, %p3;\n"
                 "setp.ne.u32 %p4, %r2, 1; @%p4 bra reduce; add.u32 %r1, %r1, 100;\n"
                 "reduce: redux.sync.max.u32 %r7, %r1, %r3;\n"
                 "mov.u32 %r8, %tid.x; mul.wide.u32 %rd2, %r8, 16; add.u64 %rd1, %rd1, %rd2;\n"
                 "st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7}; ret; }\n",
            1, 32);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t sum = 0, ballot = 0, most = 0;
        bool all = true;
        for (uint32_t i = lane % 3; i < 32; i += 3) {
            sum += i;
            ballot |= i >= 16 ? 1u << i : 0;
            all &= i < 30;
            most = lane % 3 == 1 ? i + 100 : i;
        }
        assert_int_equal(fixture->memory[4 * lane], sum);
        assert_int_equal(fixture->memory[4 * lane + 1], ballot);
        assert_int_equal(fixture->memory[4 * lane + 2], all);
        assert_int_equal(fixture->memory[4 * lane + 3], most);
    }
}

static void kernels_print(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault = run(
        fixture,
        HEAD
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
        ".global .align 1 .b8 text[] = {116, 61, 37, 100, 32, 120, 61, 37, 46, 49, 102, 10, 0};\n"
        ".entry k(.param .u64 p) { .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f64 %fd<3>;\n"
        ".local .align 8 .b8 depot[16]; mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1;\n"
        "mov.u32 %r1, %tid.x; st.local.u32 [%rd1], %r1; cvt.rn.f64.u32 %fd1, %r1; mul.f64 %fd2, "
        "%fd1, 0d3FE0000000000000;\n"
        "st.local.f64 [%rd1+8], %fd2; mov.u64 %rd3, text; cvta.global.u64 %rd4, %rd3;\n"
        "{ .param .b64 f; .param .b64 a; .param .b32 o; st.param.b64 [f], %rd4; st.param.b64 [a], "
        "%rd2;\n"
        "call (o), vprintf, (f, a); ld.param.b32 %r2, [o]; } ret; }",
        1, 3);
    struct base_buf out = {0};
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    sim_device_take_output(fixture->device, &out);
    assert_string_equal(out.text, "t=0 x=0.0\nt=1 x=0.5\nt=2 x=1.0\n");
    base_buf_fini(&out);
}

// (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 if the product is not rounded, else 0.
#define FUSED 0x33800000u
#define PRODUCTS(target)                                                                    \
    ".version 8.0\n.target " target "\n.address_size 64\n"                                  \
    ".entry k(.param .u64 p) { .reg .f32 %f<12>; .reg .b64 %rd1; ld.param.u64 %rd1, [p];\n" \
    "mov.f32 %f1, 0f3F800800; mov.f32 %f2, 0f3F801000;\n"                                   \
    "mul.f32 %f3, %f1, %f1; sub.f32 %f4, %f3, %f2; st.global.f32 [%rd1], %f4;\n"            \
    "mul.rn.f32 %f5, %f1, %f1; sub.f32 %f6, %f5, %f2; st.global.f32 [%rd1+4], %f6;\n"       \
    "mul.f32 %f7, %f1, %f1; sub.f32 %f8, %f7, %f2; st.global.f32 [%rd1+8], %f8;\n"          \
    "st.global.f32 [%rd1+12], %f7;\n"                                                       \
    "mul.f32 %f9, %f1, %f1; mov.f32 %f1, %f2; sub.f32 %f10, %f9, %f2;\n"                    \
    "st.global.f32 [%rd1+16], %f10; ret; }"

static void a_product_that_only_a_sum_needs_is_not_rounded(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(run(fixture, PRODUCTS("sm_80"), 1, 1).kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[0], FUSED);
    assert_int_equal(fixture->memory[1], 0);          // the instruction specifies a rounding
    assert_int_equal(fixture->memory[2], 0);          // the product has another use
    assert_int_equal(fixture->memory[3], 0x3F801000); // that use gets the rounded product
    assert_int_equal(fixture->memory[4], 0);          // its source was overwritten
}

// A guarded definition replaces a product in some lanes only. The others read the product later.
static void a_product_stays_where_a_guarded_definition_leaves_it(void **state)
{
    struct fixture *fixture = *state;
    const struct sim_fault fault = run(
        fixture,
        HEAD ".entry k(.param .u64 p) { .reg .b32 %t, %n; .reg .b64 %a, %d, %s; .reg .pred %q;\n"
             ".reg .f32 %f, %g, %h; ld.param.u64 %a, [p]; mov.u32 %t, %tid.x;\n"
             "mul.wide.u32 %d, %t, 16; add.s64 %a, %a, %d; cvt.rn.f32.u32 %f, %t;\n"
             "setp.ge.u32 %q, %t, 20; sub.u32 %n, 2, %t;\n"
             "mul.wide.s32 %d, %n, 7; add.s64 %s, %d, 5; @%q mov.u64 %d, 77;\n"
             "mul.f32 %g, %f, 0f40400000; add.f32 %h, %g, 0f3F800000; @%q mov.f32 %g, 0f00000000;\n"
             "st.global.u32 [%a], %d; st.global.u32 [%a+4], %s; st.global.f32 [%a+8], %g;\n"
             "st.global.f32 [%a+12], %h; ret; }",
        1, 32);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    for (int lane = 0; lane < 32; lane++) {
        const uint32_t *words = fixture->memory + (ptrdiff_t)lane * 4;
        const float kept = lane < 20 ? 3.0f * (float)lane : 0, sum = 3.0f * (float)lane + 1;
        assert_int_equal((int32_t)words[0], lane < 20 ? 7 * (2 - lane) : 77);
        assert_int_equal((int32_t)words[1], 7 * (2 - lane) + 5);
        assert_memory_equal(&words[2], &kept, sizeof(kept));
        assert_memory_equal(&words[3], &sum, sizeof(sum));
    }
}

// Products of integers that only sums need, of both signs, as first and second operand, with a
// source that changes before the second sum, in some lanes, and through a copy.
static void sums_of_wide_products_are_exact(void **state)
{
    struct fixture *fixture = *state;
    const struct sim_fault fault =
        run(fixture,
            HEAD ".entry k(.param .u64 p) { .reg .b32 %t, %n, %m; .reg .b64 %a, %d<8>, %s<8>;\n"
                 ".reg .pred %q; ld.param.u64 %a, [p]; mov.u32 %t, %tid.x;\n"
                 "mul.wide.u32 %d0, %t, 64; add.s64 %a, %a, %d0; sub.u32 %n, 9, %t;\n"
                 "mov.u32 %m, %n; setp.lt.u32 %q, %t, 11; mov.u64 %s5, -1;\n"
                 "mul.wide.s32 %d1, %n, 0x7fffffff; add.s64 %s1, 3, %d1;\n"
                 "mul.wide.u32 %d2, %n, %n; add.u64 %s2, %d2, %d2;\n"
                 "mul.wide.u32 %d3, %m, -5; mov.u32 %m, 1; add.u64 %s3, %d3, %a;\n"
                 "mul.wide.s32 %d4, %n, %t; mov.b64 %d6, %d4; add.s64 %s4, %a, %d6;\n"
                 "mul.wide.s32 %d5, %n, -3; @%q add.s64 %s5, %d5, %s4; sub.s64 %s3, %s3, %a;\n"
                 "sub.s64 %s4, %s4, %a; @%q sub.s64 %s5, %s5, %a; st.global.u64 [%a+8], %s1;\n"
                 "st.global.u64 [%a+16], %s2; st.global.u64 [%a+24], %s3;\n"
                 "st.global.u64 [%a+32], %s4; st.global.u64 [%a+40], %s5; ret; }",
            1, 32);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    for (int lane = 0; lane < 32; lane++) {
        const int64_t n = 9 - lane;
        const uint64_t un = (uint32_t)n;
        const uint64_t wanted[] = {(uint64_t)(n * INT32_MAX + 3), 2 * un * un, un * (uint32_t)-5,
                                   (uint64_t)(n * lane),
                                   lane < 11 ? (uint64_t)(n * lane - 3 * n) : UINT64_MAX};
        assert_memory_equal(fixture->memory + (ptrdiff_t)lane * 16 + 2, wanted, sizeof(wanted));
    }
}

static void code_for_a_debugger_rounds_every_product(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(run(fixture, PRODUCTS("sm_80, debug"), 1, 1).kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[0], 0);
}

static void warps_of_a_block_run_side_by_side(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault =
        run(fixture,
            HEAD ".entry k(.param .u64 p) {\n"
                 ".reg .b32 %r<4>; .reg .b64 %rd1; .reg .pred %p1;\n"
                 "ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; mov.u32 %r2, 1000;\n"
                 "L: add.s32 %r2, %r2, -1; setp.ne.s32 %p1, %r2, 0; @%p1 bra L;\n"
                 "add.s32 %r1, %r1, 1; st.global.u32 [%rd1], %r1; ret; }",
            1, 256);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[0], 1); // all eight read before any writes
}

// However long they have run before.
static void warps_run_side_by_side_again_after_a_barrier(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault =
        run(fixture,
            HEAD ".entry k(.param .u64 p) {\n"
                 ".reg .b32 %r<4>; .reg .b64 %rd1; .reg .pred %p1;\n"
                 "ld.param.u64 %rd1, [p]; mov.u32 %r2, 1000;\n"
                 "L: add.s32 %r2, %r2, -1; setp.ne.s32 %p1, %r2, 0; @%p1 bra L;\n"
                 "bar.sync 0; ld.global.u32 %r1, [%rd1]; mov.u32 %r2, 8;\n"
                 "M: add.s32 %r2, %r2, -1; setp.ne.s32 %p1, %r2, 0; @%p1 bra M;\n"
                 "add.s32 %r1, %r1, 1; st.global.u32 [%rd1], %r1; ret; }",
            1, 256);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[0], 1);
}

// Lanes reach the block's shared memory, their stacks, parameters and an object by generic
// addresses: each its own place of 8 bytes, or all the same one, with all lanes or some.
static void generic_addresses_reach_every_space(void **state)
{
    struct fixture *fixture = *state;
    static const char *const places[] = {
        "mov.u64 %b, s; cvta.shared.u64 %b, %b;",
        "mov.u64 %b, l; cvta.local.u64 %b, %b;",
        "add.s64 %b, %a, 8192;",
        "mov.b64 %b, p; cvta.param.u64 %b, %b; mov.u64 %s, 0;",
    };
    static const char *const types[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "b64"};
    char text[2048];
    for (unsigned i = 0; i < 4 * 8 * 4; i++) {
        const unsigned place = i / 32, type = i / 4 % 8, bits = 8u << type / 2;
        const bool own = i & 1, some = i & 2;
        snprintf(text, sizeof(text),
                 HEAD
                 ".entry k(.param .u64 p) { .reg .b32 %%t; .reg .b64 %%a, %%b, %%s, %%v, %%o;\n"
                 ".reg .pred %%q, %%w; .shared .align 8 .b8 s[256]; .local .align 8 .b8 l[256];\n"
                 "ld.param.u64 %%a, [p]; mov.u32 %%t, %%tid.x; mul.wide.u32 %%o, %%t, 8;\n"
                 "mov.u64 %%v, 0; mov.u64 %%s, 1; %s setp.ne.u64 %%w, %%s, 0;\n"
                 "mul.lo.u64 %%s, %%o, %u; @!%%w mov.u64 %%s, 0; add.s64 %%b, %%b, %%s;\n"
                 "mad.lo.u64 %%s, %%s, 0x1020304050607081, 0x8090a0b0c0d0e0f1;\n"
                 "@%%w st.u64 [%%b], %%s; add.s64 %%o, %%o, %%a; setp.ge.u32 %%q, %%t, %u;\n"
                 "@%%q ld.%s %%v, [%%b]; st.global.u64 [%%o], %%v; ret; }",
                 places[place], own, some ? 13 : 0, types[type]);
        assert_int_equal(run(fixture, text, 1, 32).kind, SIM_FAULT_NONE);
        for (unsigned lane = 0; lane < 32; lane++) {
            const uint64_t step = own ? lane * 8 : 0;
            uint64_t wanted =
                place == 3 ? (uintptr_t)fixture->memory
                           : step * UINT64_C(0x1020304050607081) + UINT64_C(0x8090a0b0c0d0e0f1);
            wanted = wanted << (64 - bits) >> (64 - bits);
            if (types[type][0] == 's')
                wanted = (uint64_t)((int64_t)(wanted << (64 - bits)) >> (64 - bits));
            if (some && lane < 13)
                wanted = 0;
            uint64_t got;
            memcpy(&got, &fixture->memory[(size_t)lane * 2], sizeof(got));
            if (got != wanted)
                fail_msg("%s, %s, %s%s, lane %u: %llx, not %llx", places[place], types[type],
                         own ? "own" : "same", some ? ", some" : "", lane, (unsigned long long)got,
                         (unsigned long long)wanted);
        }
    }
}

// Only the last lane's bytes are beyond the end.
static void generic_addresses_beyond_a_space_are_found(void **state)
{
    struct fixture *fixture = *state;
    static const char *const ends[] = {
        "mov.u64 %b, s; cvta.shared.u64 %b, %b;", // 248 bytes for 32 lanes
        "add.s64 %b, %a, 16136;",
        "mov.b64 %b, p; cvta.param.u64 %b, %b; sub.s64 %b, %b, 240;",
    };
    char text[1024];
    for (unsigned i = 0; i < 3; i++) {
        snprintf(text, sizeof(text),
                 HEAD ".entry k(.param .u64 p) { .reg .b32 %%t; .reg .b64 %%a, %%b, %%v, %%o;\n"
                      ".reg .pred %%q; .shared .align 8 .b8 s[248];\n"
                      "ld.param.u64 %%a, [p]; mov.u32 %%t, %%tid.x; mul.wide.u32 %%o, %%t, 8;\n"
                      "%s add.s64 %%b, %%b, %%o; setp.ge.u32 %%q, %%t, 30;\n"
                      "@%%q ld.u64 %%v, [%%b]; ret; }",
                 ends[i]);
        const struct sim_fault fault = run(fixture, text, 1, 32);
        assert_int_equal(fault.kind, SIM_FAULT_ADDRESS);
        if (!strstr(fault.text, "thread (31,0,0)"))
            fail_msg("%s", fault.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_thread_of_each_block_writes_its_number),
        cmocka_unit_test(kernels_do_not_round_as_the_program_does),
        TEST(blocks_of_a_cooperative_launch_run_together),
        TEST(fences_order_what_other_blocks_see),
        TEST(blocks_that_wait_for_later_ones_go_on_when_these_begin),
        TEST(special_registers_can_be_converted),
        TEST(lanes_that_leave_a_loop_at_different_times_meet_behind_it),
        TEST(nested_branches_take_each_lane_its_own_way),
        TEST(lanes_meet_behind_a_branch_to_the_next_instruction),
        TEST(lanes_that_call_different_functions_meet_behind_the_call),
        TEST(a_spin_lock_inside_a_warp_ends),
        TEST(barriers_order_warps_of_a_block),
        TEST(a_function_may_call_itself),
        TEST(lanes_may_call_different_functions_by_address),
        TEST(atomics_of_all_blocks_add_up),
        TEST(lanes_exchange_values),
        TEST(groups_of_lanes_work_for_themselves),
        TEST(kernels_print),
        TEST(a_product_that_only_a_sum_needs_is_not_rounded),
        TEST(a_product_stays_where_a_guarded_definition_leaves_it),
        TEST(sums_of_wide_products_are_exact),
        TEST(code_for_a_debugger_rounds_every_product),
        TEST(warps_of_a_block_run_side_by_side),
        TEST(warps_run_side_by_side_again_after_a_barrier),
        TEST(generic_addresses_reach_every_space),
        TEST(generic_addresses_beyond_a_space_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
