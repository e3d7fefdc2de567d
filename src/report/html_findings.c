// SPDX-License-Identifier: Apache-2.0
// Writes the page's findings, the best first, as many as fit: texts, worth, and the calls and
// objects that they refer to.
#include "findings.h"
#include "html.h"
#include "json_members.h"

static void put_calls(struct base_json *json, const struct analyze_finding *finding)
{
    report_json_number(json, "call", finding->call);
    report_json_number(json, "other_call", finding->other_call);
    report_json_number(json, "last_call", finding->last_call);
    report_json_number(json, "path", finding->path);
    report_json_number(json, "other_path", finding->other_path);
    report_json_number(json, "last_path", finding->last_path);
}

// Writes the call paths among the pattern's fields, as pairs of a place's index and a path.
static void put_places(struct page *page, struct base_json *json,
                       const struct analyze_finding *finding)
{
    const struct analyze_field *field = analyze_describe(finding->pattern)->fields;
    base_json_key(json, "places");
    base_json_begin_array(json);
    for (uint64_t place = 0; field && field->name; field++) {
        if (field->type != ANALYZE_PATH)
            continue;
        const uint32_t path = (uint32_t)analyze_field_number(finding, field);
        if (path) {
            base_json_u64(json, place);
            base_json_u64(json, path);
            page_want_path(page, path, 2);
        }
        place++;
    }
    base_json_end_array(json);
}

// Writes the numbers that the page needs to draw an object's elements.
static void put_elements(struct base_json *json, const struct analyze_finding *finding)
{
    static const char *const names[] = {"elements", "touched", "element_bytes"},
                             *const untouched[] = {"untouched_first", "untouched_elements"};
    if (analyze_number_named(finding, "elements") == 0)
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        base_json_key(json, names[i]);
        base_json_u64(json, analyze_number_named(finding, names[i]));
    }
    if (analyze_number_named(finding, "untouched_elements") == 0)
        return;
    for (size_t i = 0; i < sizeof(untouched) / sizeof(untouched[0]); i++) {
        base_json_key(json, untouched[i]);
        base_json_u64(json, analyze_number_named(finding, untouched[i]));
    }
}

static void put_finding(struct page *page, struct base_json *json,
                        const struct analyze_finding *finding)
{
    struct base_buf message = {0}, suggestion = {0}, place = {0}, worth = {0};
    report_put_message(page->data, finding, &message);
    report_put_suggestion(page->data, finding, &suggestion);
    report_put_finding_place(page->data, finding, &place);
    report_put_worth(page->data, finding, &worth);
    base_json_begin_object(json);
    report_json_string(json, "pattern", analyze_pattern_word(finding->pattern));
    report_json_number(json, "object", finding->object);
    report_json_number(json, "other_object", finding->other_object);
    report_json_number(json, "peak_bytes", finding->peak_bytes);
    report_json_number(json, "traffic_bytes", finding->traffic_bytes);
    report_json_number(json, "gpu_ns", finding->gpu_ns);
    report_json_bool(json, "is_bound", finding->traffic_is_bound);
    report_json_bool(json, "is_estimate", finding->time_is_estimate);
    report_json_number(json, "host_ns", finding->host_ns);
    report_json_bool(json, "host_is_bound", finding->host_is_bound);
    report_json_number(json, "waited_ns", analyze_number_named(finding, "waited_ns"));
    report_json_number(json, "waits", finding->waits);
    report_json_bool(json, "worthwhile", finding->worthwhile);
    base_json_key(json, "worth");
    page_put_text(json, worth.text ? worth.text : "");
    report_json_number(json, "peak", finding->peak);
    report_json_number(json, "times", finding->times);
    report_json_number(json, "count", finding->count);
    base_json_key(json, "objects"); // of the first matches
    base_json_begin_array(json);
    for (size_t i = 0; finding->count > 1 && i < finding->object_count; i++)
        base_json_u64(json, finding->objects[i]);
    base_json_end_array(json);
    report_json_number_or_null(json, "distance", finding->distance, finding->has_distance);
    base_json_key(json, "message");
    page_put_text(json, message.text ? message.text : "");
    base_json_key(json, "suggestion");
    page_put_text(json, suggestion.text ? suggestion.text : "");
    base_json_key(json, "place");
    page_put_text(json, place.text);
    put_calls(json, finding);
    put_places(page, json, finding);
    put_elements(json, finding);
    base_json_end_object(json);
    page->failed |= message.failed || suggestion.failed || place.failed || worth.failed;
    base_buf_fini(&message);
    base_buf_fini(&suggestion);
    base_buf_fini(&place);
    base_buf_fini(&worth);
    page_want_path(page, finding->path, 2);
    page_want_path(page, finding->other_path, 2);
    page_want_path(page, finding->last_path, 2);
}

void page_put_findings(struct page *page)
{
    const size_t count = analyze_finding_count(page->data->analysis);
    struct page_section section;
    page_begin(&section, false);
    for (size_t i = 0; i < count && !page->failed; i++) {
        if (page_section_bytes(&section) > PAGE_FINDING_BYTES)
            break;
        put_finding(page, &section.json, analyze_finding(page->data->analysis, i));
        page->findings++;
    }
    page->failed |= !page_end(page, &section, "findings", PAGE_FINDING_BYTES + 2 * PAGE_ROW_BYTES);
    page_omit(page, "findings", page->findings, count,
              "those that are worth most; `glint report --format json` has all");
}
