// SPDX-License-Identifier: Apache-2.0
// Writes the head of the page's data: the program, the summary, which patterns were searched for
// and which were not, notes, and tables of kernels, streams and threads.
#include <stdlib.h>

#include "failures.h"
#include "findings.h"
#include "html.h"
#include "json_members.h"
#include "short_names.h"

enum { MOST_ROWS = 1000, MOST_KERNELS = 500, MOST_ARGUMENTS = 30 };

static void put_program(struct base_json *json, const struct report_data *data)
{
    const struct profile_program *program = profile_program(data->profile);
    const struct profile_meta *meta = profile_meta(data->profile);
    report_json_string(json, "glint", GLINT_VERSION);
    base_json_key(json, "argv");
    base_json_begin_array(json);
    for (uint32_t i = 0; i < program->argument_count && i < MOST_ARGUMENTS; i++)
        page_put_text(json, program->arguments[i]);
    base_json_end_array(json);
    base_json_key(json, "executable");
    page_put_text(json, program->executable);
    base_json_key(json, "folder");
    page_put_text(json, program->folder);
    report_json_string(json, "ended", profile_ending_word(meta->ending));
    report_json_number(json, "code", (uint64_t)(uint32_t)meta->code);
    report_json_bool(json, "complete", meta->complete);
    report_json_bool(json, "simulated", program->simulated);
    report_json_bool(json, "timestamps", program->timestamps);
    report_json_time(json, "start_unix_ns", program->start_unix_ns, program->start_unix_ns != 0);
    report_json_time(json, "end_ns", program->end_ns, program->has_end);
    report_json_number(json, "driver_version", program->driver_version);
}

static void put_summary(struct page *page, struct base_json *json)
{
    const struct report_data *data = page->data;
    struct base_buf waits = {0}, coverage = {0}, largest = {0};
    report_put_waits(data, &waits);
    if (report_was_wanted(data, ANALYZE_INPUT_OBJECTS))
        report_put_coverage(data, &coverage);
    if (coverage.length)
        report_put_unobserved(data, &largest);
    if (largest.length)
        base_buf_printf(&coverage, "; %s", largest.text);
    base_json_key(json, "summary");
    base_json_begin_object(json);
    report_json_number(json, "peak_bytes", data->peak_bytes);
    report_json_number(json, "achievable_peak_bytes", analyze_achievable_peak(data->analysis));
    report_json_number(json, "least_peak_bytes", analyze_least_peak(data->analysis));
    report_json_number(json, "run_ns", analyze_run_time(data->analysis)->recorded_ns);
    report_json_number(json, "achievable_run_ns", analyze_run_time(data->analysis)->after_ns);
    report_json_number(json, "objects", data->objects.count);
    report_json_number(json, "calls", data->calls);
    report_json_number(json, "launches", data->launches);
    report_json_number(json, "failed_calls", data->failures.count);
    report_json_failure(data, json);
    report_json_number(json, "dropped", data->dropped_count);
    report_json_number(json, "findings", analyze_finding_count(data->analysis));
    report_json_number(json, "worthwhile", analyze_worthwhile_count(data->analysis));
    report_json_bool(json, "lowers_peak", report_lowers_peak(data));
    report_json_number(json, "accesses", data->accesses);
    report_json_number(json, "unseen_launches", analyze_unseen_launches(data->analysis));
    report_json_time(json, "last_ns", data->last_ns, true);
    report_json_string(json, "waits", waits.length ? waits.text : NULL);
    report_json_string(json, "coverage", coverage.length ? coverage.text : NULL);
    base_json_end_object(json);
    page->failed |= waits.failed || coverage.failed || largest.failed;
    base_buf_fini(&waits);
    base_buf_fini(&coverage);
    base_buf_fini(&largest);
    base_json_key(json, "peaks");
    base_json_begin_array(json);
    for (size_t i = 0; i < data->peak_count && i < MOST_ROWS; i++) {
        const struct analyze_peak *peak = &data->peaks[i];
        base_json_begin_object(json);
        report_json_number(json, "bytes", peak->bytes);
        report_json_number(json, "start", peak->start);
        report_json_number_or_null(json, "end", peak->end, peak->end != ANALYZE_NEVER);
        report_json_number(json, "times", peak->times);
        if (peak->device)
            report_json_number(json, "device", peak->device - 1);
        base_json_end_object(json);
    }
    base_json_end_array(json);
}

// Writes what the page shows about a pattern in addition to the sentences of its findings.
static void put_description(struct base_json *json, const struct analyze_description *pattern)
{
    static const char *const wastes[] = {
        [ANALYZE_WASTE_BEFORE_FIRST_USE] = "before-first-use",
        [ANALYZE_WASTE_UNTIL_FREE] = "until-free",
        [ANALYZE_WASTE_AFTER_LAST_USE] = "after-last-use",
        [ANALYZE_WASTE_BETWEEN_CALLS] = "between-calls",
    };
    report_json_string(json, "title", pattern->title);
    report_json_string(json, "definition", pattern->definition);
    report_json_string(json, "waste", wastes[pattern->waste]);
    report_json_string(json, "other_object", pattern->other_object);
    base_json_key(json, "roles");
    base_json_begin_array(json);
    for (unsigned i = 0; i < ANALYZE_ROLES; i++)
        base_json_string(json, pattern->roles[i].label);
    base_json_end_array(json);
    base_json_key(json, "places"); // of the fields that are paths
    base_json_begin_array(json);
    for (const struct analyze_field *field = pattern->fields; field && field->name; field++) {
        if (field->type == ANALYZE_PATH)
            base_json_string(json, field->place.label);
    }
    base_json_end_array(json);
}

static void put_analyses(struct page *page, struct base_json *json)
{
    const struct report_data *data = page->data;
    uint64_t found[ANALYZE_PATTERNS] = {0};
    for (size_t i = 0; i < analyze_finding_count(data->analysis); i++)
        found[analyze_finding(data->analysis, i)->pattern]++;
    base_json_key(json, "analyses");
    base_json_begin_array(json);
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++) {
        const struct analyze_description *pattern = analyze_describe((enum analyze_pattern)i);
        base_json_begin_object(json);
        report_json_string(json, "pattern", pattern->name);
        put_description(json, pattern);
        report_json_number(json, "findings", found[i]);
        struct base_buf reason = {0};
        bool skipped = report_put_skipped(data, pattern->needs, &reason);
        report_json_string(json, "skipped", skipped ? reason.text : NULL);
        page->failed |= reason.failed;
        base_buf_fini(&reason);
        base_json_end_object(json);
    }
    base_json_end_array(json);
}

// --- Notes, kernels and other limited rows -------------------------------------------------------

static void put_notes(struct page *page, struct page_section *section)
{
    const struct report_data *data = page->data;
    struct base_json *json = &section->json;
    size_t notes = 0;
    base_json_key(json, "notes");
    base_json_begin_array(json);
    for (; notes < data->notes.count && page_section_bytes(section) < PAGE_HEAD_BYTES / 4;
         notes++) {
        base_json_begin_object(json);
        report_json_string(json, "severity",
                           profile_severity_word(data->notes.items[notes].severity));
        struct base_buf text = {0};
        report_put_note(data, &text, data->notes.items[notes].text);
        base_json_key(json, "text");
        page_put_text(json, text.text ? text.text : "");
        page->failed |= text.failed;
        base_buf_fini(&text);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    page_omit(page, "notes", notes, data->notes.count, "the first");
    base_json_key(json, "settings");
    base_json_begin_array(json);
    for (size_t i = 0; i < data->settings.count && i < MOST_ARGUMENTS; i++) {
        base_json_begin_array(json);
        page_put_text(json, data->settings.items[i].name);
        page_put_text(json, data->settings.items[i].value);
        base_json_end_array(json);
    }
    base_json_end_array(json);
    base_json_key(json, "devices");
    base_json_begin_array(json);
    for (size_t i = 0; i < data->devices.count && i < MOST_ARGUMENTS; i++) {
        base_json_begin_object(json);
        base_json_key(json, "name");
        page_put_text(json, data->devices.items[i].name);
        report_json_number(json, "memory_bytes", data->devices.items[i].memory_bytes);
        base_json_end_object(json);
    }
    base_json_end_array(json);
}

// Sorts by time if times are real, otherwise by launches.
static int by_time(const void *one, const void *other, void *simulated)
{
    const struct report_kernel *a = *(const struct report_kernel *const *)one;
    const struct report_kernel *b = *(const struct report_kernel *const *)other;
    if (!*(const bool *)simulated && a->sum.total_ns != b->sum.total_ns)
        return a->sum.total_ns > b->sum.total_ns ? -1 : 1;
    if (a->sum.count != b->sum.count)
        return a->sum.count > b->sum.count ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void put_kernels(struct page *page, struct page_section *section)
{
    const struct report_data *data = page->data;
    struct base_json *json = &section->json;
    size_t count = data->kernel_rows.count, shown = 0;
    bool simulated = analyze_is_simulated(data->analysis);
    const struct report_kernel **rows = calloc(count + 1, sizeof(*rows));
    page->failed |= !rows;
    for (size_t i = 0; rows && i < count; i++)
        rows[i] = &data->kernel_rows.items[i];
    if (rows && count)
        qsort_r(rows, count, sizeof(*rows), by_time, &simulated);
    base_json_key(json, "kernels");
    base_json_begin_array(json);
    for (; rows && shown < count && shown < MOST_KERNELS; shown++) {
        const struct report_kernel *row = rows[shown];
        base_json_begin_object(json);
        report_json_number(json, "name", page_text(page, row->short_name));
        report_json_number(json, "whole", page_text(page, row->name));
        report_json_number(json, "launches", row->sum.count);
        report_json_number(json, "timed", row->sum.timed);
        report_json_number(json, "total_ns", row->sum.total_ns);
        report_json_number(json, "longest_ns", row->sum.longest_ns);
        report_json_number(json, "watched", row->watched);
        report_json_number(json, "passed", row->passed);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    page_omit(page, "kernels", shown, count,
              simulated ? "the most often launched" : "those with the most GPU time");
    free(rows);
}

// --- Streams and threads -------------------------------------------------------------------------

struct rows {
    struct page_section *section;
    uint64_t count;
};

// Counts a row and returns whether there is room for it.
static bool has_room(struct rows *rows)
{
    return rows->count++ < MOST_ROWS && page_section_bytes(rows->section) < PAGE_HEAD_BYTES;
}

static bool each_stream(void *user, const struct profile_stream *stream)
{
    struct rows *rows = user;
    if (!has_room(rows))
        return true;
    struct base_json *json = &rows->section->json;
    base_json_begin_object(json);
    report_json_number(json, "number", stream->number);
    report_json_number(json, "context", stream->context);
    report_json_bool(json, "legacy", stream->flags & PROFILE_STREAM_LEGACY);
    report_json_bool(json, "non_blocking", stream->flags & PROFILE_STREAM_NON_BLOCKING);
    base_json_end_object(json);
    return true;
}

static bool each_thread(void *user, const struct profile_thread *thread)
{
    struct rows *rows = user;
    if (!has_room(rows))
        return true;
    struct base_json *json = &rows->section->json;
    base_json_begin_object(json);
    report_json_number(json, "number", thread->number);
    base_json_key(json, "name");
    page_put_text(json, thread->name);
    base_json_end_object(json);
    return true;
}

// --- Ranges of NVTX ------------------------------------------------------------------------------

struct range_rows {
    struct page *page;
    struct page_section *section;
    uint64_t count, shown;
};

static bool each_range(void *user, const struct profile_nvtx_sum *sum)
{
    struct range_rows *rows = user;
    struct base_json *json = &rows->section->json;
    rows->count++;
    if (rows->shown == MOST_KERNELS || page_section_bytes(rows->section) >= PAGE_HEAD_BYTES)
        return true;
    rows->shown++;
    base_json_begin_object(json);
    report_json_number(json, "name", page_text(rows->page, sum->name));
    report_json_number(json, "domain", page_text(rows->page, sum->domain));
    report_json_number(json, "count", sum->count);
    report_json_number(json, "ended", sum->ended);
    report_json_number(json, "total_ns", sum->total_ns);
    report_json_number(json, "longest_ns", sum->longest_ns);
    base_json_end_object(json);
    return true;
}

static enum base_code put_ranges(struct page *page, struct page_section *section,
                                 struct base_error *error)
{
    struct range_rows rows = {page, section, 0, 0};
    base_json_key(&section->json, "ranges");
    base_json_begin_array(&section->json);
    const enum base_code code = profile_each_nvtx_sum(page->profile, each_range, &rows, error);
    base_json_end_array(&section->json);
    page_omit(page, "names of NVTX ranges", rows.shown, rows.count, "those with the most time");
    return code;
}

enum base_code page_put_head(struct page *page, struct base_error *error)
{
    struct page_section section;
    page_begin(&section, true);
    put_program(&section.json, page->data);
    put_summary(page, &section.json);
    put_analyses(page, &section.json);
    put_notes(page, &section);
    put_kernels(page, &section);
    enum base_code code = put_ranges(page, &section, error);
    struct rows streams = {&section, 0}, threads = {&section, 0};
    base_json_key(&section.json, "streams");
    base_json_begin_array(&section.json);
    if (code == BASE_OK)
        code = profile_each_stream(page->profile, each_stream, &streams, error);
    base_json_end_array(&section.json);
    base_json_key(&section.json, "threads");
    base_json_begin_array(&section.json);
    if (code == BASE_OK)
        code = profile_each_thread(page->profile, each_thread, &threads, error);
    base_json_end_array(&section.json);
    // The head fits into the budget, because its rows and the lengths of its texts are limited.
    page->failed |= !page_end(page, &section, "head", page->left);
    return code;
}
