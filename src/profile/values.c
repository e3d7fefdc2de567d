// SPDX-License-Identifier: Apache-2.0
// What objects held at the borders of calls, which stores changed nothing, what most reads got, and
// which values loads and stores moved. Tables, views, writers and readers. Profiles older than
// version 1.7 have none, and those of version 1.7 do not have the last two.
//
// The launches of a loop often leave the same values behind. So what the elements of a field held
// is stored once in `value_shapes`, with its lists in `value_counts` and `value_roundings`.
#include <string.h>

#include "reader.h"
#include "writer.h"

// Values of enumerations that the views contain.
_Static_assert(PROFILE_TYPE_RAW == 0 && PROFILE_TYPE_U64 == 7 && PROFILE_TYPE_F16 == 9 &&
                   PROFILE_TYPE_F64 == 12 && PROFILE_CONTENTS_CONCURRENT == 1,
               "files hold these numbers");

// SQL that turns the 64 bits of a value into a number. A double is its mantissa, divided by two to
// the power N, or multiplied by two to the power -N. A power of two is a product, so every step is
// exact.
#define N(bits) "(1075 - max((" bits " >> 52) & 2047, 1))"
#define FACTOR(operation, sign, bits, bit, power) \
    operation "CASE WHEN max(" sign N(bits) ", 0) & " bit " THEN " power " ELSE 1.0 END"
#define FACTORS(operation, sign, bits)                                                     \
    operation "(1 << (max(" sign N(bits) ", 0) & 31))" FACTOR(operation, sign, bits, "32", \
                                                              "4294967296.0")              \
        FACTOR(operation, sign, bits, "64", "1.8446744073709552e19")                       \
            FACTOR(operation, sign, bits, "128", "3.402823669209385e38")                   \
                FACTOR(operation, sign, bits, "256", "1.157920892373162e77")               \
                    FACTOR(operation, sign, bits, "512", "1.3407807929942597e154")         \
                        FACTOR(operation, sign, bits, "1024", "1.3407807929942597e154")    \
                            FACTOR(operation, sign, bits, "1024", "1.3407807929942597e154")
#define REAL(bits)                                                                            \
    "CASE WHEN (" bits " >> 52) & 2047 < 2047 THEN CASE WHEN " bits " < 0 THEN -1.0 ELSE 1.0" \
    " END * ((" bits " & 4503599627370495) | (((" bits                                        \
    " >> 52) & 2047 > 0) << 52))" FACTORS("*", "-", bits)                                     \
        FACTORS("/", "", bits) " WHEN " bits " & 4503599627370495 THEN 'nan' WHEN " bits      \
                               " < 0 THEN -9e999 ELSE 9e999 END"
#define VALUE(type, bits)                                                                 \
    "CASE WHEN " type                                                                     \
    " BETWEEN 9 AND 12 THEN " REAL(bits) " WHEN " type " = 0 THEN printf('0x%08x', " bits \
                                         ") WHEN " type " = 7 AND " bits                  \
                                         " < 0 THEN printf('%llu', " bits ") ELSE " bits " END"

// clang-format off
const char profile_values_schema[] =
    "CREATE TABLE contents(id INTEGER PRIMARY KEY, call, node, object, kind, flags, pieces, bytes, fresh, moved, same,"
    " known, all_pieces, hash_high, hash_low, stride);"
    "CREATE TABLE content_fields(contents, field, offset, shape, PRIMARY KEY(contents, field)) WITHOUT ROWID;"
    "CREATE TABLE value_shapes(id INTEGER PRIMARY KEY, type, elements, zeros, nans, least, greatest, any_bits, all_bits,"
    " integral, narrow, brief, slope, intercept, linear, \"distinct\");"
    "CREATE TABLE value_counts(shape, rank, value, count, PRIMARY KEY(shape, rank)) WITHOUT ROWID;"
    "CREATE TABLE value_roundings(shape, bits, value, count, linear, PRIMARY KEY(shape, bits)) WITHOUT ROWID;"
    "CREATE TABLE stores(call, node, kernel, site, object, stores, silent, bytes, still,"
    " PRIMARY KEY(call, node, site, object)) WITHOUT ROWID;"
    "CREATE TABLE weighed(call, node, object, offset, stride, type, accesses, value, count,"
    " PRIMARY KEY(call, node, object, offset)) WITHOUT ROWID;"
    "CREATE TABLE accessed(call, node, object, way, stride, offset, type, flags, any_bits, all_bits, most,"
    " PRIMARY KEY(call, node, object, way, stride, offset, type)) WITHOUT ROWID;"

    "CREATE VIEW v_contents AS SELECT c.id, c.call, NULLIF(c.node, 0) AS node, c.object, k.word AS kind, c.bytes,"
    " c.moved AS moved_bytes, c.same AS same_bytes, c.pieces, c.fresh AS fresh_pieces, c.known AS known_pieces,"
    " c.all_pieces, printf('%016x%016x', c.hash_high, c.hash_low) AS hash, c.flags & 1 AS concurrent,"
    " NULLIF(c.stride, 0) AS stride"
    " FROM contents c LEFT JOIN contents_kinds k ON k.value = c.kind;"

    "CREATE VIEW v_content_fields AS SELECT f.contents, f.field, f.offset, t.word AS type, s.elements, s.zeros, s.nans,"
    " " VALUE("s.type", "s.least") " AS least, " VALUE("s.type", "s.greatest") " AS greatest,"
    " printf('0x%x', s.any_bits) AS any_bits, printf('0x%x', s.all_bits) AS all_bits, s.integral, s.narrow, s.brief,"
    " s.\"distinct\" AS distinct_values, CASE WHEN s.slope THEN " VALUE("s.type", "s.slope") " END AS slope,"
    " CASE WHEN s.slope THEN " VALUE("s.type", "s.intercept") " END AS intercept, s.linear"
    " FROM content_fields f LEFT JOIN value_shapes s ON s.id = f.shape LEFT JOIN value_types t ON t.value = s.type;"

    "CREATE VIEW v_content_values AS SELECT f.contents, f.field, v.rank, " VALUE("s.type", "v.value") " AS value, v.count"
    " FROM content_fields f JOIN value_counts v ON v.shape = f.shape LEFT JOIN value_shapes s ON s.id = f.shape;"

    "CREATE VIEW v_content_roundings AS SELECT f.contents, f.field, r.bits, " REAL("r.value") " AS value, r.count,"
    " r.linear FROM content_fields f JOIN value_roundings r ON r.shape = f.shape;"

    "CREATE VIEW v_stores AS SELECT s.call, NULLIF(s.node, 0) AS node, s.kernel, s.site, NULLIF(s.object, 0) AS object,"
    " s.stores, s.silent, s.bytes, NULLIF(s.still, -1) AS still FROM stores s;"

    "CREATE VIEW v_weighed AS SELECT w.call, NULLIF(w.node, 0) AS node, w.object, w.offset, w.stride, t.word AS type, w.accesses,"
    " CASE WHEN w.count THEN " VALUE("w.type", "w.value") " END AS value, w.count"
    " FROM weighed w LEFT JOIN value_types t ON t.value = w.type;"

    "CREATE VIEW v_accessed AS SELECT a.call, NULLIF(a.node, 0) AS node, a.object, w.word AS way, a.stride, a.offset,"
    " t.word AS type, printf('0x%x', a.any_bits) AS any_bits, printf('0x%x', a.all_bits) AS all_bits,"
    " a.any_bits = a.all_bits AS single_value, CASE WHEN a.most < 0 THEN printf('%llu', a.most) ELSE"
    " " VALUE("a.type", "a.most") " END AS most, a.flags & 1 AS incomplete"
    " FROM accessed a LEFT JOIN accessed_ways w ON w.value = a.way LEFT JOIN value_types t ON t.value = a.type;";
// clang-format on

// --- Writing -------------------------------------------------------------------------------------

// The values of a field for profile_recall_row: its row, its candidates, its roundings.
enum {
    SHAPE_VALUES = 16,
    COUNT_VALUES = 2,
    ROUNDING_VALUES = 3,
    FIELD_VALUES =
        SHAPE_VALUES + COUNT_VALUES * PROFILE_CANDIDATES + ROUNDING_VALUES * PROFILE_ROUNDINGS,
    MOST_BITS = 10, // of the first rounding
};

static enum base_code put_shape(struct profile_writer *writer, const int64_t *values,
                                struct base_error *error)
{
    const int64_t *counts = values + SHAPE_VALUES;
    const int64_t *roundings = counts + (size_t)COUNT_VALUES * PROFILE_CANDIDATES;
    enum base_code code = profile_put(writer, PROFILE_TABLE_VALUE_SHAPES, values, error);
    for (int i = 0; i < PROFILE_CANDIDATES && code == BASE_OK; i++, counts += COUNT_VALUES) {
        if (counts[1])
            code = profile_put(writer, PROFILE_TABLE_VALUE_COUNTS,
                               (int64_t[]){values[0], i + 1, counts[0], counts[1]}, error);
    }
    for (int i = 0; i < PROFILE_ROUNDINGS && code == BASE_OK; i++, roundings += ROUNDING_VALUES) {
        if (roundings[1] || roundings[2])
            code = profile_put(
                writer, PROFILE_TABLE_VALUE_ROUNDINGS,
                (int64_t[]){values[0], MOST_BITS - i, roundings[0], roundings[1], roundings[2]},
                error);
    }
    return code;
}

// Sets *shape to the number of what the field's elements held.
static enum base_code add_shape(struct profile_writer *writer,
                                const struct profile_value_field *field, int64_t *shape,
                                struct base_error *error)
{
    int64_t values[FIELD_VALUES] = {0,
                                    field->type,
                                    (int64_t)field->elements,
                                    (int64_t)field->zeros,
                                    (int64_t)field->nans,
                                    (int64_t)field->least,
                                    (int64_t)field->greatest,
                                    (int64_t)field->any_bits,
                                    (int64_t)field->all_bits,
                                    (int64_t)field->integral,
                                    (int64_t)field->narrow,
                                    (int64_t)field->brief,
                                    (int64_t)field->slope,
                                    (int64_t)field->intercept,
                                    (int64_t)field->linear,
                                    field->distinct};
    int64_t *next = values + SHAPE_VALUES;
    for (unsigned i = 0; i < PROFILE_CANDIDATES; i++) {
        *next++ = (int64_t)field->candidates[i].value;
        *next++ = (int64_t)field->candidates[i].count;
    }
    for (unsigned i = 0; i < PROFILE_ROUNDINGS; i++) {
        *next++ = (int64_t)field->roundings[i].value;
        *next++ = (int64_t)field->roundings[i].count;
        *next++ = (int64_t)field->roundings[i].linear;
    }
    bool is_new;
    enum base_code code =
        profile_recall_row(writer, &writer->values, values, FIELD_VALUES, &is_new, error);
    *shape = values[0];
    return code == BASE_OK && is_new ? put_shape(writer, values, error) : code;
}

enum base_code profile_add_contents(struct profile_writer *writer,
                                    const struct profile_contents *contents,
                                    struct base_error *error)
{
    const int64_t id = (int64_t)++writer->contents_count;
    enum base_code code = profile_put_first(
        writer, PROFILE_TABLE_CONTENTS,
        (int64_t[]){id, (int64_t)contents->call, contents->node, (int64_t)contents->object,
                    contents->kind, contents->flags, (int64_t)contents->pieces,
                    (int64_t)contents->bytes, (int64_t)contents->fresh_pieces,
                    (int64_t)contents->moved_bytes, (int64_t)contents->same_bytes,
                    (int64_t)contents->known_pieces, (int64_t)contents->all_pieces,
                    (int64_t)contents->hash_high, (int64_t)contents->hash_low, contents->stride},
        error);
    for (unsigned i = 0; i < contents->field_count && code == BASE_OK; i++) {
        const struct profile_value_field *field = &contents->fields[i];
        int64_t shape;
        code = add_shape(writer, field, &shape, error);
        if (code == BASE_OK)
            code = profile_put(writer, PROFILE_TABLE_CONTENT_FIELDS,
                               (int64_t[]){id, i + 1, field->offset, shape}, error);
    }
    return code;
}

enum base_code profile_add_stored(struct profile_writer *writer,
                                  const struct profile_stored *stored, struct base_error *error)
{
    return profile_put_first(writer, PROFILE_TABLE_STORES,
                             (int64_t[]){(int64_t)stored->call, stored->node, stored->kernel,
                                         stored->site, (int64_t)stored->object,
                                         (int64_t)stored->stores, (int64_t)stored->silent,
                                         stored->bytes, (int64_t)stored->still}, // UNKNOWN: -1
                             error);
}

enum base_code profile_add_weighed(struct profile_writer *writer,
                                   const struct profile_weighed *weighed, struct base_error *error)
{
    return profile_put_first(writer, PROFILE_TABLE_WEIGHED,
                             (int64_t[]){(int64_t)weighed->call, weighed->node,
                                         (int64_t)weighed->object, weighed->offset, weighed->stride,
                                         weighed->type, (int64_t)weighed->accesses,
                                         (int64_t)weighed->value, (int64_t)weighed->count},
                             error);
}

enum base_code profile_add_accessed(struct profile_writer *writer,
                                    const struct profile_accessed *accessed,
                                    struct base_error *error)
{
    return profile_put_first(writer, PROFILE_TABLE_ACCESSED,
                             (int64_t[]){(int64_t)accessed->call, accessed->node,
                                         (int64_t)accessed->object, accessed->way, accessed->stride,
                                         accessed->offset, accessed->type, accessed->flags,
                                         (int64_t)accessed->any_bits, (int64_t)accessed->all_bits,
                                         (int64_t)accessed->most},
                             error);
}

// --- Reading -------------------------------------------------------------------------------------

struct contents_walk {
    bool (*each)(void *user, const struct profile_contents *row);
    void *user;
    sqlite3_stmt *fields, *counts, *roundings; // of the bound contents, or of the bound shape
};

static void take_field(sqlite3_stmt *at, struct profile_value_field *field)
{
    *field =
        (struct profile_value_field){.offset = U32(1),
                                     .type = (enum profile_value_type)profile_known(
                                         at, 3, PROFILE_TYPE_RAW, PROFILE_TYPES, PROFILE_TYPE_RAW),
                                     .elements = U64(4),
                                     .zeros = U64(5),
                                     .nans = U64(6),
                                     .least = U64(7),
                                     .greatest = U64(8),
                                     .any_bits = U64(9),
                                     .all_bits = U64(10),
                                     .integral = U64(11),
                                     .narrow = U64(12),
                                     .brief = U64(13),
                                     .slope = U64(14),
                                     .intercept = U64(15),
                                     .linear = U64(16),
                                     .distinct = U32(17)};
}

// Reads the lists of a field.
static int take_lists(struct contents_walk *walk, int64_t shape, struct profile_value_field *field)
{
    sqlite3_stmt *at = walk->counts;
    sqlite3_bind_int64(at, 1, shape);
    while (sqlite3_step(at) == SQLITE_ROW) {
        if (U64(0) - 1 < PROFILE_CANDIDATES)
            field->candidates[U64(0) - 1] = (struct profile_candidate){U64(1), U64(2)};
    }
    int result = sqlite3_reset(at);
    at = walk->roundings;
    sqlite3_bind_int64(at, 1, shape);
    while (result == SQLITE_OK && sqlite3_step(at) == SQLITE_ROW) {
        if (MOST_BITS - U64(0) < PROFILE_ROUNDINGS)
            field->roundings[MOST_BITS - U64(0)] =
                (struct profile_rounding){U64(1), U64(2), U64(3)};
    }
    int ended = sqlite3_reset(at);
    return result == SQLITE_OK ? ended : result;
}

static enum base_code take_fields(struct profile *profile, struct contents_walk *walk, int64_t id,
                                  struct profile_contents *row, struct base_error *error)
{
    sqlite3_stmt *at = walk->fields;
    int result = SQLITE_OK;
    bool damaged = false;
    sqlite3_bind_int64(at, 1, id);
    while (result == SQLITE_OK && !damaged && sqlite3_step(at) == SQLITE_ROW) {
        damaged = sqlite3_column_type(at, 2) == SQLITE_NULL || U64(0) != row->field_count + 1u ||
                  row->field_count == PROFILE_FIELDS;
        if (damaged)
            break;
        struct profile_value_field *field = &row->fields[row->field_count++];
        take_field(at, field);
        result = take_lists(walk, I64(2), field);
    }
    int ended = sqlite3_reset(at);
    result = result == SQLITE_OK ? ended : result;
    if (result != SQLITE_OK)
        return profile_read_fail(profile, result, error);
    return damaged ? profile_damaged(profile, error) : BASE_OK;
}

static enum base_code take_contents(struct profile *profile, sqlite3_stmt *at, void *state,
                                    struct base_error *error)
{
    struct contents_walk *walk = state;
    struct profile_contents row;
    memset(&row, 0, sizeof(row));
    row.call = KEY(1);
    row.node = NUMBER32(2);
    row.object = NUMBER(3);
    row.kind = (enum profile_contents_kind)profile_known(
        at, 4, PROFILE_CONTENTS_WRITTEN, PROFILE_CONTENTS_KINDS, PROFILE_CONTENTS_OTHER);
    row.flags = U32(5);
    row.pieces = U64(6);
    row.bytes = U64(7);
    row.fresh_pieces = U64(8);
    row.moved_bytes = U64(9);
    row.same_bytes = U64(10);
    row.known_pieces = U64(11);
    row.all_pieces = U64(12);
    row.hash_high = U64(13);
    row.hash_low = U64(14);
    row.stride = U32(15);
    enum base_code code = take_fields(profile, walk, I64(0), &row, error);
    if (code != BASE_OK)
        return code;
    return PROFILE_PASS_ROW(profile, walk, &row, error);
}

PROFILE_EACH(contents, contents)
{
    struct contents_walk walk = {.each = each, .user = user};
    if (!profile_has(profile, PROFILE_TABLE_CONTENTS))
        return BASE_OK;
    enum base_code code = profile_read_prepare(
        profile,
        "SELECT f.field, f.offset, s.id, s.type, s.elements, s.zeros, s.nans, s.least, s.greatest,"
        " s.any_bits, s.all_bits, s.integral, s.narrow, s.brief, s.slope, s.intercept, s.linear,"
        " s.\"distinct\" FROM content_fields f LEFT JOIN value_shapes s ON s.id = f.shape"
        " WHERE f.contents=? ORDER BY f.field",
        &walk.fields, error);
    if (code == BASE_OK)
        code = profile_read_prepare(profile,
                                    "SELECT rank, value, count FROM value_counts WHERE shape=?",
                                    &walk.counts, error);
    if (code == BASE_OK)
        code = profile_read_prepare(
            profile, "SELECT bits, value, count, linear FROM value_roundings WHERE shape=?",
            &walk.roundings, error);
    if (code == BASE_OK)
        code = profile_walk(profile,
                            "SELECT id, call, node, object, kind, flags, pieces, bytes, fresh,"
                            " moved, same, known, all_pieces, hash_high, hash_low, stride"
                            " FROM contents ORDER BY call, node, id",
                            take_contents, &walk, error);
    sqlite3_finalize(walk.fields);
    sqlite3_finalize(walk.counts);
    sqlite3_finalize(walk.roundings);
    return code;
}

PROFILE_DEFINE_EACH(
    stored, stored, STORES,
    "SELECT call, node, kernel, site, object, stores, silent, bytes, still FROM stores"
    " ORDER BY call, node, site, object",
    .call = KEY(0), .node = NUMBER32(1), .kernel = U32(2), .site = U32(3), .object = U64(4),
    .stores = U64(5), .silent = U64(6), .bytes = U32(7), .still = U64(8))

PROFILE_DEFINE_EACH(weighed, weighed, WEIGHED,
                    "SELECT call, node, object, offset, stride, type, accesses, value, count"
                    " FROM weighed"
                    " ORDER BY call, node, object, offset",
                    .call = KEY(0), .node = NUMBER32(1), .object = NUMBER(2), .offset = U32(3),
                    .stride = U32(4),
                    .type = (enum profile_value_type)profile_known(at, 5, PROFILE_TYPE_RAW,
                                                                   PROFILE_TYPES, PROFILE_TYPE_RAW),
                    .accesses = U64(6), .value = U64(7), .count = U64(8))

PROFILE_DEFINE_EACH(accessed, accessed, ACCESSED,
                    "SELECT call, node, object, way, stride, offset, type, flags, any_bits,"
                    " all_bits, most FROM accessed ORDER BY call, node, object, way, offset",
                    .call = KEY(0), .node = NUMBER32(1), .object = NUMBER(2),
                    .way = (enum profile_accessed_way)profile_known(at, 3, PROFILE_ACCESSED_READ,
                                                                    PROFILE_ACCESSED_WAYS,
                                                                    PROFILE_ACCESSED_OTHER),
                    .stride = U32(4), .offset = U32(5),
                    .type = (enum profile_value_type)profile_known(at, 6, PROFILE_TYPE_RAW,
                                                                   PROFILE_TYPES, PROFILE_TYPE_RAW),
                    .flags = U32(7), .any_bits = U64(8), .all_bits = U64(9), .most = U64(10))
