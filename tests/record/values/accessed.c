// SPDX-License-Identifier: Apache-2.0
// Compares the rows of accessed values of a profile with the log of the recorded run. Probes of
// values load what stores overwrite, with ld.global.cg, which no compared program uses itself.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"

// What the log says about the field of a row.
struct field {
    uint64_t any, all, most;
    bool moved;
};

struct reader {
    struct comparison *comparison;
    struct replay *replay;
    struct told_pairs pairs;
    struct field *fields; // by row
};

static uint32_t size_of(enum profile_value_type type)
{
    static const uint8_t sizes[] = {4, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8}; // FACTS_VALUE_TYPES
    return sizes[type];
}

// Returns the bits of a float without its sign as those of a double.
static uint64_t widened(uint64_t bits, unsigned mantissa, unsigned exponents)
{
    const uint64_t fraction = bits & ((UINT64_C(1) << mantissa) - 1);
    const int exponent = (int)(bits >> mantissa), last = (1 << exponents) - 1;
    if (exponent == last)
        return fraction ? UINT64_C(0x7ff8000000000000) : UINT64_C(0x7ff0000000000000);
    if (!exponent) {
        double value = (double)fraction / (double)(UINT64_C(1) << mantissa);
        for (int i = 1; i < last / 2; i++)
            value /= 2;
        memcpy(&bits, &value, sizeof(bits));
        return bits;
    }
    return (uint64_t)(exponent - last / 2 + 1023) << 52 | fraction << (52 - mantissa);
}

static uint64_t magnitude(enum profile_value_type type, uint64_t value)
{
    const uint64_t sign = UINT64_C(1) << (8 * size_of(type) - 1);
    switch (type) {
    case PROFILE_TYPE_S8:
    case PROFILE_TYPE_S16:
    case PROFILE_TYPE_S32:
    case PROFILE_TYPE_S64: return value & sign ? (sign << 1) - value : value;
    case PROFILE_TYPE_F16: return widened(value & ~sign, 10, 5);
    case PROFILE_TYPE_BF16: return widened(value & ~sign, 7, 8);
    case PROFILE_TYPE_F32: return widened(value & ~sign, 23, 8);
    case PROFILE_TYPE_F64: return widened(value & ~sign, 52, 11);
    default: return value;
    }
}

static void take(struct field *field, enum profile_value_type type, const unsigned char *bytes)
{
    uint64_t value = 0;
    memcpy(&value, bytes, size_of(type));
    const uint64_t most = magnitude(type, value);
    field->all = field->moved ? field->all & value : value;
    field->any |= value;
    field->most = most > field->most ? most : field->most;
    field->moved = true;
}

static void see_lanes(struct field *field, const struct profile_accessed *row,
                      const struct gpusim_log_access *access)
{
    unsigned nth = 0;
    const bool after = access->kind == GPUSIM_LOG_ATOMIC && row->way == PROFILE_ACCESSED_WRITTEN;
    for (uint32_t left = access->mask; left; left &= left - 1, nth++) {
        const uint64_t from = access->address[__builtin_ctz(left)] - access->object->address;
        const unsigned char *values =
            (after ? access->after : access->values) + nth * access->value_stride;
        for (uint32_t at = 0; at + size_of(row->type) <= access->bytes; at++) {
            if ((from + at) % row->stride == row->offset)
                take(field, row->type, values + at);
        }
    }
}

// Returns whether the row is about the same object and direction.
static bool is_about(const struct comparison *comparison, const struct profile_accessed *row,
                     const struct gpusim_log_access *access)
{
    const struct profile_object *object = told_object(&comparison->told, row->object);
    const bool reads = row->way == PROFILE_ACCESSED_READ;
    return object && object->address == access->object->address &&
           object->bytes == access->object->size_bytes &&
           access->kind != (reads ? GPUSIM_LOG_STORE : GPUSIM_LOG_LOAD);
}

static void see_executed(void *user, const struct gpusim_log_access *records, size_t count)
{
    struct reader *reader = user;
    struct comparison *comparison = reader->comparison;
    struct told *told = &comparison->told;
    const struct told_call *call =
        count ? told_call_of(told, &reader->pairs.launches, records->launch->number) : NULL;
    if (!call)
        return;
    const uint64_t number = call->call.number;
    const struct profile_accessed *rows = told->accessed.items;
    for (size_t i = base_search(0, told->accessed.count, k, rows[k].call < number);
         i < told->accessed.count && rows[i].call == number; i++) {
        for (size_t k = 0; k < count; k++) {
            if (records[k].object && records[k].space == GPUSIM_LOG_GLOBAL &&
                strncmp(records[k].site->text, "ld.global.cg", 12) != 0 &&
                is_about(comparison, &rows[i], &records[k]))
                see_lanes(&reader->fields[i], &rows[i], &records[k]);
        }
    }
}

// A row that is complete has exactly what the log has, another one a part of it.
static void check(struct comparison *comparison, const struct profile_accessed *row,
                  const struct field *field)
{
    const bool incomplete = row->flags & PROFILE_ACCESSED_INCOMPLETE;
    const bool good = incomplete ? !(row->any_bits & ~field->any) &&
                                       !(field->all & ~row->all_bits) && row->most <= field->most
                                 : row->any_bits == field->any && row->all_bits == field->all &&
                                       row->most == field->most;
    comparison->accessed += !incomplete;
    comparison->incomplete += incomplete;
    if (good && field->moved)
        return;
    complain(comparison,
             "call %" PRIu64 ", object %" PRIu64 ", %s%s, offset %u of %u, type %u: any 0x%" PRIx64
             ", all 0x%" PRIx64 ", most 0x%" PRIx64 "; the log has 0x%" PRIx64 ", 0x%" PRIx64
             ", 0x%" PRIx64,
             row->call, row->object, row->way == PROFILE_ACCESSED_READ ? "read" : "written",
             incomplete ? " (incomplete)" : "", row->offset, row->stride, (unsigned)row->type,
             row->any_bits, row->all_bits, row->most, field->any, field->all, field->most);
}

bool compare_accessed(struct comparison *comparison, const char *log)
{
    struct reader reader = {.comparison = comparison};
    const struct told *told = &comparison->told;
    struct replay_totals totals;
    struct base_error error = {0};
    const struct replay_calls calls = {.user = &reader, .executed = see_executed};
    reader.fields = replay_must(calloc(told->accessed.count + 1, sizeof(*reader.fields)));
    bool good = told_pair(&comparison->told, log, true, &reader.pairs);
    if (good && replay_run(log, &calls, &reader.replay, &totals, &error) != BASE_OK) {
        char text[512];
        base_error_text(&error, text, sizeof(text));
        printf("%s\n", text);
        good = false;
    }
    for (size_t i = 0; good && i < told->accessed.count; i++) // there are none of graphs
        check(comparison, &told->accessed.items[i], &reader.fields[i]);
    told_pairs_fini(&reader.pairs);
    free(reader.fields);
    return good;
}
