// SPDX-License-Identifier: Apache-2.0
// Kernels whose blocks reach each other's shared memory: what probes report of global memory and of
// the own block's shared memory equals the simulator's log, and what other blocks have is not
// taken for either.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"

// Clusters of two blocks with 64 threads. %t is the thread's number in the grid, %x that in the
// block; %a and %b are the addresses of the words with that number in two buffers. %w is the
// address of the thread's word of `tile`, %far that of the same word in the other block, %near and
// %other are generic addresses of the two.
#define KERNEL(body)                                                                           \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                          \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) .reqnctapercluster 2 {\n"  \
    ".reg .b32 %t, %x, %n, %w, %far, %rank, %r<20>; .reg .b64 %p, %q, %a, %b, %near, %other, " \
    "%d<20>; .reg .pred %c<8>; .reg .b16 %h<8>;\n"                                             \
    ".shared .align 128 .b8 tile[512]; .shared .align 8 .b8 barrier[8];\n"                     \
    "ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];\n"                      \
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %x, %tid.x;\n"                       \
    "mad.lo.s32 %t, %r0, %r1, %x; mul.wide.s32 %d0, %t, 4; add.s64 %a, %p, %d0;\n"             \
    "add.s64 %b, %q, %d0; mov.u32 %rank, %cluster_ctarank; xor.b32 %r2, %rank, 1;\n"           \
    "mov.u32 %w, tile; shl.b32 %r3, %x, 2; add.u32 %w, %w, %r3;\n"                             \
    "mapa.shared::cluster.u32 %far, %w, %r2; cvt.u64.u32 %d1, %r3; mov.u64 %near, tile;\n"     \
    "cvta.shared.u64 %near, %near; add.u64 %near, %near, %d1; mapa.u64 %other, %near, %r2;\n"  \
    "st.shared.u32 [%w], %t;\n" SYNC body SYNC "ret; }\n"
#define SYNC "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;\n"

enum { BYTES = 4096 };
static unsigned char data[BYTES];

static struct oracle_case make_case(const char *name, const char *ptx)
{
    struct oracle_case test = oracle_case_of(ptx, 4, 64, 7, data, data, BYTES);
    for (unsigned i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 5 + i / 256);
    snprintf(test.name, sizeof(test.name), "%s", name);
    return test;
}

static void assert_exact(const char *name, const char *ptx)
{
    const struct oracle_case test = make_case(name, ptx);
    struct oracle_level levels[16];
    unsigned count = 0;
    for (unsigned f = 0; f < 4; f++)
        levels[count++] = (struct oracle_level){.facts = oracle_facts[f], .shift = 2, .workers = 2};
    for (unsigned f = 0; f < 4; f++)
        levels[count++] = (struct oracle_level){
            .facts = oracle_facts[f] | INSTRUMENT_REQUESTS | INSTRUMENT_SHARED,
            .shift = 2,
            .workers = 2,
            .counted = f % 2 ? INSTRUMENT_WHOLE : INSTRUMENT_DENSE};
    levels[count++] = (struct oracle_level){.facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED,
                                            .shift = 2,
                                            .workers = 1,
                                            .word_ways = INSTRUMENT_WORDS_BEST,
                                            .spare_word = 8};
    assert_true(oracle_holds(&test, levels, count, stderr));
    for (count = 0; count < 4; count++)
        levels[count] = (struct oracle_level){
            .facts = oracle_facts[count] | INSTRUMENT_VALUES, .shift = 2, .workers = 1};
    assert_true(oracle_holds(&test, levels, count, stderr));
}

#define EXACT(body) assert_exact(__func__, KERNEL(body))

static void memory_of_other_blocks_is_no_object(void **state)
{
    (void)state;
    EXACT("ld.shared::cluster.u32 %r4, [%far]; ld.global.u32 %r5, [%a]; add.u32 %r4, %r4, %r5;\n"
          "st.global.u32 [%b], %r4; ld.u32 %r6, [%other]; st.global.u32 [%b+1024], %r6;\n");
    EXACT(SYNC "st.shared::cluster.u32 [%far], %n; atom.shared::cluster.add.u32 %r4, [%far], 1;\n"
               "red.add.u32 [%other], 2;\n" SYNC "ld.shared.u32 %r5, [%w]; add.u32 %r5, %r5, %r4;\n"
               "st.global.u32 [%b], %r5;\n");
}

// Lanes in turn have an address of the own block, of the other one, and of global memory.
static void generic_addresses_may_be_of_any_block(void **state)
{
    (void)state;
    EXACT("rem.u32 %r4, %x, 3; setp.eq.u32 %c0, %r4, 0; setp.eq.u32 %c1, %r4, 1;\n"
          "selp.b64 %d2, %near, %other, %c0; selp.b64 %d2, %a, %d2, %c1;\n"
          "ld.u32 %r5, [%d2]; st.global.u32 [%b], %r5;\n" SYNC
          "selp.b64 %d2, %b, %d2, %c1; atom.add.u32 %r6, [%d2], 3;\n" SYNC
          "ld.u32 %r7, [%d2]; st.global.u32 [%b+1024], %r7;\n");
}

static void asynchronous_operations_are_distinguished(void **state)
{
    (void)state;
    EXACT("setp.eq.u32 %c0, %x, 0; @%c0 mbarrier.init.shared::cta.b64 [barrier], 1;\n"
          "fence.mbarrier_init.release.cluster;\n" SYNC
          "@%c0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 512;\n"
          "mapa.shared::cluster.u32 %r5, barrier, %r2;\n"
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%far], %t, [%r5];\n"
          "mov.u32 %r6, tile; mov.u32 %r7, barrier; mov.b16 %h0, 3; setp.eq.u32 %c1, %rank, 0;\n"
          "and.pred %c1, %c1, %c0; @%c1 cp.async.bulk.shared::cluster.global"
          ".mbarrier::complete_tx::bytes.multicast::cluster [%r6+256], [%p], 256, [%r7], %h0;\n"
          "W: mbarrier.try_wait.parity.shared::cta.b64 %c2, [barrier], 0; @!%c2 bra W;\n"
          "ld.shared.u32 %r8, [%w]; ld.shared.u32 %r9, [%w+256]; add.u32 %r8, %r8, %r9;\n"
          "st.global.u32 [%b], %r8;\n");
}

static void barriers_between_diverged_lanes_stay_in_order(void **state)
{
    (void)state;
    EXACT("and.b32 %r4, %x, 1; setp.eq.u32 %c0, %r4, 0; @%c0 bra EVEN;\n"
          "ld.global.u32 %r5, [%a]; barrier.cluster.arrive; barrier.cluster.wait; bra DONE;\n"
          "EVEN: barrier.cluster.arrive; ld.global.u32 %r5, [%a+1024]; barrier.cluster.wait;\n"
          "DONE: st.shared::cluster.u32 [%far], %r5; setp.gt.u32 %c1, %x, 60; @%c1 exit;\n" SYNC
          "ld.shared.u32 %r6, [%w]; st.global.u32 [%b], %r6;\n");
}

// Near misses: a changed result, count or flag is detected.
static void errors_are_detected(void **state)
{
    (void)state;
    static const enum oracle_spoil spoils[] = {ORACLE_ONE_RESULT, ORACLE_ONE_COUNT, ORACLE_ONE_BIT};
    const struct oracle_case test = make_case(
        __func__, KERNEL("st.shared::cluster.u32 [%far], %n; ld.global.u32 %r4, [%a];\n" SYNC
                         "ld.shared.u32 %r5, [%w]; st.global.u32 [%b], %r5;\n"
                         "st.global.u32 [%a], %r5;\n"));
    for (size_t i = 0; i < sizeof(spoils) / sizeof(*spoils); i++) {
        char *said = NULL;
        size_t length;
        FILE *complaints = open_memstream(&said, &length);
        const struct oracle_level level = {.facts = INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS,
                                           .shift = 2,
                                           .workers = 2,
                                           .spoil = spoils[i]};
        assert_false(oracle_holds(&test, &level, 1, complaints));
        fclose(complaints);
        assert_true(length > 0);
        free(said);
    }
}

static void what_other_blocks_do_in_shared_memory_is_named(void **state)
{
    (void)state;
    static const char ptx[] = KERNEL("ld.shared::cluster.u32 %r4, [%far];\n");
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    assert_non_null(module->kernels[0].clone);
    assert_non_null(module->kernels[0].uncounted);
    assert_non_null(strstr(module->kernels[0].uncounted, "which may reach another block"));
    instrument_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_other_blocks_is_no_object),
        cmocka_unit_test(generic_addresses_may_be_of_any_block),
        cmocka_unit_test(asynchronous_operations_are_distinguished),
        cmocka_unit_test(barriers_between_diverged_lanes_stay_in_order),
        cmocka_unit_test(errors_are_detected),
        cmocka_unit_test(what_other_blocks_do_in_shared_memory_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
