// SPDX-License-Identifier: Apache-2.0
// Writes the member "findings" of the JSON report: each finding with its texts, worth and evidence.
#include "findings.h"
#include "json_members.h"
#include "units.h"

#define PUT_CALL(json, key, call)  report_json_number_or_null(json, key, call, call)
#define PUT_REAL(json, key, value) (report_json_key(json, key), base_json_double(json, value))

static void put_histogram(struct base_json *json, const struct profile_counts *counts)
{
    base_json_begin_array(json);
    for (unsigned i = 0; counts && i < PROFILE_COUNT_BINS; i++) {
        if (counts->bins[i] == 0)
            continue;
        base_json_begin_object(json);
        report_json_number(json, "least", profile_bin_least(i));
        report_json_number(json, "elements", counts->bins[i]);
        base_json_end_object(json);
    }
    base_json_end_array(json);
}

static void put_hottest(struct base_json *json, const struct profile_counts *counts)
{
    base_json_begin_array(json);
    for (unsigned i = 0; counts && i < PROFILE_HOT_RANGES && counts->hottest[i].elements; i++) {
        base_json_begin_object(json);
        report_json_number(json, "first", counts->hottest[i].first);
        report_json_number(json, "elements", counts->hottest[i].elements);
        report_json_number(json, "sum", counts->hottest[i].sum);
        base_json_end_object(json);
    }
    base_json_end_array(json);
}

static void put_number_of(struct base_json *json, const struct analyze_finding *finding,
                          const struct analyze_field *field)
{
    const uint64_t number = analyze_field_number(finding, field);
    if (field->type == ANALYZE_NUMBER_OF_CALL && number == 0)
        base_json_null(json);
    else
        base_json_u64(json, number);
}

// A value is text, because JSON has neither NaN nor exact integers of 64 bits.
static void put_value(struct base_json *json, struct analyze_value value)
{
    struct base_buf text = {0};
    report_put_value(&text, value);
    base_json_string(json, text.text ? text.text : "");
    base_buf_fini(&text);
}

static void put_line(struct base_json *json, struct analyze_line line)
{
    if (!line.file) {
        base_json_null(json);
        return;
    }
    base_json_begin_object(json);
    report_json_string(json, "file", line.file);
    report_json_number(json, "line", line.line);
    base_json_end_object(json);
}

// Writes one field of the pattern as a member.
static void put_field(struct base_json *json, const struct report_data *data,
                      struct report_json_paths *paths, const struct analyze_finding *finding,
                      const struct analyze_field *field)
{
    const bool known = analyze_field_is_known(finding, field);
    if (!field->meaning || (!known && field->only_if_known))
        return;
    base_json_key(json, field->name);
    if (!known) {
        base_json_null(json);
        return;
    }
    switch (field->type) {
    case ANALYZE_REAL: base_json_double(json, analyze_field_real(finding, field)); break;
    case ANALYZE_FLAG: base_json_bool(json, analyze_field_number(finding, field)); break;
    case ANALYZE_NAME:
    case ANALYZE_WORD: base_json_string(json, analyze_field_word(finding, field)); break;
    case ANALYZE_PATH:
        report_json_path(json, data, paths, (uint32_t)analyze_field_number(finding, field));
        break;
    case ANALYZE_VALUE: put_value(json, analyze_field_value(finding, field)); break;
    case ANALYZE_LINE: put_line(json, analyze_field_line(finding, field)); break;
    case ANALYZE_HISTOGRAM: put_histogram(json, analyze_field_counts(finding, field)); break;
    case ANALYZE_RANGES: put_hottest(json, analyze_field_counts(finding, field)); break;
    default: put_number_of(json, finding, field); break;
    }
}

static void put_evidence(struct base_json *json, const struct report_data *data,
                         struct report_json_paths *paths, const struct analyze_finding *finding)
{
    report_json_key(json, "evidence");
    base_json_begin_object(json);
    report_json_number_or_null(json, "peak", finding->peak, finding->peak);
    report_json_number(json, "peak_after_bytes", report_peak_after(data, finding));
    report_json_number(json, "times", finding->times);
    const struct analyze_field *field = analyze_describe(finding->pattern)->fields;
    for (; field && field->name; field++)
        put_field(json, data, paths, finding, field);
    base_json_end_object(json);
}

void report_json_worth(struct base_json *json, const struct analyze_finding *finding)
{
    base_json_begin_object(json);
    report_json_number(json, "peak_bytes", finding->peak_bytes);
    report_json_number(json, "traffic_bytes", finding->traffic_bytes);
    PUT_REAL(json, "ms", (double)finding->gpu_ns / 1e6);
    report_json_number(json, "run_ns", finding->host_ns);
    report_json_number(json, "waits", finding->waits);
    report_json_number(json, "together_bytes", finding->together_bytes);
    report_json_number(json, "together_ns", finding->together_ns);
    base_json_end_object(json);
}

static bool put_finding(struct base_json *json, const struct report_data *data,
                        struct report_json_paths *paths, const struct analyze_finding *finding)
{
    const bool about_kernel = analyze_describe(finding->pattern)->is_about_kernel;
    struct base_buf message = {0}, suggestion = {0};
    report_put_message(data, finding, &message);
    report_put_suggestion(data, finding, &suggestion);
    base_json_begin_object(json);
    report_json_string(json, "pattern", analyze_pattern_word(finding->pattern));
    PUT_CALL(json, "object", finding->object);
    PUT_CALL(json, "call", finding->call);
    report_json_string(json, "called", report_called_at(data, finding->path));
    report_json_string(json, "kernel",
                       about_kernel ? report_kernel_name(data, finding->kernel) : NULL);
    report_json_number_or_null(json, "distance", finding->distance, finding->has_distance);
    report_json_key(json, "worth");
    report_json_worth(json, finding);
    report_json_string(json, "message", message.text ? message.text : "");
    report_json_string(json, "suggestion", suggestion.text ? suggestion.text : "");
    report_json_call_path(json, data, paths, finding->path);
    put_evidence(json, data, paths, finding);
    report_json_number(json, "count", finding->count);
    report_json_key(json, "objects");
    base_json_begin_array(json);
    for (size_t i = 0; i < finding->object_count; i++)
        base_json_u64(json, finding->objects[i]);
    base_json_end_array(json);
    report_json_bool(json, "worthwhile", finding->worthwhile);
    report_json_bool(json, "only_together", finding->only_together);
    const size_t covering = analyze_covering_rank(data->analysis, finding);
    report_json_number_or_null(json, "covered_by", covering, covering);
    base_json_end_object(json);
    bool good = !message.failed && !suggestion.failed && !paths->failed;
    base_buf_fini(&message);
    base_buf_fini(&suggestion);
    return good;
}

bool report_json_findings(struct base_json *json, const struct report_data *data,
                          struct report_json_paths *paths)
{
    bool good = true;
    report_json_key(json, "findings");
    base_json_begin_array(json);
    for (size_t i = 0; i < analyze_finding_count(data->analysis) && good; i++)
        good = put_finding(json, data, paths, analyze_finding(data->analysis, i));
    base_json_end_array(json);
    return good;
}
