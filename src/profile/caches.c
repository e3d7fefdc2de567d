// SPDX-License-Identifier: Apache-2.0
// What the model of the caches found about launches: hits of each object at each site, and how far
// apart uses of the same data were. Tables, views, writer and reader. Numbers are of the lines that
// the model looked at; the views scale them to all lines. Launches with the same distances have
// these rows in common. Profiles older than version 1.14 have none.
#include <string.h>

#include "reader.h"
#include "writer.h"

_Static_assert(PROFILE_CACHE_ALL == 65536, "the views scale by this number");

// A number of sampled lines as that of all lines, rounded; NULL if the launch has no row.
#define SCALED(number) "(" number " * 65536 + l.share / 2) / l.share"
#define PERCENT(level, kind)                                                                 \
    " c." level "_" kind "_hits * 100.0 / NULLIF(c." level "_" kind "_sectors, 0) AS " level \
    "_" kind "_hit_percent"
#define COUNT(level, kind)                                                       \
    " " SCALED("c." level "_" kind "_sectors") " AS " level "_" kind "_sectors," \
                                               " " SCALED("c." level "_" kind    \
                                                          "_hits") " AS " level "_" kind "_hits"

// clang-format off
const char profile_caches_schema[] =
    "CREATE TABLE cache_launches(call, node, kernel, preset, share, shared_bytes, resident, l1_bytes, l2_bytes,"
    " records, lost, PRIMARY KEY(call, node)) WITHOUT ROWID;"
    "CREATE TABLE cache(call, node, object, site, kernel, l1_load_sectors, l1_load_hits, l1_store_sectors,"
    " l1_store_hits, l1_atomic_sectors, l1_atomic_hits, l2_load_sectors, l2_load_hits, l2_store_sectors,"
    " l2_store_hits, l2_atomic_sectors, l2_atomic_hits, read, written, l1_error, l2_error,"
    " PRIMARY KEY(call, node, object, site)) WITHOUT ROWID;"
    "CREATE TABLE cache_reuse(call, node, object, level, kernel, first, counts,"
    " PRIMARY KEY(call, node, object, level)) WITHOUT ROWID;"
    // Place 0 is distance 0; place n begins with distance 2^(n-1).
    "CREATE TABLE cache_distances(counts, place, sectors, PRIMARY KEY(counts, place)) WITHOUT ROWID;"

    "CREATE VIEW v_cache_launches AS SELECT l.call, NULLIF(l.node, 0) AS node, l.kernel, s.text AS preset,"
    " l.share / 65536.0 AS share, l.shared_bytes, NULLIF(l.resident, 0) AS resident_blocks, l.l1_bytes, l.l2_bytes,"
    " l.records, l.lost FROM cache_launches l LEFT JOIN strings s ON s.id = l.preset;"

    "CREATE VIEW v_cache AS SELECT c.call, NULLIF(c.node, 0) AS node, c.kernel, NULLIF(c.object, 0) AS object,"
    " NULLIF(c.site, 0) AS site," COUNT("l1", "load") "," COUNT("l1", "store") "," COUNT("l1", "atomic") ","
    COUNT("l2", "load") "," COUNT("l2", "store") "," COUNT("l2", "atomic") ","
    " " SCALED("c.read") " AS dram_read_sectors, " SCALED("c.written") " AS dram_written_sectors,"
    PERCENT("l1", "load") "," PERCENT("l1", "store") "," PERCENT("l1", "atomic") ","
    PERCENT("l2", "load") "," PERCENT("l2", "store") "," PERCENT("l2", "atomic") ","
    " NULLIF(c.l1_error, -1) / 100.0 AS l1_error_points, NULLIF(c.l2_error, -1) / 100.0 AS l2_error_points"
    " FROM cache c LEFT JOIN cache_launches l ON l.call = c.call AND l.node = c.node;"

    "CREATE VIEW v_cache_reuse AS SELECT r.call, NULLIF(r.node, 0) AS node, r.kernel, NULLIF(r.object, 0) AS object,"
    " r.level, " SCALED("r.first") " AS first_sectors,"
    " " SCALED("(SELECT COALESCE(SUM(d.sectors), 0) FROM cache_distances d WHERE d.counts = r.counts)")
    " AS reused_sectors"
    " FROM cache_reuse r LEFT JOIN cache_launches l ON l.call = r.call AND l.node = r.node;"

    "CREATE VIEW v_cache_distances AS SELECT r.call, NULLIF(r.node, 0) AS node, r.kernel,"
    " NULLIF(r.object, 0) AS object, r.level, CASE d.place WHEN 0 THEN 0 ELSE 1 << (d.place - 1) END AS lines_min,"
    " (1 << d.place) - 1 AS lines_max, " SCALED("d.sectors") " AS sectors"
    " FROM cache_reuse r JOIN cache_distances d ON d.counts = r.counts"
    " LEFT JOIN cache_launches l ON l.call = r.call AND l.node = r.node;";
// clang-format on

// --- Writing -------------------------------------------------------------------------------------

enum base_code profile_add_cache_launch(struct profile_writer *writer,
                                        const struct profile_cache_launch *launch,
                                        struct base_error *error)
{
    int64_t values[] = {(int64_t)launch->call,
                        launch->node,
                        launch->kernel,
                        0,
                        launch->share,
                        (int64_t)launch->shared_bytes,
                        launch->resident,
                        (int64_t)launch->l1_bytes,
                        (int64_t)launch->l2_bytes,
                        (int64_t)launch->records,
                        (int64_t)launch->lost};
    return PROFILE_PUT(writer, CACHE_LAUNCHES, values, error, {3, launch->preset});
}

enum base_code profile_add_cache(struct profile_writer *writer, const struct profile_cache *cache,
                                 struct base_error *error)
{
    int64_t values[] = {(int64_t)cache->call, cache->node, (int64_t)cache->object, cache->site,
                        cache->kernel,
                        // Sectors and hits of both levels by kind, which follow below.
                        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (int64_t)cache->read,
                        (int64_t)cache->written, cache->l1_error, cache->l2_error};
    int64_t *at = values + 5;
    for (unsigned kind = 0; kind < PROFILE_CACHE_KINDS; kind++) {
        *at++ = (int64_t)cache->l1[kind].sectors;
        *at++ = (int64_t)cache->l1[kind].hits;
    }
    for (unsigned kind = 0; kind < PROFILE_CACHE_KINDS; kind++) {
        *at++ = (int64_t)cache->l2[kind].sectors;
        *at++ = (int64_t)cache->l2[kind].hits;
    }
    return profile_put_first(writer, PROFILE_TABLE_CACHE, values, error);
}

static enum base_code put_distances(struct profile_writer *writer,
                                    const struct profile_cache_reuse *reuse, int64_t counts,
                                    struct base_error *error)
{
    enum base_code code = BASE_OK;
    for (unsigned i = 0; i < PROFILE_CACHE_DISTANCES && code == BASE_OK; i++) {
        if (reuse->sectors[i])
            code = profile_put(writer, PROFILE_TABLE_CACHE_DISTANCES,
                               (int64_t[]){counts, i, (int64_t)reuse->sectors[i]}, error);
    }
    return code;
}

enum base_code profile_add_cache_reuse(struct profile_writer *writer,
                                       const struct profile_cache_reuse *reuse,
                                       struct base_error *error)
{
    int64_t key[1 + PROFILE_CACHE_DISTANCES] = {0};
    memcpy(key + 1, reuse->sectors, sizeof(reuse->sectors));
    bool is_new;
    enum base_code code = profile_recall_row(writer, &writer->distances, key,
                                             sizeof(key) / sizeof(key[0]), &is_new, error);
    if (code == BASE_OK)
        code = profile_put_first(writer, PROFILE_TABLE_CACHE_REUSE,
                                 (int64_t[]){(int64_t)reuse->call, reuse->node,
                                             (int64_t)reuse->object, reuse->level, reuse->kernel,
                                             (int64_t)reuse->first, key[0]},
                                 error);
    return code == BASE_OK && is_new ? put_distances(writer, reuse, key[0], error) : code;
}

// --- Reading -------------------------------------------------------------------------------------

PROFILE_DEFINE_EACH(cache_launch, cache_launch, CACHE_LAUNCHES,
                    "SELECT call, node, kernel, preset, share, shared_bytes, resident, l1_bytes,"
                    " l2_bytes, records, lost FROM cache_launches ORDER BY call, node",
                    .call = KEY(0), .node = NUMBER32(1), .kernel = U32(2), .preset = TEXT(3),
                    .share = U32(4), .shared_bytes = U64(5), .resident = U32(6), .l1_bytes = U64(7),
                    .l2_bytes = U64(8), .records = U64(9), .lost = U64(10))

#define HITS(column)                   \
    {                                  \
        U64(column), U64((column) + 1) \
    }
PROFILE_DEFINE_EACH(cache, cache, CACHE,
                    "SELECT call, node, object, site, kernel, l1_load_sectors, l1_load_hits,"
                    " l1_store_sectors, l1_store_hits, l1_atomic_sectors, l1_atomic_hits,"
                    " l2_load_sectors, l2_load_hits, l2_store_sectors, l2_store_hits,"
                    " l2_atomic_sectors, l2_atomic_hits, read, written, l1_error, l2_error"
                    " FROM cache ORDER BY call, node, object, site",
                    .call = KEY(0), .node = NUMBER32(1), .object = U64(2), .site = U32(3),
                    .kernel = U32(4), .l1 = {HITS(5), HITS(7), HITS(9)},
                    .l2 = {HITS(11), HITS(13), HITS(15)}, .read = U64(17), .written = U64(18),
                    .l1_error = I32(19), .l2_error = I32(20))

struct reuse_walk {
    bool (*each)(void *user, const struct profile_cache_reuse *row);
    void *user;
    sqlite3_stmt *distances; // of the bound counts
};

static enum base_code take_distances(struct profile *profile, const struct reuse_walk *walk,
                                     int64_t counts, struct profile_cache_reuse *row,
                                     struct base_error *error)
{
    sqlite3_stmt *at = walk->distances;
    sqlite3_bind_int64(at, 1, counts);
    while (sqlite3_step(at) == SQLITE_ROW) {
        const uint64_t place = U64(0);
        if (place < PROFILE_CACHE_DISTANCES)
            row->sectors[place] = U64(1);
    }
    const int result = sqlite3_reset(at);
    return result == SQLITE_OK ? BASE_OK : profile_read_fail(profile, result, error);
}

static enum base_code take_reuse(struct profile *profile, sqlite3_stmt *at, void *state,
                                 struct base_error *error)
{
    struct reuse_walk *walk = state;
    struct profile_cache_reuse row = {.call = KEY(0),
                                      .node = NUMBER32(1),
                                      .object = U64(2),
                                      .level = U32(3),
                                      .kernel = U32(4),
                                      .first = U64(5)};
    const enum base_code code = take_distances(profile, walk, I64(6), &row, error);
    if (code != BASE_OK)
        return code;
    return PROFILE_PASS_ROW(profile, walk, &row, error);
}

PROFILE_EACH(cache_reuse, cache_reuse)
{
    struct reuse_walk walk = {.each = each, .user = user};
    if (!profile_has(profile, PROFILE_TABLE_CACHE_REUSE))
        return BASE_OK;
    enum base_code code =
        profile_read_prepare(profile, "SELECT place, sectors FROM cache_distances WHERE counts=?",
                             &walk.distances, error);
    if (code == BASE_OK)
        code = profile_walk(profile,
                            "SELECT call, node, object, level, kernel, first, counts"
                            " FROM cache_reuse ORDER BY call, node, object, level",
                            take_reuse, &walk, error);
    sqlite3_finalize(walk.distances);
    return code;
}
