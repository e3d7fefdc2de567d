// SPDX-License-Identifier: Apache-2.0
// How often each word of shared memory is loaded and stored, by every instruction that is counted:
// what probes report equals the simulator's log. Near misses: what is not counted is named, and
// every corruption of a run is detected. The random kernels of random_main.c count words, too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "words_testing.h"

// Returns what is not counted, "" if everything is. Checks how many arrays there are.
static void check_arrays(const char *ptx, uint32_t arrays, const char *uncounted)
{
    struct instrument_module *module = words_module(ptx, 0);
    const struct instrument_kernel *kernel = &module->kernels[0];
    assert_int_equal(kernel->array_count, arrays);
    assert_string_equal(kernel->uncounted ? kernel->uncounted : "", uncounted);
    instrument_destroy(module);
}

static void check(const char *name, const char *ptx, uint32_t n, uint32_t arrays)
{
    static const uint32_t blocks[][3] = {{64, 1, 1}, {16, 6, 1}, {45, 1, 1}};
    static const uint32_t facts[] = {INSTRUMENT_OBJECTS,
                                     INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS | INSTRUMENT_REQUESTS,
                                     INSTRUMENT_OBJECTS | INSTRUMENT_VALUES | INSTRUMENT_ACCESSED};
    static const struct {
        uint32_t ways, spare;
    } ways[] = {{0, 0},
                {INSTRUMENT_WORDS_SPARE, 8},
                {INSTRUMENT_WORDS_BEST, 8},
                {INSTRUMENT_WORDS_BEST, 0},
                {INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_SMALL, 4},
                {INSTRUMENT_WORDS_SPARE | INSTRUMENT_WORDS_SMALL, 8},
                {INSTRUMENT_WORDS_RACY, 0},
                {INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_RACY, 8},
                {INSTRUMENT_WORDS_SPARE | INSTRUMENT_WORDS_SMALL | INSTRUMENT_WORDS_RACY, 4}};
    enum { LEVELS = 3 + sizeof(ways) / sizeof(ways[0]) };
    check_arrays(ptx, arrays, "");
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
        struct oracle_case test = oracle_case_of(ptx, 2, 1, n, NULL, NULL, BYTES);
        struct oracle_level levels[LEVELS];
        memcpy(test.block, blocks[i], sizeof(test.block));
        test.shared_bytes = DYNAMIC;
        snprintf(test.name, sizeof(test.name), "%s, blocks of %u", name, blocks[i][0]);
        for (unsigned k = 0; k < 3; k++)
            levels[k] = (struct oracle_level){.facts = facts[k] | INSTRUMENT_SHARED,
                                              .shift = 2,
                                              .workers = 1,
                                              .all_words = true,
                                              .word_ways = INSTRUMENT_WORDS_KNOWN,
                                              .parts = k}; // in the module's text and apart
        for (unsigned k = 3; k < LEVELS; k++) {
            levels[k] = levels[k % 3];
            levels[k].word_ways = ways[k - 3].ways;
            levels[k].spare_word = ways[k - 3].spare;
        }
        assert_true(oracle_holds(&test, levels, LEVELS, stderr));
    }
}

static void sizes_and_directions(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("shl.b32 %r2, %t, 2; add.u32 %r2, %r2, %r19; st.shared.u32 [%r2], %t;\n"
                 "ld.shared.u32 %r3, [%r2+4]; ld.shared.u8 %r3, [%r2+1]; st.shared.u16 [tile], %h0;"
                 "shl.b32 %r2, %t, 3; add.u32 %r2, %r2, %r19; ld.shared.u64 %d0, [%r2];\n"
                 "st.shared.v2.u32 [%r2+8], {%r3, %r3}; shl.b32 %r2, %t, 4;\n"
                 "add.u32 %r2, %r2, %r19; ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];\n"
                 "st.shared.v2.u64 [%r2+16], {%d0, %d0}; ld.shared.u32 %r3, [tile+4092];\n"),
          0, 1);
}

static void atomic_operations_load_and_store(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("and.b32 %r2, %t, 7; shl.b32 %r2, %r2, 3; add.u32 %r2, %r2, %r19;\n"
                 "atom.shared.add.u32 %r3, [%r2], 1; red.shared.max.u32 [%r2+4], %t;\n"
                 "atom.shared.cas.b64 %d0, [%r2+64], 0, 1;\n"),
          0, 1);
}

static void guards_and_loops(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("setp.lt.u32 %c0, %t, %n; shl.b32 %r2, %t, 2; add.u32 %r2, %r2, %r19;\n"
                 "@%c0 st.shared.u32 [%r2], %t; @!%c0 ld.shared.u32 %r3, [%r2];\n"
                 "rem.u32 %r4, %t, 5; L: setp.eq.u32 %c1, %r4, 0; @%c1 bra M;\n"
                 "ld.shared.u32 %r2, [%r2+3600]; add.u32 %r2, %r2, %r19; sub.u32 %r4, %r4, 1;\n"
                 "bra L; M:\n"),
          20, 1);
}

// Arrays of the kernel and the module, one of which the kernel does not name, and dynamic memory.
static void several_arrays(void **state)
{
    (void)state;
    check(__func__,
          HEAD ".shared .align 8 .b8 unnamed[64]; .shared .align 4 .u32 one;\n"
               ".shared .align 8 .b8 pairs[1024]; .extern .shared .align 16 .b8 all[];\n"
               ".extern .shared .align 4 .b32 same[];\n" ENTRY REGISTERS TILE
               ".shared .align 4 .b8 own[1028];\n" START
               "shl.b32 %r2, %t, 2; mov.u32 %r3, pairs; add.u32 %r3, %r3, %r2;\n"
               "st.shared.u32 [%r3], %t; mov.u32 %r4, own; add.u32 %r4, %r4, %r2;\n"
               "st.shared.u32 [%r4+4], %t; red.shared.add.u32 [one], 1;\n"
               "mov.u32 %r5, all; add.u32 %r5, %r5, %r2; st.shared.u32 [%r5], %t;\n"
               "ld.shared.u32 %r6, [same+996]; setp.lt.u32 %c0, %t, %n;\n"
               "selp.b32 %r7, %r3, %r4, %c0; ld.shared.u32 %r6, [%r7];\n" // one of two
               "add.u32 %r8, %r19, %r2; st.shared.u32 [%r8], %r4; ld.shared.u32 %r7, [%r8];\n"
               "ld.shared.u32 %r6, [%r7];\n"
               "ret; }\n",
          17, 5);
}

static void arrays_of_bytes_begin_anywhere(void **state)
{
    (void)state;
    check(__func__,
          HEAD ENTRY REGISTERS TILE
          ".shared .align 1 .b8 flag; .shared .align 1 .b8 odd[257]; .shared .b16 "
          "halves[130];\n" START "mov.u32 %r2, odd; rem.u32 %r3, %t, 120; shl.b32 %r3, %r3, 1;\n"
          "add.u32 %r4, %r2, %r3; st.shared.u8 [%r4], %r3; st.shared.u8 [flag], %t;\n"
          "add.u32 %r4, %r4, 1; and.b32 %r4, %r4, -4; add.u32 %r4, %r4, 8;\n"
          "ld.shared.u16 %h0, [%r4+2]; ld.shared.u32 %r5, [%r4]; mov.u32 %r6, halves;\n"
          "add.u32 %r6, %r6, %r3; ld.shared.u16 %h1, [%r6+2]; ret; }\n",
          0, 4);
}

static void generic_addresses(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("mov.u64 %d0, tile; cvta.shared.u64 %d1, %d0; mul.wide.u32 %d2, %t, 4;\n"
                 "add.u64 %d3, %d1, %d2; st.u32 [%d3], %t; setp.lt.u32 %c0, %t, %n;\n"
                 "cvta.to.global.u64 %d4, %p; cvta.global.u64 %d4, %d4; add.u64 %d4, %d4, %d2;\n"
                 "selp.b64 %d5, %d3, %d4, %c0; ld.u32 %r2, [%d5]; add.u64 %d6, %d0, %d2;\n"
                 "add.u64 %d6, %d6, %d2; st.shared.u64 [%d6+2048], %d3;\n"
                 "ld.shared.u64 %d7, [%d6+2048]; atom.add.u32 %r3, [%d7], 1;\n"),
          20, 1);
}

static void copies_store(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("shl.b32 %r2, %t, 4; and.b32 %r2, %r2, 2047; add.u32 %r3, %r2, %r19;\n"
                 "cvt.u64.u32 %d0, %r2; add.u64 %d1, %p, %d0; cvta.to.global.u64 %d1, %d1;\n"
                 "cp.async.ca.shared.global [%r3], [%d1], 8;\n"
                 "cp.async.cg.shared.global [%r3+2048], [%d1], 16;\n"
                 "setp.lt.u32 %c0, %t, %n; selp.b32 %r4, 4, 0, %c0;\n"
                 "cp.async.ca.shared.global [%r3+16], [%d1], 4, %r4;\n"
                 "cp.async.wait_all; ld.shared.u32 %r5, [%r3];\n"),
          20, 1);
}

static void matrices_are_rows(void **state)
{
    (void)state;
    static const char ptx[] = KERNEL("and.b32 %r2, %t, 31; shl.b32 %r2, %r2, 4;\n"
                                     "add.u32 %r2, %r2, %r19;\n"
                                     "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];\n"
                                     "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                                     "{%r3, %r4, %r5, %r6}, [%r2+512];\n"
                                     "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2], {%r3, %r4};"
                                     "\n");
    struct oracle_case test = oracle_case_of(ptx, 2, 64, 0, NULL, NULL, BYTES);
    struct oracle_level levels[] = {
        {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED, .shift = 2, .workers = 1},
        {.word_ways = INSTRUMENT_WORDS_BEST, .spare_word = 8}};
    levels[1].facts = levels[0].facts;
    levels[1].shift = levels[0].shift;
    levels[1].workers = levels[0].workers;
    snprintf(test.name, sizeof(test.name), "%s", __func__);
    check_arrays(ptx, 1, "");
    assert_true(oracle_holds(&test, levels, 2, stderr));
}

// An address in no array that leads to it, or beyond the end of dynamic memory, is lost.
static void accesses_outside_of_arrays_are_lost(void **state)
{
    (void)state;
    check(__func__,
          HEAD ".extern .shared .align 16 .b8 all[];\n" ENTRY REGISTERS
               ".shared .align 16 .b8 tile[100];\n" START
               "mov.u32 %r2, all; ld.shared.u32 %r3, [%r2+996]; ld.shared.u32 %r3, [tile+96];\n"
               "ld.shared.u32 %r3, [tile+100]; ld.shared.v2.u32 {%r3, %r4}, [tile+96];\n"
               "st.shared.u32 [%r2+-4], %r3; ret; }\n",
          0, 2);
    // Several words, with guards, in a loop, and by a generic address of this or of global memory.
    check(__func__,
          HEAD
          ".extern .shared .align 16 .b8 all[];\n" ENTRY REGISTERS
          ".shared .align 16 .b8 tile[100];\n" START
          "mov.u32 %r2, all; ld.shared.u32 %r3, [%r2]; setp.lt.u32 %c0, %t, %n;\n"
          "rem.u32 %r4, %t, 3; add.u32 %r4, %r4, 1;\n"
          "mov.u64 %d0, tile; cvta.shared.u64 %d1, %d0; cvta.to.global.u64 %d2, %p;\n"
          "cvta.global.u64 %d2, %d2; selp.b64 %d1, %d1, %d2, %c0;\n"
          "L: @%c0 ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [tile+96];\n"
          "@!%c0 atom.shared.exch.b64 %d3, [tile+96], %d0; @!%c0 st.shared.u16 [tile+98], %h0;\n"
          "ld.v2.u32 {%r5, %r6}, [%d1+96]; ld.v2.u32 {%r5, %r6}, [%d1+32];\n"
          "st.shared.v2.u32 [tile+88], {%r5, %r6}; st.shared.u8 [tile+99], %h0;\n"
          "sub.u32 %r4, %r4, 1; setp.ne.u32 %c1, %r4, 0; @%c1 bra L; ret; }\n",
          20, 2);
}

// --- What the launch knows -----------------------------------------------------------------------

// Checks of how many sites the launch knows the counts, in general and in a launch with 64 threads.
static void check_known(const char *ptx, uint32_t sites, bool known)
{
    struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED,
                                         .word_ways = INSTRUMENT_WORDS_BEST};
    struct instrument_module *module;
    struct instrument_word_place places[16];
    struct base_error error = {0};
    unsigned char params[32] = {[16] = 4};
    const struct instrument_launch launch = {
        .grid = {2, 1, 1}, .block = {64, 1, 1}, .params = params};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    assert_int_equal(module->kernels[0].word_site_count, sites);
    assert_int_equal(instrument_word_places(&module->kernels[0], &launch, DYNAMIC, places) != 0,
                     known);
    instrument_destroy(module);
    request.word_ways = INSTRUMENT_WORDS_SPARE;
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    assert_int_equal(module->kernels[0].word_site_count, 0);
    instrument_destroy(module);
}

#define OFFSET "mov.u32 %r2, %tid.x; shl.b32 %r2, %r2, 2; add.u32 %r2, %r2, %r19;\n"

struct known_case {
    const char *ptx;
    uint32_t sites;
    bool known; // with 4 as the number
};

static void check_known_cases(const char *name, const struct known_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_known(cases[i].ptx, cases[i].sites, cases[i].known);
        check(name, cases[i].ptx, 4, 1);
        check(name, cases[i].ptx, 8, 1);
    }
}

// Each runs, too: in loops whose trips the block or a parameter decides, with strides of
// parameters.
static void regular_accesses_need_no_counting(void **state)
{
    (void)state;
    static const struct known_case cases[] = {
        {KERNEL(OFFSET "st.shared.u32 [%r2], %t; ld.shared.v2.u32 {%r3, %r4}, [tile+8];\n"), 2,
         true},
        {KERNEL(OFFSET
                "mov.u32 %r3, %ctaid.x; add.u32 %r3, %r3, %n; L: ld.shared.u32 %r4, [%r2+4];\n"
                "sub.u32 %r3, %r3, 1; setp.gt.s32 %c0, %r3, 0; @%c0 bra L;\n"),
         1, true},
        {KERNEL("mov.u32 %r2, %tid.x; mul.lo.u32 %r2, %r2, %n; add.u32 %r2, %r2, %r19;\n"
                "st.shared.u32 [%r2+256], %t; red.shared.add.u32 [tile], 1;\n"),
         2, true},
        {KERNEL(OFFSET "setp.eq.u32 %c0, %n, 4; @%c0 bra L; ld.shared.u32 %r3, [%r2]; L:\n"), 1,
         true},
        // Outside of the array, in which case everything is counted.
        {KERNEL(OFFSET "ld.shared.u32 %r3, [tile+64]; ld.shared.u32 %r3, [%r2+4000];\n"), 2, false},
    };
    check_known_cases(__func__, cases, sizeof(cases) / sizeof(cases[0]));
}

// Threads of a block that differ in how often they execute it: because of their number, of data, of
// a guard or since they have ended, and in loops.
static void each_thread_counts_for_itself(void **state)
{
    (void)state;
    static const struct known_case cases[] = {
        {KERNEL(OFFSET "setp.lt.u32 %c0, %t, 40; @!%c0 bra L; ld.shared.u32 %r3, [%r2]; L:\n"), 1,
         true},
        {KERNEL(OFFSET "setp.lt.u32 %c0, %t, %n; @%c0 ld.shared.u32 %r3, [%r2];\n"
                       "@!%c0 st.shared.u32 [%r2], %t;\n"),
         2, true},
        {KERNEL(OFFSET "ld.global.u32 %r3, [%p]; setp.eq.u32 %c0, %r3, 0; @%c0 bra L;\n"
                       "ld.shared.u32 %r3, [%r2]; L:\n"),
         1, true},
        {KERNEL(OFFSET "setp.lt.u32 %c0, %t, 40; @%c0 ret; ld.shared.u32 %r3, [%r2];\n"), 1, true},
        {KERNEL(OFFSET "and.b32 %r3, %t, 3; L: ld.shared.u32 %r4, [%r2]; setp.eq.u32 %c1, %r3, 1;\n"
                       "@%c1 st.shared.u32 [tile], %r3;\n"
                       "sub.u32 %r3, %r3, 1; setp.gt.s32 %c0, %r3, 0; @%c0 bra L;\n"),
         2, true},
        // Threads that would be outside do not execute it, or none does.
        {KERNEL(OFFSET "setp.lt.u32 %c0, %t, 8; @!%c0 bra L; ld.shared.u32 %r3, [%r2+4064]; L:\n"),
         1, true},
        {KERNEL(OFFSET "setp.lt.u32 %c0, %t, 0; @!%c0 bra L; ld.shared.u32 %r3, [%r2+4000]; L:\n"),
         1, true},
    };
    check_known_cases(__func__, cases, sizeof(cases) / sizeof(cases[0]));
}

// Loops whose rounds the launch knows: up and down, by a constant, a parameter or the block, tested
// before and behind the access, and with threads that run them differently often.
static void rounds_need_no_counting(void **state)
{
    (void)state;
    static const struct known_case cases[] = {
        {KERNEL(OFFSET "mov.u32 %r3, %n; L: ld.shared.u32 %r4, [%r2]; add.u32 %r2, %r2, 4;\n"
                       "sub.u32 %r3, %r3, 1; setp.gt.s32 %c0, %r3, 0; @%c0 bra L;\n"),
         1, true},
        {KERNEL("mov.u32 %r2, %r19; mov.u32 %r3, 0; L: ld.shared.v2.u32 {%r4, %r5}, [%r2+64];\n"
                "st.shared.u32 [%r2], %t; add.u32 %r2, %r2, 16; add.u32 %r3, %r3, 3;\n"
                "setp.le.s32 %c0, %r3, 30; @%c0 bra L;\n"),
         2, true},
        {KERNEL("add.u32 %r2, %r19, 400; mov.u32 %r3, 0; mov.u32 %r4, %ntid.x;\n"
                "L: setp.ge.u32 %c0, %r3, %r4; @%c0 bra M; ld.shared.u32 %r5, [%r2];\n"
                "sub.u32 %r2, %r2, 4; add.u32 %r3, %r3, 1; bra L; M:\n"),
         1, true},
        {KERNEL("setp.gt.u32 %c1, %t, 20; @%c1 bra M; mov.u32 %r6, 0; K: mov.u32 %r2, %r19;\n"
                "mov.u32 %r3, 0; L: ld.shared.u32 %r5, [%r2]; add.u32 %r2, %r2, 8;\n"
                "add.u32 %r3, %r3, 1; setp.ne.u32 %c0, %r3, 6; @%c0 bra L;\n"
                "add.u32 %r6, %r6, 1; setp.lt.u32 %c0, %r6, %t; @%c0 bra K; M:\n"),
         1, true},
        // Outside of the array in the last round.
        {KERNEL(OFFSET "mov.u32 %r3, 0; L: ld.shared.u32 %r4, [%r2+3600]; add.u32 %r2, %r2, 64;\n"
                       "add.u32 %r3, %r3, 1; setp.lt.u32 %c0, %r3, 12; @%c0 bra L;\n"),
         1, false},
    };
    check_known_cases(__func__, cases, sizeof(cases) / sizeof(cases[0]));
}

// Near misses: what would take registers or time. Each of ten accesses in a loop that has a guard
// would need a register, and eight have one. So many rounds would be added up for too long.
static void not_too_many_are_known(void **state)
{
    (void)state;
    static const char ten[] =
        KERNEL(OFFSET "mov.u32 %r3, 0; L: setp.lt.u32 %c1, %r3, %t;\n"
                      "@%c1 ld.shared.u32 %r4, [%r2]; @%c1 ld.shared.u32 %r4, [%r2+4];\n"
                      "@%c1 ld.shared.u32 %r4, [%r2+8]; @%c1 ld.shared.u32 %r4, [%r2+12];\n"
                      "@%c1 ld.shared.u32 %r4, [%r2+16]; @%c1 ld.shared.u32 %r4, [%r2+20];\n"
                      "@%c1 ld.shared.u32 %r4, [%r2+24]; @%c1 ld.shared.u32 %r4, [%r2+28];\n"
                      "@%c1 ld.shared.u32 %r4, [%r2+32]; @%c1 ld.shared.u32 %r4, [%r2+36];\n"
                      "add.u32 %r3, %r3, 1; setp.lt.u32 %c0, %r3, 3; @%c0 bra L;\n");
#define ROUNDS(count)                                                            \
    KERNEL("setp.gt.u32 %c1, %t, 7; @%c1 bra M; mov.u32 %r2, %r19;\n"            \
           "mov.u32 %r3, 0; L: ld.shared.u32 %r4, [%r2]; add.u32 %r2, %r2, 4;\n" \
           "add.u32 %r3, %r3, 1; setp.lt.u32 %c0, %r3, " count "; @%c0 bra L; M:\n")
    check_known(ten, 8, true);
    check(__func__, ten, 4, 1);
    check_known(ROUNDS("65000"), 1, true);
    check_known(ROUNDS("66000"), 1, false);
    check_known(KERNEL("mov.u32 %r2, %r19; mov.u32 %r3, 0; L: ld.shared.u32 %r4, [%r2];\n"
                       "add.u32 %r2, %r2, 4; add.u32 %r3, %r3, 1;\n"
                       "setp.lt.u32 %c0, %r3, 1024; @%c0 bra L;\n"),
                1, true);
}

// Near misses: places that differ from block to block, addresses from memory, loops that end in
// another way or whose rounds depend on the thread, accesses that are not in each round, and
// counters of outer loops.
static void other_accesses_are_counted(void **state)
{
    (void)state;
    static const char *const texts[] = {
        KERNEL(OFFSET "mov.u32 %r3, %ctaid.x; shl.b32 %r3, %r3, 2; add.u32 %r2, %r2, %r3;\n"
                      "st.shared.u32 [%r2], %t;\n"),
        KERNEL("ld.global.u32 %r2, [%p]; and.b32 %r2, %r2, 60; add.u32 %r2, %r2, %r19;\n"
               "ld.shared.u32 %r3, [%r2];\n"),
        KERNEL("mov.u32 %r2, %r19; mov.u32 %r3, 0; L: ld.shared.u32 %r4, [%r2];\n"
               "add.u32 %r2, %r2, 4; setp.eq.u32 %c0, %r3, %t; @%c0 bra M; add.u32 %r3, %r3, 1;\n"
               "setp.lt.u32 %c0, %r3, 8; @%c0 bra L; M:\n"),
        KERNEL("mov.u32 %r2, %r19; mov.u32 %r3, 0; L: ld.shared.u32 %r4, [%r2];\n"
               "add.u32 %r2, %r2, 4; add.u32 %r3, %r3, 1; setp.lt.u32 %c0, %r3, %t; @%c0 bra L;\n"),
        KERNEL(
            "mov.u32 %r2, %r19; mov.u32 %r3, 0; L: and.b32 %r4, %r3, 1;\n"
            "setp.eq.u32 %c0, %r4, 0; @%c0 bra M; ld.shared.u32 %r4, [%r2];\n"
            "M: add.u32 %r2, %r2, 4; add.u32 %r3, %r3, 1; setp.lt.u32 %c0, %r3, 8; @%c0 bra L;\n"),
        KERNEL("mov.u32 %r2, %r19; mov.u32 %r3, 0; L: and.b32 %r4, %r3, 1;\n"
               "setp.eq.u32 %c0, %r4, 0; @%c0 ld.shared.u32 %r4, [%r2];\n"
               "add.u32 %r2, %r2, 4; add.u32 %r3, %r3, 1; setp.lt.u32 %c0, %r3, 8; @%c0 bra L;\n"),
        KERNEL(
            "mov.u32 %r2, %r19; mov.u32 %r6, 0; K: mov.u32 %r3, 0; L: ld.shared.u32 %r5, [%r2];\n"
            "add.u32 %r3, %r3, 1; setp.ne.u32 %c0, %r3, 6; @%c0 bra L; add.u32 %r2, %r2, 8;\n"
            "add.u32 %r6, %r6, 1; setp.lt.u32 %c0, %r6, 5; @%c0 bra K;\n"),
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        check_known(texts[i], 0, false);
        check(__func__, texts[i], 4, 1);
    }
}

// --- What is not counted -------------------------------------------------------------------------

static void what_is_not_counted_is_named(void **state)
{
    (void)state;
    check_arrays(HEAD
                 ".func f(.param .b64 a) { .reg .b64 %a; .reg .b32 %r;\n"
                 "ld.param.u64 %a, [a]; ld.shared.u32 %r, [%a]; ret; }\n" ENTRY REGISTERS TILE START
                 "mov.u64 %d0, tile; { .param .b64 x; st.param.b64 [x], %d0;\n"
                 "call f, (x); } ret; }\n",
                 1, "accesses in f, which it calls");
    check_arrays(HEAD ".extern .func f();\n" ENTRY REGISTERS TILE START "call f; ret; }\n", 1,
                 "accesses in f, which it calls");
    check_arrays(
        KERNEL("mapa.shared::cluster.u32 %r2, %r19, 1; ld.shared::cluster.u32 %r3, [%r2];\n"), 1,
        "ld.shared::cluster.u32 at line 11 of the PTX, which may reach another block");
    check_arrays(KERNEL("st.bulk.weak.shared::cta [%r19], 64, 0;\n"), 1,
                 "st.bulk.weak.shared::cta at line 11 of the PTX");
    check_arrays(HEAD ENTRY REGISTERS TILE START
                 "{ .shared .align 4 .b8 inner[64]; st.shared.u32 [inner], %t; } ret; }\n",
                 1, "accesses to inner, which an inner scope declares");
}

// Near misses: functions without accesses to shared memory, variables of the own block.
static void everything_else_is_counted(void **state)
{
    (void)state;
    check_arrays(HEAD
                 ".func f(.param .b64 a) { .reg .b64 %a; .reg .b32 %r;\n"
                 "ld.param.u64 %a, [a]; ld.global.u32 %r, [%a]; ret; }\n" ENTRY REGISTERS TILE START
                 "{ .param .b64 x; st.param.b64 [x], %p; call f, (x); } ret; }\n",
                 1, "");
    check_arrays(KERNEL("ld.shared::cluster.u32 %r3, [tile];\n"), 1, "");
    check_arrays(HEAD ENTRY REGISTERS "mov.u32 %t, %tid.x; ret; }\n", 0, "");
}

// --- The comparison detects errors ---------------------------------------------------------------

static const char spoilable[] =
    KERNEL("shl.b32 %r2, %t, 2; add.u32 %r2, %r2, %r19; ld.shared.u32 %r3, [%r2];\n"
           "atom.shared.add.u32 %r3, [%r2+4], 1; ld.shared.v2.u32 {%r3, %r4}, [tile+8];\n");

static bool spoilt_holds(const char *ptx, enum oracle_spoil spoil, unsigned which, char **told)
{
    const struct oracle_case test = oracle_case_of(ptx, 2, 64, 3, NULL, NULL, BYTES);
    const struct oracle_level level = {
        .facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED,
        .shift = 2,
        .workers = 1,
        .word_ways = spoil == ORACLE_WITHOUT_PROBE ? 0 : INSTRUMENT_WORDS_KNOWN,
        .spoil = spoil,
        .which = which};
    size_t length;
    FILE *to = open_memstream(told, &length);
    const bool good = oracle_holds(&test, &level, 1, to);
    fclose(to);
    return good;
}

static void what_is_spoilt_is_found(void **state)
{
    (void)state;
    char *told;
    assert_true(spoilt_holds(spoilable, ORACLE_SOUND, 0, &told));
    free(told);
    assert_false(spoilt_holds(spoilable, ORACLE_ONE_WORD, 0, &told));
    assert_non_null(strstr(told, "tile: word 1023: 0 loads, 1 stores, wanted 0, 0"));
    free(told);
    // The launch knows all counts but how often the loop runs.
    static const char loop[] = KERNEL(OFFSET "L: ld.shared.u32 %r3, [%r2]; sub.u32 %n, %n, 1;\n"
                                             "setp.gt.s32 %c0, %n, 0; @%c0 bra L;\n");
    assert_true(spoilt_holds(loop, ORACLE_SOUND, 0, &told));
    free(told);
    assert_false(spoilt_holds(loop, ORACLE_ONE_TALLY, 0, &told));
    assert_non_null(strstr(told, "threads of a block differ in a tally"));
    free(told);
}

// The kernel changes no global memory, so that all reductions of the clone are probes: one for each
// word, and two for an atomic operation.
static void probes_that_are_left_out_are_missed(void **state)
{
    (void)state;
    unsigned missed = 0, count = 0;
    for (bool none = false; !none; count += !none) {
        char *told;
        const bool good = spoilt_holds(spoilable, ORACLE_WITHOUT_PROBE, count, &told);
        none = strstr(told, "there is no probe");
        assert_null(strstr(told, "refused"));
        missed += !good && !none;
        free(told);
    }
    assert_int_equal(count, 5);
    assert_int_equal(missed, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_directions),
        cmocka_unit_test(atomic_operations_load_and_store),
        cmocka_unit_test(guards_and_loops),
        cmocka_unit_test(several_arrays),
        cmocka_unit_test(arrays_of_bytes_begin_anywhere),
        cmocka_unit_test(generic_addresses),
        cmocka_unit_test(copies_store),
        cmocka_unit_test(matrices_are_rows),
        cmocka_unit_test(accesses_outside_of_arrays_are_lost),
        cmocka_unit_test(regular_accesses_need_no_counting),
        cmocka_unit_test(each_thread_counts_for_itself),
        cmocka_unit_test(rounds_need_no_counting),
        cmocka_unit_test(not_too_many_are_known),
        cmocka_unit_test(other_accesses_are_counted),
        cmocka_unit_test(what_is_not_counted_is_named),
        cmocka_unit_test(everything_else_is_counted),
        cmocka_unit_test(what_is_spoilt_is_found),
        cmocka_unit_test(probes_that_are_left_out_are_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
