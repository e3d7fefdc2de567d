// SPDX-License-Identifier: Apache-2.0
// Calls of NCCL. Table, view, writer and reader. Profiles older than version 1.18 have none. What
// is unknown is -1 in the table.
#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_collectives_schema[] =
    "CREATE TABLE collectives(call INTEGER PRIMARY KEY, start, duration, from_address, to_address, from_object,"
    " to_object, count, sent, received, communicator, rank, ranks, peer, status, type);"

    "CREATE VIEW v_collectives AS SELECT x.call, s.text AS name, NULLIF(x.communicator, 0) AS communicator,"
    " NULLIF(x.rank, -1) AS rank, NULLIF(x.ranks, -1) AS ranks, NULLIF(x.peer, -1) AS peer,"
    " NULLIF(x.count, -1) AS count, w.word AS type, NULLIF(x.sent, -1) AS sent_bytes,"
    " NULLIF(x.received, -1) AS received_bytes, NULLIF(x.from_address, 0) AS from_address,"
    " NULLIF(x.to_address, 0) AS to_address, NULLIF(x.from_object, 0) AS from_object,"
    " NULLIF(x.to_object, 0) AS to_object, NULLIF(t.stream, 0) AS stream, x.status, x.start AS start_ns,"
    " x.start + x.duration AS end_ns, NULLIF(t.path, 0) AS call_path"
    " FROM collectives x LEFT JOIN calls c ON c.number = x.call LEFT JOIN sites t ON t.id = c.site"
    " LEFT JOIN functions f ON f.number = t.function LEFT JOIN strings s ON s.id = f.name"
    " LEFT JOIN collective_types w ON w.value = x.type;";
// clang-format on

enum base_code profile_add_collective(struct profile_writer *writer,
                                      const struct profile_collective *row,
                                      struct base_error *error)
{
    return profile_put_first(
        writer, PROFILE_TABLE_COLLECTIVES,
        (int64_t[]){(int64_t)row->call, row->start_ns, row->end_ns - row->start_ns,
                    (int64_t)row->from, (int64_t)row->to, (int64_t)row->from_object,
                    (int64_t)row->to_object, (int64_t)row->count, (int64_t)row->sent_bytes,
                    (int64_t)row->received_bytes, row->communicator, row->rank, row->ranks,
                    row->peer, row->status, row->type},
        error);
}

PROFILE_DEFINE_EACH(collective, collective, COLLECTIVES,
                    "SELECT call, start, start + duration, from_address, to_address, from_object,"
                    " to_object, count, sent, received, communicator, rank, ranks, peer, status,"
                    " type FROM collectives ORDER BY call",
                    .call = KEY(0), .start_ns = I64(1), .end_ns = I64(2), .from = U64(3),
                    .to = U64(4), .from_object = U64(5), .to_object = U64(6), .count = U64(7),
                    .sent_bytes = U64(8), .received_bytes = U64(9), .communicator = U32(10),
                    .rank = (int32_t)I64(11), .ranks = (int32_t)I64(12), .peer = (int32_t)I64(13),
                    .status = (int32_t)I64(14),
                    .type = (enum profile_collective_type)profile_known(at, 15,
                                                                        PROFILE_COLLECTIVE_INT8,
                                                                        PROFILE_COLLECTIVE_TYPES,
                                                                        PROFILE_COLLECTIVE_NONE))
