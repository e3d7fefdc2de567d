// SPDX-License-Identifier: Apache-2.0
// Corrupts profiles: mutate FILE EVERY [FIRST] makes many mutations of a profile, one at a time,
// and uses each in all formats, as a query, as either side of a comparison, for rules and for a
// plan of corrections, and merges it. A job profile is used in all formats and merged.
// Nothing may crash or hang, or use much memory; the output does not matter.
// Mutations: every column of every table gets extreme values, other types, references to other and
// to missing rows, in all rows or only in the row with the highest value; several columns are
// changed at once; rows are removed or multiplied; and bytes of the file are overwritten. All of
// this is pseudorandom, the same in every run. For a quick run, EVERY selects only every EVERY-th
// mutation, from FIRST on.
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../job/using.h"
#include "../profile/reading.h"
#include "fix/fix.h"
#include "report/report.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LIMITS_MEMORY = 0 }; // sanitizers reserve address space
#else
enum { LIMITS_MEMORY = 1 };
#endif
enum { SCRAMBLES = 400, SEVERAL = 2000, LONGEST_S = 120 };
enum { MOST_MEMORY = 2000u << 20 };

static const char *const values[] = {
    "-1",
    "0",
    "1",
    "3",
    "2147483647",
    "2147483648",
    "65536",
    "4294967295",
    "1 << 40",
    "-9223372036854775807 - 1",
    "9223372036854775807",
    "NULL",
    "'a text'",
    "x'00ff1b'",
    "1e300",
    "rowid",                         // of itself
    "rowid + 1",                     // of another row, and of none
    "zeroblob(300000)",              // longer than what is expected
    "replace(zeroblob(9000), 0, 1)", // not a number
};
enum { VALUES = sizeof(values) / sizeof(values[0]), ROWS = 2 };

struct column {
    char table[64], name[64];
};

static char path[] = "/dev/shm/glint-mutate-XXXXXX";
static char *original;
static const char *original_path;
static bool is_job;
static size_t original_bytes;
static BASE_ARRAY(struct column) columns;
static char *doing; // shared with the parent: the child's current mutation

static void die(const char *what)
{
    fprintf(stderr, "mutate: %s\n", what);
    exit(2);
}

static void put_file(const char *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, length, file) != length || fclose(file) != 0)
        die("cannot write the mutated file");
}

static void find_columns(void)
{
    sqlite3 *db;
    sqlite3_stmt *at;
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_prepare_v2(db,
                           "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c"
                           " WHERE t.type='table' ORDER BY 1, 2",
                           -1, &at, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    while (sqlite3_step(at) == SQLITE_ROW) {
        struct column *column = base_array_push(&columns);
        if (!column)
            die("out of memory");
        snprintf(column->table, sizeof(column->table), "%s", sqlite3_column_text(at, 0));
        snprintf(column->name, sizeof(column->name), "%s", sqlite3_column_text(at, 1));
    }
    sqlite3_finalize(at);
    sqlite3_close(db);
}

// Adds the statement of a mutation of one column.
static void put_cell(struct base_buf *sql, size_t number)
{
    const struct column *column = &columns.items[number / (VALUES * ROWS)];
    base_buf_printf(sql, "UPDATE OR REPLACE \"%s\" SET \"%s\" = %s", column->table, column->name,
                    values[number / ROWS % VALUES]);
    if (number % ROWS)
        base_buf_printf(sql, " WHERE \"%s\" IS (SELECT max(\"%s\") FROM \"%s\")", column->name,
                        column->name, column->table);
    base_buf_puts(sql, ";");
}

// Changes the file. Returns false if that changes nothing.
static bool apply(const struct base_buf *sql)
{
    snprintf(doing, 512, "%.500s", sql->text);
    put_file(original, original_bytes);
    sqlite3 *db;
    const bool good = sqlite3_open(path, &db) == SQLITE_OK &&
                      sqlite3_exec(db, "PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY", NULL,
                                   NULL, NULL) == SQLITE_OK;
    const int before = sqlite3_total_changes(db);
    if (good)
        sqlite3_exec(db, sql->text, NULL, NULL, NULL); // some columns refuse some values
    const bool changed = good && sqlite3_total_changes(db) > before;
    sqlite3_close(db);
    return changed;
}

static bool mutate_cell(size_t number)
{
    struct base_buf sql = {0};
    put_cell(&sql, number);
    const bool changed = !sql.failed && apply(&sql);
    base_buf_fini(&sql);
    return changed;
}

// Changes two to five columns at once, and removes or multiplies rows of some tables.
static bool mutate_several(size_t number)
{
    struct base_buf sql = {0};
    if (!columns.count)
        return false;
    uint64_t random = number * 0x9E3779B97F4A7C15u + 1;
    for (size_t i = 0; i < 2 + number % 4; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        put_cell(&sql, (size_t)(random >> 20) % (columns.count * VALUES * ROWS));
    }
    const struct column *column = &columns.items[(size_t)(random >> 33) % columns.count];
    if (number % 3 == 0)
        base_buf_printf(&sql, "DELETE FROM \"%s\" WHERE rowid %% 2;", column->table);
    if (number % 3 == 1)
        base_buf_printf(&sql, "DELETE FROM \"%s\";", column->table);
    const bool changed = !sql.failed && apply(&sql);
    base_buf_fini(&sql);
    return changed;
}

static bool mutate_bytes(size_t number)
{
    char *copy = malloc(original_bytes);
    if (!copy)
        die("out of memory");
    memcpy(copy, original, original_bytes);
    unsigned random = 7919u * (unsigned)number + 1;
    for (size_t hit = 0; hit < 1 + number % 20; hit++) {
        random = random * 1103515245u + 12345u;
        const size_t at = 100 + (random >> 4) % (original_bytes - 100);
        random = random * 1103515245u + 12345u;
        copy[at] = (char)(random >> 16);
    }
    snprintf(doing, 512, "scramble %zu", number);
    put_file(copy, original_bytes);
    free(copy);
    return true;
}

static bool take(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)user += length;
    return true;
}

static void plan_fixes(struct profile *profile)
{
    struct base_error error = {0};
    struct analysis *analysis;
    struct fix fix = {0};
    struct plan plan = {0};
    const struct analyze_thresholds thresholds = analyze_default_thresholds();
    if (analyze_profile(profile, &thresholds, &analysis, &error) != BASE_OK)
        return;
    if (fix_find(profile, analysis, &fix, &error) == BASE_OK)
        fix_plan(profile, &fix, &plan, &error);
    fix_plain_kernels(profile, &plan, &error);
    plan_fini(&plan);
    fix_fini(&fix);
    analyze_free(analysis);
}

// Sums it up for a job profile, and writes that.
static void merge(struct profile *profile)
{
    struct base_error error = {0};
    struct job_part *part = NULL;
    struct job_writer *writer = NULL;
    char merged[sizeof(path) + 16];
    snprintf(merged, sizeof(merged), "%s-merged", path);
    if (report_job_part(profile, &part, &error) == BASE_OK &&
        job_create(&writer, &error) == BASE_OK &&
        job_add_part(writer, part, "a", &error) == BASE_OK)
        job_write(writer, merged, &error);
    job_destroy(writer);
    job_part_destroy(part);
    unlink(merged);
}

// Compares it with the original, in both directions and formats, also by rules.
static void compare(struct profile *profile, size_t *bytes)
{
    struct base_error error = {0};
    struct profile *other;
    bool result;
    const struct report_style style = {.width = 80};
    if (profile_open(original_path, &other, &error) != BASE_OK)
        return;
    for (int i = 0; i < 2; i++) {
        const struct report_diff_request diff = {
            .profiles = {i ? profile : other, i ? other : profile}, .names = {"a", "b"}};
        report_diff_text(&diff, &style, &result, take, bytes, &error);
        report_diff_json(&diff, &result, take, bytes, &error);
        struct report_rules rules;
        report_rules_init(&rules);
        report_rules_add(&rules, "any,peak>1B,growth,new", &error);
        const struct report_check_request check = {.profile = diff.profiles[1],
                                                   .baseline = diff.profiles[0],
                                                   .name = "a",
                                                   .baseline_name = "b",
                                                   .rules = &rules};
        report_check_text(&check, &style, &result, take, bytes, &error);
        report_check_json(&check, &result, take, bytes, &error);
        report_rules_fini(&rules);
    }
    profile_close(other);
}

static void read_as_all(void)
{
    struct base_error error = {0};
    struct profile *profile;
    size_t bytes = 0;
    bool result;
    const struct report_style style = {.width = 80};
    const struct report_summary summary = {take, &bytes, REPORT_SUMMARY_BYTES};
    if (is_job) {
        using_job(path, original_path);
        return;
    }
    reading_all(path, &error);
    if (profile_open(path, &profile, &error) != BASE_OK)
        return;
    report_text(profile, NULL, &(struct report_choice){0}, &style, take, &bytes, &error);
    report_text(profile, NULL, &(struct report_choice){.verbose = true}, &style, take, &bytes,
                &error);
    report_json(profile, NULL, take, &bytes, &error);
    report_sarif(profile, NULL, "/", take, &bytes, &error);
    report_github(profile, NULL, "/", take, &bytes, &summary, &error);
    report_perfetto(profile, NULL, take, &bytes, &error);
    report_html(profile, NULL, take, &bytes, &error);
    report_dot(profile, NULL, &(struct report_flow_choice){0}, take, &bytes, &error);
    plan_fixes(profile);
    merge(profile);
    struct report_rules rules;
    report_rules_init(&rules);
    report_rules_add(&rules, "any", &error);
    const struct report_check_request check = {.profile = profile, .name = "a", .rules = &rules};
    report_check_text(&check, &style, &result, take, &bytes, &error);
    report_check_json(&check, &result, take, &bytes, &error);
    report_rules_fini(&rules);
    compare(profile, &bytes);
    profile_close(profile);
}

// Makes mutations from `first` on in a child process; returns the first one that was not made.
static size_t run_some(size_t first, size_t end, size_t every, unsigned *failures)
{
    size_t *at = (size_t *)(doing + 512);
    *at = first;
    pid_t child = fork();
    if (child == 0) {
        const size_t cells = columns.count * VALUES * ROWS;
        const struct rlimit memory = {MOST_MEMORY, MOST_MEMORY};
        if (LIMITS_MEMORY)
            setrlimit(RLIMIT_DATA, &memory); // running out is an error, but not a crash
        for (; *at < end; *at += every) {
            alarm(LONGEST_S);
            if (*at < cells             ? mutate_cell(*at)
                : *at < cells + SEVERAL ? mutate_several(*at - cells)
                                        : mutate_bytes(*at - cells - SEVERAL))
                read_as_all();
        }
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (status != 0) {
        fprintf(stderr, "mutate: %s with: %s\n",
                WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it failed", doing);
        ++*failures;
        *at += every;
    }
    return *at;
}

int main(int argc, char **argv)
{
    const size_t every = argc == 3 || argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
    const size_t first = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    struct base_error error = {0};
    unsigned failures = 0;
    if (every == 0 || base_file_read(argv[1], &original, &original_bytes, &error) != BASE_OK)
        die("usage: mutate FILE EVERY [FIRST]");
    const int file = mkstemp(path);
    doing = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (file < 0 || doing == MAP_FAILED)
        die("no room to work in");
    close(file);
    put_file(original, original_bytes);
    find_columns();
    const size_t end = columns.count * VALUES * ROWS + SEVERAL + SCRAMBLES;
    original_path = argv[1];
    is_job = profile_is_job(original_path);
    for (size_t at = first; at < end && failures < 50;)
        at = run_some(at, end, every, &failures);
    unlink(path);
    printf("%zu mutations of %s, %u failures\n", (end - first) / every, argv[1], failures);
    base_array_fini(&columns);
    free(original);
    return failures ? 1 : 0;
}
