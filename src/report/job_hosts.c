// SPDX-License-Identifier: Apache-2.0
// Writes the findings of a job profile for code hosts: as SARIF, a result for each finding that is
// worthwhile on some rank, and as annotations of a GitHub Actions step with a summary. The sentence
// of a result says on how many ranks it is.
#include <stdio.h>

#include "github.h"
#include "job_data.h"
#include "json_members.h"
#include "sarif.h"
#include "source.h"
#include "units.h"

// Adds message and suggestion, and what following it saves on how many ranks.
static void put_advice(const struct report_job *job, const struct report_job_finding *finding,
                       struct base_buf *out)
{
    const enum report_job_worth worth = report_job_main_worth(finding);
    report_put_text(out, finding->worst.message);
    base_buf_puts(out, ". Suggestion: ");
    report_put_text(out, finding->worst.suggestion);
    base_buf_puts(out, ". This is ");
    report_job_put_profiles(job, finding->profiles, out);
    if (worth != REPORT_JOB_WORTHS) {
        base_buf_puts(out, ": ");
        report_job_put_worth(job, finding, worth, out);
    }
    base_buf_putc(out, '.');
}

// --- SARIF ---------------------------------------------------------------------------------------

static void put_location(struct sarif *sarif, const struct report_job *job,
                         const struct report_job_finding_row *row)
{
    struct base_json *json = &sarif->json;
    const char *program = job->profiles.items[row->profile].executable;
    const char *function = row->place ? row->place->function : NULL;
    base_json_key(json, "locations");
    base_json_begin_array(json);
    base_json_begin_object(json);
    if (row->file && row->file[0])
        report_sarif_put_physical(sarif, row->file, row->line);
    else if (program && program[0])
        report_sarif_put_physical(sarif, program, 0);
    if (function) {
        base_json_key(json, "logicalLocations");
        base_json_begin_array(json);
        base_json_begin_object(json);
        report_json_string(json, "fullyQualifiedName", function);
        report_json_string(json, "kind", "function");
        base_json_end_object(json);
        base_json_end_array(json);
    }
    base_json_end_object(json);
    base_json_end_array(json);
}

static size_t pattern_index(const char *word)
{
    size_t i = 0;
    while (i < ANALYZE_PATTERNS && strcmp(analyze_pattern_word((enum analyze_pattern)i), word) != 0)
        i++;
    return i;
}

// On the rank on which it is worth most.
static void put_worth(struct base_json *json, const struct report_job_finding_row *row)
{
    base_json_key(json, "worth");
    base_json_begin_object(json);
    report_json_number(json, "peak_bytes", row->worth[REPORT_JOB_PEAK]);
    report_json_number(json, "traffic_bytes", row->worth[REPORT_JOB_TRAFFIC]);
    base_json_key(json, "ms");
    base_json_double(json, (double)row->worth[REPORT_JOB_GPU] / 1e6);
    report_json_number(json, "run_ns", row->worth[REPORT_JOB_RUN]);
    report_json_number(json, "waits", row->worth[REPORT_JOB_WAITS]);
    report_json_number(json, "together_bytes", row->worth[REPORT_JOB_TOGETHER_PEAK]);
    report_json_number(json, "together_ns", row->worth[REPORT_JOB_TOGETHER_RUN]);
    base_json_end_object(json);
}

static void put_result(struct sarif *sarif, const struct report_job *job,
                       const struct report_job_finding *finding)
{
    struct base_json *json = &sarif->json;
    char fingerprint[48];
    const size_t rule = pattern_index(finding->worst.pattern);
    base_json_begin_object(json);
    report_json_string(json, "ruleId", finding->worst.pattern);
    if (rule < ANALYZE_PATTERNS) // not of a newer version
        report_json_number(json, "ruleIndex", rule);
    report_json_string(json, "level", "warning");
    put_advice(job, finding, &sarif->text);
    report_sarif_put_message(sarif, "message");
    report_json_number(json, "occurrenceCount", finding->count ? finding->count : 1);
    put_location(sarif, job, &finding->worst);
    base_json_key(json, "partialFingerprints");
    base_json_begin_object(json);
    snprintf(fingerprint, sizeof(fingerprint), "%016llx:%llu",
             (unsigned long long)finding->worst.identity,
             (unsigned long long)finding->worst.ordinal);
    report_json_string(json, "glintFinding/v1", fingerprint);
    base_json_end_object(json);
    base_json_key(json, "relatedLocations");
    base_json_begin_array(json);
    base_json_end_array(json);
    base_json_key(json, "properties");
    base_json_begin_object(json);
    put_worth(json, &finding->worst);
    report_json_number(json, "profiles", finding->profiles);
    report_job_put_name(job, finding->worst.profile, &sarif->text);
    report_json_string(json, "worst", sarif->text.text ? sarif->text.text : "");
    base_buf_clear(&sarif->text);
    base_json_end_object(json);
    base_json_end_object(json);
}

static void put_notes(struct sarif *sarif, const struct report_job *job, size_t left_out)
{
    struct base_json *json = &sarif->json;
    struct base_buf problems = {0};
    base_json_key(json, "invocations");
    base_json_begin_array(json);
    base_json_begin_object(json);
    report_json_bool(json, "executionSuccessful", true);
    base_json_key(json, "toolExecutionNotifications");
    base_json_begin_array(json);
    report_job_put_problems(job, &problems, "\n");
    for (const char *at = problems.length ? problems.text : ""; *at;) {
        const size_t length = strcspn(at, "\n");
        base_buf_add(&sarif->text, at, length);
        report_sarif_put_note(sarif, PROFILE_WARNING);
        at += length + (at[length] == '\n');
    }
    if (left_out) {
        base_buf_printf(&sarif->text, "the %zu findings that are worth least are omitted",
                        left_out);
        report_sarif_put_note(sarif, PROFILE_WARNING);
    }
    base_json_end_array(json);
    base_json_end_object(json);
    base_json_end_array(json);
    sarif->text.failed |= problems.failed;
    base_buf_fini(&problems);
}

enum base_code report_job_sarif(struct profile *profile, const struct report_rules *rules,
                                const char *source_root, report_write *write, void *user,
                                struct base_error *error)
{
    struct report_job job = {0};
    struct sarif sarif = {.root = source_root};
    struct base_json *json = &sarif.json;
    enum base_code code = report_job_load(&job, profile, rules, error);
    if (code == BASE_OK) {
        const size_t shown =
            job.worthwhile < REPORT_SARIF_RESULTS ? job.worthwhile : REPORT_SARIF_RESULTS;
        base_json_init(json, write, user, 0);
        base_json_begin_object(json);
        report_json_string(json, "$schema",
                           "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                           "sarif-schema-2.1.0.json");
        report_json_string(json, "version", "2.1.0");
        base_json_key(json, "runs");
        base_json_begin_array(json);
        base_json_begin_object(json);
        report_sarif_put_tool(&sarif);
        put_notes(&sarif, &job, job.worthwhile - shown);
        report_sarif_put_root(&sarif);
        base_json_key(json, "results");
        base_json_begin_array(json);
        for (size_t i = 0; i < shown && !sarif.text.failed; i++)
            put_result(&sarif, &job, &job.findings.items[i]);
        base_json_end_array(json);
        base_json_key(json, "properties");
        base_json_begin_object(json);
        report_json_number(json, "peak_bytes", job.peak.most);
        report_json_number(
            json, "achievable_peak_bytes",
            job.profiles.count ? job.profiles.items[job.peak.most_at].achievable_bytes : 0);
        report_json_number(json, "findings", job.findings.count);
        report_json_bool(json, "simulated", job.simulated);
        base_json_end_object(json);
        base_json_end_object(json);
        base_json_end_array(json);
        base_json_end_object(json);
        if (sarif.text.failed)
            code = base_no_memory(error);
        else if (!base_json_finish(json) || !write(user, "\n", 1))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    base_buf_fini(&sarif.text);
    report_job_fini(&job);
    return code;
}

// --- GitHub --------------------------------------------------------------------------------------

static void put_annotation(struct github *github, const struct report_job *job,
                           const struct report_job_finding *finding)
{
    struct base_buf *out = &github->out, file = {0};
    const struct report_job_finding_row *worst = &finding->worst;
    base_buf_puts(out, "::warning ");
    if (worst->file && worst->file[0]) {
        report_put_file(&file, worst->file, github->root);
        base_buf_puts(out, "file=");
        report_put_text(&github->text, file.text);
        report_github_put_escaped(github, true);
        if (worst->line)
            base_buf_printf(out, ",line=%u", worst->line);
        base_buf_putc(out, ',');
    }
    base_buf_printf(out, "title=glint %s::", worst->pattern);
    put_advice(job, finding, &github->text);
    report_github_put_escaped(github, false);
    base_buf_putc(out, '\n');
    out->failed |= file.failed;
    base_buf_fini(&file);
}

static void put_head(struct github *github, const struct report_job *job, struct base_buf *out)
{
    struct base_buf problems = {0};
    if (job->worthwhile)
        base_buf_printf(out, "\n## glint: %zu finding%s\n", job->worthwhile,
                        job->worthwhile == 1 ? "" : "s");
    else
        base_buf_puts(out, "\n## glint: nothing worth fixing was found\n");
    base_buf_puts(out, "\nThe highest peak of device memory is ");
    report_put_bytes(out, job->peak.most);
    base_buf_puts(out, ", of ");
    if (job->profiles.count)
        report_job_put_name(job, job->peak.most_at, &github->text);
    report_github_put_markdown(github, out);
    base_buf_puts(out, ".\n");
    if (job->simulated)
        base_buf_puts(out, "\nThe GPU is simulated: its times are not real.\n");
    report_job_put_problems(job, &problems, "\n");
    for (const char *at = problems.length ? problems.text : ""; *at;) {
        const size_t length = strcspn(at, "\n");
        base_buf_puts(out, "\n**warning**: ");
        base_buf_add(&github->text, at, length);
        report_github_put_markdown(github, out);
        base_buf_putc(out, '\n');
        at += length + (at[length] == '\n');
    }
    out->failed |= problems.failed;
    base_buf_fini(&problems);
}

static void put_summary(struct github *github, const struct report_job *job, size_t room_bytes,
                        struct base_buf *out)
{
    enum { ROOM_FOR_THE_END = 200 };
    struct base_buf row = {0};
    put_head(github, job, out);
    for (size_t i = REPORT_GITHUB_ANNOTATIONS; i < job->worthwhile && !row.failed; i++) {
        base_buf_clear(&row);
        base_buf_printf(&row, "%s%zu. **%s** ", i == REPORT_GITHUB_ANNOTATIONS ? "\n" : "", i + 1,
                        job->findings.items[i].worst.pattern);
        report_put_text(&github->text, job->findings.items[i].worst.at);
        base_buf_puts(&github->text, ": ");
        put_advice(job, &job->findings.items[i], &github->text);
        report_github_put_markdown(github, &row);
        base_buf_putc(&row, '\n');
        if (out->length + row.length + ROOM_FOR_THE_END > room_bytes) {
            base_buf_printf(out, "\n%zu more findings do not fit into this summary.\n",
                            job->worthwhile - i);
            break;
        }
        base_buf_add(out, row.text, row.length);
    }
    if (out->length > room_bytes)
        base_buf_clear(out);
    out->failed |= row.failed;
    base_buf_fini(&row);
}

enum base_code report_job_github(struct profile *profile, const struct report_rules *rules,
                                 const char *source_root, report_write *write, void *user,
                                 const struct report_summary *summary, struct base_error *error)
{
    struct report_job job = {0};
    struct base_buf text = {0};
    struct github github = {.root = source_root};
    enum base_code code = report_job_load(&job, profile, rules, error);
    if (code == BASE_OK) {
        for (size_t i = 0; i < REPORT_GITHUB_ANNOTATIONS && i < job.worthwhile; i++)
            put_annotation(&github, &job, &job.findings.items[i]);
        put_summary(&github, &job, summary->room_bytes, &text);
        if (text.length == 0)
            base_buf_puts(&github.out, "::notice title=glint::the summary of this step is full: "
                                       "findings beyond these are not shown\n");
        if (github.out.failed || github.text.failed || text.failed)
            code = base_no_memory(error);
        else if (!write(user, github.out.text ? github.out.text : "", github.out.length) ||
                 !summary->write(summary->user, text.text ? text.text : "", text.length))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    base_buf_fini(&github.out);
    base_buf_fini(&github.text);
    base_buf_fini(&text);
    report_job_fini(&job);
    return code;
}
