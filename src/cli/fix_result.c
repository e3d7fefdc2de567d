// SPDX-License-Identifier: Apache-2.0
// Reads what a corrected run has done and gained from its profile, and prints it as one line.
#include "fix_result.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- Reading -------------------------------------------------------------------------------------

struct reading {
    struct cli_fix_result *result;
    const struct cli_fix_subject *subject;
    bool applied[ANALYZE_PATTERNS];
};

// One row may stand for two patterns: an object that is allocated early and freed late.
static void mark_patterns(struct reading *reading, const struct fix_place *place)
{
    const struct fix *fix = &reading->subject->fix;
    for (size_t i = 0; i < fix->places.count; i++) {
        const struct fix_place *other = &fix->places.items[i];
        if (!other->left && other->remedy == place->remedy && other->path == place->path)
            reading->applied[other->pattern] = true;
    }
}

static bool take_correction(void *user, const struct profile_correction *row)
{
    struct reading *reading = user;
    struct cli_fix_result *result = reading->result;
    if (row->peak_bytes && row->native_peak_bytes) {
        result->has_peak = true;
        result->peak_bytes = row->peak_bytes;
        result->native_peak_bytes = row->native_peak_bytes;
    }
    result->put_off += row->paid; // of each row; row 0 counts for all rows together
    if (row->row == 0 || row->row > reading->subject->fix.rows.count)
        return true;
    const struct fix_row *of = &reading->subject->fix.rows.items[row->row - 1];
    result->left += row->left_alone;
    result->met |= row->path != 0;
    if (!row->applied || row->remedy == PROFILE_REMEDY_LAST_USE)
        return true;
    result->places++;
    mark_patterns(reading, &reading->subject->fix.places.items[of->place]);
    result->waits += of->waits ? row->applied : 0;
    return true;
}

static bool take_note(void *user, const struct profile_note *note)
{
    struct cli_fix_result *result = user;
    if (note->severity < PROFILE_WARNING || !note->text)
        return true;
    const bool failure = strncmp(note->text, PLAN_UNTOLD, sizeof(PLAN_UNTOLD) - 1) == 0;
    if (failure || !result->quiet)
        cli_message("%s", note->text);
    result->failure_unreported |= failure;
    return true;
}

bool cli_fix_result_read(struct cli_fix_result *result, const struct cli_fix_subject *subject,
                         const char *file)
{
    struct reading reading = {.result = result, .subject = subject};
    struct base_error error = {0};
    struct profile *profile = NULL;
    enum base_code code = profile_open(file, &profile, &error);
    if (code == BASE_OK)
        code = profile_each_correction(profile, take_correction, &reading, &error);
    if (code == BASE_OK)
        code = profile_each_note(profile, take_note, result, &error);
    if (code == BASE_OK)
        result->simulated = profile_program(profile)->simulated;
    else
        cli_error(&error);
    // One wait that is made later can settle several that were left out.
    result->put_off = result->put_off < result->waits ? result->put_off : result->waits;
    result->waits -= result->put_off;
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++)
        result->remedies += reading.applied[i];
    profile_close(profile);
    return code == BASE_OK;
}

// --- Text for the user ---------------------------------------------------------------------------

// "12,300".
static void put_number(struct base_buf *out, uint64_t number)
{
    char digits[24];
    const int length = snprintf(digits, sizeof(digits), "%" PRIu64, number);
    for (int i = 0; i < length; i++) {
        base_buf_putc(out, digits[i]);
        if (i + 1 < length && (length - i - 1) % 3 == 0)
            base_buf_putc(out, ',');
    }
}

static void put_counted(struct base_buf *out, uint64_t number, const char *one, const char *many)
{
    put_number(out, number);
    base_buf_puts(out, number == 1 ? one : many);
}

// "run time 3.1 s, natively 4.4 s (-29 %)".
static void put_times(struct base_buf *out, const struct cli_fix_times *times)
{
    if (times->corrected_ns <= 0)
        return;
    base_buf_puts(out, "; run time ");
    report_put_ns(out, (uint64_t)times->corrected_ns);
    if (times->native_ns <= 0)
        return;
    const double change =
        100.0 * (double)(times->corrected_ns - times->native_ns) / (double)times->native_ns;
    const long rounded = (long)(change < 0 ? change - 0.5 : change + 0.5);
    base_buf_puts(out, ", natively ");
    report_put_ns(out, (uint64_t)times->native_ns);
    base_buf_printf(out, " (%s%ld %%)", rounded > 0 ? "+" : "", rounded);
}

void cli_fix_result_put(const struct cli_fix_result *result, const struct cli_fix_times *times,
                        struct base_buf *out)
{
    if (result->places) {
        put_counted(out, result->remedies, " remedy", " remedies");
        base_buf_puts(out, " applied at ");
        put_counted(out, result->places, " place", " places");
        if (result->waits || result->put_off) {
            base_buf_puts(out, ": ");
            put_counted(out, result->waits, " wait removed", " waits removed");
        }
        if (result->put_off) {
            base_buf_puts(out, ", ");
            put_number(out, result->put_off);
            base_buf_puts(out, " put off");
        }
    } else {
        base_buf_puts(out, "nothing was corrected: ");
        if (result->left) {
            base_buf_puts(out, "it would not have been safe at ");
            put_counted(out, result->left, " call", " calls");
        } else {
            base_buf_puts(out, result->met
                                   ? "there was nothing to wait for at the places of the plan"
                                   : "the program did not reach the places of the plan");
        }
    }
    put_times(out, times);
    if (result->has_peak) {
        base_buf_puts(out, "; peak ");
        report_put_bytes(out, result->peak_bytes);
        base_buf_puts(out, ", was ");
        report_put_bytes(out, result->native_peak_bytes);
    }
}
