// SPDX-License-Identifier: Apache-2.0
// The page's findings, the best first, as many as fit: words, worth, and the calls and objects that
// they rest on.
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
    report_json_number(json, "use_path", finding->use_path);
    report_json_number(json, "allocated_path", finding->allocated_path);
    report_json_number(json, "freed_path", finding->freed_path);
}

static void put_elements(struct base_json *json, const struct analyze_finding *finding)
{
    if (finding->elements == 0)
        return;
    report_json_number(json, "elements", finding->elements);
    report_json_number(json, "touched", finding->touched);
    report_json_number(json, "element_bytes", finding->element_bytes);
    if (finding->has_fragmentation) {
        report_json_number(json, "untouched_first", finding->largest_first);
        report_json_number(json, "untouched_elements", finding->largest_count);
    }
}

static void put_finding(struct page *page, struct base_json *json,
                        const struct analyze_finding *finding)
{
    struct base_buf message = {0}, suggestion = {0}, place = {0}, worth = {0};
    report_put_message(page->data, finding, &message);
    report_put_suggestion(page->data, finding, &suggestion);
    report_put_place(page->data, finding->path, &place);
    report_put_worth(page->data, finding, &worth);
    base_json_begin_object(json);
    report_json_string(json, "pattern", analyze_pattern_word(finding->pattern));
    report_json_number(json, "object", finding->object);
    report_json_number(json, "other_object", finding->other_object);
    report_json_number(json, "peak_bytes", finding->peak_bytes);
    report_json_number(json, "traffic_bytes", finding->traffic_bytes);
    report_json_number(json, "gpu_ns", finding->gpu_ns);
    report_json_number(json, "host_ns", finding->host_ns);
    report_json_number(json, "waited_ns", finding->waited_ns);
    report_json_number(json, "waits", finding->waits);
    report_json_bool(json, "worthwhile", finding->worthwhile);
    base_json_key(json, "worth");
    page_put_text(json, worth.text ? worth.text : "");
    report_json_number(json, "peak", finding->peak);
    report_json_number(json, "times", finding->times);
    report_json_number(json, "count", finding->count);
    base_json_key(json, "objects"); // of the first that are alike
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
    page_want_path(page, finding->use_path, 2);
    page_want_path(page, finding->allocated_path, 2);
    page_want_path(page, finding->freed_path, 2);
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
