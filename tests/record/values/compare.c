// SPDX-License-Identifier: Apache-2.0
// compare PROFILE LOG PLAIN_LOG: compares what a profile says about values with the simulated GPU's
// log of the same run, and of a run without glint. Every row of contents must be what the replayed
// log gives, with all numbers of its fields; every row of accessed values what that log has; and
// every row of stores what the same instruction did in the plain run. Both runs have one worker and
// make the same launches. Exit status: 0 if all agree, 1 if not. The program prints what it
// compared, or the differences.
//
// If SPOIL is set in the environment, the named value of the last row that has it is falsified
// first; then the comparison must fail, and ends at the first difference. Exit status 2: no row has
// it.
#include "compare.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COMPLAINTS = 20 };

void complain(struct comparison *comparison, const char *format, ...)
{
    if (comparison->complaints++ >= MOST_COMPLAINTS)
        return;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    if (comparison->is_spoilt)
        exit(1);
}

// --- Falsifying ----------------------------------------------------------------------------------

// Returns the value of that name in a row of contents; NULL: the row has none.
static uint64_t *value_of_row(struct profile_contents *row, const char *name)
{
    const struct {
        const char *name;
        uint64_t *value;
    } values[] = {{"pieces", &row->pieces},      {"bytes", &row->bytes},
                  {"fresh", &row->fresh_pieces}, {"moved", &row->moved_bytes},
                  {"same", &row->same_bytes},    {"known", &row->known_pieces},
                  {"all", &row->all_pieces},     {"hash", &row->hash_low}};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        if (strcmp(name, values[i].name) == 0)
            return values[i].value;
    }
    return NULL;
}

static uint64_t *value_of_field(struct profile_value_field *field, const char *name)
{
    const struct {
        const char *name;
        uint64_t *value;
    } values[] = {{"elements", &field->elements},
                  {"zeros", &field->zeros},
                  {"least", &field->least},
                  {"greatest", &field->greatest},
                  {"any_bits", &field->any_bits},
                  {"all_bits", &field->all_bits},
                  {"count", &field->candidates[0].count}};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        if (strcmp(name, values[i].name) == 0)
            return values[i].value;
    }
    return NULL;
}

// Returns false if there is no such value.
static bool spoil(struct told *told, const char *name)
{
    uint64_t *value = NULL;
    for (size_t i = 0; i < told->rows.count; i++) {
        struct profile_contents *row = &told->rows.items[i];
        uint64_t *found = value_of_row(row, name);
        if (!found && row->field_count)
            found = value_of_field(&row->fields[0], name);
        value = found ? found : value;
    }
    for (size_t i = 0; i < told->stores.count; i++) {
        struct profile_stored *row = &told->stores.items[i];
        if (row->site && strcmp(name, "stores") == 0)
            value = &row->stores;
        if (row->site && strcmp(name, "silent") == 0)
            value = &row->silent;
        if (row->site && row->still != PROFILE_UNKNOWN && strcmp(name, "still") == 0)
            value = &row->still;
    }
    for (size_t i = 0; i < told->weighed.count; i++) {
        struct profile_weighed *row = &told->weighed.items[i];
        value = strcmp(name, "reads") == 0 ? &row->accesses : value;
        value = strcmp(name, "most") == 0 ? &row->count : value;
        value = strcmp(name, "most_value") == 0 ? &row->value : value;
    }
    for (size_t i = 0; i < told->accessed.count; i++) {
        struct profile_accessed *row = &told->accessed.items[i];
        if (row->flags & PROFILE_ACCESSED_INCOMPLETE)
            continue;
        if (strcmp(name, "accessed_any") == 0)
            value = &row->any_bits;
        if (strcmp(name, "accessed_all") == 0)
            value = &row->all_bits;
        if (strcmp(name, "accessed_most") == 0)
            value = &row->most;
    }
    if (value)
        *value ^= 1;
    return value != NULL;
}

// --- The program ---------------------------------------------------------------------------------

// Each row must be about something that the logs have.
static void check_seen(struct comparison *comparison)
{
    const struct told *told = &comparison->told;
    for (size_t i = 0; i < told->rows.count; i++) {
        const struct profile_contents *row = &told->rows.items[i];
        if (!comparison->rows_seen[i])
            complain(comparison,
                     "call %" PRIu64 " has a row about object %" PRIu64 ", but is not in the log",
                     row->call, row->object);
    }
    for (size_t i = 0; i < told->stores.count; i++) {
        const struct profile_stored *row = &told->stores.items[i];
        if (!comparison->stores_seen[i])
            complain(comparison, "call %" PRIu64 " has a row about site %u, but is not in the log",
                     row->call, row->site);
    }
}

static int report(const struct comparison *comparison)
{
    printf("%" PRIu64 " rows of contents, %" PRIu64 " with their hash; %" PRIu64 " fields; %" PRIu64
           " rows of stores; %" PRIu64 " of what most reads got; %" PRIu64
           " rows of accessed values, %" PRIu64 " incomplete; ",
           comparison->rows, comparison->hashes, comparison->fields, comparison->stores,
           comparison->weighed, comparison->accessed, comparison->incomplete);
    printf("%" PRIu64 " of graphs; not compared: %" PRIu64 " rows with unknown bytes, %" PRIu64
           " concurrent; ",
           comparison->of_graphs, comparison->unknown, comparison->concurrent);
    printf("not in the profile: %" PRIu64 " writes, %" PRIu64 " stores; %" PRIu64 " differences\n",
           comparison->missing, comparison->missing_stores, comparison->complaints);
    return comparison->complaints != 0;
}

int main(int argc, char **argv)
{
    struct comparison comparison = {0};
    struct told *told = &comparison.told;
    const char *name = getenv("SPOIL");
    if (argc != 4) {
        fprintf(stderr, "usage: compare PROFILE LOG PLAIN_LOG\n");
        return 2;
    }
    bool good = told_read(argv[1], told);
    comparison.rows_seen = replay_must(calloc(told->rows.count + 1, sizeof(bool)));
    comparison.stores_seen = replay_must(calloc(told->stores.count + 1, sizeof(bool)));
    int status = 1;
    comparison.is_spoilt = name != NULL;
    if (good && name && !spoil(told, name)) {
        printf("no row has a value '%s'\n", name);
        good = false;
        status = 2;
    }
    good = good && compare_contents(&comparison, argv[2]) && compare_stores(&comparison, argv[3]) &&
           compare_weighed(&comparison, argv[2]) && compare_accessed(&comparison, argv[2]);
    if (good) {
        check_seen(&comparison);
        status = report(&comparison);
    }
    free(comparison.rows_seen);
    free(comparison.stores_seen);
    told_fini(told);
    return status;
}
