// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the simulated GPU's log: reads all records of a log into an array.
#ifndef GLINT_TESTS_GPUSIM_LOG_TESTING_H
#define GLINT_TESTS_GPUSIM_LOG_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpusim/gpusim.h"

struct records {
    struct gpusim_log *log;
    BASE_ARRAY(struct gpusim_log_record) all;
    enum gpusim_log_state state;
};

static inline struct records read_records(const char *path)
{
    struct records records = {0};
    struct gpusim_log_record record;
    struct base_error error = {0};
    enum base_code code = gpusim_log_open(path, &records.log, &error);
    if (code == BASE_OK) {
        while ((code = gpusim_log_next(records.log, &record, &error)) == BASE_OK)
            *(struct gpusim_log_record *)base_array_push(&records.all) = record;
        records.state = gpusim_log_state(records.log);
    }
    if (code != BASE_NOT_FOUND) {
        char text[512];
        base_error_text(&error, text, sizeof(text));
        fail_msg("%s", text);
    }
    return records;
}

static inline void free_records(struct records *records)
{
    base_array_fini(&records->all);
    gpusim_log_close(records->log);
}

// The nth record of a type, from 0; NULL: there are fewer.
static inline const struct gpusim_log_record *record_at(const struct records *records,
                                                        enum gpusim_log_type type, size_t n)
{
    for (size_t i = 0; i < records->all.count; i++) {
        if (records->all.items[i].type == type && n-- == 0)
            return &records->all.items[i];
    }
    return NULL;
}

static inline size_t count_records(const struct records *records, enum gpusim_log_type type)
{
    size_t count = 0;
    while (record_at(records, type, count))
        count++;
    return count;
}

#endif
