// SPDX-License-Identifier: Apache-2.0
// Findings in the report as text: what is worth most first, each with what to do.
#include "findings.h"
#include "text.h"
#include "units.h"

enum { MOST_FINDINGS = 10 };

static void put_worth(const struct analyze_finding *finding, struct base_buf *out)
{
    const char *before = "";
    if (finding->peak_bytes) {
        report_put_bytes(out, finding->peak_bytes);
        base_buf_puts(out, " off the peak");
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
        base_buf_puts(out, "nothing off the peak by itself");
}

static void put_finding(struct report_text *text, const struct analyze_finding *finding,
                        size_t number)
{
    struct base_buf *out = &text->out;
    base_buf_printf(out, "  %zu. %s, ", number, analyze_pattern_word(finding->pattern));
    put_worth(finding, out);
    base_buf_puts(out, "\n     ");
    report_put_message(text->data, finding, out);
    base_buf_puts(out, "\n     -> ");
    report_put_suggestion(text->data, finding, out);
    base_buf_putc(out, '\n');
}

static void put_heading(struct report_text *text)
{
    const struct report_data *data = text->data;
    uint64_t peak = data->peak_count ? data->peaks[0].bytes : 0;
    uint64_t achievable = analyze_achievable_peak(data->analysis);
    struct base_buf heading = {0};
    base_buf_puts(&heading, "Findings");
    if (achievable < peak) {
        base_buf_puts(&heading,
                      ": all together, but for idle times, could bring the peak down to ");
        report_put_bytes(&heading, achievable);
        if (analyze_least_peak(data->analysis) < achievable) {
            base_buf_puts(&heading, ", and no layout below ");
            report_put_bytes(&heading, analyze_least_peak(data->analysis));
        }
    }
    text->failed |= heading.failed;
    report_text_heading(text, heading.text ? heading.text : "");
    base_buf_fini(&heading);
}

void report_text_findings(struct report_text *text)
{
    const struct analysis *analysis = text->data->analysis;
    size_t count = analyze_finding_count(analysis);
    if (count == 0)
        return;
    put_heading(text);
    for (size_t i = 0; i < count && i < MOST_FINDINGS; i++)
        put_finding(text, analyze_finding(analysis, i), i + 1);
    if (count > MOST_FINDINGS)
        base_buf_printf(&text->out, "  and %zu more\n", count - MOST_FINDINGS);
}
