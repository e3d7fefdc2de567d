// SPDX-License-Identifier: Apache-2.0
// Adds notes that a reader must know to judge the numbers of a profile: what is missing, and what
// was not watched.
#include <string.h>

#include "data.h"
#include "findings.h"
#include "units.h"

enum {
    MOST_REASONS = 10,
    MOST_NAMES = 4,
    NATURAL_BYTES = 16, // the largest scalar that one access moves
};

// Adds a note and frees the text. Returns false when memory ran out.
static bool add_note(struct report_data *data, enum profile_severity severity,
                     struct base_buf *text)
{
    struct report_note *row = base_array_push(&data->notes);
    char *kept =
        row && !text->failed ? base_alloc_text(&data->arena, text->text, text->length) : NULL;
    if (kept)
        *row = (struct report_note){severity, kept};
    else if (row)
        data->notes.count--;
    base_buf_fini(text);
    *text = (struct base_buf){0};
    return kept != NULL;
}

// Kernels that were not watched, or only in part, for one reason.
enum blindness { NOT_WATCHED, PARTLY_WATCHED, PASSED, BLINDNESSES };
struct blind {
    const char *reason; // NULL: unknown
    enum blindness how;
    uint64_t count;
    struct base_buf names; // names of the first few kernels
};

static void put_blind(struct base_buf *out, const struct blind *blind)
{
    static const char *const words[BLINDNESSES][2] = {
        [NOT_WATCHED] = {"was not watched", "were not watched"},
        [PARTLY_WATCHED] = {"was watched in part", "were watched in part"},
        [PASSED] = {"is known only by its arguments", "are known only by their arguments"},
    };
    const char *names = blind->names.text ? blind->names.text : "";
    if (blind->count == 1)
        base_buf_printf(out, "kernel %s %s", names, words[blind->how][0]);
    else
        base_buf_printf(out, "%llu kernels %s", (unsigned long long)blind->count,
                        words[blind->how][1]);
    if (blind->reason)
        base_buf_printf(out, ": %s", blind->reason);
    if (blind->count > 1)
        base_buf_printf(out, " (%s%s)", names, blind->count > MOST_NAMES ? ", ..." : "");
}

static enum blindness blindness_of(const struct report_kernel *kernel)
{
    if (kernel->facts)
        return PARTLY_WATCHED;
    return kernel->passed && kernel->passed >= kernel->sum.count ? PASSED : NOT_WATCHED;
}

static bool add_kernel_notes(struct report_data *data)
{
    struct blind blinds[MOST_REASONS] = {{0}};
    unsigned count = 0;
    uint64_t more = 0; // kernels with reasons beyond the limit
    bool good = true;
    for (size_t i = 0; i < data->kernel_rows.count; i++) {
        const struct report_kernel *kernel = &data->kernel_rows.items[i];
        if (!kernel->probed || kernel->sum.count == 0 || (kernel->facts && !kernel->reason))
            continue;
        unsigned at = 0;
        const enum blindness how = blindness_of(kernel);
        while (at < count && // equal texts have equal pointers
               (blinds[at].reason != kernel->reason || blinds[at].how != how))
            at++;
        if (at == MOST_REASONS) {
            more++;
            continue;
        }
        struct blind *blind = &blinds[at];
        if (at == count)
            count++;
        blind->how = how;
        blind->reason = kernel->reason;
        if (blind->count++ < MOST_NAMES)
            base_buf_printf(&blind->names, "%s%s", blind->count > 1 ? ", " : "",
                            kernel->short_name);
        good &= !blind->names.failed;
    }
    struct base_buf text = {0};
    for (unsigned i = 0; i < count; i++) {
        put_blind(&text, &blinds[i]);
        good &= add_note(data, blinds[i].how == PASSED ? PROFILE_INFO : PROFILE_WARNING, &text);
        base_buf_fini(&blinds[i].names);
    }
    if (more) {
        base_buf_printf(&text, "%llu more kernels were not watched, or only in part",
                        (unsigned long long)more);
        good &= add_note(data, PROFILE_WARNING, &text);
    }
    return good;
}

static bool add_use_notes(struct report_data *data)
{
    struct base_buf text = {0};
    bool good = add_kernel_notes(data);
    if (data->sample > 1) {
        base_buf_printf(&text,
                        "only one launch in %llu of each kernel was watched: sums of accesses "
                        "cover those launches",
                        (unsigned long long)data->sample);
        good &= add_note(data, PROFILE_INFO, &text);
    }
    if (data->capture_range) {
        base_buf_puts(&text, "only launches ");
        if (strcmp(data->capture_range, "profiler") == 0)
            base_buf_puts(&text, "between cudaProfilerStart and cudaProfilerStop");
        else
            base_buf_printf(&text, "in the range %s", data->capture_range);
        base_buf_puts(&text, " were watched: what others access is unknown");
        good &= add_note(data, PROFILE_INFO, &text);
    }
    if (data->kernels_wanted) {
        base_buf_printf(&text, "only kernels that match '%s' were watched", data->kernels_wanted);
        good &= add_note(data, PROFILE_INFO, &text);
    }
    uint64_t coarse = 0, coarsest = 0;
    for (size_t i = 0; i < data->objects.count; i++) {
        const struct report_use *use = &data->objects.items[i].use;
        coarse += use->element_bytes > NATURAL_BYTES;
        if (use->element_bytes > coarsest)
            coarsest = use->element_bytes;
    }
    if (coarse) {
        base_buf_printf(&text,
                        "accesses to %llu object%s are known for pieces of up to %llu bytes, "
                        "not for elements",
                        (unsigned long long)coarse, coarse == 1 ? "" : "s",
                        (unsigned long long)coarsest);
        good &= add_note(data, PROFILE_INFO, &text);
    }
    return good;
}

static bool add_correction_note(struct report_data *data)
{
    struct base_buf text = {0};
    unsigned told = 0;
    if (!data->corrected)
        return true;
    base_buf_puts(&text, "this run was corrected by glint fix: ");
    for (unsigned i = 0; i < PROFILE_REMEDIES; i++) {
        const struct report_correction *of = &data->corrections[i];
        if (of->calls)
            base_buf_printf(&text, "%s%s at %llu place%s (%llu call%s)", told++ ? ", " : "",
                            profile_remedy_word((enum profile_remedy)i),
                            (unsigned long long)of->places, of->places == 1 ? "" : "s",
                            (unsigned long long)of->calls, of->calls == 1 ? "" : "s");
    }
    base_buf_puts(&text, told ? "" : "nothing was applied");
    return add_note(data, PROFILE_WARNING, &text);
}

// Adds the reasons why accesses of launches are unknown, each with its number of launches.
static void put_reasons(struct base_buf *out, const struct analysis *analysis)
{
    static const char *const reasons[ANALYZE_UNSEEN_REASONS] = {
        [ANALYZE_UNSEEN_UNWATCHED] = "not watched, or only in part",
        [ANALYZE_UNSEEN_POINTER] = "an argument points outside every object",
        [ANALYZE_UNSEEN_LEFT] = "accesses outside the object that they were expected in",
        [ANALYZE_UNSEEN_TEXTURE] = "may read through a texture or surface bound to linear memory",
        [ANALYZE_UNSEEN_WRAPPED] = "an index wrapped around in a loop",
        [ANALYZE_UNSEEN_WORK] = "work on a stream whose accesses are not observed",
        [ANALYZE_UNSEEN_UNTOLD] = "ended or failed before its results were read back",
    };
    const char *between = "";
    for (unsigned i = 0; i < ANALYZE_UNSEEN_REASONS; i++) {
        const uint64_t count = analyze_unseen_because(analysis, (enum analyze_unseen)i);
        if (count == 0)
            continue;
        base_buf_printf(out, "%s%s (%llu)", between, reasons[i], (unsigned long long)count);
        between = "; ";
    }
}

// Adds a note if launches are known by their arguments.
static bool add_passed_note(struct report_data *data)
{
    struct base_buf text = {0};
    const uint64_t passed = analyze_passed_launches(data->analysis);
    if (passed == 0 || data->objects.count == 0)
        return true;
    base_buf_printf(&text,
                    "%llu launch%s known only by %s arguments: an object is taken to be used if an "
                    "argument points to it, and nothing is reported that depends on how",
                    (unsigned long long)passed, passed == 1 ? " is" : "es are",
                    passed == 1 ? "its" : "their");
    return add_note(data, PROFILE_INFO, &text);
}

// Adds a note if findings may be missing.
static bool add_finding_notes(struct report_data *data)
{
    struct base_buf text = {0};
    uint64_t unseen = analyze_unseen_launches(data->analysis);
    if (analyze_is_incomplete(data->analysis)) {
        base_buf_puts(&text, "calls or objects are missing: patterns that need all of them were "
                             "not searched for");
        return add_note(data, PROFILE_WARNING, &text);
    }
    if (!add_passed_note(data))
        return false;
    if (unseen == 0 || data->objects.count == 0)
        return true;
    base_buf_printf(&text,
                    "what %llu launch%s did to memory is unknown, so nothing is reported that "
                    "depends on %s: ",
                    (unsigned long long)unseen, unseen == 1 ? "" : "es",
                    unseen == 1 ? "it" : "them");
    put_reasons(&text, data->analysis);
    // Unwatched kernels already have notes, so only other reasons make this a warning.
    const bool others = analyze_unseen_because(data->analysis, ANALYZE_UNSEEN_UNWATCHED) < unseen;
    return add_note(data, others ? PROFILE_WARNING : PROFILE_INFO, &text);
}

bool report_lacks_first_uses(const struct report_data *data)
{
    bool off = false;
    for (size_t i = 0; i < data->settings.count; i++)
        off |= strcmp(data->settings.items[i].name, "sync_tracking") == 0 &&
               strcmp(data->settings.items[i].value, "off") == 0;
    return off && !data->corrected;
}

void report_put_waits(const struct report_data *data, struct base_buf *out)
{
    struct report_sum waits = {0};
    for (size_t i = 0; i < data->wait_rows.count; i++) {
        waits.count += data->wait_rows.items[i].sum.count;
        waits.total_ns += data->wait_rows.items[i].sum.total_ns;
    }
    if (!waits.count)
        return;
    report_put_count(waits.count, out);
    base_buf_puts(out, waits.count == 1 ? " call waited for the GPU" : " calls waited for the GPU");
    if (waits.total_ns && !profile_program(data->profile)->simulated) {
        base_buf_puts(out, ", ");
        report_put_ns(out, waits.total_ns);
        base_buf_puts(out, report_lacks_first_uses(data)
                               ? " in total, the most that removing waits gains"
                               : " in total");
    }
    if (report_lacks_first_uses(data))
        base_buf_printf(out, "; glint record --analyses sync finds %s needed",
                        waits.count == 1 ? "whether it was" : "which were");
}

// Adds the note on waits only if it suggests a command.
static bool add_wait_note(struct report_data *data)
{
    struct base_buf text = {0};
    if (report_lacks_first_uses(data))
        report_put_waits(data, &text);
    return text.length == 0 || add_note(data, PROFILE_INFO, &text);
}

static bool add_unknown_waits_note(struct report_data *data)
{
    struct base_buf text = {0};
    return !report_put_unknown_waits(data, &text) || add_note(data, PROFILE_INFO, &text);
}

static bool add_contents_note(struct report_data *data)
{
    struct base_buf text = {0};
    return !report_put_unseen_contents(data, &text) || add_note(data, PROFILE_INFO, &text);
}

// Functions of a newer driver, each in a note of its own, in one sentence.
static bool add_unknown_functions(struct report_data *data)
{
    enum { NAMED = 6 };
    static const char prefix[] = "unknown driver function: ";
    const size_t length = sizeof(prefix) - 1;
    struct base_buf names = {0}, text = {0};
    size_t count = 0;
    for (size_t i = 0; i < data->notes.count; i++) {
        const char *note = data->notes.items[i].text;
        if (strncmp(note, prefix, length) != 0)
            continue;
        if (count++ < NAMED)
            base_buf_printf(&names, "%s%s", names.length ? ", " : "", note + length);
    }
    if (count) {
        base_buf_printf(&text,
                        "the program asked for %zu driver function%s newer than this glint "
                        "(%s",
                        count, count == 1 ? "" : "s", names.text ? names.text : "");
        if (count > NAMED)
            base_buf_printf(&text, " and %zu more", count - NAMED);
        base_buf_puts(&text, "): what such functions do is not recorded");
    }
    base_buf_fini(&names);
    return !count || add_note(data, PROFILE_WARNING, &text);
}

static bool add_unfinished_note(struct report_data *data)
{
    const uint64_t count = analyze_unfinished_calls(data->analysis);
    struct base_buf text = {0};
    if (!count)
        return true;
    base_buf_printf(&text,
                    "%llu call%s had not returned when the program ended: nothing is reported that "
                    "could depend on what %s did",
                    (unsigned long long)count, count == 1 ? "" : "s", count == 1 ? "it" : "they");
    return add_note(data, PROFILE_INFO, &text);
}

bool report_lacks_lines(const struct report_data *data)
{
    bool lacks = false;
    for (size_t i = 0; i < data->objects.count; i++) {
        const struct profile_frame *place = report_place(data, data->objects.items[i].path);
        if (place && place->file)
            return false;
        lacks |= place != NULL;
    }
    for (size_t i = 0; i < analyze_finding_count(data->analysis); i++) {
        const struct profile_frame *place =
            report_place(data, analyze_finding(data->analysis, i)->path);
        if (place && place->file)
            return false;
        lacks |= place != NULL;
    }
    return lacks;
}

static bool add_line_note(struct report_data *data)
{
    struct base_buf text = {0};
    if (!report_lacks_lines(data))
        return true;
    base_buf_puts(&text, REPORT_NO_LINES);
    return add_note(data, PROFILE_INFO, &text);
}

bool report_add_suppressed_note(struct report_data *data)
{
    struct base_buf text = {0};
    if (!data->suppressed)
        return true;
    base_buf_printf(&text, "%zu finding%s suppressed by the file of rules", data->suppressed,
                    data->suppressed == 1 ? " is" : "s are");
    return add_note(data, PROFILE_INFO, &text);
}

bool report_add_notes(struct report_data *data)
{
    const struct profile_program *program = profile_program(data->profile);
    struct base_buf text = {0};
    bool good = add_correction_note(data) && add_unknown_functions(data) && add_line_note(data);
    if (!profile_meta(data->profile)->complete) {
        base_buf_puts(&text, "this profile is incomplete: its recorder was killed, could not "
                             "write, or is still writing");
        good &= add_note(data, PROFILE_WARNING, &text);
    }
    for (size_t i = 0; i < data->dropped.count; i++) {
        const struct report_dropped *dropped = &data->dropped.items[i];
        if (dropped->count == 0 || strcmp(dropped->kind, PROFILE_UNFINISHED) == 0)
            continue;
        base_buf_printf(&text, "lost before they reached the recorder: %llu records of kind %s",
                        (unsigned long long)dropped->count, dropped->kind);
        good &= add_note(data, PROFILE_WARNING, &text);
    }
    if (!analyze_is_incomplete(data->analysis))
        good &= add_unfinished_note(data);
    else if (program->has_end && program->calls_made > data->calls) {
        base_buf_printf(&text, "the program made %llu calls, of which %llu are not in the profile",
                        (unsigned long long)program->calls_made,
                        (unsigned long long)(program->calls_made - data->calls));
        good &= add_note(data, PROFILE_WARNING, &text);
    }
    if (program->argument_count && !program->timestamps) {
        base_buf_puts(&text, "GPU times were not recorded");
        good &= add_note(data, PROFILE_INFO, &text);
    }
    return good && add_use_notes(data) && add_finding_notes(data) && add_contents_note(data) &&
           add_wait_note(data) && add_unknown_waits_note(data);
}
