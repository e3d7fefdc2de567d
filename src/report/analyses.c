// SPDX-License-Identifier: Apache-2.0
// Which analysis finds a pattern, and whether it was made: what it rests on has to be recorded.
#include <string.h>

#include "findings.h"

static const struct {
    const char *name;
    uint32_t facts; // of probes
} analyses[REPORT_ANALYSES] = {
    {"objects", PROFILE_PROBE_OBJECTS},
    {"elements", PROFILE_PROBE_ELEMENTS},
    {"counts", PROFILE_PROBE_COUNTS},
    {"sync", 0}, // needs none
};

const char *report_analysis_name(size_t analysis)
{
    return analyses[analysis].name;
}

enum { SYNC = REPORT_ANALYSES - 1 };

size_t report_analysis_of(enum analyze_pattern pattern)
{
    switch (pattern) {
    case ANALYZE_OVERALLOCATION:
    case ANALYZE_STRUCTURED_ACCESS: return 1;
    case ANALYZE_NON_UNIFORM_ACCESS: return 2;
    case ANALYZE_UNNECESSARY_SYNC:
    case ANALYZE_MISPLACED_SYNC:
    case ANALYZE_SYNCHRONOUS_TRANSFER:
    case ANALYZE_DUPLICATE_TRANSFER:
    case ANALYZE_ALLOC_FREE_CHURN: return SYNC;
    default: return 0;
    }
}

bool report_is_about_sync(enum analyze_pattern pattern)
{
    return report_analysis_of(pattern) == SYNC;
}

bool report_is_in_list(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

// What probes were asked for, each with those that it needs, and what they told.
static uint32_t facts_of(const struct report_data *data)
{
    uint32_t facts = 0;
    for (size_t i = 0; i < data->settings.count; i++) {
        const struct profile_setting *setting = &data->settings.items[i];
        for (size_t k = 0; k < REPORT_ANALYSES && strcmp(setting->name, "analyses") == 0; k++) {
            if (report_is_in_list(setting->value, analyses[k].name))
                facts |= analyses[k].facts ? 2 * analyses[k].facts - 1 : 0;
        }
    }
    for (size_t i = 0; i < data->kernel_rows.count; i++)
        facts |= data->kernel_rows.items[i].facts;
    return facts;
}

// Whether first uses were asked for.
static bool was_tracked(const struct report_data *data)
{
    for (size_t i = 0; i < data->settings.count; i++) {
        if (strcmp(data->settings.items[i].name, "sync_tracking") == 0)
            return strcmp(data->settings.items[i].value, "off") != 0;
    }
    return false;
}

bool report_put_skipped(const struct report_data *data, size_t analysis, struct base_buf *out)
{
    // What was not watched hides nothing where there was nothing to watch.
    if (analysis == SYNC && analyze_is_incomplete(data->analysis))
        base_buf_puts(out, "calls or objects are missing in the profile");
    else if (analysis == SYNC && !analyze_run_time(data->analysis)->tracked)
        base_buf_puts(out, was_tracked(data) ? "first uses could not be watched for; see the notes"
                                             : "recorded without --analyses sync");
    else if (analysis == SYNC)
        return false;
    else if (data->launches && !(facts_of(data) & analyses[analysis].facts))
        base_buf_printf(out, "recorded without --analyses %s", analyses[analysis].name);
    else if (analyze_is_incomplete(data->analysis) &&
             analyses[analysis].facts != PROFILE_PROBE_COUNTS)
        base_buf_puts(out, "calls or objects are missing in the profile");
    else
        return false;
    return true;
}
