// SPDX-License-Identifier: Apache-2.0
// Writes which rules a job profile breaks, as text and as JSON by the schema of glint check.
#include "check.h"
#include "job_check.h"
#include "json_members.h"
#include "table.h"
#include "units.h"

enum { MOST_FINDINGS = 10, MOST_NAMES = 8 };

// Adds "rank 3, rank 5 and 12 more".
static void put_names(const struct report_job *job, const size_t *profiles, size_t count,
                      struct base_buf *out)
{
    if (count == job->profiles.count && count > 1) {
        base_buf_puts(out, job->ranks ? "all ranks" : "all processes");
        return;
    }
    for (size_t i = 0; i < count && i < MOST_NAMES; i++) {
        base_buf_puts(out, i ? ", " : "");
        report_job_put_name(job, profiles[i], out);
    }
    if (count > MOST_NAMES)
        base_buf_printf(out, " and %zu more", count - MOST_NAMES);
}

static void put_why(const struct report_job_check *check, size_t rule, struct base_buf *out)
{
    const struct report_rules *rules = check->request->rules;
    const struct report_job_verdict *verdict = &check->verdicts[rule];
    const enum report_rule_kind kind = rules->rules.items[rule].kind;
    uint64_t unused = 0;
    switch (kind) {
    case REPORT_RULE_PEAK:
    case REPORT_RULE_GROWTH:
        base_buf_puts(out, "the peak of ");
        put_names(&check->job, verdict->profiles.items, verdict->profiles.count, out);
        base_buf_puts(out, verdict->profiles.count == 1 ? " is " : " is up to ");
        report_put_bytes(out, check->job.peak.most);
        if (kind == REPORT_RULE_GROWTH) {
            base_buf_puts(out, ", and at most ");
            report_put_bytes(out, check->baseline.peak.most);
            base_buf_puts(out, " in ");
            report_put_text(out, check->request->baseline_name);
        }
        break;
    case REPORT_RULE_UNUSED:
        for (size_t i = 0; i < rules->suppressions.count; i++)
            unused += check->uses[i] == 0;
        base_buf_printf(out, "%llu suppression%s nothing", (unsigned long long)unused,
                        unused == 1 ? " suppresses" : "s suppress");
        break;
    default:
        base_buf_printf(out, "%zu finding%s", verdict->findings.count,
                        verdict->findings.count == 1 ? "" : "s");
        break;
    }
}

// --- Text ----------------------------------------------------------------------------------------

static void put_rule(const struct report_job_check *check, size_t rule,
                     const struct report_style *style, struct base_buf *out)
{
    const struct report_job_verdict *verdict = &check->verdicts[rule];
    struct base_buf heading = {0};
    base_buf_puts(&heading, "broken: ");
    report_put_text(&heading, check->request->rules->rules.items[rule].text);
    base_buf_puts(&heading, ": ");
    put_why(check, rule, &heading);
    base_buf_putc(out, '\n');
    report_put_heading(style, heading.text ? heading.text : "", out);
    out->failed |= heading.failed;
    base_buf_fini(&heading);
    for (size_t i = 0; i < verdict->findings.count && i < MOST_FINDINGS; i++) {
        const struct report_job_breach *breach = &verdict->findings.items[i];
        base_buf_puts(out, "  - ");
        if (breach->row.at[0]) {
            report_put_text(out, breach->row.at);
            base_buf_puts(out, ": ");
        }
        base_buf_printf(out, "%s: ", breach->row.pattern);
        report_put_text(out, breach->row.message);
        base_buf_puts(out, "\n    on ");
        put_names(&check->job, breach->profiles.items, breach->profiles.count, out);
        base_buf_puts(out, "\n    -> ");
        report_put_text(out, breach->row.suggestion);
        base_buf_putc(out, '\n');
    }
    if (verdict->findings.count > MOST_FINDINGS)
        base_buf_printf(out, "  ... and %zu more\n", verdict->findings.count - MOST_FINDINGS);
}

static void put_check(const struct report_job_check *check, const struct report_style *style,
                      struct base_buf *out)
{
    const struct report_check_request *request = check->request;
    struct base_buf heading = {0}, problems = {0};
    report_put_text(&heading, request->name);
    if (check->broken)
        base_buf_printf(&heading, ": %zu of %zu rules broken", check->broken, check->verdict_count);
    else if (check->verdict_count == 1)
        base_buf_puts(&heading, ": the rule holds");
    else
        base_buf_printf(&heading, ": all %zu rules hold", check->verdict_count);
    base_buf_puts(&heading, check->broken ? "" : " on every rank");
    report_put_heading(style, heading.text ? heading.text : "", out);
    for (size_t i = 0; i < check->verdict_count; i++) {
        if (check->verdicts[i].broken)
            put_rule(check, i, style, out);
    }
    if (check->suppressed)
        base_buf_printf(out, "\nsuppressed: %llu finding%s of ranks\n",
                        (unsigned long long)check->suppressed, check->suppressed == 1 ? "" : "s");
    for (size_t i = 0; i < request->rules->suppressions.count; i++) {
        const struct report_suppression *row = &request->rules->suppressions.items[i];
        if (check->uses[i])
            continue;
        base_buf_puts(out, "unused suppression: ");
        report_put_text(out, request->rules_name);
        base_buf_printf(out, ":%u: ", row->line);
        report_check_put_suppression(row, out);
        base_buf_puts(out, " (");
        report_put_text(out, row->reason);
        base_buf_puts(out, ")\n");
    }
    if (report_job_put_problems(&check->job, &problems, "\nwarning: "))
        base_buf_printf(out, "\nwarning: %s\n", problems.text ? problems.text : "");
    out->failed |= heading.failed || problems.failed;
    base_buf_fini(&heading);
    base_buf_fini(&problems);
}

enum base_code report_job_check_text(const struct report_check_request *request,
                                     const struct report_style *style, bool *holds,
                                     report_write *write, void *user, struct base_error *error)
{
    struct report_job_check check = {0};
    struct base_buf out = {0};
    enum base_code code = report_job_check_load(&check, request, error);
    if (code == BASE_OK) {
        *holds = check.broken == 0;
        put_check(&check, style, &out);
        if (out.failed)
            code = base_no_memory(error);
        else if (!write(user, out.text, out.length))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    base_buf_fini(&out);
    report_job_check_fini(&check);
    return code;
}

// --- JSON ----------------------------------------------------------------------------------------

static void put_profiles(struct base_json *json, const struct report_job *job,
                         const size_t *profiles, size_t count)
{
    struct base_buf name = {0};
    base_json_key(json, "ranks");
    base_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        base_buf_clear(&name);
        report_job_put_name(job, profiles[i], &name);
        base_json_string(json, name.text ? name.text : "");
    }
    base_json_end_array(json);
    base_buf_fini(&name);
}

static void put_finding(struct base_json *json, const struct report_job *job,
                        const struct report_job_breach *breach)
{
    const struct report_job_finding_row *row = &breach->row;
    const uint64_t run = row->worth[REPORT_JOB_RUN], gpu = row->worth[REPORT_JOB_GPU];
    base_json_begin_object(json);
    report_json_string(json, "pattern", row->pattern);
    report_json_string(json, "object", row->object);
    report_json_string(json, "place", row->at);
    base_json_key(json, "worth");
    base_json_begin_object(json);
    report_json_number(json, "peak_bytes", row->worth[REPORT_JOB_PEAK]);
    report_json_number(json, "traffic_bytes", row->worth[REPORT_JOB_TRAFFIC]);
    base_json_key(json, "ms");
    base_json_double(json, (double)(run > gpu ? run : gpu) / 1e6);
    base_json_end_object(json);
    report_json_string(json, "message", row->message);
    report_json_string(json, "suggestion", row->suggestion);
    base_json_key(json, "call_path");
    base_json_begin_array(json);
    if (row->place) {
        base_json_begin_object(json);
        report_json_string(json, "function", row->place->function);
        report_json_string(json, "file", row->place->file);
        report_json_number_or_null(json, "line", row->place->line, row->place->line);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    put_profiles(json, job, breach->profiles.items, breach->profiles.count);
    base_json_end_object(json);
}

static void put_json(struct base_json *json, const struct report_job_check *check)
{
    const struct report_check_request *request = check->request;
    struct base_buf text = {0};
    base_json_begin_object(json);
    report_json_string(json, "glint", GLINT_VERSION);
    report_json_number(json, "schema", 1);
    report_json_string(json, "profile", request->name);
    report_json_string(json, "baseline", request->baseline ? request->baseline_name : NULL);
    report_json_string(json, "rules_file", request->rules_name);
    report_json_bool(json, "holds", check->broken == 0);
    report_json_number(json, "peak_bytes", check->job.peak.most);
    report_json_number_or_null(json, "baseline_peak_bytes", check->baseline.peak.most,
                               request->baseline);
    base_json_key(json, "rules");
    base_json_begin_array(json);
    for (size_t i = 0; i < check->verdict_count; i++) {
        const struct report_job_verdict *verdict = &check->verdicts[i];
        base_buf_clear(&text);
        if (verdict->broken)
            put_why(check, i, &text);
        base_json_begin_object(json);
        report_json_string(json, "rule", request->rules->rules.items[i].text);
        report_json_bool(json, "holds", !verdict->broken);
        report_json_string(json, "why", verdict->broken ? text.text : NULL);
        base_json_key(json, "findings");
        base_json_begin_array(json);
        for (size_t f = 0; f < verdict->findings.count; f++)
            put_finding(json, &check->job, &verdict->findings.items[f]);
        base_json_end_array(json);
        put_profiles(json, &check->job, verdict->profiles.items, verdict->profiles.count);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_key(json, "suppressions");
    base_json_begin_array(json);
    for (size_t i = 0; i < request->rules->suppressions.count; i++) {
        const struct report_suppression *row = &request->rules->suppressions.items[i];
        base_json_begin_object(json);
        report_json_string(json, "pattern",
                           row->pattern == ANALYZE_PATTERNS ? NULL
                                                            : analyze_pattern_word(row->pattern));
        report_json_string(json, "object", row->object);
        report_json_string(json, "path", row->path);
        report_json_string(json, "reason", row->reason);
        report_json_number(json, "line", row->line);
        report_json_number(json, "findings", check->uses[i]);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_key(json, "notes");
    base_json_begin_array(json);
    base_buf_clear(&text);
    if (report_job_put_problems(&check->job, &text, "; "))
        base_json_string(json, text.text);
    base_json_end_array(json);
    base_json_end_object(json);
    base_buf_fini(&text);
}

enum base_code report_job_check_json(const struct report_check_request *request, bool *holds,
                                     report_write *write, void *user, struct base_error *error)
{
    struct report_job_check check = {0};
    struct base_json json;
    enum base_code code = report_job_check_load(&check, request, error);
    if (code == BASE_OK) {
        *holds = check.broken == 0;
        base_json_init(&json, write, user, 0);
        put_json(&json, &check);
        if (!base_json_finish(&json) || !write(user, "\n", 1))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    report_job_check_fini(&check);
    return code;
}
