// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the log that the driver writes: runs a program in a child with a log, and
// finds calls in it.
#ifndef GLINT_TESTS_GPUSIM_LOG_PROGRAM_H
#define GLINT_TESTS_GPUSIM_LOG_PROGRAM_H

#include "log_testing.h"

#include <sys/wait.h>

#include "cudaabi/cudaabi.h"

static char path[64]; // of the log

static inline void must(CUresult result)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "a call failed with %d\n", (int)result);
        abort();
    }
}

static inline int setup(void **state)
{
    (void)state;
    strcpy(path, "/tmp/glint-log-XXXXXX");
    int file = mkstemp(path);
    return file < 0 || close(file) != 0;
}

static inline int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

// Runs the program in a child and reads the log. Returns the status from waitpid.
static inline int run(void (*program)(void), struct records *records)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        setenv("GLINT_SIM_LOG", path, 1);
        setenv("GLINT_SIM_WORKERS", "1", 1);
        unsetenv("GLINT_SIM_DEVICE");
        program();
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (records)
        *records = read_records(path);
    return status;
}

// Returns the nth call of a name, from 0, and its return record.
static inline const struct gpusim_log_call *call_of(const struct records *records, const char *name,
                                                    size_t n,
                                                    const struct gpusim_log_return **returned)
{
    const struct gpusim_log_call *found = NULL;
    if (returned)
        *returned = NULL;
    for (size_t i = 0; i < records->all.count; i++) {
        const struct gpusim_log_record *record = &records->all.items[i];
        if (!found && record->type == GPUSIM_LOG_CALL && !strcmp(record->call.name, name) &&
            n-- == 0)
            found = &record->call;
        if (found && record->type == GPUSIM_LOG_RETURN &&
            record->returned.number == found->number) {
            if (returned)
                *returned = &record->returned;
            return found;
        }
    }
    fail_msg("no call of %s", name);
    return NULL;
}

// Returns the value after "key=" in a list of such pairs.
static inline uint64_t value_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = text; at && *at; at = strchr(at, ' '), at += at != NULL) {
        if (strncmp(at, key, length) == 0 && at[length] == '=')
            return strtoull(at + length + 1, NULL, 0);
    }
    fail_msg("no %s in '%s'", key, text);
    return 0;
}

#endif
