// SPDX-License-Identifier: Apache-2.0
// The contents of copies between host and device, and the host memory at their ends. Tables, views,
// writers and readers. Profiles older than version 1.4 have none.
#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_transfers_schema[] =
    "CREATE TABLE copy_hosts(call INTEGER PRIMARY KEY, host, block);"
    "CREATE TABLE hashes(copy INTEGER PRIMARY KEY, at, high, low, took, same);"
    "CREATE TABLE copy_sources(copy INTEGER PRIMARY KEY, at, took, same);"
    "CREATE TABLE blocks(number INTEGER PRIMARY KEY, kind, address, bytes, time, path);"
    "CREATE TABLE block_ends(number INTEGER PRIMARY KEY, time, thread, path);"

    "CREATE VIEW v_host_blocks AS SELECT b.number, w.word AS kind, b.address, b.bytes, b.time AS allocated_ns,"
    " NULLIF(b.path, 0) AS call_path, e.number IS NOT NULL AS freed, e.time AS freed_ns,"
    " NULLIF(e.thread, 0) AS freed_thread, NULLIF(e.path, 0) AS freed_call_path"
    " FROM blocks b LEFT JOIN block_ends e ON e.number = b.number LEFT JOIN hosts w ON w.value = b.kind;";
// clang-format on

enum base_code profile_add_hash(struct profile_writer *writer, const struct profile_hash *hash,
                                struct base_error *error)
{
    return profile_put_first(writer, PROFILE_TABLE_HASHES,
                             (int64_t[]){(int64_t)hash->copy, (int64_t)hash->at,
                                         (int64_t)hash->high, (int64_t)hash->low,
                                         (int64_t)hash->took_ns, hash->same},
                             error);
}

enum base_code profile_add_copy_source(struct profile_writer *writer,
                                       const struct profile_copy_source *source,
                                       struct base_error *error)
{
    return profile_put_first(writer, PROFILE_TABLE_COPY_SOURCES,
                             (int64_t[]){(int64_t)source->copy, (int64_t)source->at,
                                         (int64_t)source->took_ns, source->same},
                             error);
}

enum base_code profile_add_block(struct profile_writer *writer, const struct profile_block *block,
                                 struct base_error *error)
{
    return profile_put_first(writer, PROFILE_TABLE_BLOCKS,
                             (int64_t[]){(int64_t)block->number, block->kind,
                                         (int64_t)block->address, (int64_t)block->bytes,
                                         block->allocated_ns, block->allocated_path},
                             error);
}

enum base_code profile_add_block_end(struct profile_writer *writer,
                                     const struct profile_block_end *end, struct base_error *error)
{
    return profile_put_first(
        writer, PROFILE_TABLE_BLOCK_ENDS,
        (int64_t[]){(int64_t)end->number, end->freed_ns, end->thread, end->freed_path}, error);
}

PROFILE_DEFINE_EACH(hash, hash, HASHES,
                    "SELECT copy, at, high, low, took, same FROM hashes ORDER BY copy",
                    .copy = KEY(0), .at = U64(1), .high = U64(2), .low = U64(3), .took_ns = U64(4),
                    .same = (enum profile_same)profile_known(at, 5, PROFILE_SAME_UNKNOWN,
                                                             PROFILE_SAME_YES + 1,
                                                             PROFILE_SAME_UNKNOWN))
PROFILE_DEFINE_EACH(copy_source, copy_source, COPY_SOURCES,
                    "SELECT copy, at, took, same FROM copy_sources ORDER BY copy", .copy = KEY(0),
                    .at = U64(1), .took_ns = U64(2),
                    .same = (enum profile_same)profile_known(at, 3, PROFILE_SAME_UNKNOWN,
                                                             PROFILE_SAME_YES + 1,
                                                             PROFILE_SAME_UNKNOWN))
PROFILE_DEFINE_EACH(block, block, BLOCKS,
                    "SELECT number, kind, address, bytes, time, path FROM blocks ORDER BY number",
                    .number = KEY(0),
                    .kind = (enum profile_host)profile_known(at, 1, PROFILE_HOST_PAGEABLE,
                                                             PROFILE_HOST_KINDS,
                                                             PROFILE_HOST_PAGEABLE),
                    .address = U64(2), .bytes = U64(3), .allocated_ns = I64(4),
                    .allocated_path = U32(5))
PROFILE_DEFINE_EACH(block_end, block_end, BLOCK_ENDS,
                    "SELECT number, time, thread, path FROM block_ends ORDER BY number",
                    .number = KEY(0), .freed_ns = I64(1), .thread = U32(2), .freed_path = U32(3))
