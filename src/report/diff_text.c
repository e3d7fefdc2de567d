// SPDX-License-Identifier: Apache-2.0
// Writes the difference of two profiles as text: sums first, then what is worse, better, new and
// gone, the largest changes first.
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "findings.h"
#include "short_names.h"
#include "table.h"
#include "units.h"

static void put_value(struct base_buf *out, enum report_diff_unit unit, uint64_t value)
{
    switch (unit) {
    case REPORT_DIFF_COUNT: base_buf_u64(out, value); break;
    case REPORT_DIFF_BYTES: report_put_bytes(out, value); break;
    case REPORT_DIFF_NS: report_put_ns(out, value); break;
    }
}

// Appends a change: "+4.0 MiB (+50.0%)".
static void put_change(struct base_buf *out, enum report_diff_unit unit, uint64_t old, uint64_t new)
{
    const char sign = new < old ? '-' : '+';
    const uint64_t apart = new < old ? old - new : new - old;
    // Clocks are not exact, so a change of time that would be shown as 0.0% is no change.
    if (apart == 0 || (unit == REPORT_DIFF_NS && (double)apart * 2000 < (double)old)) {
        base_buf_putc(out, '=');
        return;
    }
    base_buf_putc(out, sign);
    put_value(out, unit, apart);
    if (old)
        base_buf_printf(out, " (%c%.1f%%)", sign, (double)apart * 100 / (double)old);
}

// --- The summary ---------------------------------------------------------------------------------

static void sum_name(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_puts(out, ((const struct report_diff_sum *)row)->name);
}

static void put_sum(const struct report_diff_sum *sum, unsigned which, struct base_buf *out)
{
    if (sum->known)
        put_value(out, sum->unit, sum->values[which]);
}

static void sum_old(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_sum(row, 0, out);
}

static void sum_new(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_sum(row, 1, out);
}

static void sum_change(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct report_diff_sum *sum = row;
    if (sum->known)
        put_change(out, sum->unit, sum->values[0], sum->values[1]);
}

static const struct report_column sum_columns[] = {
    {"in all", false, REPORT_WHOLE, sum_name},
    {"old", true, REPORT_WHOLE, sum_old},
    {"new", true, REPORT_WHOLE, sum_new},
    {"change", false, REPORT_WHOLE, sum_change},
};

// --- Items ---------------------------------------------------------------------------------------

static void item_kind(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct report_diff_item *item = row;
    unsigned which;
    const struct report_diff_side *side = report_diff_shown(item, &which);
    base_buf_puts(out, side->finding ? analyze_pattern_word(side->finding->pattern)
                                     : report_diff_kind_word(item->kind));
}

static void item_name(const void *context, const void *row, struct base_buf *out)
{
    const struct report_diff *diff = context;
    const struct report_diff_item *item = row;
    unsigned which;
    const struct report_diff_side *side = report_diff_shown(item, &which);
    if (side->finding) {
        const uint32_t kernel = side->finding->kernel;
        const char *name = side->name ? side->name
                           : kernel   ? report_short_kernel(&diff->data[which], kernel)
                                      : NULL;
        report_put_text(out, name);
    } else if (item->kind == REPORT_DIFF_KERNEL) {
        report_put_text(out, report_short_name(&diff->data[which], side->name));
    } else {
        report_put_text(out, side->name);
    }
}

static void item_measure(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_puts(out, ((const struct report_diff_item *)row)->measure->word);
}

static void put_item(const struct report_diff_item *item, unsigned which, struct base_buf *out)
{
    if (item->sides[which].count)
        put_value(out, item->measure->unit, item->measure->value(&item->sides[which]));
}

static void item_old(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_item(row, 0, out);
}

static void item_new(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_item(row, 1, out);
}

static void item_amount(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    unsigned which;
    report_diff_shown(row, &which);
    put_item(row, which, out);
}

static void item_change(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct report_diff_item *item = row;
    put_change(out, item->measure->unit, item->measure->value(&item->sides[0]),
               item->measure->value(&item->sides[1]));
}

static void item_count(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    unsigned which;
    base_buf_u64(out, report_diff_shown(row, &which)->count);
}

static void item_place(const void *context, const void *row, struct base_buf *out)
{
    const struct report_diff *diff = context;
    unsigned which;
    const uint32_t path = report_diff_shown(row, &which)->path;
    struct base_buf place = {0};
    report_put_place(&diff->data[which], path, &place);
    // Folders are left out, because they are usually the same.
    const char *slash = place.text ? strrchr(place.text, '/') : NULL;
    base_buf_puts(out, slash ? slash + 1 : place.text ? place.text : "");
    out->failed |= place.failed;
    base_buf_fini(&place);
}

static const struct report_column changed_columns[] = {
    {"what", false, REPORT_WHOLE, item_kind},       {"name", false, REPORT_WHOLE, item_name},
    {"measure", false, REPORT_WHOLE, item_measure}, {"old", true, REPORT_WHOLE, item_old},
    {"new", true, REPORT_WHOLE, item_new},          {"change", false, REPORT_WHOLE, item_change},
    {"where", false, REPORT_CUT_START, item_place},
};

static const struct report_column single_columns[] = {
    {"what", false, REPORT_WHOLE, item_kind},       {"name", false, REPORT_WHOLE, item_name},
    {"measure", false, REPORT_WHOLE, item_measure}, {"amount", true, REPORT_WHOLE, item_amount},
    {"times", true, REPORT_WHOLE, item_count},      {"where", false, REPORT_CUT_START, item_place},
};

#define COLUMNS(table) (table), sizeof(table) / sizeof((table)[0])

struct diff_writing {
    const struct report_diff *diff;
    const struct report_style *style;
    size_t most;
    struct base_buf out;
    bool failed; // memory ran out
};

static void put_table(struct diff_writing *writing, const struct report_column *columns,
                      size_t column_count, const void *rows, size_t count, size_t row_bytes)
{
    const struct report_table table = {columns, column_count, rows,
                                       count,   row_bytes,    writing->diff};
    writing->failed |= !report_put_table(&table, writing->style, &writing->out);
}

// Appends advice for findings that are new or worth more than before.
static void put_advice(struct diff_writing *writing, const struct report_diff_item *items,
                       size_t count)
{
    struct base_buf *out = &writing->out;
    for (size_t i = 0; i < count; i++) {
        unsigned which;
        const struct report_diff_side *side = report_diff_shown(&items[i], &which);
        if (!side->finding)
            continue;
        base_buf_puts(out, "  - ");
        report_put_message(&writing->diff->data[which], side->finding, out);
        base_buf_puts(out, "\n    -> ");
        report_put_suggestion(&writing->diff->data[which], side->finding, out);
        base_buf_putc(out, '\n');
    }
}

static void put_section(struct diff_writing *writing, enum report_diff_change change,
                        const char *heading)
{
    const struct report_diff *diff = writing->diff;
    struct report_diff_item *rows = calloc(diff->items.count + 1, sizeof(*rows));
    size_t count = 0;
    for (size_t i = 0; rows && i < diff->items.count; i++) {
        if (diff->items.items[i].change == change)
            rows[count++] = diff->items.items[i];
    }
    writing->failed |= !rows;
    if (count) {
        const size_t shown = writing->most && writing->most < count ? writing->most : count;
        base_buf_putc(&writing->out, '\n');
        report_put_heading(writing->style, heading, &writing->out);
        if (change == REPORT_DIFF_WORSE || change == REPORT_DIFF_BETTER)
            put_table(writing, COLUMNS(changed_columns), rows, shown, sizeof(*rows));
        else
            put_table(writing, COLUMNS(single_columns), rows, shown, sizeof(*rows));
        if (shown < count)
            base_buf_printf(&writing->out, "  ... and %zu more (--limit 0 shows all)\n",
                            count - shown);
        if (change == REPORT_DIFF_WORSE || change == REPORT_DIFF_NEW)
            put_advice(writing, rows, shown);
    }
    free(rows);
}

static void put_diff(struct diff_writing *writing, const char *const names[2])
{
    static const char *const headings[] = {[REPORT_DIFF_WORSE] = "Worse",
                                           [REPORT_DIFF_BETTER] = "Better",
                                           [REPORT_DIFF_NEW] = "New",
                                           [REPORT_DIFF_GONE] = "Gone"};
    const struct report_diff *diff = writing->diff;
    struct base_buf heading = {0};
    report_put_text(&heading, names[0]);
    base_buf_puts(&heading, " -> ");
    report_put_text(&heading, names[1]);
    if (report_diff_is_empty(diff))
        base_buf_puts(&heading, ": no difference");
    writing->failed |= heading.failed;
    report_put_heading(writing->style, heading.text ? heading.text : "", &writing->out);
    base_buf_fini(&heading);
    if (!report_diff_is_empty(diff))
        put_table(writing, COLUMNS(sum_columns), diff->sums, REPORT_DIFF_SUMS,
                  sizeof(diff->sums[0]));
    for (unsigned change = REPORT_DIFF_WORSE; change <= REPORT_DIFF_GONE; change++)
        put_section(writing, (enum report_diff_change)change, headings[change]);
    if (diff->notes.count) {
        base_buf_putc(&writing->out, '\n');
        report_put_heading(writing->style, "Notes", &writing->out);
    }
    for (size_t i = 0; i < diff->notes.count; i++) {
        base_buf_puts(&writing->out, "  ");
        report_put_text(&writing->out, diff->notes.items[i]);
        base_buf_putc(&writing->out, '\n');
    }
}

enum base_code report_diff_text(const struct report_diff_request *request,
                                const struct report_style *style, bool *differs,
                                report_write *write, void *user, struct base_error *error)
{
    struct report_diff diff = {0};
    struct diff_writing writing = {.diff = &diff, .style = style, .most = request->most};
    enum base_code code = report_diff_load(&diff, request, error);
    if (code == BASE_OK) {
        *differs = !report_diff_is_empty(&diff);
        put_diff(&writing, request->names);
        if (writing.failed || writing.out.failed)
            code = base_no_memory(error);
        else if (!write(user, writing.out.text, writing.out.length))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    base_buf_fini(&writing.out);
    report_diff_fini(&diff);
    return code;
}
