// SPDX-License-Identifier: Apache-2.0
// Writes the difference of two job profiles as text, and as JSON by the schema of glint diff.
#include "findings.h"
#include "job_diff.h"
#include "json_members.h"
#include "table.h"
#include "units.h"

static void put_value(enum report_diff_unit unit, uint64_t value, struct base_buf *out)
{
    switch (unit) {
    case REPORT_DIFF_BYTES: report_put_bytes(out, value); break;
    case REPORT_DIFF_NS: report_put_ns(out, value); break;
    default: report_put_count(value, out); break;
    }
}

// --- Text ----------------------------------------------------------------------------------------

static void total_name(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_puts(out, ((const struct report_job_total *)row)->name);
}

static void put_total(const void *row, unsigned which, struct base_buf *out)
{
    const struct report_job_total *total = row;
    if (total->known)
        put_value(total->unit, total->values[which], out);
}

static void total_old(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_total(row, 0, out);
}

static void total_new(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_total(row, 1, out);
}

static void change_kind(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_puts(out, report_diff_kind_word(((const struct report_job_change *)row)->kind));
}

static void change_name(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    report_job_diff_put_name(row, out);
}

static void change_measure(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_puts(out, ((const struct report_job_change *)row)->measure);
}

static void put_side(const void *row, unsigned which, struct base_buf *out)
{
    const struct report_job_change *change = row;
    if (change->rows[which] || change->findings[which])
        put_value(change->unit, change->values[which], out);
}

static void change_old(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_side(row, 0, out);
}

static void change_new(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_side(row, 1, out);
}

static uint64_t profiles_of(const struct report_job_change *change, unsigned which)
{
    return change->findings[which] ? change->findings[which]->profiles
           : change->rows[which]   ? change->rows[which]->profiles
                                   : 0;
}

static void change_ranks(const void *context, const void *row, struct base_buf *out)
{
    const uint64_t old = profiles_of(row, 0), new = profiles_of(row, 1);
    (void)context;
    report_put_count(new ? new : old, out);
    if (old && new &&old != new) {
        base_buf_puts(out, ", was ");
        report_put_count(old, out);
    }
}

static void put_diff(const struct report_job_diff *diff, const struct report_diff_request *request,
                     const struct report_style *style, struct base_buf *out)
{
    static const struct report_column totals[] = {
        {"over all ranks", false, REPORT_WHOLE, total_name},
        {"old", true, REPORT_WHOLE, total_old},
        {"new", true, REPORT_WHOLE, total_new}};
    static const struct report_column columns[] = {{"what", false, REPORT_WHOLE, change_kind},
                                                   {"name", false, REPORT_CUT_MIDDLE, change_name},
                                                   {"measure", false, REPORT_WHOLE, change_measure},
                                                   {"old", true, REPORT_WHOLE, change_old},
                                                   {"new", true, REPORT_WHOLE, change_new},
                                                   {"ranks", true, REPORT_WHOLE, change_ranks}};
    static const char *const headings[REPORT_DIFF_CHANGES] = {[REPORT_DIFF_WORSE] = "Worse",
                                                              [REPORT_DIFF_BETTER] = "Better",
                                                              [REPORT_DIFF_NEW] = "New",
                                                              [REPORT_DIFF_GONE] = "Gone"};
    struct base_buf heading = {0};
    report_put_text(&heading, request->names[0]);
    base_buf_puts(&heading, " -> ");
    report_put_text(&heading, request->names[1]);
    report_put_heading(style, heading.text ? heading.text : "", out);
    out->failed |= heading.failed;
    base_buf_fini(&heading);
    if (report_job_diff_is_empty(diff)) {
        base_buf_puts(out, "  nothing differs\n");
    } else {
        const struct report_table table = {
            totals, 3, diff->totals, REPORT_JOB_TOTALS, sizeof(diff->totals[0]), NULL};
        out->failed |= !report_put_table(&table, style, out);
    }
    for (size_t at = 0, end; at < diff->changes.count; at = end) {
        const struct report_job_change *first = &diff->changes.items[at];
        for (end = at;
             end < diff->changes.count && diff->changes.items[end].change == first->change;)
            end++;
        const size_t most = request->most && request->most < end - at ? request->most : end - at;
        const struct report_table table = {columns, 6, first, most, sizeof(*first), NULL};
        base_buf_putc(out, '\n');
        report_put_heading(style, headings[first->change], out);
        out->failed |= !report_put_table(&table, style, out);
        if (most < end - at)
            base_buf_printf(out, "  ... and %zu more\n", end - at - most);
    }
    if (!diff->timed)
        base_buf_puts(out, "\nnote: times of a simulated GPU are not real, and are not compared\n");
    for (unsigned which = 0; which < 2; which++) {
        struct base_buf problems = {0};
        if (report_job_put_problems(&diff->jobs[which], &problems, "; ")) {
            base_buf_puts(out, "\nwarning: ");
            report_put_text(out, request->names[which]);
            base_buf_printf(out, ": %s\n", problems.text ? problems.text : "");
        }
        out->failed |= problems.failed;
        base_buf_fini(&problems);
    }
}

enum base_code report_job_diff_text(const struct report_diff_request *request,
                                    const struct report_style *style, bool *differs,
                                    report_write *write, void *user, struct base_error *error)
{
    struct report_job_diff diff = {0};
    struct base_buf out = {0};
    enum base_code code = report_job_diff_load(&diff, request, error);
    if (code == BASE_OK) {
        *differs = !report_job_diff_is_empty(&diff);
        put_diff(&diff, request, style, &out);
        if (out.failed)
            code = base_no_memory(error);
        else if (!write(user, out.text, out.length))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    base_buf_fini(&out);
    report_job_diff_fini(&diff);
    return code;
}

// --- JSON ----------------------------------------------------------------------------------------

static void put_amount(struct base_json *json, const char *key, enum report_diff_unit unit,
                       uint64_t value, bool known)
{
    base_json_key(json, key);
    if (!known)
        base_json_null(json);
    else if (unit == REPORT_DIFF_NS)
        base_json_double(json, (double)value / 1e6);
    else
        base_json_u64(json, value);
}

static void put_json_side(struct base_json *json, const struct report_job_diff *diff,
                          const struct report_job_change *change, unsigned which, const char *key)
{
    const struct report_job_row *row = change->rows[which];
    const struct report_job_finding *finding = change->findings[which];
    base_json_key(json, key);
    if (!row && !finding) {
        base_json_null(json);
        return;
    }
    base_json_begin_object(json);
    report_json_number(json, "count", finding ? finding->count : row ? row->measures[0].sum : 0);
    report_json_number(json, "ranks", profiles_of(change, which));
    if (finding) {
        report_json_number(json, "peak_bytes", finding->worth[REPORT_JOB_PEAK].most);
        report_json_number(json, "traffic_bytes", finding->worth[REPORT_JOB_TRAFFIC].most);
    }
    if (row && (change->kind == REPORT_DIFF_OBJECT || change->kind == REPORT_DIFF_COPY))
        report_json_number(json, "bytes", row->measures[1].sum);
    if (row && change->kind == REPORT_DIFF_OBJECT)
        report_json_number(json, "peak_bytes", row->measures[2].most);
    if (row && (change->kind == REPORT_DIFF_KERNEL || change->kind == REPORT_DIFF_WAIT))
        put_amount(json, "ms", REPORT_DIFF_NS, row->measures[1].sum, diff->timed && row->is_timed);
    put_amount(json, "value", change->unit, change->values[which], true);
    base_json_end_object(json);
}

static void put_change(struct base_json *json, const struct report_job_diff *diff,
                       const struct report_job_change *change)
{
    const struct report_job_finding *finding =
        change->findings[1] ? change->findings[1] : change->findings[0];
    const struct report_job_row *row = change->rows[1] ? change->rows[1] : change->rows[0];
    const struct job_place *place = finding ? finding->worst.place : row->place;
    base_json_begin_object(json);
    report_json_string(json, "kind", report_diff_kind_word(change->kind));
    report_json_string(json, "change", report_diff_change_word(change->change));
    base_json_key(json, "name");
    base_json_string(json, finding ? finding->worst.object : row->name);
    if (finding) {
        report_json_string(json, "pattern", finding->worst.pattern);
        report_json_string(json, "message", finding->worst.message);
        report_json_string(json, "suggestion", finding->worst.suggestion);
    }
    if (change->kind == REPORT_DIFF_OBJECT)
        report_json_string(json, "memory", row->kind ? row->kind : "other");
    report_json_string(json, "measure", change->measure);
    put_json_side(json, diff, change, 0, "old");
    put_json_side(json, diff, change, 1, "new");
    base_json_key(json, "call_path");
    base_json_begin_array(json);
    if (place) {
        base_json_begin_object(json);
        report_json_string(json, "function", place->function);
        report_json_string(json, "file", place->file);
        report_json_number_or_null(json, "line", place->line, place->line);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_end_object(json);
}

static void put_json(struct base_json *json, const struct report_job_diff *diff,
                     const struct report_diff_request *request)
{
    static const char *const units[] = {"count", "bytes", "ms"};
    base_json_begin_object(json);
    report_json_string(json, "glint", GLINT_VERSION);
    report_json_number(json, "schema", 1);
    report_json_string(json, "old", request->names[0]);
    report_json_string(json, "new", request->names[1]);
    report_json_bool(json, "differs", !report_job_diff_is_empty(diff));
    base_json_key(json, "summary");
    base_json_begin_array(json);
    for (unsigned i = 0; i < REPORT_JOB_TOTALS; i++) {
        const struct report_job_total *total = &diff->totals[i];
        base_json_begin_object(json);
        report_json_string(json, "name", total->name);
        report_json_string(json, "unit", units[total->unit]);
        put_amount(json, "old", total->unit, total->values[0], total->known);
        put_amount(json, "new", total->unit, total->values[1], total->known);
        report_json_bool(json, "differs", total->differs);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_key(json, "items");
    base_json_begin_array(json);
    for (size_t i = 0; i < diff->changes.count; i++)
        put_change(json, diff, &diff->changes.items[i]);
    base_json_end_array(json);
    base_json_key(json, "same");
    base_json_begin_object(json);
    for (unsigned i = 0; i < REPORT_DIFF_KINDS; i++) {
        base_json_key(json, report_diff_kind_word((enum report_diff_kind)i));
        base_json_u64(json, diff->same[i]);
    }
    base_json_end_object(json);
    base_json_key(json, "notes");
    base_json_begin_array(json);
    for (unsigned which = 0; which < 2; which++) {
        struct base_buf problems = {0};
        if (report_job_put_problems(&diff->jobs[which], &problems, "; "))
            base_json_string(json, problems.text);
        base_buf_fini(&problems);
    }
    base_json_end_array(json);
    base_json_end_object(json);
}

enum base_code report_job_diff_json(const struct report_diff_request *request, bool *differs,
                                    report_write *write, void *user, struct base_error *error)
{
    struct report_job_diff diff = {0};
    struct base_json json;
    enum base_code code = report_job_diff_load(&diff, request, error);
    if (code == BASE_OK) {
        *differs = !report_job_diff_is_empty(&diff);
        base_json_init(&json, write, user, 0);
        put_json(&json, &diff, request);
        if (!base_json_finish(&json) || !write(user, "\n", 1))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    report_job_diff_fini(&diff);
    return code;
}
