// SPDX-License-Identifier: Apache-2.0
// Findings in the report as text: what is worth most first, each with what to do; and what each
// analysis found, or why it did not look.
#include <stdio.h>
#include <string.h>

#include "findings.h"
#include "short_names.h"
#include "text.h"
#include "units.h"

enum { FEW = 5 }; // for which a screen has room

// --- Which ones ----------------------------------------------------------------------------------

static bool has_part(const char *name, const char *part)
{
    return name && strstr(name, part);
}

static bool is_about_object(const struct report_data *data, const struct analyze_finding *finding,
                            const char *part)
{
    const struct report_object *object = report_find_object(data, finding->object),
                               *other = report_find_object(data, finding->other_object);
    return (object && has_part(object->name, part)) || (other && has_part(other->name, part));
}

static bool is_about_kernel(const struct report_data *data, const struct analyze_finding *finding,
                            const char *part)
{
    const uint32_t kernels[] = {finding->kernel, finding->other_kernel, finding->last_kernel};
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        if (kernels[i] && (has_part(report_kernel_name(data, kernels[i]), part) ||
                           has_part(report_short_kernel(data, kernels[i]), part)))
            return true;
    }
    return false;
}

static bool is_chosen(const struct report_text *text, const struct analyze_finding *finding)
{
    const struct report_choice *choice = text->choice;
    return (!choice->pattern ||
            report_is_in_list(choice->pattern, analyze_pattern_word(finding->pattern))) &&
           (!choice->object || is_about_object(text->data, finding, choice->object)) &&
           (!choice->kernel || is_about_kernel(text->data, finding, choice->kernel));
}

static bool has_worth(const struct analyze_finding *finding)
{
    return finding->peak_bytes || finding->traffic_bytes || finding->gpu_ns || finding->host_ns;
}

// --- One of them ---------------------------------------------------------------------------------

static void put_worth(const struct report_data *data, const struct analyze_finding *finding,
                      struct base_buf *out)
{
    const char *before = "";
    if (finding->host_ns) {
        report_put_run_worth(data, finding, out);
        before = ", ";
    }
    if (finding->peak_bytes) {
        base_buf_puts(out, before);
        report_put_bytes(out, finding->peak_bytes);
        base_buf_puts(out, " off the peak (");
        report_put_share(out, finding->peak_bytes, data->peak_count ? data->peaks[0].bytes : 0);
        base_buf_putc(out, ')');
        before = ", ";
    }
    if (finding->traffic_bytes) {
        base_buf_puts(out, before);
        report_put_bytes(out, finding->traffic_bytes);
        base_buf_puts(out, " less to move");
        before = ", ";
    }
    if (finding->gpu_ns) {
        base_buf_puts(out, before);
        report_put_ns(out, finding->gpu_ns);
        base_buf_puts(out, " of GPU time");
        before = ", ";
    }
    if (!before[0])
        base_buf_puts(out,
                      finding->pattern == ANALYZE_NON_UNIFORM_ACCESS ? "time that is not foretold"
                      : report_is_about_sync(finding->pattern) ? "nothing off the run time alone"
                                                               : "nothing off the peak alone");
}

static void put_finding(struct report_text *text, const struct analyze_finding *finding,
                        size_t number)
{
    struct base_buf line = {0};
    char indent[24];
    const int width = snprintf(indent, sizeof(indent), "  %zu. ", number);
    base_buf_printf(&line, "%s: ", analyze_pattern_word(finding->pattern));
    put_worth(text->data, finding, &line);
    if (text->style->colour)
        base_buf_puts(&text->out, "\033[1m");
    report_text_lines(text, indent, &line);
    if (text->style->colour)
        base_buf_puts(&text->out, "\033[0m");
    snprintf(indent, sizeof(indent), "%*s", width, "");
    line.length = 0;
    report_put_message(text->data, finding, &line);
    report_text_lines(text, indent, &line);
    line.length = 0;
    report_put_trace(text->data, finding->path, &line);
    if (line.length) {
        snprintf(indent, sizeof(indent), "%*sat ", width, "");
        report_text_lines(text, indent, &line);
    }
    snprintf(indent, sizeof(indent), "%*s-> ", width, "");
    line.length = 0;
    report_put_suggestion(text->data, finding, &line);
    report_text_lines(text, indent, &line);
    base_buf_fini(&line);
}

// --- All of them ---------------------------------------------------------------------------------

// What is not shown: others of worth, and those that are left out because they have none alone.
static void put_rest(struct report_text *text, size_t worthy, size_t others, bool sync)
{
    const struct report_data *data = text->data;
    struct base_buf line = {0};
    if (worthy)
        base_buf_printf(&line, "... and %zu more", worthy);
    if (others)
        base_buf_printf(&line, "%s%zu %s nothing off the peak%s alone", worthy ? "; " : "", others,
                        others == 1 ? "takes" : "take", sync ? ", or the run time," : "");
    if (others && data->peak_count &&
        analyze_achievable_peak(data->analysis) < data->peaks[0].bytes) {
        base_buf_puts(&line, ", but all together leave ");
        report_put_bytes(&line, analyze_achievable_peak(data->analysis));
        base_buf_puts(&line, " of it");
    }
    report_text_lines(text, "  ", &line);
    base_buf_fini(&line);
}

// What all remedies on synchronisation bring together.
static void put_run_time(struct report_text *text)
{
    const struct analyze_run_time *time = analyze_run_time(text->data->analysis);
    struct base_buf line = {0};
    if (time->after_ns >= time->recorded_ns)
        return;
    base_buf_puts(&line, "all remedies on synchronisation together: run time ");
    report_put_ns(&line, time->after_ns);
    base_buf_puts(&line, ", was ");
    report_put_ns(&line, time->recorded_ns);
    base_buf_puts(&line, " (");
    report_put_share(&line, time->recorded_ns - time->after_ns, time->recorded_ns);
    base_buf_puts(&line, time->is_estimated ? " less; without GPU times, from waits)" : " less)");
    report_text_lines(text, "  ", &line);
    base_buf_fini(&line);
}

void report_text_findings(struct report_text *text)
{
    const struct analysis *analysis = text->data->analysis;
    const struct report_choice *choice = text->choice;
    const size_t all = analyze_finding_count(analysis);
    size_t count = 0, worthy = 0;
    bool sync = false; // some are about it
    for (size_t i = 0; i < all; i++) {
        const bool chosen = is_chosen(text, analyze_finding(analysis, i));
        sync |= chosen && report_is_about_sync(analyze_finding(analysis, i)->pattern);
        count += chosen;
        worthy += chosen && has_worth(analyze_finding(analysis, i));
    }
    if (count == 0) {
        if (all)
            report_text_heading(text, "No finding is about what was asked for");
        return;
    }
    // On a screen those that are worth nothing alone stand only where there are no others.
    const bool short_of_room = !choice->verbose && !choice->limit;
    const bool only_worthy = short_of_room && worthy;
    const size_t most = choice->limit ? choice->limit : choice->verbose ? SIZE_MAX : FEW;
    size_t shown = 0, shown_worthy = 0;
    report_text_heading(text, choice->verbose ? "Findings" : "What to fix first");
    for (size_t i = 0; i < all && shown < most; i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        if (!is_chosen(text, finding) || (only_worthy && !has_worth(finding)))
            continue;
        put_finding(text, finding, i + 1);
        shown++;
        shown_worthy += has_worth(finding);
    }
    if (only_worthy && shown < count)
        put_rest(text, worthy - shown_worthy, count - worthy, sync);
    else if (shown < count)
        base_buf_printf(&text->out, "  ... and %zu more\n", count - shown);
    if (sync)
        put_run_time(text);
}

// --- What was looked for -------------------------------------------------------------------------

static void put_found(const struct report_data *data, size_t which, struct base_buf *out)
{
    uint64_t counts[ANALYZE_PATTERNS] = {0}, all = 0;
    for (size_t i = 0; i < analyze_finding_count(data->analysis); i++) {
        const struct analyze_finding *finding = analyze_finding(data->analysis, i);
        counts[finding->pattern]++;
        all += report_analysis_of(finding->pattern) == which;
    }
    if (all)
        base_buf_printf(out, "%llu finding%s:", (unsigned long long)all, all == 1 ? "" : "s");
    else
        base_buf_puts(out, "clean");
    const char *before = " ";
    for (size_t i = 0; i < ANALYZE_PATTERNS; i++) {
        const enum analyze_pattern pattern = (enum analyze_pattern)i;
        if (!counts[i] || report_analysis_of(pattern) != which)
            continue;
        base_buf_printf(out, "%s%llu %s", before, (unsigned long long)counts[i],
                        analyze_pattern_word(pattern));
        before = ", ";
    }
}

void report_text_analyses(struct report_text *text)
{
    const struct report_data *data = text->data;
    if (data->calls == 0)
        return;
    report_text_heading(text, "What was looked for");
    for (size_t i = 0; i < REPORT_ANALYSES; i++) {
        struct base_buf line = {0}, reason = {0};
        char first[24];
        if (report_put_skipped(data, i, &reason))
            base_buf_printf(&line, "skipped: %s", reason.text ? reason.text : "");
        else
            put_found(data, i, &line);
        text->failed |= reason.failed;
        base_buf_fini(&reason);
        snprintf(first, sizeof(first), "  %-8s  ", report_analysis_name(i));
        report_text_lines(text, first, &line);
        base_buf_fini(&line);
    }
}
