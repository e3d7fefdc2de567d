// SPDX-License-Identifier: Apache-2.0
// Writes maps of elements. They arrive in pieces and can be larger than memory, so a row holds a
// compressed part of a map. One part of each kind of map is open at a time and collects consecutive
// pieces. A part that is needed again is read back.
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "writer.h"

enum {
    PART_BYTES = PROFILE_MAP_ELEMENTS / 8,
    LEVEL = 1
}; // bits are mostly runs, which level 1 finds

static int put_open(struct profile_writer *writer, struct profile_open_map *open)
{
    if (!open->changed)
        return SQLITE_OK;
    size_t most = ZSTD_compressBound(PART_BYTES);
    if (!writer->frame && !(writer->frame = malloc(most)))
        return SQLITE_NOMEM;
    size_t bytes = ZSTD_compress(writer->frame, most, open->bits, open->piece.bit_bytes, LEVEL);
    if (ZSTD_isError(bytes)) // the buffer is large enough, so memory ran out
        return SQLITE_NOMEM;
    int result = SQLITE_OK;
    if (!writer->put_map)
        result = profile_prepare(writer, "INSERT OR REPLACE INTO maps VALUES(?,?,?,?,?,?)",
                                 &writer->put_map);
    if (result != SQLITE_OK)
        return result;
    sqlite3_bind_int64(writer->put_map, 1, (int64_t)open->piece.object);
    sqlite3_bind_int64(writer->put_map, 2, open->piece.kind);
    sqlite3_bind_int64(writer->put_map, 3, (int64_t)open->piece.first);
    sqlite3_bind_int64(writer->put_map, 4, open->piece.element_bytes);
    sqlite3_bind_int64(writer->put_map, 5, (int64_t)open->piece.elements);
    sqlite3_bind_blob64(writer->put_map, 6, writer->frame, bytes, SQLITE_STATIC);
    sqlite3_step(writer->put_map);
    result = sqlite3_reset(writer->put_map);
    sqlite3_clear_bindings(writer->put_map);
    open->changed = result != SQLITE_OK;
    return result;
}

int profile_put_maps(struct profile_writer *writer)
{
    int result = SQLITE_OK;
    for (unsigned i = 0; i < PROFILE_MAP_SHARED && result == SQLITE_OK; i++)
        result = put_open(writer, &writer->maps[i]);
    return result;
}

void profile_free_maps(struct profile_writer *writer)
{
    for (unsigned i = 0; i < PROFILE_MAP_SHARED; i++)
        free(writer->maps[i].bits);
    free(writer->frame);
}

// Reads the part back if it was written before and belongs to the same map.
static int get_part(struct profile_writer *writer, struct profile_open_map *open)
{
    int result = SQLITE_OK;
    memset(open->bits, 0, open->piece.bit_bytes);
    if (!writer->get_map)
        result = profile_prepare(writer,
                                 "SELECT element_bytes, elements, bits FROM maps"
                                 " WHERE object=? AND kind=? AND first=?",
                                 &writer->get_map);
    if (result != SQLITE_OK)
        return result;
    sqlite3_stmt *at = writer->get_map;
    sqlite3_bind_int64(at, 1, (int64_t)open->piece.object);
    sqlite3_bind_int64(at, 2, open->piece.kind);
    sqlite3_bind_int64(at, 3, (int64_t)open->piece.first);
    if (sqlite3_step(at) == SQLITE_ROW &&
        sqlite3_column_int64(at, 0) == open->piece.element_bytes &&
        sqlite3_column_int64(at, 1) == (int64_t)open->piece.elements) {
        const void *frame = sqlite3_column_blob(at, 2);
        size_t bytes = (size_t)sqlite3_column_bytes(at, 2);
        size_t got = ZSTD_decompress(open->bits, open->piece.bit_bytes, frame, bytes);
        result = ZSTD_isError(got) ? SQLITE_NOMEM
                                   : SQLITE_OK; // this process wrote the frame, so it is valid
    }
    int ended = sqlite3_reset(at);
    return ended == SQLITE_OK ? result : ended;
}

// Opens the part that begins at `first`.
static int open_part(struct profile_writer *writer, struct profile_open_map *open,
                     const struct profile_map *piece, uint64_t first)
{
    if (open->piece.object == piece->object && open->piece.first == first &&
        open->piece.elements == piece->elements &&
        open->piece.element_bytes == piece->element_bytes)
        return SQLITE_OK;
    int result = put_open(writer, open);
    if (!open->bits)
        open->bits = malloc(PART_BYTES);
    if (!open->bits)
        return SQLITE_NOMEM;
    if (result != SQLITE_OK)
        return result;
    uint64_t rest = (piece->elements - first) / 8 + ((piece->elements - first) % 8 != 0);
    open->piece = *piece;
    open->piece.first = first;
    open->piece.bit_bytes = rest < PART_BYTES ? (size_t)rest : PART_BYTES;
    return get_part(writer, open);
}

enum base_code profile_add_map(struct profile_writer *writer, const struct profile_map *piece,
                               struct base_error *error)
{
    uint64_t map_bytes = piece->elements / 8 + (piece->elements % 8 != 0);
    uint64_t at = piece->first / 8;
    if ((piece->kind != PROFILE_MAP_TOUCHED && piece->kind != PROFILE_MAP_SHARED) ||
        piece->object == 0 || piece->element_bytes == 0 || piece->first % 8 != 0 ||
        at > map_bytes || piece->bit_bytes > map_bytes - at)
        return base_fail(error, BASE_INVALID, "a piece of a map lies outside of it");
    enum base_code code = profile_tick(writer, error);
    if (code == BASE_OK)
        code = profile_begin(writer, error);
    struct profile_open_map *open = &writer->maps[piece->kind - PROFILE_MAP_TOUCHED];
    for (size_t done = 0; done < piece->bit_bytes && code == BASE_OK;) {
        uint64_t part = (at + done) / PART_BYTES;
        size_t from = (size_t)((at + done) % PART_BYTES);
        size_t bytes = piece->bit_bytes - done;
        if (bytes > PART_BYTES - from)
            bytes = PART_BYTES - from;
        int result = open_part(writer, open, piece, part * PROFILE_MAP_ELEMENTS);
        if (result != SQLITE_OK)
            return profile_give_up(writer, result, error);
        memcpy(open->bits + from, piece->bits + done, bytes);
        // Bits after the last element have no meaning.
        if (at + done + bytes == map_bytes && piece->elements % 8)
            open->bits[from + bytes - 1] &= (unsigned char)((1u << piece->elements % 8) - 1);
        open->changed = true;
        done += bytes;
    }
    return code;
}
