// SPDX-License-Identifier: Apache-2.0
// The public header of src/merge: merges profiles and job profiles into a job profile, in several
// processes. What a job profile holds is decided by src/report and src/job. Nothing here prints.
#ifndef GLINT_MERGE_MERGE_H
#define GLINT_MERGE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

struct merge_request {
    const char *const *files; // profiles and job profiles
    size_t count;
    const char *output;
    bool force;         // replace an existing file
    bool may_be_empty;  // no failure if no file can be merged: the job says which were left out
    unsigned processes; // at most so many at once; 0: as many as there are cores
    // Called with the number of files that are done, and with each file that cannot be merged and
    // why, in the order of `files`; both may be NULL.
    void (*progress)(void *user, size_t done);
    void (*unmerged)(void *user, const char *file, const char *why);
    void *user;
};

struct merge_result {
    size_t unmerged;   // files
    uint64_t profiles; // in the job
};

// Checks that the output may be written. Fails with BASE_CONFLICT if it exists and `force` is not
// given, with BASE_IO if its folder cannot be written.
enum base_code merge_check_output(const char *output, bool force, struct base_error *error);

// Merges. A file that cannot be read is left out, and the job says so; fails with BASE_NOT_FOUND
// if no file can be merged, unless the job may be empty, with BASE_CONFLICT if there are different
// profiles of a process, with BASE_IO if the job cannot be written, and with BASE_NO_MEMORY.
enum base_code merge_files(const struct merge_request *request, struct merge_result *result,
                           struct base_error *error);

#endif
