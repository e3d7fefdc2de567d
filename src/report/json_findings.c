// SPDX-License-Identifier: Apache-2.0
// The member "findings" of the report as JSON: each with its words, its worth and what it rests on.
#include "findings.h"
#include "json_members.h"

#define PUT_CALL(json, key, call)  report_json_number_or_null(json, key, call, call)
#define PUT_REAL(json, key, value) (report_json_key(json, key), base_json_double(json, value))

static void put_counts(struct base_json *json, const struct profile_counts *counts)
{
    report_json_key(json, "histogram");
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
    report_json_key(json, "hottest");
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

static void put_elements(struct base_json *json, const struct analyze_finding *finding)
{
    report_json_number(json, "elements", finding->elements);
    report_json_number(json, "touched", finding->touched);
    report_json_number(json, "element_bytes", finding->element_bytes);
}

static void put_fragmentation(struct base_json *json, const struct analyze_finding *finding)
{
    const bool known = finding->has_fragmentation;
    report_json_key(json, "fragmentation");
    if (known)
        base_json_double(json, finding->fragmentation);
    else
        base_json_null(json);
    report_json_number_or_null(json, "untouched_first", finding->largest_first, known);
    report_json_number_or_null(json, "untouched_elements", finding->largest_count, known);
    report_json_number_or_null(json, "enough_bytes", finding->bytes, known || finding->is_pool);
}

static void put_sync(struct base_json *json, const struct report_data *data,
                     struct report_json_paths *paths, const struct analyze_finding *finding)
{
    report_json_number(json, "waited_ns", finding->waited_ns);
    report_json_number(json, "calls", finding->calls);
    report_json_bool(json, "upper_bound", finding->host_is_bound);
    report_json_bool(json, "others_need", finding->others_need);
    if (finding->pattern == ANALYZE_MISPLACED_SYNC ||
        finding->pattern == ANALYZE_SYNCHRONOUS_TRANSFER) {
        report_json_number_or_null(json, "use_ns", finding->use_ns, finding->use_ns);
        report_json_number_or_null(json, "use_calls", finding->use_calls, finding->use_ns);
        report_json_path(json, BASE_JSON_NAME("use_call_path"), data, paths, finding->use_path);
    }
    if (finding->pattern == ANALYZE_ALLOC_FREE_CHURN)
        PUT_CALL(json, "allocated_by", finding->other_call);
    if (finding->pattern == ANALYZE_DUPLICATE_TRANSFER)
        PUT_CALL(json, "copied_before", finding->other_call);
    if (finding->pattern == ANALYZE_SYNCHRONOUS_TRANSFER ||
        finding->pattern == ANALYZE_DUPLICATE_TRANSFER) {
        report_json_number(json, "bytes", finding->moved_bytes);
        report_json_string(json, "direction",
                           profile_direction_word(finding->to_host ? PROFILE_DEVICE_TO_HOST
                                                                   : PROFILE_HOST_TO_DEVICE));
        report_json_string(json, "host_memory",
                           finding->memory ? profile_memory_word(finding->memory) : NULL);
        report_json_path(json, BASE_JSON_NAME("allocated_call_path"), data, paths,
                         finding->allocated_path);
        report_json_path(json, BASE_JSON_NAME("freed_call_path"), data, paths, finding->freed_path);
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
    switch (finding->pattern) {
    case ANALYZE_EARLY_ALLOCATION: PUT_CALL(json, "first_access", finding->other_call); break;
    case ANALYZE_LATE_DEALLOCATION:
    case ANALYZE_MEMORY_LEAK: PUT_CALL(json, "last_access", finding->other_call); break;
    case ANALYZE_REDUNDANT_ALLOCATION:
        report_json_number(json, "reuse", finding->other_object);
        PUT_CALL(json, "last_access", finding->last_call);
        PUT_CALL(json, "first_access", finding->other_call);
        break;
    case ANALYZE_TEMPORARY_IDLENESS:
        PUT_CALL(json, "next_access", finding->other_call);
        report_json_bool(json, "overwritten", finding->rewritten);
        break;
    case ANALYZE_DEAD_WRITE: PUT_CALL(json, "overwritten_by", finding->other_call); break;
    case ANALYZE_OVERALLOCATION:
        put_elements(json, finding);
        put_fragmentation(json, finding);
        report_json_bool(json, "pool", finding->is_pool);
        if (finding->is_pool)
            PUT_CALL(json, "peak_call", finding->other_call);
        break;
    case ANALYZE_NON_UNIFORM_ACCESS:
        PUT_REAL(json, "variation", finding->variation);
        put_counts(json, finding->counts);
        break;
    case ANALYZE_STRUCTURED_ACCESS:
        put_elements(json, finding);
        report_json_number(json, "slice_bytes", finding->bytes);
        break;
    default:
        if (report_is_about_sync(finding->pattern))
            put_sync(json, data, paths, finding);
        break;
    }
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
    const bool about_kernel = finding->pattern == ANALYZE_NON_UNIFORM_ACCESS ||
                              finding->pattern == ANALYZE_STRUCTURED_ACCESS;
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
