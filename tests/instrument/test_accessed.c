// SPDX-License-Identifier: Apache-2.0
// Which values loads read and stores write, at every level: what probes report equals the
// simulator's log, and what they do not see is said to be unobserved. Near misses: one changed bit,
// and probes that are left out, are detected.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"

// Two buffers, and a number. %t is the thread's index in the grid; %a and %b are the addresses of
// the 16 bytes with that index in the first and the second buffer.
#define START(target)                                                                 \
    ".version 8.3\n.target " target "\n.address_size 64\n"                            \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"              \
    ".reg .b32 %t, %n, %r<20>; .reg .b64 %p, %q, %a, %b, %d<20>; .reg .pred %c<8>;\n" \
    ".reg .f32 %f<20>; .reg .f64 %g<8>; .reg .b16 %h<8>; .reg .b128 %w;\n"            \
    ".shared .align 16 .b8 tile[1024];\n"                                             \
    "ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];\n"             \
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %t, %tid.x;\n"              \
    "mad.lo.s32 %t, %r0, %r1, %t; mul.wide.s32 %d0, %t, 16; add.s64 %a, %p, %d0;\n"   \
    "add.s64 %b, %q, %d0; and.b32 %r2, %t, 1; setp.eq.s32 %c0, %r2, 0;\n"

enum { BYTES = 20000 };
static uint32_t data[BYTES / 4];

static const uint32_t all_facts[] = {INSTRUMENT_OBJECTS, INSTRUMENT_ELEMENTS,
                                     INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS};

static struct oracle_case make_case(const char *ptx, uint32_t threads)
{
    const struct oracle_case test =
        oracle_case_of(ptx, 2, threads, 5, (const unsigned char *)data, NULL, BYTES);
    // All bits vary; there are NaNs, infinities, zeros of both signs and the least integers.
    for (uint32_t i = 0; i < BYTES / 4; i++) {
        static const uint32_t special[] = {0, 0x80000000, 0x7f800000, 0xffc00001, 0x7c00fc01, 1};
        data[i] = i % 7 < 6 ? i * 0x9e3779b1u >> i % 13 : special[i / 7 % 6];
    }
    return test;
}

static bool holds(struct oracle_case *test, const char *name, FILE *complaints,
                  enum oracle_spoil spoil, unsigned which)
{
    struct oracle_level levels[9];
    unsigned count = 0;
    snprintf(test->name, sizeof(test->name), "%s", name);
    for (unsigned f = 0; f < 3; f++) {
        for (unsigned w = 0; w < 3; w++)
            levels[count++] = (struct oracle_level){.facts = all_facts[f] | INSTRUMENT_VALUES |
                                                             INSTRUMENT_ACCESSED,
                                                    .shift = 2,
                                                    .workers = 1,
                                                    .watch = (enum oracle_watch)w,
                                                    .gpu = w ? 90 : 0,
                                                    .parts = w,
                                                    .spoil = spoil,
                                                    .which = which};
    }
    return oracle_holds(test, levels, count, complaints);
}

static void assert_exact(const char *name, const char *ptx, uint32_t threads)
{
    struct oracle_case test = make_case(ptx, threads);
    assert_true(holds(&test, name, stderr, ORACLE_SOUND, 0));
}

// Whole warps and others, with redux and without.
#define EXACT(body)                                                      \
    do {                                                                 \
        assert_exact(__func__, START("sm_90") body "ret; }\n", 100);     \
        assert_exact(__func__, START("sm_75") body "ret; }\n", 64);      \
        assert_observed(START("sm_90") body "ret; }\n", true, __func__); \
    } while (0)

// Checks whether all accesses of the kernel to global memory are observed.
static void assert_observed(const char *ptx, bool wanted, const char *name)
{
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_VALUES |
                                                        INSTRUMENT_ACCESSED};
    struct instrument_module *module;
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, NULL), BASE_OK);
    const struct instrument_kernel *kernel = &module->kernels[0];
    bool all = kernel->site_count != 0;
    for (uint32_t i = 0; i < kernel->site_count; i++)
        all &= kernel->sites[i].observed;
    if (all != wanted)
        fail_msg("%s: sites are %sobserved", name, all ? "" : "not ");
    instrument_destroy(module);
}

// --- Types ---------------------------------------------------------------------------------------

static void floats_and_integers_of_32_bits_are_exact(void **state)
{
    (void)state;
    EXACT("ld.global.f32 %f0, [%a]; ld.global.f32 %f1, [%a+4]; add.f32 %f2, %f0, %f1;\n"
          "cvt.rzi.s32.f32 %r3, %f2; min.s32 %r3, %r3, -5; st.global.u32 [%b], %r3;\n"
          "st.global.u32 [%b+4], 7; @%c0 st.global.u32 [%b+8], -2147483648;\n");
}

static void wide_types_are_exact(void **state)
{
    (void)state;
    EXACT("ld.global.f64 %g0, [%a]; ld.global.f64 %g1, [%a+8]; add.f64 %g2, %g0, %g1;\n"
          "cvt.rzi.s64.f64 %d1, %g2; div.s64 %d2, %d1, 3; st.global.s64 [%b], %d2;\n"
          "@!%c0 st.global.s64 [%b+8], -9223372036854775808;\n");
}

static void narrow_types_are_exact(void **state)
{
    (void)state;
    EXACT("ld.global.s16 %h0, [%a]; ld.global.s16 %h1, [%a+2]; div.s16 %h2, %h0, %h1;\n"
          "cvt.s32.s16 %r3, %h2; st.global.u8 [%b], %r3; ld.global.u16 %r4, [%a+4]; div.u32 %r4, "
          "%r4, 3;\n"
          "st.global.u8 [%b+1], %r4; st.global.u8 [%b+2], 300;\n");
    EXACT("ld.global.s8 %r3, [%a]; ld.global.s8 %r4, [%a+1]; div.s32 %r5, %r3, %r4;\n"
          "cvt.rn.f16.s32 %h0, %r5; st.global.b16 [%b], %h0; add.f16 %h1, %h0, %h0;\n"
          "@%c0 st.global.b16 [%b+2], %h1;\n");
}

static void packed_halves_are_apart(void **state)
{
    (void)state;
    EXACT("ld.global.b32 %r3, [%a]; ld.global.b32 %r4, [%a+4]; add.f16x2 %r5, %r3, %r4;\n"
          "st.global.b32 [%b], %r5;\n");
}

static void raw_words_are_exact(void **state)
{
    (void)state;
    EXACT("ld.global.b32 %r3, [%a]; st.global.b32 [%b], %r3; ld.global.u64 %d1, [%a+8];\n"
          "st.global.v2.b64 [%b], {%d1, %d1};\n");
}

// --- Shapes --------------------------------------------------------------------------------------

static void vectors_reach_their_fields(void **state)
{
    (void)state;
    EXACT("ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%a]; add.f32 %f0, %f0, %f1;\n"
          "add.f32 %f2, %f2, %f3; st.global.v2.f32 [%b], {%f0, %f2};\n");
    // A structure: two floats, an integer, and padding.
    EXACT("ld.global.v2.f32 {%f0, %f1}, [%a]; ld.global.u32 %r3, [%a+8]; add.f32 %f0, %f0, %f1;\n"
          "div.s32 %r4, %r3, 3; st.global.v2.f32 [%b], {%f0, 0f3F800000}; st.global.u32 [%b+8], "
          "%r4;\n");
}

static void structures_have_fields_of_their_own(void **state)
{
    (void)state;
    EXACT("mul.wide.s32 %d1, %t, 12; add.s64 %d2, %p, %d1; add.s64 %d3, %q, %d1;\n"
          "ld.global.f32 %f0, [%d2]; ld.global.f32 %f1, [%d2+8]; add.f32 %f2, %f0, %f1;\n"
          "ld.global.u32 %r3, [%d2+4]; div.s32 %r4, %r3, 3; st.global.f32 [%d3+8], %f2;\n"
          "st.global.u32 [%d3+4], %r4; st.global.f32 [%d3], 0f00000000;\n");
}

// --- Control flow --------------------------------------------------------------------------------

static void intermediate_values_of_loops_are_seen(void **state)
{
    (void)state;
    EXACT("mov.u32 %r3, 0;\nL: ld.global.f32 %f0, [%a]; fma.rn.f32 %f1, %f0, 0fC0000000, %f0;\n"
          "st.global.f32 [%a], %f1; st.global.f32 [%b], %f1; add.u32 %r3, %r3, 1;\n"
          "setp.lt.u32 %c2, %r3, %n; @%c2 bra L;\n");
}

static void guarded_accesses_count_if_they_execute(void **state)
{
    (void)state;
    EXACT("mov.f32 %f0, 0f40A00000; mov.f32 %f1, 0f7F800000; @%c0 ld.global.f32 %f0, [%a];\n"
          "@!%c0 ld.global.f32 %f1, [%b]; add.f32 %f2, %f0, %f1; @%c0 st.global.f32 [%b], %f2;\n"
          "@!%c0 st.global.f32 [%a+4], %f2;\n");
}

// If one block has all accesses, they are reported at its end, which may be of any kind.
static void blocks_may_end_in_any_way(void **state)
{
    (void)state;
#define ALL "ld.global.u32 %r3, [%a]; add.u32 %r4, %r3, 1; st.global.u32 [%b], %r4;\n"
    EXACT("@%c0 bra A;\n" ALL "A:\n");
    EXACT("@%c0 bra A;\n" ALL "ld.global.u32 %r5, [%a+4];\nA:\n");
    EXACT("@%c0 bra A;\n" ALL "and.b32 %r5, %r4, 3; setp.eq.u32 %c1, %r5, 0; @%c1 bra A;\n"
          "add.u32 %r5, %r5, 1;\nA:\n");
    EXACT("@!%c0 bra A;\n" ALL "exit;\nA:\n");
    EXACT(ALL "@%c0 exit; add.u32 %r5, %r4, 1;\n");
    EXACT("@%c0 bra A; bra B;\nB:\n" ALL "bra C;\nA: mov.u32 %r4, 1;\nC:\n");
    // The first access is guarded, or the only ones are.
    EXACT("@%c0 ld.global.u32 %r3, [%a]; mov.u32 %r4, 5; ld.global.u32 %r5, [%a+4];\n"
          "@!%c0 st.global.u32 [%b], %r4;\n");
    // A block that executes several times, or one of two.
    EXACT("mov.u32 %r6, 0;\nL:\n" ALL
          "add.u32 %r6, %r6, 1; setp.lt.u32 %c1, %r6, 3; @%c1 bra L;\n");
    EXACT("@%c0 bra A;\n" ALL "A: ld.global.u32 %r5, [%a+4];\n");
}

// Registers are initialised and reported around the accesses of a phase.
static void phases_of_a_kernel_lose_nothing(void **state)
{
    (void)state;
#define NEXT(label) "add.u32 %r3, %r3, 1; setp.lt.u32 %c2, %r3, %n; @%c2 bra " label ";\n"
#define READ        "L: ld.global.u32 %r4, [%a+4]; add.u32 %r5, %r5, %r4;\n" NEXT("L")
#define WRITE       "M: add.u32 %r6, %r5, %r3; st.global.u32 [%b], %r6;\n" NEXT("M")
#define ZERO        "mov.u32 %r3, 0;\n"
    EXACT(ZERO "mov.u32 %r5, %t;\n" READ ZERO WRITE);
    EXACT(ZERO "mov.u32 %r5, %t;\n" READ "bar.sync 0;\n" ZERO "@%c0 bra E;\n" WRITE "E:\n");
    EXACT(ZERO "mov.u32 %r5, %t; @%c0 bra E;\n" READ ZERO "E:\n" WRITE);
    EXACT(ZERO "mov.u32 %r5, %t;\n" READ "@%c0 exit;\n" ZERO WRITE);
    EXACT(ZERO "ld.global.u32 %r5, [%a]; @%c0 bra E; ld.global.u32 %r4, [%a+8];\n"
               "add.u32 %r5, %r5, %r4;\nE: ld.global.u32 %r4, [%a+12];\n" WRITE
               "st.global.u32 [%b+4], %r4;\n");
    EXACT(ZERO "mov.u32 %r5, %t;\nK:\n" READ "and.b32 %r7, %r5, 1; sub.u32 %r3, %n, %r7;\n"
               "setp.lt.u32 %c3, %r5, 1000; @%c3 bra K;\n" ZERO WRITE);
    // Tallies of the second phase; an atomic operation is not observed.
    assert_exact(__func__,
                 START("sm_90") ZERO "mov.u32 %r5, %t;\n" READ ZERO
                                     "N: and.b32 %r6, %r3, 1; red.global.add.u32 [%b], %r6;\n"
                                     "@%c0 st.global.u32 [%b+4], 3;\n" NEXT("N") "ret; }\n",
                 100);
}

static void threads_that_leave_early_are_counted(void **state)
{
    (void)state;
    EXACT("setp.gt.s32 %c1, %t, 150; @%c1 exit; ld.global.f32 %f0, [%a]; setp.gt.f32 %c2, %f0, "
          "0f00000000; @%c2 ret;\nsetp.lt.s32 %c3, %t, 40; @%c3 bra E; neg.f32 %f1, %f0;\n"
          "st.global.f32 [%b], %f1; and.b32 %r3, %t, 2; setp.eq.s32 %c4, %r3, 0; @%c4 bra E;\n"
          "ld.global.f32 %f2, [%a+8]; add.f32 %f2, %f2, %f1; st.global.f32 [%b+4], %f2; exit;\n"
          "E: st.global.f32 [%b+12], 0f80000000;\n");
}

static void functions_that_end_threads_lose_nothing(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".func end(.param .b32 value) { .reg .b32 %r; .reg .pred %c;\n"
        "ld.param.u32 %r, [value]; setp.gt.s32 %c, %r, 40; @%c exit; ret; }\n"
        ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"
        ".reg .b64 %d<4>; .reg .b32 %r<4>; .reg .f32 %f<4>; ld.param.u64 %d0, [p];\n"
        "ld.param.u64 %d1, [q]; mov.u32 %r0, %tid.x; mad.wide.u32 %d0, %r0, 4, %d0;\n"
        "mad.wide.u32 %d1, %r0, 4, %d1; ld.global.f32 %f0, [%d0]; neg.f32 %f0, %f0;\n"
        "st.global.f32 [%d1], %f0; { .param .b32 b; st.param.b32 [b], %r0; call.uni end, (b); }\n"
        "ld.global.f32 %f1, [%d0+400]; add.f32 %f1, %f1, %f0; st.global.f32 [%d1+400], %f1; ret; "
        "}\n";
    assert_exact(__func__, text, 70);
}

// --- What is not observed ------------------------------------------------------------------------

#define UNOBSERVED(body)                                                  \
    do {                                                                  \
        assert_exact(__func__, START("sm_90") body "ret; }\n", 64);       \
        assert_observed(START("sm_90") body "ret; }\n", false, __func__); \
    } while (0)

static void what_registers_do_not_hold_is_told(void **state)
{
    (void)state;
    UNOBSERVED("atom.global.add.u32 %r3, [%a], 1; st.global.u32 [%b], %r3;\n");
    UNOBSERVED("red.global.add.f32 [%a], 0f3F800000; ld.global.f32 %f0, [%b];\n"
               "add.f32 %f0, %f0, %f0; st.global.f32 [%b], %f0;\n");
    UNOBSERVED("mov.u64 %d1, tile; cp.async.ca.shared.global [%d1], [%a], 16;\n"
               "cp.async.wait_all; st.global.u32 [%b], 1;\n");
    // A piece of a raw word, and two fields of different size in one place.
    UNOBSERVED("ld.global.b32 %r3, [%a]; st.global.b32 [%b], %r3; st.global.u8 [%b+1], 1;\n");
    UNOBSERVED("ld.global.v2.u64 {%d1, %d2}, [%a]; mov.b128 %w, {%d1, %d2};\n"
               "st.global.b128 [%b], %w;\n");
    // Addresses that are looked up.
    UNOBSERVED("selp.b64 %d1, %a, %b, %c0; ld.global.f32 %f0, [%d1]; neg.f32 %f0, %f0;\n"
               "st.global.f32 [%b], %f0;\n");
}

static void too_many_fields_are_told(void **state)
{
    (void)state;
    // Seven doubles in a structure, read and written.
    UNOBSERVED(
        "mul.wide.s32 %d1, %t, 56; add.s64 %d2, %p, %d1; add.s64 %d3, %q, %d1;\n"
        "ld.global.f64 %g0, [%d2]; ld.global.f64 %g1, [%d2+8]; ld.global.f64 %g2, [%d2+16];\n"
        "ld.global.f64 %g3, [%d2+24]; ld.global.f64 %g4, [%d2+32];\n"
        "ld.global.f64 %g5, [%d2+40]; ld.global.f64 %g6, [%d2+48];\n"
        "add.f64 %g0, %g0, %g1; add.f64 %g2, %g2, %g3; add.f64 %g4, %g4, %g5;\n"
        "st.global.f64 [%d3], %g0; st.global.f64 [%d3+8], %g2;\n"
        "st.global.f64 [%d3+16], %g4; st.global.f64 [%d3+24], %g6;\n"
        "st.global.f64 [%d3+32], %g6; st.global.f64 [%d3+40], %g6;\n"
        "st.global.f64 [%d3+48], %g6;\n");
}

// --- Near misses ---------------------------------------------------------------------------------

#define PLAIN      \
    START("sm_90") \
    "ld.global.f32 %f0, [%a]; neg.f32 %f1, %f0; st.global.f32 [%b], %f1; ret; }\n"

static void one_changed_bit_is_found(void **state)
{
    (void)state;
    struct oracle_case test = make_case(PLAIN, 64);
    char *told;
    size_t length;
    FILE *to = open_memstream(&told, &length);
    assert_false(holds(&test, __func__, to, ORACLE_ONE_BIT_ACCESSED, 0));
    fclose(to);
    assert_non_null(strstr(told, "root 0, field 0, read: any"));
    free(told);
}

// The clone has a store of the program, its mark, and three reductions for each of two fields.
static void probes_that_are_left_out_are_missed(void **state)
{
    (void)state;
    unsigned missed = 0, accessed = 0;
    for (unsigned which = 0;; which++) {
        struct oracle_case test = make_case(PLAIN, 64);
        const struct oracle_level level = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_VALUES |
                                                    INSTRUMENT_ACCESSED,
                                           .shift = 2,
                                           .workers = 1,
                                           .spoil = ORACLE_WITHOUT_PROBE,
                                           .which = which};
        char *told;
        size_t length;
        FILE *to = open_memstream(&told, &length);
        const bool good = oracle_holds(&test, &level, 1, to);
        fclose(to);
        const bool none = strstr(told, "there is no probe");
        missed += !good && !none;
        accessed += strstr(told, "field 0") != NULL;
        free(told);
        if (none)
            break;
    }
    assert_true(missed >= 8);
    assert_int_equal(accessed, 7); // the store, too, changes what is written
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_and_integers_of_32_bits_are_exact),
        cmocka_unit_test(wide_types_are_exact),
        cmocka_unit_test(narrow_types_are_exact),
        cmocka_unit_test(packed_halves_are_apart),
        cmocka_unit_test(raw_words_are_exact),
        cmocka_unit_test(vectors_reach_their_fields),
        cmocka_unit_test(structures_have_fields_of_their_own),
        cmocka_unit_test(intermediate_values_of_loops_are_seen),
        cmocka_unit_test(guarded_accesses_count_if_they_execute),
        cmocka_unit_test(blocks_may_end_in_any_way),
        cmocka_unit_test(phases_of_a_kernel_lose_nothing),
        cmocka_unit_test(threads_that_leave_early_are_counted),
        cmocka_unit_test(functions_that_end_threads_lose_nothing),
        cmocka_unit_test(what_registers_do_not_hold_is_told),
        cmocka_unit_test(too_many_fields_are_told),
        cmocka_unit_test(one_changed_bit_is_found),
        cmocka_unit_test(probes_that_are_left_out_are_missed),
    };
    return cmocka_run_group_tests_name("instrument.accessed", tests, NULL, NULL);
}
