// SPDX-License-Identifier: Apache-2.0
// Prints which rules a profile breaks, as JSON; check.md and check.schema.json in docs/reference
// describe it.
#include "check.h"
#include "failures.h"
#include "findings.h"
#include "json_members.h"

static bool put_finding(struct base_json *json, const struct report_data *data,
                        const struct analyze_finding *finding)
{
    const struct report_object *object = report_find_object(data, finding->object);
    const struct report_path *path = report_path_of(data, finding->path);
    struct base_buf message = {0}, suggestion = {0}, place = {0};
    report_put_message(data, finding, &message);
    report_put_suggestion(data, finding, &suggestion);
    report_put_finding_place(data, finding, &place);
    base_json_begin_object(json);
    report_json_string(json, "pattern", analyze_pattern_word(finding->pattern));
    report_json_string(json, "object", object ? object->name : NULL);
    report_json_string(json, "place", place.text);
    base_json_key(json, "worth");
    base_json_begin_object(json);
    report_json_number(json, "peak_bytes", finding->peak_bytes);
    report_json_number(json, "traffic_bytes", finding->traffic_bytes);
    base_json_key(json, "ms");
    base_json_double(json, (double)report_saved_ns(finding) / 1e6);
    base_json_end_object(json);
    report_json_string(json, "message", message.text ? message.text : "");
    report_json_string(json, "suggestion", suggestion.text ? suggestion.text : "");
    base_json_key(json, "call_path");
    report_json_frames(json, data, path ? path->frames : NULL, path ? path->frame_count : 0, false);
    base_json_end_object(json);
    const bool good = !message.failed && !suggestion.failed && !place.failed;
    base_buf_fini(&message);
    base_buf_fini(&suggestion);
    base_buf_fini(&place);
    return good;
}

static bool put_rule(struct base_json *json, const struct report_check *check, size_t i)
{
    const struct report_verdict *verdict = &check->verdicts[i];
    struct base_buf why = {0};
    bool good = true;
    if (verdict->broken)
        report_check_put_why(check, i, &why);
    base_json_begin_object(json);
    report_json_string(json, "rule", check->request->rules->rules.items[i].text);
    report_json_bool(json, "holds", !verdict->broken);
    report_json_string(json, "why", why.text);
    base_json_key(json, "findings");
    base_json_begin_array(json);
    for (size_t f = 0; f < verdict->findings.count && good; f++)
        good = put_finding(json, check->data, verdict->findings.items[f]);
    base_json_end_array(json);
    base_json_end_object(json);
    good &= !why.failed;
    base_buf_fini(&why);
    return good;
}

static void put_suppression(struct base_json *json, const struct report_check *check, size_t i)
{
    const struct report_suppression *row = &check->request->rules->suppressions.items[i];
    base_json_begin_object(json);
    report_json_string(json, "pattern",
                       row->pattern == ANALYZE_PATTERNS ? NULL
                                                        : analyze_pattern_word(row->pattern));
    report_json_string(json, "object", row->object);
    report_json_string(json, "path", row->path);
    report_json_string(json, "reason", row->reason);
    report_json_number(json, "line", row->line);
    report_json_number(json, "findings", check->uses[i]);
    base_json_end_object(json);
}

static bool put_check(struct base_json *json, const struct report_check *check)
{
    const struct report_check_request *request = check->request;
    bool good = true;
    base_json_begin_object(json);
    report_json_string(json, "glint", GLINT_VERSION);
    report_json_number(json, "schema", 1);
    report_json_string(json, "profile", request->name);
    report_json_string(json, "baseline", request->baseline ? request->baseline_name : NULL);
    report_json_string(json, "rules_file", request->rules_name);
    report_json_bool(json, "holds", check->broken == 0);
    report_json_number(json, "peak_bytes", check->peak_bytes);
    report_json_number_or_null(json, "baseline_peak_bytes", check->baseline_peak_bytes,
                               request->baseline);
    base_json_key(json, "rules");
    base_json_begin_array(json);
    for (size_t i = 0; i < check->verdict_count && good; i++)
        good = put_rule(json, check, i);
    base_json_end_array(json);
    base_json_key(json, "suppressions");
    base_json_begin_array(json);
    for (size_t i = 0; i < request->rules->suppressions.count; i++)
        put_suppression(json, check, i);
    base_json_end_array(json);
    report_json_failure(check->data, json);
    base_json_key(json, "notes");
    base_json_begin_array(json);
    for (size_t i = 0; i < check->data->notes.count; i++) {
        if (check->data->notes.items[i].severity >= PROFILE_WARNING)
            base_json_string(json, check->data->notes.items[i].text);
    }
    for (size_t i = 0; i < check->diff.notes.count; i++)
        base_json_string(json, check->diff.notes.items[i]);
    base_json_end_array(json);
    base_json_end_object(json);
    return good;
}

enum base_code report_check_json(const struct report_check_request *request, bool *holds,
                                 report_write *write, void *user, struct base_error *error)
{
    struct report_check check = {0};
    struct base_json json;
    enum base_code code = report_check_load(&check, request, error);
    if (code == BASE_OK) {
        *holds = check.broken == 0;
        base_json_init(&json, write, user, 0);
        if (!put_check(&json, &check))
            code = base_no_memory(error);
        else if (!base_json_finish(&json) || !write(user, "\n", 1))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    report_check_fini(&check);
    return code;
}
