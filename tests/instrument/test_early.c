// SPDX-License-Identifier: Apache-2.0
// Stores whose old values are loaded together, before the first of them: what probes report equals
// the simulator's log, and what may show other values separates them.
#include "values_testing.h"

// Stores whose old values are loaded together. %d2 is the distance of two of them, from the
// parameter, so that only the clone can compare it with what a warp reaches.
#define TWO_STORES                                                          \
    "mul.wide.s32 %d1, %t, 4; add.s64 %d1, %p, %d1; cvt.s64.s32 %d2, %n;\n" \
    "add.s64 %d3, %d1, %d2; mov.u32 %r3, 7;\n"

static void stores_far_apart_are_examined_together(void **state)
{
    (void)state;
    EXACT(4, 64, 4096,
          TWO_STORES
          "ld.global.u32 %r4, [%d1]; st.global.u32 [%d1], %r4;\n"
          "ld.global.u32 %r5, [%d3]; selp.b32 %r5, %r5, 7, %c0; st.global.u32 [%d3], %r5;\n"
          "st.global.u32 [%b], %r3; st.global.u32 [%b+4], %r4;\n");
    // Under conditions, as in a transposition.
    EXACT(4, 64, 4096,
          TWO_STORES "setp.ge.s32 %c1, %t, 200; @%c1 bra A; st.global.u32 [%d1], %r3;\n"
                     "A: and.b32 %r6, %t, 2; setp.ne.s32 %c2, %r6, 0; @%c2 bra B;\n"
                     "add.s64 %d4, %d1, %d2; st.global.u32 [%d4], %r3;\nB:\n");
}

// The second store overwrites what another lane, or the thread itself, stored first.
static void stores_near_each_other_are_examined_apart(void **state)
{
    (void)state;
    static const uint32_t distances[] = {0, 4, 124, 128, (uint32_t)-4, (uint32_t)-124};
    for (unsigned i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
        EXACT(4, 64, distances[i],
              TWO_STORES "add.s64 %d1, %d1, 256; add.s64 %d3, %d3, 256;\n"
                         "st.global.u32 [%d1], %r3; st.global.u32 [%d3], %r3;\n");
        // Rows of 16 threads: a warp holds two.
        struct oracle_case rows =
            make_case(START TWO_STORES "mov.u32 %r7, %tid.y; mul.wide.s32 %d5, %r7, 512;\n"
                                       "add.s64 %d1, %d1, %d5; add.s64 %d3, %d3, %d5;\n"
                                       "add.s64 %d1, %d1, 512; add.s64 %d3, %d3, 512;\n"
                                       "st.global.u32 [%d1], %r3;\n"
                                       "st.global.u32 [%d3], %r3; ret; }\n",
                      2, 16, i ? 512 : distances[i]);
        rows.block[1] = 4;
        assert_case_exact(&rows, __func__);
    }
    // Offsets from one register: lanes overlap, or they do not.
    EXACT(4, 64, 0,
          TWO_STORES "st.global.u32 [%d1], %r3; st.global.u32 [%d1+4], %r3;\n"
                     "st.global.u32 [%d1+8], %r3;\n");
    EXACT(4, 64, 0,
          TWO_STORES "st.global.u32 [%a], %r3; st.global.u32 [%a+4], %r3;\n"
                     "st.global.u32 [%a+12], %r3; st.global.u32 [%a+512], %r3;\n");
}

// Two roots may point into one object.
static void stores_of_two_roots_may_alias(void **state)
{
    (void)state;
    static const char text[] = START "st.global.u32 [%a], 7; st.global.u32 [%b], 7;\n"
                                     "st.global.u32 [%a+4], %t; st.global.u32 [%b+4], %t; ret; }\n";
    for (unsigned alias = 0; alias < 2; alias++) {
        struct oracle_case test = make_case(text, 4, 64, 0);
        test.pointers[1].to = alias ? 0 : 1;
        assert_case_exact(&test, __func__);
    }
}

// Between two stores that are far apart, something else may write what the second overwrites.
static void what_others_write_between_two_stores_counts(void **state)
{
    (void)state;
    // An atomic operation, and a store through an address from memory.
    EXACT(4, 64, 4096,
          TWO_STORES "st.global.u32 [%d1], %r3; atom.global.exch.b32 %r4, [%d3], %r3;\n"
                     "st.global.u32 [%d3], %r3;\n");
    EXACT(4, 64, 4096,
          TWO_STORES
          "st.global.u32 [%d1], %r3; ld.global.u32 %r4, [%q]; cvt.u64.u32 %d6, %r4;\n"
          "add.s64 %d6, %d3, %d6; st.global.u32 [%d6], %r3; st.global.u32 [%d3], %r3;\n");
    // The round before.
    EXACT(4, 64, 4096,
          TWO_STORES "mov.u32 %r4, 0;\nL: st.global.u32 [%d1], %r4; st.global.u32 [%d3], %r3;\n"
                     "add.s64 %d1, %d1, %d2; add.s64 %d3, %d3, %d2; sub.s64 %d2, 0, %d2;\n"
                     "add.u32 %r4, %r4, 1; setp.lt.u32 %c1, %r4, 4; @%c1 bra L;\n");
}

// Returns whether the clone loads what several stores overwrite before the first of them.
static bool loads_together(const char *ptx)
{
    struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_VALUES};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    assert_non_null(module->kernels[0].clone);
    const bool together = strstr(module->ptx, "%glint$sure1") != NULL;
    instrument_destroy(module);
    return together;
}

// Other warps race with a test that runs, so this looks at the code.
static void what_may_show_writes_of_others_separates_stores(void **state)
{
    (void)state;
#define BETWEEN(text) \
    START TWO_STORES "st.global.u32 [%d1], %r3;\n" text "st.global.u32 [%d3], %r3; ret; }\n"
    assert_true(loads_together(BETWEEN("")));
    assert_true(loads_together(BETWEEN("ld.global.u32 %r4, [%q]; st.shared.u32 [tile], %r4;\n")));
    assert_true(loads_together(BETWEEN("@%c0 bra A; add.u32 %r3, %r3, 1;\nA:\n")));
    assert_false(loads_together(BETWEEN("bar.sync 0;\n")));
    assert_false(loads_together(BETWEEN("bar.warp.sync -1;\n")));
    assert_false(loads_together(BETWEEN("membar.gl;\n")));
    assert_false(loads_together(BETWEEN("ld.volatile.global.u32 %r4, [%q];\n")));
    assert_false(loads_together(BETWEEN("ld.acquire.gpu.global.u32 %r4, [%q];\n")));
    assert_false(loads_together(BETWEEN("red.global.add.u32 [%q], 1;\n")));
    // A way back from code that stands behind the second store.
    assert_false(loads_together(START TWO_STORES
                                "st.global.u32 [%d1], %r3; bra X;\nS: st.global.u32 [%d3], %r3;\n"
                                "ret;\nX: bar.sync 0; bra S; }\n"));
    // Addresses that depend on what is loaded between.
    assert_false(loads_together(BETWEEN("ld.global.u32 %r4, [%q]; cvt.u64.u32 %d6, %r4;\n"
                                        "add.s64 %d3, %d1, %d6;\n")));
}

// Returns whether the clone loads what two stores behind a barrier overwrite before the barrier.
static bool loads_before_barrier(const char *ptx)
{
    struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_VALUES};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    const char *clone = strstr(module->ptx, "k$glint");
    assert_non_null(clone);
    const char *load = strstr(clone, "ld.global.cg.b32 %glint$was"),
               *barrier = strstr(clone, "bar.sync");
    assert_true(load && barrier);
    const bool before = load < barrier;
    instrument_destroy(module);
    return before;
}

// A barrier shows nothing new if no thread of the block can have written anything before.
static void barriers_behind_no_store_separate_nothing(void **state)
{
    (void)state;
#define TILE "ld.global.u32 %r4, [%q]; st.shared.u32 [tile], %r4;\n"
#define BEHIND(before, barrier) \
    START TWO_STORES before barrier "st.global.u32 [%d1], %r3; st.global.u32 [%d3], %r3;\n"
    assert_true(loads_before_barrier(BEHIND(TILE, "bar.sync 0;\n") "ret; }\n"));
    assert_true(
        loads_before_barrier(BEHIND("@%c0 bra A;\n" TILE "A:\n", "bar.sync 0;\n") "ret; }\n"));
    EXACT(4, 64, 4096,
          TWO_STORES TILE "bar.sync 0; st.global.u32 [%d1], %r3; ld.shared.u32 %r5, [tile];\n"
                          "selp.b32 %r5, %r5, 7, %c0; st.global.u32 [%d3], %r5;\n");
    // Something was written, or others may be known to have written, before this barrier, another
    // one, or in a loop. A thread may also only announce that it has.
    assert_false(
        loads_before_barrier(BEHIND("st.global.u32 [%b], 1;\n", "bar.sync 0;\n") "ret; }\n"));
    assert_false(loads_before_barrier(
        BEHIND("ld.acquire.gpu.global.u32 %r4, [%q];\n", "bar.sync 0;\n") "ret; }\n"));
    assert_false(loads_before_barrier(BEHIND("membar.gl;\n", "bar.sync 0;\n") "ret; }\n"));
    assert_false(loads_before_barrier(BEHIND(TILE, "bar.sync 0;\n") "bar.sync 0; ret; }\n"));
    assert_false(loads_before_barrier(BEHIND("A:\n", "bar.sync 0;\n") "@%c0 bra A; ret; }\n"));
    assert_false(loads_before_barrier(
        BEHIND("@%c0 bra A;\n",
               "bar.sync 0, 64;\n") "ret;\n"
                                    "A: st.global.u32 [%b], 1; bar.arrive 0, 64; ret; }\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_far_apart_are_examined_together),
        cmocka_unit_test(stores_near_each_other_are_examined_apart),
        cmocka_unit_test(stores_of_two_roots_may_alias),
        cmocka_unit_test(what_others_write_between_two_stores_counts),
        cmocka_unit_test(what_may_show_writes_of_others_separates_stores),
        cmocka_unit_test(barriers_behind_no_store_separate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
