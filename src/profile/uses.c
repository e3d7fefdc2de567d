// SPDX-License-Identifier: Apache-2.0
// First uses. Table, view, writer and reader. Profiles older than version 1.3 have none.
#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_uses_schema[] =
    "CREATE TABLE uses(copy, node, object, sync, kind, address, offset, bytes, unwatched, time, thread, path,"
    " PRIMARY KEY(copy, node, object, sync)) WITHOUT ROWID;"

    "CREATE VIEW v_first_uses AS SELECT u.sync, NULLIF(u.copy, 0) AS copy, NULLIF(u.node, 0) AS node,"
    " NULLIF(u.object, 0) AS object, u.address, u.offset, u.time AS ns, NULLIF(u.thread, 0) AS thread,"
    " NULLIF(u.path, 0) AS call_path, k.word AS how, u.bytes, u.unwatched AS unwatched_bytes"
    " FROM uses u LEFT JOIN use_kinds k ON k.value = u.kind;";
// clang-format on

enum base_code profile_add_use(struct profile_writer *writer, const struct profile_use *use,
                               struct base_error *error)
{
    return profile_put_first(
        writer, PROFILE_TABLE_USES,
        (int64_t[]){(int64_t)use->copy, use->node, (int64_t)use->object, (int64_t)use->sync,
                    use->kind, (int64_t)use->address, (int64_t)use->offset, (int64_t)use->bytes,
                    (int64_t)use->unwatched_bytes, use->time_ns, use->thread, use->path},
        error);
}

PROFILE_DEFINE_EACH(use, use, USES,
                    "SELECT copy, node, object, sync, kind, address, offset, bytes, unwatched,"
                    " time, thread, path FROM uses ORDER BY copy, node, object, sync",
                    .copy = KEY(0), .node = NUMBER32(1), .object = NUMBER(2), .sync = NUMBER(3),
                    .kind = (enum profile_use_kind)profile_known(at, 4, PROFILE_USE_READ,
                                                                 PROFILE_USE_KINDS,
                                                                 PROFILE_USE_OTHER),
                    .address = U64(5), .offset = U64(6), .bytes = U64(7), .unwatched_bytes = U64(8),
                    .time_ns = I64(9), .thread = U32(10), .path = U32(11))
