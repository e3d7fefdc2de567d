// SPDX-License-Identifier: Apache-2.0
// Merges files in one process. Internal header of src/merge.
#ifndef GLINT_MERGE_BATCH_H
#define GLINT_MERGE_BATCH_H

#include "job/job.h"
#include "merge.h"

// The files of a request from `first` on, every `step`th.
struct merge_batch {
    const struct merge_request *request;
    size_t first, step;
    void (*progress)(void *user);
    void (*unmerged)(void *user, size_t index, const char *why);
    void *user;
};

// Creates a writer that has what the batch's files hold. The caller destroys it.
enum base_code merge_batch(const struct merge_batch *batch, struct job_writer **writer,
                           struct base_error *error);

#endif
