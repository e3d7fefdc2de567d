// SPDX-License-Identifier: Apache-2.0
// Asynchronous operations on shared memory of other blocks of a cluster, and the barriers in memory
// that they report to.
#include "clusters_testing.h"

// Before the kernels' own text: each block has a barrier for one arrival, and all know that it is
// there. %r5 and %r6 are the addresses of the words and the barrier in the next block of the
// cluster, and %r7 the offset of the thread's word. The thread 0 expects %r2 * `bytes` bytes.
#define PREPARE(bytes)                                                                        \
    ".shared .align 8 .b64 barrier;\n"                                                        \
    "setp.eq.u32 %p1, %r3, 0; @%p1 mbarrier.init.shared::cta.b64 [barrier], 1;\n"             \
    "fence.mbarrier_init.release.cluster;\n" SYNC                                             \
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], " bytes ";\n"               \
    "add.u32 %r4, %r1, 1; rem.u32 %r4, %r4, %r2; mapa.shared::cluster.u32 %r5, words, %r4;\n" \
    "mapa.shared::cluster.u32 %r6, barrier, %r4; shl.b32 %r7, %r3, 2; mov.u32 %r4, %ctaid.x;\n"

#define AWAIT                                                                         \
    "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [barrier], 0; " \
    "@!%p2 bra W;\n"

// Stores the thread's word of the block's shared memory.
#define PUT_WORD                                                                            \
    "mov.u32 %r10, words; add.u32 %r10, %r10, %r7; ld.shared.u32 %r11, [%r10];\n" SYNC PUT( \
        "%r11") "ret; }"

static void stores_arrive_and_are_reported(void **state)
{
    struct fixture *fixture = *state;
    assert_good(run_clusters(
        fixture,
        BEGIN PREPARE("256") "mad.lo.u32 %r8, %r4, 1000, %r3; add.u32 %r9, %r5, %r7;\n"
                             "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 "
                             "[%r9], %r8, [%r6];\n" AWAIT PUT_WORD,
        (struct shape){{8, 1, 1}, {4, 1, 1}, 64}));
    for (uint32_t i = 0; i < 8 * 64; i++) {
        const uint32_t block = i / 64, from = block / 4 * 4 + (block + 3) % 4;
        assert_int_equal(fixture->memory[i], from * 1000 + i % 64);
    }
}

static void vectors_and_wide_words_are_stored(void **state)
{
    struct fixture *fixture = *state;
    assert_good(run_clusters(
        fixture,
        BEGIN PREPARE(
            "256") "mad.lo.u32 %r8, %r4, 1000, %r3; cvt.u64.u32 %rd2, %r8; mov.f32 %r9, "
                   "0f3F800000;\n"
                   "setp.eq.u32 %p3, %r3, 0; @%p3 st.async.weak.shared::cluster"
                   ".mbarrier::complete_tx::bytes.v4.b32 [%r5], {%r8, %r1, %r2, %r9}, [%r6];\n"
                   "@%p3 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.s32 "
                   "[%r5+16], "
                   "{%r2, 7}, [%r6];\n"
                   "@%p3 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 [%r5+24], "
                   "%rd2, "
                   "[%r6];\n"
                   "@%p3 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 "
                   "[%r5+32], "
                   "{%rd2, -2}, [%r6];\n"
                   "@%p3 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
                   "[%r5+48], "
                   "{%r9, %r9, %r9, %r9}, [%r6];\n"
                   "setp.gt.u32 %p3, %r3, 15; add.u32 %r9, %r5, %r7; @%p3 "
                   "st.async.weak.shared::cluster"
                   ".mbarrier::complete_tx::bytes.b32 [%r9], %r3, [%r6];\n" AWAIT PUT_WORD,
        (struct shape){{2, 1, 1}, {2, 1, 1}, 64}));
    for (uint32_t block = 0; block < 2; block++) {
        const uint32_t *is = &fixture->memory[(size_t)block * 64], from = block ^ 1;
        const uint32_t head[16] = {
            from * 1000, from,        2, 0x3F800000,     2,          7,          from * 1000,
            0,           from * 1000, 0, UINT32_MAX - 1, UINT32_MAX, 0x3F800000, 0x3F800000,
            0x3F800000,  0x3F800000};
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(is[i], i < 16 ? head[i] : i);
    }
}

// Every thread of the cluster changes the same words of the block with rank 1.
static void reductions_are_done_once_for_each_thread(void **state)
{
    struct fixture *fixture = *state;
    char text[4096];
    static const char *const forms[] = {"add.u32", "add.s32", "inc.u32", "dec.u32",
                                        "min.u32", "max.u32", "min.s32", "max.s32",
                                        "and.b32", "or.b32",  "xor.b32"};
    enum { FORMS = sizeof forms / sizeof *forms, THREADS = 3 * 33 };
    int at = snprintf(text, sizeof(text), "%s",
                      BEGIN ".shared .align 8 .b64 barrier;\n"
                            "setp.eq.u32 %p1, %r3, 0; @%p1 mbarrier.init.shared::cta.b64 "
                            "[barrier], 1; mov.u32 %r5, words; shl.b32 %r7, %r3, 2;\n"
                            "add.u32 %r6, %r5, %r7; st.shared.u32 [%r6], 1000;\n" SYNC
                            "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 5148;\n"
                            "mapa.shared::cluster.u32 %r5, words, 1;\n"
                            "mapa.shared::cluster.u32 %r6, barrier, 1;\n"
                            "mad.lo.u32 %r8, %r1, 33, %r3; add.u32 %r8, %r8, 900;\n"
                            "cvt.u64.u32 %rd2, %r8;\n");
    for (unsigned i = 0; i < FORMS; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at,
                       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.%s "
                       "[%%r5+%u], %%r8, [%%r6];\n",
                       forms[i], 4 * i);
    snprintf(text + at, sizeof(text) - (size_t)at, "%s",
             "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 "
             "[%r5+48], %rd2, [%r6];\n"
             "setp.ne.u32 %p1, %r1, 1; @%p1 bra DONE;\n" AWAIT
             "mov.u32 %r10, words; add.u32 %r10, %r10, %r7; ld.shared.u32 %r11, [%r10];\n"
             "setp.ge.u32 %p2, %r3, 16; @%p2 bra DONE; mul.wide.u32 %rd3, %r3, 4;\n"
             "add.u64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r11;\n"
             "DONE: " SYNC "ret; }");
    assert_good(run_clusters(fixture, text, (struct shape){{3, 1, 1}, {3, 1, 1}, 33}));
    const uint32_t *is = fixture->memory;
    uint32_t sum = 1000, all = 1000, any = 1000, odd = 1000;
    for (uint32_t i = 0; i < THREADS; i++) {
        sum += 900 + i;
        all &= 900 + i;
        any |= 900 + i;
        odd ^= 900 + i;
    }
    const uint64_t wide = is[12] | (uint64_t)is[13] << 32;
    assert_int_equal(is[0], sum);
    assert_int_equal(is[1], sum);
    assert_int_equal(is[4], 900);
    assert_int_equal(is[5], 1000);
    assert_int_equal(is[6], 900);
    assert_int_equal(is[7], 1000);
    assert_int_equal(is[8], all);
    assert_int_equal(is[9], any);
    assert_int_equal(is[10], odd);
    assert_true(wide == (1000 | UINT64_C(1000) << 32) + sum - 1000);
}

static void bulk_copies_reach_other_blocks(void **state)
{
    struct fixture *fixture = *state;
    assert_good(run_clusters(
        fixture,
        BEGIN ".shared .align 16 .b32 from[64];\n" PREPARE(
            "512") "mad.lo.u32 %r8, %r4, 1000, %r3; mov.u32 %r9, from; add.u32 %r10, %r9, %r7;\n"
                   "st.shared.u32 [%r10], %r8; fence.proxy.async; bar.sync 0;\n"
                   "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                   "[%r5], "
                   "[%r9], 256, [%r6];\n"
                   "@%p1 "
                   "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
                   ".add.u32 [%r5], [%r9], 256, [%r6];\n" AWAIT PUT_WORD,
        (struct shape){{6, 1, 1}, {3, 1, 1}, 64}));
    for (uint32_t i = 0; i < 6 * 64; i++) {
        const uint32_t block = i / 64, from = block / 3 * 3 + (block + 2) % 3;
        assert_int_equal(fixture->memory[i], 2 * (from * 1000 + i % 64));
    }
}

// The block with rank 1 copies to those in the mask, at the place and barrier that are its own.
static void multicast_copies_to_the_blocks_of_the_mask(void **state)
{
    struct fixture *fixture = *state;
    const char *text = BEGIN PREPARE(
        "256") "mov.u32 %r9, words; mov.u32 %r10, barrier; add.u64 %rd2, %rd1, 8192;\n"
               "mad.lo.u32 %r12, %r4, 64, %r3; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd2, "
               "%rd3;\n"
               "add.u32 %r13, %r3, 5000; st.global.u32 [%rd3], %r13; fence.proxy.async; bar.sync "
               "0;\n"
               ".reg .b16 %h; mov.b16 %h, 0xD;\n"
               "setp.eq.and.u32 %p3, %r1, 1, %p1;\n"
               "@%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%r9], [%rd2], 256, [%r10], %h;\n"
               "setp.eq.u32 %p3, %r1, 1; @%p3 bra DONE;\n" AWAIT "DONE: " PUT_WORD;
    assert_good(run_clusters(fixture, text, (struct shape){{4, 1, 1}, {4, 1, 1}, 64}));
    for (uint32_t i = 0; i < 4 * 64; i++)
        assert_int_equal(fixture->memory[i], i / 64 == 1 ? 0 : 5000 + i % 64);
}

static void multicast_beyond_the_cluster_is_told(void **state)
{
    expect_fault(*state,
                 ".shared .align 8 .b64 barrier; .reg .b16 %h; mov.b16 %h, 4;\n"
                 "mov.u32 %r9, words; mov.u32 %r10, barrier;\n"
                 "mbarrier.init.shared::cta.b64 [barrier], 1;\n"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%r9], [%rd1], 256, [%r10], %h;\n" SYNC,
                 SIM_FAULT_CLUSTER, "invalid write of 256 bytes");
}

// All threads of a cluster arrive at the barrier of the block with rank 0, which counts them.
static void threads_arrive_at_barriers_of_other_blocks(void **state)
{
    struct fixture *fixture = *state;
    assert_good(run_clusters(
        fixture,
        BEGIN ".shared .align 8 .b64 barrier;\n"
              "setp.eq.u32 %p1, %r3, 0; @%p1 mbarrier.init.shared::cta.b64 [barrier], 128;\n"
              "fence.mbarrier_init.release.cluster;\n" SYNC
              "mapa.shared::cluster.u32 %r6, barrier, 0; mapa.shared::cluster.u32 %r5, words, 0;\n"
              "red.relaxed.cluster.shared::cluster.add.u32 [%r5], 1;\n"
              "and.b32 %r7, %r3, 1; setp.eq.u32 %p3, %r7, 0;\n"
              "@%p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];\n"
              "@!%p3 mbarrier.arrive.shared::cluster.b64 _, [%r6], 1;\n"
              "setp.ne.u32 %p3, %r1, 0; @%p3 bra DONE;\n" AWAIT
              "ld.shared.u32 %r8, [words];\n" PUT("%r8") "DONE: " SYNC "ret; }",
        (struct shape){{8, 1, 1}, {4, 1, 1}, 32}));
    for (uint32_t i = 0; i < 8 * 32; i++)
        assert_int_equal(fixture->memory[i], i / 32 % 4 ? 0 : 128);
}

// Bytes are announced and reported from another block; the phase ends when both agree.
static void bytes_are_expected_from_other_blocks(void **state)
{
    struct fixture *fixture = *state;
    assert_good(run_clusters(
        fixture,
        BEGIN ".shared .align 8 .b64 barrier;\n"
              "mbarrier.init.shared::cta.b64 [barrier], 2;\n" SYNC
              "mapa.shared::cluster.u32 %r6, barrier, 0;\n"
              "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r6], 64;\n"
              "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r6], 16;\n" SYNC
              "mbarrier.test_wait.parity.shared::cta.b64 %p2, [barrier], 0; selp.u32 %r8, 1, 0, "
              "%p2;\n"
              "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r6], 80;\n" SYNC
              "mbarrier.test_wait.parity.shared::cta.b64 %p2, [barrier], 0; @%p2 add.u32 %r8, %r8, "
              "2;\n" PUT("%r8") "ret; }",
        (struct shape){{2, 1, 1}, {2, 1, 1}, 1}));
    assert_int_equal(fixture->memory[0], 2);
    assert_int_equal(fixture->memory[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stores_arrive_and_are_reported),
        TEST(vectors_and_wide_words_are_stored),
        TEST(reductions_are_done_once_for_each_thread),
        TEST(bulk_copies_reach_other_blocks),
        TEST(multicast_copies_to_the_blocks_of_the_mask),
        TEST(multicast_beyond_the_cluster_is_told),
        TEST(threads_arrive_at_barriers_of_other_blocks),
        TEST(bytes_are_expected_from_other_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
