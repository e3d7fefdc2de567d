// SPDX-License-Identifier: Apache-2.0
// Reads the findings of a job profile, joins those of one identity, and ranks them: by the share of
// its peak, traffic, run time or waits that each profile would save, summed up over the profiles.
#include <stdlib.h>
#include <string.h>

#include "job_rows.h"
#include "suppress.h"

// --- Rows ----------------------------------------------------------------------------------------

struct each_finding {
    bool (*each)(void *user, const struct report_job_finding_row *row);
    void *user;
};

static bool take_finding(void *user, unsigned count, const struct profile_cell *cells)
{
    struct report_job_reading *reading = user;
    const struct each_finding *to = reading->user;
    for (unsigned i = 0; i < count; i++)
        reading->damaged |=
            cells[i].kind != PROFILE_CELL_INTEGER && cells[i].kind != PROFILE_CELL_NULL;
#define NUMBER(name) ((uint64_t)cells[JOB_FINDINGS_##name].integer)
#define TEXT(name)   report_job_text_at(reading, &cells[JOB_FINDINGS_##name])
    const struct report_job_finding_row row = {
        .pattern = TEXT(pattern),
        .identity = NUMBER(identity),
        .ordinal = NUMBER(ordinal),
        .profile = report_job_profile_at(reading, &cells[JOB_FINDINGS_profile]),
        .place = report_job_place_at(reading, &cells[JOB_FINDINGS_path]),
        .at = TEXT(place),
        .file = TEXT(file),
        .object = TEXT(object),
        .kernel = TEXT(kernel),
        .message = TEXT(message),
        .suggestion = TEXT(suggestion),
        .brief = TEXT(brief),
        .remedy = TEXT(remedy),
        .line = (uint32_t)NUMBER(line),
        .worthwhile = NUMBER(worthwhile) != 0,
        .only_together = NUMBER(only_together) != 0,
        .unestimated = NUMBER(unestimated) != 0,
        .hard = NUMBER(hard) != 0,
        .bound = NUMBER(bound) != 0,
        .count = NUMBER(count),
        .share_ppm = NUMBER(share_ppm),
        .worth = {[REPORT_JOB_RUN] = NUMBER(run_ns),
                  [REPORT_JOB_PEAK] = NUMBER(peak_bytes),
                  [REPORT_JOB_TRAFFIC] = NUMBER(traffic_bytes),
                  [REPORT_JOB_GPU] = NUMBER(gpu_ns),
                  [REPORT_JOB_WAITS] = NUMBER(waits),
                  [REPORT_JOB_TOGETHER_PEAK] = NUMBER(together_bytes),
                  [REPORT_JOB_TOGETHER_RUN] = NUMBER(together_ns)}};
#undef NUMBER
#undef TEXT
    reading->damaged |=
        !row.pattern || !row.at || !row.message || !row.suggestion || !row.brief || !row.remedy;
    return !reading->damaged && to->each(to->user, &row);
}

enum base_code report_job_each_finding(struct report_job *job,
                                       bool (*each)(void *user,
                                                    const struct report_job_finding_row *row),
                                       void *user, struct base_error *error)
{
    struct each_finding to = {each, user};
    struct report_job_reading reading = {.job = job, .error = error, .user = &to};
    struct base_buf sql = {0};
#define COLUMN(name, type, role) base_buf_puts(&sql, sql.length ? ", " #name : "SELECT " #name);
    JOB_FINDING_COLUMNS(COLUMN)
#undef COLUMN
    base_buf_puts(&sql, " FROM findings ORDER BY pattern, identity, ordinal, profile");
    enum base_code code =
        sql.failed ? base_no_memory(error) : report_job_query(&reading, sql.text, take_finding);
    base_buf_fini(&sql);
    return code;
}

// --- Suppressions --------------------------------------------------------------------------------

// The call path has names of files without their folders, so a glob with folders is compared with
// the finding's own place.
static bool is_on_trace(const char *glob, const char *trace)
{
    bool found = false;
    char *copy = trace ? strdup(trace) : NULL, *rest = copy;
    while (rest && !found) {
        char *frame = rest, *end = strstr(rest, " < ");
        rest = end ? end + 3 : NULL;
        if (end)
            *end = '\0';
        char *place = strrchr(frame, ' '), *colon = place ? strrchr(place, ':') : NULL;
        if (colon)
            *colon = *place = '\0';
        found =
            report_matches_function(glob, frame) ||
            (colon && report_matches_file(glob, place + 1, (uint32_t)strtoul(colon + 1, NULL, 10)));
    }
    free(copy);
    return found;
}

bool report_job_is_suppressed_by(const struct report_suppression *rule,
                                 const struct report_job_finding_row *row)
{
    const char *object = row->object ? row->object : "";
    return (rule->pattern == ANALYZE_PATTERNS ||
            strcmp(analyze_pattern_word(rule->pattern), row->pattern) == 0) &&
           (!rule->object || report_matches_function(rule->object, object)) &&
           (!rule->path || report_matches_file(rule->path, row->file, row->line) ||
            report_matches_function(rule->path, row->kernel) ||
            is_on_trace(rule->path, row->place ? row->place->trace : NULL));
}

static bool is_suppressed(const struct report_rules *rules,
                          const struct report_job_finding_row *row)
{
    bool is = false;
    for (size_t i = 0; rules && i < rules->suppressions.count && !is; i++)
        is = report_job_is_suppressed_by(&rules->suppressions.items[i], row);
    return is;
}

// --- Joining -------------------------------------------------------------------------------------

struct joining {
    struct report_job *job;
    const struct report_rules *rules;
    struct report_job_values values[REPORT_JOB_WORTHS];
    struct report_job_finding finding;
    struct report_job_finding_row suppressed; // the last one
    bool no_memory;
};

static void end_finding(struct joining *joining)
{
    struct report_job_finding *finding = &joining->finding;
    if (finding->profiles == 0)
        return;
    for (unsigned i = 0; i < REPORT_JOB_WORTHS; i++)
        finding->worth[i] = report_job_spread(&joining->values[i], finding->profiles);
    struct report_job_finding *kept = base_array_push(&joining->job->findings);
    joining->no_memory |= !kept;
    if (kept)
        *kept = *finding;
    *finding = (struct report_job_finding){0};
}

static bool are_one(const struct report_job_finding_row *one,
                    const struct report_job_finding_row *other)
{
    return one->identity == other->identity && one->ordinal == other->ordinal &&
           strcmp(one->pattern, other->pattern) == 0;
}

static bool join(void *user, const struct report_job_finding_row *row)
{
    struct joining *joining = user;
    struct report_job_finding *finding = &joining->finding;
    if (finding->profiles &&
        (finding->worst.identity != row->identity || finding->worst.ordinal != row->ordinal ||
         strcmp(finding->worst.pattern, row->pattern) != 0))
        end_finding(joining);
    if (is_suppressed(joining->rules, row)) {
        joining->job->suppressed +=
            !joining->suppressed.pattern || !are_one(&joining->suppressed, row);
        joining->suppressed = *row;
        return !joining->no_memory;
    }
    if (finding->profiles >= joining->job->profiles.count)
        return false; // more findings of one identity than profiles: the caller sees it
    for (unsigned i = 0; i < REPORT_JOB_WORTHS; i++) {
        joining->values[i].numbers[finding->profiles] = row->worth[i];
        joining->values[i].profiles[finding->profiles] = row->profile;
    }
    if (finding->profiles == 0 || row->share_ppm > finding->worst.share_ppm)
        finding->worst = *row;
    finding->profiles++;
    finding->worthwhile += row->worthwhile;
    finding->count += row->count;
    finding->share_ppm += row->share_ppm;
    return !joining->no_memory;
}

static int compare_findings(const void *one, const void *other)
{
    const struct report_job_finding *a = one, *b = other;
    if ((a->worthwhile > 0) != (b->worthwhile > 0))
        return a->worthwhile ? -1 : 1;
    if (a->worst.hard != b->worst.hard)
        return a->worst.hard ? 1 : -1;
    if (a->share_ppm != b->share_ppm)
        return a->share_ppm > b->share_ppm ? -1 : 1;
    if (a->profiles != b->profiles)
        return a->profiles > b->profiles ? -1 : 1;
    const int order = strcmp(a->worst.pattern, b->worst.pattern);
    if (order)
        return order;
    if (a->worst.identity != b->worst.identity)
        return a->worst.identity < b->worst.identity ? -1 : 1;
    return (a->worst.ordinal > b->worst.ordinal) - (a->worst.ordinal < b->worst.ordinal);
}

enum base_code report_job_read_findings(struct report_job *job, const struct report_rules *rules,
                                        struct base_error *error)
{
    struct joining joining = {.job = job, .rules = rules};
    enum base_code code = BASE_OK;
    for (unsigned i = 0; i < REPORT_JOB_WORTHS; i++)
        joining.no_memory |= !report_job_values_init(&joining.values[i], job->profiles.count);
    if (!joining.no_memory)
        code = report_job_each_finding(job, join, &joining, error);
    if (code == BASE_OK)
        end_finding(&joining);
    for (unsigned i = 0; i < REPORT_JOB_WORTHS; i++)
        report_job_values_fini(&joining.values[i]);
    if (code == BASE_OK && joining.no_memory)
        code = base_no_memory(error);
    if (job->findings.count)
        qsort(job->findings.items, job->findings.count, sizeof(*job->findings.items),
              compare_findings);
    while (job->worthwhile < job->findings.count && job->findings.items[job->worthwhile].worthwhile)
        job->worthwhile++;
    return code;
}

enum report_job_worth report_job_main_worth(const struct report_job_finding *finding)
{
    static const enum report_job_worth order[] = {
        REPORT_JOB_RUN, REPORT_JOB_WAITS,        REPORT_JOB_PEAK,         REPORT_JOB_TRAFFIC,
        REPORT_JOB_GPU, REPORT_JOB_TOGETHER_RUN, REPORT_JOB_TOGETHER_PEAK};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        if (finding->worth[order[i]].most)
            return order[i];
    }
    return REPORT_JOB_WORTHS;
}
