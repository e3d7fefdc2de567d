// SPDX-License-Identifier: Apache-2.0
// Writes the report of a job profile as JSON, schema 1; docs/reference/job.md and job.schema.json
// describe it. Members are only ever added.
#include <stdio.h>

#include "job_data.h"
#include "json_members.h"

static void put_spread(struct base_json *json, const char *key,
                       const struct report_job_spread *spread, bool known)
{
    base_json_key(json, key);
    if (!known || !spread->profiles) {
        base_json_null(json);
        return;
    }
    base_json_begin_object(json);
    report_json_number(json, "min", spread->least);
    report_json_number(json, "max", spread->most);
    base_json_key(json, "mean");
    base_json_double(json, (double)spread->sum / (double)spread->profiles);
    report_json_number(json, "median", spread->median);
    report_json_number(json, "sum", spread->sum);
    report_json_number(json, "min_profile", spread->least_at + 1);
    report_json_number(json, "max_profile", spread->most_at + 1);
    base_json_end_object(json);
}

static void put_head(struct base_json *json, const struct report_job *job)
{
    struct base_buf problems = {0};
    base_json_key(json, "job");
    base_json_begin_object(json);
    report_json_number_or_null(json, "ranks", job->ranks, job->ranks);
    report_json_number(json, "profiles", job->profiles.count);
    report_json_number(json, "hosts", job->hosts);
    report_json_bool(json, "simulated", job->simulated);
    report_json_bool(json, "mixed", job->mixed_jobs);
    base_json_key(json, "missing_ranks");
    base_json_begin_array(json);
    for (size_t i = 0; i < job->missing.count; i++)
        base_json_u64(json, job->missing.items[i]);
    base_json_end_array(json);
    report_json_number(json, "suppressed", job->suppressed);
    base_json_key(json, "warnings");
    base_json_begin_array(json);
    report_job_put_problems(job, &problems, "\n");
    for (const char *at = problems.length ? problems.text : ""; *at;) {
        const size_t length = strcspn(at, "\n");
        base_json_str(json, (struct base_str){at, length});
        at += length + (at[length] == '\n');
    }
    base_json_end_array(json);
    base_json_end_object(json);
    base_buf_fini(&problems);
}

static void put_profile(struct base_json *json, const struct report_job_profile *of)
{
    base_json_begin_object(json);
    report_json_number_or_null(json, "rank", of->rank, of->has_rank);
    report_json_string(json, "host", of->host);
    report_json_string(json, "launcher", of->launcher);
    report_json_string(json, "job", of->job);
    report_json_time(json, "pid", of->pid, of->pid != 0);
    report_json_time(json, "start_unix_ns", of->start_unix_ns, of->start_unix_ns != 0);
    report_json_time(json, "clock_offset_ns", of->clock_offset_ns, of->start_unix_ns != 0);
    report_json_string(json, "file", of->file);
    report_json_string(json, "arguments", of->arguments);
    report_json_bool(json, "complete", of->complete);
    report_json_string(json, "ended", of->ended);
    report_json_time(json, "code", of->code, of->has_code);
    report_json_bool(json, "simulated", of->simulated);
    report_json_bool(json, "unsearched", of->unsearched);
    report_json_number(json, "calls", of->calls);
    report_json_number(json, "failed_calls", of->failed_calls);
    report_json_number(json, "launches", of->launches);
    report_json_number(json, "objects", of->objects);
    report_json_number(json, "dropped", of->dropped);
    report_json_number(json, "peak_bytes", of->peak_bytes);
    report_json_number(json, "achievable_peak_bytes", of->achievable_bytes);
    report_json_number_or_null(json, "run_ns", of->run_ns, of->has_run);
    report_json_number_or_null(json, "kernel_ns", of->kernel_ns, !of->simulated);
    report_json_number(json, "waits", of->waits);
    report_json_number_or_null(json, "waited_ns", of->waited_ns, !of->simulated);
    report_json_number(json, "findings", of->findings);
    report_json_number(json, "worthwhile", of->worthwhile);
    base_json_end_object(json);
}

static void put_place(struct base_json *json, const struct job_place *place)
{
    report_json_string(json, "call_path", place ? place->trace : NULL);
    report_json_string(json, "file", place ? place->file : NULL);
    report_json_number_or_null(json, "line", place ? place->line : 0, place && place->line);
}

static void put_row(struct base_json *json, const struct report_job *job, enum report_job_kind kind,
                    const struct report_job_row *row)
{
    static const struct {
        const char *name, *measures[REPORT_JOB_MEASURES];
        int time; // which of them is a time; -1: none
    } keys[REPORT_JOB_KINDS] = {
        [REPORT_JOB_KERNEL] = {"name", {"launches", "gpu_ns"}, 1},
        [REPORT_JOB_WAIT] = {"called", {"count", "waited_ns"}, 1},
        [REPORT_JOB_OBJECT] = {"name", {"count", "bytes", "peak_bytes"}, -1},
        [REPORT_JOB_COPY] = {"direction", {"count", "bytes", "gpu_ns"}, 2},
        [REPORT_JOB_COLLECTIVE] = {"name", {"count", "sent_bytes", "received_bytes", "host_ns"}, 3},
        [REPORT_JOB_RANGE] = {"name", {"count", "total_ns"}, 1}};
    base_json_begin_object(json);
    base_json_key(json, keys[kind].name);
    base_json_string(json, kind == REPORT_JOB_OBJECT && !row->name[0] ? NULL : row->name);
    if (kind == REPORT_JOB_OBJECT)
        report_json_string(json, "kind", row->kind);
    if (kind == REPORT_JOB_WAIT)
        report_json_bool(json, "explicit", row->is_explicit);
    if (kind == REPORT_JOB_RANGE)
        report_json_string(json, "domain", row->kind && row->kind[0] ? row->kind : NULL);
    if (kind == REPORT_JOB_COLLECTIVE) {
        report_json_string(json, "type", row->kind && row->kind[0] ? row->kind : NULL);
        report_json_number_or_null(json, "communicator_ranks", row->communicator_ranks,
                                   row->communicator_ranks);
    }
    if (kind == REPORT_JOB_WAIT || kind == REPORT_JOB_OBJECT || kind == REPORT_JOB_COLLECTIVE)
        put_place(json, row->place);
    report_json_number(json, "profiles", row->profiles);
    for (int m = 0; m < REPORT_JOB_MEASURES && keys[kind].measures[m]; m++)
        put_spread(json, keys[kind].measures[m], &row->measures[m],
                   m != keys[kind].time || (!job->simulated && row->is_timed));
    report_json_bool(json, "differs", row->differs);
    report_json_string(json, "compared_by", row->compared ? keys[kind].measures[row->main] : NULL);
    report_json_number(json, "outlier_count", row->outlier_count);
    base_json_key(json, "outliers");
    base_json_begin_array(json);
    for (size_t i = 0; i < row->outlier_count && i < REPORT_JOB_OUTLIERS; i++) {
        base_json_begin_object(json);
        report_json_number(json, "profile", row->outliers[i].profile + 1);
        report_json_number(json, "value", row->outliers[i].value);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_end_object(json);
}

static void put_finding(struct base_json *json, const struct report_job_finding *finding)
{
    static const char *const worths[REPORT_JOB_WORTHS] = {
        [REPORT_JOB_RUN] = "run_ns",
        [REPORT_JOB_PEAK] = "peak_bytes",
        [REPORT_JOB_TRAFFIC] = "traffic_bytes",
        [REPORT_JOB_GPU] = "gpu_ns",
        [REPORT_JOB_WAITS] = "waits",
        [REPORT_JOB_TOGETHER_PEAK] = "together_peak_bytes",
        [REPORT_JOB_TOGETHER_RUN] = "together_run_ns"};
    const struct report_job_finding_row *worst = &finding->worst;
    char identity[48];
    snprintf(identity, sizeof(identity), "%016llx:%llu", (unsigned long long)worst->identity,
             (unsigned long long)worst->ordinal);
    base_json_begin_object(json);
    report_json_string(json, "pattern", worst->pattern);
    report_json_string(json, "identity", identity);
    report_json_string(json, "place", worst->at);
    report_json_string(json, "file", worst->file);
    report_json_number_or_null(json, "line", worst->line, worst->line);
    report_json_string(json, "call_path", worst->place ? worst->place->trace : NULL);
    report_json_string(json, "object", worst->object);
    report_json_string(json, "kernel", worst->kernel);
    report_json_number(json, "profiles", finding->profiles);
    report_json_number(json, "worthwhile", finding->worthwhile);
    report_json_number(json, "count", finding->count);
    report_json_number(json, "worst_profile", worst->profile + 1);
    base_json_key(json, "share");
    base_json_double(json, (double)worst->share_ppm / 1e6);
    report_json_bool(json, "bound", worst->bound);
    report_json_bool(json, "gain_is_unknown", worst->unestimated);
    base_json_key(json, "worth");
    base_json_begin_object(json);
    for (unsigned i = 0; i < REPORT_JOB_WORTHS; i++)
        put_spread(json, worths[i], &finding->worth[i], true);
    base_json_end_object(json);
    report_json_string(json, "message", worst->message);
    report_json_string(json, "suggestion", worst->suggestion);
    base_json_end_object(json);
}

static void put_job(struct base_json *json, const struct report_job *job)
{
    static const char *const keys[REPORT_JOB_KINDS] = {
        [REPORT_JOB_KERNEL] = "kernels",         [REPORT_JOB_WAIT] = "waits",
        [REPORT_JOB_OBJECT] = "objects",         [REPORT_JOB_COPY] = "copies",
        [REPORT_JOB_COLLECTIVE] = "collectives", [REPORT_JOB_RANGE] = "nvtx_ranges"};
    base_json_begin_object(json);
    report_json_string(json, "glint", GLINT_VERSION);
    report_json_number(json, "schema", 1);
    put_head(json, job);
    put_spread(json, "peak_bytes", &job->peak, true);
    put_spread(json, "kernel_ns", &job->kernel_ns, !job->simulated);
    put_spread(json, "waited_ns", &job->waited_ns, !job->simulated);
    base_json_key(json, "findings");
    base_json_begin_array(json);
    for (size_t i = 0; i < job->findings.count; i++)
        put_finding(json, &job->findings.items[i]);
    base_json_end_array(json);
    for (unsigned kind = 0; kind < REPORT_JOB_KINDS; kind++) {
        base_json_key(json, keys[kind]);
        base_json_begin_array(json);
        for (size_t i = 0; i < job->rows[kind].count; i++)
            put_row(json, job, (enum report_job_kind)kind, &job->rows[kind].items[i]);
        base_json_end_array(json);
    }
    base_json_key(json, "profiles");
    base_json_begin_array(json);
    for (size_t i = 0; i < job->profiles.count; i++)
        put_profile(json, &job->profiles.items[i]);
    base_json_end_array(json);
    base_json_key(json, "unmerged");
    base_json_begin_array(json);
    for (size_t i = 0; i < job->unmerged.count; i++) {
        base_json_begin_object(json);
        report_json_string(json, "file", job->unmerged.items[i].file);
        report_json_string(json, "reason", job->unmerged.items[i].reason);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_key(json, "notes");
    base_json_begin_array(json);
    for (size_t i = 0; i < job->notes.count; i++) {
        base_json_begin_object(json);
        report_json_string(json, "severity", job->notes.items[i].severity);
        report_json_string(json, "text", job->notes.items[i].text);
        report_json_number(json, "profiles", job->notes.items[i].profiles);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_end_object(json);
}

enum base_code report_job_json(struct profile *profile, const struct report_rules *rules,
                               report_write *write, void *user, struct base_error *error)
{
    struct report_job job = {0};
    struct base_json json;
    enum base_code code = report_job_load(&job, profile, rules, error);
    if (code == BASE_OK) {
        base_json_init(&json, write, user, 0);
        put_job(&json, &job);
        if (!base_json_finish(&json) || !write(user, "\n", 1))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    report_job_fini(&job);
    return code;
}
