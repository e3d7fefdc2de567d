// SPDX-License-Identifier: Apache-2.0
// Live ranges of words of shared memory: what stores began at each site of a launch, and how often
// data was loaded from an array before it was replaced. Tables, view, writer and reader. An array
// whose live ranges are unknown in a launch has no rows. Profiles older than version 1.13 have
// none.
#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_lives_schema[] =
    "CREATE TABLE shared_ranges(call, node, array, site, kernel, fills, words, ranges, loads, again, own, drained,"
    " PRIMARY KEY(call, node, array, site)) WITHOUT ROWID;"
    "CREATE TABLE shared_lives(call, node, array, kernel, unstored, ranges, loads, again, own, drained, filled_words,"
    " fills, fills_min, fills_max, fill_loads, least_loads, least_fills, most_loads, most_fills,"
    " PRIMARY KEY(call, node, array)) WITHOUT ROWID;"

    "CREATE VIEW v_shared_ranges AS SELECT r.call, NULLIF(r.node, 0) AS node, r.kernel, r.array, s.text AS name, r.site,"
    " f.text AS file, NULLIF(x.line, 0) AS line, CASE WHEN r.fills THEN 'fill' ELSE 'computed' END AS kind, r.words,"
    " r.ranges, r.ranges - (r.loads - r.again) AS unloaded, r.loads, r.again AS repeated_loads, r.own AS own_loads,"
    " r.drained AS drain_loads"
    " FROM shared_ranges r LEFT JOIN shared_arrays a ON a.kernel = r.kernel AND a.number = r.array"
    " LEFT JOIN strings s ON s.id = a.name"
    " LEFT JOIN kernel_sites x ON x.kernel = r.kernel AND x.number = r.site LEFT JOIN strings f ON f.id = x.file;";
// clang-format on

enum base_code profile_add_shared_ranges(struct profile_writer *writer,
                                         const struct profile_shared_ranges *row,
                                         struct base_error *error)
{
    return profile_put_first(writer, PROFILE_TABLE_SHARED_RANGES,
                             (int64_t[]){(int64_t)row->call, row->node, row->array, row->site,
                                         row->kernel, row->fills, row->words, (int64_t)row->ranges,
                                         (int64_t)row->loads, (int64_t)row->again,
                                         (int64_t)row->own, (int64_t)row->drained},
                             error);
}

enum base_code profile_add_shared_lives(struct profile_writer *writer,
                                        const struct profile_shared_lives *row,
                                        struct base_error *error)
{
    return profile_put_first(
        writer, PROFILE_TABLE_SHARED_LIVES,
        (int64_t[]){(int64_t)row->call, row->node, row->array, row->kernel, (int64_t)row->unstored,
                    (int64_t)row->ranges, (int64_t)row->loads, (int64_t)row->again,
                    (int64_t)row->own, (int64_t)row->drained, row->filled_words,
                    (int64_t)row->fills, (int64_t)row->fills_min, (int64_t)row->fills_max,
                    (int64_t)row->fill_loads, (int64_t)row->least_loads, (int64_t)row->least_fills,
                    (int64_t)row->most_loads, (int64_t)row->most_fills},
        error);
}

PROFILE_DEFINE_EACH(shared_ranges, shared_ranges, SHARED_RANGES,
                    "SELECT call, node, array, site, kernel, fills, words, ranges, loads, again,"
                    " own, drained FROM shared_ranges ORDER BY call, node, array, site",
                    .call = KEY(0), .node = NUMBER32(1), .array = U32(2), .site = U32(3),
                    .kernel = U32(4), .fills = BOOL(5), .words = U32(6), .ranges = U64(7),
                    .loads = U64(8), .again = U64(9), .own = U64(10), .drained = U64(11))

PROFILE_DEFINE_EACH(shared_lives, shared_lives, SHARED_LIVES,
                    "SELECT call, node, array, kernel, unstored, ranges, loads, again, own,"
                    " drained, filled_words, fills, fills_min, fills_max, fill_loads, least_loads,"
                    " least_fills, most_loads, most_fills FROM shared_lives"
                    " ORDER BY call, node, array",
                    .call = KEY(0), .node = NUMBER32(1), .array = U32(2), .kernel = U32(3),
                    .unstored = U64(4), .ranges = U64(5), .loads = U64(6), .again = U64(7),
                    .own = U64(8), .drained = U64(9), .filled_words = U32(10), .fills = U64(11),
                    .fills_min = U64(12), .fills_max = U64(13), .fill_loads = U64(14),
                    .least_loads = U64(15), .least_fills = U64(16), .most_loads = U64(17),
                    .most_fills = U64(18))
