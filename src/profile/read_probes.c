// SPDX-License-Identifier: Apache-2.0
// Reads what probes measured from the integers of its tables.
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "reader.h"

PROFILE_DEFINE_EACH(probe, probe, PROBES,
                    "SELECT kernel, facts, reason FROM probes ORDER BY kernel", .kernel = KEY32(0),
                    .facts = U32(1), .reason = TEXT(2))

PROFILE_DEFINE_EACH(
    kernel_site, kernel_site, KERNEL_SITES,
    "SELECT kernel, number, function, opcode, type, type_count, bytes, access, generic,"
    " instruction, ptx_line, file, line, col, inlined, at_file, at_line, at_col FROM kernel_sites"
    " ORDER BY kernel, number",
    .kernel = KEY32(0), .number = NUMBER32(1), .function = TEXT(2), .opcode = TEXT(3),
    .type = TEXT(4), .type_count = U32(5), .bytes = U32(6),
    .access = (enum profile_site_access)profile_known(at, 7, PROFILE_SITE_LOAD,
                                                      PROFILE_SITE_ATOMIC + 1, PROFILE_SITE_ATOMIC),
    .generic = BOOL(8), .instruction = U32(9), .ptx_line = U32(10), .file = TEXT(11),
    .line = U32(12), .column = U32(13), .inlined_function = TEXT(14), .at_file = TEXT(15),
    .at_line = U32(16), .at_column = U32(17))

// --- Accesses ------------------------------------------------------------------------------------

struct profile_accesses {
    struct profile *profile;
    sqlite3_stmt *at; // NULL: there are none
    struct profile_access row;
    int result; // of the last step
    bool damaged;
};

enum base_code profile_accesses_begin(struct profile *profile, struct profile_accesses **accesses,
                                      struct base_error *error)
{
    *accesses = calloc(1, sizeof(**accesses));
    BASE_RETURN_IF_NO_MEMORY(!*accesses, error);
    (*accesses)->profile = profile;
    (*accesses)->result = SQLITE_DONE;
    if (!profile_has(profile, PROFILE_TABLE_ACCESSES))
        return BASE_OK;
    enum base_code code = profile_read_prepare(
        profile,
        "SELECT a.call, a.node, a.object, s.flags, s.read_bytes, s.written_bytes, s.elements,"
        " s.new, s.shared, s.element_bytes, s.id FROM accesses a"
        " LEFT JOIN access_shapes s ON s.id = a.shape ORDER BY a.call, a.node, a.object",
        &(*accesses)->at, error);
    if (code != BASE_OK) {
        free(*accesses);
        *accesses = NULL;
    }
    return code;
}

// Returns the next row, valid or not; NULL at the end.
static sqlite3_stmt *step_access(struct profile_accesses *accesses)
{
    accesses->result = sqlite3_step(accesses->at);
    if (accesses->result == SQLITE_ROW)
        return accesses->at;
    sqlite3_finalize(accesses->at);
    accesses->at = NULL;
    return NULL;
}

const struct profile_access *profile_accesses_next(struct profile_accesses *accesses)
{
    if (!accesses || !accesses->at || accesses->damaged)
        return NULL;
    struct profile *profile = accesses->profile;
    const uint64_t last_call = accesses->row.call;
    profile->row_damaged = profile->row_skipped = false;
    do {
        sqlite3_stmt *at = step_access(accesses);
        if (!at)
            return NULL;
        accesses->damaged |= sqlite3_column_type(at, 10) == SQLITE_NULL; // no such shape
        accesses->row = (struct profile_access){.call = NUMBER(0),
                                                .node = NUMBER32(1),
                                                .object = NUMBER(2),
                                                .read = U64(3) & 1,
                                                .written = U64(3) >> 1 & 1,
                                                .named = U64(3) >> 2 & 1,
                                                .passed = U64(3) >> 3 & 1,
                                                .sampled = U64(3) >> 4 & 1,
                                                .bytes_read = U64(4),
                                                .bytes_written = U64(5),
                                                .elements = U64(6),
                                                .new_elements = U64(7),
                                                .shared_elements = U64(8),
                                                .element_bytes = U32(9)};
    } while (profile_skips_row(profile) && !accesses->damaged);
    accesses->damaged |= profile->row_damaged || accesses->row.call < last_call;
    return accesses->damaged ? NULL : &accesses->row;
}

enum base_code profile_accesses_end(struct profile_accesses *accesses, struct base_error *error)
{
    if (!accesses)
        return BASE_OK;
    enum base_code code = BASE_OK;
    if (accesses->damaged)
        code = profile_damaged(accesses->profile, error);
    else if (accesses->result != SQLITE_DONE && accesses->result != SQLITE_ROW)
        code = profile_read_fail(accesses->profile, accesses->result, error);
    sqlite3_finalize(accesses->at);
    free(accesses);
    return code;
}

PROFILE_EACH(access, access)
{
    struct profile_accesses *accesses;
    const struct profile_access *row;
    enum base_code code = profile_accesses_begin(profile, &accesses, error);
    if (code != BASE_OK)
        return code;
    while ((row = profile_accesses_next(accesses)) && each(user, row))
        ;
    return profile_accesses_end(accesses, error);
}

// --- Counts --------------------------------------------------------------------------------------

struct counts_walk {
    bool (*each)(void *user, const struct profile_counts *row);
    void *user;
    sqlite3_stmt *bins, *ranges; // of the bound distribution
};

static enum base_code take_bins(struct profile *profile, struct counts_walk *walk,
                                int64_t distribution, struct profile_counts *counts,
                                struct base_error *error)
{
    sqlite3_stmt *at = walk->bins;
    sqlite3_bind_int64(at, 1, distribution);
    while (sqlite3_step(at) == SQLITE_ROW) {
        if (U64(0) < PROFILE_COUNT_BINS)
            counts->bins[U64(0)] = U64(1);
    }
    int result = sqlite3_reset(at);
    at = walk->ranges;
    sqlite3_bind_int64(at, 1, distribution);
    while (result == SQLITE_OK && sqlite3_step(at) == SQLITE_ROW) {
        if (U64(0) - 1 < PROFILE_HOT_RANGES)
            counts->hottest[U64(0) - 1] = (struct profile_hot_range){U64(1), U64(2), U64(3)};
    }
    int ended = sqlite3_reset(at);
    result = result == SQLITE_OK ? ended : result;
    return result == SQLITE_OK ? BASE_OK : profile_read_fail(profile, result, error);
}

static enum base_code take_counts(struct profile *profile, sqlite3_stmt *at, void *state,
                                  struct base_error *error)
{
    struct counts_walk *walk = state;
    if (sqlite3_column_type(at, 3) == SQLITE_NULL)
        return profile_damaged(profile, error);
    struct profile_counts row = {.call = KEY(0),
                                 .node = NUMBER32(1),
                                 .object = NUMBER(2),
                                 .sum = U64(4),
                                 .squares_low = U64(5),
                                 .squares_high = U64(6),
                                 .most = U32(7),
                                 .most_at = U64(8)};
    enum base_code code = take_bins(profile, walk, I64(3), &row, error);
    if (code != BASE_OK)
        return code;
    return PROFILE_PASS_ROW(profile, walk, &row, error);
}

PROFILE_EACH(counts, counts)
{
    struct counts_walk walk = {.each = each, .user = user};
    if (!profile_has(profile, PROFILE_TABLE_ACCESS_COUNTS))
        return BASE_OK;
    enum base_code code = profile_read_prepare(
        profile, "SELECT bin, elements FROM distribution_bins WHERE distribution=?", &walk.bins,
        error);
    if (code == BASE_OK)
        code = profile_read_prepare(
            profile,
            "SELECT rank, first, elements, sum FROM distribution_ranges WHERE distribution=?",
            &walk.ranges, error);
    if (code == BASE_OK)
        code = profile_walk(profile,
                            "SELECT a.call, a.node, a.object, d.id, d.sum, d.squares_low,"
                            " d.squares_high, d.most, d.most_at FROM access_counts a"
                            " LEFT JOIN distributions d ON d.id = a.distribution"
                            " ORDER BY a.call, a.node, a.object",
                            take_counts, &walk, error);
    sqlite3_finalize(walk.bins);
    sqlite3_finalize(walk.ranges);
    return code;
}

// --- Maps ----------------------------------------------------------------------------------------

enum { MOST_MAP_BYTES = 64 << 20 }; // of one row; this version writes less

struct map_walk {
    bool (*each)(void *user, const struct profile_map *row);
    void *user;
    ZSTD_DCtx *context;
    unsigned char *bits;
    size_t room;
};

static enum base_code take_map(struct profile *profile, sqlite3_stmt *at, void *state,
                               struct base_error *error)
{
    struct map_walk *walk = state;
    const void *frame = sqlite3_column_blob(at, 5);
    size_t frame_bytes = (size_t)sqlite3_column_bytes(at, 5);
    unsigned long long bytes = ZSTD_getFrameContentSize(frame, frame_bytes);
    // The two special results of Zstandard that are not sizes exceed every size.
    if (bytes > MOST_MAP_BYTES || U64(2) % 8 != 0 || U64(3) == 0)
        return profile_damaged(profile, error);
    if (bytes > walk->room) {
        unsigned char *more = realloc(walk->bits, (size_t)bytes);
        BASE_RETURN_IF_NO_MEMORY(!more, error);
        walk->bits = more;
        walk->room = (size_t)bytes;
    }
    size_t got = ZSTD_decompressDCtx(walk->context, walk->bits, (size_t)bytes, frame, frame_bytes);
    uint64_t map_bytes = U64(4) / 8 + (U64(4) % 8 != 0);
    if (got != bytes || U64(2) / 8 > map_bytes || bytes > map_bytes - U64(2) / 8)
        return profile_damaged(profile, error);
    const struct profile_map row = {
        .object = KEY(0),
        .kind = (enum profile_map_kind)profile_known(at, 1, PROFILE_MAP_TOUCHED,
                                                     PROFILE_MAP_SHARED + 1, PROFILE_MAP_NONE),
        .first = U64(2),
        .element_bytes = U32(3),
        .elements = U64(4),
        .bits = walk->bits,
        .bit_bytes = got};
    return PROFILE_PASS_ROW(profile, walk, &row, error);
}

PROFILE_EACH(map, map)
{
    struct map_walk walk = {.each = each, .user = user};
    if (!profile_has(profile, PROFILE_TABLE_MAPS))
        return BASE_OK;
    walk.context = ZSTD_createDCtx();
    BASE_RETURN_IF_NO_MEMORY(!walk.context, error);
    enum base_code code = profile_walk(profile,
                                       "SELECT object, kind, first, element_bytes, elements, bits"
                                       " FROM maps ORDER BY object, kind, first",
                                       take_map, &walk, error);
    ZSTD_freeDCtx(walk.context);
    free(walk.bits);
    return code;
}
