// SPDX-License-Identifier: Apache-2.0
// Merges files in one process, one after the other: only the sums of one profile are in memory.
#include "batch.h"

#include <stdlib.h>

#include "report/report.h"

// Returns why a file is left out, as the job says it; NULL if the failure is not the file's.
static const char *reason_of(enum base_code code)
{
    switch (code) {
    case BASE_NOT_FOUND: return "there is no such file";
    case BASE_INVALID: return "not a profile";
    case BASE_UNSUPPORTED: return "of another version";
    case BASE_CORRUPT: return "damaged";
    case BASE_IO: return "cannot be read";
    default: return NULL;
    }
}

struct adding {
    struct job_writer *writer;
    bool spoilt; // the writer has a part of a damaged job profile
};

static enum base_code add_job(struct adding *adding, const char *file, bool *is_own,
                              struct base_error *error)
{
    struct profile *job = NULL;
    enum base_code code = profile_open_job(file, &job, error);
    *is_own = true;
    if (code == BASE_OK) {
        code = job_add_job(adding->writer, job, error);
        adding->spoilt = code != BASE_OK;
        *is_own = code != BASE_CONFLICT && code != BASE_IO;
        if (code != BASE_OK)
            base_fail_while(error, "reading %s", file);
    }
    profile_close(job);
    return code;
}

// Sets *is_own to whether a failure is about the file.
static enum base_code add_file(struct adding *adding, const char *file, bool *is_own,
                               struct base_error *error)
{
    struct profile *profile = NULL;
    struct job_part *part = NULL;
    if (profile_is_job(file))
        return add_job(adding, file, is_own, error);
    enum base_code code = profile_open(file, &profile, error);
    if (code == BASE_OK)
        code = report_job_part(profile, &part, error);
    *is_own = true;
    if (code == BASE_OK) {
        *is_own = false;
        code = job_add_part(adding->writer, part, file, error);
    }
    job_part_destroy(part);
    profile_close(profile);
    return code;
}

// Adds all files but those that are left out. If a job profile turns out to be damaged, it is left
// out and *again is set: the writer already has a part of it.
static enum base_code add_all(const struct merge_batch *batch, struct adding *adding,
                              const char **left_out, bool *again, struct base_error *error)
{
    enum base_code code = BASE_OK;
    for (size_t i = batch->first, at = 0; i < batch->request->count && code == BASE_OK && !*again;
         i += batch->step, at++) {
        bool is_own = false;
        if (!left_out[at]) {
            struct base_error why = {0};
            code = add_file(adding, batch->request->files[i], &is_own, &why);
            if (code != BASE_OK && is_own && reason_of(code)) {
                char text[BASE_ERROR_CAUSES * BASE_ERROR_TEXT];
                base_error_text(&why, text, sizeof(text));
                batch->unmerged(batch->user, i, text);
                left_out[at] = reason_of(code);
                *again = adding->spoilt;
                code = BASE_OK;
            } else if (code != BASE_OK) {
                *error = why;
            }
            if (!*again)
                batch->progress(batch->user);
        }
        if (code == BASE_OK && left_out[at] && !*again)
            code = job_add_unmerged(adding->writer, batch->request->files[i], left_out[at], error);
    }
    return code;
}

enum base_code merge_batch(const struct merge_batch *batch, struct job_writer **writer,
                           struct base_error *error)
{
    const char **left_out = calloc(batch->request->count / batch->step + 1, sizeof(*left_out));
    enum base_code code = BASE_OK;
    bool again = true;
    *writer = NULL;
    if (!left_out)
        return base_no_memory(error);
    while (code == BASE_OK && again) {
        struct adding adding = {NULL, false};
        again = false;
        job_destroy(*writer);
        *writer = NULL;
        code = job_create(&adding.writer, error);
        *writer = adding.writer;
        if (code == BASE_OK)
            code = add_all(batch, &adding, left_out, &again, error);
    }
    free(left_out);
    return code;
}
