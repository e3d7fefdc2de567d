// SPDX-License-Identifier: Apache-2.0
// Writes which rules a profile breaks as text: each rule with the findings that break it.
#include "check.h"
#include "failures.h"
#include "findings.h"
#include "table.h"
#include "units.h"

enum { MOST_FINDINGS = 10 }; // shown for each rule

static void put_finding(const struct report_check *check, const struct analyze_finding *finding,
                        struct base_buf *out)
{
    struct base_buf place = {0};
    report_put_finding_place(check->data, finding, &place);
    base_buf_puts(out, "  - ");
    if (place.length)
        base_buf_printf(out, "%s: ", place.text);
    base_buf_printf(out, "%s: ", analyze_pattern_word(finding->pattern));
    report_put_message(check->data, finding, out);
    base_buf_puts(out, "\n    -> ");
    report_put_suggestion(check->data, finding, out);
    base_buf_putc(out, '\n');
    out->failed |= place.failed;
    base_buf_fini(&place);
}

static void put_rule(const struct report_check *check, size_t i, const struct report_style *style,
                     struct base_buf *out)
{
    const struct report_verdict *verdict = &check->verdicts[i];
    struct base_buf heading = {0};
    base_buf_puts(&heading, "broken: ");
    report_put_text(&heading, check->request->rules->rules.items[i].text);
    base_buf_puts(&heading, ": ");
    report_check_put_why(check, i, &heading);
    base_buf_putc(out, '\n');
    report_put_heading(style, heading.text ? heading.text : "", out);
    out->failed |= heading.failed;
    base_buf_fini(&heading);
    for (size_t f = 0; f < verdict->findings.count && f < MOST_FINDINGS; f++)
        put_finding(check, verdict->findings.items[f], out);
    if (verdict->findings.count > MOST_FINDINGS)
        base_buf_printf(out, "  ... and %zu more\n", verdict->findings.count - MOST_FINDINGS);
}

static void put_suppressions(const struct report_check *check, struct base_buf *out)
{
    const struct report_check_request *request = check->request;
    const char *before = "\n";
    if (check->suppressed) {
        base_buf_printf(out, "\nsuppressed: %llu finding%s\n",
                        (unsigned long long)check->suppressed, check->suppressed == 1 ? "" : "s");
        before = "";
    }
    for (size_t i = 0; i < request->rules->suppressions.count; i++) {
        const struct report_suppression *row = &request->rules->suppressions.items[i];
        if (check->uses[i])
            continue;
        base_buf_printf(out, "%sunused suppression: ", before);
        before = "";
        report_put_text(out, request->rules_name);
        base_buf_printf(out, ":%u: ", row->line);
        report_check_put_suppression(row, out);
        base_buf_puts(out, " (");
        report_put_text(out, row->reason);
        base_buf_puts(out, ")\n");
    }
}

// Failures and warnings are shown because they may hide findings.
static void put_notes(const struct report_check *check, struct base_buf *out)
{
    const char *before = "\n";
    struct base_buf failure = {0};
    if (report_put_failures(check->data, &failure)) {
        base_buf_printf(out, "%serror: %s\n", before, failure.text ? failure.text : "");
        before = "";
    }
    out->failed |= failure.failed;
    base_buf_fini(&failure);
    for (size_t i = 0; i < check->data->notes.count; i++) {
        const struct report_note *note = &check->data->notes.items[i];
        if (note->severity < PROFILE_WARNING)
            continue;
        base_buf_printf(out, "%s%s: ", before, profile_severity_word(note->severity));
        before = "";
        report_put_text(out, note->text);
        base_buf_putc(out, '\n');
    }
    for (size_t i = 0; i < check->diff.notes.count; i++) {
        base_buf_printf(out, "%snote: ", before);
        before = "";
        report_put_text(out, check->diff.notes.items[i]);
        base_buf_putc(out, '\n');
    }
}

static void put_check(const struct report_check *check, const struct report_style *style,
                      struct base_buf *out)
{
    struct base_buf heading = {0};
    report_put_text(&heading, check->request->name);
    if (check->broken)
        base_buf_printf(&heading, ": %zu of %zu rules broken", check->broken, check->verdict_count);
    else if (check->verdict_count == 1)
        base_buf_puts(&heading, ": the rule holds");
    else
        base_buf_printf(&heading, ": all %zu rules hold", check->verdict_count);
    report_put_heading(style, heading.text ? heading.text : "", out);
    out->failed |= heading.failed;
    base_buf_fini(&heading);
    for (size_t i = 0; i < check->verdict_count; i++) {
        if (check->verdicts[i].broken)
            put_rule(check, i, style, out);
    }
    put_suppressions(check, out);
    put_notes(check, out);
}

enum base_code report_check_text(const struct report_check_request *request,
                                 const struct report_style *style, bool *holds, report_write *write,
                                 void *user, struct base_error *error)
{
    struct report_check check = {0};
    struct base_buf out = {0};
    enum base_code code = report_check_load(&check, request, error);
    if (code == BASE_OK) {
        *holds = check.broken == 0;
        put_check(&check, style, &out);
        if (out.failed)
            code = base_no_memory(error);
        else if (!write(user, out.text, out.length))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    base_buf_fini(&out);
    report_check_fini(&check);
    return code;
}
