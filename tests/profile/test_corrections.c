// SPDX-License-Identifier: Apache-2.0
// What a plan has done is written and read back, every field; the view tells the same; the last
// record of a row holds; a remedy that this version does not know is none.
#include "testing.h"

#include "sample.h"

static bool see_correction(void *user, const struct profile_correction *row)
{
    const struct profile_correction *wanted = &sample_corrections[(*(size_t *)user)++];
    assert_int_equal(row->row, wanted->row);
    assert_int_equal(row->remedy, wanted->remedy);
    assert_int_equal(row->path, wanted->path);
    assert_int_equal(row->applied, wanted->applied);
    assert_int_equal(row->left, wanted->left);
    assert_int_equal(row->bytes, wanted->bytes);
    assert_int_equal(row->paid, wanted->paid);
    assert_int_equal(row->peak_bytes, wanted->peak_bytes);
    assert_int_equal(row->native_peak_bytes, wanted->native_peak_bytes);
    return true;
}

static void corrections_are_read_back_and_seen_in_their_view(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile;
    size_t count = 0;
    check_good(sample_write(test_path, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_good(profile_each_correction(profile, see_correction, &count, &error), &error);
    assert_int_equal(count, SAMPLE_COUNT(sample_corrections));
    check_query(profile, "SELECT * FROM v_corrections",
                "|||0|0|0|0|4096|12288\n"
                "1|drop-sync|1|90|2|0|7||\n"
                "2|pool|2|3|0|12288|0||\n"
                "3|last-use||0|0|0|0||\n");
    profile_close(profile);
}

static bool see_remedy(void *user, const struct profile_correction *row)
{
    *(enum profile_remedy *)user = row->remedy;
    return true;
}

static void the_last_of_a_row_holds_and_unknown_remedies_are_none(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    struct profile *profile;
    struct profile_correction row = {.row = 1, .remedy = PROFILE_REMEDY_KINDS, .applied = 1};
    enum profile_remedy remedy = PROFILE_REMEDY_BACK;
    check_good(profile_create(test_path, true, &writer, &error), &error);
    for (unsigned i = 0; i < 3; i++, row.applied *= 2)
        check_good(profile_add_correction(writer, &row, &error), &error);
    check_good(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_query(profile, "SELECT row, remedy, applied FROM v_corrections", "1||4\n");
    check_good(profile_each_correction(profile, see_remedy, &remedy, &error), &error);
    assert_int_equal(remedy, PROFILE_REMEDY_NONE);
    profile_close(profile);
    check_text(profile_remedy_word(PROFILE_REMEDY_ASYNC_COPY), "async-copy");
    check_text(profile_remedy_word(PROFILE_REMEDY_KINDS), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(corrections_are_read_back_and_seen_in_their_view,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_last_of_a_row_holds_and_unknown_remedies_are_none,
                                        make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
