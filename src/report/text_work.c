// SPDX-License-Identifier: Apache-2.0
// Writes kernels, copies and synchronizations in the text report, sorted by time; if times are not
// real, by count.
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "units.h"

// --- Cells of sums -------------------------------------------------------------------------------

static void put_sum_count(const struct report_sum *sum, struct base_buf *out)
{
    base_buf_u64(out, sum->count);
}

static void put_sum_total(const struct report_sum *sum, struct base_buf *out)
{
    if (sum->timed)
        report_put_ns(out, sum->total_ns);
}

static void put_sum_mean(const struct report_sum *sum, struct base_buf *out)
{
    if (sum->timed)
        report_put_ns(out, sum->total_ns / sum->timed);
}

static void put_sum_longest(const struct report_sum *sum, struct base_buf *out)
{
    if (sum->timed)
        report_put_ns(out, sum->longest_ns);
}

static void put_sum_bytes(const struct report_sum *sum, struct base_buf *out)
{
    report_put_bytes(out, sum->bytes);
}

// Defines the getter of a column: it writes `what` of the row's sum.
#define SUM_CELL(type, what)                                                              \
    static void type##_##what(const void *context, const void *row, struct base_buf *out) \
    {                                                                                     \
        (void)context;                                                                    \
        put_sum_##what(&((const struct report_##type *)row)->sum, out);                   \
    }

// Sorts by total time if times are real, then by count. Ties keep their order.
static int compare_sums(const struct report_sum *a, const struct report_sum *b, const void *timed)
{
    if (*(const bool *)timed && a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return 0;
}

// --- Kernels -------------------------------------------------------------------------------------

SUM_CELL(kernel, count)
SUM_CELL(kernel, total)
SUM_CELL(kernel, mean)
SUM_CELL(kernel, longest)

static void kernel_name(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_puts(out, ((const struct report_kernel *)row)->short_name);
}

// Writes what the probes of the kernel collected, and how many launches were watched if not all
// were.
static void kernel_watched(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct report_kernel *kernel = row;
    if (!kernel->probed)
        return;
    base_buf_puts(out, kernel->facts & PROFILE_PROBE_COUNTS     ? "counts"
                       : kernel->facts & PROFILE_PROBE_ELEMENTS ? "elements"
                       : kernel->facts                          ? "objects"
                                                                : "no");
    if (kernel->watched && kernel->watched < kernel->sum.count)
        base_buf_printf(out, ", %llu launch%s", (unsigned long long)kernel->watched,
                        kernel->watched == 1 ? "" : "es");
}

// The last column is shown only if there are probes.
static const struct report_column kernel_columns[] = {
    {"kernel", false, REPORT_CUT_MIDDLE, kernel_name},
    {"launches", true, REPORT_WHOLE, kernel_count},
    {"GPU time", true, REPORT_WHOLE, kernel_total},
    {"mean", true, REPORT_WHOLE, kernel_mean},
    {"longest", true, REPORT_WHOLE, kernel_longest},
    {"watched", false, REPORT_WHOLE, kernel_watched},
};
enum { KERNEL_COLUMNS = sizeof(kernel_columns) / sizeof(kernel_columns[0]) };

static int by_kernel_time(const void *one, const void *other, void *timed)
{
    const struct report_kernel *a = one, *b = other;
    int order = compare_sums(&a->sum, &b->sum, timed);
    return order ? order : strcmp(a->name, b->name);
}

static void put_kernels(struct report_text *text)
{
    const struct report_data *data = text->data;
    struct report_kernel *rows = calloc(data->kernel_rows.count + 1, sizeof(*rows));
    size_t count = 0;
    bool timed = false, probed = false;
    for (size_t i = 0; rows && i < data->kernel_rows.count; i++) {
        if (data->kernel_rows.items[i].sum.count)
            rows[count++] = data->kernel_rows.items[i];
        timed |= data->kernel_rows.items[i].sum.timed > 0;
        probed |= data->kernel_rows.items[i].probed;
    }
    timed &= !analyze_is_simulated(data->analysis);
    text->failed |= !rows;
    if (count) {
        qsort_r(rows, count, sizeof(*rows), by_kernel_time, &timed);
        report_text_heading(text, timed ? "Kernels by GPU time" : "Kernels by launches");
        report_text_table(text, kernel_columns, KERNEL_COLUMNS - !probed, rows, count,
                          sizeof(*rows));
    }
    free(rows);
}

// --- Copies and sets -----------------------------------------------------------------------------

struct report_transfer {
    const char *what;
    struct report_sum sum;
};

SUM_CELL(transfer, count)
SUM_CELL(transfer, bytes)
SUM_CELL(transfer, total)

static void transfer_what(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_puts(out, ((const struct report_transfer *)row)->what);
}

static void transfer_rate(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct report_sum *sum = &((const struct report_transfer *)row)->sum;
    // If only some copies have times, the bytes of those copies are unknown.
    if (sum->timed != sum->count || sum->total_ns == 0)
        return;
    report_put_bytes(out, (uint64_t)((double)sum->bytes * 1e9 / (double)sum->total_ns));
    base_buf_puts(out, "/s");
}

static const struct report_column transfer_columns[] = {
    {"direction", false, REPORT_WHOLE, transfer_what},
    {"copies", true, REPORT_WHOLE, transfer_count},
    {"size", true, REPORT_WHOLE, transfer_bytes},
    {"GPU time", true, REPORT_WHOLE, transfer_total},
    {"rate", true, REPORT_WHOLE, transfer_rate},
};

static int by_transfer_time(const void *one, const void *other, void *timed)
{
    const struct report_transfer *a = one, *b = other;
    int order = compare_sums(&a->sum, &b->sum, timed);
    return order ? order : strcmp(a->what, b->what);
}

static void put_transfers(struct report_text *text)
{
    const struct report_data *data = text->data;
    struct report_transfer rows[REPORT_DIRECTIONS + 1];
    size_t count = 0;
    for (unsigned i = 0; i < REPORT_DIRECTIONS; i++) {
        if (data->copies[i].count)
            rows[count++] = (struct report_transfer){
                i ? profile_direction_word((enum profile_direction)i) : "unknown direction",
                data->copies[i]};
    }
    if (data->sets.count)
        rows[count++] = (struct report_transfer){"set to a value", data->sets};
    if (count == 0)
        return;
    bool timed = false;
    for (size_t i = 0; i < count; i++)
        timed |= rows[i].sum.timed > 0;
    timed &= !analyze_is_simulated(data->analysis);
    qsort_r(rows, count, sizeof(rows[0]), by_transfer_time, &timed);
    report_text_heading(text, timed ? "Copies by GPU time" : "Copies by number");
    report_text_table(text, REPORT_COLUMNS(transfer_columns), rows, count, sizeof(rows[0]));
}

// --- Synchronizations ----------------------------------------------------------------------------

SUM_CELL(wait, count)
SUM_CELL(wait, total)
SUM_CELL(wait, longest)

static void wait_kind(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_puts(out, ((const struct report_wait *)row)->is_explicit ? "explicit" : "implicit");
}

static void wait_function(const void *context, const void *row, struct base_buf *out)
{
    const struct report_wait *wait = row;
    report_put_text(out, report_called(context, wait->path, wait->function));
}

static void wait_place(const void *context, const void *row, struct base_buf *out)
{
    report_put_place(context, ((const struct report_wait *)row)->path, out);
}

// Says whether the waits at the place were needed, and what for if that is not data.
static void wait_needed(const void *context, const void *row, struct base_buf *out)
{
    const struct report_data *data = context;
    const struct report_wait *wait = row;
    const size_t count = analyze_wait_path_count(data->analysis);
    const size_t at =
        base_search(0, count, i, analyze_wait_path(data->analysis, i)->path < wait->path);
    const struct analyze_wait_path *judged =
        at < count ? analyze_wait_path(data->analysis, at) : NULL;
    if (!judged || judged->path != wait->path)
        return;
    const bool timed = judged->timed && judged->timed == judged->needed;
    base_buf_puts(out, judged->safe && judged->checks     ? "for errors"
                       : judged->safe                     ? "no"
                       : judged->deferrable               ? "later"
                       : timed                            ? "measures a time"
                       : judged->needed == judged->calls  ? "yes"
                       : judged->needed                   ? "at times"
                       : judged->shown == judged->unknown ? "shows output"
                                                          : "unknown");
}

// The last column is shown only if waits were judged.
static const struct report_column wait_columns[] = {
    {"waits", false, REPORT_WHOLE, wait_kind},
    {"function", false, REPORT_CUT_END, wait_function},
    {"times", true, REPORT_WHOLE, wait_count},
    {"waited", true, REPORT_WHOLE, wait_total},
    {"longest", true, REPORT_WHOLE, wait_longest},
    {"called at", false, REPORT_CUT_START, wait_place},
    {"needed", false, REPORT_WHOLE, wait_needed},
};
enum { WAIT_COLUMNS = sizeof(wait_columns) / sizeof(wait_columns[0]) };

static int by_wait_time(const void *one, const void *other, void *timed)
{
    const struct report_wait *a = one, *b = other;
    int order = compare_sums(&a->sum, &b->sum, timed);
    if (order)
        return order;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return a->path < b->path ? -1 : a->path > b->path;
}

static void put_waits(struct report_text *text)
{
    const struct report_data *data = text->data;
    size_t count = data->wait_rows.count;
    struct report_wait *rows = calloc(count + 1, sizeof(*rows));
    text->failed |= !rows;
    if (rows && count) {
        memcpy(rows, data->wait_rows.items, count * sizeof(*rows));
        bool timed = !analyze_is_simulated(data->analysis);
        qsort_r(rows, count, sizeof(*rows), by_wait_time, &timed);
        report_text_heading(text, timed ? "Synchronizations by time waited"
                                        : "Synchronizations by number");
        report_text_table(text, wait_columns,
                          WAIT_COLUMNS - !analyze_run_time(data->analysis)->tracked, rows, count,
                          sizeof(*rows));
    }
    free(rows);
}

void report_text_work(struct report_text *text)
{
    put_kernels(text);
    put_transfers(text);
    put_waits(text);
}
