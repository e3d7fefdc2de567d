// SPDX-License-Identifier: Apache-2.0
// What the lanes of a warp mark together, and what loops touch and mark at their exits: aligned and
// unaligned runs, unions of shifted runs, rows, ranges, two-dimensional blocks. Everything is
// compared with the simulator's log, and the text is searched for the fast paths.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"

// Two buffers, two numbers. %x and %y are the thread's column and row in the grid.
#define KERNEL(target, body)                                                            \
    ".version 8.0\n.target " target "\n.address_size 64\n"                              \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n, .param .u32 m) {\n" \
    ".reg .b32 %x, %y, %n, %m, %r<20>; .reg .b64 %p, %q, %d<20>; .reg .pred %c<8>;\n"   \
    ".reg .f32 %f<8>;\n"                                                                \
    "ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];\n"               \
    "ld.param.u32 %m, [m]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x;\n"              \
    "mov.u32 %x, %tid.x; mad.lo.s32 %x, %r0, %r1, %x;\n"                                \
    "mov.u32 %r0, %ctaid.y; mov.u32 %r1, %ntid.y;\n"                                    \
    "mov.u32 %y, %tid.y; mad.lo.s32 %y, %r0, %r1, %y;\n" body "ret; }\n"

enum { BYTES = 65536 };
static unsigned char data[BYTES];

struct shape {
    uint32_t grid[2], block[3];
    uint32_t n, m;
    uint32_t offset; // of the first pointer into its buffer
};

static void assert_exact(const char *name, const char *ptx, const struct shape *shape)
{
    struct oracle_case test = {
        .ptx = ptx,
        .ptx_bytes = strlen(ptx),
        .kernel = "k",
        .grid = {shape->grid[0], shape->grid[1], 1},
        .block = {shape->block[0], shape->block[1], shape->block[2]},
        .buffer_bytes = {BYTES, BYTES},
        .buffers = {data, data},
        .buffer_count = 2,
        .pointers = {{ORACLE_IN_PARAMS, 0, 0, shape->offset}, {ORACLE_IN_PARAMS, 8, 1, 0}},
        .pointer_count = 2};
    snprintf(test.name, sizeof(test.name), "%s", name);
    memcpy(test.params + 16, &shape->n, sizeof(shape->n));
    memcpy(test.params + 20, &shape->m, sizeof(shape->m));
    for (unsigned i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 7 + i / 256);
    struct oracle_level levels[10];
    unsigned count = 0;
    for (uint32_t counts = 0; counts < 2; counts++) {
        for (uint32_t shift = 2; shift < 6; shift++)
            levels[count++] = (struct oracle_level){.facts = INSTRUMENT_ELEMENTS |
                                                             (counts ? INSTRUMENT_COUNTS : 0),
                                                    .shift = shift,
                                                    .workers = 2};
    }
    // With a slot of another object, every address is looked up, with the same result.
    for (uint32_t counts = 0; counts < 2; counts++) {
        levels[count] = levels[4 * counts];
        levels[count++].spoil = ORACLE_OTHER_SLOT;
    }
    assert_true(oracle_holds(&test, levels, count, stderr));
    for (unsigned i = 0; i < count; i++) {
        levels[i].facts |= INSTRUMENT_VALUES;
        levels[i].workers = 1;
    }
    assert_true(oracle_holds(&test, levels, count, stderr));
}

// Checks whether the clone contains the text.
static void assert_has(const char *ptx, uint32_t facts, const char *text, bool wanted)
{
    struct instrument_request request = {.facts = facts};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    assert_int_equal(strstr(module->ptx, text) != NULL, wanted);
    instrument_destroy(module);
}

static void runs_may_be_aligned_or_not(void **state)
{
    (void)state;
    const char *text = KERNEL("sm_90", "setp.ge.s32 %c0, %x, %n; @%c0 bra L;\n"
                                       "mul.wide.s32 %d0, %x, 4; add.s64 %d1, %p, %d0;\n"
                                       "ld.global.f32 %f0, [%d1]; add.s64 %d2, %q, %d0;\n"
                                       "st.global.f32 [%d2], %f0; L:\n");
    assert_has(text, INSTRUMENT_ELEMENTS, "%glint$full", true);
    for (uint32_t offset = 0; offset <= 128; offset += offset < 8 ? 4 : 60)
        assert_exact(__func__, text,
                     &(struct shape){{3, 1}, {96, 1, 1}, offset % 8 ? 288 : 250, 0, offset});
}

static void older_targets_have_no_sums_over_warps(void **state)
{
    (void)state;
    const char *old = KERNEL("sm_70", "setp.ge.s32 %c0, %x, %n; @%c0 bra L; mov.u32 %r2, 0;\n"
                                      "A: mul.wide.s32 %d0, %x, 8; add.s64 %d1, %p, %d0;\n"
                                      "ld.global.u32 %r3, [%d1]; add.s32 %r2, %r2, 1;\n"
                                      "and.b32 %r4, %x, 3; setp.le.s32 %c1, %r2, %r4;\n"
                                      "@%c1 bra A; L:\n");
    assert_has(old, INSTRUMENT_ELEMENTS, "redux", false);
    assert_exact(__func__, old, &(struct shape){{2, 1}, {96, 1, 1}, 150, 0, 0});
}

#define LIMITED(directives)                                                                  \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                        \
    ".visible .entry k(.param .u64 p)\n" directives "{\n.reg .b32 %r<2>; .reg .b64 %d<3>;\n" \
    "ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4;\n"                \
    "add.s64 %d2, %d0, %d1; ld.global.u32 %r1, [%d2]; ret; }\n"

// A clone is limited to its kernel's registers, unless the program sets a limit itself.
static void registers_are_limited(void **state)
{
    (void)state;
    assert_has(LIMITED(""), INSTRUMENT_ELEMENTS, ".maxnreg 32", true);
    assert_has(LIMITED(""), INSTRUMENT_OBJECTS, ".maxnreg", false);
    assert_has(LIMITED(".maxntid 256, 1, 1\n"), INSTRUMENT_ELEMENTS, ".maxnreg 32", true);
    assert_has(LIMITED(".maxntid 256, 1, 1\n.minnctapersm 2\n"), INSTRUMENT_ELEMENTS, ".maxnreg",
               false);
    assert_has(LIMITED(".maxnreg 64\n"), INSTRUMENT_ELEMENTS, ".maxnreg 32", false);
}

// The address register shows where the last access was, or the loop keeps the address. Exits are
// between access and step, before the access, after both, and between step and access.
static void loops_are_left_in_many_places(void **state)
{
    (void)state;
    static const char *const rounds[] = {
        "A: ld.global.u32 %r3, [%d1]; setp.ge.s32 %c0, %r2, 5; @%c0 bra L; add.s64 %d1, %d1, 4;\n"
        "add.s32 %r2, %r2, 1; bra A; L:\n",
        "A: setp.ge.s32 %c0, %r2, 5; @%c0 bra L; ld.global.u32 %r3, [%d1]; add.s64 %d1, %d1, 4;\n"
        "add.s32 %r2, %r2, 1; bra A; L:\n",
        "A: ld.global.u32 %r3, [%d1]; add.s64 %d1, %d1, 4; add.s32 %r2, %r2, 1;\n"
        "setp.lt.s32 %c0, %r2, 5; @%c0 bra A; L:\n",
        "A: add.s64 %d1, %d1, 4; setp.ge.s32 %c0, %r2, 5; @%c0 bra L; ld.global.u32 %r3, [%d1];\n"
        "add.s32 %r2, %r2, 1; bra A; L:\n",
        "A: add.s64 %d1, %d1, 4; ld.global.u32 %r3, [%d1]; add.s32 %r2, %r2, 1;\n"
        "setp.lt.s32 %c0, %r2, 5; @%c0 bra A; L:\n",
    };
    for (unsigned i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        char text[2048];
        const char *whole = KERNEL("sm_90", "mov.u32 %r2, 0; mul.wide.s32 %d0, %x, 32;\n"
                                            "add.s64 %d1, %p, %d0;\n@@");
        const size_t before = (size_t)(strstr(whole, "@@") - whole);
        snprintf(text, sizeof(text), "%.*s%s%s", (int)before, whole, rounds[i],
                 whole + before + strlen("@@"));
        assert_has(text, INSTRUMENT_ELEMENTS, "call glint$sweep", true);
        assert_exact(__func__, text, &(struct shape){{1, 1}, {32, 1, 1}, 32, 0, 0});
    }
}

static void vectors_are_runs_too(void **state)
{
    (void)state;
    const char *text = KERNEL("sm_90", "mul.wide.s32 %d0, %x, 16; add.s64 %d1, %p, %d0;\n"
                                       "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d1];\n"
                                       "mul.wide.s32 %d0, %x, 8; add.s64 %d2, %q, %d0;\n"
                                       "st.global.v2.f32 [%d2], {%f0, %f1};\n");
    for (uint32_t offset = 0; offset < 80; offset += 16)
        assert_exact(__func__, text, &(struct shape){{2, 1}, {64, 1, 1}, 0, 0, offset});
}

static void shifted_runs_are_marked_together(void **state)
{
    (void)state;
    const char *text =
        KERNEL("sm_90", "setp.lt.s32 %c0, %x, 1; @%c0 bra L;\n"
                        "setp.ge.s32 %c0, %x, %n; @%c0 bra L;\n"
                        "mul.wide.s32 %d0, %x, 4; add.s64 %d1, %p, %d0;\n"
                        "ld.global.f32 %f0, [%d1+-4]; ld.global.f32 %f1, [%d1];\n"
                        "ld.global.f32 %f2, [%d1+4]; add.s64 %d2, %q, %d0;\n"
                        "ld.global.f32 %f3, [%d1+260]; add.f32 %f0, %f0, %f1;\n"
                        "st.global.f32 [%d2], %f0; ld.global.f32 %f0, [%d1+4]; L:\n");
    for (uint32_t n = 60; n < 200; n += 67)
        assert_exact(__func__, text, &(struct shape){{1, 1}, {192, 1, 1}, n, 0, 0});
}

// The range of one lane may span two words, the second of which no other lane touches.
static void few_lanes_have_unions(void **state)
{
    (void)state;
    const char *text = KERNEL("sm_90", "and.b32 %r2, %x, 15; setp.ne.s32 %c0, %r2, %n;\n"
                                       "@%c0 bra L; mul.wide.s32 %d0, %x, 4;\n"
                                       "add.s64 %d1, %p, %d0; ld.global.f32 %f0, [%d1];\n"
                                       "ld.global.f32 %f1, [%d1+4]; add.s64 %d2, %q, %d0;\n"
                                       "ld.global.f32 %f2, [%d2+8]; ld.global.f32 %f3, [%d2+4];\n"
                                       "st.global.f32 [%d2], %f0; L:\n");
    for (uint32_t n = 12; n < 16; n++)
        assert_exact(__func__, text, &(struct shape){{2, 1}, {96, 1, 1}, n, 0, 0});
}

// Accesses that are marked together although the registers of some are overwritten, up to the end
// of the object.
static void registers_do_not_last(void **state)
{
    (void)state;
    const char *text =
        KERNEL("sm_90", "mul.wide.s32 %d0, %x, 8; add.s64 %d1, %p, %d0; add.s64 %d2, %q, %d0;\n"
                        "ld.global.u64 %d3, [%d1]; ld.global.u64 %d4, [%d2];\n"
                        "add.s64 %d1, %d1, 8; ld.global.u64 %d5, [%d1+1024];\n"
                        "ld.global.u64 %d2, [%d2+2048]; mov.u64 %d1, 0;\n"
                        "add.s64 %d6, %p, %d0; ld.global.u64 %d7, [%d6+16];\n"
                        "add.s64 %d0, %d0, %q; st.global.u64 [%d0+16384], %d5;\n"
                        "st.global.u64 [%d0+4096], %d4; atom.global.add.u64 %d0, [%d0], 1;\n");
    for (uint32_t offset = 0; offset < 3; offset++)
        assert_exact(
            __func__, text,
            &(struct shape){{2, 1}, {96, 1, 1}, 0, 0, offset < 2 ? 8 * offset : BYTES - 2576});
}

// At the end of its buffer, a run of neighbors continues into no object, or into another one.
static void unions_may_leave_their_object(void **state)
{
    (void)state;
    const char *text = KERNEL("sm_90", "mul.wide.s32 %d0, %x, 4; add.s64 %d1, %p, %d0;\n"
                                       "ld.global.f32 %f0, [%d1]; ld.global.f32 %f1, [%d1+4];\n"
                                       "ld.global.f32 %f2, [%d1+8];\n");
    assert_exact(__func__, text, &(struct shape){{1, 1}, {64, 1, 1}, 0, 0, BYTES - 66 * 4});
}

// Three bytes per thread, and one of three: the gaps between lanes are smaller than an element.
static void bytes_in_threes_are_runs(void **state)
{
    (void)state;
    const char *text = KERNEL("sm_90", "setp.ge.s32 %c0, %x, %n; @%c0 bra L;\n"
                                       "mul.wide.s32 %d0, %x, 3; add.s64 %d1, %p, %d0;\n"
                                       "ld.global.u8 %r2, [%d1+1]; ld.global.u8 %r3, [%d1+2];\n"
                                       "ld.global.u8 %r4, [%d1]; add.s64 %d2, %q, %d0;\n"
                                       "st.global.u8 [%d2+1], %r2; L:\n");
    for (uint32_t offset = 0; offset < 5; offset++)
        assert_exact(__func__, text, &(struct shape){{3, 1}, {64, 1, 1}, 150, 0, offset});
}

#define FIELDS(more)                                                                   \
    KERNEL("sm_90", "setp.ge.s32 %c0, %x, %n; @%c0 bra L; mul.wide.s32 %d0, %x, 12;\n" \
                    "add.s64 %d1, %p, %d0; ld.global.f32 %f0, [%d1+8];\n"              \
                    "ld.global.f32 %f1, [%d1];\n" more "add.s64 %d2, %q, %d0;\n"       \
                    "st.global.f32 [%d2+4], %f0; L:\n")

// Each thread reads three floats, one by one. Together they touch every byte once, unless one is
// left out or read twice.
static void fields_of_structures_are_runs(void **state)
{
    (void)state;
    static const char *const texts[] = {
        FIELDS("ld.global.f32 %f2, [%d1+4];\n"), FIELDS(""),
        FIELDS("ld.global.f32 %f2, [%d1+4]; ld.global.f32 %f3, [%d1+4];\n")};
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (uint32_t offset = 0; offset < 12; offset += 4)
            assert_exact(__func__, texts[i], &(struct shape){{2, 1}, {96, 1, 1}, 170, 0, offset});
    }
}

// Steps that leave gaps for elements, a step of zero, and threads in several rows.
static void lanes_may_be_apart_or_one(void **state)
{
    (void)state;
    const char *text = KERNEL("sm_90", "mul.wide.s32 %d0, %x, 12; add.s64 %d1, %p, %d0;\n"
                                       "ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1+4];\n"
                                       "mul.wide.s32 %d0, %y, 8; add.s64 %d2, %q, %d0;\n"
                                       "ld.global.u64 %d3, [%d2]; ld.global.u32 %r4, [%p+64];\n"
                                       "setp.ge.s32 %c0, %x, %n; @!%c0 ld.global.u32 %r5, [%d2];\n"
                                       "mov.u32 %r6, 7; sub.s32 %r6, %r6, %x;\n"
                                       "mul.wide.s32 %d0, %r6, 4; add.s64 %d4, %p, %d0;\n"
                                       "ld.global.u32 %r7, [%d4+1024];\n");
    static const struct shape shapes[] = {{{1, 2}, {32, 4, 1}, 20, 0, 0},
                                          {{2, 1}, {16, 3, 2}, 9, 0, 8},
                                          {{1, 1}, {96, 1, 1}, 64, 0, 4}};
    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        assert_exact(__func__, text, &shapes[i]);
}

#define SGEMM                                                                                 \
    "mul.lo.s32 %r2, %y, %n; mul.wide.s32 %d0, %r2, 4; add.s64 %d1, %p, %d0;\n"               \
    "mul.wide.s32 %d2, %x, 4; add.s64 %d3, %q, %d2; mul.wide.s32 %d4, %m, 4;\n"               \
    "mov.u32 %r3, 0; mov.f32 %f2, 0f00000000;\n"                                              \
    "A: ld.global.f32 %f0, [%d1]; ld.global.f32 %f1, [%d3]; fma.rn.f32 %f2, %f0, %f1, %f2;\n" \
    "add.s64 %d1, %d1, 4; add.s64 %d3, %d3, %d4; add.s32 %r3, %r3, 1;\n"                      \
    "setp.lt.s32 %c0, %r3, %n; @%c0 bra A;\n"

static void products_of_matrices_are_rows_and_ranges(void **state)
{
    (void)state;
    const char *text = KERNEL("sm_90", SGEMM);
    assert_has(text, INSTRUMENT_ELEMENTS, "call glint$sweep", true);
    static const struct shape shapes[] = {
        {{1, 2}, {32, 4, 1}, 40, 64, 0}, {{2, 1}, {16, 8, 1}, 33, 32, 0},
        {{1, 1}, {64, 2, 2}, 17, 64, 4}, {{2, 2}, {8, 3, 1}, 9, 40, 0},
        {{1, 1}, {32, 4, 1}, 1, 32, 0},
    };
    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        assert_exact(__func__, text, &shapes[i]);
}

// The step is not a small number: each access is looked up when it happens.
static void steps_may_be_negative_as_a_parameter(void **state)
{
    (void)state;
    assert_exact(__func__, KERNEL("sm_90", SGEMM),
                 &(struct shape){{1, 1}, {32, 2, 1}, 1, (uint32_t)-3, 0});
}

static void unrolled_loops_are_one_range(void **state)
{
    (void)state;
    const char *text = KERNEL("sm_90", "mul.lo.s32 %r2, %x, %n; mul.wide.s32 %d0, %r2, 16;\n"
                                       "add.s64 %d1, %p, %d0; mov.u32 %r3, 0;\n"
                                       "A: ld.global.f32 %f0, [%d1]; ld.global.f32 %f1, [%d1+4];\n"
                                       "ld.global.f32 %f2, [%d1+12]; ld.global.f32 %f3, [%d1+8];\n"
                                       "add.s64 %d1, %d1, 16; add.s32 %r3, %r3, 1;\n"
                                       "setp.lt.s32 %c0, %r3, %n; @%c0 bra A;\n"
                                       "mul.wide.s32 %d0, %x, 4; add.s64 %d2, %q, %d0;\n"
                                       "st.global.f32 [%d2], %f0;\n");
    for (uint32_t n = 1; n < 12; n += 5)
        assert_exact(__func__, text, &(struct shape){{1, 1}, {50, 1, 1}, n, 0, 4 * (n % 2)});
}

static void grids_stride(void **state)
{
    (void)state;
    const char *text = KERNEL("sm_90", "mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ntid.x;\n"
                                       "mul.lo.s32 %r2, %r2, %r3; mov.u32 %r4, %x;\n"
                                       "setp.ge.s32 %c0, %x, %n; @%c0 bra L;\n"
                                       "A: mul.wide.s32 %d0, %r4, 4; add.s64 %d1, %p, %d0;\n"
                                       "ld.global.f32 %f0, [%d1]; add.s64 %d2, %q, %d0;\n"
                                       "st.global.f32 [%d2], %f0; add.s32 %r4, %r4, %r2;\n"
                                       "setp.lt.s32 %c0, %r4, %n; @%c0 bra A; L:\n");
    assert_has(text, INSTRUMENT_ELEMENTS, "call glint$sweep", true);
    for (uint32_t n = 0; n < 3000; n = n * 3 + 70)
        assert_exact(__func__, text, &(struct shape){{3, 1}, {64, 1, 1}, n, 0, 0});
}

static void lanes_leave_loops_at_different_times(void **state)
{
    (void)state;
    const char *text =
        KERNEL("sm_90", "mul.wide.s32 %d0, %x, 4; add.s64 %d1, %p, %d0;\n"
                        "mov.u32 %r3, 0; add.s64 %d2, %p, 4096;\n"
                        "A: ld.global.u32 %r4, [%d1]; ld.global.u32 %r5, [%d2];\n"
                        "add.s64 %d1, %d1, 128; add.s64 %d2, %d2, -8;\n"
                        "add.s32 %r3, %r3, 1; and.b32 %r6, %r4, 7;\n"
                        "setp.eq.s32 %c1, %r6, 3; @%c1 ret;\n"
                        "and.b32 %r6, %x, 15; setp.le.s32 %c0, %r3, %r6; @%c0 bra A;\n"
                        "setp.gt.s32 %c0, %r3, 9; @%c0 bra A; add.s64 %d3, %q, %d0;\n"
                        "st.global.u32 [%d3], %r5;\n");
    assert_exact(__func__, text, &(struct shape){{2, 1}, {48, 1, 1}, 0, 0, 0});
}

static void loops_are_nested(void **state)
{
    (void)state;
    const char *text =
        KERNEL("sm_90", "mov.u32 %r2, 0; mul.wide.s32 %d0, %x, 4;\n"
                        "A: mov.u32 %r3, 0; mul.lo.s32 %r4, %r2, 160; mul.wide.s32 %d1, %r4, 4;\n"
                        "add.s64 %d1, %d1, %p; add.s64 %d1, %d1, %d0;\n"
                        "B: ld.global.u32 %r5, [%d1]; add.s64 %d1, %d1, 40; add.s32 %r3, %r3, 1;\n"
                        "setp.lt.s32 %c0, %r3, %n; @%c0 bra B; add.s32 %r2, %r2, 1;\n"
                        "setp.lt.s32 %c0, %r2, %m; @%c0 bra A; add.s64 %d2, %q, %d0;\n"
                        "st.global.u32 [%d2], %r5;\n");
    assert_exact(__func__, text, &(struct shape){{1, 1}, {40, 2, 1}, 5, 4, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_may_be_aligned_or_not),
        cmocka_unit_test(older_targets_have_no_sums_over_warps),
        cmocka_unit_test(registers_are_limited),
        cmocka_unit_test(loops_are_left_in_many_places),
        cmocka_unit_test(vectors_are_runs_too),
        cmocka_unit_test(shifted_runs_are_marked_together),
        cmocka_unit_test(few_lanes_have_unions),
        cmocka_unit_test(registers_do_not_last),
        cmocka_unit_test(unions_may_leave_their_object),
        cmocka_unit_test(bytes_in_threes_are_runs),
        cmocka_unit_test(fields_of_structures_are_runs),
        cmocka_unit_test(lanes_may_be_apart_or_one),
        cmocka_unit_test(products_of_matrices_are_rows_and_ranges),
        cmocka_unit_test(steps_may_be_negative_as_a_parameter),
        cmocka_unit_test(unrolled_loops_are_one_range),
        cmocka_unit_test(grids_stride),
        cmocka_unit_test(lanes_leave_loops_at_different_times),
        cmocka_unit_test(loops_are_nested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
