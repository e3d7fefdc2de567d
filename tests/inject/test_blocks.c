// SPDX-License-Identifier: Apache-2.0
// The table of blocks finds a block by any of its addresses, exactly to the byte. Blocks that were
// taken out are not found, a full set keeps the newest, and threads do not lose each other's
// blocks.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/guard/blocks.h"

static struct guard_blocks *table;

static int make_table(void **state)
{
    (void)state;
    table = aligned_alloc(64, (sizeof(*table) + 63) / 64 * 64);
    if (table)
        memset(table, 0, sizeof(*table));
    return table == NULL;
}

static int free_table(void **state)
{
    (void)state;
    free(table);
    return 0;
}

static void put(uint64_t address, uint64_t bytes)
{
    const struct guard_block block = {
        .address = address, .bytes = bytes, .depth = 1, .frames = {address ^ bytes}};
    guard_blocks_put(table, &block);
}

static uint64_t start_of(uint64_t address)
{
    struct guard_block *block = guard_blocks_borrow(table, address);
    if (!block)
        return 0;
    const uint64_t start = block->address;
    assert_int_equal(block->frames[0], block->address ^ block->bytes);
    guard_blocks_give_back(table, block);
    return start;
}

static void a_block_is_found_to_the_byte(void **state)
{
    (void)state;
    struct guard_block taken;
    assert_false(guard_blocks_may_hold(table, 0x10000));
    assert_int_equal(start_of(0x10000), 0);
    put(0x10000, 0x1000);
    put(0x11000, 0x10);
    assert_true(guard_blocks_may_hold(table, 0x10000));
    assert_int_equal(start_of(0xffff), 0);
    assert_int_equal(start_of(0x10000), 0x10000);
    assert_int_equal(start_of(0x10fff), 0x10000);
    assert_int_equal(start_of(0x11000), 0x11000);
    assert_int_equal(start_of(0x1100f), 0x11000);
    assert_int_equal(start_of(0x11010), 0);
    put(0x10000, 0x20); // replaces the block
    assert_int_equal(start_of(0x10fff), 0);
    assert_int_equal(start_of(0x1001f), 0x10000);
    assert_false(guard_blocks_take(table, 0x10001, &taken));
    assert_true(guard_blocks_take(table, 0x10000, &taken));
    assert_int_equal(taken.bytes, 0x20);
    assert_false(guard_blocks_take(table, 0x10000, &taken));
    assert_int_equal(start_of(0x10000), 0);
    assert_false(guard_blocks_may_hold(table, 0x10000));
    assert_int_equal(start_of(0x11000), 0x11000);
}

static void the_innermost_of_several_is_found(void **state)
{
    (void)state;
    put(0x100000, 0x100000);
    put(0x140000, 0x1000);
    assert_int_equal(start_of(0x140fff), 0x140000);
    assert_int_equal(start_of(0x141000), 0x100000);
    assert_int_equal(start_of(0x13ffff), 0x100000);
}

static void overlaps_are_taken_one_by_one(void **state)
{
    (void)state;
    struct guard_block taken;
    uint64_t sum = 0;
    put(0x1000, 0x1000);
    put(0x3000, 0x1000);
    put(0x5000, 0x1000);
    assert_false(guard_blocks_take_overlap(table, 0x2000, 0x3000, &taken));
    while (guard_blocks_take_overlap(table, 0x1fff, 0x3001, &taken))
        sum += taken.address;
    assert_int_equal(sum, 0x4000);
    assert_int_equal(start_of(0x5000), 0x5000);
}

static void of_too_many_the_newest_are_kept(void **state)
{
    (void)state;
    enum { ALL = 3 * BLOCKS_SETS * BLOCKS_WAYS };
    unsigned found = 0, newest = 0;
    for (uint64_t i = 1; i <= ALL; i++)
        put(i << 16, 1 << 16);
    for (uint64_t i = 1; i <= ALL; i++) {
        struct guard_block taken;
        const bool there = guard_blocks_take(table, i << 16, &taken);
        found += there;
        newest += there && i > ALL - BLOCKS_SETS;
    }
    assert_in_range(found, BLOCKS_SETS * BLOCKS_WAYS * 9 / 10, BLOCKS_SETS * BLOCKS_WAYS);
    assert_in_range(newest, BLOCKS_SETS * 9 / 10, BLOCKS_SETS);
}

// Compares the table with a list that is searched from end to end.
static void random_blocks_are_as_a_list_tells(void **state)
{
    (void)state;
    enum { MOST = 200, STEPS = 20000 };
    uint64_t bytes[MOST] = {0}; // of the block at (i + 1) * 65536
    unsigned random = 1;
    for (unsigned step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        const uint64_t i = random >> 8 & 0xff, offset = random >> 16;
        const uint64_t address = (i + 1) << 16;
        struct guard_block taken;
        if (i >= MOST)
            continue;
        if (random % 3 == 0) {
            bytes[i] = offset + 1;
            put(address, bytes[i]);
        } else if (random % 3 == 1) {
            assert_int_equal(guard_blocks_take(table, address, &taken), bytes[i] != 0);
            bytes[i] = 0;
        } else {
            assert_int_equal(start_of(address + offset), offset < bytes[i] ? address : 0);
        }
    }
}

enum { THREADS = 4, ROUNDS = 20000 };

// Looking up and taking fail if another thread has held a block for 50 ms, which happens if the
// system preempts that thread. A block that is lost is not found later either.
enum { PATIENCE = 100 };

static bool finds(uint64_t address, uint64_t start)
{
    unsigned tries = 0;
    while (start_of(address) != start && ++tries < PATIENCE)
        ;
    return tries < PATIENCE;
}

static bool takes(uint64_t address)
{
    struct guard_block taken = {0};
    unsigned tries = 0;
    while (!guard_blocks_take(table, address, &taken) && ++tries < PATIENCE)
        ;
    return taken.address == address;
}

// Each thread puts and takes its own blocks, and all threads look up one block.
static void *work(void *number)
{
    const uint64_t own = ((uint64_t)(uintptr_t)number + 1) << 40;
    uintptr_t bad = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const uint64_t address = own + (i % 64 << 16);
        put(address, 1 << 16);
        bad += !finds(address + i % 65536, address);
        bad += !finds(0x5555, 0x5000);
        bad += i % 3 && !takes(address);
    }
    return (void *)bad; // NOLINT(performance-no-int-to-ptr)
}

static void threads_do_not_lose_blocks(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    put(0x5000, 0x1000);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0); // NOLINT
    for (unsigned i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
}

// A block that another thread had borrowed when the process forked is not known in the child.
static void a_child_does_not_wait_for_other_threads(void **state)
{
    (void)state;
    struct guard_block taken;
    put(0x10000, 0x1000);
    put(0x20000, 0x1000);
    assert_non_null(guard_blocks_borrow(table, 0x10000)); // and not given back
    guard_blocks_forked(table);
    assert_int_equal(start_of(0x10800), 0);
    assert_int_equal(start_of(0x20800), 0x20000);
    put(0x10000, 0x1000);
    assert_int_equal(start_of(0x10800), 0x10000);
    assert_true(guard_blocks_take(table, 0x10000, &taken));
    assert_false(guard_blocks_take_overlap(table, 0x10000, 0x11000, &taken));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_block_is_found_to_the_byte, make_table, free_table),
        cmocka_unit_test_setup_teardown(the_innermost_of_several_is_found, make_table, free_table),
        cmocka_unit_test_setup_teardown(overlaps_are_taken_one_by_one, make_table, free_table),
        cmocka_unit_test_setup_teardown(of_too_many_the_newest_are_kept, make_table, free_table),
        cmocka_unit_test_setup_teardown(random_blocks_are_as_a_list_tells, make_table, free_table),
        cmocka_unit_test_setup_teardown(threads_do_not_lose_blocks, make_table, free_table),
        cmocka_unit_test_setup_teardown(a_child_does_not_wait_for_other_threads, make_table,
                                        free_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
