// SPDX-License-Identifier: Apache-2.0
// Writes findings as SARIF 2.1.0, for code hosts: one run, a rule for each pattern, and a result
// for each worthwhile finding. docs/guide/ci.md describes the contents. The limits are those of
// hosts: GitHub keeps 5,000 results per run and refuses files of more than 10 MB, compressed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failures.h"
#include "findings.h"
#include "identity.h"
#include "json_members.h"
#include "sarif.h"
#include "source.h"
#include "suppress.h"
#include "units.h"

enum {
    MOST_FRAMES = 32, // innermost frames of a result's call path
};

// --- Texts and places ----------------------------------------------------------------------------

// Writes `text` as a message and clears it. In SARIF messages, braces mark placeholders unless they
// are doubled.
void report_sarif_put_message(struct sarif *sarif, const char *key)
{
    struct base_buf message = {0};
    for (const char *next = sarif->text.text; next && *next; next++) {
        base_buf_putc(&message, *next);
        if (*next == '{' || *next == '}')
            base_buf_putc(&message, *next);
    }
    base_buf_clear(&sarif->text);
    sarif->text.failed |= message.failed;
    base_json_key(&sarif->json, key);
    base_json_begin_object(&sarif->json);
    report_json_string(&sarif->json, "text", message.text ? message.text : "");
    base_json_end_object(&sarif->json);
    base_buf_fini(&message);
}

void report_sarif_put_plain(struct sarif *sarif, const char *key, const char *text)
{
    base_buf_puts(&sarif->text, text);
    report_sarif_put_message(sarif, key);
}

// Writes the members of an artifactLocation.
static void put_artifact(struct sarif *sarif, const char *file)
{
    struct base_json *json = &sarif->json;
    struct base_buf path = {0};
    const bool under = report_put_file(&path, file, sarif->root);
    base_buf_clear(&sarif->text);
    report_put_uri(&sarif->text, path.text ? path.text : "");
    sarif->text.failed |= path.failed;
    report_json_string(json, "uri", sarif->text.text ? sarif->text.text : "");
    if (under)
        report_json_string(json, "uriBaseId", REPORT_SARIF_ROOT);
    base_buf_clear(&sarif->text);
    base_buf_fini(&path);
}

void report_sarif_put_physical(struct sarif *sarif, const char *file, uint32_t line)
{
    struct base_json *json = &sarif->json;
    base_json_key(json, "physicalLocation");
    base_json_begin_object(json);
    base_json_key(json, "artifactLocation");
    base_json_begin_object(json);
    put_artifact(sarif, file);
    base_json_end_object(json);
    if (line) {
        base_json_key(json, "region");
        base_json_begin_object(json);
        report_json_number(json, "startLine", line);
        base_json_end_object(json);
    }
    base_json_end_object(json);
}

static void put_logical(struct sarif *sarif, const char *key, const char *name, const char *kind)
{
    struct base_json *json = &sarif->json;
    base_json_key(json, "logicalLocations");
    base_json_begin_array(json);
    base_json_begin_object(json);
    base_json_key(json, key);
    base_json_string(json, name);
    report_json_string(json, "kind", kind);
    base_json_end_object(json);
    base_json_end_array(json);
}

// Writes the members of a location for a frame.
static void put_frame_location(struct sarif *sarif, const struct profile_frame *frame)
{
    if (report_has_source(frame))
        report_sarif_put_physical(sarif, frame->file, frame->line);
    if (frame->function)
        put_logical(sarif, "fullyQualifiedName", frame->function, "function");
}

// --- Results -------------------------------------------------------------------------------------

// Code hosts refuse a file if one result has no location. If the source is unknown, the location is
// the program's file.
static void put_location(struct sarif *sarif, const struct analyze_finding *finding)
{
    struct base_json *json = &sarif->json;
    const struct report_data *data = sarif->data;
    const struct report_object *object = report_find_object(data, finding->object);
    const struct report_path *path = report_path_of(data, finding->path);
    struct profile_frame frame;
    const char *program = profile_program(data->profile)->executable;
    base_json_key(json, "locations");
    base_json_begin_array(json);
    base_json_begin_object(json);
    if (report_finding_frame(data, finding, sarif->root, &frame)) {
        put_frame_location(sarif, &frame);
    } else {
        const uint32_t first = path ? report_stub_frames(path) : 0;
        const char *function =
            path && first < path->frame_count ? path->frames[first].function : NULL;
        if (program && program[0])
            report_sarif_put_physical(sarif, program, 0);
        if (function)
            put_logical(sarif, "fullyQualifiedName", function, "function");
        else if (object && object->name)
            put_logical(sarif, "name", object->name, "variable");
    }
    base_json_end_object(json);
    base_json_end_array(json);
}

static void put_stack(struct sarif *sarif, const struct analyze_finding *finding)
{
    struct base_json *json = &sarif->json;
    const struct report_path *path = report_path_of(sarif->data, finding->path);
    if (!path || path->frame_count == 0)
        return;
    const bool python = report_has_python(path);
    uint32_t put = 0;
    base_json_key(json, "stacks");
    base_json_begin_array(json);
    base_json_begin_object(json);
    base_json_key(json, "frames");
    base_json_begin_array(json);
    for (uint32_t i = 0; i < path->frame_count && put < MOST_FRAMES; i++) {
        const struct profile_frame *frame = &path->frames[i];
        const char *image = report_image_path(sarif->data, frame->image);
        if (python && report_is_interpreter(sarif->data, frame))
            continue;
        put++;
        base_json_begin_object(json);
        if (frame->file || frame->function) {
            base_json_key(json, "location");
            base_json_begin_object(json);
            put_frame_location(sarif, frame);
            base_json_end_object(json);
        }
        if (image)
            report_json_string(json, "module", report_base_name(image));
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_end_object(json);
    base_json_end_array(json);
}

// Writes nothing if the source is unknown.
static void put_related(struct sarif *sarif, uint32_t path, const char *words)
{
    struct base_json *json = &sarif->json;
    const struct profile_frame *frame = report_source_frame(sarif->data, path, sarif->root);
    if (!frame)
        return;
    base_json_begin_object(json);
    put_frame_location(sarif, frame);
    report_sarif_put_plain(sarif, "message", words);
    base_json_end_object(json);
}

static void put_related_locations(struct sarif *sarif, const struct analyze_finding *finding)
{
    const struct report_object *object = report_find_object(sarif->data, finding->object);
    base_json_key(&sarif->json, "relatedLocations");
    base_json_begin_array(&sarif->json);
    const struct analyze_description *pattern = analyze_describe(finding->pattern);
    const struct analyze_field *field = pattern->fields;
    if (analyze_line_at(finding).file)
        put_related(sarif, finding->path, pattern->roles[ANALYZE_CALL].noun);
    put_related(sarif, finding->other_path, pattern->roles[ANALYZE_OTHER_CALL].noun);
    put_related(sarif, finding->last_path, pattern->roles[ANALYZE_LAST_CALL].noun);
    for (; field && field->name; field++) {
        if (field->type == ANALYZE_PATH)
            put_related(sarif, (uint32_t)analyze_field_number(finding, field), field->place.noun);
    }
    if (object && object->path != finding->path && object->path != finding->other_path)
        put_related(sarif, object->path, "the allocation");
    base_json_end_array(&sarif->json);
}

static void put_result(struct sarif *sarif, const struct analyze_finding *finding,
                       const struct report_identity *identity)
{
    struct base_json *json = &sarif->json;
    char fingerprint[48];
    base_json_begin_object(json);
    report_json_string(json, "ruleId", analyze_pattern_word(finding->pattern));
    report_json_number(json, "ruleIndex", finding->pattern);
    report_json_string(json, "level", "warning");
    report_put_advice(sarif->data, finding, &sarif->text);
    report_sarif_put_message(sarif, "message");
    report_json_number(json, "occurrenceCount", finding->count);
    put_location(sarif, finding);
    put_stack(sarif, finding);
    put_related_locations(sarif, finding);
    base_json_key(json, "partialFingerprints");
    base_json_begin_object(json);
    snprintf(fingerprint, sizeof(fingerprint), "%016llx:%llu", (unsigned long long)identity->hash,
             (unsigned long long)identity->ordinal);
    report_json_string(json, "glintFinding/v1", fingerprint);
    base_json_end_object(json);
    base_json_key(json, "properties");
    base_json_begin_object(json);
    base_json_key(json, "worth");
    report_json_worth(json, finding);
    base_json_end_object(json);
    base_json_end_object(json);
}

// --- The run -------------------------------------------------------------------------------------

static void put_rules(struct sarif *sarif)
{
    struct base_json *json = &sarif->json;
    base_json_key(json, "rules");
    base_json_begin_array(json);
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++) {
        const struct analyze_description *pattern = analyze_describe((enum analyze_pattern)i);
        base_json_begin_object(json);
        report_json_string(json, "id", pattern->name);
        report_sarif_put_plain(sarif, "shortDescription", pattern->title);
        report_sarif_put_plain(sarif, "fullDescription", pattern->definition);
        base_buf_printf(&sarif->text, "%s %s 'glint explain %s' says more.", pattern->definition,
                        pattern->remedy, pattern->name);
        report_sarif_put_message(sarif, "help");
        base_json_key(json, "defaultConfiguration");
        base_json_begin_object(json);
        report_json_string(json, "level", "warning");
        base_json_end_object(json);
        base_json_key(json, "properties");
        base_json_begin_object(json);
        base_json_key(json, "tags");
        base_json_begin_array(json);
        base_json_string(json, "performance");
        base_json_string(json, "gpu-memory");
        base_json_end_array(json);
        base_json_end_object(json);
        base_json_end_object(json);
    }
    base_json_end_array(json);
}

void report_sarif_put_tool(struct sarif *sarif)
{
    struct base_json *json = &sarif->json;
    base_json_key(json, "tool");
    base_json_begin_object(json);
    base_json_key(json, "driver");
    base_json_begin_object(json);
    report_json_string(json, "name", "glint");
    report_json_string(json, "version", GLINT_VERSION);
    put_rules(sarif);
    base_json_end_object(json);
    base_json_end_object(json);
}

void report_sarif_put_note(struct sarif *sarif, enum profile_severity severity)
{
    base_json_begin_object(&sarif->json);
    report_json_string(&sarif->json, "level",
                       severity == PROFILE_ERROR     ? "error"
                       : severity == PROFILE_WARNING ? "warning"
                                                     : "note");
    report_sarif_put_message(sarif, "message");
    base_json_end_object(&sarif->json);
}

// Writes notes that apply to the whole run.
static void put_invocation(struct sarif *sarif, size_t left_out)
{
    struct report_hidden hidden = {0};
    struct base_json *json = &sarif->json;
    const struct report_data *data = sarif->data;
    base_json_key(json, "invocations");
    base_json_begin_array(json);
    base_json_begin_object(json);
    report_json_bool(json, "executionSuccessful", true);
    base_json_key(json, "toolExecutionNotifications");
    base_json_begin_array(json);
    if (report_put_failures(data, &sarif->text))
        report_sarif_put_note(sarif, PROFILE_ERROR);
    if (left_out) {
        base_buf_printf(
            &sarif->text,
            "the %zu findings that are worth least are omitted: hosts accept %u results per run",
            left_out, REPORT_SARIF_RESULTS);
        report_sarif_put_note(sarif, PROFILE_WARNING);
    }
    for (size_t i = 0; i < analyze_finding_count(data->analysis); i++)
        report_count_hidden(&hidden, analyze_finding(data->analysis, i));
    if (report_put_hidden(&hidden, &sarif->text)) {
        base_buf_puts(&sarif->text, ": they are omitted; 'glint report --verbose' lists them");
        report_sarif_put_note(sarif, PROFILE_INFO);
    }
    for (size_t i = 0; i < data->notes.count; i++) {
        base_buf_puts(&sarif->text, data->notes.items[i].text);
        report_sarif_put_note(sarif, data->notes.items[i].severity);
    }
    base_json_end_array(json);
    base_json_end_object(json);
    base_json_end_array(json);
}

void report_sarif_put_root(struct sarif *sarif)
{
    struct base_json *json = &sarif->json;
    struct base_buf folder = {0};
    report_put_file(&folder, sarif->root, "/");
    base_json_key(json, "originalUriBaseIds");
    base_json_begin_object(json);
    base_json_key(json, REPORT_SARIF_ROOT);
    base_json_begin_object(json);
    const bool is_top = !folder.text || folder.text[0] == '/';
    base_buf_puts(&sarif->text, "file:///");
    report_put_uri(&sarif->text, is_top ? "" : folder.text);
    base_buf_puts(&sarif->text, is_top ? "" : "/");
    report_json_string(json, "uri", sarif->text.text ? sarif->text.text : "");
    base_buf_clear(&sarif->text);
    sarif->text.failed |= folder.failed;
    base_json_end_object(json);
    base_json_end_object(json);
    base_buf_fini(&folder);
}

static void put_run(struct sarif *sarif, const struct report_identity *identities)
{
    struct base_json *json = &sarif->json;
    const struct report_data *data = sarif->data;
    const size_t count = analyze_worthwhile_count(data->analysis);
    const size_t shown = count < REPORT_SARIF_RESULTS ? count : REPORT_SARIF_RESULTS;
    base_json_begin_object(json);
    report_sarif_put_tool(sarif);
    put_invocation(sarif, count - shown);
    report_sarif_put_root(sarif);
    base_json_key(json, "results");
    base_json_begin_array(json);
    for (size_t i = 0; i < shown && !sarif->text.failed; i++)
        put_result(sarif, analyze_finding(data->analysis, i), &identities[i]);
    base_json_end_array(json);
    base_json_key(json, "properties");
    base_json_begin_object(json);
    report_json_number(json, "peak_bytes", data->peak_bytes);
    report_json_number(json, "achievable_peak_bytes", analyze_achievable_peak(data->analysis));
    report_json_number(json, "findings", analyze_finding_count(data->analysis));
    report_json_bool(json, "simulated", analyze_is_simulated(data->analysis));
    base_json_end_object(json);
    base_json_end_object(json);
}

enum base_code report_sarif(struct profile *profile, const struct report_rules *rules,
                            const char *source_root, report_write *write, void *user,
                            struct base_error *error)
{
    struct report_data data = {0};
    struct sarif sarif = {.data = &data, .root = source_root};
    struct base_json *json = &sarif.json;
    struct report_identity *identities = NULL;
    enum base_code code = report_data_load_by(&data, profile, rules, error);
    if (code == BASE_OK) {
        identities = report_identities(&data);
        if (!identities && analyze_finding_count(data.analysis))
            code = base_no_memory(error);
    }
    if (code == BASE_OK) {
        base_json_init(json, write, user, 0);
        base_json_begin_object(json);
        report_json_string(json, "$schema",
                           "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                           "sarif-schema-2.1.0.json");
        report_json_string(json, "version", "2.1.0");
        base_json_key(json, "runs");
        base_json_begin_array(json);
        put_run(&sarif, identities);
        base_json_end_array(json);
        base_json_end_object(json);
        if (sarif.text.failed)
            code = base_no_memory(error);
        else if (!base_json_finish(json) || !write(user, "\n", 1))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    free(identities);
    base_buf_fini(&sarif.text);
    report_data_fini(&data);
    return code;
}
