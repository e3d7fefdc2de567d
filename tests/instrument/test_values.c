// SPDX-License-Identifier: Apache-2.0
// Which pieces kernels write and which of their stores change nothing, at every level: for each way
// to write memory, what probes report equals the simulator's log. Near misses: corrupted marks and
// sums, and probes that are left out, are detected.
#include "values_testing.h"

// --- Stores --------------------------------------------------------------------------------------

static void every_width_is_compared(void **state)
{
    (void)state;
    // Each store writes what is there, except in odd threads.
    EXACT(2, 100, 0,
          "ld.global.u8 %h0, [%a+1]; selp.b16 %h0, %h0, 300, %c0; st.global.u8 [%a+1], %h0;\n"
          "ld.global.s8 %h1, [%a+0]; st.global.s8 [%a], %h1; ld.global.u8 %r3, [%a+2];\n"
          "add.u32 %r3, %r3, 256; st.global.u8 [%a+2], %r3; cvt.u64.u32 %d1, %r3;\n"
          "st.global.b8 [%a+3], %d1; ld.global.u16 %h2, [%a+4]; st.global.u16 [%a+4], %h2;\n"
          "ld.global.u16 %r4, [%a+6]; or.b32 %r4, %r4, 0x70000; st.global.b16 [%a+6], %r4;\n"
          "ld.global.f32 %f0, [%a+8]; selp.f32 %f0, %f0, 0f3F800000, %c0;\n"
          "st.global.f32 [%a+8], %f0; ld.global.u64 %d2, [%a+8]; st.global.u64 [%a+8], %d2;\n"
          "mov.b64 %g0, %d2; st.global.f64 [%b], %g0; st.global.f64 [%b], %g0;\n");
}

static void vectors_are_silent_if_all_elements_are(void **state)
{
    (void)state;
    EXACT(2, 100, 0,
          "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%a]; selp.b32 %r6, %r6, 7, %c0;\n"
          "st.global.v4.u32 [%a], {%r3, %r4, %r5, %r6}; st.global.v2.u32 [%b], {%r3, 0};\n"
          "ld.global.v4.u8 {%h0, %h1, %h2, %h3}, [%a+4]; selp.b16 %h1, %h1, 9, %c0;\n"
          "st.global.v4.u8 [%a+4], {%h0, %h1, %h2, %h3}; ld.global.v2.u64 {%d1, %d2}, [%a];\n"
          "st.global.v2.b64 [%a], {%d1, %d2}; st.global.v2.u64 [%b], {%d2, %d2};\n"
          "ld.global.v2.f32 {%f0, %f1}, [%a+8]; st.global.v2.f32 [%a+8], {%f0, %f1};\n"
          "ld.global.v4.u16 {%h0, %h1, %h2, %h3}, [%a]; st.global.v4.b16 [%b], {%h0, 0, %h2, 0};\n"
          "mov.b128 %w, {%d1, %d2}; st.global.b128 [%a], %w; st.global.b128 [%b], %w;\n");
}

// Only newer GPUs than the simulated one have them, but it executes them. The table is placed such
// that a store may reach across the border of two pieces.
static void stores_of_32_bytes_reach_across_pieces(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.8\n.target sm_90\n.address_size 64\n"
        ".visible .global .align 32 .b8 before[16]; .visible .global .align 16 .b8 table[9000];\n"
        ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"
        ".reg .b32 %t, %r<9>; .reg .b64 %a, %b, %d<9>; .reg .pred %c<3>; ld.param.u64 %a, [p];\n"
        "ld.param.u64 %b, [q]; mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 32, %a;\n"
        "mad.wide.u32 %b, %t, 32, %b; mov.u32 %r0, 0; and.b32 %r1, %t, 1;\n"
        "setp.eq.u32 %c0, %r1, 0; mov.u64 %d0, 0; ld.global.v4.b64 {%d1, %d2, %d3, %d4}, [%a];\n"
        "st.global.v4.b64 [%a], {%d1, %d2, %d3, %d4};\n"
        "st.global.v8.b32 [%b], {%r0, %r0, %r0, %r0, %r0, %r0, %r0, %r1};\n"
        "selp.b64 %d5, %a, %b, %c0; st.global.v4.b64 [%d5+2048], {%d0, %d0, %d0, %d1};\n"
        "mov.u64 %d6, table; add.s64 %d6, %d6, 31; and.b64 %d6, %d6, -32;\n"
        "mad.wide.u32 %d6, %t, 128, %d6; st.global.v8.b32 [%d6], {%r0, %r0, %r0, %r0, %r0, %r0, "
        "%r0, %t};\nret; }\n";
    struct oracle_case test = make_case(text, 1, 64, 0);
    test.variables[0] = "table";
    test.variable_count = 1;
    assert_case_exact(&test, __func__);
}

static void constants_are_compared(void **state)
{
    (void)state;
    EXACT(1, 64, 0,
          "st.global.u32 [%b], 0; st.global.u32 [%b], -1; st.global.u32 [%b], 0xffffffff;\n"
          "st.global.u8 [%b+4], 0x100; st.global.u8 [%b+4], -1; st.global.u8 [%b+4], 255;\n"
          "st.global.f32 [%b+8], 0f80000000; st.global.f32 [%b+8], 0f00000000;\n"
          "st.global.f32 [%b+8], 0f7FC00001; st.global.f32 [%b+8], 0f7FC00001;\n"
          "st.global.f32 [%b+8], 0f00000001; st.global.f32 [%b+8], 0f00000000;\n" // a denormal
          "st.global.f32 [%b+8], 0f4B800000; st.global.u32 [%b+8], 16777216;\n"   // 2^24 in both
          "st.global.u64 [%b], -1; st.global.u64 [%b], 0xffffffffffffffff;\n"
          "st.global.f64 [%b+8], 0d3FF0000000000000; st.global.u64 [%b+8], 0x3ff0000000000000;\n"
          "st.global.u16 [%b+2], -1; st.global.s32 [%b], -1;\n");
}

static void guards_decide_what_is_counted(void **state)
{
    (void)state;
    EXACT(
        2, 90, 30,
        "setp.lt.s32 %c1, %t, %n; setp.gt.s32 %c2, %t, 100000;\n"
        "@%c1 st.global.u32 [%b], 0; @!%c1 st.global.u32 [%b+4], %t; @%c2 st.global.u32 [%q], 1;\n"
        "@%c0 st.global.v2.u32 [%b+8], {0, 0}; @!%c0 st.u32 [%b+8], 1;\n");
}

static void loops_count_every_round(void **state)
{
    (void)state;
    // Round i stores i / 2, so every other round changes nothing.
    EXACT(2, 50, 9,
          "mov.u32 %r3, 0; mul.wide.s32 %d1, %t, 160; add.s64 %d1, %p, %d1;\n"
          "L: shr.u32 %r4, %r3, 1; st.global.u32 [%b], %r4; setp.gt.u32 %c1, %r3, 4;\n"
          "@%c1 st.global.u32 [%d1+4], %r4; st.global.u32 [%d1], 0x03020100;\n"
          "add.s64 %d1, %d1, 16; st.global.u64 [%b+8], 5; add.u32 %r3, %r3, 1;\n"
          "setp.lt.u32 %c2, %r3, %n; @%c2 bra L;\n");
}

static void lanes_are_compared_with_what_was_before_the_instruction(void **state)
{
    (void)state;
    // All lanes of a warp write one word: all change it, or none.
    EXACT(1, 32, 0, "st.global.u32 [%q], 7; st.global.u32 [%q], 7; st.global.u32 [%q], 8;\n");
    EXACT(1, 32, 0,
          "and.b32 %r3, %t, 3; mul.wide.u32 %d1, %r3, 4; add.s64 %d1, %q, %d1;\n"
          "st.global.u32 [%d1], %r3; st.global.u32 [%d1], %r3;\n");
}

static void stores_that_others_may_wait_for_are_only_marked(void **state)
{
    (void)state;
    EXACT(1, 64, 0,
          "st.volatile.global.u32 [%b], 0; st.release.gpu.global.u32 [%b+4], 0;\n"
          "st.relaxed.gpu.global.u32 [%b+8], 0; st.weak.global.u32 [%b+12], 0;\n");
}

static void pieces_are_marked_wherever_stores_go(void **state)
{
    (void)state;
    EXACT(
        2, 64, 0,
        "mul.wide.s32 %d1, %t, 148; add.s64 %d1, %p, %d1; st.global.u32 [%d1], %t;\n"
        "setp.eq.s32 %c1, %t, 5; @%c1 st.global.u8 [%q+4095], 1; @%c1 st.global.u8 [%q+12288], 0;\n"
        "@%c1 st.global.u8 [%q+19999], 1;\n");
}

static void stores_of_a_block_are_marked_together(void **state)
{
    (void)state;
    // From one register, in both directions, across pieces, and too far apart.
    EXACT(1, 32, 0,
          "mul.wide.s32 %d1, %t, 512; add.s64 %d1, %p, %d1; st.global.u32 [%d1+256], 1;\n"
          "st.global.u32 [%d1+264], 1; st.global.u8 [%d1+3], 1; st.global.v2.u64 [%d1+368], {%d1, "
          "%d1};\nst.global.u32 [%d1+3096], 1; st.global.u32 [%d1+3104], 1;\n");
    EXACT(1, 1, 0,
          "st.global.u32 [%q], 1; st.global.u32 [%q+4092], 0; st.global.u32 [%q+4096], 1;\n"
          "st.global.u8 [%q+12287], 1; st.global.u8 [%q+12288], 1; st.global.u8 [%p+4096], 1;\n"
          "st.global.u8 [%p+4095], 1; add.s64 %p, %p, 8192; st.global.u8 [%p], 1;\n"
          "@%c0 st.global.u8 [%p+4096], 1; st.global.u8 [%p+8192], 1;\n");
    EXACT(1, 40, 0,
          "mov.u32 %r3, 0; mul.wide.s32 %d1, %t, 4; add.s64 %d1, %p, %d1;\n"
          "L: st.global.u32 [%d1], %r3; st.global.u32 [%d1+160], %r3; st.global.u32 [%d1+320], 0;\n"
          "add.s64 %d1, %d1, 960; add.u32 %r3, %r3, 1; setp.lt.u32 %c1, %r3, 20; @%c1 bra L;\n");
}

// --- Atomic operations ---------------------------------------------------------------------------

static void atomics_change_words_or_not(void **state)
{
    (void)state;
    static const char *const operations[] = {
        "red.global.add.u32 [%b], %r2",
        "atom.global.add.u64 %d1, [%b+8], %d2",
        "atom.global.add.u32 %r3, [%b], %r3",
        "red.global.xor.b32 [%b], %r2",
        "red.global.and.b32 [%a], -2",
        "atom.global.and.b64 %d1, [%a], %d2",
        "red.global.or.b32 [%a], %r2",
        "atom.global.or.b32 %r3, [%a+4], %r2",
        "red.global.max.s32 [%a], 0x07060504",
        "red.global.min.u32 [%a], 0x13121110",
        "atom.global.max.u64 %d1, [%a], %d2",
        "red.global.min.s64 [%a+8], %d2",
        "atom.global.exch.b32 %r3, [%b], %r2",
        "atom.global.exch.b64 %d2, [%b], %d2",
        "atom.global.exch.b32 _, [%b], %r2",
        "atom.global.cas.b32 %r3, [%b], 0, %r2",
        "atom.global.cas.b32 %r3, [%b], 1, 2",
        "atom.global.cas.b64 %d2, [%b], %d2, 9",
        "red.global.inc.u32 [%b], %r2",
        "red.global.inc.u32 [%b], 0",
        "atom.global.dec.u32 %r3, [%b], %r2",
        "red.global.dec.u32 [%b], 0",
        "red.global.add.f32 [%a], 0f00000000",
        "atom.global.add.f32 %f1, [%a+4], %f0",
        "atom.global.add.f32 %f1, [%b], 0f80000000",
        "red.global.add.f64 [%a], 0d0000000000000000",
        "atom.global.add.f64 %g1, [%b+8], %g0",
        "red.global.add.noftz.f16x2 [%a], %r2",
        "red.relaxed.gpu.global.add.f32 [%b], %f0",
        "@%c0 red.global.max.u32 [%b], 5",
        "@!%c0 atom.global.min.u32 %r3, [%a], %r2",
        "@%c0 red.global.add.u32 [%b], 0",
        "red.global.add.noftz.f16 [%b], %h0", // only marked
    };
    for (unsigned i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        char text[4096];
        snprintf(text, sizeof(text),
                 "%smov.u32 %%r3, %%r2; cvt.u64.u32 %%d2, %%r2; mov.u64 %%d1, 0; mov.b16 %%h0, 0;\n"
                 "cvt.rn.f32.u32 %%f0, %%r2; cvt.rn.f64.u32 %%g0, %%r2;\n%s;\n%s;\n"
                 "st.global.u32 [%%b+4], %%r3; st.global.u64 [%%b+8], %%d1; ret; }\n",
                 START, operations[i], operations[i]);
        assert_exact(operations[i], text, 1, 80, 0);
    }
}

// Words in a row, of which eight are a sector: every other word changes, every other sector, or one
// word of the warp. Then words that are far apart, words that several lanes share, and lanes that
// are left out.
static void sectors_change_or_not(void **state)
{
    (void)state;
    static const char *const operands[] = {
        "and.b32 %r3, %t, 1",
        "and.b32 %r3, %t, 8",
        "setp.eq.s32 %c1, %t, 9; selp.u32 %r3, 1, 0, %c1",
    };
    static const char *const places[] = {
        "mul.wide.s32 %d1, %t, 4; add.s64 %d1, %q, %d1",
        "mul.wide.s32 %d1, %t, 4; add.s64 %d1, %q, %d1; add.s64 %d1, %d1, 20",
        "mul.wide.s32 %d1, %t, 32; add.s64 %d1, %q, %d1",
        "shr.u32 %r4, %t, 2; mul.wide.s32 %d1, %r4, 4; add.s64 %d1, %q, %d1",
    };
    static const char *const operations[] = {
        "red.global.add.u32 [%d1], %r3",
        "atom.global.max.u32 %r5, [%d1], %r3",
        "@!%c0 red.global.add.u32 [%d1], %r3",
        "@%c0 bra L; red.global.or.b32 [%d1], %r3; L:",
    };
    for (unsigned i = 0; i < 3 * 4 * 4; i++) {
        char text[4096];
        snprintf(text, sizeof(text), "%s%s;\n%s;\n%s;\nret; }\n", START, operands[i % 3],
                 places[i / 3 % 4], operations[i / 12]);
        assert_exact(text + sizeof(START) - 1, text, 2, 80, 0);
    }
}

static void one_sector_too_many_is_found(void **state)
{
    (void)state;
    struct oracle_case test = make_case(START "red.global.add.u32 [%b], 0;\nret; }\n", 1, 64, 0);
    for (unsigned spoilt = 0; spoilt < 2; spoilt++) {
        const struct oracle_level level = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_VALUES,
                                           .shift = 2,
                                           .workers = 1,
                                           .spoil = spoilt ? ORACLE_ONE_STILL : ORACLE_SOUND};
        char *told;
        size_t length;
        FILE *to = open_memstream(&told, &length);
        assert_int_equal(oracle_holds(&test, &level, 1, to), !spoilt);
        fclose(to);
        assert_int_equal(strstr(told, "65 still, wanted 64") != NULL, spoilt);
        free(told);
    }
}

static void subnormal_sums_are_flushed(void **state)
{
    (void)state;
    EXACT(1, 32, 0,
          "st.global.u32 [%b], 5; red.global.add.f32 [%b], 0f00000000;\n"
          "red.global.add.f32 [%b], 0f00000000; st.global.u32 [%b], 0x7fffffff;\n"
          "red.global.add.f32 [%b], 0f3F800000;\n");
}

// --- Other ways ----------------------------------------------------------------------------------

static void addresses_without_root_are_looked_up(void **state)
{
    (void)state;
    EXACT(2, 64, 0,
          "selp.b64 %d1, %a, %b, %c0; st.global.u32 [%d1], 0; st.global.u32 [%d1], 0;\n"
          "setp.lt.s32 %c1, %t, 40; @%c1 st.global.v2.u64 [%d1], {%d1, 0};\n"
          "red.global.max.u32 [%d1+8], 3; st.volatile.global.u32 [%d1+12], 3;\n");
    EXACT(1, 64, 0,
          "mov.u64 %d1, tile; cvta.shared.u64 %d1, %d1; selp.b64 %d2, %b, %d1, %c0;\n"
          "st.u32 [%d2], 0; st.u16 [%d2+4], 1; @!%c0 st.u8 [%d2+6], 1; atom.add.u32 %r3, [%d2], "
          "0;\n");
}

static void threads_alternate_between_objects(void **state)
{
    (void)state;
    EXACT(2, 40, 5,
          "mov.u32 %r3, 0;\nL: and.b32 %r4, %r3, 1; setp.eq.u32 %c1, %r4, 0;\n"
          "selp.b64 %d1, %a, %b, %c1; st.global.u32 [%d1], 0; st.global.v2.u32 [%d1], {0, %r3};\n"
          "@%c0 st.global.u8 [%d1+9], 9; add.u32 %r3, %r3, 1; setp.lt.u32 %c2, %r3, %n;\n"
          "@%c2 bra L;\n");
}

static void functions_store_to_several_objects(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".func put(.param .b64 at, .param .b32 value) { .reg .b64 %d; .reg .b32 %r; .reg .pred "
        "%c;\n"
        "ld.param.u64 %d, [at]; ld.param.u32 %r, [value]; setp.gt.s32 %c, %r, 60; @%c exit;\n"
        "st.global.u32 [%d], %r; st.global.u32 [%d+4], 0; ret; }\n"
        ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"
        ".reg .b64 %d<4>; .reg .b32 %r<4>; ld.param.u64 %d0, [p]; ld.param.u64 %d1, [q];\n"
        "mov.u32 %r0, %tid.x; mad.wide.u32 %d0, %r0, 200, %d0; mad.wide.u32 %d1, %r0, 16, %d1;\n"
        "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %d0; st.param.b32 [b], %r0;\n"
        "call.uni put, (a, b); }\n"
        "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %d1; st.param.b32 [b], 0;\n"
        "call.uni put, (a, b); }\nst.global.u32 [%d1], 0; st.global.u64 [%d1+8], 1; ret; }\n";
    assert_exact(__func__, text, 2, 70, 0);
}

static void bulk_copies_mark_all_their_pieces(void **state)
{
    (void)state;
    EXACT(1, 3, 0,
          "mov.u64 %d1, tile; mad.wide.s32 %d2, %t, 5008, %p; mad.lo.s32 %r3, %t, 4000, 16;\n"
          "setp.ne.s32 %c1, %t, 2; selp.b64 %d3, %d2, %q, %c1; st.shared.u32 [%d1], %t;\n"
          "fence.proxy.async; and.b32 %r3, %r3, 0xfff0;\n"
          "cp.async.bulk.global.shared::cta.bulk_group [%d2], [%d1], %r3;\n"
          "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d3], [%d1], 8208;\n"
          "@%c1 cp.async.bulk.global.shared::cta.bulk_group [%q+4080], [%d1], 16;\n"
          "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n");
}

// Only an upper bound of what it writes is known, and not from the instruction alone.
static void what_cannot_be_marked_is_told(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 p) { .reg .b64 %d; .reg .f32 %f<8>; ld.param.u64 %d, [p];\n"
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d], "
        "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}; ret; }\n"
        ".visible .entry other(.param .u64 p) { .reg .b64 %d; ld.param.u64 %d, [p];\n"
        "st.global.u32 [%d], 0; ret; }\n";
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_VALUES};
    struct instrument_module *module;
    assert_int_equal(instrument_ptx(text, strlen(text), &request, &module, NULL), BASE_OK);
    assert_non_null(module->kernels[0].clone);
    assert_non_null(strstr(module->kernels[0].unmarked, "wmma.store"));
    assert_null(module->kernels[1].unmarked);
    instrument_destroy(module);
}

// --- Near misses ---------------------------------------------------------------------------------

static bool spoilt_holds(uint32_t facts, enum oracle_spoil spoil, unsigned which, char **told)
{
    struct oracle_case test =
        make_case(START "selp.b64 %d1, %a, %b, %c0;\n"
                        "st.global.u32 [%b+4096], 0; st.global.u32 [%d1], 0;\n"
                        "ret; }\n",
                  1, 64, 0);
    const struct oracle_level level = {.facts = facts | INSTRUMENT_VALUES,
                                       .shift = 2,
                                       .workers = 1,
                                       .spoil = spoil,
                                       .which = which};
    size_t length;
    FILE *to = open_memstream(told, &length);
    const bool good = oracle_holds(&test, &level, 1, to);
    fclose(to);
    return good;
}

static void assert_found(enum oracle_spoil spoil, const char *complaint)
{
    for (unsigned i = 0; i < 4; i++) {
        char *told;
        assert_false(spoilt_holds(oracle_facts[i], spoil, 0, &told));
        if (!strstr(told, complaint))
            fail_msg("\"%s\" is not in: %s", complaint, told);
        free(told);
    }
}

static void what_is_spoilt_is_found(void **state)
{
    (void)state;
    char *told;
    assert_true(spoilt_holds(INSTRUMENT_OBJECTS, ORACLE_SOUND, 0, &told));
    assert_string_equal(told, "");
    free(told);
    assert_found(ORACLE_ONE_MARK, "buffer 0: piece 0: marked 0, wanted 1");
    assert_found(ORACLE_ONE_SILENT, "65 silent, wanted 64");
}

// Every store and reduction of the clone writes the program's memory, marks a piece, or adds to a
// sum. One branch that adds for a whole warp is not taken by others.
static void probes_that_are_left_out_are_missed(void **state)
{
    (void)state;
    unsigned missed = 0, which = 0;
    for (bool none = false; !none; which++) {
        char *told;
        const bool good = spoilt_holds(INSTRUMENT_OBJECTS, ORACLE_WITHOUT_PROBE, which, &told);
        none = strstr(told, "there is no probe");
        missed += !good && !none;
        free(told);
    }
    assert_true(missed >= 4);
    assert_int_equal(missed, which - 2); // all but that branch; the last one does not exist
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_is_compared),
        cmocka_unit_test(vectors_are_silent_if_all_elements_are),
        cmocka_unit_test(stores_of_32_bytes_reach_across_pieces),
        cmocka_unit_test(constants_are_compared),
        cmocka_unit_test(guards_decide_what_is_counted),
        cmocka_unit_test(loops_count_every_round),
        cmocka_unit_test(lanes_are_compared_with_what_was_before_the_instruction),
        cmocka_unit_test(stores_that_others_may_wait_for_are_only_marked),
        cmocka_unit_test(pieces_are_marked_wherever_stores_go),
        cmocka_unit_test(stores_of_a_block_are_marked_together),
        cmocka_unit_test(atomics_change_words_or_not),
        cmocka_unit_test(sectors_change_or_not),
        cmocka_unit_test(one_sector_too_many_is_found),
        cmocka_unit_test(subnormal_sums_are_flushed),
        cmocka_unit_test(addresses_without_root_are_looked_up),
        cmocka_unit_test(threads_alternate_between_objects),
        cmocka_unit_test(functions_store_to_several_objects),
        cmocka_unit_test(bulk_copies_mark_all_their_pieces),
        cmocka_unit_test(what_cannot_be_marked_is_told),
        cmocka_unit_test(what_is_spoilt_is_found),
        cmocka_unit_test(probes_that_are_left_out_are_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
