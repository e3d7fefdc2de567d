// SPDX-License-Identifier: Apache-2.0
// Reads a job profile: its texts, call paths and profiles, and then the rows of each table, which
// are in the order of their keys. The rows of one key are summed up when the next key begins, so
// memory is needed for one number of each profile at a time.
#include "job_data.h"

#include <stdlib.h>
#include <string.h>

#include "job_rows.h"
#include "units.h"

// --- Queries -------------------------------------------------------------------------------------

static bool take_columns(void *user, unsigned count, const char *const *names)
{
    (void)user;
    (void)count;
    (void)names;
    return true;
}

enum base_code report_job_query(struct report_job_reading *reading, const char *sql,
                                bool (*take)(void *user, unsigned count,
                                             const struct profile_cell *cells))
{
    const struct profile_sink sink = {take_columns, take, reading};
    const enum base_code code = profile_query(reading->job->profile, sql, &sink, reading->error);
    if (code != BASE_OK)
        return code == BASE_INVALID
                   ? base_fail(reading->error, BASE_CORRUPT, "the job profile is damaged")
                   : code;
    BASE_RETURN_IF_NO_MEMORY(reading->no_memory, reading->error);
    BASE_RETURN_IF(reading->damaged, reading->error, BASE_CORRUPT, "the job profile is damaged");
    return BASE_OK;
}

const char *report_job_text_at(struct report_job_reading *reading, const struct profile_cell *cell)
{
    const struct report_job *job = reading->job;
    if (cell->kind == PROFILE_CELL_NULL || (cell->kind == PROFILE_CELL_INTEGER && !cell->integer))
        return NULL;
    if (cell->kind == PROFILE_CELL_INTEGER && cell->integer > 0 &&
        (uint64_t)cell->integer <= job->texts.count)
        return job->texts.items[cell->integer - 1];
    reading->damaged = true;
    return NULL;
}

const struct job_place *report_job_place_at(struct report_job_reading *reading,
                                            const struct profile_cell *cell)
{
    const struct report_job *job = reading->job;
    if (cell->kind == PROFILE_CELL_INTEGER && cell->integer == 0)
        return NULL;
    if (cell->kind == PROFILE_CELL_INTEGER && cell->integer > 0 &&
        (uint64_t)cell->integer <= job->places.count)
        return &job->places.items[cell->integer - 1];
    reading->damaged = true;
    return NULL;
}

size_t report_job_profile_at(struct report_job_reading *reading, const struct profile_cell *cell)
{
    if (cell->kind == PROFILE_CELL_INTEGER && cell->integer > 0 &&
        (uint64_t)cell->integer <= reading->job->profiles.count)
        return (size_t)cell->integer - 1;
    reading->damaged = true;
    return 0;
}

static uint64_t number_at(const struct profile_cell *cell)
{
    return cell->kind == PROFILE_CELL_INTEGER ? (uint64_t)cell->integer : 0;
}

// --- Texts, call paths and profiles --------------------------------------------------------------

static bool take_text(void *user, unsigned count, const struct profile_cell *cells)
{
    struct report_job_reading *reading = user;
    struct report_job *job = reading->job;
    const char **slot = base_array_push(&job->texts);
    (void)count;
    if (slot && cells[1].kind == PROFILE_CELL_TEXT)
        *slot = base_alloc_text(&job->arena, cells[1].bytes.text, cells[1].bytes.length);
    reading->damaged |=
        cells[1].kind != PROFILE_CELL_TEXT || number_at(&cells[0]) != job->texts.count;
    reading->no_memory |= !slot || !*slot;
    return !reading->damaged && !reading->no_memory;
}

static bool take_place(void *user, unsigned count, const struct profile_cell *cells)
{
    struct report_job_reading *reading = user;
    struct job_place *place = base_array_push(&reading->job->places);
    (void)count;
    if (place)
        *place = (struct job_place){
            report_job_text_at(reading, &cells[1]), report_job_text_at(reading, &cells[2]),
            report_job_text_at(reading, &cells[3]), (uint32_t)number_at(&cells[4])};
    reading->no_memory |= !place;
    reading->damaged |= number_at(&cells[0]) != reading->job->places.count;
    return !reading->damaged && !reading->no_memory;
}

static bool take_profile(void *user, unsigned count, const struct profile_cell *cells)
{
    struct report_job_reading *reading = user;
    struct report_job_profile *to = base_array_push(&reading->job->profiles);
    (void)count;
    if (!to) {
        reading->no_memory = true;
        return false;
    }
#define NUMBER(name) number_at(&cells[JOB_PROFILES_##name])
#define KNOWN(name)  (cells[JOB_PROFILES_##name].kind == PROFILE_CELL_INTEGER)
#define TEXT(name)   report_job_text_at(reading, &cells[JOB_PROFILES_##name])
    *to = (struct report_job_profile){
        .has_rank = KNOWN(rank),
        .has_ranks = KNOWN(ranks),
        .has_code = KNOWN(code),
        .has_run = KNOWN(run_ns),
        .has_possible = KNOWN(possible_ns),
        .rank = NUMBER(rank),
        .ranks = NUMBER(ranks),
        .host = TEXT(host),
        .job = TEXT(job),
        .launcher = TEXT(launcher),
        .file = TEXT(file),
        .executable = TEXT(executable),
        .arguments = TEXT(arguments),
        .ended = TEXT(ended),
        .glint = TEXT(glint),
        .pid = (int64_t)NUMBER(pid),
        .code = (int64_t)NUMBER(code),
        .start_unix_ns = (int64_t)NUMBER(start_unix_ns),
        .clock_offset_ns = (int64_t)NUMBER(clock_offset_ns),
        .complete = NUMBER(complete) != 0,
        .simulated = NUMBER(simulated) != 0,
        .unsearched = NUMBER(unsearched) != 0,
        .calls = NUMBER(calls),
        .failed_calls = NUMBER(failed_calls),
        .launches = NUMBER(launches),
        .objects = NUMBER(objects),
        .dropped = NUMBER(dropped),
        .peak_bytes = NUMBER(peak_bytes),
        .achievable_bytes = NUMBER(achievable_bytes),
        .run_ns = NUMBER(run_ns),
        .possible_ns = NUMBER(possible_ns),
        .kernel_ns = NUMBER(kernel_ns),
        .waits = NUMBER(waits),
        .waited_ns = NUMBER(waited_ns),
        .findings = NUMBER(findings),
        .worthwhile = NUMBER(worthwhile),
        .all_waits = NUMBER(all_waits),
        .recorded = TEXT(recorded),
        .observed = {NUMBER(by_probes), NUMBER(by_arguments), NUMBER(unobserved)}};
    reading->damaged |= NUMBER(number) != reading->job->profiles.count;
#undef NUMBER
#undef KNOWN
#undef TEXT
    return !reading->damaged;
}

static bool take_unmerged(void *user, unsigned count, const struct profile_cell *cells)
{
    struct report_job_reading *reading = user;
    struct report_job_unmerged *to = base_array_push(&reading->job->unmerged);
    (void)count;
    reading->no_memory |= !to;
    if (!to)
        return false;
    *to = (struct report_job_unmerged){report_job_text_at(reading, &cells[0]),
                                       report_job_text_at(reading, &cells[1])};
    reading->damaged |= !to->file || !to->reason;
    return !reading->damaged;
}

static bool take_note(void *user, unsigned count, const struct profile_cell *cells)
{
    struct report_job_reading *reading = user;
    struct report_job_note *to = base_array_push(&reading->job->notes);
    (void)count;
    reading->no_memory |= !to;
    if (!to)
        return false;
    *to = (struct report_job_note){report_job_text_at(reading, &cells[0]),
                                   report_job_text_at(reading, &cells[1]), number_at(&cells[2])};
    reading->damaged |= !to->severity || !to->text;
    return !reading->damaged;
}

static int severity_of(const struct report_job_note *note)
{
    for (int severity = PROFILE_ERROR; severity > PROFILE_INFO; severity--) {
        if (strcmp(profile_severity_word((enum profile_severity)severity), note->severity) == 0)
            return severity;
    }
    return PROFILE_INFO;
}

static int compare_notes(const void *a, const void *b)
{
    const struct report_job_note *left = a, *right = b;
    const int more = severity_of(right) - severity_of(left);
    if (more)
        return more;
    if (left->profiles != right->profiles)
        return left->profiles < right->profiles ? 1 : -1;
    return strcmp(left->text, right->text);
}

static enum base_code read_notes(struct report_job_reading *reading)
{
    struct report_job *job = reading->job;
    const enum base_code code = report_job_query(
        reading,
        "SELECT severity, text, COUNT(DISTINCT profile) FROM notes GROUP BY severity, text",
        take_note);
    if (code == BASE_OK && job->notes.count)
        qsort(job->notes.items, job->notes.count, sizeof(job->notes.items[0]), compare_notes);
    return code;
}

static enum base_code read_profiles(struct report_job_reading *reading)
{
    struct base_buf sql = {0};
#define COLUMN(name, type, role) base_buf_puts(&sql, sql.length ? ", " #name : "SELECT " #name);
    JOB_PROFILE_COLUMNS(COLUMN)
#undef COLUMN
    base_buf_puts(&sql, " FROM profiles ORDER BY number");
    enum base_code code = sql.failed ? base_no_memory(reading->error)
                                     : report_job_query(reading, sql.text, take_profile);
    base_buf_fini(&sql);
    return code;
}

// --- What the profiles say together --------------------------------------------------------------

// Returns the number of ranks that most profiles say; 0 if none does.
static uint64_t count_ranks(const struct report_job *job)
{
    uint64_t ranks = 0;
    size_t votes = 0;
    for (size_t i = 0; i < job->profiles.count; i++) { // the majority, if there is one
        const struct report_job_profile *profile = &job->profiles.items[i];
        if (!profile->has_ranks)
            continue;
        if (votes == 0)
            ranks = profile->ranks;
        votes = profile->ranks == ranks ? votes + 1 : votes - 1;
    }
    return ranks;
}

static int compare_texts(const void *one, const void *other)
{
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static bool count_hosts(struct report_job *job)
{
    const char **names = calloc(job->profiles.count + 1, sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; names && i < job->profiles.count; i++) {
        if (job->profiles.items[i].host)
            names[count++] = job->profiles.items[i].host;
    }
    if (names)
        qsort(names, count, sizeof(*names), compare_texts);
    for (size_t i = 0; names && i < count; i++)
        job->hosts += i == 0 || strcmp(names[i - 1], names[i]) != 0;
    free(names);
    return names != NULL;
}

enum { MOST_MISSING = 1 << 20 };

// Profiles are in the order of their ranks.
static bool find_missing(struct report_job *job)
{
    uint64_t next = 0;
    for (size_t i = 0; i <= job->profiles.count; i++) {
        const struct report_job_profile *profile =
            i < job->profiles.count ? &job->profiles.items[i] : NULL;
        if (profile && !profile->has_rank)
            continue;
        const uint64_t end = profile ? profile->rank : job->ranks;
        for (; next < end && next < job->ranks && job->missing.count < MOST_MISSING; next++) {
            uint64_t *slot = base_array_push(&job->missing);
            if (!slot)
                return false;
            *slot = next;
        }
        if (profile && profile->rank + 1 > next)
            next = profile->rank + 1;
    }
    return true;
}

static bool differ(const char *one, const char *other)
{
    return one && other && strcmp(one, other) != 0;
}

static bool sum_up(struct report_job *job)
{
    struct report_job_values values;
    job->ranks = count_ranks(job);
    for (size_t i = 0; i < job->profiles.count; i++) {
        struct report_job_profile *profile = &job->profiles.items[i];
        struct report_job_profile *before = i ? profile - 1 : NULL;
        job->simulated |= profile->simulated;
        job->mixed_jobs |= (profile->has_ranks && profile->ranks != job->ranks) ||
                           (profile->has_rank && profile->rank >= job->ranks && job->ranks) ||
                           (before && differ(before->job, profile->job));
        if (before && before->has_rank && profile->has_rank && before->rank == profile->rank)
            before->shares_rank = profile->shares_rank = job->shared_ranks = true;
    }
    if (!report_job_values_init(&values, job->profiles.count) || !count_hosts(job) ||
        !find_missing(job))
        return false;
#define SPREAD(field, member)                                         \
    do {                                                              \
        for (size_t i = 0; i < job->profiles.count; i++)              \
            values.numbers[i] = job->profiles.items[i].member;        \
        job->field = report_job_spread(&values, job->profiles.count); \
    } while (0)
    SPREAD(peak, peak_bytes);
    SPREAD(kernel_ns, kernel_ns);
    SPREAD(waited_ns, waited_ns);
    SPREAD(found, worthwhile);
#undef SPREAD
    report_job_values_fini(&values);
    return true;
}

// --- The whole job -------------------------------------------------------------------------------

static enum base_code check_thresholds(const struct report_rules *rules, struct base_error *error)
{
    const struct analyze_thresholds usual = analyze_default_thresholds();
    const struct analyze_threshold *row;
    for (size_t i = 0; rules && (row = analyze_threshold_at(i)); i++) {
        struct analyze_thresholds given = rules->thresholds, standard = usual;
        const uint32_t *one = analyze_threshold(&given, row->name),
                       *other = analyze_threshold(&standard, row->name);
        BASE_RETURN_IF(one && other && *one != *other, error, BASE_INVALID,
                       "the threshold %s cannot be changed for a job profile: its findings were "
                       "made when it was merged",
                       row->name);
    }
    return BASE_OK;
}

enum base_code report_job_load(struct report_job *job, struct profile *profile,
                               const struct report_rules *rules, struct base_error *error)
{
    struct report_job_reading reading = {.job = job, .error = error};
    base_arena_init(&job->arena, 0);
    job->profile = profile;
    enum base_code code = check_thresholds(rules, error);
    if (code == BASE_OK)
        code = report_job_query(&reading, "SELECT id, text FROM strings ORDER BY id", take_text);
    if (code == BASE_OK)
        code = report_job_query(
            &reading, "SELECT id, trace, function, file, line FROM paths ORDER BY id", take_place);
    if (code == BASE_OK)
        code = read_profiles(&reading);
    if (code == BASE_OK)
        code = report_job_query(&reading, "SELECT file, reason FROM unmerged ORDER BY file, reason",
                                take_unmerged);
    if (code == BASE_OK)
        code = read_notes(&reading);
    if (code == BASE_OK && !sum_up(job))
        code = base_no_memory(error);
    for (unsigned kind = 0; kind < REPORT_JOB_KINDS && code == BASE_OK; kind++)
        code = report_job_read_rows(job, (enum report_job_kind)kind, error);
    if (code == BASE_OK)
        code = report_job_read_findings(job, rules, error);
    return code;
}

void report_job_fini(struct report_job *job)
{
    base_array_fini(&job->texts);
    base_array_fini(&job->places);
    base_array_fini(&job->profiles);
    for (unsigned kind = 0; kind < REPORT_JOB_KINDS; kind++)
        base_array_fini(&job->rows[kind]);
    base_array_fini(&job->findings);
    base_array_fini(&job->unmerged);
    base_array_fini(&job->notes);
    base_array_fini(&job->missing);
    base_arena_fini(&job->arena);
}
