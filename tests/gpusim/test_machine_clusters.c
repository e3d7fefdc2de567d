// SPDX-License-Identifier: Apache-2.0
// Clusters of blocks in the machine: special registers, the barrier, addresses of other blocks'
// shared memory and accesses to it, and what ends a launch.
#include "clusters_testing.h"

static void special_registers_place_blocks_in_clusters(void **state)
{
    struct fixture *fixture = *state;
    static const char *const names[] = {
        "%clusterid.x",     "%clusterid.y",      "%clusterid.z",      "%nclusterid.x",
        "%nclusterid.y",    "%nclusterid.z",     "%cluster_ctaid.x",  "%cluster_ctaid.y",
        "%cluster_ctaid.z", "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z",
        "%cluster_ctarank", "%cluster_nctarank",
    };
    enum { NAMES = sizeof names / sizeof *names, STRIDE = 16 };
    const struct shape shape = {{4, 6, 2}, {2, 3, 2}, 1};
    char text[4096];
    int at = snprintf(text, sizeof(text), "%s",
                      BEGIN "mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z;\n"
                            "mad.lo.u32 %r7, %r6, 6, %r5; mad.lo.u32 %r7, %r7, 4, %r4;\n"
                            "mul.wide.u32 %rd2, %r7, 64; add.u64 %rd2, %rd1, %rd2;\n");
    for (unsigned i = 0; i < NAMES; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at,
                       "mov.u32 %%r8, %s; st.global.u32 [%%rd2+%u], %%r8;\n", names[i], 4 * i);
    snprintf(text + at, sizeof(text) - (size_t)at,
             "mov.pred %%p1, %%is_explicit_cluster; selp.u32 %%r8, 1, 0, %%p1; "
             "st.global.u32 [%%rd2+60], %%r8; ret; }");
    assert_good(run_clusters(fixture, text, shape));
    for (uint32_t block = 0; block < 48; block++) {
        const uint32_t *size = shape.cluster, index[3] = {block % 4, block / 4 % 6, block / 24};
        const uint32_t *is = &fixture->memory[(size_t)block * STRIDE];
        for (int i = 0; i < 3; i++) {
            assert_int_equal(is[i], index[i] / size[i]);
            assert_int_equal(is[3 + i], shape.grid[i] / size[i]);
            assert_int_equal(is[6 + i], index[i] % size[i]);
            assert_int_equal(is[9 + i], size[i]);
        }
        assert_int_equal(is[12], index[0] % 2 + 2 * (index[1] % 3) + 6 * (index[2] % 2));
        assert_int_equal(is[13], 12);
        assert_int_equal(is[15], 1);
    }
}

static void a_kernel_without_clusters_has_clusters_of_one_block(void **state)
{
    struct fixture *fixture = *state;
    assert_good(run_clusters(fixture,
                             BEGIN
                             "mov.u32 %r5, %clusterid.x; mov.pred %p1, %is_explicit_cluster;\n"
                             "mad.lo.u32 %r5, %r2, 100, %r5; mad.lo.u32 %r5, %r1, 1000, %r5;\n"
                             "@%p1 add.u32 %r5, %r5, 10000;\n" SYNC PUT("%r5") "ret; }",
                             (struct shape){{3, 1, 1}, {0}, 1}));
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(fixture->memory[i], 100 + i);
}

// Each block reads what the next one of its cluster has stored.
static void expect_neighbours(struct fixture *fixture, const char *reads, uint32_t blocks,
                              uint32_t size)
{
    char text[4096];
    snprintf(text, sizeof(text), "%s%s%s",
             BEGIN "mad.lo.u32 %r5, %r4, 100, %r3; mov.u32 %r6, words; shl.b32 %r7, %r3, 2;\n"
                   "add.u32 %r6, %r6, %r7; st.shared.u32 [%r6], %r5;\n" SYNC
                   "add.u32 %r8, %r1, 1; rem.u32 %r8, %r8, %r2;\n",
             reads, SYNC PUT("%r9") "ret; }");
    assert_good(run_clusters(fixture, text, (struct shape){{blocks, 1, 1}, {size, 1, 1}, 64}));
    for (uint32_t block = 0; block < blocks; block++) {
        const uint32_t next = block / size * size + (block % size + 1) % size;
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(fixture->memory[block * 64 + i], next * 100 + i);
    }
}

static void blocks_read_each_others_shared_memory(void **state)
{
    static const char windowed[] =
        "mapa.shared::cluster.u32 %r10, %r6, %r8; ld.shared::cluster.u32 %r9, [%r10];\n";
    static const char named[] = "mapa.shared::cluster.u32 %r10, words, %r8; add.u32 %r10, %r10, "
                                "%r7; ld.shared::cluster.u32 %r9, [%r10];\n";
    static const char generic[] =
        "cvta.shared.u64 %rd2, words; cvt.u64.u32 %rd3, %r7; add.u64 %rd2, %rd2, %rd3;\n"
        "mapa.u64 %rd4, %rd2, %r8; ld.u32 %r9, [%rd4];\n";
    static const char converted[] =
        "mapa.shared::cluster.u32 %r10, %r6, %r8; cvt.u64.u32 %rd2, %r10;\n"
        "cvta.shared::cluster.u64 %rd3, %rd2; ld.u32 %r9, [%rd3];\n";
    static const char back[] =
        "cvta.shared.u64 %rd2, words; mapa.u64 %rd4, %rd2, %r8; cvta.to.shared.u64 %rd5, %rd4;\n"
        "cvt.u32.u64 %r10, %rd5; add.u32 %r10, %r10, %r7; ld.shared::cluster.u32 %r9, [%r10];\n";
    const char *const ways[] = {windowed, named, generic, converted, back};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        expect_neighbours(*state, ways[i], 16, 1);
        expect_neighbours(*state, ways[i], 16, 2);
        expect_neighbours(*state, ways[i], 18, 3);
        expect_neighbours(*state, ways[i], 32, 16);
    }
}

// A 32-bit address of a block's own variable means the same in the other blocks.
static void own_addresses_are_valid_in_the_whole_cluster(void **state)
{
    struct fixture *fixture = *state;
    assert_good(run_clusters(
        fixture,
        BEGIN "mov.u32 %r5, words; mapa.shared::cluster.u32 %r6, words, %r1;\n"
              "setp.eq.u32 %p1, %r5, %r6; add.u32 %r7, %r4, 7; st.shared.u32 [%r5+4], %r7;\n"
              "mul.wide.u32 %rd2, %r4, 4; add.u64 %rd2, %rd1, %rd2; @%p1 st.global.u32 [%rd2+400], "
              "%r5;\n" SYNC
              "xor.b32 %r8, %r4, 1; mul.wide.u32 %rd2, %r8, 4; add.u64 %rd2, %rd1, %rd2;\n"
              "ld.global.u32 %r9, [%rd2+400]; ld.shared::cluster.u32 %r10, [%r9+4];\n" SYNC
              "getctarank.shared::cluster.u32 %r11, %r9; mad.lo.u32 %r10, %r11, 100, %r10;\n" PUT(
                  "%r10") "ret; }",
        (struct shape){{4, 1, 1}, {2, 1, 1}, 1}));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(fixture->memory[i], (i ^ 1) + 7 + 100 * ((i ^ 1) % 2));
}

static void spaces_and_ranks_of_addresses_are_told(void **state)
{
    struct fixture *fixture = *state;
    assert_good(run_clusters(
        fixture,
        BEGIN "cvta.shared.u64 %rd2, words; xor.b32 %r5, %r1, 1; mapa.u64 %rd3, %rd2, %r5;\n"
              "mov.u32 %r9, 0;\n"
              "isspacep.shared %p1, %rd2; @%p1 or.b32 %r9, %r9, 1;\n"
              "isspacep.shared %p1, %rd3; @%p1 or.b32 %r9, %r9, 2;\n"
              "isspacep.shared::cta %p1, %rd3; @%p1 or.b32 %r9, %r9, 4;\n"
              "isspacep.shared::cluster %p1, %rd2; @%p1 or.b32 %r9, %r9, 8;\n"
              "isspacep.shared::cluster %p1, %rd3; @%p1 or.b32 %r9, %r9, 16;\n"
              "isspacep.global %p1, %rd3; @%p1 or.b32 %r9, %r9, 32;\n"
              "isspacep.shared::cluster %p1, %rd1; @%p1 or.b32 %r9, %r9, 64;\n"
              "getctarank.u64 %r10, %rd3; mad.lo.u32 %r9, %r10, 256, %r9;\n"
              "getctarank.u64 %r10, %rd2; mad.lo.u32 %r9, %r10, 4096, %r9;\n"
              "getctarank.shared::cluster.u32 %r10, words; mad.lo.u32 %r9, %r10, 65536, %r9;\n" //
        SYNC PUT("%r9") "ret; }",
        (struct shape){{2, 1, 1}, {2, 1, 1}, 1}));
    for (uint32_t rank = 0; rank < 2; rank++)
        assert_int_equal(fixture->memory[rank],
                         (1 | 8 | 16) + 256 * (rank ^ 1) + 4096 * rank + 65536 * rank);
}

// All ways to name the own block's memory: the same in clusters as without.
static void the_own_memory_is_used_as_without_clusters(void **state)
{
    struct fixture *fixture = *state;
    static const char text[] = BEGIN
        ".shared .align 16 .b8 rows[1024]; .reg .b16 %h<4>;\n"
        "add.u64 %rd2, %rd1, 8192; mul.wide.u32 %rd3, %r3, 16; add.u64 %rd2, %rd2, %rd3;\n"
        "mul.lo.u32 %r5, %r3, 77; mov.u32 %r6, 0x10001; st.global.v4.u32 [%rd2], {%r5, %r6, %r3, "
        "%r5};\n"
        "bar.sync 0; mov.u32 %r7, rows; mad.lo.u32 %r8, %r3, 16, %r7;\n"
        "cp.async.ca.shared.global [%r8], [%rd2], 16; cp.async.wait_all; bar.sync 0;\n"
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r9, %r10}, [%r8];\n"
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r8+512], {%r9};\n"
        "bar.sync 0; mov.u64 %rd4, rows; cvta.shared.u64 %rd5, %rd4; mul.wide.u32 %rd6, %r3, 4;\n"
        "add.u64 %rd6, %rd5, %rd6; ld.u32 %r11, [%rd6+512]; xor.b32 %r9, %r9, %r11;\n"
        "st.shared.u32 [words+8], %r6; bar.sync 0; red.shared.add.u32 [words+8], 3; bar.sync 0;\n"
        "ld.shared.u32 %r11, [words+8]; xor.b32 %r9, %r9, %r11; ld.shared.u32 %r11, [rows+64];\n"
        "add.u32 %r9, %r9, %r11; and.b32 %r12, %r3, 31; mov.u32 %r13, rows; shl.b32 %r14, %r12, "
        "2;\n"
        "add.u32 %r13, %r13, %r14; ld.volatile.shared.u16 %h1, [%r13+2]; cvt.u32.u16 %r11, %h1;\n"
        "add.u32 %r9, %r9, %r11; atom.shared.exch.b32 %r11, [%r13], %r9; ld.shared.v2.u32 {%r15, "
        "%r16}, [%r8];\nadd.u32 %r10, %r10, %r15; xor.b32 %r9, %r9, %r10;\n" PUT("%r9") "ret; }";
    static uint32_t without[128];
    assert_good(run_clusters(fixture, text, (struct shape){{4, 1, 1}, {0}, 32}));
    memcpy(without, fixture->memory, sizeof(without));
    assert_good(run_clusters(fixture, text, (struct shape){{4, 1, 1}, {4, 1, 1}, 32}));
    assert_memory_equal(without, fixture->memory, sizeof(without));
    assert_memory_equal(without, without + 32, 128);
    assert_int_not_equal(without[0], without[1]);
}

static void stores_and_atomics_reach_other_blocks(void **state)
{
    struct fixture *fixture = *state;
    assert_good(run_clusters(
        fixture,
        BEGIN "mapa.shared::cluster.u32 %r5, words, 0; add.u32 %r6, %r1, 1;\n" SYNC
              "atom.shared::cluster.add.u32 %r7, [%r5], %r6;\n"
              "red.shared::cluster.max.u32 [%r5+4], %r4;\n"
              "cvta.shared.u64 %rd2, words; mapa.u64 %rd3, %rd2, 0; atom.or.b32 %r7, [%rd3+8], "
              "%r6;\n"
              "mad.lo.u32 %r8, %r1, 4, %r5; st.shared::cluster.u32 [%r8+16], %r6;\n"
              "mov.b64 %rd4, {%r6, %r4}; mad.lo.u32 %r8, %r1, 8, %r5; st.shared::cluster.u64 "
              "[%r8+64], %rd4;\n" SYNC
              "setp.ne.u32 %p1, %r1, 0; @%p1 ret; setp.gt.u32 %p1, %r3, 31; @%p1 ret;\n"
              "shl.b32 %r9, %r3, 2; mov.u32 %r10, words; add.u32 %r10, %r10, %r9;\n"
              "ld.shared.u32 %r11, [%r10]; shr.u32 %r12, %r4, 2; mad.lo.u32 %r12, %r12, 32, %r3;\n"
              "mul.wide.u32 %rd2, %r12, 4; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r11; "
              "ret; }",
        (struct shape){{8, 1, 1}, {4, 1, 1}, 64}));
    for (uint32_t cluster = 0; cluster < 2; cluster++) {
        const uint32_t *is = &fixture->memory[cluster * 32];
        assert_int_equal(is[0], 64 * (1 + 2 + 3 + 4));
        assert_int_equal(is[1], 4 * cluster + 3);
        assert_int_equal(is[2], 1 | 2 | 3 | 4);
        for (uint32_t rank = 0; rank < 4; rank++) {
            assert_int_equal(is[4 + rank], rank + 1);
            assert_int_equal(is[16 + 2 * rank], rank + 1);
            assert_int_equal(is[17 + 2 * rank], 4 * cluster + rank);
        }
    }
}

// Between arrival and wait a thread goes on. The block with rank 0 counts the arrivals that it sees
// in each of many phases, in which the others have written before they arrived.
static void the_barrier_has_phases(void **state)
{
    struct fixture *fixture = *state;
    assert_good(run_clusters(
        fixture,
        BEGIN "mapa.shared::cluster.u32 %r5, words, 0; mov.u32 %r6, 0; mov.u32 %r9, 0;\n" SYNC
              "LOOP: atom.shared::cluster.add.u32 %r7, [%r5], 1;\n"
              "barrier.cluster.arrive; add.u32 %r6, %r6, 1; barrier.cluster.wait;\n"
              "ld.shared::cluster.u32 %r8, [%r5]; sub.u32 %r8, %r8, %r6; add.u32 %r9, %r9, %r8;\n"
              "barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n"
              "setp.lt.u32 %p1, %r6, 20; @%p1 bra LOOP;\n" PUT("%r9") "ret; }",
        (struct shape){{12, 1, 1}, {4, 1, 1}, 96}));
    // In phase i the counter is i * 4 * 96.
    for (uint32_t i = 0; i < 12 * 96; i++)
        assert_int_equal(fixture->memory[i], 20 * 21 / 2 * (4 * 96 - 1));
}

// Lanes arrive and wait in different branches, and threads that have ended are not waited for.
static void threads_may_end_and_diverge(void **state)
{
    struct fixture *fixture = *state;
    assert_good(run_clusters(
        fixture,
        BEGIN "setp.eq.u32 %p1, %r1, 1; setp.gt.u32 %p2, %r3, 39; and.pred %p1, %p1, %p2;\n"
              "@%p1 exit;\n"
              "and.b32 %r5, %r3, 1; setp.eq.u32 %p2, %r5, 0; @%p2 bra EVEN;\n"
              "barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r6, 1; bra DONE;\n"
              "EVEN: barrier.cluster.arrive; mov.u32 %r6, 2; barrier.cluster.wait;\n"
              "DONE: setp.eq.u32 %p3, %r3, 3; @%p3 exit;\n"
              "barrier.cluster.arrive; barrier.cluster.wait;\n" PUT("%r6") "ret; }",
        (struct shape){{4, 1, 1}, {2, 1, 1}, 64}));
    for (uint32_t i = 0; i < 256; i++) {
        const uint32_t thread = i % 64, rank = i / 64 % 2;
        const bool ended = (rank && thread > 39) || thread == 3;
        assert_int_equal(fixture->memory[i], ended ? 0 : 2 - thread % 2);
    }
}

static void accesses_outside_the_cluster_are_told(void **state)
{
    struct fixture *fixture = *state;
    expect_fault(fixture,
                 "mapa.shared::cluster.u32 %r5, words, 2; ld.shared::cluster.u32 %r6, [%r5];\n",
                 SIM_FAULT_CLUSTER, "the cluster has no block with rank 2");
    expect_fault(fixture,
                 "cvta.shared.u64 %rd2, words; mapa.u64 %rd3, %rd2, 2; st.u32 [%rd3], 1;\n",
                 SIM_FAULT_ADDRESS, "invalid write of 4 bytes");
    expect_fault(fixture,
                 "mapa.shared::cluster.u32 %r5, words, 1; "
                 "st.shared::cluster.u32 [%r5+256], 1;\n" SYNC,
                 SIM_FAULT_ADDRESS, "1 bytes beyond the block's memory, which has 256 bytes");
    expect_fault(fixture,
                 "xor.b32 %r6, %r1, 1; mapa.shared::cluster.u32 %r5, words, %r6; "
                 "ld.shared::cta.u32 %r6, [%r5];\n" SYNC,
                 SIM_FAULT_INSTRUCTION, ",0,0), which only .shared::cluster reaches");
}

// The block with rank 1 ends at once. Rank 0 spins until then and reads its memory.
static void memory_of_blocks_that_have_ended_is_told(void **state)
{
    struct fixture *fixture = *state;
    static const char ways[2][128] = {
        "ld.shared::cluster.u32 %r6, [%r5];\n",
        "cvta.shared.u64 %rd2, words; mapa.u64 %rd3, %rd2, 1; ld.u32 %r6, [%rd3];\n",
    };
    for (int i = 0; i < 2; i++) {
        char body[1024];
        snprintf(body, sizeof(body), "%s%s",
                 "mapa.shared::cluster.u32 %r5, words, 1; setp.eq.u32 %p1, %r1, 1; @%p1 exit;\n"
                 "barrier.cluster.arrive; barrier.cluster.wait;\n",
                 ways[i]);
        expect_fault(fixture, body, SIM_FAULT_CLUSTER, "which has ended");
    }
}

static void waits_that_cannot_end_are_told(void **state)
{
    struct fixture *fixture = *state;
    expect_fault(fixture,
                 "setp.eq.u32 %p1, %r1, 1; @%p1 bra B; barrier.cluster.arrive; "
                 "barrier.cluster.wait; ret;\n"
                 "B: setp.gt.u32 %p1, %r3, 3; @%p1 bra C; bar.sync 1, 64; C: bar.sync 2, 64;\n",
                 SIM_FAULT_DEADLOCK, "deadlock at ");
    expect_fault(fixture, "barrier.cluster.arrive; barrier.cluster.arrive;\n",
                 SIM_FAULT_INSTRUCTION, "a second arrival at the barrier of the cluster");
    expect_fault(fixture, "barrier.cluster.wait;\n", SIM_FAULT_INSTRUCTION, "without an arrival");
}

// More clusters than run at once, with memory in which each block must find zeros.
static void clusters_start_anew(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 5; i++) {
        assert_good(run_clusters(fixture,
                                 BEGIN
                                 "mapa.shared::cluster.u32 %r5, words, 0; " SYNC
                                 "atom.shared::cluster.add.u32 %r7, [%r5], 1;\n" SYNC
                                 "ld.shared::cluster.u32 %r8, [%r5];\n" SYNC PUT("%r8") "ret; }",
                                 (struct shape){{1024, 1, 1}, {8, 1, 1}, 4}));
        for (uint32_t k = 0; k < 4096; k++)
            assert_int_equal(fixture->memory[k], 32);
    }
}

static void kernels_say_their_clusters(void **state)
{
    struct fixture *fixture = *state;
    static const char text[] =
        HEAD ".entry a() .reqnctapercluster 2, 3 { ret; }\n"
             ".entry b() .explicitcluster .maxclusterrank 4 { ret; }\n.entry c() { ret; }\n";
    struct sim_ptx ptx = {text, strlen(text), "test"};
    struct base_error error = {0};
    assert_int_equal(sim_module_load(fixture->device, &ptx, 1, &fixture->module, &error), BASE_OK);
    const struct sim_kernel_info *a = sim_kernel_info(sim_module_kernel(fixture->module, "a"));
    const struct sim_kernel_info *b = sim_kernel_info(sim_module_kernel(fixture->module, "b"));
    const struct sim_kernel_info *c = sim_kernel_info(sim_module_kernel(fixture->module, "c"));
    assert_int_equal(a->cluster[0] * 100 + a->cluster[1] * 10 + a->cluster[2], 231);
    assert_int_equal(b->cluster[0], 0);
    assert_true(b->explicit_cluster && b->max_cluster == 4);
    assert_true(!c->explicit_cluster && !c->max_cluster && !c->cluster[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(special_registers_place_blocks_in_clusters),
        TEST(a_kernel_without_clusters_has_clusters_of_one_block),
        TEST(blocks_read_each_others_shared_memory),
        TEST(own_addresses_are_valid_in_the_whole_cluster),
        TEST(spaces_and_ranks_of_addresses_are_told),
        TEST(the_own_memory_is_used_as_without_clusters),
        TEST(stores_and_atomics_reach_other_blocks),
        TEST(the_barrier_has_phases),
        TEST(threads_may_end_and_diverge),
        TEST(accesses_outside_the_cluster_are_told),
        TEST(memory_of_blocks_that_have_ended_is_told),
        TEST(waits_that_cannot_end_are_told),
        TEST(clusters_start_anew),
        TEST(kernels_say_their_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
