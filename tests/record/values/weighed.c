// SPDX-License-Identifier: Apache-2.0
// Compares the rows of a profile about what most reads got with the log of the recorded run: all
// values that the launch loaded from the field are collected and counted.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "values_reference.h"

// The loads of one row.
struct weighed_loads {
    const struct profile_weighed *row;
    uint64_t address; // of the object
    BASE_ARRAY(uint64_t) bits;
};

struct weighed_reader {
    struct comparison *comparison;
    struct told_pairs pairs;
    struct weighed_loads *loads; // for each row
};

static uint64_t call_of(struct weighed_reader *reader, uint64_t launch)
{
    const struct told_call *call =
        told_call_of(&reader->comparison->told, &reader->pairs.launches, launch);
    return call ? call->call.number : 0;
}

// Adds what one lane loaded: one element, or several of a vector.
static void add_load(struct weighed_loads *loads, uint64_t address, const unsigned char *bytes,
                     uint32_t count)
{
    const struct profile_weighed *row = loads->row;
    const uint32_t size = values_reference_size(row->type);
    for (uint32_t at = 0; at + size <= count; at += size) {
        uint64_t bits = 0;
        if ((address + at - loads->address) % row->stride != row->offset)
            continue;
        memcpy(&bits, bytes + at, size);
        const bool negative_zero = (row->type == PROFILE_TYPE_F32 && bits == 1u << 31) ||
                                   (row->type == PROFILE_TYPE_F64 && bits == UINT64_C(1) << 63);
        REPLAY_PUSH(uint64_t, &loads->bits) = negative_zero ? 0 : bits;
    }
}

static void see_access(struct weighed_reader *reader, const struct gpusim_log_access *access)
{
    const struct told *told = &reader->comparison->told;
    if (access->kind != GPUSIM_LOG_LOAD || !access->object || access->space != GPUSIM_LOG_GLOBAL)
        return;
    const uint64_t call = call_of(reader, access->launch->number);
    for (size_t i = 0; call && i < told->weighed.count; i++) {
        struct weighed_loads *loads = &reader->loads[i];
        unsigned nth = 0;
        if (loads->row->call != call || loads->address != access->object->address)
            continue;
        for (uint32_t left = access->mask; left; left &= left - 1, nth++)
            add_load(loads, access->address[__builtin_ctz(left)],
                     access->values + nth * access->value_stride, access->bytes);
    }
}

static int by_bits(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

static void check_loads(struct comparison *comparison, struct weighed_loads *loads)
{
    const struct profile_weighed *row = loads->row;
    const uint64_t count = loads->bits.count;
    uint64_t run = 0, most = 0, value = 0;
    qsort(loads->bits.items, count, sizeof(uint64_t), by_bits);
    for (uint64_t i = 0; i < count; i++) {
        run = i && loads->bits.items[i] == loads->bits.items[i - 1] ? run + 1 : 1;
        if (2 * run > count && run > most) {
            most = run;
            value = values_reference_value(row->type, loads->bits.items[i]);
        }
    }
    comparison->weighed++;
    if (row->accesses != count || row->count != most || row->value != value)
        complain(comparison,
                 "call %" PRIu64 ", object %" PRIu64 ", offset %u: %" PRIu64 " reads, %" PRIu64
                 " of them 0x%" PRIx64 "; the log has %" PRIu64 ", %" PRIu64 " of them 0x%" PRIx64,
                 row->call, row->object, row->offset, row->accesses, row->count, row->value, count,
                 most, value);
}

bool compare_weighed(struct comparison *comparison, const char *path)
{
    struct told *told = &comparison->told;
    struct weighed_reader reader = {.comparison = comparison};
    struct gpusim_log *log = NULL;
    struct gpusim_log_record record;
    struct base_error error = {0};
    if (!told->weighed.count)
        return true;
    reader.loads = replay_must(calloc(told->weighed.count, sizeof(*reader.loads)));
    for (size_t i = 0; i < told->weighed.count; i++) {
        const struct profile_object *object = told_object(told, told->weighed.items[i].object);
        reader.loads[i].row = &told->weighed.items[i];
        reader.loads[i].address = object ? object->address : 0;
    }
    bool good = told_pair(told, path, true, &reader.pairs) &&
                gpusim_log_open(path, &log, &error) == BASE_OK;
    while (good && gpusim_log_next(log, &record, &error) == BASE_OK) {
        if (record.type == GPUSIM_LOG_ACCESS)
            see_access(&reader, &record.access);
    }
    for (size_t i = 0; i < told->weighed.count; i++) {
        if (good)
            check_loads(comparison, &reader.loads[i]);
        base_array_fini(&reader.loads[i].bits);
    }
    gpusim_log_close(log);
    told_pairs_fini(&reader.pairs);
    free(reader.loads);
    return good;
}
