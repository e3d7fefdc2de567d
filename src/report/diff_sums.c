// SPDX-License-Identifier: Apache-2.0
// Computes the summary of two profiles, and notes about what cannot be compared.
#include <string.h>

#include "diff.h"

uint64_t report_diff_add_up(uint64_t one, uint64_t other)
{
    return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

bool report_diff_times_differ(uint64_t one, uint64_t other, uint32_t tolerance_percent,
                              uint64_t least_ns)
{
    const uint64_t more = one > other ? one : other,
                   apart = one > other ? one - other : other - one;
    return apart >= least_ns &&
           (unsigned __int128)apart * 100 > (unsigned __int128)more * tolerance_percent;
}

// --- The summary ---------------------------------------------------------------------------------

enum {
    PEAK,
    ACHIEVABLE,
    OBJECTS,
    LAUNCHES,
    KERNEL_TIME,
    COPIED,
    COPY_TIME,
    SYNCS,
    WAITED,
    FINDINGS,
    SUMS
};
_Static_assert(SUMS == (int)REPORT_DIFF_SUMS, "a row for each");

// A total of launches, copies or waits. Its time counts only if all times are known.
struct total {
    uint64_t count, bytes, ns;
    bool timed;
};

static void add_total(struct total *total, const struct report_sum *sum)
{
    total->count += sum->count;
    total->bytes = report_diff_add_up(total->bytes, sum->bytes);
    total->ns = report_diff_add_up(total->ns, sum->total_ns);
    total->timed &= sum->timed == sum->count;
}

void report_diff_sum_up(struct report_diff *diff, uint32_t tolerance_percent)
{
    static const struct {
        const char *name;
        enum report_diff_unit unit;
    } rows[REPORT_DIFF_SUMS] = {[PEAK] = {"peak", REPORT_DIFF_BYTES},
                                [ACHIEVABLE] = {"achievable peak", REPORT_DIFF_BYTES},
                                [OBJECTS] = {"objects", REPORT_DIFF_COUNT},
                                [LAUNCHES] = {"kernel runs", REPORT_DIFF_COUNT},
                                [KERNEL_TIME] = {"GPU time", REPORT_DIFF_NS},
                                [COPIED] = {"copied", REPORT_DIFF_BYTES},
                                [COPY_TIME] = {"time of copies", REPORT_DIFF_NS},
                                [SYNCS] = {"synchronisations", REPORT_DIFF_COUNT},
                                [WAITED] = {"waited", REPORT_DIFF_NS},
                                [FINDINGS] = {"findings", REPORT_DIFF_COUNT}};
    bool timed[REPORT_DIFF_SUMS][2];
    memset(timed, true, sizeof(timed));
    for (unsigned which = 0; which < 2; which++) {
        const struct report_data *data = &diff->data[which];
        struct total kernels = {.timed = true}, copies = {.timed = true}, waits = {.timed = true};
        uint64_t syncs = 0;
        for (size_t i = 0; i < data->kernel_rows.count; i++)
            add_total(&kernels, &data->kernel_rows.items[i].sum);
        for (unsigned i = 0; i < REPORT_DIRECTIONS; i++)
            add_total(&copies, &data->copies[i]);
        for (size_t i = 0; i < data->wait_rows.count; i++)
            add_total(&waits, &data->wait_rows.items[i].sum);
        // Implicit waits do not count, because whether they occur depends on timing.
        for (size_t i = 0; i < data->wait_rows.count; i++)
            syncs += data->wait_rows.items[i].is_explicit ? data->wait_rows.items[i].sum.count : 0;
        const uint64_t values[REPORT_DIFF_SUMS] = {
            [PEAK] = data->peak_bytes,
            [ACHIEVABLE] = analyze_achievable_peak(data->analysis),
            [OBJECTS] = data->objects.count,
            [LAUNCHES] = data->launches,
            [KERNEL_TIME] = kernels.ns,
            [COPIED] = copies.bytes,
            [COPY_TIME] = copies.ns,
            [SYNCS] = syncs,
            [WAITED] = waits.ns,
            [FINDINGS] = analyze_finding_count(data->analysis)};
        timed[KERNEL_TIME][which] = kernels.timed;
        timed[COPY_TIME][which] = copies.timed;
        timed[WAITED][which] = waits.timed;
        for (unsigned i = 0; i < REPORT_DIFF_SUMS; i++)
            diff->sums[i].values[which] = values[i];
    }
    for (unsigned i = 0; i < REPORT_DIFF_SUMS; i++) {
        struct report_diff_sum *sum = &diff->sums[i];
        sum->name = rows[i].name;
        sum->unit = rows[i].unit;
        sum->known = timed[i][0] && timed[i][1] && (diff->timed || sum->unit != REPORT_DIFF_NS);
        sum->differs =
            sum->unit == REPORT_DIFF_NS
                ? sum->known && report_diff_times_differ(
                                    sum->values[0], sum->values[1], tolerance_percent,
                                    i == WAITED ? REPORT_DIFF_LEAST_WAIT_NS : REPORT_DIFF_LEAST_NS)
                : sum->values[0] != sum->values[1];
    }
}

// --- Notes ---------------------------------------------------------------------------------------

// Adds a note and frees the text. Returns false when memory ran out.
static bool add_note(struct report_diff *diff, struct base_buf *text)
{
    const char **row = base_array_push(&diff->notes);
    const char *kept =
        row && !text->failed ? base_alloc_text(&diff->arena, text->text, text->length) : NULL;
    if (kept)
        *row = kept;
    else if (row)
        diff->notes.count--;
    base_buf_fini(text);
    return kept != NULL;
}

static const char *setting(const struct report_data *data, const char *name)
{
    for (size_t i = 0; i < data->settings.count; i++) {
        if (strcmp(data->settings.items[i].name, name) == 0)
            return data->settings.items[i].value;
    }
    return "";
}

static void put_devices(const struct report_data *data, struct base_buf *out)
{
    for (size_t i = 0; i < data->devices.count; i++)
        base_buf_printf(out, "%s%s", i ? ", " : "",
                        data->devices.items[i].name ? data->devices.items[i].name : "?");
    if (profile_program(data->profile)->simulated)
        base_buf_puts(out, data->devices.count ? " (simulated)" : "a simulated GPU");
    base_buf_puts(out, "");
}

bool report_diff_add_notes(struct report_diff *diff, const char *const names[2])
{
    static const char *const settings[] = {"analyses", "kernels", "sample", "launches",
                                           "capture_range"};
    const struct report_data *old = &diff->data[0], *new = &diff->data[1];
    struct base_buf devices[2] = {{0}}, text;
    put_devices(old, &devices[0]);
    put_devices(new, &devices[1]);
    bool good = !devices[0].failed && !devices[1].failed;
    if (good && !diff->timed) {
        text = (struct base_buf){0};
        base_buf_puts(&text, "times of a simulated GPU are not real, and are not compared");
        good = add_note(diff, &text);
    } else if (good && old->devices.count &&
               new->devices.count &&strcmp(devices[0].text, devices[1].text) != 0) {
        text = (struct base_buf){0};
        base_buf_printf(&text, "times are of different GPUs: %s and %s", devices[0].text,
                        devices[1].text);
        good = add_note(diff, &text);
    }
    base_buf_fini(&devices[0]);
    base_buf_fini(&devices[1]);
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]) && good; i++) {
        const char *before = setting(old, settings[i]), *after = setting(new, settings[i]);
        if (strcmp(before, after) == 0)
            continue;
        text = (struct base_buf){0};
        base_buf_printf(&text,
                        "recorded with different --%s, '%s' and '%s': findings may differ for "
                        "that alone",
                        settings[i], before, after);
        good = add_note(diff, &text);
    }
    for (unsigned which = 0; which < 2 && good; which++) {
        if (!analyze_is_incomplete(diff->data[which].analysis))
            continue;
        text = (struct base_buf){0};
        base_buf_printf(&text,
                        "calls or objects are missing in %s: most patterns are not looked for",
                        names[which]);
        good = add_note(diff, &text);
    }
    return good;
}
