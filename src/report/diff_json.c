// SPDX-License-Identifier: Apache-2.0
// Writes the difference of two profiles as JSON; diff.md and diff.schema.json in docs/reference
// describe it.
#include "diff.h"
#include "findings.h"
#include "json_members.h"

static void put_ms(struct base_json *json, const char *key, uint64_t ns, bool known)
{
    base_json_key(json, key);
    if (known)
        base_json_double(json, (double)ns / 1e6);
    else
        base_json_null(json);
}

static void put_side(struct base_json *json, const char *key, const struct report_diff_item *item,
                     const struct report_diff_side *side)
{
    base_json_key(json, key);
    if (!side->count) {
        base_json_null(json);
        return;
    }
    base_json_begin_object(json);
    report_json_number(json, "count", side->count);
    if (item->kind == REPORT_DIFF_OBJECT || item->kind == REPORT_DIFF_COPY)
        report_json_number(json, "bytes", side->bytes);
    if (item->kind == REPORT_DIFF_OBJECT || item->kind == REPORT_DIFF_FINDING)
        report_json_number(json, "peak_bytes", side->peak_bytes);
    if (item->kind == REPORT_DIFF_FINDING)
        report_json_number(json, "traffic_bytes", side->traffic_bytes);
    if (item->kind != REPORT_DIFF_OBJECT)
        put_ms(json, "ms", side->ns, side->timed);
    base_json_end_object(json);
}

// Writes the message and suggestion of the finding that represents the item.
static bool put_finding(struct base_json *json, const struct report_data *data,
                        const struct analyze_finding *finding)
{
    struct base_buf message = {0}, suggestion = {0};
    report_put_message(data, finding, &message);
    report_put_suggestion(data, finding, &suggestion);
    report_json_string(json, "pattern", analyze_pattern_word(finding->pattern));
    report_json_string(json, "message", message.text ? message.text : "");
    report_json_string(json, "suggestion", suggestion.text ? suggestion.text : "");
    const bool good = !message.failed && !suggestion.failed;
    base_buf_fini(&message);
    base_buf_fini(&suggestion);
    return good;
}

static bool put_item(struct base_json *json, const struct report_diff *diff,
                     const struct report_diff_item *item)
{
    unsigned which;
    const struct report_diff_side *shown = report_diff_shown(item, &which);
    const struct report_data *data = &diff->data[which];
    const struct report_path *path = report_path_of(data, shown->path);
    bool good = true;
    base_json_begin_object(json);
    report_json_string(json, "kind", report_diff_kind_word(item->kind));
    report_json_string(json, "change", report_diff_change_word(item->change));
    report_json_string(json, "name", shown->name);
    if (item->kind == REPORT_DIFF_FINDING)
        good = put_finding(json, data, shown->finding);
    if (item->kind == REPORT_DIFF_OBJECT)
        report_json_string(json, "memory", profile_object_kind_word(shown->object_kind));
    report_json_string(json, "measure", item->measure->word);
    put_side(json, "old", item, &item->sides[0]);
    put_side(json, "new", item, &item->sides[1]);
    base_json_key(json, "call_path");
    report_json_frames(json, data, path ? path->frames : NULL, path ? path->frame_count : 0, false);
    base_json_end_object(json);
    return good;
}

static void put_sum(struct base_json *json, const struct report_diff_sum *sum)
{
    static const char *const units[] = {"count", "bytes", "ms"};
    static const char *const keys[] = {"old", "new"};
    base_json_begin_object(json);
    report_json_string(json, "name", sum->name);
    report_json_string(json, "unit", units[sum->unit]);
    for (unsigned i = 0; i < 2; i++) {
        if (sum->unit == REPORT_DIFF_NS) {
            put_ms(json, keys[i], sum->values[i], sum->known);
        } else {
            base_json_key(json, keys[i]);
            base_json_u64(json, sum->values[i]);
        }
    }
    report_json_bool(json, "differs", sum->differs);
    base_json_end_object(json);
}

static bool put_diff(struct base_json *json, const struct report_diff *diff,
                     const struct report_diff_request *request)
{
    bool good = true;
    base_json_begin_object(json);
    report_json_string(json, "glint", GLINT_VERSION);
    report_json_number(json, "schema", 1);
    report_json_string(json, "old", request->names[0]);
    report_json_string(json, "new", request->names[1]);
    report_json_bool(json, "differs", !report_diff_is_empty(diff));
    base_json_key(json, "summary");
    base_json_begin_array(json);
    for (unsigned i = 0; i < REPORT_DIFF_SUMS; i++)
        put_sum(json, &diff->sums[i]);
    base_json_end_array(json);
    base_json_key(json, "items");
    base_json_begin_array(json);
    for (size_t i = 0; i < diff->items.count && good; i++)
        good = put_item(json, diff, &diff->items.items[i]);
    base_json_end_array(json);
    base_json_key(json, "same");
    base_json_begin_object(json);
    for (unsigned i = 0; i < REPORT_DIFF_KINDS; i++) {
        base_json_key(json, report_diff_kind_word((enum report_diff_kind)i));
        base_json_u64(json, diff->same[i]);
    }
    base_json_end_object(json);
    base_json_key(json, "notes");
    base_json_begin_array(json);
    for (size_t i = 0; i < diff->notes.count; i++)
        base_json_string(json, diff->notes.items[i]);
    base_json_end_array(json);
    base_json_end_object(json);
    return good;
}

enum base_code report_diff_json(const struct report_diff_request *request, bool *differs,
                                report_write *write, void *user, struct base_error *error)
{
    struct report_diff diff = {0};
    struct base_json json;
    enum base_code code = report_diff_load(&diff, request, error);
    if (code == BASE_OK) {
        *differs = !report_diff_is_empty(&diff);
        base_json_init(&json, write, user, 0);
        if (!put_diff(&json, &diff, request))
            code = base_no_memory(error);
        else if (!base_json_finish(&json) || !write(user, "\n", 1))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    report_diff_fini(&diff);
    return code;
}
