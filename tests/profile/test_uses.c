// SPDX-License-Identifier: Apache-2.0
// Every field of first uses is written and read back, and the view agrees. The last use of the same
// data wins.
#include "testing.h"

#include "sample.h"

static bool see_use(void *user, const struct profile_use *row)
{
    const struct profile_use *wanted = &sample_uses[(*(size_t *)user)++];
    assert_int_equal(row->sync, wanted->sync);
    assert_int_equal(row->copy, wanted->copy);
    assert_int_equal(row->object, wanted->object);
    assert_int_equal(row->node, wanted->node);
    assert_int_equal(row->kind, wanted->kind);
    assert_int_equal(row->address, wanted->address);
    assert_int_equal(row->offset, wanted->offset);
    assert_int_equal(row->bytes, wanted->bytes);
    assert_int_equal(row->unwatched_bytes, wanted->unwatched_bytes);
    assert_int_equal(row->time_ns, wanted->time_ns);
    assert_int_equal(row->thread, wanted->thread);
    assert_int_equal(row->path, wanted->path);
    return true;
}

static void first_uses_are_read_back_and_seen_in_their_view(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile;
    size_t count = 0;
    check_good(sample_write(test_path, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_good(profile_each_use(profile, see_use, &count, &error), &error);
    assert_int_equal(count, SAMPLE_COUNT(sample_uses));
    check_query(profile, "SELECT * FROM v_first_uses ORDER BY sync",
                "4|3|||8208|16|500|1|1|read|64|8\n"
                "5|3|2|7|12288|0|600|1|2|system|8|0\n"
                "9|||1|4096|0|700|||unwatched|4096|0\n");
    profile_close(profile);
}

static void the_last_of_the_same_data_holds(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    struct profile *profile;
    struct profile_use use = {.sync = 2, .copy = 1, .kind = PROFILE_USE_UNKNOWN, .time_ns = 10};
    check_good(profile_create(test_path, true, &writer, &error), &error);
    check_good(profile_add_use(writer, &use, &error), &error);
    use.kind = PROFILE_USE_WRITE;
    use.time_ns = 20;
    check_good(profile_add_use(writer, &use, &error), &error);
    use.node = 1; // different data
    check_good(profile_add_use(writer, &use, &error), &error);
    check_good(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_query(profile, "SELECT node, how, ns FROM v_first_uses ORDER BY node",
                "|write|20\n1|write|20\n");
    profile_close(profile);
    check_text(profile_use_kind_word(PROFILE_USE_SYSTEM), "system");
    check_text(profile_use_kind_word(PROFILE_USE_KINDS), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(first_uses_are_read_back_and_seen_in_their_view,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_last_of_the_same_data_holds, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
