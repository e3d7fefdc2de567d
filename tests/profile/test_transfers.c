// SPDX-License-Identifier: Apache-2.0
// Every field of copies' transfers and of host memory is written and read back, and the views
// agree. The first record of a copy, or of a block, wins.
#include "testing.h"

#include "sample.h"

static bool see_hash(void *user, const struct profile_hash *row)
{
    const struct profile_hash *wanted = &sample_hashes[(*(size_t *)user)++];
    assert_int_equal(row->copy, wanted->copy);
    assert_int_equal(row->at, wanted->at);
    assert_int_equal(row->high, wanted->high);
    assert_int_equal(row->low, wanted->low);
    assert_int_equal(row->took_ns, wanted->took_ns);
    assert_int_equal(row->same, wanted->same);
    return true;
}

static bool see_copy_source(void *user, const struct profile_copy_source *row)
{
    const struct profile_copy_source *wanted = &sample_copy_sources[(*(size_t *)user)++];
    assert_int_equal(row->copy, wanted->copy);
    assert_int_equal(row->at, wanted->at);
    assert_int_equal(row->took_ns, wanted->took_ns);
    assert_int_equal(row->same, wanted->same);
    return true;
}

static bool see_block(void *user, const struct profile_block *row)
{
    const struct profile_block *wanted = &sample_blocks[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    assert_int_equal(row->address, wanted->address);
    assert_int_equal(row->bytes, wanted->bytes);
    assert_int_equal(row->allocated_ns, wanted->allocated_ns);
    assert_int_equal(row->allocated_path, wanted->allocated_path);
    assert_int_equal(row->kind, wanted->kind);
    return true;
}

static bool see_block_end(void *user, const struct profile_block_end *row)
{
    const struct profile_block_end *wanted = &sample_block_ends[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    assert_int_equal(row->freed_ns, wanted->freed_ns);
    assert_int_equal(row->thread, wanted->thread);
    assert_int_equal(row->freed_path, wanted->freed_path);
    return true;
}

static void transfers_are_read_back_and_seen_in_their_views(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile;
    size_t hashes = 0, sources = 0, blocks = 0, ends = 0;
    check_good(sample_write(test_path, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_good(profile_each_hash(profile, see_hash, &hashes, &error), &error);
    assert_int_equal(hashes, SAMPLE_COUNT(sample_hashes));
    check_good(profile_each_copy_source(profile, see_copy_source, &sources, &error), &error);
    assert_int_equal(sources, SAMPLE_COUNT(sample_copy_sources));
    check_good(profile_each_block(profile, see_block, &blocks, &error), &error);
    assert_int_equal(blocks, SAMPLE_COUNT(sample_blocks));
    check_good(profile_each_block_end(profile, see_block_end, &ends, &error), &error);
    assert_int_equal(ends, SAMPLE_COUNT(sample_block_ends));
    check_query(profile,
                "SELECT call, host_memory, host_block, hash, same_before, hashed_by, hash_ns"
                " FROM v_copies ORDER BY call",
                "3|allocated|1|ffffffffffffffff0000000000000abc|0|5|70\n11||||||\n");
    check_query(profile,
                "SELECT source_checked_by, source_same, source_ns FROM v_copies WHERE call = 3",
                "6|1|40\n");
    check_query(profile, "SELECT * FROM v_host_blocks ORDER BY number",
                "1|allocated|28672|65536|-100|1|1|800|1|2\n2|file|36864|4096|0||0|||\n");
    profile_close(profile);
}

static void the_first_of_a_copy_or_a_block_holds(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    struct profile *profile;
    struct profile_hash hash = {.copy = 1, .low = 1, .same = PROFILE_SAME_YES};
    struct profile_block block = {.number = 1, .bytes = 1, .kind = PROFILE_HOST_MAPPED};
    check_good(profile_create(test_path, true, &writer, &error), &error);
    for (unsigned i = 0; i < 2; i++, hash.low++, block.bytes++) {
        check_good(profile_add_hash(writer, &hash, &error), &error);
        check_good(profile_add_block(writer, &block, &error), &error);
    }
    check_good(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_query(profile, "SELECT low, same FROM hashes", "1|2\n");
    check_query(profile, "SELECT kind, bytes FROM v_host_blocks", "mapped|1\n");
    profile_close(profile);
    check_text(profile_host_word(PROFILE_HOST_REGISTERED), "registered");
    check_text(profile_host_word(PROFILE_HOST_KINDS), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(transfers_are_read_back_and_seen_in_their_views,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_first_of_a_copy_or_a_block_holds, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
