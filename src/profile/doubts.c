// SPDX-License-Identifier: Apache-2.0
// Doubts: launches whose accesses are unknown, and why. Table, view, writer and reader. Profiles
// older than version 1.6 have none.
#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_doubts_schema[] =
    "CREATE TABLE doubts(call, node, kind, PRIMARY KEY(call, node, kind)) WITHOUT ROWID;"

    "CREATE VIEW v_unknown_launches AS SELECT d.call, NULLIF(d.node, 0) AS node, k.word AS why"
    " FROM doubts d LEFT JOIN doubt_kinds k ON k.value = d.kind;";
// clang-format on

enum base_code profile_add_doubt(struct profile_writer *writer, const struct profile_doubt *doubt,
                                 struct base_error *error)
{
    return profile_put_first(writer, PROFILE_TABLE_DOUBTS,
                             (int64_t[]){(int64_t)doubt->call, doubt->node, doubt->kind}, error);
}

PROFILE_DEFINE_EACH(doubt, doubt, DOUBTS, "SELECT call, node, kind FROM doubts ORDER BY call, node",
                    .call = U64(0), .node = U32(1),
                    .kind = (enum profile_doubt_kind)profile_known(at, 2, PROFILE_DOUBT_POINTER,
                                                                   PROFILE_DOUBT_KINDS,
                                                                   PROFILE_DOUBT_OTHER))
