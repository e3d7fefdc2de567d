// SPDX-License-Identifier: Apache-2.0
// Expands the sentences of findings from the templates of their patterns, and describes their
// worth.
#include "findings.h"

#include <stdio.h>
#include <string.h>

#include "template.h"
#include "units.h"

// 2160640 as "2,160,640".
void report_put_count(uint64_t count, struct base_buf *out)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            base_buf_putc(out, ',');
        base_buf_putc(out, digits[i]);
    }
}

uint64_t report_peak_after(const struct report_data *data, const struct analyze_finding *finding)
{
    uint64_t peak = data->peak_bytes;
    return peak > finding->peak_bytes ? peak - finding->peak_bytes : 0;
}

// --- Sentences -----------------------------------------------------------------------------------

// Adds the names of the finding's other objects, the first few of them, each once.
static void put_other_names(const struct report_data *data, const struct analyze_finding *finding,
                            struct base_buf *out)
{
    enum { NAMED = 3 };
    const struct report_object *own = report_find_object(data, finding->object);
    const char *labels[NAMED + 1] = {own && own->label ? own->label : ""};
    size_t count = 1;
    for (size_t i = 0; i < finding->object_count && own; i++) {
        const struct report_object *object = report_find_object(data, finding->objects[i]);
        size_t at = 0;
        while (object && object->label && at < count && strcmp(labels[at], object->label) != 0)
            at++;
        if (!object || !object->label || at < count)
            continue;
        if (count > NAMED) {
            base_buf_puts(out, ", ...");
            return;
        }
        labels[count] = object->label;
        base_buf_puts(out, count++ == 1 ? ", also of `" : ", `");
        report_put_text(out, object->label);
        base_buf_putc(out, '`');
    }
}

void report_put_message(const struct report_data *data, const struct analyze_finding *finding,
                        struct base_buf *out)
{
    const struct analyze_description *description = analyze_describe(finding->pattern);
    report_expand(data, finding, description->message, out);
    if (finding->count > 1 && !description->is_about_object) {
        base_buf_puts(out, " (one of ");
        report_put_count(finding->count, out);
        base_buf_puts(out, " similar findings");
        put_other_names(data, finding, out);
        base_buf_putc(out, ')');
    }
}

void report_put_suggestion(const struct report_data *data, const struct analyze_finding *finding,
                           struct base_buf *out)
{
    report_expand(data, finding, analyze_describe(finding->pattern)->suggestion, out);
}

void report_put_brief(const struct report_data *data, const struct analyze_finding *finding,
                      struct base_buf *message, struct base_buf *suggestion)
{
    report_expand_brief(data, finding, message, suggestion);
}

void report_put_advice(const struct report_data *data, const struct analyze_finding *finding,
                       struct base_buf *out)
{
    report_put_message(data, finding, out);
    base_buf_puts(out, ". Suggestion: ");
    report_put_suggestion(data, finding, out);
    base_buf_putc(out, '.');
}

void report_put_finding_place(const struct report_data *data, const struct analyze_finding *finding,
                              struct base_buf *out)
{
    const struct analyze_line line = analyze_line_at(finding);
    if (!line.file) {
        report_put_place(data, report_finding_path(data, finding), out);
        return;
    }
    report_put_text(out, line.file);
    if (line.line)
        base_buf_printf(out, ":%u", line.line);
}

// --- Worth ---------------------------------------------------------------------------------------

static void put_no_worth(const struct analyze_finding *finding, struct base_buf *out)
{
    if (finding->gain_is_unknown) {
        base_buf_puts(out, "gain not estimated");
    } else {
        base_buf_puts(out, report_is_about_sync(finding->pattern) ? "no run time saved alone"
                                                                  : "nothing saved alone");
    }
}

// Adds "together with others, 1.0 MiB off the peak (33.0%)".
static void put_together(const struct report_data *data, const struct analyze_finding *finding,
                         struct base_buf *out)
{
    if (finding->together_ns) {
        base_buf_puts(out, "together with others, ");
        report_put_ns(out, finding->together_ns);
        base_buf_puts(out, " off the run time (");
        report_put_share(out, finding->together_ns, analyze_run_time(data->analysis)->recorded_ns);
        base_buf_putc(out, ')');
    } else if (finding->together_bytes) {
        base_buf_puts(out, "together with others, ");
        report_put_bytes(out, finding->together_bytes);
        base_buf_puts(out, " off the peak (");
        report_put_share(out, finding->together_bytes, data->peak_bytes);
        base_buf_putc(out, ')');
    } else {
        base_buf_puts(out, "a lower peak together with others");
    }
}

// Adds "1.30 s off the run time (29.5%)"; if times are not real, "1,000 fewer waits (98.0%)".
static void put_run_worth(const struct report_data *data, const struct analyze_finding *finding,
                          struct base_buf *out)
{
    const struct analyze_run_time *time = analyze_run_time(data->analysis);
    if (finding->waits) {
        if (finding->waits_are_pins) {
            base_buf_puts(out, "memory is pinned ");
            report_put_count(finding->waits, out);
            base_buf_puts(out, finding->waits == 1 ? " time less" : " times less");
            return;
        }
        report_put_count(finding->waits, out);
        base_buf_puts(out, finding->waits == 1 ? " fewer wait (" : " fewer waits (");
        report_put_share(out, finding->waits, time->waits);
        base_buf_putc(out, ')');
        return;
    }
    if (finding->host_is_bound)
        base_buf_puts(out, "at most ");
    report_put_ns(out, finding->host_ns);
    base_buf_puts(out, " off the run time (");
    report_put_share(out, finding->host_ns, time->recorded_ns);
    base_buf_putc(out, ')');
}

void report_put_worth(const struct report_data *data, const struct analyze_finding *finding,
                      struct base_buf *out)
{
    const char *before = "";
    if (finding->only_together) {
        put_together(data, finding, out);
        return;
    }
    if (finding->host_ns || finding->waits) {
        put_run_worth(data, finding, out);
        before = ", ";
    }
    if (finding->peak_bytes) {
        base_buf_puts(out, before);
        report_put_bytes(out, finding->peak_bytes);
        base_buf_puts(out, " off the peak (");
        report_put_share(out, finding->peak_bytes, data->peak_bytes);
        base_buf_putc(out, ')');
        before = ", ";
    }
    const char *bound = finding->traffic_is_bound ? "up to " : "";
    if (finding->traffic_bytes) {
        base_buf_printf(out, "%s%s", before, bound);
        report_put_bytes(out, finding->traffic_bytes);
        base_buf_puts(out, " less traffic");
        before = ", ";
    }
    if (finding->gpu_ns) {
        base_buf_printf(out, "%s%s", before, finding->time_is_estimate ? "about " : bound);
        report_put_ns(out, finding->gpu_ns);
        base_buf_puts(out, " less GPU time");
        before = ", ";
    }
    if (finding->more_blocks) {
        base_buf_puts(out, before);
        report_put_count(finding->more_blocks, out);
        base_buf_printf(out, " more block%s on a multiprocessor",
                        finding->more_blocks == 1 ? "" : "s");
        before = ", ";
    }
    if (!before[0])
        put_no_worth(finding, out);
}

void report_count_hidden(struct report_hidden *hidden, const struct analyze_finding *finding)
{
    if (finding->worthwhile)
        return;
    if (finding->covered_by) {
        hidden->covered++;
    } else if (finding->gain_is_unknown) {
        hidden->unknown++;
    } else {
        hidden->small++;
        hidden->waits |= finding->waits > 0;
    }
}

bool report_put_hidden(const struct report_hidden *hidden, struct base_buf *out)
{
    if (hidden->small)
        base_buf_printf(out, "%zu finding%s worth less than 0.1%% or 4 KiB", hidden->small,
                        hidden->small == 1 ? " is" : "s are");
    if (hidden->waits)
        base_buf_printf(out, ", or fewer than %d waits", ANALYZE_LEAST_WAITS);
    if (hidden->small && hidden->unknown)
        base_buf_printf(out, ", %sthe gain of %zu more is not estimated",
                        hidden->covered ? "" : "and ", hidden->unknown);
    else if (hidden->unknown)
        base_buf_printf(out, "the gain of %zu finding%s is not estimated", hidden->unknown,
                        hidden->unknown == 1 ? "" : "s");
    if (hidden->covered && (hidden->small || hidden->unknown))
        base_buf_printf(out, ", and %zu %s in other ways", hidden->covered,
                        hidden->covered == 1 ? "gains the same" : "gain the same");
    else if (hidden->covered)
        base_buf_printf(out, "%zu finding%s the same in other ways", hidden->covered,
                        hidden->covered == 1 ? " gains" : "s gain");
    return hidden->small || hidden->unknown || hidden->covered;
}

bool report_lowers_peak(const struct report_data *data)
{
    const uint64_t peak = data->peak_bytes;
    const uint64_t achievable = analyze_achievable_peak(data->analysis);
    bool found = false;
    for (size_t i = 0; i < analyze_worthwhile_count(data->analysis) && !found; i++) {
        const struct analyze_finding *finding = analyze_finding(data->analysis, i);
        found = finding->peak_bytes || (finding->only_together && !finding->together_ns);
    }
    return found && achievable < peak;
}

bool report_shortens_run(const struct report_data *data)
{
    const struct analyze_run_time *time = analyze_run_time(data->analysis);
    bool found = false;
    for (size_t i = 0; i < analyze_worthwhile_count(data->analysis) && !found; i++)
        found = report_is_about_sync(analyze_finding(data->analysis, i)->pattern);
    return found && time->after_ns < time->recorded_ns;
}
