// SPDX-License-Identifier: Apache-2.0
// Finds the places that a profile suggests, applies the user's choice, makes the plan, and
// describes all three in words.
#include "fix_choice.h"

#include <stdlib.h>
#include <string.h>

bool cli_fix_has_remedy(const struct analyze_description *pattern)
{
    return pattern->correction != NULL;
}

// Lists the patterns that have a remedy: those about waits first, then those about memory. Returns
// their number.
static unsigned list_remedies(enum analyze_pattern list[ANALYZE_PATTERNS])
{
    unsigned count = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < ANALYZE_PATTERNS; i++) {
            const struct analyze_description *pattern = analyze_describe((enum analyze_pattern)i);
            if (cli_fix_has_remedy(pattern) &&
                (pattern->needs == ANALYZE_INPUT_SYNC) == (pass == 0))
                list[count++] = (enum analyze_pattern)i;
        }
    }
    return count;
}

void cli_fix_put_patterns(struct base_buf *out, const char *between)
{
    enum analyze_pattern list[ANALYZE_PATTERNS];
    const unsigned count = list_remedies(list);
    for (unsigned i = 0; i < count; i++)
        base_buf_printf(out, "%s%s", i ? between : "", analyze_pattern_word(list[i]));
}

// --- The choice ----------------------------------------------------------------------------------

// Marks the places that the word selects: all of a pattern, or those whose call path contains it.
// Returns false after a message.
static bool mark_word(const struct cli_fix_subject *subject, const char *option, const char *word,
                      unsigned char *marks)
{
    const enum analyze_pattern pattern = analyze_find_pattern(word, strlen(word));
    bool any = pattern != ANALYZE_PATTERNS; // a pattern without places is not an error
    if (any && !cli_fix_has_remedy(analyze_describe(pattern))) {
        struct base_buf known = {0};
        cli_fix_put_patterns(&known, " ");
        cli_message("--%s: glint fix has no remedy for %s; it has those for %s", option, word,
                    known.text ? known.text : "");
        base_buf_fini(&known);
        return false;
    }
    for (size_t i = 0; i < subject->fix.places.count; i++) {
        const struct fix_place *place = &subject->fix.places.items[i];
        const bool meant =
            pattern != ANALYZE_PATTERNS
                ? place->pattern == pattern
                : report_paths_lead_through(subject->paths, place->path, word) ||
                      report_paths_lead_through(subject->paths, place->other_path, word);
        marks[i] |= meant;
        any |= meant;
    }
    if (!any) {
        struct base_buf known = {0};
        cli_fix_put_patterns(&known, " ");
        cli_message("--%s: '%s' is neither a pattern that has a remedy nor a function or file of a "
                    "place that can be corrected%s",
                    option, word, known.text ? cli_nearest_of(word, known.text).text : "");
        base_buf_fini(&known);
    }
    return any;
}

static bool mark_lists(const struct cli_fix_subject *subject, const char *option,
                       const char *const *lists, unsigned count, unsigned char *marks)
{
    bool good = true;
    for (unsigned i = 0; i < count && good; i++) {
        for (const char *at = lists[i]; at && good;) {
            const size_t length = strcspn(at, ",");
            char *word = strndup(at, length);
            good = word && mark_word(subject, option, word, marks);
            if (!word)
                cli_no_memory();
            free(word);
            at = at[length] ? at + length + 1 : NULL;
        }
    }
    return good;
}

static bool choose(struct cli_fix_subject *subject, const struct cli_fix_choice *choice)
{
    const size_t count = subject->fix.places.count;
    unsigned char *only = calloc(count + 1, 1), *except = calloc(count + 1, 1);
    bool good = only && except;
    if (!good)
        cli_no_memory();
    good = good && mark_lists(subject, "only", choice->only, choice->only_count, only) &&
           mark_lists(subject, "except", choice->except, choice->except_count, except);
    for (size_t i = 0; i < count && good; i++) {
        if (except[i] || (choice->only_count && !only[i]))
            subject->fix.places.items[i].left = FIX_CHOSEN;
    }
    free(only);
    free(except);
    return good;
}

// --- Loading -------------------------------------------------------------------------------------

static enum base_code read_paths(struct cli_fix_subject *subject, struct base_error *error)
{
    const size_t count = subject->fix.places.count;
    uint32_t *numbers = calloc(2 * count + 1, sizeof(*numbers));
    BASE_RETURN_IF_NO_MEMORY(!numbers, error);
    for (size_t i = 0; i < count; i++) {
        numbers[2 * i] = subject->fix.places.items[i].path;
        numbers[2 * i + 1] = subject->fix.places.items[i].other_path;
    }
    const enum base_code code =
        report_paths_read(subject->profile, numbers, 2 * count, &subject->paths, error);
    free(numbers);
    return code;
}

struct wanted_setting {
    const char *name;
    const char *value;
};

static bool take_setting(void *user, const struct profile_setting *setting)
{
    struct wanted_setting *wanted = user;
    if (setting->name && strcmp(setting->name, wanted->name) == 0)
        wanted->value = setting->value;
    return !wanted->value;
}

// Returns the value of a setting of the recording; NULL: the profile does not have it.
static const char *setting_of(const struct cli_fix_subject *subject, const char *name)
{
    struct wanted_setting wanted = {name, NULL};
    profile_each_setting(subject->profile, take_setting, &wanted, NULL);
    return wanted.value;
}

// Rejects profiles from which no safe plan can be made.
static enum base_code judge(const struct cli_fix_subject *subject, const char *file,
                            struct base_error *error)
{
    BASE_RETURN_IF(!profile_meta(subject->profile)->complete, error, BASE_INVALID,
                   "%s is incomplete: waits that look unneeded may be needed; record again", file);
    BASE_RETURN_IF(
        setting_of(subject, FIX_SETTING), error, BASE_INVALID,
        "%s was recorded by glint fix, which removes waits; record again with glint record", file);
    return BASE_OK;
}

static bool take_note(void *user, const struct profile_note *note)
{
    static const char given_up[] = "first uses are not watched";
    struct cli_fix_subject *subject = user;
    if (note->text && strncmp(note->text, given_up, sizeof(given_up) - 1) == 0)
        base_buf_visible(&subject->given_up, base_str(note->text), "");
    return !subject->given_up.length;
}

bool cli_fix_subject_load(struct cli_fix_subject *subject, const char *file,
                          const struct cli_fix_choice *choice)
{
    struct base_error error = {0};
    enum base_code code = profile_open(file, &subject->profile, &error);
    if (code == BASE_OK)
        code = judge(subject, file, &error);
    if (code == BASE_OK)
        code = analyze_profile(subject->profile, &choice->thresholds, &subject->analysis, &error);
    if (code == BASE_OK && analyze_is_incomplete(subject->analysis))
        code = base_fail(&error, BASE_INVALID,
                         "%s lacks records: waits that look unneeded may be needed; record again",
                         file);
    if (code == BASE_OK)
        code = fix_find(subject->profile, subject->analysis, &subject->fix, &error);
    if (code == BASE_OK)
        code = profile_each_note(subject->profile, take_note, subject, &error);
    if (code == BASE_OK)
        code = read_paths(subject, &error);
    if (code == BASE_OK && !choose(subject, choice))
        return false;
    if (code == BASE_OK)
        code = fix_plan(subject->profile, &subject->fix, &subject->plan, &error);
    if (code != BASE_OK)
        cli_error(&error);
    return code == BASE_OK;
}

void cli_fix_subject_fini(struct cli_fix_subject *subject)
{
    base_buf_fini(&subject->given_up);
    report_paths_free(subject->paths);
    plan_fini(&subject->plan);
    fix_fini(&subject->fix);
    analyze_free(subject->analysis);
    profile_close(subject->profile);
}

// --- Text for the user ---------------------------------------------------------------------------

uint64_t cli_fix_subject_places(const struct cli_fix_subject *subject, enum analyze_pattern pattern)
{
    uint64_t count = 0;
    for (size_t i = 0; i < subject->fix.places.count; i++) {
        const struct fix_place *place = &subject->fix.places.items[i];
        count += !place->left && (pattern == ANALYZE_PATTERNS || place->pattern == pattern);
    }
    return count;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void put_path(const struct cli_fix_subject *subject, uint32_t path, struct base_buf *out)
{
    const size_t before = out->length;
    report_paths_put(subject->paths, path, out);
    if (out->length == before)
        base_buf_puts(out, "an unknown call path");
}

// "step solver.cu:31 < main solver.cu:60: 400 calls, waited 1.2 s".
static void put_place(const struct cli_fix_subject *subject, const struct fix_place *place,
                      struct base_buf *out)
{
    base_buf_puts(out, "  ");
    if (place->name) {
        base_buf_putc(out, '`');
        base_buf_visible(out, base_str(place->name), "");
        base_buf_puts(out, "`, ");
    }
    put_path(subject, place->path, out);
    if (place->remedy == PLAN_POOL) {
        base_buf_puts(out, ", allocated by ");
        put_path(subject, place->other_path, out);
    } else if (place->other_path) {
        base_buf_puts(out, ", last used by ");
        put_path(subject, place->other_path, out);
    }
    base_buf_printf(out, ": %llu call%s", (unsigned long long)place->calls, plural(place->calls));
    if (place->waited_ns) {
        base_buf_puts(out, ", waited ");
        report_put_ns(out, place->waited_ns);
    }
    if (place->saved_ns) {
        base_buf_puts(out, ", saves ");
        report_put_ns(out, place->saved_ns);
    }
    if (place->peak_bytes) {
        base_buf_puts(out, ", saves ");
        report_put_bytes(out, place->peak_bytes);
        base_buf_puts(out, " off the peak");
    }
    base_buf_putc(out, '\n');
}

static void put_left(const struct cli_fix_subject *subject, struct base_buf *out)
{
    static const char *const reasons[FIX_LEFT] = {
        [FIX_CHOSEN] = "as --only and --except say",
        [FIX_NEEDED] = "the wait was needed there, or may have been",
        [FIX_TIMED] = "the program measures a time there",
        [FIX_SMALL] = "the object is too small",
        [FIX_NO_PEAK] = "the object is not in use at a peak, or the peak would stay the same",
        [FIX_PASSED] = "kernels without probes may use the object unseen",
        [FIX_COSTLY] = "pinning memory for the copy would take longer than it saves",
        [FIX_POOLED] = "the memory comes from the pool",
        [FIX_UNSURE] = "the call path is uncertain: it contains code without a build id",
    };
    const struct fix *fix = &subject->fix;
    base_buf_puts(out, "not corrected\n");
    const size_t before = out->length;
    for (unsigned left = FIX_CHOSEN; left < FIX_LEFT; left++) {
        uint64_t count = 0;
        for (size_t i = 0; i < fix->places.count; i++)
            count += fix->places.items[i].left == left;
        if (count)
            base_buf_printf(out, "  %llu place%s: %s\n", (unsigned long long)count, plural(count),
                            reasons[left]);
    }
    if (fix->needed_paths)
        base_buf_printf(out, "  %llu call path%s that wait%s: data was needed there\n",
                        (unsigned long long)fix->needed_paths, plural(fix->needed_paths),
                        fix->needed_paths == 1 ? "s" : "");
    if (fix->unknown_paths)
        base_buf_printf(out,
                        "  %llu call path%s that wait%s: whether data was needed there "
                        "is unknown\n",
                        (unsigned long long)fix->unknown_paths, plural(fix->unknown_paths),
                        fix->unknown_paths == 1 ? "s" : "");
    if (subject->given_up.length)
        base_buf_printf(out, "  waits and copies: %s\n", subject->given_up.text);
    if (out->length == before)
        base_buf_puts(out, "  nothing\n");
}

void cli_fix_subject_put(const struct cli_fix_subject *subject, struct base_buf *out)
{
    uint64_t places = cli_fix_subject_places(subject, ANALYZE_PATTERNS), patterns = 0;
    enum analyze_pattern list[ANALYZE_PATTERNS];
    const unsigned count = list_remedies(list);
    for (unsigned i = 0; i < count; i++)
        patterns += cli_fix_subject_places(subject, list[i]) > 0;
    base_buf_printf(out, "%llu remed%s at %llu place%s\n\n", (unsigned long long)patterns,
                    patterns == 1 ? "y" : "ies", (unsigned long long)places, plural(places));
    for (unsigned i = 0; i < count; i++) {
        const struct analyze_description *pattern = analyze_describe(list[i]);
        if (!cli_fix_subject_places(subject, list[i]))
            continue;
        base_buf_printf(out, "%s: %s\n", pattern->name, pattern->correction);
        for (size_t k = 0; k < subject->fix.places.count; k++) {
            const struct fix_place *place = &subject->fix.places.items[k];
            if (!place->left && place->pattern == list[i])
                put_place(subject, place, out);
        }
    }
    put_left(subject, out);
}

bool cli_fix_subject_why_nothing(const struct cli_fix_subject *subject, struct base_buf *out)
{
    const char *tracking = setting_of(subject, "sync_tracking");
    if (cli_fix_subject_places(subject, ANALYZE_PATTERNS))
        return false;
    base_buf_puts(out, "nothing to correct: ");
    if (!tracking || strcmp(tracking, "off") == 0)
        base_buf_puts(out, "the profile was recorded without --analyses sync, so it is unknown "
                           "which waits are needed");
    else if (subject->fix.places.count)
        base_buf_puts(out, "no place is corrected; 'glint fix --dry-run' says why");
    else if (subject->fix.needed_paths || subject->fix.unknown_paths)
        base_buf_printf(out, "data was needed at %llu call path%s, and it is unknown for %llu",
                        (unsigned long long)subject->fix.needed_paths,
                        subject->fix.needed_paths == 1 ? " that waits" : "s that wait",
                        (unsigned long long)subject->fix.unknown_paths);
    else
        base_buf_puts(out, "no call path waits without need, and no memory is held too long");
    return true;
}
