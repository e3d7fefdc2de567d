// SPDX-License-Identifier: Apache-2.0
// Uses any file as a job profile, in every way that there is: for files that are damaged or
// hostile. Merging it must fail, or give a job profile from which merging makes the same file.
#ifndef GLINT_TESTS_JOB_USING_H
#define GLINT_TESTS_JOB_USING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/job.h"
#include "report/report.h"

static inline bool using_take(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)user += length;
    return true;
}

static inline void using_reports(struct profile *job)
{
    struct base_error error = {0};
    size_t bytes = 0;
    bool result;
    const struct report_style style = {.width = 80};
    const struct report_summary summary = {using_take, &bytes, REPORT_SUMMARY_BYTES};
    struct report_rules rules;
    report_job_text(job, NULL, &(struct report_choice){.file = "a"}, &style, using_take, &bytes,
                    &error);
    report_job_text(job, NULL, &(struct report_choice){.verbose = true}, &style, using_take, &bytes,
                    &error);
    report_job_json(job, NULL, using_take, &bytes, &error);
    report_job_html(job, NULL, NULL, using_take, &bytes, &error);
    report_job_sarif(job, NULL, "/", using_take, &bytes, &error);
    report_job_github(job, NULL, "/", using_take, &bytes, &summary, &error);
    report_rules_init(&rules);
    report_rules_add(&rules, "any,peak>1B,growth,new", &error);
    const struct report_check_request check = {
        .profile = job, .baseline = job, .name = "a", .baseline_name = "b", .rules = &rules};
    report_job_check_text(&check, &style, &result, using_take, &bytes, &error);
    report_job_check_json(&check, &result, using_take, &bytes, &error);
    report_rules_fini(&rules);
}

// Compares it with another job, in both directions and formats.
static inline void using_differences(struct profile *job, struct profile *other)
{
    struct base_error error = {0};
    const struct report_style style = {.width = 80};
    size_t bytes = 0;
    bool result;
    for (int i = 0; i < 2; i++) {
        const struct report_diff_request diff = {.profiles = {i ? job : other, i ? other : job},
                                                 .names = {"a", "b"}};
        report_job_diff_text(&diff, &style, &result, using_take, &bytes, &error);
        report_job_diff_json(&diff, &result, using_take, &bytes, &error);
    }
}

// Merges a job profile alone. Returns whether that was possible.
static inline bool using_merge(const char *from, const char *to)
{
    struct base_error error = {0};
    struct job_writer *writer = NULL;
    struct profile *job = NULL;
    const bool good =
        profile_open_job(from, &job, &error) == BASE_OK && job_create(&writer, &error) == BASE_OK &&
        job_add_job(writer, job, &error) == BASE_OK && job_write(writer, to, &error) == BASE_OK;
    job_destroy(writer);
    profile_close(job);
    return good;
}

static inline bool using_same(const char *one, const char *other)
{
    char *texts[2] = {NULL, NULL};
    size_t lengths[2];
    struct base_error error = {0};
    const bool same = base_file_read(one, &texts[0], &lengths[0], &error) == BASE_OK &&
                      base_file_read(other, &texts[1], &lengths[1], &error) == BASE_OK &&
                      lengths[0] == lengths[1] && memcmp(texts[0], texts[1], lengths[0]) == 0;
    free(texts[0]);
    free(texts[1]);
    return same;
}

// Uses the file; compares it with the job in the file `original`, which may be NULL.
static inline void using_job(const char *path, const char *original)
{
    struct base_error error = {0};
    struct profile *job = NULL, *other = NULL;
    char merged[512], again[512];
    if (profile_open_job(path, &job, &error) == BASE_OK) {
        using_reports(job);
        if (original && profile_open_job(original, &other, &error) == BASE_OK)
            using_differences(job, other);
        profile_close(other);
        profile_close(job);
    }
    snprintf(merged, sizeof(merged), "%s-merged", path);
    snprintf(again, sizeof(again), "%s-again", path);
    if (using_merge(path, merged) && !(using_merge(merged, again) && using_same(merged, again))) {
        fprintf(stderr, "merging what was merged gives another file\n");
        abort();
    }
    unlink(merged);
    unlink(again);
}

#endif
