// SPDX-License-Identifier: Apache-2.0
// Corrupts profiles: mutate FILE EVERY makes many mutations of a profile, one at a time, and
// reports on each in all formats. Nothing may crash or hang; the output does not matter. Mutations:
// every column of every table gets extreme values and other types, in all rows or only in the row
// with the highest value; and bytes of the file are overwritten pseudorandomly, the same in every
// run. For a quick run, EVERY selects only every EVERY-th mutation.
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../profile/reading.h"
#include "report/report.h"

enum { SCRAMBLES = 400, LONGEST_S = 120 };

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
};
enum { VALUES = sizeof(values) / sizeof(values[0]), ROWS = 2 };

struct column {
    char table[64], name[64];
};

static char path[] = "/dev/shm/glint-mutate-XXXXXX";
static char *original;
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

// Returns false if the mutation changes nothing.
static bool mutate_cell(size_t number)
{
    const struct column *column = &columns.items[number / (VALUES * ROWS)];
    const char *value = values[number / ROWS % VALUES];
    char where[300] = "", sql[600];
    if (number % ROWS)
        snprintf(where, sizeof(where), " WHERE \"%s\" IS (SELECT max(\"%s\") FROM \"%s\")",
                 column->name, column->name, column->table);
    snprintf(sql, sizeof(sql), "UPDATE OR REPLACE \"%s\" SET \"%s\" = %s%s", column->table,
             column->name, value, where);
    snprintf(doing, 512, "%.500s", sql);
    put_file(original, original_bytes);
    sqlite3 *db;
    bool changed = sqlite3_open(path, &db) == SQLITE_OK &&
                   sqlite3_exec(db, "PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY", NULL,
                                NULL, NULL) == SQLITE_OK &&
                   sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK && sqlite3_changes(db) > 0;
    sqlite3_close(db);
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

static void read_as_all(void)
{
    struct base_error error = {0};
    struct profile *profile, *other;
    size_t bytes = 0;
    bool result;
    const struct report_style style = {.width = 80};
    const struct report_summary summary = {take, &bytes, REPORT_SUMMARY_BYTES};
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
    struct report_rules rules;
    report_rules_init(&rules);
    report_rules_add(&rules, "any", &error);
    const struct report_check_request check = {.profile = profile, .name = "a", .rules = &rules};
    report_check_text(&check, &style, &result, take, &bytes, &error);
    report_rules_fini(&rules);
    if (profile_open(path, &other, &error) == BASE_OK) {
        const struct report_diff_request diff = {.profiles = {profile, other}, .names = {"a", "b"}};
        report_diff_text(&diff, &style, &result, take, &bytes, &error);
        profile_close(other);
    }
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
        for (; *at < end; *at += every) {
            alarm(LONGEST_S);
            if (*at < cells ? mutate_cell(*at) : mutate_bytes(*at - cells))
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
    const size_t every = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    struct base_error error = {0};
    unsigned failures = 0;
    if (every == 0 || base_file_read(argv[1], &original, &original_bytes, &error) != BASE_OK)
        die("usage: mutate FILE EVERY");
    const int file = mkstemp(path);
    doing = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (file < 0 || doing == MAP_FAILED)
        die("no room to work in");
    close(file);
    put_file(original, original_bytes);
    find_columns();
    const size_t end = columns.count * VALUES * ROWS + SCRAMBLES;
    for (size_t at = 0; at < end && failures < 50;)
        at = run_some(at, end, every, &failures);
    unlink(path);
    printf("%zu mutations of %s, %u failures\n", end / every, argv[1], failures);
    base_array_fini(&columns);
    free(original);
    return failures ? 1 : 0;
}
