// SPDX-License-Identifier: Apache-2.0
// Writes the report of a job profile as text: one screen with the job, its peaks, what to fix first
// and what differs between ranks; if verbose, everything.
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "job_data.h"
#include "table.h"
#include "units.h"

enum { SCREEN_FINDINGS = 3, SCREEN_DIFFERENCES = 4, SCREEN_PROBLEMS = 3, SCREEN_WIDTH = 80 };

struct job_text {
    const struct report_job *job;
    const struct report_choice *choice;
    const struct report_style *style;
    struct base_buf out;
};

static size_t width_of(const struct job_text *text)
{
    return text->style->wrap || text->choice->verbose ? text->style->width : SCREEN_WIDTH;
}

// Adds a line, which is cut to the width on the first screen.
static void put_line(struct job_text *text, struct base_buf *line)
{
    const size_t width = width_of(text);
    size_t columns = 0, at = 0, cut = 0;
    for (; at < line->length; at++) {
        const bool starts = ((unsigned char)line->text[at] & 0xc0) != 0x80;
        if (starts && columns + 3 == width)
            cut = at;
        columns += starts;
    }
    if (!text->choice->verbose && width && columns > width) {
        base_buf_add(&text->out, line->text, cut);
        base_buf_puts(&text->out, "...");
    } else if (line->length) {
        base_buf_add(&text->out, line->text, line->length);
    }
    base_buf_putc(&text->out, '\n');
    text->out.failed |= line->failed;
    base_buf_fini(line);
    *line = (struct base_buf){0};
}

static void put_heading(struct job_text *text, const char *heading)
{
    base_buf_putc(&text->out, '\n');
    report_put_heading(text->style, heading, &text->out);
}

// --- Head ----------------------------------------------------------------------------------------

static const char *program_of(const struct report_job *job)
{
    const struct report_job_profile *first = job->profiles.count ? &job->profiles.items[0] : NULL;
    return !first                                    ? "(no program)"
           : first->arguments && first->arguments[0] ? first->arguments
           : first->executable                       ? first->executable
                                                     : "(unknown program)";
}

static void put_counts(struct job_text *text)
{
    const struct report_job *job = text->job;
    struct base_buf line = {0};
    base_buf_puts(&line, "  ");
    if (job->ranks) {
        report_put_count(job->ranks - job->missing.count, &line);
        base_buf_puts(&line, " of ");
        report_put_count(job->ranks, &line);
        base_buf_puts(&line, job->ranks == 1 ? " rank" : " ranks");
    }
    if (!job->ranks || job->shared_ranks) {
        base_buf_puts(&line, job->ranks ? ", " : "");
        report_put_count(job->profiles.count, &line);
        base_buf_puts(&line, job->ranks                 ? " profiles"
                             : job->profiles.count == 1 ? " process"
                                                        : " processes");
    }
    if (job->hosts)
        base_buf_printf(&line, " on %llu host%s", (unsigned long long)job->hosts,
                        job->hosts == 1 ? "" : "s");
    if (job->profiles.count && job->profiles.items[0].launcher) {
        base_buf_puts(&line, ", ");
        report_put_text(&line, job->profiles.items[0].launcher);
    }
    if (job->simulated)
        base_buf_puts(&line, "; simulated GPU: its times are not real");
    put_line(text, &line);
}

// Adds "LEAST to MOST, mean MEAN, sum SUM; rank 5 has most".
static void put_spread(const struct report_job *job, const struct report_job_spread *spread,
                       void (*put)(struct base_buf *out, uint64_t value), bool with_sum,
                       struct base_buf *out)
{
    put(out, spread->least);
    if (spread->least == spread->most) {
        base_buf_puts(out, " each");
    } else {
        base_buf_puts(out, " to ");
        put(out, spread->most);
        base_buf_puts(out, " (");
        report_job_put_name(job, spread->most_at, out);
        base_buf_puts(out, "), mean ");
        put(out, report_job_mean(spread));
    }
    if (with_sum) {
        base_buf_puts(out, ", sum ");
        put(out, spread->sum);
    }
}

static void put_peaks(struct job_text *text)
{
    const struct report_job *job = text->job;
    struct base_buf line = {0};
    base_buf_puts(&line, "  peak ");
    put_spread(job, &job->peak, report_put_bytes, true, &line);
    put_line(text, &line);
    if (job->simulated)
        return;
    if (job->kernel_ns.most) {
        base_buf_puts(&line, "  GPU time of kernels ");
        put_spread(job, &job->kernel_ns, report_put_ns, false, &line);
        put_line(text, &line);
    }
    if (job->waited_ns.most) {
        base_buf_puts(&line, "  waiting for the GPU ");
        put_spread(job, &job->waited_ns, report_put_ns, false, &line);
        put_line(text, &line);
    }
}

static void put_problems(struct job_text *text)
{
    struct base_buf all = {0};
    const size_t count = report_job_put_problems(text->job, &all, "\n");
    const size_t most =
        text->choice->verbose || count <= SCREEN_PROBLEMS ? count : SCREEN_PROBLEMS - 1;
    size_t shown = 0;
    for (const char *at = all.length ? all.text : ""; *at && shown < most; shown++) {
        const size_t length = strcspn(at, "\n");
        struct base_buf line = {0};
        base_buf_puts(&line, "  warning: ");
        base_buf_add(&line, at, length);
        put_line(text, &line);
        at += length + (at[length] == '\n');
    }
    if (shown < count)
        base_buf_printf(&text->out, "  %zu more warnings: --verbose lists them\n", count - shown);
    text->out.failed |= all.failed;
    base_buf_fini(&all);
}

// --- Findings ------------------------------------------------------------------------------------

static void put_finding(struct job_text *text, const struct report_job_finding *finding,
                        size_t number)
{
    const struct report_job *job = text->job;
    const struct report_job_finding_row *worst = &finding->worst;
    struct base_buf line = {0};
    base_buf_printf(&line, "%3zu. %s", number, worst->pattern);
    if (worst->at[0]) {
        base_buf_puts(&line, ", ");
        report_put_text(&line, text->choice->verbose ? worst->at : report_base_name(worst->at));
    }
    base_buf_puts(&line, ", ");
    report_job_put_profiles(job, finding->profiles, &line);
    put_line(text, &line);
    const enum report_job_worth main = report_job_main_worth(finding);
    for (unsigned i = 0; i < REPORT_JOB_WORTHS; i++) {
        if (i != main && !(text->choice->verbose && finding->worth[i].most))
            continue;
        base_buf_puts(&line, "     ");
        report_job_put_worth(job, finding, (enum report_job_worth)i, &line);
        put_line(text, &line);
    }
    base_buf_puts(&line, "     ");
    report_put_text(&line, text->choice->verbose ? worst->message : worst->brief);
    put_line(text, &line);
    base_buf_puts(&line, "     -> ");
    report_put_text(&line, text->choice->verbose ? worst->suggestion : worst->remedy);
    put_line(text, &line);
}

static bool is_chosen(const struct report_choice *choice, const struct report_job_finding_row *row)
{
    return (!choice->pattern || report_is_in_list(choice->pattern, row->pattern)) &&
           (!choice->object || (row->object && strstr(row->object, choice->object))) &&
           (!choice->kernel || (row->kernel && strstr(row->kernel, choice->kernel)));
}

// Shows worthwhile findings; if verbose, or if findings are chosen, all of them.
static void put_findings(struct job_text *text)
{
    const struct report_job *job = text->job;
    const struct report_choice *choice = text->choice;
    const bool all = choice->verbose || choice->pattern || choice->object || choice->kernel;
    const size_t most = choice->limit ? choice->limit : all ? SIZE_MAX : SCREEN_FINDINGS;
    size_t count = 0, shown = 0;
    put_heading(text, "What to fix first");
    for (size_t i = 0; i < (all ? job->findings.count : job->worthwhile); i++) {
        if (!is_chosen(choice, &job->findings.items[i].worst))
            continue;
        if (count++ < most)
            put_finding(text, &job->findings.items[i], ++shown);
    }
    if (shown < count)
        base_buf_printf(&text->out, "  ... and %zu more\n", count - shown);
    if (count == 0)
        base_buf_puts(&text->out, "  no finding is worth fixing on any rank\n");
    if (!all && job->findings.count > job->worthwhile)
        base_buf_printf(&text->out, "  %zu more findings are worth little on every rank\n",
                        job->findings.count - job->worthwhile);
    if (job->suppressed)
        base_buf_printf(&text->out, "  %zu finding%s suppressed\n", job->suppressed,
                        job->suppressed == 1 ? " is" : "s are");
}

// --- Differences ---------------------------------------------------------------------------------

static void put_difference(struct job_text *text, enum report_job_kind kind,
                           const struct report_job_row *row)
{
    enum { SCREEN_OUTLIERS = 2 };
    struct base_buf line = {0};
    base_buf_puts(&line, kind == REPORT_JOB_KERNEL ? "  kernel " : "  ");
    report_job_put_row(kind, row, &line);
    base_buf_puts(&line, ", ");
    report_job_put_difference(text->job, kind, row,
                              text->choice->verbose ? REPORT_JOB_OUTLIERS : SCREEN_OUTLIERS, &line);
    put_line(text, &line);
}

static void put_differences(struct job_text *text)
{
    const struct report_job *job = text->job;
    const size_t most = text->choice->verbose ? SIZE_MAX : SCREEN_DIFFERENCES;
    size_t next[REPORT_JOB_KINDS] = {0}, count = 0, shown = 0;
    for (unsigned kind = 0; kind < REPORT_JOB_KINDS; kind++) {
        for (size_t i = 0; i < job->rows[kind].count; i++)
            count += job->rows[kind].items[i].differs;
    }
    put_heading(text, "What differs between ranks by more than 20 %");
    // One of each kind in turn, so that one kind does not fill the screen.
    for (size_t before = SIZE_MAX; shown < most && shown != before;) {
        before = shown;
        for (unsigned kind = 0; kind < REPORT_JOB_KINDS && shown < most; kind++) {
            const struct report_job_row *row =
                next[kind] < job->rows[kind].count ? &job->rows[kind].items[next[kind]] : NULL;
            if (!row || !row->differs)
                continue;
            put_difference(text, (enum report_job_kind)kind, row);
            next[kind]++;
            shown++;
        }
    }
    if (shown < count)
        base_buf_printf(&text->out, "  ... and %zu more\n", count - shown);
    if (count == 0)
        base_buf_puts(&text->out,
                      job->profiles.count > 1 ? "  nothing\n" : "  there is only one profile\n");
}

// --- Tables of the verbose report ----------------------------------------------------------------

struct table_row {
    const struct report_job *job;
    enum report_job_kind kind;
    const struct report_job_row *row;
    size_t profile;
};

static void cell_name(const void *context, const void *row, struct base_buf *out)
{
    const struct table_row *of = row;
    (void)context;
    report_job_put_row(of->kind, of->row, out);
}

static void cell_profiles(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    report_put_count(((const struct table_row *)row)->row->profiles, out);
}

static void put_main(const struct table_row *of, uint64_t value, struct base_buf *out)
{
    report_job_put_measure(of->kind, of->row->main, value, out);
}

static void cell_least(const void *context, const void *row, struct base_buf *out)
{
    const struct table_row *of = row;
    (void)context;
    put_main(of, of->row->measures[of->row->main].least, out);
}

static void cell_mean(const void *context, const void *row, struct base_buf *out)
{
    const struct table_row *of = row;
    (void)context;
    put_main(of, report_job_mean(&of->row->measures[of->row->main]), out);
}

static void cell_most(const void *context, const void *row, struct base_buf *out)
{
    const struct table_row *of = row;
    (void)context;
    put_main(of, of->row->measures[of->row->main].most, out);
}

static void cell_sum(const void *context, const void *row, struct base_buf *out)
{
    const struct table_row *of = row;
    (void)context;
    put_main(of, of->row->measures[of->row->main].sum, out);
}

static void cell_most_at(const void *context, const void *row, struct base_buf *out)
{
    const struct table_row *of = row;
    const struct report_job_spread *spread = &of->row->measures[of->row->main];
    (void)context;
    if (spread->least != spread->most)
        report_job_put_name(of->job, spread->most_at, out);
}

static void put_table(struct job_text *text, enum report_job_kind kind, const char *heading)
{
    static const struct report_column columns[] = {
        {"name", false, REPORT_CUT_MIDDLE, cell_name}, {"ranks", true, REPORT_WHOLE, cell_profiles},
        {"min", true, REPORT_WHOLE, cell_least},       {"mean", true, REPORT_WHOLE, cell_mean},
        {"max", true, REPORT_WHOLE, cell_most},        {"sum", true, REPORT_WHOLE, cell_sum},
        {"most", false, REPORT_WHOLE, cell_most_at}};
    const struct report_job *job = text->job;
    const size_t count = job->rows[kind].count;
    struct table_row *rows = calloc(count + 1, sizeof(*rows));
    text->out.failed |= !rows;
    for (size_t i = 0; rows && i < count; i++)
        rows[i] = (struct table_row){job, kind, &job->rows[kind].items[i], 0};
    if (rows && count) {
        put_heading(text, heading);
        const struct report_table table = {
            columns, sizeof(columns) / sizeof(columns[0]), rows, count, sizeof(*rows), NULL};
        text->out.failed |= !report_put_table(&table, text->style, &text->out);
    }
    free(rows);
}

static const struct report_job_profile *profile_of(const void *row)
{
    const struct table_row *of = row;
    return &of->job->profiles.items[of->profile];
}

static void cell_rank(const void *context, const void *row, struct base_buf *out)
{
    const struct table_row *of = row;
    (void)context;
    report_job_put_name(of->job, of->profile, out);
}

static void cell_host(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    report_put_text(out, profile_of(row)->host);
}

static void cell_peak(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    report_put_bytes(out, profile_of(row)->peak_bytes);
}

static void cell_launches(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    report_put_count(profile_of(row)->launches, out);
}

static void cell_gpu(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    if (!profile_of(row)->simulated)
        report_put_ns(out, profile_of(row)->kernel_ns);
}

static void cell_waited(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    if (!profile_of(row)->simulated)
        report_put_ns(out, profile_of(row)->waited_ns);
}

static void cell_found(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    report_put_count(profile_of(row)->worthwhile, out);
}

static void cell_file(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    report_put_text(out, profile_of(row)->file);
}

static void put_profiles(struct job_text *text)
{
    static const struct report_column columns[] = {
        {"rank", false, REPORT_WHOLE, cell_rank},
        {"host", false, REPORT_CUT_END, cell_host},
        {"peak", true, REPORT_WHOLE, cell_peak},
        {"kernel runs", true, REPORT_WHOLE, cell_launches},
        {"GPU time", true, REPORT_WHOLE, cell_gpu},
        {"waiting", true, REPORT_WHOLE, cell_waited},
        {"findings", true, REPORT_WHOLE, cell_found},
        {"profile", false, REPORT_CUT_START, cell_file}};
    const struct report_job *job = text->job;
    struct table_row *rows = calloc(job->profiles.count + 1, sizeof(*rows));
    text->out.failed |= !rows;
    for (size_t i = 0; rows && i < job->profiles.count; i++)
        rows[i] = (struct table_row){.job = job, .profile = i};
    if (rows) {
        const struct report_table table = {columns,       sizeof(columns) / sizeof(columns[0]),
                                           rows,          job->profiles.count,
                                           sizeof(*rows), NULL};
        put_heading(text, "Ranks");
        text->out.failed |= !report_put_table(&table, text->style, &text->out);
    }
    free(rows);
}

static void put_notes(struct job_text *text)
{
    const struct report_job *job = text->job;
    for (size_t i = 0; i < job->notes.count; i++) {
        const struct report_job_note *note = &job->notes.items[i];
        struct base_buf line = {0};
        if (i == 0)
            put_heading(text, "Notes");
        base_buf_puts(&line, "  ");
        report_put_text(&line, note->severity);
        base_buf_puts(&line, ": ");
        report_put_text(&line, note->text);
        base_buf_puts(&line, " (");
        report_job_put_profiles(job, note->profiles, &line);
        base_buf_putc(&line, ')');
        put_line(text, &line);
    }
}

static void put_next(struct job_text *text)
{
    if (text->choice->verbose || !text->choice->file)
        return;
    struct base_buf line = {0};
    base_buf_puts(&line, "Next: glint report --verbose ");
    report_put_text(&line, text->choice->file);
    if (text->job->worthwhile)
        base_buf_printf(&line, ", glint explain %s", text->job->findings.items[0].worst.pattern);
    put_line(text, &line);
}

enum base_code report_job_text(struct profile *profile, const struct report_rules *rules,
                               const struct report_choice *choice, const struct report_style *style,
                               report_write *write, void *user, struct base_error *error)
{
    struct report_job job = {0};
    struct job_text text = {.job = &job, .choice = choice, .style = style};
    enum base_code code = report_job_load(&job, profile, rules, error);
    if (code == BASE_OK) {
        report_put_heading(style, program_of(&job), &text.out);
        put_counts(&text);
        put_peaks(&text);
        put_problems(&text);
        put_findings(&text);
        put_differences(&text);
        if (choice->verbose) {
            put_table(&text, REPORT_JOB_KERNEL, "Kernels");
            put_table(&text, REPORT_JOB_WAIT, "Waits");
            put_table(&text, REPORT_JOB_COPY, "Copies");
            put_table(&text, REPORT_JOB_COLLECTIVE, "Collectives");
            put_table(&text, REPORT_JOB_RANGE, "Ranges of NVTX");
            put_table(&text, REPORT_JOB_OBJECT, "Objects");
            put_profiles(&text);
            put_notes(&text);
        }
        put_next(&text);
        if (text.out.failed)
            code = base_no_memory(error);
        else if (!write(user, text.out.text, text.out.length))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    base_buf_fini(&text.out);
    report_job_fini(&job);
    return code;
}
