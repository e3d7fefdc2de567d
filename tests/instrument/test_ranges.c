// SPDX-License-Identifier: Apache-2.0
// Live ranges of words of shared memory: which store each load belongs to, as probes report it,
// equals the simulator's log, for each site that stores and each word. Near misses: launches whose
// live ranges are unknown, and every corruption of a run is detected. The random kernels of
// random_main.c have live ranges, too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "words_testing.h"

#define FACTS (INSTRUMENT_OBJECTS | INSTRUMENT_SHARED)
#define WAYS  (INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_RANGES)

static struct instrument_module *instrument(const char *ptx)
{
    const struct instrument_request request = {.facts = FACTS, .word_ways = WAYS};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    return module;
}

// Checks which sites begin live ranges: "f" for a fill, "c" for one that stores something else.
static void check_sites(const char *ptx, const char *kinds)
{
    struct instrument_module *module = instrument(ptx);
    const struct instrument_kernel *kernel = &module->kernels[0];
    assert_int_equal(kernel->range_site_count, strlen(kinds));
    for (uint32_t i = 0; i < kernel->range_site_count; i++)
        assert_int_equal(kernel->range_sites[i].fills, kinds[i] == 'f');
    instrument_destroy(module);
}

// The kernel orders accesses of its warps.
static void check(const char *name, const char *ptx, uint32_t n, const char *kinds)
{
    static const uint32_t blocks[][3] = {{64, 1, 1}, {16, 6, 1}, {45, 1, 1}};
    static unsigned char data[BYTES];
    check_sites(ptx, kinds);
    for (unsigned i = 0; i < BYTES; i++)
        data[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
        struct oracle_case test = oracle_case_of(ptx, 3, 1, n, data, NULL, BYTES);
        struct oracle_level levels[2];
        memcpy(test.block, blocks[i], sizeof(test.block));
        test.shared_bytes = DYNAMIC;
        test.ordered = true;
        snprintf(test.name, sizeof(test.name), "%s, blocks of %u", name, blocks[i][0]);
        for (unsigned k = 0; k < 2; k++) // with and without counters in spare memory
            levels[k] = (struct oracle_level){.facts = FACTS,
                                              .shift = 2,
                                              .workers = 1,
                                              .all_words = true,
                                              .all_ranges = true,
                                              .word_ways = WAYS,
                                              .spare_word = k ? 8 : 0,
                                              .parts = k};
        assert_true(oracle_holds(&test, levels, 2, stderr));
    }
}

#define OWN_WORD "shl.b32 %r2, %t, 2; add.u32 %r2, %r2, %r19;\n"
// %d1 and %d2 are the addresses of the thread's words in the two buffers.
#define GLOBAL                                                                      \
    "mul.wide.u32 %d0, %t, 4; cvta.to.global.u64 %d1, %p; add.u64 %d1, %d1, %d0;\n" \
    "cvta.to.global.u64 %d2, %q; add.u64 %d2, %d2, %d0;\n"

static void loads_belong_to_the_last_store(void **state)
{
    (void)state;
    // Two stores of the own word; loads by the own thread, by another one, and by all.
    check(__func__,
          KERNEL(OWN_WORD
                 "st.shared.u32 [%r2], %t; ld.shared.u32 %r3, [%r2]; bar.sync 0;\n"
                 "xor.b32 %r4, %t, 1; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r19;\n"
                 "ld.shared.u32 %r5, [%r4]; ld.shared.u32 %r6, [tile+8]; bar.sync 0;\n"
                 "st.shared.u32 [%r2], %r5; bar.sync 0; ld.shared.u32 %r3, [%r4]; bar.sync 0;\n"
                 "@%c0 st.shared.u32 [%r2], %r3; ld.shared.u32 %r6, [%r2];\n"),
          0, "ccc");
}

static void a_site_begins_many_ranges(void **state)
{
    (void)state;
    // In each round, a thread stores the word of another one, which loads it as often as the round.
    check(__func__,
          KERNEL(OWN_WORD "mov.u32 %r3, 0; L: add.u32 %r4, %t, %r3; and.b32 %r4, %r4, 127;\n"
                          "shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r19; st.shared.u32 [%r4], %r3;\n"
                          "bar.sync 0; mov.u32 %r5, %r3; M: setp.eq.u32 %c1, %r5, 0; @%c1 bra N;\n"
                          "ld.shared.u32 %r6, [%r2]; sub.u32 %r5, %r5, 1; bra M; N: bar.sync 0;\n"
                          "add.u32 %r3, %r3, 1; setp.lt.u32 %c0, %r3, %n; @%c0 bra L;\n"),
          4, "c");
}

static void loads_before_a_store_belong_to_none(void **state)
{
    (void)state;
    check(__func__,
          KERNEL(OWN_WORD "ld.shared.u32 %r3, [%r2]; ld.shared.u32 %r3, [%r2+512]; bar.sync 0;\n"
                          "st.shared.u32 [%r2], %r3; ld.shared.u32 %r3, [%r2];\n"),
          0, "c");
}

static void fills_and_drains(void **state)
{
    (void)state;
    check(__func__,
          KERNEL(OWN_WORD GLOBAL
                 "ld.global.u32 %r3, [%d1]; st.shared.u32 [%r2], %r3; bar.sync 0;\n"
                 "ld.shared.u32 %r4, [%r2]; st.global.u32 [%d2], %r4; ld.shared.u32 %r5, [%r2];\n"
                 "add.u32 %r5, %r5, 1; bar.sync 0; st.shared.u32 [%r2], %r5; bar.sync 0;\n"
                 "ld.shared.u32 %r6, [%r2]; st.global.u32 [%d2], %r6;\n"),
          0, "fc");
    check(__func__,
          KERNEL("shl.b32 %r2, %t, 4; and.b32 %r2, %r2, 2047; add.u32 %r3, %r2, %r19;\n"
                 "cvt.u64.u32 %d0, %r2; add.u64 %d1, %p, %d0; cvta.to.global.u64 %d1, %d1;\n"
                 "cp.async.cg.shared.global [%r3], [%d1], 16; cp.async.wait_all; bar.sync 0;\n"
                 "ld.shared.v2.u32 {%r4, %r5}, [%r3]; ld.shared.u32 %r4, [%r3+12];\n"),
          0, "f");
}

static void atomic_operations_load_and_store(void **state)
{
    (void)state;
    // Whose addition comes first is not certain, but the sums do not depend on it.
    check(__func__,
          KERNEL(OWN_WORD "st.shared.u32 [%r2], 0; bar.sync 0; atom.shared.add.u32 %r3, [%r2], 1;\n"
                          "red.shared.max.u32 [%r2], %t; ld.shared.u32 %r4, [%r2]; bar.sync 0;\n"
                          "atom.shared.cas.b32 %r5, [%r2], 0, 1; ld.shared.u32 %r6, [%r2];\n"),
          0, "cccc");
}

static void parts_of_words_and_vectors(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("shl.b32 %r2, %t, 4; add.u32 %r2, %r2, %r19;\n"
                 "st.shared.v4.u32 [%r2], {%t, %t, %t, %t}; st.shared.u8 [%r2+5], %t;\n"
                 "st.shared.u16 [%r2+8], %h0; ld.shared.v2.u64 {%d0, %d1}, [%r2];\n"
                 "ld.shared.u8 %r3, [%r2+7]; ld.shared.u32 %r4, [%r2+4];\n"),
          0, "ccc");
    check(__func__,
          HEAD ENTRY REGISTERS TILE
          ".shared .align 1 .b8 flag; .shared .align 1 .b8 odd[260];\n" START
          "mov.u32 %r2, odd; rem.u32 %r3, %t, 32; shl.b32 %r3, %r3, 3; add.u32 %r4, %r2, %r3;\n"
          "add.u32 %r4, %r4, 3; and.b32 %r4, %r4, -4; setp.lt.u32 %c0, %t, 32;\n"
          "@%c0 st.shared.u32 [%r4], %t; @%c0 ld.shared.u32 %r5, [%r4];\n"
          "@%c0 ld.shared.u8 %r5, [%r4+3]; setp.eq.u32 %c1, %t, 0; @%c1 st.shared.u8 [flag], 0;\n"
          "ret; }\n",
          0, "cc");
}

// Sites that may store to any of several arrays have counters for all.
static void several_arrays(void **state)
{
    (void)state;
    check(__func__,
          HEAD
          ".shared .align 8 .b8 pairs[1024]; .extern .shared .align 16 .b8 all[];\n" ENTRY REGISTERS
              TILE START "shl.b32 %r2, %t, 2; mov.u32 %r3, pairs; add.u32 %r3, %r3, %r2;\n"
          "mov.u32 %r4, all; add.u32 %r4, %r4, %r2; add.u32 %r5, %r19, %r2;\n"
          "st.shared.u32 [%r3], %t; st.shared.u32 [%r4], %t; setp.lt.u32 %c0, %t, %n;\n"
          "selp.b32 %r6, %r3, %r4, %c0; ld.shared.u32 %r7, [%r6]; st.shared.u32 [%r6], %t;\n"
          "ld.shared.u32 %r7, [%r4]; ld.shared.u32 %r7, [%r3]; st.shared.u32 [%r5], %r6;\n"
          "ld.shared.u32 %r8, [%r5]; st.shared.u32 [%r8], %t; ld.shared.u32 %r7, [%r3];\n"
          "ret; }\n",
          17, "ccccc");
    check(__func__,
          KERNEL("mov.u64 %d0, tile; cvta.shared.u64 %d1, %d0; mul.wide.u32 %d2, %t, 4;\n"
                 "add.u64 %d3, %d1, %d2; st.u32 [%d3], %t; setp.lt.u32 %c0, %t, %n;\n"
                 "cvta.to.global.u64 %d4, %q; cvta.global.u64 %d4, %d4; add.u64 %d4, %d4, %d2;\n"
                 "selp.b64 %d5, %d3, %d4, %c0; ld.u32 %r2, [%d5]; st.u32 [%d5], %r2;\n"
                 "ld.u32 %r3, [%d3];\n"),
          20, "cc");
}

// The lanes that give the addresses of rows do not have the data.
static void rows_of_matrices_have_no_owner(void **state)
{
    (void)state;
    static const char ptx[] =
        KERNEL("and.b32 %r2, %t, 31; shl.b32 %r2, %r2, 4; add.u32 %r2, %r2, %r19;\n"
               "st.shared.u32 [%r2], %t; st.shared.u32 [%r2+4], %t;\n"
               "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r2];\n"
               "ld.shared.u32 %r7, [%r2];\n"
               "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r2], {%r3, %r4, %r5, %r6};\n"
               "ld.shared.u32 %r7, [%r2]; ld.shared.u32 %r8, [%r2+4];\n");
    struct oracle_case test = oracle_case_of(ptx, 2, 32, 0, NULL, NULL, BYTES);
    const struct oracle_level level = {
        .facts = FACTS, .shift = 2, .workers = 1, .all_ranges = true, .word_ways = WAYS};
    snprintf(test.name, sizeof(test.name), "%s", __func__);
    check_sites(ptx, "ccc");
    test.ordered = true;
    assert_true(oracle_holds(&test, &level, 1, stderr));
}

// Threads that a function may end flush what they know before the call, and begin anew: their block
// does not.
static void calls_that_may_end_the_thread(void **state)
{
    (void)state;
    check(__func__,
          HEAD
          ".func f(.param .b32 a) { .reg .b32 %r; .reg .pred %c; ld.param.b32 %r, [a];\n"
          "setp.gt.u32 %c, %r, 40; @%c exit; ret; }\n" ENTRY REGISTERS TILE START OWN_WORD
          "st.shared.u32 [%r2], %t; bar.sync 0; ld.shared.u32 %r3, [tile+8]; bar.sync 0;\n" GLOBAL
          "and.b32 %r4, %t, 1; setp.eq.u32 %c0, %r4, 0; @%c0 bra L;\n"
          "@!%c0 st.global.u32 [%d2], %t;\n"
          "{ .param .b32 x; st.param.b32 [x], %t; call f, (x); }\n"
          "L: ld.shared.u32 %r5, [%r2]; st.shared.u32 [%r2+1024], %r5;\n"
          "ld.shared.u32 %r6, [%r2+1024]; ret; }\n",
          0, "cc");
}

// --- What is unknown -----------------------------------------------------------------------------

// Words are counted also without spare memory.
static void nothing_is_traced_without_spare_memory(void **state)
{
    (void)state;
    static const char ptx[] =
        KERNEL(OWN_WORD "st.shared.u32 [%r2], %t; ld.shared.u32 %r3, [%r2];\n");
    struct instrument_module *module = instrument(ptx);
    const struct instrument_kernel *kernel = &module->kernels[0];
    struct instrument_context context = {0};
    assert_int_equal(instrument_tag_bytes(kernel, 0), 4112);
    instrument_place_tags(kernel, 16, 4096, &context);
    assert_int_equal(context.tags, 16);
    assert_int_equal(context.ranges, 4096);
    assert_int_equal(context.tag_count, 4 + 1024);
    instrument_destroy(module);
    struct oracle_case test = oracle_case_of(ptx, 2, 64, 0, NULL, NULL, BYTES);
    const struct oracle_level level = {.facts = FACTS,
                                       .shift = 2,
                                       .workers = 1,
                                       .all_words = true,
                                       .word_ways = WAYS,
                                       .without_tags = true};
    assert_true(oracle_holds(&test, &level, 1, stderr));
}

static void check_untraced(const char *ptx, uint32_t dynamic)
{
    struct instrument_module *module = instrument(ptx);
    const struct instrument_kernel *kernel = &module->kernels[0];
    assert_int_equal(instrument_range_count(kernel, dynamic), 0);
    assert_int_equal(instrument_tag_bytes(kernel, dynamic), 0);
    instrument_destroy(module);
}

static void what_cannot_be_traced(void **state)
{
    (void)state;
    // Some accesses are not counted, or there are none.
    check_untraced(KERNEL("st.shared.u32 [tile], 1; st.bulk.weak.shared::cta [%r19], 64, 0;\n"), 0);
    check_untraced(KERNEL("ld.shared.u32 %r2, [tile];\n"), 0);
    check_untraced(HEAD ENTRY REGISTERS "mov.u32 %t, %tid.x; ret; }\n", 0);
    // Too many counters: those of words before a store, and those of the site.
    static const char dynamic[] =
        HEAD ".extern .shared .align 16 .b8 all[];\n" ENTRY REGISTERS TILE START
             "st.shared.u32 [all], %t; ret; }\n";
    struct instrument_module *module = instrument(dynamic);
    assert_int_equal(instrument_range_count(&module->kernels[0], 1000), 4 + 1024 + 250 + 250);
    instrument_destroy(module);
    check_untraced(dynamic, INSTRUMENT_MOST_RANGES * 2);
}

// --- Sums ----------------------------------------------------------------------------------------

static void sums_of_sites_and_arrays(void **state)
{
    (void)state;
    struct instrument_module *module = instrument(
        HEAD ENTRY REGISTERS TILE
        ".shared .align 4 .b8 four[16];\n" START GLOBAL
        "ld.global.u32 %r3, [%d1]; st.shared.u32 [tile], %r3; mov.u32 %r2, four;\n"
        "ld.global.u32 %r3, [%d1]; st.shared.u32 [%r2], %r3; st.shared.u32 [%r2+4], 0; ret; }\n");
    const struct instrument_kernel *kernel = &module->kernels[0];
    assert_int_equal(kernel->range_site_count, 3);
    assert_int_equal(instrument_range_count(kernel, 0), 4 + 1024 + 4 + 1024 + 4 + 4);
    struct instrument_range *ranges = calloc(instrument_range_count(kernel, 0), sizeof(*ranges));
    const uint32_t first = kernel->arrays[1].first;
    struct instrument_range *fills = ranges + instrument_range_row(kernel, 1, 0) + first;
    struct instrument_range *others = ranges + instrument_range_row(kernel, 2, 0) + first;
    ranges[first].loads[0] = 3;
    fills[0] = (struct instrument_range){.ranges = 4, .loads = {1, 2, 4, 1}, .drained = 5};
    fills[1] = (struct instrument_range){.ranges = 3, .loads = {1}};
    fills[3] = (struct instrument_range){.ranges = 2, .loads = {2}};
    others[0] = (struct instrument_range){.ranges = 7, .loads = {0, 6}};
    const struct instrument_range_sum site = instrument_sum_site(kernel, 1, 1, 0, ranges);
    assert_int_equal(site.ranges, 9);
    assert_int_equal(site.loads, 11);
    assert_int_equal(site.again, 5);
    assert_int_equal(site.own, 3);
    assert_int_equal(site.drained, 5);
    assert_int_equal(site.words, 3);
    assert_int_equal(instrument_sum_site(kernel, 1, 0, 0, ranges).ranges, 0);
    const struct instrument_lives reuse = instrument_sum_array(kernel, 1, 0, ranges);
    assert_int_equal(reuse.unstored, 3);
    assert_int_equal(reuse.sum.ranges, 16);
    assert_int_equal(reuse.sum.loads, 17);
    assert_int_equal(reuse.sum.own, 9);
    assert_int_equal(reuse.fills, 9);
    assert_int_equal(reuse.fills_min, 0);
    assert_int_equal(reuse.fills_max, 4);
    assert_int_equal(reuse.filled_words, 3);
    assert_int_equal(reuse.fill_loads, 11);
    assert_int_equal(reuse.least_loads, 1);
    assert_int_equal(reuse.least_fills, 3);
    assert_int_equal(reuse.most_loads, 8);
    assert_int_equal(reuse.most_fills, 4);
    free(ranges);
    instrument_destroy(module);
}

// --- The comparison detects errors ---------------------------------------------------------------

static const char spoilable[] =
    KERNEL(OWN_WORD GLOBAL "ld.global.u32 %r3, [%d1]; st.shared.u32 [%r2], %r3; bar.sync 0;\n"
                           "atom.shared.add.u32 %r4, [%r2], 1; ld.shared.u32 %r4, [%r2];\n"
                           "bar.sync 0; ld.shared.u32 %r4, [tile+8]; setp.eq.u32 %c0, %r4, 77;\n"
                           "@%c0 st.global.u32 [%d2], %r4;\n");

static bool spoilt_holds(enum oracle_spoil spoil, unsigned which, char **told)
{
    struct oracle_case test = oracle_case_of(spoilable, 2, 64, 3, NULL, NULL, BYTES);
    const struct oracle_level level = {.facts = FACTS,
                                       .shift = 2,
                                       .workers = 1,
                                       .word_ways = WAYS,
                                       .spoil = spoil,
                                       .which = which};
    size_t length;
    FILE *to = open_memstream(told, &length);
    test.ordered = true;
    const bool good = oracle_holds(&test, &level, 1, to);
    fclose(to);
    return good;
}

static void what_is_spoilt_is_found(void **state)
{
    (void)state;
    char *told;
    assert_true(spoilt_holds(ORACLE_SOUND, 0, &told));
    free(told);
    assert_false(spoilt_holds(ORACLE_ONE_RANGE, 0, &told));
    assert_non_null(strstr(told, "word 1027: 1 ranges, 0+0+0+0 loads, 0 drained, wanted 0 ranges"));
    free(told);
}

// Of the reductions of the clone, those on words that no thread accesses outside of arrays are not
// executed, and neither are those on counters of words that the launch knows. Every other one is
// missed: the range of the store, that of the atomic operation and its load, and two loads, one of
// which drains.
static void probes_that_are_left_out_are_missed(void **state)
{
    (void)state;
    unsigned missed = 0;
    for (unsigned count = 0;; count++) {
        char *told;
        const bool good = spoilt_holds(ORACLE_WITHOUT_PROBE, count, &told);
        const bool none = strstr(told, "there is no probe");
        assert_null(strstr(told, "refused"));
        missed += !good && !none && strstr(told, " ranges, ");
        free(told);
        if (none)
            break;
    }
    assert_int_equal(missed, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_belong_to_the_last_store),
        cmocka_unit_test(a_site_begins_many_ranges),
        cmocka_unit_test(loads_before_a_store_belong_to_none),
        cmocka_unit_test(fills_and_drains),
        cmocka_unit_test(atomic_operations_load_and_store),
        cmocka_unit_test(parts_of_words_and_vectors),
        cmocka_unit_test(several_arrays),
        cmocka_unit_test(rows_of_matrices_have_no_owner),
        cmocka_unit_test(calls_that_may_end_the_thread),
        cmocka_unit_test(nothing_is_traced_without_spare_memory),
        cmocka_unit_test(what_cannot_be_traced),
        cmocka_unit_test(sums_of_sites_and_arrays),
        cmocka_unit_test(what_is_spoilt_is_found),
        cmocka_unit_test(probes_that_are_left_out_are_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
