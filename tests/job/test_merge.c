// SPDX-License-Identifier: Apache-2.0
// Merging: the same file in any order and grouping, sums equal to those over the inputs, and what
// happens to profiles that are given twice, damaged, incomplete or of another version.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/job.h"
#include "merge/merge.h"
#include "ranks.h"

enum { RANKS = 9, MOST_FILES = 32, PATH = 512 };

static char folder[] = "/tmp/test_merge_XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[PATH];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static const char *in_folder(const char *name)
{
    static char paths[8][PATH];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, PATH, "%s/%s", folder, name);
    return path;
}

// --- Helpers -------------------------------------------------------------------------------------

static char unmerged[4096];

static void note_unmerged(void *user, const char *file, const char *why)
{
    (void)user;
    const size_t used = strlen(unmerged);
    const char *slash = strrchr(file, '/');
    const char *reason = strstr(why, " is "); // without the file's folder
    snprintf(unmerged + used, sizeof(unmerged) - used, "%s:%s\n", slash ? slash + 1 : file,
             reason ? reason : why);
}

static enum base_code merge(const char *output, const char *const *files, size_t count,
                            unsigned processes, struct merge_result *result,
                            struct base_error *error)
{
    const struct merge_request request = {.files = files,
                                          .count = count,
                                          .output = output,
                                          .force = true,
                                          .processes = processes,
                                          .unmerged = note_unmerged};
    unmerged[0] = '\0';
    return merge_files(&request, result, error);
}

static void merge_good(const char *output, const char *const *files, size_t count,
                       unsigned processes)
{
    struct merge_result result;
    struct base_error error = {0};
    if (merge(output, files, count, processes, &result, &error) != BASE_OK)
        fail_msg("%s", error.text[0]);
    assert_int_equal(result.unmerged, 0);
}

struct bytes {
    char *text;
    size_t length;
};

static struct bytes read_all(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    struct bytes bytes = {malloc((size_t)status.st_size + 1), (size_t)status.st_size};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(bytes.text, 1, bytes.length, file), bytes.length);
    fclose(file);
    return bytes;
}

static void assert_same_file(const char *one, const char *other)
{
    struct bytes a = read_all(one), b = read_all(other);
    assert_int_equal(a.length, b.length);
    assert_memory_equal(a.text, b.text, a.length);
    free(a.text);
    free(b.text);
}

static sqlite3_int64 ask(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *at = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &at, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(at), SQLITE_ROW);
    const sqlite3_int64 value = sqlite3_column_int64(at, 0);
    sqlite3_finalize(at);
    sqlite3_close(db);
    return value;
}

static uint64_t state;

static size_t below(size_t most)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)((state >> 33) % most);
}

static char files[RANKS][PATH];

// Profiles of a job in which each rank is different.
static void write_job(uint64_t seed)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        snprintf(files[rank], PATH, "%s/rank-%u.glint", folder, rank);
        ranks_write(files[rank], &(struct ranks_options){.rank = rank,
                                                         .ranks = RANKS,
                                                         .calls = 60 + 40 * (rank % 4),
                                                         .seed = seed,
                                                         .kernels = 3 + rank % 5,
                                                         .communicating = rank != 4,
                                                         .factor = 1 + (rank == 5)});
    }
}

static void write_rank(const char *path, struct ranks_options options)
{
    options.ranks = options.ranks ? options.ranks : RANKS;
    options.calls = options.calls ? options.calls : 60;
    ranks_write(path, &options);
}

// --- Tests ---------------------------------------------------------------------------------------

// Merges the files in a random order: some directly, others in groups of their own, twice or not.
static void merge_randomly(const char *output)
{
    const char *order[RANKS], *left[MOST_FILES];
    char groups[MOST_FILES][PATH];
    size_t count = 0, group_count = 0;
    for (size_t i = 0; i < RANKS; i++) {
        const size_t at = below(i + 1);
        order[i] = order[at];
        order[at] = files[i];
    }
    for (size_t i = 0; i < RANKS; i++) {
        left[count++] = order[i];
        if (below(5) == 0)
            left[count++] = order[i];
    }
    while (count > 1 && below(6)) {
        const size_t first = below(count), room = count - first,
                     taken = 1 + below(room < 4 ? room : 4);
        char *group = groups[group_count];
        snprintf(group, PATH, "%s/group-%zu.glint", folder, group_count);
        if (++group_count == MOST_FILES)
            break;
        merge_good(group, left + first, taken, 1 + (unsigned)below(2));
        memmove(left + first, left + first + taken, (count - first - taken) * sizeof(*left));
        count -= taken;
        left[count++] = group;
    }
    merge_good(output, left, count, 1 + (unsigned)below(3));
}

static void merging_in_any_order_and_grouping_gives_the_same_file(void **unused)
{
    (void)unused;
    const char *whole = in_folder("whole.glint"), *other = in_folder("other.glint");
    for (uint64_t seed = 0; seed < 2; seed++) {
        const char *list[RANKS];
        state = seed + 1;
        write_job(seed);
        for (size_t i = 0; i < RANKS; i++)
            list[i] = files[i];
        merge_good(whole, list, RANKS, 1);
        assert_int_equal(ask(whole, "SELECT count(*) FROM v_profiles"), RANKS);
        for (unsigned i = 0; i < 6; i++) {
            merge_randomly(other);
            assert_same_file(whole, other);
        }
        merge_good(other, (const char *[]){whole}, 1, 1);
        assert_same_file(whole, other);
        merge_good(other, (const char *[]){whole, whole, files[0]}, 3, 1);
        assert_same_file(whole, other);
    }
}

static void sums_of_a_job_are_those_over_its_profiles(void **unused)
{
    static const struct {
        const char *in_job, *in_profile;
    } sums[] = {
        {"SELECT sum(calls) FROM v_profiles", "SELECT count(*) FROM v_calls"},
        {"SELECT sum(objects) FROM v_profiles", "SELECT count(*) FROM v_objects"},
        {"SELECT sum(launches) FROM v_profiles", "SELECT count(*) FROM v_launches"},
        {"SELECT sum(launches) FROM v_kernels", "SELECT count(*) FROM v_launches"},
        {"SELECT sum(gpu_ns) FROM v_kernels WHERE kernel = 'kernel_2'",
         "SELECT coalesce(sum(gpu_end_ns - gpu_start_ns), 0) FROM v_launches"
         " WHERE name = 'kernel_2'"},
        {"SELECT sum(kernel_ns) FROM v_profiles",
         "SELECT sum(gpu_end_ns - gpu_start_ns) FROM v_launches"},
        {"SELECT sum(bytes) FROM v_copies WHERE direction = 'host-to-device'",
         "SELECT sum(bytes) FROM v_copies WHERE direction = 'host-to-device'"},
        {"SELECT sum(gpu_ns) FROM v_copies", "SELECT sum(gpu_end_ns - gpu_start_ns) FROM v_copies"},
        {"SELECT sum(count) FROM v_copies", "SELECT count(*) FROM v_copies"},
        {"SELECT sum(bytes) FROM v_objects", "SELECT sum(bytes) FROM v_objects"},
        {"SELECT sum(count) FROM v_objects WHERE name = 'temporary'",
         "SELECT count(*) FROM v_objects WHERE name = 'temporary'"},
        {"SELECT sum(count) FROM v_waits", "SELECT count(*) FROM v_syncs"},
        {"SELECT sum(waited_ns) FROM v_waits", "SELECT sum(waited_ns) FROM v_syncs"},
        {"SELECT sum(count) FROM v_collectives", "SELECT count(*) FROM v_collectives"},
        {"SELECT sum(failed) FROM v_collectives",
         "SELECT count(*) FROM v_collectives WHERE status <> 0"},
        {"SELECT sum(sent_bytes) FROM v_collectives WHERE name = 'ncclSend'"
         " AND communicator_ranks = 4 AND type = 'float32' AND call_path LIKE 'step "
         "stencil.cu:100%'",
         "SELECT sum(sent_bytes) FROM v_collectives WHERE name = 'ncclSend' AND ranks = 4"},
        {"SELECT sum(sent_count) FROM v_collectives",
         "SELECT count(sent_bytes) FROM v_collectives"},
        {"SELECT sum(received_bytes) FROM v_collectives",
         "SELECT sum(received_bytes) FROM v_collectives"},
        {"SELECT sum(received_count) FROM v_collectives",
         "SELECT count(received_bytes) FROM v_collectives"},
        {"SELECT sum(count) FROM v_collectives WHERE type IS NULL AND communicator_ranks IS NULL",
         "SELECT count(*) FROM v_collectives WHERE name = 'ncclGroupEnd'"},
        {"SELECT sum(host_ns) FROM v_collectives",
         "SELECT sum(end_ns - start_ns) FROM v_collectives"},
        {"SELECT sum(count) FROM v_nvtx_ranges", "SELECT count(*) FROM v_nvtx_ranges"},
        {"SELECT sum(timed) FROM v_nvtx_ranges WHERE domain = 'stencil'",
         "SELECT count(end_ns) FROM v_nvtx_ranges WHERE domain = 'stencil'"},
        {"SELECT sum(total_ns) FROM v_nvtx_ranges WHERE domain IS NULL AND name = 'exchange'",
         "SELECT sum(end_ns - start_ns) FROM v_nvtx_ranges WHERE domain IS NULL"},
        {"SELECT sum(total_ns) FROM v_nvtx_ranges WHERE name = 'step 2'",
         "SELECT sum(end_ns - start_ns) FROM v_nvtx_ranges WHERE name = 'step 2'"},
        {"SELECT max(longest_ns) FROM v_waits", NULL},
    };
    const char *job = in_folder("job.glint"), *list[RANKS];
    (void)unused;
    write_job(7);
    for (size_t i = 0; i < RANKS; i++)
        list[i] = files[i];
    merge_good(job, list, RANKS, 2);
    for (size_t s = 0; sums[s].in_profile; s++) {
        sqlite3_int64 sum = 0;
        for (size_t i = 0; i < RANKS; i++)
            sum += ask(files[i], sums[s].in_profile);
        assert_true(sum > 0); // rank 4 has no collectives, so some sums over none are NULL
        if (ask(job, sums[s].in_job) != sum)
            fail_msg("%s is not %lld", sums[s].in_job, (long long)sum);
    }
    // Peaks belong to ranks: that of rank 5 has the larger field.
    assert_int_equal(ask(job, "SELECT rank FROM v_profiles ORDER BY peak_bytes DESC LIMIT 1"), 5);
    assert_int_equal(ask(job, "SELECT max(clock_offset_ns) = max(start_unix_ns - 5000000000 - 1000"
                              " * rank) FROM v_profiles WHERE rank = 0"),
                     1);
}

static void of_many_names_of_ranges_those_with_the_most_time_are_kept(void **unused)
{
    enum { NAMES = 1500, KEPT = 1000 };
    const char *one = in_folder("one.glint"), *job = in_folder("job.glint");
    struct base_error error = {0};
    struct profile_writer *writer = NULL;
    (void)unused;
    ranks_check(profile_create(one, true, &writer, &error), &error);
    for (uint64_t i = 1; i <= NAMES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "add, seq = %u", (unsigned)i);
        const struct profile_nvtx_range range = {.number = i, .name = name, .thread = 1};
        ranks_check(profile_add_nvtx_range(writer, &range, &error), &error);
        ranks_check(profile_end_nvtx_range(writer, i, (int64_t)i, 1, &error), &error);
    }
    ranks_check(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    merge_good(job, &one, 1, 1);
    assert_int_equal(ask(job, "SELECT count(*) FROM v_nvtx_ranges"), KEPT + 1);
    assert_int_equal(ask(job, "SELECT sum(count) FROM v_nvtx_ranges"), NAMES);
    assert_int_equal(ask(job, "SELECT sum(total_ns) FROM v_nvtx_ranges"), NAMES * (NAMES + 1) / 2);
    assert_int_equal(ask(job, "SELECT longest_ns FROM v_nvtx_ranges WHERE name = '(other ranges)'"),
                     NAMES - KEPT);
    assert_int_equal(ask(job, "SELECT min(total_ns) FROM v_nvtx_ranges WHERE name LIKE 'add%'"),
                     NAMES - KEPT + 1);
}

static void texts_are_stored_once(void **unused)
{
    const char *job = in_folder("job.glint"), *list[RANKS];
    (void)unused;
    write_job(1);
    for (size_t i = 0; i < RANKS; i++)
        list[i] = files[i];
    merge_good(job, list, RANKS, 1);
    assert_int_equal(ask(job, "SELECT count(*) - count(DISTINCT text) FROM strings"), 0);
    assert_int_equal(ask(job, "SELECT count(*) FROM strings WHERE text = 'kernel_1'"), 1);
    assert_int_equal(ask(job, "SELECT count(*) - count(DISTINCT trace || file || line) FROM paths"),
                     0);
    assert_int_equal(ask(job, "SELECT count(*) FROM pragma_integrity_check"
                              " WHERE integrity_check <> 'ok'"),
                     0);
}

static void different_profiles_of_one_process_are_an_error(void **unused)
{
    const char *one = in_folder("one.glint"), *other = in_folder("two.glint"),
               *job = in_folder("job.glint"), *pair = in_folder("pair.glint");
    struct merge_result result;
    struct base_error error = {0};
    (void)unused;
    write_rank(one, (struct ranks_options){.rank = 3});
    write_rank(other, (struct ranks_options){.rank = 3, .calls = 100});
    unlink(job);
    assert_int_equal(merge(job, (const char *[]){one, other}, 2, 1, &result, &error),
                     BASE_CONFLICT);
    assert_string_equal(error.text[0], "one.glint and two.glint have different profiles of the "
                                       "same process, rank 3: merge only one of them");
    assert_int_equal(access(job, F_OK), -1);
    // Also if one of them is in a job already.
    merge_good(pair, (const char *[]){one}, 1, 1);
    error = (struct base_error){0};
    assert_int_equal(merge(job, (const char *[]){other, pair}, 2, 2, &result, &error),
                     BASE_CONFLICT);
    // Two processes of one rank both count: they started at different times.
    write_rank(other, (struct ranks_options){.rank = 3, .seed = 9});
    merge_good(job, (const char *[]){one, other}, 2, 1);
    assert_int_equal(ask(job, "SELECT count(*) FROM v_profiles WHERE rank = 3"), 2);
}

static void a_copy_of_a_profile_counts_once_under_the_first_name(void **unused)
{
    const char *one = in_folder("b.glint"), *other = in_folder("a.glint"),
               *job = in_folder("job.glint"), *swapped = in_folder("swapped.glint");
    (void)unused;
    write_rank(one, (struct ranks_options){.rank = 1});
    write_rank(other, (struct ranks_options){.rank = 1});
    merge_good(job, (const char *[]){one, other}, 2, 1);
    merge_good(swapped, (const char *[]){other, one}, 2, 1);
    assert_same_file(job, swapped);
    assert_int_equal(ask(job, "SELECT count(*) FROM v_profiles WHERE file = 'a.glint'"), 1);
    assert_int_equal(ask(job, "SELECT count(*) FROM v_profiles"), 1);
    assert_int_equal(ask(job, "SELECT count(*) FROM strings WHERE text = 'b.glint'"), 0);
}

static void change_bytes(const char *path, off_t at, const char *bytes, size_t length)
{
    const int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, bytes, length, at), (ssize_t)length);
    close(file);
}

static void files_that_cannot_be_read_are_named_and_the_rest_is_merged(void **unused)
{
    const char *good = in_folder("good.glint"), *cut = in_folder("cut.glint"),
               *newer = in_folder("newer.glint"), *text = in_folder("text.glint"),
               *missing = in_folder("missing.glint"), *job = in_folder("job.glint");
    const char *list[] = {cut, good, newer, text, missing},
               *reversed[] = {missing, text, newer, good, cut};
    struct merge_result result;
    struct base_error error = {0};
    (void)unused;
    write_rank(good, (struct ranks_options){.rank = 0});
    write_rank(cut, (struct ranks_options){.rank = 1});
    write_rank(newer, (struct ranks_options){.rank = 2});
    assert_int_equal(truncate(cut, 40960), 0);
    change_bytes(newer, 60, "\0\0\x07\xd0", 4); // version 2.0
    FILE *file = fopen(text, "w");
    fputs("no profile", file);
    fclose(file);
    assert_int_equal(merge(job, list, 5, 1, &result, &error), BASE_OK);
    assert_int_equal(result.unmerged, 4);
    assert_int_equal(result.profiles, 1);
    assert_non_null(strstr(unmerged, "cut.glint: is damaged\n"));
    assert_non_null(strstr(unmerged, "newer.glint: is a profile of version 2.0;"));
    assert_non_null(strstr(unmerged, "text.glint: is not a profile\n"));
    assert_non_null(strstr(unmerged, "missing.glint:"));
    assert_int_equal(ask(job, "SELECT count(*) FROM v_unmerged"), 4);
    assert_int_equal(ask(job, "SELECT count(*) FROM v_unmerged WHERE file = 'newer.glint'"
                              " AND reason = 'of another version'"),
                     1);
    const char *other = in_folder("other.glint");
    assert_int_equal(merge(other, reversed, 5, 2, &result, &error), BASE_OK);
    assert_same_file(job, other);
    error = (struct base_error){0};
    assert_int_equal(merge(job, (const char *[]){cut, text}, 2, 1, &result, &error),
                     BASE_NOT_FOUND);
}

static void profiles_of_older_versions_are_merged(void **unused)
{
    const char *old = in_folder("old.glint"), *job = in_folder("job.glint");
    (void)unused;
    write_rank(old, (struct ranks_options){.rank = 1});
    change_bytes(old, 60, "\0\0\x03\xf9", 4); // version 1.17, which has no ranks
    merge_good(job, (const char *[]){old}, 1, 1);
    assert_int_equal(ask(job, "SELECT count(*) FROM v_profiles WHERE rank IS NULL AND host IS NULL"
                              " AND pid = 1001"),
                     1);
}

static void an_incomplete_profile_is_merged_and_marked(void **unused)
{
    const char *killed = in_folder("killed.glint"), *job = in_folder("job.glint");
    (void)unused;
    write_rank(killed, (struct ranks_options){.rank = 4, .killed = true});
    struct bytes before = read_all(killed);
    merge_good(job, (const char *[]){killed}, 1, 1);
    assert_int_equal(ask(job, "SELECT complete FROM v_profiles WHERE rank = 4"), 0);
    assert_true(ask(job, "SELECT calls FROM v_profiles WHERE rank = 4") > 20);
    struct bytes after = read_all(killed); // it is only read
    assert_int_equal(before.length, after.length);
    assert_memory_equal(before.text, after.text, after.length);
    free(before.text);
    free(after.text);
}

static void a_damaged_job_profile_leaves_no_trace(void **unused)
{
    const char *one = in_folder("one.glint"), *other = in_folder("two.glint"),
               *inner = in_folder("inner.glint"), *job = in_folder("job.glint");
    struct merge_result result;
    struct base_error error = {0};
    sqlite3 *db = NULL;
    (void)unused;
    write_rank(one, (struct ranks_options){.rank = 1});
    write_rank(other, (struct ranks_options){.rank = 2});
    merge_good(inner, (const char *[]){one}, 1, 1);
    assert_int_equal(sqlite3_open(inner, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE waits SET path = 99999", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(merge(job, (const char *[]){inner, other}, 2, 1, &result, &error), BASE_OK);
    assert_string_equal(unmerged, "inner.glint: is damaged\n");
    assert_int_equal(ask(job, "SELECT count(*) FROM v_profiles"), 1);
    assert_int_equal(ask(job, "SELECT count(*) FROM v_kernels WHERE rank IS NOT 2"), 0);
}

static void only_the_verbs_for_jobs_open_a_job(void **unused)
{
    const char *one = in_folder("one.glint"), *job = in_folder("job.glint");
    struct profile *profile = NULL;
    struct base_error error = {0};
    (void)unused;
    write_rank(one, (struct ranks_options){.rank = 1});
    merge_good(job, (const char *[]){one}, 1, 1);
    assert_true(profile_is_job(job));
    assert_false(profile_is_job(one));
    assert_false(profile_is_job(in_folder("missing.glint")));
    assert_int_equal(profile_open(job, &profile, &error), BASE_INVALID);
    assert_non_null(strstr(error.text[0], "is a job profile"));
    error = (struct base_error){0};
    assert_int_equal(profile_open_job(one, &profile, &error), BASE_INVALID);
    error = (struct base_error){0};
    assert_int_equal(profile_open_job(job, &profile, &error), BASE_OK);
    profile_close(profile);
}

static void an_existing_file_is_replaced_only_by_force(void **unused)
{
    const char *one = in_folder("one.glint"), *job = in_folder("job.glint");
    const struct merge_request request = {.files = &one, .count = 1, .output = job, .processes = 1};
    struct merge_result result;
    struct base_error error = {0};
    (void)unused;
    write_rank(one, (struct ranks_options){.rank = 1});
    merge_good(job, &one, 1, 1);
    assert_int_equal(merge_files(&request, &result, &error), BASE_CONFLICT);
    merge_good(job, (const char *[]){job, one}, 2, 1); // the output may be an input
    assert_int_equal(ask(job, "SELECT count(*) FROM v_profiles"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging_in_any_order_and_grouping_gives_the_same_file),
        cmocka_unit_test(sums_of_a_job_are_those_over_its_profiles),
        cmocka_unit_test(of_many_names_of_ranges_those_with_the_most_time_are_kept),
        cmocka_unit_test(texts_are_stored_once),
        cmocka_unit_test(different_profiles_of_one_process_are_an_error),
        cmocka_unit_test(a_copy_of_a_profile_counts_once_under_the_first_name),
        cmocka_unit_test(files_that_cannot_be_read_are_named_and_the_rest_is_merged),
        cmocka_unit_test(profiles_of_older_versions_are_merged),
        cmocka_unit_test(an_incomplete_profile_is_merged_and_marked),
        cmocka_unit_test(a_damaged_job_profile_leaves_no_trace),
        cmocka_unit_test(only_the_verbs_for_jobs_open_a_job),
        cmocka_unit_test(an_existing_file_is_replaced_only_by_force),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
