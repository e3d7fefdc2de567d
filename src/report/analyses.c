// SPDX-License-Identifier: Apache-2.0
// Decides whether the input that a pattern needs was recorded, and says why if it was not.
#include <string.h>

#include "findings.h"

bool report_is_about_sync(enum analyze_pattern pattern)
{
    return analyze_describe(pattern)->needs == ANALYZE_INPUT_SYNC;
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

// Returns the facts that the recording asked for, or that some kernel's probes collected.
static uint32_t facts_of(const struct report_data *data)
{
    uint32_t facts = 0;
    for (size_t i = 0; i < data->settings.count; i++) {
        const struct profile_setting *setting = &data->settings.items[i];
        for (unsigned k = 0; k < ANALYZE_INPUTS && strcmp(setting->name, "analyses") == 0; k++) {
            if (report_is_in_list(setting->value, analyze_input_name((enum analyze_input)k)))
                facts |= analyze_input_probes((enum analyze_input)k);
        }
    }
    for (size_t i = 0; i < data->kernel_rows.count; i++)
        facts |= data->kernel_rows.items[i].facts;
    return facts;
}

// Returns whether the recording was asked to observe first uses.
static bool was_tracked(const struct report_data *data)
{
    for (size_t i = 0; i < data->settings.count; i++) {
        if (strcmp(data->settings.items[i].name, "sync_tracking") == 0)
            return strcmp(data->settings.items[i].value, "off") != 0;
    }
    return false;
}

// Returns the fact that distinguishes this input: the highest one, because the others are those of
// inputs that it includes.
static uint32_t own_fact(enum analyze_input input)
{
    uint32_t probes = analyze_input_probes(input);
    while (probes & (probes - 1))
        probes &= probes - 1;
    return probes;
}

bool report_was_wanted(const struct report_data *data, enum analyze_input input)
{
    return input == ANALYZE_INPUT_SYNC ? was_tracked(data) : facts_of(data) & own_fact(input);
}

bool report_was_recorded(const struct report_data *data, enum analyze_input input)
{
    if (input == ANALYZE_INPUT_SYNC)
        return analyze_run_time(data->analysis)->tracked;
    // Without launches, there was nothing to watch.
    return data->launches == 0 || (facts_of(data) & own_fact(input));
}

// Returns whether some pattern that needs the input is found even if records are missing.
static bool survives_losses(enum analyze_input input)
{
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++) {
        const struct analyze_description *pattern = analyze_describe((enum analyze_pattern)i);
        if (pattern->needs == input && pattern->survives_losses)
            return true;
    }
    return false;
}

bool report_put_unseen_contents(const struct report_data *data, struct base_buf *out)
{
    const struct analyze_contents_seen *seen = analyze_contents_seen(data->analysis);
    const uint64_t unseen = seen->used - seen->seen;
    if (!unseen || !report_was_recorded(data, ANALYZE_INPUT_VALUES))
        return false;
    if (unseen == seen->used)
        base_buf_puts(out, "no object's contents could be looked at");
    else
        base_buf_printf(out, "the contents of %llu of %llu objects could not be looked at",
                        (unsigned long long)unseen, (unsigned long long)seen->used);
    if (seen->shared)
        base_buf_printf(out, "; %llu %s in memory that the CPU or others can change at any time",
                        (unsigned long long)seen->shared, seen->shared == 1 ? "is" : "are");
    return true;
}

static void put_given_up(const struct report_data *data, struct base_buf *out)
{
    struct base_buf waits = {0};
    base_buf_puts(out, "first uses could not be observed (see the notes)");
    if (report_put_unknown_waits(data, &waits))
        base_buf_printf(out, "; %s", waits.text ? waits.text : "");
    base_buf_fini(&waits);
}

bool report_put_skipped(const struct report_data *data, enum analyze_input input,
                        struct base_buf *out)
{
    const bool incomplete = analyze_is_incomplete(data->analysis) && !survives_losses(input);
    const bool recorded = report_was_recorded(data, input);
    if (incomplete && (recorded || input == ANALYZE_INPUT_SYNC))
        base_buf_puts(out, "calls or objects are missing in the profile");
    else if (!recorded && input == ANALYZE_INPUT_SYNC && was_tracked(data))
        put_given_up(data, out);
    else if (!recorded)
        base_buf_printf(out, "recorded without --analyses %s", analyze_input_name(input));
    else if (input == ANALYZE_INPUT_CACHE && data->launches &&
             !analyze_caches(data->analysis)->kernels.count)
        base_buf_puts(out, "no launch could be modelled");
    else
        return input == ANALYZE_INPUT_VALUES && !analyze_contents_seen(data->analysis)->seen &&
               report_put_unseen_contents(data, out);
    return true;
}
