// SPDX-License-Identifier: Apache-2.0
// What blocks of a launch load of an object in global memory: how often, and how many different
// words. Table, view, writer and reader. Profiles older than version 1.13 have none.
#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_reuse_schema[] =
    "CREATE TABLE block_reuse(call, node, object, kernel, site, blocks, looked, loads, moved, words, most_words,"
    " stores, extent, resident, free_bytes, flags, PRIMARY KEY(call, node, object)) WITHOUT ROWID;"

    "CREATE VIEW v_block_reuse AS SELECT r.call, NULLIF(r.node, 0) AS node, r.kernel, r.object,"
    " r.site, r.blocks, r.looked AS blocks_looked_at, r.loads, r.moved * 4 AS loaded_bytes,"
    " CASE WHEN NOT r.flags & 2 THEN r.loads * 1.0 / r.words END AS reuse,"
    " CASE WHEN NOT r.flags & 2 THEN r.words * 4.0 / r.looked END AS footprint_mean_bytes,"
    " CASE WHEN NOT r.flags & 2 THEN r.most_words * 4 END AS footprint_max_bytes,"
    " r.stores, r.extent * 4 AS extent_max_bytes, (r.flags & 4) / 4 AS apart,"
    " NULLIF(r.resident, 0) AS resident_blocks, NULLIF(r.free_bytes, -1) AS free_shared_bytes,"
    " NOT r.flags & 1 AS complete FROM block_reuse r;";
// clang-format on

enum base_code profile_add_block_reuse(struct profile_writer *writer,
                                       const struct profile_block_reuse *reuse,
                                       struct base_error *error)
{
    return profile_put_first(
        writer, PROFILE_TABLE_BLOCK_REUSE,
        (int64_t[]){(int64_t)reuse->call, reuse->node, (int64_t)reuse->object, reuse->kernel,
                    reuse->site, (int64_t)reuse->blocks, reuse->looked, (int64_t)reuse->loads,
                    (int64_t)reuse->moved, (int64_t)reuse->words, (int64_t)reuse->most_words,
                    (int64_t)reuse->stores, (int64_t)reuse->extent, reuse->resident,
                    (int64_t)reuse->free_bytes, reuse->flags},
        error);
}

PROFILE_DEFINE_EACH(block_reuse, block_reuse, BLOCK_REUSE,
                    "SELECT call, node, object, kernel, site, blocks, looked, loads, moved, words,"
                    " most_words, stores, extent, resident, free_bytes, flags"
                    " FROM block_reuse ORDER BY call, node, object",
                    .call = KEY(0), .node = NUMBER32(1), .object = U64(2), .kernel = U32(3),
                    .site = U32(4), .blocks = U64(5), .looked = U32(6), .loads = U64(7),
                    .moved = U64(8), .words = U64(9), .most_words = U64(10), .stores = U64(11),
                    .extent = U64(12), .resident = U32(13), .free_bytes = U64(14), .flags = U32(15))
