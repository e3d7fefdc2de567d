// SPDX-License-Identifier: Apache-2.0
// Which lines of global memory warps reach: records of probes equal the simulator's log, in number,
// contents and order. Near misses: kernels that cannot be traced say why, ones that resemble them
// are traced, and every corruption of a run is detected. The random kernels of random_main.c are
// traced, too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"
#include "two_buffers.h"

#define VERSION      ".version 8.0\n"
#define HEAD         VERSION ".target sm_90\n.address_size 64\n"
#define BODY         ENTRY REGISTERS START
#define KERNEL(body) HEAD BODY body "ret; }\n"

enum { BYTES = 65536 };

// Whether lanes of a warp stay together.
enum order { APART, TOGETHER };

static struct oracle_case case_of(const char *name, const char *ptx, uint32_t n, enum order order,
                                  const uint32_t grid[3], const uint32_t block[3])
{
    struct oracle_case test = oracle_case_of(ptx, 1, 1, n, NULL, NULL, BYTES);
    memcpy(test.grid, grid, sizeof(test.grid));
    memcpy(test.block, block, sizeof(test.block));
    test.together = order == TOGETHER;
    snprintf(test.name, sizeof(test.name), "%.40s, %u blocks of %u", name, grid[0], block[0]);
    return test;
}

// Beside all other facts, of all lines and of fewer and fewer.
static void check_case(const struct oracle_case *test)
{
    static const uint32_t facts[] = {INSTRUMENT_OBJECTS, INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS,
                                     INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS,
                                     INSTRUMENT_OBJECTS | INSTRUMENT_SHARED,
                                     INSTRUMENT_OBJECTS | INSTRUMENT_VALUES | INSTRUMENT_ACCESSED};
    static const uint32_t limits[] = {0, 0, 0x0fffffff, 0x00ffffff, 0x3fffffff};
    struct oracle_level levels[5];
    for (unsigned i = 0; i < 5; i++)
        levels[i] = (struct oracle_level){.facts = facts[i] | INSTRUMENT_CACHE,
                                          .shift = 2,
                                          .workers = 1,
                                          .must_trace = true,
                                          .trace_limit = limits[i],
                                          .trace_shelves = 1u << i,
                                          .parts = i % 3};
    assert_true(oracle_holds(test, levels, 5, stderr));
}

static void check(const char *name, const char *ptx, uint32_t n, enum order order)
{
    struct oracle_case test =
        case_of(name, ptx, n, order, (const uint32_t[]){3, 1, 1}, (const uint32_t[]){64, 1, 1});
    check_case(&test);
    test = case_of(name, ptx, n, order, (const uint32_t[]){2, 3, 2}, (const uint32_t[]){15, 3, 1});
    check_case(&test);
}

// All threads load the same 16 words, in a loop, and one word of their own.
#define LOOP                                                                                 \
    KERNEL("mov.u32 %r2, 0; mul.wide.u32 %d0, %b, 1024; add.u64 %d0, %p, %d0;\n"             \
           "mul.wide.u32 %d1, %t, 4; add.u64 %d1, %d1, %d0; ld.global.f32 %r3, [%d1+256];\n" \
           "L: mul.wide.u32 %d2, %r2, 4; add.u64 %d2, %d2, %d0;\n"                           \
           "ld.global.u32 %r4, [%d2]; add.u32 %r2, %r2, 1; setp.lt.u32 %c0, %r2, %n;\n"      \
           "@%c0 bra L; mul.wide.u32 %d3, %t, 4; add.u64 %d3, %d3, %q;\n"                    \
           "st.global.u32 [%d3+128], %r4;\n")

static void loops(void **state)
{
    (void)state;
    check(__func__, LOOP, 16, TOGETHER);
}

// Requests to many lines, and to lines that other lanes reached before.
static void scattered(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("mul.lo.u32 %r2, %t, 2654435; and.b32 %r2, %r2, 65532; cvt.u64.u32 %d0, %r2;\n"
                 "add.u64 %d0, %d0, %p; ld.global.u32 %r3, [%d0]; mul.lo.u32 %r4, %t, 1234567;\n"
                 "and.b32 %r4, %r4, 16380; cvt.u64.u32 %d1, %r4; add.u64 %d1, %d1, %p;\n"
                 "ld.global.u32 %r5, [%d1]; add.u32 %r5, %r5, %r3; st.global.u32 [%d0+-0], %r5;\n"
                 "and.b32 %r4, %t, 6; mul.wide.u32 %d2, %r4, 64; add.u64 %d2, %d2, %q;\n"
                 "ld.global.u32 %r5, [%d2]; ld.global.u32 %r5, [%d2+64];\n"),
          0, TOGETHER);
}

// Accesses that are traced together: at offsets from one register that are in one line, in two, and
// further apart, more than one run takes, and guarded ones between them.
#define WORD(offset) "ld.global.u32 %r3, [%d0+" #offset "];\n"
static void runs_of_accesses(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("mul.wide.u32 %d0, %t, 52; add.u64 %d0, %d0, %p; add.u64 %d1, %d0, 8192;\n"
                 "setp.lt.u32 %c0, %t, 7;\n" WORD(0) WORD(120) WORD(60) WORD(180) WORD(128)
                     WORD(1024) WORD(4)
                         WORD(4096) "@%c0 ld.global.u32 %r3, [%d1];\n"
                                    "ld.global.u32 %r4, [%d1+4];\n" WORD(128) WORD(132) WORD(256)
                                        WORD(260) WORD(264) WORD(268) WORD(384) WORD(388)
                                            WORD(512) "st.global.u32 [%d1+4096], %r3;\n" WORD(516)),
          0, TOGETHER);
}

// Registers of addresses that change between accesses, also by the load itself, and instructions at
// which lanes wait. The first word of each 64 bytes leads 64 bytes on.
static void runs_that_end(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("mul.wide.u32 %d0, %t, 64; add.u64 %d0, %d0, %p; add.u64 %d1, %d0, 64;\n"
                 "st.global.u64 [%d0], %d1; bar.sync 0; ld.global.u32 %r3, [%d0+4];\n"
                 "ld.global.u64 %d0, [%d0]; ld.global.u32 %r3, [%d0+8];\n"
                 "add.u64 %d0, %d0, 2048; ld.global.u32 %r4, [%d0+12]; ld.global.u32 %r4, [%d0];\n"
                 "bar.sync 0; ld.global.u32 %r4, [%d0+16];\n"
                 "{ .reg .b64 %x; add.u64 %x, %d0, 1024; ld.global.u32 %r4, [%x];\n"
                 "ld.global.u32 %r4, [%x+4]; } ld.global.u32 %r4, [%d0+20];\n"),
          0, TOGETHER);
}

static void sizes_and_vectors(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("mul.wide.u32 %d0, %t, 16; add.u64 %d0, %d0, %p;\n"
                 "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d0]; ld.global.u64 %d1, [%d0+8];\n"
                 "ld.global.u8 %r2, [%d0+5]; ld.global.u8 %r2, [%d0+6]; ld.global.u16 %h0, [%d0+2];"
                 "ld.global.nc.v2.f64 {%d2, %d3}, [%d0+4096]; ld.volatile.global.u32 %r2, [%d0];\n"
                 "st.global.v2.u32 [%d0+16384], {%r2, %r3}; st.global.u8 [%d0+20003], %r2;\n"),
          0, TOGETHER);
}

// Sectors are written as a whole if every byte of them is: not by every other word, nor twice the
// same, nor by too few lanes, nor if an atomic operation does it.
#define STORE(bytes, code)                                                                     \
    "mul.wide.u32 %d0, %t, " #bytes "; add.u64 %d0, %d0, %p; " code                            \
    " mul.wide.u32 %d0, %r2, " #bytes "; add.u64 %d0, %d0, %p; add.u64 %d0, %d0, 16384; " code \
    " mul.wide.u32 %d0, %r3, " #bytes "; add.u64 %d0, %d0, %p; add.u64 %d0, %d0, 32768; " code

static void sectors_written_as_a_whole(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("mul.lo.u32 %r2, %t, 2; and.b32 %r3, %t, 250; mov.u32 %r4, 0; mov.u16 %h0, 0;\n"
                 "mov.u64 %d1, 0; setp.ne.u32 %c0, %t, 5; setp.lt.u32 %c1, %t, 4;\n" STORE(
                     1, "st.global.u8 [%d0], %r4;\n") STORE(2, "st.global.u16 [%d0], %h0;\n")
                     STORE(4, "st.global.u32 [%d0], %r4;\n") STORE(8, "st.global.u64 [%d0], %d1;\n")
                         STORE(16, "st.global.v2.u64 [%d0], {%d1, %d1};\n")
                             STORE(4, "@%c0 st.global.u32 [%d0+64], %r4;\n")
                                 STORE(8, "@%c1 st.global.u64 [%d0+64], %d1;\n")
                                     STORE(4, "red.global.add.u32 [%d0+4], %r4;\n")
                                         STORE(4, "st.u32 [%d0], %r4;\n")),
          0, TOGETHER);
}

static void copies_and_atomics(void **state)
{
    (void)state;
    check(__func__,
          HEAD ".shared .align 16 .b8 tile[2048];\n" BODY
               "mul.wide.u32 %d0, %t, 16; add.u64 %d0, %d0, %p; mov.u32 %r2, tile;\n"
               "mad.lo.u32 %r2, %t, 16, %r2; cp.async.ca.shared.global [%r2], [%d0], 16;\n"
               "cp.async.ca.shared.global [%r2], [%d0+8], 8, 8; cp.async.wait_all;\n"
               "atom.global.add.u32 %r3, [%d0+4], 1; red.global.add.u32 [%d0], %r3;\n"
               "atom.global.cas.b64 %d1, [%d0+8], 0, 1; atom.shared.add.u32 %r3, [%r2], 1;\n"
               "ret; }\n",
          0, TOGETHER);
}

// Lanes that take part in nothing, or in something else, and whose counts then differ.
static void guards_and_branches(void **state)
{
    (void)state;
    check(
        __func__,
        KERNEL("mul.wide.u32 %d0, %t, 4; add.u64 %d0, %d0, %p; setp.lt.u32 %c0, %t, %n;\n"
               "@%c0 ld.global.u32 %r2, [%d0]; @!%c0 ld.global.u32 %r2, [%d0+4096];\n"
               "and.b32 %r3, %t, 1; setp.eq.u32 %c1, %r3, 0; @%c1 bra EVEN;\n"
               "ld.global.u32 %r2, [%d0+512]; bra JOINED;\n"
               "EVEN: ld.global.u32 %r2, [%d0+1024]; setp.lt.u32 %c2, %t, 3; @%c2 bra JOINED;\n"
               "ld.global.u32 %r2, [%d0+2048]; st.global.u32 [%d0+512], %r2;\n"
               "JOINED: ld.global.u32 %r2, [%d0+8192]; @%c0 ret; ld.global.u32 %r2, [%d0+128];\n"),
        9, APART);
}

// Lanes leave the loop one after the other. The last lane executes most basic blocks.
static void loops_that_lanes_leave(void **state)
{
    (void)state;
    const char *ptx = KERNEL("mul.wide.u32 %d0, %t, 4; add.u64 %d0, %d0, %p; mov.u32 %r2, 0;\n"
                             "and.b32 %r5, %t, 31;\n"
                             "L: mul.wide.u32 %d1, %r2, 128; add.u64 %d1, %d1, %d0;\n"
                             "ld.global.u32 %r3, [%d1]; add.u32 %r2, %r2, 1;\n"
                             "setp.lt.u32 %c0, %r2, %r5; @%c0 bra L;\n"
                             "ld.global.u32 %r3, [%d0+16384]; st.global.u32 [%d0], %r3;\n");
    struct oracle_case test =
        case_of(__func__, ptx, 0, APART, (const uint32_t[]){2, 1, 1}, (const uint32_t[]){64, 1, 1});
    test.steps = 33;
    check_case(&test);
    check(__func__, ptx, 0, APART);
}

// Addresses in several spaces, or loaded from memory.
static void any_address(void **state)
{
    (void)state;
    const char *ptx =
        HEAD ".shared .align 8 .b8 tile[64];\n" BODY
             "setp.lt.u32 %c0, %t, %n; mov.u64 %d0, tile; cvta.shared.u64 %d0, %d0;\n"
             "selp.b64 %d1, %p, %d0, %c0; ld.u32 %r2, [%d1]; st.u32 [%d1+4], %r2;\n"
             "ld.global.u64 %d2, [%p+1024]; ld.global.u32 %r3, [%d2]; ld.global.u32 %r3, [%q];\n"
             "mul.wide.u32 %d3, %t, 8; add.u64 %d3, %d3, %d2; ld.u64 %d4, [%d3+-64];\n"
             "ret; }\n";
    struct oracle_case test = case_of(__func__, ptx, 30, TOGETHER, (const uint32_t[]){2, 1, 1},
                                      (const uint32_t[]){40, 1, 1});
    test.pointers[1] = (struct oracle_pointer){ORACLE_IN_PARAMS, 8, 0, 4};
    test.pointers[2] = (struct oracle_pointer){0, 1024, 0, 64};
    test.pointer_count = 3;
    check_case(&test);
    test.pointers[2].to = 1;
    check_case(&test);
}

// The number of a block, its multiprocessor, and a warp's number.
static void grids_and_blocks(void **state)
{
    (void)state;
    static const uint32_t grids[][3] = {{300, 1, 1}, {5, 7, 3}, {1, 3, 40}, {1, 1, 1}};
    static const uint32_t blocks[][3] = {{32, 1, 1}, {33, 1, 1}, {3, 5, 7}, {1, 2, 33}, {1, 1, 1}};
    const char *ptx =
        KERNEL("mul.wide.u32 %d0, %b, 128; add.u64 %d0, %d0, %p; mul.wide.u32 %d1, %t,"
               "4; add.u64 %d0, %d0, %d1; ld.global.u32 %r2, [%d0];\n");
    for (size_t i = 0; i < sizeof(grids) / sizeof(*grids); i++) {
        for (size_t k = 0; k < sizeof(blocks) / sizeof(*blocks); k++) {
            struct oracle_case test = case_of(__func__, ptx, 0, TOGETHER, grids[i], blocks[k]);
            struct oracle_level level = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_CACHE,
                                         .shift = 2,
                                         .workers = (unsigned)(1 + k % 3),
                                         .must_trace = true};
            test.steps = 1;
            assert_true(oracle_holds(&test, &level, 1, stderr));
        }
    }
}

// Warps of one block execute 1, 2, 4 and 8 rounds of two basic blocks, and one before and after.
static void basic_blocks_are_counted(void **state)
{
    (void)state;
    const char *ptx =
        KERNEL("mul.wide.u32 %d0, %t, 4; add.u64 %d0, %d0, %p; shr.u32 %r2, %t, 5;\n"
               "mov.u32 %r3, 1; shl.b32 %r3, %r3, %r2; mov.u32 %r4, 0;\n"
               "L: ld.global.u32 %r5, [%d0]; setp.eq.u32 %c0, %r5, 1; @%c0 bra NEXT;\n"
               "NEXT: add.u32 %r4, %r4, 1; setp.lt.u32 %c1, %r4, %r3; @%c1 bra L;\n"
               "st.global.u32 [%d0], %r4;\n");
    struct oracle_case test = case_of(__func__, ptx, 0, TOGETHER, (const uint32_t[]){3, 1, 1},
                                      (const uint32_t[]){128, 1, 1});
    struct oracle_level level = {
        .facts = INSTRUMENT_OBJECTS | INSTRUMENT_CACHE, .shift = 2, .must_trace = true};
    FILE *nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    test.steps = 1 + 2 * 8 + 1;
    check_case(&test);
    test.steps++;
    assert_false(oracle_holds(&test, &level, 1, nowhere));
    fclose(nowhere);
}

// More of them than a block can say.
static void very_many_basic_blocks(void **state)
{
    (void)state;
    const char *ptx = KERNEL("mov.u32 %r4, 0;\n"
                             "L: add.u32 %r4, %r4, 1; setp.lt.u32 %c1, %r4, %n; @%c1 bra L;\n"
                             "st.global.u32 [%p], %r4;\n");
    const uint32_t rounds[] = {INSTRUMENT_TRACED_STEPS - 2, INSTRUMENT_TRACED_STEPS + 5};
    const uint32_t one[] = {1, 1, 1};
    const struct oracle_level level = {
        .facts = INSTRUMENT_OBJECTS | INSTRUMENT_CACHE, .shift = 2, .must_trace = true};
    for (unsigned i = 0; i < 2; i++) {
        struct oracle_case test = case_of(__func__, ptx, rounds[i], TOGETHER, one, one);
        test.steps = INSTRUMENT_TRACED_STEPS;
        assert_int_equal(oracle_holds(&test, &level, 1, stderr), true);
    }
}

// What does not fit is counted, and the levels with room are complete.
static void too_little_room(void **state)
{
    (void)state;
    static const uint32_t rooms[] = {1, 7, 8, 30, 64, 200};
    static const uint32_t limits[] = {0, 0x7fffffff, 0x0fffffff, 0x000fffff, 1};
    const char *ptx = KERNEL("mov.u32 %r2, 0; mul.wide.u32 %d0, %t, 4; add.u64 %d0, %d0, %p;\n"
                             "L: ld.global.u32 %r3, [%d0]; add.u64 %d0, %d0, 256;\n"
                             "add.u32 %r2, %r2, 1; setp.lt.u32 %c0, %r2, %n; @%c0 bra L;\n");
    const struct oracle_case test = case_of(
        __func__, ptx, 200, TOGETHER, (const uint32_t[]){2, 1, 1}, (const uint32_t[]){64, 1, 1});
    struct oracle_level levels[30];
    for (unsigned i = 0; i < 30; i++)
        levels[i] = (struct oracle_level){.facts = INSTRUMENT_OBJECTS | INSTRUMENT_CACHE,
                                          .shift = 2,
                                          .must_trace = true,
                                          .trace_limit = limits[i % 5],
                                          .trace_room = rooms[i / 5],
                                          .trace_shelves = 1u << i % 3};
    assert_true(oracle_holds(&test, levels, 30, stderr));
}

static void a_spoiled_record_is_detected(void **state)
{
    (void)state;
    struct oracle_case test = case_of(__func__, LOOP, 16, TOGETHER, (const uint32_t[]){3, 1, 1},
                                      (const uint32_t[]){64, 1, 1});
    struct oracle_level level = {
        .facts = INSTRUMENT_OBJECTS | INSTRUMENT_CACHE, .shift = 2, .must_trace = true};
    FILE *nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    test.steps = 18;
    for (unsigned together = 0; together < 2; together++) {
        test.together = together;
        level.spoil = ORACLE_SOUND;
        assert_true(oracle_holds(&test, &level, 1, stderr));
        level.spoil = ORACLE_ONE_TRACED;
        for (level.which = 0; level.which < 10; level.which++)
            assert_false(oracle_holds(&test, &level, 1, nowhere));
    }
    fclose(nowhere);
}

// --- Kernels that cannot be traced ---------------------------------------------------------------

// Checks why a kernel is not traced; "": it is; "nothing": there is nothing to trace.
static void check_untraced(const char *ptx, const char *wanted)
{
    static const uint32_t facts[] = {INSTRUMENT_OBJECTS, INSTRUMENT_OBJECTS | INSTRUMENT_SHARED};
    for (unsigned i = 0; i < 2; i++) {
        const struct instrument_request request = {.facts = facts[i] | INSTRUMENT_CACHE};
        struct instrument_module *module;
        struct base_error error = {0};
        if (instrument_ptx(ptx, strlen(ptx), &request, &module, &error) != BASE_OK) {
            char text[400];
            base_error_text(&error, text, sizeof(text));
            fail_msg("%s", text);
        }
        const struct instrument_kernel *kernel = &module->kernels[0];
        assert_non_null(kernel->clone);
        assert_string_equal(kernel->untraced ? kernel->untraced
                            : kernel->traces ? ""
                                             : "nothing",
                            wanted);
        assert_false(kernel->untraced && kernel->traces);
        assert_int_equal(strstr(module->ptx, "%glint$steps") != NULL, kernel->traces);
        instrument_destroy(module);
    }
}

static void only_kernels_that_reach_global_memory(void **state)
{
    (void)state;
    check_untraced(LOOP, "");
    check_untraced(KERNEL(""), "nothing");
    check_untraced(HEAD ".shared .align 16 .b8 tile[64];\n" BODY
                        "st.shared.u32 [tile], %t; ret; }\n",
                   "nothing");
    check_untraced(KERNEL("st.global.u32 [%p], %t;\n"), "");
}

#define FUNCTION(body)                                                                      \
    HEAD ".func f(.param .b64 a) { .reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [a]; " body \
         " ret; }\n"
#define CALL "{ .param .b64 x; st.param.b64 [x], %p; call f, (x); }\n"

static void functions(void **state)
{
    (void)state;
    check_untraced(FUNCTION("ld.global.u32 %r, [%a]; st.global.u32 [%a], %r;") BODY
                   "ld.global.u32 %r2, [%p];\n" CALL "ret; }\n",
                   "accesses in f, which it calls");
    check_untraced(FUNCTION("ld.global.u32 %r, [%a];") BODY CALL "ret; }\n",
                   "accesses in f, which it calls");
    check_untraced(
        FUNCTION("cvt.u32.u64 %r, %a;") BODY "ld.global.u32 %r2, [%p];\n" CALL "ret; }\n", "");
    check_untraced(FUNCTION("ld.global.u32 %r, [%a];") BODY "ld.global.u32 %r2, [%p];\nret; }\n",
                   ""); // does not call it
    check_untraced(HEAD ".extern .func f(.param .b64 a);\n" BODY "ld.global.u32 %r2, [%p];\n" CALL
                        "ret; }\n",
                   "accesses in f, which it calls");
}

static void instructions(void **state)
{
    (void)state;
#define TILE HEAD ".shared .align 128 .b8 tile[1024];\n" BODY "mov.u32 %r3, tile;\n"
    check_untraced(TILE "ld.global.u32 %r2, [%p];\n"
                        "cp.async.bulk.global.shared::cta.bulk_group [%p], [%r3], 64; ret; }\n",
                   "cp.async.bulk.global.shared::cta.bulk_group at line 15 of the PTX");
    check_untraced(TILE "cp.async.ca.shared.global [%r3], [%p], 16, %n; ret; }\n",
                   "cp.async.ca.shared.global at line 14 of the PTX");
    check_untraced(TILE "cp.async.ca.shared.global [%r3], [%p], 16, 16; ret; }\n", "");
    check_untraced(TILE "cp.async.ca.shared.global [%r3], [%p], 16; ret; }\n", "");
    check_untraced(TILE "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r4, %r5, %r6, %r7, "
                        "%r8, %r9, %r10, %r11}, [%p], %n; ret; }\n",
                   "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 at line 14 of the PTX");
    check_untraced(TILE "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r4, %r5, %r6, %r7, "
                        "%r8, %r9, %r10, %r11}, [tile], %n; st.global.u32 [%p], %r4; ret; }\n",
                   "");
#define TEXTURE ".global .texref t;\n"
    check_untraced(HEAD TEXTURE BODY "ld.global.u32 %r2, [%p];\n"
                                     "tex.1d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [t, {%t}]; ret; }\n",
                   "reads through textures");
    check_untraced(HEAD TEXTURE BODY "ld.global.u32 %r2, [%p]; ret; }\n", ""); // does not use it
}

static void targets(void **state)
{
    (void)state;
#define FOR(target) \
    VERSION ".target " target "\n.address_size 64\n" BODY "ld.global.u32 %r2, [%p]; ret; }\n"
    check_untraced(FOR("sm_60"), "code for GPUs before sm_70");
    check_untraced(FOR("sm_62"), "code for GPUs before sm_70");
    check_untraced(FOR("sm_70"), "");
    check_untraced(FOR("sm_75"), "");
    check_untraced(VERSION ".target sm_60\n.address_size 64\n" BODY "ret; }\n", "nothing");
}

// A kernel with that many loads, each of the next word.
static char *loads(unsigned count)
{
    struct base_buf ptx = {0};
    base_buf_puts(&ptx, HEAD BODY "mul.wide.u32 %d0, %t, 4; add.u64 %d0, %d0, %p;\n");
    for (unsigned i = 0; i < count; i++)
        base_buf_printf(&ptx, "ld.global.u32 %%r2, [%%d0+%u];\n", i % 16000 * 4);
    base_buf_puts(&ptx, "ret; }\n");
    assert_false(ptx.failed);
    return ptx.text;
}

// The number of a site has 14 bits.
static void very_many_instructions(void **state)
{
    (void)state;
    const uint32_t one[] = {1, 1, 1}, block[] = {40, 1, 1};
    char *ptx = loads(INSTRUMENT_TRACED_SITES);
    const struct oracle_case test = case_of(__func__, ptx, 0, TOGETHER, one, block);
    const struct oracle_level level = {
        .facts = INSTRUMENT_OBJECTS | INSTRUMENT_CACHE, .shift = 2, .must_trace = true};
    assert_true(oracle_holds(&test, &level, 1, stderr));
    free(ptx);
    ptx = loads(INSTRUMENT_TRACED_SITES + 1);
    check_untraced(ptx, "more than 16383 instructions");
    free(ptx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops),
        cmocka_unit_test(scattered),
        cmocka_unit_test(runs_of_accesses),
        cmocka_unit_test(runs_that_end),
        cmocka_unit_test(sizes_and_vectors),
        cmocka_unit_test(sectors_written_as_a_whole),
        cmocka_unit_test(copies_and_atomics),
        cmocka_unit_test(guards_and_branches),
        cmocka_unit_test(loops_that_lanes_leave),
        cmocka_unit_test(any_address),
        cmocka_unit_test(grids_and_blocks),
        cmocka_unit_test(basic_blocks_are_counted),
        cmocka_unit_test(very_many_basic_blocks),
        cmocka_unit_test(too_little_room),
        cmocka_unit_test(a_spoiled_record_is_detected),
        cmocka_unit_test(only_kernels_that_reach_global_memory),
        cmocka_unit_test(functions),
        cmocka_unit_test(instructions),
        cmocka_unit_test(targets),
        cmocka_unit_test(very_many_instructions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
