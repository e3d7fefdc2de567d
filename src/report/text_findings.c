// SPDX-License-Identifier: Apache-2.0
// Writes findings in the text report: worthwhile ones, the most valuable first, each with a
// suggestion; and what each analysis found, or why it was not done.
#include <stdio.h>
#include <string.h>

#include "findings.h"
#include "short_names.h"
#include "text.h"
#include "units.h"

enum { FEW = 3 }; // findings that fit on a screen

// --- Choosing findings ---------------------------------------------------------------------------

static bool has_part(const char *name, const char *part)
{
    return name && strstr(name, part);
}

static bool is_about_object(const struct report_data *data, const struct analyze_finding *finding,
                            const char *part)
{
    const struct report_object *object = report_find_object(data, finding->object),
                               *other = report_find_object(data, finding->other_object);
    return (object && (has_part(object->name, part) || has_part(object->label, part))) ||
           (other && (has_part(other->name, part) || has_part(other->label, part)));
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

// --- One finding ---------------------------------------------------------------------------------

// Adds where it is: "add vectors.cu:20 < main vectors.cu:51", with the kernel's line if it is at
// one. If that needs more than `width` columns, leaves out libraries' functions.
static void put_where(const struct report_data *data, const struct analyze_finding *finding,
                      size_t width, struct base_buf *out)
{
    const struct analyze_line line = analyze_line_at(finding);
    struct base_buf trace = {0};
    if (line.file && line.line) {
        const char *slash = strrchr(line.file, '/');
        if (finding->kernel) {
            report_put_text(out, report_short_kernel(data, finding->kernel));
            base_buf_putc(out, ' ');
        }
        report_put_text(out, slash ? slash + 1 : line.file);
        base_buf_printf(out, ":%u", line.line);
    }
    const uint32_t path = report_finding_path(data, finding);
    report_put_trace(data, path, &trace);
    if (trace.length && report_text_width(trace.text) > width) {
        trace.length = 0;
        report_put_user_trace(data, path, &trace);
    }
    if (trace.length)
        base_buf_printf(out, "%s%s", out->length ? " < " : "", trace.text);
    base_buf_fini(&trace);
}

// Returns the columns that a line has after its indentation; SIZE_MAX if lines are wrapped or may
// have any length.
static size_t room_of(const struct report_text *text, size_t indent)
{
    const size_t width = text->style->width;
    return text->choice->verbose || !text->style->wrap || width < indent ? SIZE_MAX
                                                                         : width - indent;
}

// Writes what is wrong, where, what to do, and what that gains: a line each on the first screen.
static void put_finding(struct report_text *text, const struct analyze_finding *finding,
                        size_t number)
{
    struct base_buf what = {0}, where = {0}, how = {0}, gain = {0};
    char indent[32];
    const int width = snprintf(indent, sizeof(indent), "  %zu. ", number);
    if (text->choice->verbose) {
        report_put_message(text->data, finding, &what);
        report_put_suggestion(text->data, finding, &how);
    } else {
        report_put_brief(text->data, finding, &what, &how);
    }
    put_where(text->data, finding, room_of(text, strlen("     at ")), &where);
    base_buf_puts(&gain, finding->gain_is_unknown ? "" : "gain: ");
    report_put_worth(text->data, finding, &gain);
    if (finding->count > 1 && !text->choice->verbose && !finding->gain_is_unknown &&
        !analyze_describe(finding->pattern)->is_about_object) {
        base_buf_puts(&gain, ", with ");
        report_put_count(finding->count - 1, &gain);
        base_buf_puts(&gain, " alike");
    }
    const size_t covering = analyze_covering_rank(text->data->analysis, finding);
    if (covering)
        base_buf_printf(&gain, ", the same as finding %zu", covering);
    base_buf_printf(&gain, " [%s]", analyze_pattern_word(finding->pattern));
    if (text->style->colour)
        base_buf_puts(&text->out, "\033[1m");
    report_text_line(text, indent, &what);
    if (text->style->colour)
        base_buf_puts(&text->out, "\033[0m");
    snprintf(indent, sizeof(indent), "%*sat ", width, "");
    if (where.length)
        report_text_line(text, indent, &where);
    snprintf(indent, sizeof(indent), "%*s-> ", width, "");
    report_text_line(text, indent, &how);
    snprintf(indent, sizeof(indent), "%*s", width, "");
    report_text_line(text, indent, &gain);
    base_buf_fini(&what);
    base_buf_fini(&where);
    base_buf_fini(&how);
    base_buf_fini(&gain);
}

// --- All findings --------------------------------------------------------------------------------

// Returns whether findings that are too small alone lower the peak together.
static bool do_add_up(const struct report_data *data)
{
    const uint64_t peak = data->peak_bytes;
    return !report_lowers_peak(data) &&
           analyze_is_gain(peak - analyze_achievable_peak(data->analysis), peak);
}

// Says what is not shown: other worthwhile findings, and findings that are not worthwhile.
static void put_rest(struct report_text *text, size_t more, const struct report_hidden *hidden)
{
    const bool adds_up = do_add_up(text->data);
    struct base_buf line = {0};
    if (more)
        base_buf_printf(&line, "... and %zu more", more);
    if (more && (hidden->small || hidden->unknown || hidden->covered))
        base_buf_puts(&line, "; ");
    if (report_put_hidden(hidden, &line)) {
        if (adds_up) {
            base_buf_puts(&line, "; fixing everything brings the peak to ");
            report_put_bytes(&line, analyze_achievable_peak(text->data->analysis));
        }
        base_buf_puts(&line, hidden->small + hidden->unknown + hidden->covered == 1
                                 ? ": --verbose lists it"
                                 : ": --verbose lists them");
    }
    // What follows needs up to three lines: that lines are unknown, and what was checked.
    if (line.length)
        report_text_few(text, "  ", &line,
                        text->choice->verbose         ? SIZE_MAX
                        : report_text_left(text) >= 5 ? 2
                                                      : 1);
    line.length = 0;
    if (text->data->suppressed) {
        base_buf_printf(&line, "%zu finding%s suppressed by the file of rules",
                        text->data->suppressed, text->data->suppressed == 1 ? " is" : "s are");
        report_text_lines(text, "  ", &line);
    }
    text->failed |= line.failed;
    base_buf_fini(&line);
}

// Writes what all remedies of waits gain together.
static void put_run_time(struct report_text *text)
{
    const struct analyze_run_time *time = analyze_run_time(text->data->analysis);
    struct base_buf line = {0};
    if (time->after_ns >= time->recorded_ns)
        return;
    base_buf_puts(&line, "all synchronization fixes together: run time ");
    report_put_ns(&line, time->after_ns);
    base_buf_puts(&line, " instead of ");
    report_put_ns(&line, time->recorded_ns);
    base_buf_puts(&line, " (");
    report_put_share(&line, time->recorded_ns - time->after_ns, time->recorded_ns);
    base_buf_puts(&line, time->is_estimated ? " less; estimated from waits, without GPU times)"
                                            : " less)");
    report_text_lines(text, "  ", &line);
    base_buf_fini(&line);
}

// Shows only worthwhile findings unless everything is requested.
void report_text_findings(struct report_text *text)
{
    const struct analysis *analysis = text->data->analysis;
    const struct report_choice *choice = text->choice;
    const size_t all = analyze_finding_count(analysis);
    struct report_hidden hidden = {0};
    size_t count = 0, chosen = 0; // findings that can be shown; all findings that match the choice
    bool sync = false;            // some findings are about waits
    for (size_t i = 0; i < all; i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        if (!is_chosen(text, finding))
            continue;
        chosen++;
        if (!choice->verbose && !finding->worthwhile) {
            report_count_hidden(&hidden, finding);
            continue;
        }
        count++;
        sync |= report_is_about_sync(finding->pattern);
    }
    if (all && chosen == 0) {
        report_text_heading(text, "No finding matches the options");
        return;
    }
    if (count == 0) {
        if (text->data->calls) {
            report_text_heading(text, choice->verbose ? "Findings" : "What to fix first");
            if (!do_add_up(text->data))
                base_buf_puts(&text->out, text->data->failures.count
                                              ? "  nothing else worth fixing was found\n"
                                              : "  nothing worth fixing was found\n");
        }
        put_rest(text, 0, &hidden);
        return;
    }
    const size_t most = choice->limit ? choice->limit : choice->verbose ? SIZE_MAX : FEW;
    size_t shown = 0;
    report_text_heading(text, choice->verbose ? "Findings" : "What to fix first");
    for (size_t i = 0; i < all && shown < most; i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        if (!is_chosen(text, finding) || (!choice->verbose && !finding->worthwhile))
            continue;
        put_finding(text, finding, i + 1);
        shown++;
    }
    put_rest(text, count - shown, &hidden);
    if (sync && choice->verbose)
        put_run_time(text);
}

// --- What was searched for -----------------------------------------------------------------------

static void put_found(const struct report_text *text, enum analyze_input which,
                      struct base_buf *out)
{
    const struct report_data *data = text->data;
    uint64_t counts[ANALYZE_PATTERNS] = {0}, shown = 0, all = 0;
    for (size_t i = 0; i < analyze_finding_count(data->analysis); i++) {
        const struct analyze_finding *finding = analyze_finding(data->analysis, i);
        const bool is_shown = text->choice->verbose || finding->worthwhile;
        counts[finding->pattern] += is_shown;
        shown += is_shown && analyze_describe(finding->pattern)->needs == which;
        all += analyze_describe(finding->pattern)->needs == which;
    }
    if (shown)
        base_buf_printf(out, "%llu finding%s:", (unsigned long long)shown, shown == 1 ? "" : "s");
    else
        base_buf_puts(out, all ? "nothing worth fixing" : "clean");
    const char *before = " ";
    for (size_t i = 0; i < ANALYZE_PATTERNS; i++) {
        const enum analyze_pattern pattern = (enum analyze_pattern)i;
        if (!counts[i] || analyze_describe(pattern)->needs != which)
            continue;
        base_buf_printf(out, "%s%llu %s", before, (unsigned long long)counts[i],
                        analyze_pattern_word(pattern));
        before = ", ";
    }
}

enum checked { DONE, SKIPPED, ABSENT, CHECKED };

static enum checked checked_of(const struct report_data *data, enum analyze_input input)
{
    struct base_buf reason = {0};
    const bool done = !report_put_skipped(data, input, &reason);
    base_buf_fini(&reason);
    return done ? DONE : report_was_wanted(data, input) ? SKIPPED : ABSENT;
}

// Writes the analyses that were done, and those that were not, in two lines.
static void put_checked(struct report_text *text)
{
    static const char *const words[CHECKED][2] = {[DONE] = {"Checked: ", ""},
                                                  [SKIPPED] = {"skipped: ", " (see --verbose)"},
                                                  [ABSENT] = {"not recorded: ", ""}};
    struct base_buf line = {0};
    for (unsigned which = 0; which < CHECKED; which++) {
        unsigned count = 0;
        for (unsigned i = 0; i < ANALYZE_INPUTS; i++) {
            const enum analyze_input input = (enum analyze_input)i;
            if (!analyze_input_is_needed(input) || checked_of(text->data, input) != which)
                continue;
            if (count++ == 0)
                base_buf_printf(&line, "%s%s", line.length ? "; " : "", words[which][0]);
            base_buf_printf(&line, "%s%s", count > 1 ? ", " : "", analyze_input_name(input));
        }
        base_buf_puts(&line, count ? words[which][1] : "");
    }
    if (line.length && line.text[0] >= 'a' && line.text[0] <= 'z')
        line.text[0] = (char)(line.text[0] - 'a' + 'A');
    base_buf_putc(&text->out, '\n');
    report_text_few(text, "", &line, report_text_left(text) >= 2 ? 2 : 1);
    base_buf_fini(&line);
}

// Writes how launches were observed, unless probes observed all.
static void put_gaps(struct report_text *text)
{
    struct base_buf line = {0};
    if (!report_was_wanted(text->data, ANALYZE_INPUT_OBJECTS) || !report_has_gaps(text->data))
        return;
    report_put_coverage(text->data, &line);
    if (line.length)
        line.text[0] = 'L';
    struct base_buf largest = {0};
    if (text->choice->verbose)
        report_put_unobserved(text->data, &largest);
    if (largest.length)
        base_buf_printf(&line, "; %s", largest.text);
    text->failed |= largest.failed;
    base_buf_fini(&largest);
    report_text_few(text, text->choice->verbose ? "  " : "", &line,
                    text->choice->verbose ? SIZE_MAX : 1);
    base_buf_fini(&line);
}

// Adds what is known of waits that are in no finding.
static void put_other_waits(const struct report_data *data, struct base_buf *line)
{
    static bool (*const puts[])(const struct report_data *, struct base_buf *) = {
        report_put_unlisted_waits, report_put_timed_waits, report_put_unknown_waits};
    for (size_t i = 0; i < sizeof(puts) / sizeof(puts[0]); i++) {
        struct base_buf text = {0};
        if (puts[i](data, &text) && text.text)
            base_buf_printf(line, "; %s", text.text);
        base_buf_fini(&text);
    }
}

void report_text_analyses(struct report_text *text)
{
    const struct report_data *data = text->data;
    if (data->calls == 0)
        return;
    if (!text->choice->verbose) {
        put_checked(text);
        put_gaps(text);
        return;
    }
    report_text_heading(text, "What was checked");
    for (unsigned i = 0; i < ANALYZE_INPUTS; i++) {
        const enum analyze_input input = (enum analyze_input)i;
        struct base_buf line = {0}, reason = {0};
        char first[24];
        if (!analyze_input_is_needed(input))
            continue;
        if (report_put_skipped(data, input, &reason))
            base_buf_printf(&line, "skipped: %s", reason.text ? reason.text : "");
        else
            put_found(text, input, &line);
        if (input == ANALYZE_INPUT_SYNC && !reason.length)
            put_other_waits(data, &line);
        text->failed |= reason.failed;
        base_buf_fini(&reason);
        snprintf(first, sizeof(first), "  %-8s  ", analyze_input_name(input));
        report_text_lines(text, first, &line);
        base_buf_fini(&line);
    }
    put_gaps(text);
}
