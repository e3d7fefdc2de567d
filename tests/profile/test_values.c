// SPDX-License-Identifier: Apache-2.0
// Contents of objects and silent stores are written and read back, and the views show values as
// numbers of their type.
#include <math.h>

#include "written.h"

static void check_field(const struct profile_value_field *row,
                        const struct profile_value_field *wanted)
{
#define FIELD_AS_SAME(type, name)                   assert_int_equal(row->name, wanted->name);
#define FIELD_AS_WIDER(record_type, row_type, name) assert_int_equal(row->name, wanted->name);
#define FIELD_AS_KIND(list, name)                   assert_int_equal(row->name, wanted->name);
    FACTS_VALUE_FIELD(FIELD_AS)
    assert_memory_equal(row->candidates, wanted->candidates, sizeof(row->candidates));
    assert_memory_equal(row->roundings, wanted->roundings, sizeof(row->roundings));
}

static bool see_contents(void *user, const struct profile_contents *row)
{
    static const size_t order[] = {1, 2, 0}; // by call
    const struct profile_contents *wanted = &sample_contents[order[(*(size_t *)user)++]];
    FACTS_CONTENTS(FIELD_AS)
    assert_int_equal(row->field_count, wanted->field_count);
    for (unsigned i = 0; i < row->field_count; i++)
        check_field(&row->fields[i], &wanted->fields[i]);
    return true;
}

static bool see_stored(void *user, const struct profile_stored *row)
{
    const struct profile_stored *wanted = &sample_stores[(*(size_t *)user)++];
    FACTS_STORED(FIELD_AS)
    return true;
}

static bool see_weighed(void *user, const struct profile_weighed *row)
{
    const struct profile_weighed *wanted = &sample_weighed[(*(size_t *)user)++];
    FACTS_WEIGHED(FIELD_AS)
    return true;
}

static bool see_accessed(void *user, const struct profile_accessed *row)
{
    const struct profile_accessed *wanted = &sample_accessed[(*(size_t *)user)++];
    FACTS_ACCESSED(FIELD_AS)
    return true;
}

static bool see_requests(void *user, const struct profile_requests *row)
{
    const struct profile_requests *wanted = &sample_requests[(*(size_t *)user)++];
    FACTS_REQUESTS(FIELD_AS)
    return true;
}

static void rows_are_read_back(void **state)
{
    (void)state;
    struct base_error error = {0};
    size_t contents = 0, stores = 0, weighed = 0, accessed = 0, requests = 0;
    struct profile *profile = write_sample();
    check_good(profile_each_contents(profile, see_contents, &contents, &error), &error);
    assert_int_equal(contents, SAMPLE_COUNT(sample_contents));
    check_good(profile_each_stored(profile, see_stored, &stores, &error), &error);
    assert_int_equal(stores, SAMPLE_COUNT(sample_stores));
    check_good(profile_each_weighed(profile, see_weighed, &weighed, &error), &error);
    assert_int_equal(weighed, SAMPLE_COUNT(sample_weighed));
    check_good(profile_each_accessed(profile, see_accessed, &accessed, &error), &error);
    assert_int_equal(accessed, SAMPLE_COUNT(sample_accessed));
    check_good(profile_each_requests(profile, see_requests, &requests, &error), &error);
    assert_int_equal(requests, SAMPLE_COUNT(sample_requests));
    profile_close(profile);
}

static void views_show_typed_values(void **state)
{
    (void)state;
    struct profile *profile = write_sample();
    check_query(profile, "SELECT * FROM v_accessed",
                "5||1|read|8|0|f32|0x80000000|0x0|0|0|1\n"
                "5||2|written|4|0|s32|0x7|0x7|1|7|0\n"
                "9||2|read|16|8|f64|0x7ff8000000000000|0x3ff0000000000000|0|nan|0\n");
    check_query(profile, "SELECT * FROM v_contents ORDER BY id",
                "1|9|3|2|written|4000|4000|4000|1|0|2|2|fedcba98765432100000000000000abc|1|\n"
                "2|5||1|found|4000|4000|0|1|1|1|1|00000000000000010000000000000002|0|8\n"
                "3|5||2|written|4000|4000|4000|1|0|1|2|00000000000000000000000000000000|0|4\n");
    check_query(profile, "SELECT * FROM v_content_fields ORDER BY contents, field",
                "2|1|0|f32|500|300|1|-2|1.5|0xffc00000|0x1|400|499|498|12|0.5|-4.94066e-324|2\n"
                "2|2|4|u64|500|0|0|3|18446744073709551615|0xffffffffffffffff|0x0|0|0|0|257|"
                "18446744073709551615|7|500\n"
                "3|1|0|raw|1000|0|0|0x00000010|0x00000010|0x10|0x10|0|0|0|1|||0\n");
    check_query(profile, "SELECT * FROM v_content_values ORDER BY contents, field, rank",
                "2|1|1|0|300\n2|1|2|nan|1\n2|2|1|18446744073709551615|10\n2|2|2|3|9\n"
                "3|1|1|0x00000010|1000\n");
    check_query(profile, "SELECT * FROM v_content_roundings ORDER BY bits DESC",
                "2|1|10|1|301|3\n2|1|4|2|400|4\n");
    check_query(profile, "SELECT * FROM v_stores ORDER BY call",
                "5||1|2|2|1000|900|8|640\n9|2|2|1||64|0|4|\n");
    check_query(profile, "SELECT * FROM v_weighed ORDER BY call",
                "5||1|4|12|f32|900|2|500\n9|2|2|0|8|u64|7||0\n");
    profile_close(profile);
}

static bool see_columns(void *user, unsigned count, const char *const *names)
{
    (void)user;
    (void)names;
    return count == 1;
}

static bool see_real(void *user, unsigned count, const struct profile_cell *cells)
{
    (void)count;
    assert_int_equal(cells[0].kind, PROFILE_CELL_REAL);
    *(double *)user = cells[0].real;
    return true;
}

// The views compute every double exactly.
static void reals_are_exact(void **state)
{
    (void)state;
    static const double values[] = {
        0.0,
        1.0,
        -1.0,
        0.1,
        1e300,
        -1e-300,
        0x1p-1074,
        0x1.8p-1073,
        0x1p-1022,
        0x1p52,
        0x1p53,
        0x1p-53,
        1e22,
        1e-5,
        12345.678,
        0x1.fffffffffffffp1023,
        0x1p31,
        0x1p32,
        0x1p64,
        0x1p63,
        0x1.fffffffffffffp-1023,
        -INFINITY,
        INFINITY,
        3.0e-39,
    };
    struct base_error error = {0};
    struct profile_writer *writer;
    struct profile *profile;
    check_good(profile_create(test_path, true, &writer, &error), &error);
    for (size_t i = 0; i < SAMPLE_COUNT(values); i++) {
        struct profile_contents contents = {.call = i + 1,
                                            .object = 1,
                                            .kind = PROFILE_CONTENTS_WRITTEN,
                                            .stride = 8,
                                            .field_count = 1};
        contents.fields[0] =
            (struct profile_value_field){.type = PROFILE_TYPE_F64, .elements = 1, .distinct = 1};
        memcpy(&contents.fields[0].least, &values[i], sizeof(values[i]));
        check_good(profile_add_contents(writer, &contents, &error), &error);
    }
    check_good(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    for (size_t i = 0; i < SAMPLE_COUNT(values); i++) {
        char sql[160];
        snprintf(sql, sizeof(sql), "SELECT least FROM v_content_fields WHERE contents = %zu",
                 i + 1);
        double got = NAN;
        check_good(profile_query(profile, sql, &(struct profile_sink){see_columns, see_real, &got},
                                 &error),
                   &error);
        assert_memory_equal(&got, &values[i], sizeof(got));
    }
    profile_close(profile);
}

static void words_of_values(void **state)
{
    (void)state;
    check_text(profile_value_type_word(PROFILE_TYPE_BF16), "bf16");
    check_text(profile_value_type_word(PROFILE_TYPES), "?");
    check_text(profile_contents_kind_word(PROFILE_CONTENTS_FOUND), "found");
    check_text(profile_contents_kind_word(PROFILE_CONTENTS_OTHER), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_read_back, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(views_show_typed_values, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(reals_are_exact, make_folder, remove_folder),
        cmocka_unit_test(words_of_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
