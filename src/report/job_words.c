// SPDX-License-Identifier: Apache-2.0
// The words for what job profiles hold: ranks, measures and worths, and the problems of a job.
#include <string.h>

#include "findings.h"
#include "job_data.h"
#include "units.h"

void report_job_put_name(const struct report_job *job, size_t profile, struct base_buf *out)
{
    const struct report_job_profile *of = &job->profiles.items[profile];
    if (of->has_rank) {
        base_buf_printf(out, "rank %llu", (unsigned long long)of->rank);
        if (of->shares_rank)
            base_buf_printf(out, " (process %lld)", (long long)of->pid);
        return;
    }
    if (!of->pid) {
        report_put_text(out, of->file);
        return;
    }
    base_buf_printf(out, "process %lld", (long long)of->pid);
    if (of->host) {
        base_buf_puts(out, " on ");
        report_put_text(out, of->host);
    }
}

void report_job_put_ranks(const uint64_t *ranks, size_t count, struct base_buf *out)
{
    enum { MOST = 6 }; // ranges
    base_buf_puts(out, count == 1 ? "rank " : "ranks ");
    size_t ranges = 0;
    for (size_t at = 0; at < count; ranges++) {
        size_t end = at + 1;
        while (end < count && ranks[end] == ranks[end - 1] + 1)
            end++;
        if (ranges == MOST) {
            base_buf_puts(out, ", ");
            report_put_count(count - at, out);
            base_buf_puts(out, " more");
            return;
        }
        base_buf_printf(out, "%s%llu", ranges ? ", " : "", (unsigned long long)ranks[at]);
        if (end - at > 1)
            base_buf_printf(out, "-%llu", (unsigned long long)ranks[end - 1]);
        at = end;
    }
}

enum job_unit { COUNT, BYTES, NS };

static void put_value(enum job_unit unit, uint64_t value, struct base_buf *out)
{
    switch (unit) {
    case BYTES: report_put_bytes(out, value); break;
    case NS: report_put_ns(out, value); break;
    default: report_put_count(value, out); break;
    }
}

void report_job_put_measure(enum report_job_kind kind, unsigned measure, uint64_t value,
                            struct base_buf *out)
{
    static const enum job_unit units[REPORT_JOB_KINDS][REPORT_JOB_MEASURES] = {
        [REPORT_JOB_KERNEL] = {COUNT, NS},
        [REPORT_JOB_WAIT] = {COUNT, NS},
        [REPORT_JOB_OBJECT] = {COUNT, BYTES, BYTES},
        [REPORT_JOB_COPY] = {COUNT, BYTES, NS},
        [REPORT_JOB_COLLECTIVE] = {COUNT, BYTES, BYTES, NS},
        [REPORT_JOB_RANGE] = {COUNT, NS}};
    put_value(units[kind][measure], value, out);
}

void report_job_put_place(const struct job_place *place, struct base_buf *out)
{
    if (place && place->file && place->file[0]) {
        report_put_text(out, report_base_name(place->file));
        if (place->line)
            base_buf_printf(out, ":%u", place->line);
    } else if (place && place->function) {
        report_put_text(out, place->function);
    }
}

void report_job_put_row(enum report_job_kind kind, const struct report_job_row *row,
                        struct base_buf *out)
{
    struct base_buf place = {0};
    report_job_put_place(row->place, &place);
    switch (kind) {
    case REPORT_JOB_OBJECT:
        if (row->name[0]) {
            base_buf_putc(out, '`');
            report_put_text(out, row->name);
            base_buf_putc(out, '`');
        } else {
            base_buf_puts(out, row->kind ? row->kind : "memory");
        }
        break;
    case REPORT_JOB_RANGE:
        base_buf_puts(out, "range ");
        report_put_text(out, row->name);
        if (row->kind && row->kind[0]) {
            base_buf_puts(out, " of ");
            report_put_text(out, row->kind);
        }
        break;
    default: report_put_text(out, row->name[0] ? row->name : "?"); break;
    }
    if (kind == REPORT_JOB_COLLECTIVE && row->kind && row->kind[0]) {
        base_buf_puts(out, " of ");
        report_put_text(out, row->kind);
    }
    if (row->communicator_ranks)
        base_buf_printf(out, " among %llu rank%s", (unsigned long long)row->communicator_ranks,
                        row->communicator_ranks == 1 ? "" : "s");
    if (place.length)
        base_buf_printf(out, " at %s", place.text);
    out->failed |= place.failed;
    base_buf_fini(&place);
}

void report_job_put_profiles(const struct report_job *job, uint64_t profiles, struct base_buf *out)
{
    base_buf_puts(out, "on ");
    report_put_count(profiles, out);
    base_buf_puts(out, " of ");
    report_put_count(job->profiles.count, out);
    base_buf_puts(out, job->shared_ranks ? " profiles" : job->ranks ? " ranks" : " processes");
}

void report_job_put_worth(const struct report_job *job, const struct report_job_finding *finding,
                          enum report_job_worth worth, struct base_buf *out)
{
    static const struct {
        enum job_unit unit;
        bool may_be_bound;
        const char *words;
    } worths[REPORT_JOB_WORTHS] = {
        [REPORT_JOB_RUN] = {NS, true, "off the run time"},
        [REPORT_JOB_PEAK] = {BYTES, false, "off the peak"},
        [REPORT_JOB_TRAFFIC] = {BYTES, true, "less traffic"},
        [REPORT_JOB_GPU] = {NS, true, "less GPU time"},
        [REPORT_JOB_WAITS] = {COUNT, false, "fewer waits"},
        [REPORT_JOB_TOGETHER_PEAK] = {BYTES, false, "off the peak together with others"},
        [REPORT_JOB_TOGETHER_RUN] = {NS, false, "off the run time together with others"}};
    const struct report_job_spread *spread = &finding->worth[worth];
    const enum job_unit unit = worths[worth].unit;
    base_buf_puts(out, finding->worst.bound && worths[worth].may_be_bound ? "up to " : "");
    put_value(unit, report_job_mean(spread), out);
    base_buf_printf(out, " %s", worths[worth].words);
    if (spread->profiles < 2)
        return;
    if (spread->least == spread->most) {
        base_buf_puts(out, " each, ");
    } else {
        base_buf_puts(out, " in the mean (");
        put_value(unit, spread->least, out);
        base_buf_puts(out, " to ");
        put_value(unit, spread->most, out);
        base_buf_puts(out, "), ");
    }
    put_value(unit, spread->sum, out);
    base_buf_puts(out, " in all");
    if (spread->least != spread->most) {
        base_buf_puts(out, "; most: ");
        report_job_put_name(job, spread->most_at, out);
    }
}

static const char *const measure_words[REPORT_JOB_KINDS][REPORT_JOB_MEASURES] = {
    [REPORT_JOB_KERNEL] = {"launches", "GPU time"},
    [REPORT_JOB_WAIT] = {"waits", "waiting"},
    [REPORT_JOB_OBJECT] = {"objects", "bytes", "at the peak"},
    [REPORT_JOB_COPY] = {"copies", "copied", "GPU time"},
    [REPORT_JOB_COLLECTIVE] = {"calls", "sent", "received", "time"},
    [REPORT_JOB_RANGE] = {"ranges", "time"}};

void report_job_put_difference(const struct report_job *job, enum report_job_kind kind,
                               const struct report_job_row *row, size_t most, struct base_buf *out)
{
    const struct report_job_spread *spread = &row->measures[row->main];
    const size_t kept = row->outlier_count < REPORT_JOB_OUTLIERS ? row->outlier_count
                                                                 : REPORT_JOB_OUTLIERS,
                 shown = kept < most ? kept : most;
    base_buf_printf(out, "%s: ", measure_words[kind][row->main]);
    for (size_t i = 0; i < shown; i++) {
        base_buf_puts(out, i ? ", " : "");
        report_job_put_name(job, row->outliers[i].profile, out);
        base_buf_putc(out, ' ');
        report_job_put_measure(kind, row->main, row->outliers[i].value, out);
    }
    if (row->outlier_count > shown)
        base_buf_printf(out, ", %zu more", row->outlier_count - shown);
    if (row->outlier_count) {
        base_buf_puts(out, "; median ");
        report_job_put_measure(kind, row->main, spread->median, out);
        return;
    }
    // None is far from the median, but the least and the most are far apart.
    report_job_put_measure(kind, row->main, spread->least, out);
    base_buf_puts(out, " (");
    report_job_put_name(job, spread->least_at, out);
    base_buf_puts(out, ") to ");
    report_job_put_measure(kind, row->main, spread->most, out);
    base_buf_puts(out, " (");
    report_job_put_name(job, spread->most_at, out);
    base_buf_putc(out, ')');
}

// --- Problems ------------------------------------------------------------------------------------

struct problems {
    const struct report_job *job;
    struct base_buf *out;
    const char *separator;
    size_t count;
};

static void begin_problem(struct problems *problems)
{
    if (problems->count++)
        base_buf_puts(problems->out, problems->separator);
}

// Adds the profiles for which `is` returns true, if there are any: "WHAT: rank 3, rank 7".
static void put_profiles(struct problems *problems, const char *what,
                         bool (*is)(const struct report_job_profile *profile))
{
    enum { MOST = 5 };
    const struct report_job *job = problems->job;
    size_t shown = 0, count = 0;
    for (size_t i = 0; i < job->profiles.count; i++) {
        const struct report_job_profile *profile = &job->profiles.items[i];
        if (!is(profile) || count++ >= MOST)
            continue;
        if (shown++ == 0) {
            begin_problem(problems);
            base_buf_printf(problems->out, "%s: ", what);
        } else {
            base_buf_puts(problems->out, ", ");
        }
        report_job_put_name(job, i, problems->out);
        if (profile->ended && strcmp(profile->ended, "signalled") == 0)
            base_buf_printf(problems->out, " (signal %lld)", (long long)profile->code);
        else if (profile->has_code && profile->code && profile->complete)
            base_buf_printf(problems->out, " (status %lld)", (long long)profile->code);
    }
    if (count > MOST)
        base_buf_printf(problems->out, " and %zu more", count - MOST);
}

static bool is_unfinished(const struct report_job_profile *profile)
{
    return !profile->complete;
}

static bool is_killed(const struct report_job_profile *profile)
{
    return profile->complete && profile->ended && strcmp(profile->ended, "signalled") == 0;
}

static bool has_failed(const struct report_job_profile *profile)
{
    return profile->complete && !is_killed(profile) && profile->has_code && profile->code != 0;
}

static bool is_unsearched(const struct report_job_profile *profile)
{
    return profile->unsearched;
}

static bool shares_rank(const struct report_job_profile *profile)
{
    return profile->shares_rank;
}

size_t report_job_put_problems(const struct report_job *job, struct base_buf *out,
                               const char *separator)
{
    struct problems problems = {job, out, separator, 0};
    if (job->missing.count) {
        begin_problem(&problems);
        base_buf_puts(out, "missing: ");
        report_job_put_ranks(job->missing.items, job->missing.count, out);
    }
    put_profiles(&problems, "the recording is incomplete", is_unfinished);
    put_profiles(&problems, "killed", is_killed);
    put_profiles(&problems, "failed", has_failed);
    put_profiles(&problems, "most patterns not searched for, calls are missing", is_unsearched);
    for (size_t i = 0; i < job->unmerged.count; i++) {
        begin_problem(&problems);
        base_buf_puts(out, "left out: ");
        report_put_text(out, job->unmerged.items[i].file);
        base_buf_printf(out, " (%s)", job->unmerged.items[i].reason);
    }
    if (job->mixed_jobs) {
        begin_problem(&problems);
        base_buf_puts(out, "the profiles are not of one job: they name different jobs or numbers "
                           "of ranks");
    }
    put_profiles(&problems, "several profiles have the same rank, and all count", shares_rank);
    return problems.count;
}
