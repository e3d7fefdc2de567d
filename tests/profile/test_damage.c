// SPDX-License-Identifier: Apache-2.0
// Files that are not profiles, of another version, truncated, scrambled or malicious are rejected
// with a message and never crash the reader.
#include "testing.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include "reading.h"
#include "sample.h"

static int write_sample(void **state)
{
    struct base_error error = {0};
    if (make_folder(state) != 0)
        return -1;
    check_good(sample_write(test_path, &error), &error);
    return 0;
}

static void put_bytes(const char *bytes, size_t length)
{
    FILE *file = fopen(test_path, "wb");
    assert_non_null(file);
    assert_true(length == 0 || fwrite(bytes, length, 1, file) == 1);
    assert_int_equal(fclose(file), 0);
}

static void check_refused(enum base_code wanted, const char *words)
{
    struct base_error error = {0};
    struct profile *profile;
    check_bad(profile_open(test_path, &profile, &error), wanted, &error, words);
    assert_null(profile);
}

static void change(const char *sql)
{
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(test_path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
    sqlite3_close(db);
}

static void what_is_no_profile_is_told(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile;
    unlink(test_path);
    check_refused(BASE_NOT_FOUND, "there is no file ");
    put_bytes("", 0);
    check_refused(BASE_INVALID, "a.glint is empty, not a profile");
    put_bytes("text", 4);
    check_refused(BASE_INVALID, "a.glint is not a profile");
    char noise[5000];
    memset(noise, 'x', sizeof(noise));
    put_bytes(noise, sizeof(noise));
    check_refused(BASE_INVALID, "a.glint is not a profile");
    unlink(test_path);
    change("CREATE TABLE mine(a)");
    check_refused(BASE_INVALID, "a.glint is an SQLite database, but not a profile of glint");
    check_bad(profile_open(test_folder, &profile, &error), BASE_INVALID, &error, "is a folder");
    check_bad(profile_open("/dev/null", &profile, &error), BASE_INVALID, &error, "is not a file");
    snprintf(noise, sizeof(noise), "%s/x", test_path);
    check_bad(profile_open(noise, &profile, &error), BASE_IO, &error, "Not a directory");
}

static void a_newer_major_version_is_refused(void **state)
{
    (void)state;
    change("PRAGMA user_version=2007");
    check_refused(BASE_UNSUPPORTED, "is a profile of version 2.7; this glint (" GLINT_VERSION
                                    ") reads versions 1.x: use a newer glint");
    change("PRAGMA user_version=0");
    check_refused(BASE_UNSUPPORTED, "of version 0.0");
}

static bool first_kind(void *user, const struct profile_call *call)
{
    *(enum profile_call_kind *)user = call->kind;
    return false;
}

static bool last_object_kind(void *user, const struct profile_object *object)
{
    *(enum profile_object_kind *)user = object->kind;
    return true;
}

static void a_newer_minor_version_is_read(void **state)
{
    (void)state;
    struct base_error error = {0};
    change("PRAGMA user_version=1099; UPDATE meta SET minor=99; ALTER TABLE calls ADD COLUMN more;"
           "CREATE TABLE new_things(a); UPDATE sites SET kind=200 WHERE id=1;"
           "UPDATE objects SET kind=77 WHERE number=6; UPDATE copies SET from_memory=50");
    check_good(reading_all(test_path, &error), &error);
    struct profile *profile;
    enum profile_call_kind kind = PROFILE_CALL_KINDS;
    enum profile_object_kind object = PROFILE_OBJECT_KINDS;
    check_good(profile_open(test_path, &profile, &error), &error);
    assert_int_equal(profile_meta(profile)->minor, 99);
    check_good(profile_each_call(profile, first_kind, &kind, &error), &error);
    assert_int_equal(kind, PROFILE_CALL_OTHER);
    check_good(profile_each_object(profile, last_object_kind, &object, &error), &error);
    assert_int_equal(object, PROFILE_OBJECT_OTHER);
    profile_close(profile);
}

static bool count_access(void *user, const struct profile_access *row)
{
    (void)row;
    ++*(size_t *)user;
    return true;
}

// As version 1.0 wrote them: with a table of accesses that was always empty, and nothing about
// probes.
static void an_older_minor_version_is_read(void **state)
{
    (void)state;
    struct base_error error = {0};
    static const char *const gone[] = {"settings",
                                       "ranks",
                                       "collectives",
                                       "probes",
                                       "kernel_sites",
                                       "access_shapes",
                                       "accesses",
                                       "distributions",
                                       "access_counts",
                                       "distribution_bins",
                                       "distribution_ranges",
                                       "maps",
                                       "site_accesses",
                                       "map_kinds",
                                       "graph_edges",
                                       "uses",
                                       "use_kinds",
                                       "copy_hosts",
                                       "hashes",
                                       "blocks",
                                       "block_ends",
                                       "hosts",
                                       "corrections",
                                       "remedies",
                                       "stacks"};
    static const char *const gone_views[] = {
        "v_settings",      "v_probes",      "v_kernel_sites", "v_accesses",        "v_touches",
        "v_access_counts", "v_access_bins", "v_hot_ranges",   "v_object_elements", "v_maps",
        "v_graph_edges",   "v_first_uses",  "v_copies",       "v_host_blocks",     "v_corrections",
        "v_stacks",        "v_program",     "v_collectives"};
    char sql[128];
    for (unsigned i = 0; i < SAMPLE_COUNT(gone_views); i++) {
        snprintf(sql, sizeof(sql), "DROP VIEW %s", gone_views[i]);
        change(sql);
    }
    for (unsigned i = 0; i < SAMPLE_COUNT(gone); i++) {
        snprintf(sql, sizeof(sql), "DROP TABLE %s", gone[i]);
        change(sql);
    }
    check_refused(BASE_CORRUPT, "a.glint is damaged"); // its version still requires them
    change("PRAGMA user_version=1000; UPDATE meta SET minor=0;"
           "CREATE TABLE accesses(call, node, object, read, written, bytes, elements, ranges BLOB,"
           " PRIMARY KEY(call, node, object)) WITHOUT ROWID;"
           "INSERT INTO accesses VALUES(1, 2, 3, 4, 5, 6, 7, 8)");
    check_good(reading_all(test_path, &error), &error);
    struct profile *profile;
    size_t count = 0;
    check_good(profile_open(test_path, &profile, &error), &error);
    assert_int_equal(profile_meta(profile)->minor, 0);
    assert_null(profile_program(profile)->rank.host);
    assert_false(profile_program(profile)->rank.has_number);
    check_good(profile_each_access(profile, count_access, &count, &error), &error);
    assert_int_equal(count, 0);
    profile_close(profile);
}

static void tables_that_are_not_ours_are_refused(void **state)
{
    (void)state;
    change("DROP TABLE calls; CREATE VIEW calls AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
           " SELECT i + 1 FROM n) SELECT i AS number, 0 AS start, 0 AS duration, 1 AS site,"
           " 0 AS result, 0 AS waited, 0 AS detail FROM n");
    check_refused(BASE_CORRUPT, "a.glint is damaged");
}

static void columns_that_are_missing_are_damage(void **state)
{
    (void)state;
    struct base_error error = {0};
    change("ALTER TABLE kernels RENAME COLUMN registers TO other");
    check_bad(reading_all(test_path, &error), BASE_CORRUPT, &error, "a.glint is damaged");
}

static void rows_that_contradict_each_other_are_damage(void **state)
{
    (void)state;
    static const char *const contradictions[] = {
        "UPDATE calls SET site=1000 WHERE number=3",
        "DELETE FROM sites WHERE id=1",
        "DELETE FROM strings WHERE id=2",
        "DELETE FROM meta",
        "UPDATE path_frames SET frame=99 WHERE path=1",
        "DELETE FROM frames WHERE id=1",
        "DELETE FROM launches WHERE id=1",
        "DELETE FROM access_shapes WHERE id=2",
        "DELETE FROM distributions",
        "INSERT INTO settings VALUES(77777, 1)",
        "UPDATE settings SET value=-1",
        "UPDATE functions SET number=4294967297 WHERE number=1",
        "UPDATE accesses SET object='a' WHERE object=(SELECT min(object) FROM accesses)",
        "INSERT INTO settings VALUES(9223372036854775807, 1)",
        "UPDATE functions SET name=99999 WHERE number=1",
        "UPDATE dropped SET kind=4294967297 WHERE kind=(SELECT min(kind) FROM dropped)",
        "UPDATE notes SET text=-9223372036854775807 - 1",
        "UPDATE object_names SET name=88888",
        "UPDATE frames SET file=88888 WHERE id=1",
        "UPDATE program SET executable=88888",
        "UPDATE maps SET bits=x'00'",
        "UPDATE maps SET bits=NULL WHERE kind=2",
        "UPDATE maps SET first=3",
        "UPDATE maps SET first=1000",
        "UPDATE maps SET elements=999 WHERE kind=1; UPDATE maps SET elements=992 WHERE kind=2",
        "UPDATE maps SET element_bytes=0",
        "UPDATE maps SET bits=substr(bits, 1, length(bits) - 1)",
    };
    for (unsigned i = 0; i < SAMPLE_COUNT(contradictions); i++) {
        struct base_error error = {0};
        check_good(sample_write(test_path, &error), &error);
        change(contradictions[i]);
        check_bad(reading_all(test_path, &error), BASE_CORRUPT, &error, "a.glint is damaged");
    }
}

struct seen_numbers {
    uint64_t last;
    size_t count;
};

static bool see_object(void *user, const struct profile_object *object)
{
    struct seen_numbers *seen = user;
    assert_true(object->number > seen->last);
    seen->last = object->number;
    seen->count++;
    return true;
}

static bool see_call(void *user, const struct profile_call *call)
{
    struct seen_numbers *seen = user;
    assert_true(call->number > seen->last);
    seen->last = call->number;
    seen->count++;
    return true;
}

// Readers search rows by number.
static void rows_come_in_the_order_of_their_numbers(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile;
    struct seen_numbers before = {0}, objects = {0}, calls = {0};
    check_good(profile_open(test_path, &profile, &error), &error);
    check_good(profile_each_object(profile, see_object, &before, &error), &error);
    profile_close(profile);
    change("UPDATE objects SET number=-1 WHERE number=(SELECT max(number) FROM objects);"
           "UPDATE calls SET number=-7 WHERE number=2; DELETE FROM accesses WHERE (call, node, "
           "object) <> (SELECT call, node, object FROM accesses"
           " LIMIT 1); UPDATE accesses SET call=-7, object=-3");
    check_good(profile_open(test_path, &profile, &error), &error);
    check_good(profile_each_object(profile, see_object, &objects, &error), &error);
    check_good(profile_each_call(profile, see_call, &calls, &error), &error);
    assert_int_equal(objects.count, before.count - 1);
    assert_int_equal(calls.count, SAMPLE_COUNT(sample_calls) - 1);
    size_t accesses = 0;
    check_good(profile_each_access(profile, count_access, &accesses, &error), &error);
    assert_int_equal(accesses, 0);
    profile_close(profile);
}

static bool has_texts(void *user, const struct profile_setting *setting)
{
    *(bool *)user = setting->name && setting->value;
    return *(bool *)user;
}

// Readers compare the texts of settings.
static void settings_always_have_texts(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile;
    bool texts = false;
    change("DELETE FROM settings; INSERT INTO settings VALUES(0, 0)");
    check_good(profile_open(test_path, &profile, &error), &error);
    check_good(profile_each_setting(profile, has_texts, &texts, &error), &error);
    assert_true(texts);
    profile_close(profile);
}

static void cut_files_are_told(void **state)
{
    (void)state;
    struct base_error error = {0};
    char *bytes;
    size_t length;
    check_good(base_file_read(test_path, &bytes, &length, &error), &error);
    for (size_t keep = 0; keep < length; keep += keep < 200 ? 1 : 1013) {
        put_bytes(bytes, keep);
        enum base_code code = reading_all(test_path, &error);
        assert_true(code == BASE_CORRUPT || code == BASE_INVALID);
    }
    free(bytes);
}

static void scrambled_files_never_crash(void **state)
{
    (void)state;
    struct base_error error = {0};
    char *bytes;
    size_t length, damaged = 0;
    check_good(base_file_read(test_path, &bytes, &length, &error), &error);
    srand(99);
    for (int i = 0; i < 400; i++) {
        char *copy = malloc(length);
        memcpy(copy, bytes, length);
        for (int hit = 0; hit < 1 + i % 20; hit++)
            copy[100 + (size_t)rand() % (length - 100)] = (char)rand();
        put_bytes(copy, length);
        free(copy);
        damaged += reading_all(test_path, &error) != BASE_OK;
    }
    assert_true(damaged > 40);
    free(bytes);
}

static void a_log_that_is_missing_is_named_where_it_matters(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    char log[128];
    unlink(test_path);
    check_good(profile_create(test_path, false, &writer, &error), &error);
    check_good(sample_add(writer, &error), &error);
    profile_abandon(writer);
    snprintf(log, sizeof(log), "%s-wal", test_path);
    assert_int_equal(unlink(log), 0);
    struct profile *profile;
    check_good(profile_open(test_path, &profile, &error), &error);
    assert_false(profile_meta(profile)->complete);
    check_query(profile, "SELECT count(*) FROM v_calls", "0\n");
    profile_close(profile);
    struct stat status;
    assert_int_equal(stat(test_path, &status), 0);
    assert_int_equal(truncate(test_path, status.st_size / 2), 0);
    check_refused(BASE_CORRUPT, "is incomplete: its recorder was killed, and ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, write_sample, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(what_is_no_profile_is_told),
        TEST(a_newer_major_version_is_refused),
        TEST(a_newer_minor_version_is_read),
        TEST(an_older_minor_version_is_read),
        TEST(tables_that_are_not_ours_are_refused),
        TEST(columns_that_are_missing_are_damage),
        TEST(rows_that_contradict_each_other_are_damage),
        TEST(rows_come_in_the_order_of_their_numbers),
        TEST(settings_always_have_texts),
        TEST(cut_files_are_told),
        TEST(scrambled_files_never_crash),
        TEST(a_log_that_is_missing_is_named_where_it_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
