// SPDX-License-Identifier: Apache-2.0
// Uses any bytes as a log of the simulated GPU. The values of every access must lie inside the
// input, and its addresses inside its object.
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "gpusim/gpusim.h"

static void check_access(const struct gpusim_log_access *access, const uint8_t *data, size_t size)
{
    size_t lanes = access->value_stride ? (size_t)__builtin_popcount(access->mask) : 1;
    size_t bytes = lanes * access->bytes;
    const unsigned char *both[2] = {access->values, access->after};
    for (int i = 0; i < 2; i++) {
        if (both[i] &&
            (both[i] < data || both[i] > data + size || (size_t)(data + size - both[i]) < bytes))
            abort();
    }
    if (!access->launch || !access->site || !access->mask || !access->bytes || !both[0])
        abort();
    for (uint32_t left = access->object ? access->mask : 0; left; left &= left - 1) {
        uint64_t offset = access->address[__builtin_ctz(left)] - access->object->address;
        if (offset > access->object->size_bytes ||
            access->object->size_bytes - offset < access->bytes)
            abort();
    }
}

static void check_bytes(const unsigned char *bytes, uint64_t count, const uint8_t *data,
                        size_t size)
{
    if (bytes && (bytes < data || bytes > data + size || (size_t)(data + size - bytes) < count))
        abort();
}

static void check_rows(const struct gpusim_log_rows *rows)
{
    for (size_t i = 0; i < rows->object_count; i++)
        if (!rows->objects[i]->size_bytes)
            abort();
}

static void check_copy(const struct gpusim_log_copy *copy, const uint8_t *data, size_t size)
{
    uint64_t bytes = copy->width * copy->height * copy->depth;
    check_rows(&copy->to);
    check_rows(&copy->from);
    check_bytes(copy->bytes, bytes, data, size);
    if (!bytes)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct gpusim_log *log;
    struct gpusim_log_record record;
    struct base_error error = {0};
    if (gpusim_log_open_bytes(data, size_bytes, "input", &log, &error) != BASE_OK)
        return 0;
    enum base_code code;
    while ((code = gpusim_log_next(log, &record, &error)) == BASE_OK) {
        if (record.type == GPUSIM_LOG_ACCESS)
            check_access(&record.access, data, size_bytes);
        else if (record.type == GPUSIM_LOG_COPY)
            check_copy(&record.copy, data, size_bytes);
        else if (record.type == GPUSIM_LOG_FILL)
            check_rows(&record.fill.to);
        else if (record.type == GPUSIM_LOG_CONTENTS)
            check_bytes(record.contents.bytes, record.contents.byte_count, data, size_bytes);
        else if (record.type == GPUSIM_LOG_CALL && !strlen(record.call.name) &&
                 strlen(record.call.arguments) > size_bytes)
            abort();
    }
    if (code != BASE_NOT_FOUND && code != BASE_CORRUPT)
        abort();
    if (gpusim_log_state(log) == GPUSIM_LOG_READING)
        abort();
    gpusim_log_close(log);
    return 0;
}
