// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory (mbarrier) and bulk copies from and to shared memory: what probes
// report, of words and of live ranges, equals the simulator's log. Near misses: what may reach
// another block, and copies of unknown bytes, are named.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "words_testing.h"

// --- Kernels -------------------------------------------------------------------------------------

// %r19 and %r18 are the addresses of `tile` and of the barriers, %c0 says that the thread is the
// first one of its block, which initializes both barriers.
#define BARRIERS ".shared .align 8 .b8 bar[16];\n"
#define INIT                                                                                 \
    "mov.u32 %r18, bar; setp.eq.u32 %c0, %t, 0; @%c0 mbarrier.init.shared::cta.b64 [%r18], " \
    "1;\n@%c0 mbarrier.init.shared.b64 [bar+8], 1; fence.mbarrier_init.release.cluster;\n"
#define BULK(body) HEAD ENTRY REGISTERS TILE BARRIERS START INIT body "ret; }\n"

#define IN       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
#define CTA      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
#define OUT      "cp.async.bulk.global.shared::cta.bulk_group "
#define OWN      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
#define WAIT_OUT "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
// Of the first barrier's first phase. The copies come before, so that nobody waits for long.
#define WAIT                                                        \
    "@%c0 mbarrier.arrive.shared::cta.b64 _, [%r18]; bar.sync 0;\n" \
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %c7, [%r18], 0; @!%c7 bra WAIT;\n"

// --- Comparison with the log ---------------------------------------------------------------------

static void check_named(const char *ptx, const char *uncounted)
{
    struct instrument_module *module =
        words_module(ptx, INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_RANGES);
    const struct instrument_kernel *kernel = &module->kernels[0];
    assert_string_equal(kernel->uncounted ? kernel->uncounted : "", uncounted);
    instrument_destroy(module);
}

static bool holds(const char *name, const char *ptx, uint32_t n, bool ranges,
                  const uint32_t block[3], enum oracle_spoil spoil, FILE *complaints)
{
    const struct words_run run = {
        .name = name,
        .ptx = ptx,
        .n = n,
        .bytes = BYTES,
        .dynamic = DYNAMIC,
        .ranges = ranges,
        .block = {block[0], block[1], block[2]},
        .spoil = spoil,
    };
    return words_hold(&run, complaints);
}

static void check_with(const char *name, const char *ptx, uint32_t n, bool ranges)
{
    static const uint32_t blocks[][3] = {{64, 1, 1}, {16, 6, 1}, {45, 1, 1}};
    check_named(ptx, "");
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
        assert_true(holds(name, ptx, n, ranges, blocks[i], ORACLE_SOUND, stderr));
}

static void check(const char *name, const char *ptx, uint32_t n)
{
    check_with(name, ptx, n, false);
}

// --- Barriers ------------------------------------------------------------------------------------

static void barriers_are_loaded_and_stored(void **state)
{
    (void)state;
    check(__func__,
          BULK("bar.sync 0; @%c0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r18], 32;\n"
               "@%c0 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 32;\n"
               "@%c0 mbarrier.arrive.shared.b64 %d1, [%r18];\n"
               "@%c0 mbarrier.test_wait.shared.b64 %c1, [%r18], %d1;\n"
               "@%c0 mbarrier.arrive_drop.shared::cta.b64 %d1, [%r18+8]; bar.sync 0;\n"
               "mbarrier.try_wait.parity.shared::cta.b64 %c1, [%r18], 0;\n"
               "bar.sync 0; setp.eq.u32 %c2, %t, 5; @%c2 mbarrier.inval.shared::cta.b64 [bar];\n"),
          0);
}

// One of several, whose number a register holds; by a generic address; and by names that the
// instruction would allow to be those of another block.
static void barriers_at_other_addresses(void **state)
{
    (void)state;
    check(__func__,
          BULK("and.b32 %r2, %t, 31; shl.b32 %r2, %r2, 3; add.u32 %r2, %r2, %r19;\n"
               "mbarrier.init.shared::cta.b64 [%r2+64], 100;\n"
               "cvt.u64.u32 %d1, %r2; cvta.shared.u64 %d1, %d1; bar.sync 0;\n"
               "mbarrier.arrive.b64 %d2, [%d1+64]; bar.sync 0;\n"
               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2+64];\n"
               "cp.async.mbarrier.arrive.shared::cta.b64 [%r2+64];\n"
               "cp.async.mbarrier.arrive.noinc.b64 [%d1+64];\n"),
          0);
}

// --- Copies --------------------------------------------------------------------------------------

// Sizes: constants, those of registers, and none at all.
static void copies_store_each_word(void **state)
{
    (void)state;
    check(__func__,
          BULK("@%c0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r18], 1136;\n"
               "mov.u32 %r2, 0; setp.eq.u32 %c1, %t, 33; mov.u32 %r3, 48;\n"
               "@%c0 " IN "[%r19], [%p], 16, [%r18];\n"
               "@%c0 " CTA "[tile+16], [%p+64], 48, [bar];\n"
               "@%c0 " IN "[%r19+32], [%p], %n, [%r18];\n"
               "@%c0 " IN "[%r19+48], [%p], %r2, [%r18];\n"
               "@%c0 " IN "[%r19+64], [%p+128], %r3, [%r18];\n" WAIT
               "ld.shared.u32 %r4, [%r19+80]; @%c1 " CTA "[tile+16], [%p], 1024, [bar+8];\n"),
          1024);
}

// Each thread copies for itself, and some go around a loop.
static void many_threads_copy(void **state)
{
    (void)state;
    check(__func__,
          BULK("bar.sync 0; and.b32 %r2, %t, 31; shl.b32 %r3, %r2, 4; add.u32 %r4, %r3, %r19;\n"
               "and.b32 %r5, %t, 3; shl.b32 %r5, %r5, 4; setp.gt.u32 %c1, %r2, 9;\n" IN
               "[%r4], [%p], %r5, [%r18]; @!%c1 " IN "[%r4+512], [%p+256], 64, [%r18];\n"
               "rem.u32 %r6, %t, 5; L: setp.eq.u32 %c2, %r6, 0; @%c2 bra M;\n" IN
               "[%r4+1024], [%p], %r5, [%r18+8]; add.u32 %r4, %r4, %r3;\n"
               "and.b32 %r4, %r4, 511; add.u32 %r4, %r4, %r19; sub.u32 %r6, %r6, 1; bra L; M:\n"),
          0);
}

// Arrays of the kernel and the module, dynamic memory, and one of two.
static void several_arrays(void **state)
{
    (void)state;
    check(__func__,
          HEAD ".shared .align 16 .b8 pairs[1024]; .extern .shared .align 128 .b8 all[];\n" ENTRY
              REGISTERS TILE BARRIERS START INIT
               "mov.u32 %r2, all; mov.u32 %r3, pairs; setp.lt.u32 %c1, %n, 3;\n"
               "selp.b32 %r4, %r2, %r3, %c1; @%c0 " IN "[%r2+16], [%p], 960, [%r18];\n"
               "@%c0 " IN "[%r3], [%p], 512, [%r18]; @%c0 " IN "[%r4], [%p], 80, [%r18];\n"
               "@%c0 " OUT "[%q], [%r4], 32; ld.shared.u32 %r5, [%r2]; ret; }\n",
          2);
}

// The last chunk is in the gap behind the first array.
static void chunks_outside_of_arrays_are_lost(void **state)
{
    (void)state;
    check(__func__,
          HEAD ENTRY REGISTERS ".shared .align 16 .b8 before[48];\n"
                               ".shared .align 1024 .b8 tile[4096];\n" BARRIERS START INIT
                               "mov.u32 %r2, before; @%c0 " IN "[%r2], [%p], 128, [%r18+8];\n"
                               "@%c0 " OUT "[%q], [%r2+16], 112; ret; }\n",
          0);
}

// Arrays that need not begin at the start of a word.
static void chunks_of_arrays_of_bytes(void **state)
{
    (void)state;
    check(__func__,
          HEAD ENTRY REGISTERS
          ".shared .b8 odd[3]; .shared .b8 tile[4096]; .shared .b64 bar[2];\n" START INIT
          "add.u32 %r2, %r19, 13; @%c0 " IN "[%r2], [%p], 48, [%r18+8]; ret; }\n",
          0);
}

static void copies_load_each_word(void **state)
{
    (void)state;
    check(__func__,
          BULK("shl.b32 %r2, %t, 2; add.u32 %r2, %r2, %r19; st.shared.u32 [%r2], %t;\n"
               "fence.proxy.async; bar.sync 0; setp.eq.u32 %c1, %t, 40; mov.u32 %r3, 96;\n"
               "@%c0 " OUT "[%q], [%r19], 64; @%c1 " OUT "[%q+256], [tile+64], %r3;\n"
               "@%c0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 "
               "[%q+512], [%r19], 32;\n" WAIT_OUT),
          0);
}

// From and to the own block, which the names of its arrays say.
static void copies_within_shared_memory(void **state)
{
    (void)state;
    check(__func__,
          BULK("@%c0 " OWN "[%r19], [%r19+1024], 80, [%r18];\n"
               "@%c0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
               ".add.u32 [%r19+256], [tile+512], 48, [%r18];\n"),
          0);
}

// Nothing else accesses shared memory but the barrier, so that no other probe needs counters.
static void copies_alone_are_counted(void **state)
{
    (void)state;
    static const char ptx[] = BULK("@%c0 " IN "[%r19], [%p], %n, [%r18];\n");
    struct instrument_module *module =
        words_module(ptx, INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_RANGES);
    assert_true(module->kernels[0].counts_rest);
    assert_true(module->kernels[0].quads);
    instrument_destroy(module);
    check(__func__, ptx, 256);
}

// --- Live ranges ---------------------------------------------------------------------------------

// Fills that are loaded twice, by other threads than the one that copied, and once more after a
// copy of some words. What threads then store is drained. Only the first thread waits, so that the
// barrier's accesses are ordered, too.
#define STAGES                                                                               \
    BULK("@%c0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r18], 4096;\n"               \
         "@%c0 " IN "[%r19], [%p], 4096, [%r18];\n"                                          \
         "@%c0 mbarrier.arrive.shared::cta.b64 _, [%r18];\n"                                 \
         "WAIT: mov.pred %c7, 1; @%c0 mbarrier.try_wait.parity.shared.b64 %c7, [%r18], 0;\n" \
         "@!%c7 bra WAIT; bar.sync 0;\n"                                                     \
         "shl.b32 %r2, %t, 2; add.u32 %r3, %r2, %r19; xor.b32 %r2, %r2, 4;\n"                \
         "add.u32 %r4, %r2, %r19; ld.shared.u32 %r5, [%r3]; bar.sync 0;\n"                   \
         "ld.shared.u32 %r6, [%r4]; bar.sync 0;\n"                                           \
         "@%c0 " IN "[%r19+16], [%p+512], %n, [%r18+8]; bar.sync 0;\n"                       \
         "ld.shared.u32 %r5, [%r3]; bar.sync 0; st.shared.u32 [%r3], %t;\n"                  \
         "fence.proxy.async; bar.sync 0; @%c0 " OUT "[%q], [%r19], 128;\n" WAIT_OUT)

static void copies_begin_live_ranges(void **state)
{
    (void)state;
    check_with(__func__, STAGES, 64, true);
}

// What stores: two initializations and expectations, an arrival and a store of threads; behind
// these, both copies with their barriers.
static void copies_fill_and_drain(void **state)
{
    (void)state;
    struct instrument_module *module =
        words_module(STAGES, INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_RANGES);
    const struct instrument_kernel *kernel = &module->kernels[0];
    static const char kinds[] = "sssssffss";
    assert_int_equal(kernel->range_site_count, strlen(kinds));
    for (uint32_t i = 0; i < kernel->range_site_count; i++)
        assert_int_equal(kernel->range_sites[i].fills, kinds[i] == 'f');
    for (uint32_t i = 0; i < kernel->range_site_count; i++)
        assert_true(kernel->range_sites[i].listed);
    instrument_destroy(module);
}

// --- What is not counted -------------------------------------------------------------------------

#define BYTES_IN "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"

static void what_may_reach_another_block_is_named(void **state)
{
    (void)state;
    check_named(BULK("mapa.shared::cluster.u32 %r2, %r19, 1;\n" IN "[%r2], [%p], 16, [%r18];\n"),
                BYTES_IN " at line 15 of the PTX, which may reach another block");
    check_named(BULK("mapa.shared::cluster.u32 %r2, %r18, 1;\n" IN "[%r19], [%p], 16, [%r2];\n"),
                BYTES_IN " at line 15 of the PTX, which may reach another block");
    check_named(BULK("ld.global.u32 %r2, [%p];\n" IN "[%r2], [%p], 16, [%r18];\n"),
                BYTES_IN " at line 15 of the PTX, which may reach another block");
    check_named(BULK("\n" BYTES_IN ".multicast::cluster [%r19], [%p], 16, [%r18], %h0;\n"), BYTES_IN
                ".multicast::cluster at line 15 of the PTX, which may reach another block");
    check_named(BULK("mapa.shared::cluster.u32 %r2, %r18, 1;\n"
                     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];\n"),
                "mbarrier.arrive.release.cluster.shared::cluster.b64 at line 15 of the PTX, which "
                "may reach another block");
}

static void unknown_copies_are_named(void **state)
{
    (void)state;
    check_named(
        BULK("\ncp.async.bulk.global.shared::cta.bulk_group.cp_mask [%q], [%r19], 16, %h0;\n"),
        "cp.async.bulk.global.shared::cta.bulk_group.cp_mask at line 15 of the PTX");
}

// The tensor's description is in global memory, where probes do not know what is accessed either.
static void tensors_are_not_counted(void **state)
{
    (void)state;
    static const char ptx[] =
        BULK("\ncp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
             "[%r19], [%p, {%r2}], [%r18];\n");
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    assert_null(module->kernels[0].clone);
    assert_string_equal(module->kernels[0].reason,
                        "unsupported instruction cp.async.bulk.tensor.1d.shared::cluster.global."
                        "tile.mbarrier::complete_tx::bytes at line 15 of the PTX");
    instrument_destroy(module);
}

// Near misses: prefetches access no shared memory.
static void everything_else_is_counted(void **state)
{
    (void)state;
    check_named(BULK("cp.async.bulk.prefetch.L2.global [%p], 1024;\n"), "");
    check_named(BULK(BYTES_IN ".L2::cache_hint [%r19], [%p], 16, [%r18], %d0;\n"), "");
    check_named(BULK("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%q], [%r19], %n, "
                     "%d0;\n"),
                "");
}

static void what_is_spoilt_is_found(void **state)
{
    (void)state;
    static const uint32_t block[3] = {64, 1, 1};
    static const struct {
        enum oracle_spoil spoil;
        bool ranges;
    } cases[] = {{ORACLE_ONE_WORD, false}, {ORACLE_ONE_RANGE, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *told;
        size_t length;
        FILE *to = open_memstream(&told, &length);
        assert_false(holds(__func__, STAGES, 64, cases[i].ranges, block, cases[i].spoil, to));
        fclose(to);
        assert_non_null(strstr(told, "wanted"));
        free(told);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_are_loaded_and_stored),
        cmocka_unit_test(barriers_at_other_addresses),
        cmocka_unit_test(copies_store_each_word),
        cmocka_unit_test(many_threads_copy),
        cmocka_unit_test(several_arrays),
        cmocka_unit_test(chunks_outside_of_arrays_are_lost),
        cmocka_unit_test(chunks_of_arrays_of_bytes),
        cmocka_unit_test(copies_load_each_word),
        cmocka_unit_test(copies_within_shared_memory),
        cmocka_unit_test(copies_alone_are_counted),
        cmocka_unit_test(copies_begin_live_ranges),
        cmocka_unit_test(copies_fill_and_drain),
        cmocka_unit_test(what_may_reach_another_block_is_named),
        cmocka_unit_test(unknown_copies_are_named),
        cmocka_unit_test(tensors_are_not_counted),
        cmocka_unit_test(everything_else_is_counted),
        cmocka_unit_test(what_is_spoilt_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
