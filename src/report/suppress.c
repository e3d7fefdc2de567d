// SPDX-License-Identifier: Apache-2.0
// Matches findings with suppressions, and removes suppressed findings from a report.
#include "suppress.h"

#include <fnmatch.h>
#include <string.h>

bool report_matches_function(const char *glob, const char *function)
{
    char plain[256];
    const size_t length = function ? strcspn(function, "<(") : sizeof(plain);
    if (!function || fnmatch(glob, function, 0) == 0)
        return function != NULL;
    if (length == 0 || length >= sizeof(plain))
        return false;
    memcpy(plain, function, length);
    plain[length] = '\0';
    return fnmatch(glob, plain, 0) == 0;
}

bool report_matches_file(const char *glob, const char *file, uint32_t line)
{
    struct base_buf place = {0};
    bool found = false;
    if (file)
        base_buf_printf(&place, "%s:%u", file, line);
    for (size_t at = 0; file && !place.failed && !found; at++) {
        found = fnmatch(glob, file + at, 0) == 0 || fnmatch(glob, place.text + at, 0) == 0;
        at += strcspn(file + at, "/");
        if (!file[at])
            break;
    }
    base_buf_fini(&place);
    return found;
}

bool report_is_on_path(const struct report_data *data, const char *glob, uint32_t number)
{
    const struct report_path *path = report_path_of(data, number);
    for (uint32_t i = 0; path && i < path->frame_count; i++) {
        const struct profile_frame *frame = &path->frames[i];
        if (report_matches_function(glob, frame->function) ||
            report_matches_file(glob, frame->file, frame->line))
            return true;
    }
    return false;
}

static bool is_at_line(const struct report_data *data, const char *glob,
                       const struct analyze_finding *finding)
{
    const struct analyze_line line = analyze_line_at(finding);
    return line.file && (report_matches_file(glob, line.file, line.line) ||
                         report_matches_function(glob, report_kernel_name(data, finding->kernel)));
}

bool report_is_suppressed_by(const struct report_data *data, const struct report_suppression *row,
                             const struct analyze_finding *finding)
{
    const struct report_object *object = report_find_object(data, finding->object);
    const char *name = object && object->name ? object->name : "";
    return (row->pattern == ANALYZE_PATTERNS || row->pattern == finding->pattern) &&
           (!row->object || fnmatch(row->object, name, 0) == 0) &&
           (!row->path || is_at_line(data, row->path, finding) ||
            report_is_on_path(data, row->path, finding->path) ||
            report_is_on_path(data, row->path, finding->other_path) ||
            report_is_on_path(data, row->path, finding->last_path));
}

struct suppressing {
    const struct report_data *data;
    const struct report_rules *rules;
};

static bool is_kept(void *user, const struct analyze_finding *finding)
{
    const struct suppressing *of = user;
    for (size_t i = 0; i < of->rules->suppressions.count; i++) {
        if (report_is_suppressed_by(of->data, &of->rules->suppressions.items[i], finding))
            return false;
    }
    return true;
}

enum base_code report_data_load_by(struct report_data *data, struct profile *profile,
                                   const struct report_rules *rules, struct base_error *error)
{
    enum base_code code = report_data_load(data, profile, rules ? &rules->thresholds : NULL, error);
    if (code != BASE_OK || !rules)
        return code;
    const size_t all = analyze_finding_count(data->analysis);
    analyze_keep_findings(data->analysis, is_kept, &(struct suppressing){data, rules});
    data->suppressed = all - analyze_finding_count(data->analysis);
    return report_add_suppressed_note(data) ? BASE_OK : base_no_memory(error);
}
