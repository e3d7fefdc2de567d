// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the program that compares what a profile says about values with logs of
// the simulated GPU.
#ifndef GLINT_TESTS_RECORD_VALUES_COMPARE_H
#define GLINT_TESTS_RECORD_VALUES_COMPARE_H

#include "expect.h"
#include "told.h"

struct comparison {
    struct told told;
    bool *rows_seen, *stores_seen; // for each row: it was compared
    bool is_spoilt;                // the first difference ends the program
    uint64_t complaints;
    uint64_t rows, fields, stores, weighed; // that were compared
    uint64_t accessed, incomplete;          // rows of accessed values that were compared
    uint64_t hashes;                        // rows whose hash could be computed
    uint64_t unknown;                       // rows with bytes that the log does not show: no fields
    uint64_t concurrent;                    // rows that describe no certain moment
    uint64_t of_graphs;                     // rows of contents of launches of graphs
    // Not in the profile: writes of launches, copies and fills to objects, and stores of sites.
    uint64_t missing, missing_stores;
};

// Prints a difference; only the first ones are shown.
void complain(struct comparison *comparison, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Returns whether the recorder looks at the contents of such an object: only at the GPU's memory.
static inline bool compare_looks_at(const struct gpusim_object *object)
{
    return object->kind == GPUSIM_OBJECT_DEVICE || object->kind == GPUSIM_OBJECT_POOL ||
           object->kind == GPUSIM_OBJECT_MAPPED || object->kind == GPUSIM_OBJECT_VARIABLE;
}

// Which launches of the log a row of stores is compared with: one, or all of its kernel that a
// graph's nodes make. The rows of these nodes are compared together.
struct compared_launches {
    const struct gpusim_log_launch *launch; // NULL: those of `call`
    uint64_t call;
};

static inline bool compare_covers(const struct compared_launches *launches, const struct told *told,
                                  uint32_t kernel, const struct gpusim_log_launch *launch)
{
    return launches->launch
               ? launch == launches->launch
               : launch->call == launches->call && told_is_kernel(told, kernel, launch->kernel);
}

// contents.c: compares all rows of contents with the log of the recorded run, and rows of stores
// without an instruction. Returns false after a message if the log cannot be read.
bool compare_contents(struct comparison *comparison, const char *log);
// stores.c: compares all rows of stores of instructions with the log of a run without probes, in
// which the program made the same launches. In the recorded run, the instructions are those of
// clones.
bool compare_stores(struct comparison *comparison, const char *log);
// weighed.c: compares all rows about what most reads got with the log of the recorded run.
bool compare_weighed(struct comparison *comparison, const char *log);
// accessed.c: compares all rows of accessed values with the log of the recorded run.
bool compare_accessed(struct comparison *comparison, const char *log);

#endif
