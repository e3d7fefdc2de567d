// SPDX-License-Identifier: Apache-2.0
// Shared memory: its arrays, and how often each word of them was loaded and stored in a launch.
// Tables, views, writer and reader. Words that follow one another and have equal counts are one
// row, and launches whose counts are all equal have these rows in common. Profiles older than
// version 1.12 have none.
#include <stdlib.h>
#include <string.h>

#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_shared_schema[] =
    "CREATE TABLE shared_arrays(kernel, number, name, bytes, PRIMARY KEY(kernel, number)) WITHOUT ROWID;"
    "CREATE TABLE site_arrays(kernel, site, name, PRIMARY KEY(kernel, site)) WITHOUT ROWID;"
    "CREATE TABLE shared_words(call, node, array, first, kernel, bytes, blocks, lost, missed, flags, words, touched,"
    " untouched_bytes, loads, loads_min, loads_max, stores, stores_min, stores_max, counts,"
    " PRIMARY KEY(call, node, array, first)) WITHOUT ROWID;"
    "CREATE TABLE shared_runs(counts, first, words, loads, stores, PRIMARY KEY(counts, first)) WITHOUT ROWID;"

    "CREATE VIEW v_shared_arrays AS SELECT w.call, NULLIF(w.node, 0) AS node, w.kernel, w.array, s.text AS name,"
    " w.bytes, a.bytes = 0 AS dynamic, w.blocks, SUM(w.words) AS words, SUM(w.touched) AS touched_words,"
    " CASE WHEN w.flags & 1 THEN NULL ELSE SUM(w.untouched_bytes) END AS untouched_bytes,"
    " SUM(w.loads) AS loads, MIN(w.loads_min) AS loads_min, SUM(w.loads) * 1.0 / SUM(w.words) AS loads_mean,"
    " MAX(w.loads_max) AS loads_max, SUM(w.stores) AS stores, MIN(w.stores_min) AS stores_min,"
    " SUM(w.stores) * 1.0 / SUM(w.words) AS stores_mean, MAX(w.stores_max) AS stores_max,"
    " w.lost, w.missed, NOT w.flags & 3 AS complete, r.unstored AS unstored_loads, r.ranges, r.ranges - (r.loads - r.again) AS"
    " unloaded_ranges, r.again AS repeated_loads, r.own * 1.0 / NULLIF(r.loads, 0) AS own_share,"
    " r.drained AS drain_loads, r.fills, r.fills_min, r.fills * 1.0 / SUM(w.words) AS fills_mean, r.fills_max,"
    " r.least_loads * 1.0 / NULLIF(r.least_fills, 0) AS loads_per_fill_min,"
    " r.fill_loads * 1.0 / NULLIF(r.fills, 0) AS loads_per_fill_mean,"
    " r.most_loads * 1.0 / NULLIF(r.most_fills, 0) AS loads_per_fill_max"
    " FROM shared_words w LEFT JOIN shared_arrays a ON a.kernel = w.kernel AND a.number = w.array"
    " LEFT JOIN shared_lives r ON r.call = w.call AND r.node = w.node AND r.array = w.array"
    " LEFT JOIN strings s ON s.id = a.name GROUP BY w.call, w.node, w.array;"

    "CREATE VIEW v_shared_words AS SELECT w.call, NULLIF(w.node, 0) AS node, w.kernel, w.array, s.text AS name,"
    " w.first + r.first AS first, r.words, r.loads, r.stores"
    " FROM shared_words w JOIN shared_runs r ON r.counts = w.counts"
    " LEFT JOIN shared_arrays a ON a.kernel = w.kernel AND a.number = w.array LEFT JOIN strings s ON s.id = a.name;";
// clang-format on

// --- Writing -------------------------------------------------------------------------------------

enum base_code profile_add_site_array(struct profile_writer *writer,
                                      const struct profile_site_array *array,
                                      struct base_error *error)
{
    int64_t values[] = {array->kernel, array->site, 0};
    return PROFILE_PUT(writer, SITE_ARRAYS, values, error, {2, array->name});
}

enum base_code profile_add_shared_array(struct profile_writer *writer,
                                        const struct profile_shared_array *array,
                                        struct base_error *error)
{
    int64_t values[] = {array->kernel, array->number, 0, array->bytes};
    return PROFILE_PUT(writer, SHARED_ARRAYS, values, error, {2, array->name});
}

// Returns the bytes of the array in words [first, first + words); the last word may be partial.
static uint64_t bytes_in(const struct profile_shared_words *words, uint64_t first, uint64_t count)
{
    const uint64_t from = first * PROFILE_SHARED_WORD_BYTES;
    const uint64_t to = (first + count) * PROFILE_SHARED_WORD_BYTES;
    const uint64_t end = to < words->bytes ? to : words->bytes;
    return end > from ? end - from : 0;
}

struct profile_shared_sums profile_shared_sum(const struct profile_shared_words *words)
{
    struct profile_shared_sums sums = {0};
    for (uint32_t i = 0; i < words->run_count; i++) {
        const struct profile_shared_run *run = &words->runs[i];
        const bool touched = run->loads || run->stores;
        if (!touched)
            sums.untouched_bytes += bytes_in(words, words->first + sums.words, run->words);
        sums.touched += touched ? run->words : 0;
        sums.words += run->words;
        sums.loads += run->words * run->loads;
        sums.stores += run->words * run->stores;
        if (!i || run->loads < sums.loads_min)
            sums.loads_min = run->loads;
        if (!i || run->stores < sums.stores_min)
            sums.stores_min = run->stores;
        if (run->loads > sums.loads_max)
            sums.loads_max = run->loads;
        if (run->stores > sums.stores_max)
            sums.stores_max = run->stores;
    }
    return sums;
}

static enum base_code put_runs(struct profile_writer *writer,
                               const struct profile_shared_words *words, int64_t counts,
                               struct base_error *error)
{
    enum base_code code = BASE_OK;
    uint64_t first = 0;
    for (uint32_t i = 0; i < words->run_count && code == BASE_OK; i++) {
        const struct profile_shared_run *run = &words->runs[i];
        code = profile_put(writer, PROFILE_TABLE_SHARED_RUNS,
                           (int64_t[]){counts, (int64_t)first, (int64_t)run->words,
                                       (int64_t)run->loads, (int64_t)run->stores},
                           error);
        first += run->words;
    }
    return code;
}

enum base_code profile_add_shared_words(struct profile_writer *writer,
                                        const struct profile_shared_words *words,
                                        struct base_error *error)
{
    const struct profile_shared_sums sums = profile_shared_sum(words);
    // Runs are recalled by their hash, and by whose they are.
    int64_t key[] = {0,
                     words->kernel,
                     words->array,
                     words->first,
                     words->run_count,
                     (int64_t)base_hash(words->runs, words->run_count * sizeof(words->runs[0]))};
    bool is_new;
    enum base_code code = profile_recall_row(writer, &writer->runs, key,
                                             sizeof(key) / sizeof(key[0]), &is_new, error);
    if (code == BASE_OK)
        code = profile_put_first(writer, PROFILE_TABLE_SHARED_WORDS,
                                 (int64_t[]){(int64_t)words->call,
                                             words->node,
                                             words->array,
                                             words->first,
                                             words->kernel,
                                             words->bytes,
                                             (int64_t)words->blocks,
                                             (int64_t)words->lost,
                                             (int64_t)words->missed,
                                             words->flags,
                                             (int64_t)sums.words,
                                             (int64_t)sums.touched,
                                             (int64_t)sums.untouched_bytes,
                                             (int64_t)sums.loads,
                                             (int64_t)sums.loads_min,
                                             (int64_t)sums.loads_max,
                                             (int64_t)sums.stores,
                                             (int64_t)sums.stores_min,
                                             (int64_t)sums.stores_max,
                                             key[0]},
                                 error);
    return code == BASE_OK && is_new ? put_runs(writer, words, key[0], error) : code;
}

// --- Reading -------------------------------------------------------------------------------------

PROFILE_DEFINE_EACH(site_array, site_array, SITE_ARRAYS,
                    "SELECT kernel, site, name FROM site_arrays ORDER BY kernel, site",
                    .kernel = KEY32(0), .site = NUMBER32(1), .name = TEXT(2))

PROFILE_DEFINE_EACH(shared_array, shared_array, SHARED_ARRAYS,
                    "SELECT kernel, number, name, bytes FROM shared_arrays ORDER BY kernel, number",
                    .kernel = KEY32(0), .number = NUMBER32(1), .name = TEXT(2), .bytes = U32(3))

struct words_walk {
    bool (*each)(void *user, const struct profile_shared_words *row);
    void *user;
    sqlite3_stmt *runs; // of the bound counts
    BASE_ARRAY(struct profile_shared_run) list;
};

static enum base_code take_runs(struct profile *profile, struct words_walk *walk, int64_t counts,
                                struct base_error *error)
{
    sqlite3_stmt *at = walk->runs;
    struct profile_shared_run *run = NULL;
    bool failed = false;
    walk->list.count = 0;
    sqlite3_bind_int64(at, 1, counts);
    while (!failed && sqlite3_step(at) == SQLITE_ROW) {
        run = base_array_push(&walk->list);
        failed = !run;
        if (run)
            *run = (struct profile_shared_run){U64(0), U64(1), U64(2)};
    }
    const int result = sqlite3_reset(at);
    if (failed)
        return base_no_memory(error);
    return result == SQLITE_OK ? BASE_OK : profile_read_fail(profile, result, error);
}

static enum base_code take_words(struct profile *profile, sqlite3_stmt *at, void *state,
                                 struct base_error *error)
{
    struct words_walk *walk = state;
    struct profile_shared_words row = {.call = KEY(0),
                                       .node = NUMBER32(1),
                                       .array = U32(2),
                                       .first = U32(3),
                                       .kernel = U32(4),
                                       .bytes = U32(5),
                                       .blocks = U64(6),
                                       .lost = U64(7),
                                       .missed = U64(8),
                                       .flags = U32(9)};
    const enum base_code code = take_runs(profile, walk, I64(10), error);
    if (code != BASE_OK)
        return code;
    row.runs = walk->list.items;
    row.run_count = (uint32_t)walk->list.count;
    return PROFILE_PASS_ROW(profile, walk, &row, error);
}

PROFILE_EACH(shared_words, shared_words)
{
    struct words_walk walk = {.each = each, .user = user};
    if (!profile_has(profile, PROFILE_TABLE_SHARED_WORDS))
        return BASE_OK;
    enum base_code code = profile_read_prepare(
        profile, "SELECT words, loads, stores FROM shared_runs WHERE counts=? ORDER BY first",
        &walk.runs, error);
    if (code == BASE_OK)
        code = profile_walk(profile,
                            "SELECT call, node, array, first, kernel, bytes, blocks, lost, missed,"
                            " flags, counts FROM shared_words ORDER BY call, node, array, first",
                            take_words, &walk, error);
    sqlite3_finalize(walk.runs);
    base_array_fini(&walk.list);
    return code;
}
