// SPDX-License-Identifier: Apache-2.0
// Ranges of NVTX: tables, view, writer and reader. Profiles older than version 1.18 have none.
#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_nvtx_schema[] =
    "CREATE TABLE nvtx_ranges(number INTEGER PRIMARY KEY, name, domain, thread, start, pushed);"
    "CREATE TABLE nvtx_range_ends(number INTEGER PRIMARY KEY, end, thread);"

    "CREATE VIEW v_nvtx_ranges AS SELECT r.number, s.text AS name, d.text AS domain, r.thread, r.pushed,"
    " r.start AS start_ns, e.end AS end_ns, NULLIF(e.thread, 0) AS end_thread"
    " FROM nvtx_ranges r LEFT JOIN nvtx_range_ends e ON e.number = r.number"
    " LEFT JOIN strings s ON s.id = r.name LEFT JOIN strings d ON d.id = r.domain;";
// clang-format on

enum base_code profile_add_nvtx_range(struct profile_writer *writer,
                                      const struct profile_nvtx_range *range,
                                      struct base_error *error)
{
    int64_t values[] = {(int64_t)range->number, 0, 0, range->thread, range->start_ns,
                        range->pushed};
    return PROFILE_PUT(writer, NVTX_RANGES, values, error, {1, range->name}, {2, range->domain});
}

enum base_code profile_end_nvtx_range(struct profile_writer *writer, uint64_t number,
                                      int64_t end_ns, uint32_t thread, struct base_error *error)
{
    return profile_put_first(writer, PROFILE_TABLE_NVTX_RANGE_ENDS,
                             (int64_t[]){(int64_t)number, end_ns, thread}, error);
}

PROFILE_DEFINE_EACH(nvtx_range, nvtx_range, NVTX_RANGES,
                    "SELECT r.number, r.name, r.domain, r.thread, r.start, r.pushed, e.number,"
                    " e.end, e.thread FROM nvtx_ranges r LEFT JOIN nvtx_range_ends e"
                    " ON e.number = r.number ORDER BY r.number",
                    .number = KEY(0), .name = TEXT(1), .domain = TEXT(2), .thread = U32(3),
                    .start_ns = I64(4), .pushed = BOOL(5),
                    .has_end = sqlite3_column_type(at, 6) != SQLITE_NULL, .end_ns = I64(7),
                    .end_thread = U32(8))

PROFILE_DEFINE_EACH(nvtx_sum, nvtx_sum, NVTX_RANGES,
                    "SELECT r.name, r.domain, count(*), count(e.number),"
                    " coalesce(sum(max(e.end - r.start, 0)), 0),"
                    " coalesce(max(max(e.end - r.start, 0)), 0)"
                    " FROM nvtx_ranges r LEFT JOIN nvtx_range_ends e ON e.number = r.number"
                    " GROUP BY r.name, r.domain ORDER BY 5 DESC, 3 DESC, r.name, r.domain",
                    .name = TEXT(0), .domain = TEXT(1), .count = U64(2), .ended = U64(3),
                    .total_ns = U64(4), .longest_ns = U64(5))
