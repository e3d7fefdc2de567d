// SPDX-License-Identifier: Apache-2.0
// Findings in the report as text: those of one pattern, name and place together, what is worth most
// first, each with what to do.
#include <assert.h>

#include "findings.h"
#include "text.h"
#include "units.h"

enum { MOST_FINDINGS = 10 };

struct group {
    const struct analyze_finding *first; // the one that is worth most
    uint64_t count;
};

struct groups {
    BASE_ARRAY(struct group) rows;
    struct base_map known;
    bool failed;
};

// Findings come the best first, so a group stands where its best one does.
static void gather(struct groups *groups, const struct report_data *data)
{
    for (size_t i = 0; i < analyze_finding_count(data->analysis) && !groups->failed; i++) {
        const struct analyze_finding *finding = analyze_finding(data->analysis, i);
        const struct report_object *object = report_find_object(data, finding->object);
        const char *name = object ? object->name : NULL;
        uint64_t key[6] = {finding->pattern,
                           (uint64_t)(uintptr_t)name,
                           name ? 0 : finding->object,
                           finding->path ? finding->path : UINT64_MAX - finding->call,
                           finding->other_path ? finding->other_path
                                               : UINT64_MAX - finding->other_call,
                           finding->last_path};
        uint64_t *slot = base_map_put(&groups->known, base_hash(key, sizeof(key)), NULL);
        if (slot && *slot == 0) {
            struct group *made = base_array_push(&groups->rows);
            if (made)
                made->first = finding;
            *slot = made ? groups->rows.count : 0;
        }
        groups->failed |= !slot || *slot == 0;
        if (!groups->failed) {
            assert(groups->rows.items); // since the map is not empty
            groups->rows.items[*slot - 1].count++;
        }
    }
}

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

static void put_group(struct report_text *text, const struct group *group, size_t number)
{
    struct base_buf *out = &text->out;
    base_buf_printf(out, "  %zu. %s, ", number, analyze_pattern_word(group->first->pattern));
    put_worth(group->first, out);
    if (group->count > 1)
        base_buf_printf(out, "; %llu objects, of which this is the first",
                        (unsigned long long)group->count);
    base_buf_puts(out, "\n     ");
    report_put_message(text->data, group->first, out);
    base_buf_puts(out, "\n     -> ");
    report_put_suggestion(text->data, group->first, out);
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
        base_buf_puts(&heading, ": all together could bring the peak down to ");
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
    struct groups groups = {0};
    gather(&groups, text->data);
    text->failed |= groups.failed;
    if (groups.rows.count && !groups.failed) {
        put_heading(text);
        for (size_t i = 0; i < groups.rows.count && i < MOST_FINDINGS; i++)
            put_group(text, &groups.rows.items[i], i + 1);
        if (groups.rows.count > MOST_FINDINGS)
            base_buf_printf(&text->out, "  and %zu more\n", groups.rows.count - MOST_FINDINGS);
    }
    base_map_fini(&groups.known);
    base_array_fini(&groups.rows);
}
