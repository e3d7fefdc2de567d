// SPDX-License-Identifier: Apache-2.0
// The report as text: about one screen for a person, the largest of everything first. Objects are
// in text_objects.c.
#include "text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

void report_text_table(struct report_text *text, const struct report_column *columns,
                       size_t column_count, const void *rows, size_t count, size_t row_bytes,
                       size_t most)
{
    const struct report_table table = {columns,   column_count, rows, count < most ? count : most,
                                       row_bytes, text->data};
    text->failed |= !report_put_table(&table, text->style, &text->out);
    if (count > most)
        base_buf_printf(&text->out, "  ... and %zu more\n", count - most);
}

void report_text_heading(struct report_text *text, const char *heading)
{
    base_buf_putc(&text->out, '\n');
    report_put_heading(text->style, heading, &text->out);
}

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

// Defines the getter of a column: WHAT of the `sum` in a row of the type.
#define SUM_CELL(type, what)                                                              \
    static void type##_##what(const void *context, const void *row, struct base_buf *out) \
    {                                                                                     \
        (void)context;                                                                    \
        put_sum_##what(&((const struct report_##type *)row)->sum, out);                   \
    }

// By total time, then by count; what came first stays first.
static int compare_sums(const struct report_sum *a, const struct report_sum *b)
{
    if (a->total_ns != b->total_ns)
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
    report_put_text(out, ((const struct report_kernel *)row)->name);
}

// By what probes told of it, and of how many launches where not of all.
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

// The last one only where there are probes.
static const struct report_column kernel_columns[] = {
    {"kernel", false, REPORT_CUT_END, kernel_name},
    {"launches", true, REPORT_WHOLE, kernel_count},
    {"GPU time", true, REPORT_WHOLE, kernel_total},
    {"mean", true, REPORT_WHOLE, kernel_mean},
    {"longest", true, REPORT_WHOLE, kernel_longest},
    {"watched", false, REPORT_WHOLE, kernel_watched},
};
enum { KERNEL_COLUMNS = sizeof(kernel_columns) / sizeof(kernel_columns[0]) };

static int by_kernel_time(const void *one, const void *other)
{
    const struct report_kernel *a = one, *b = other;
    int order = compare_sums(&a->sum, &b->sum);
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
    text->failed |= !rows;
    if (count) {
        qsort(rows, count, sizeof(*rows), by_kernel_time);
        report_text_heading(text, timed ? "Kernels by GPU time" : "Kernels by launches");
        report_text_table(text, kernel_columns, KERNEL_COLUMNS - !probed, rows, count,
                          sizeof(*rows), REPORT_MOST_ROWS);
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
    // Where only some have times, there is no telling whose bytes they are.
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

static int by_transfer_time(const void *one, const void *other)
{
    const struct report_transfer *a = one, *b = other;
    int order = compare_sums(&a->sum, &b->sum);
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
    qsort(rows, count, sizeof(rows[0]), by_transfer_time);
    bool timed = false;
    for (size_t i = 0; i < count; i++)
        timed |= rows[i].sum.timed > 0;
    report_text_heading(text, timed ? "Copies by GPU time" : "Copies by number");
    report_text_table(text, REPORT_COLUMNS(transfer_columns), rows, count, sizeof(rows[0]), count);
}

// --- Synchronisations ----------------------------------------------------------------------------

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
    report_put_text(out,
                    report_function_name(context, ((const struct report_wait *)row)->function));
}

static void wait_place(const void *context, const void *row, struct base_buf *out)
{
    report_put_place(context, ((const struct report_wait *)row)->path, out);
}

static const struct report_column wait_columns[] = {
    {"waits", false, REPORT_WHOLE, wait_kind},
    {"function", false, REPORT_CUT_END, wait_function},
    {"times", true, REPORT_WHOLE, wait_count},
    {"waited", true, REPORT_WHOLE, wait_total},
    {"longest", true, REPORT_WHOLE, wait_longest},
    {"called at", false, REPORT_CUT_START, wait_place},
};

static int by_wait_time(const void *one, const void *other)
{
    const struct report_wait *a = one, *b = other;
    int order = compare_sums(&a->sum, &b->sum);
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
        qsort(rows, count, sizeof(*rows), by_wait_time);
        report_text_heading(text, "Synchronisations by time waited");
        report_text_table(text, REPORT_COLUMNS(wait_columns), rows, count, sizeof(*rows),
                          REPORT_MOST_ROWS);
    }
    free(rows);
}

// --- The head ------------------------------------------------------------------------------------

// As one would type it in a shell, as far as a reader is concerned.
static void put_argument(struct base_buf *out, const char *argument)
{
    bool plain = argument[0] && !argument[strcspn(argument, " \t\n\"'\\$`*?<>|&;()[]{}!#~")];
    base_buf_puts(out, plain ? "" : "'");
    report_put_text(out, argument);
    base_buf_puts(out, plain ? "" : "'");
}

static void put_ending(struct base_buf *out, const struct profile_meta *meta, bool left)
{
    const char *signal_name;
    switch (meta->ending) {
    case PROFILE_EXITED: base_buf_printf(out, "exited with status %d", meta->code); break;
    case PROFILE_SIGNALLED:
        signal_name = sigdescr_np(meta->code);
        base_buf_printf(out, "was ended by signal %d (%s)", meta->code,
                        signal_name ? signal_name : "unknown");
        break;
    case PROFILE_REPLACED: base_buf_puts(out, "became another program"); break;
    case PROFILE_ENDED:
        base_buf_puts(out, left ? "left by exit, with a status that nobody told"
                                : "how it ended nobody told");
        break;
    default: base_buf_puts(out, "how it ended is not known"); break;
    }
}

static void put_counted(struct base_buf *out, uint64_t count, const char *what)
{
    base_buf_printf(out, "%llu %s%s", (unsigned long long)count, what, count == 1 ? "" : "s");
}

static void put_head(struct report_text *text)
{
    const struct report_data *data = text->data;
    const struct profile_program *program = profile_program(data->profile);
    struct base_buf line = {0};
    struct base_buf *out = &text->out;
    for (uint32_t i = 0; i < program->argument_count; i++) {
        base_buf_puts(&line, i ? " " : "");
        put_argument(&line, program->arguments[i]);
    }
    if (program->argument_count == 0)
        report_put_text(&line, program->executable);
    report_put_heading(text->style, line.length ? line.text : "(program not known)", out);
    text->failed |= line.failed;
    base_buf_fini(&line);

    base_buf_puts(out, "  ");
    put_ending(out, profile_meta(data->profile), program->has_end);
    int64_t end = program->has_end ? program->end_ns : data->last_ns;
    if (end > 0) {
        base_buf_puts(out, program->has_end ? ", ran for " : ", last call returned after ");
        report_put_ns(out, (uint64_t)end);
    }
    base_buf_puts(out, "\n  ");
    for (size_t i = 0; i < data->devices.count; i++) {
        base_buf_puts(out, i ? ", " : "on ");
        report_put_text(out, data->devices.items[i].name);
    }
    if (data->devices.count == 0)
        base_buf_puts(out, data->calls || !profile_meta(data->profile)->complete
                               ? "on a GPU that is not known"
                               : "no GPU was used");
    if (program->simulated)
        base_buf_puts(out, ", simulated");
    if (program->driver_version)
        base_buf_printf(out, ", CUDA %u.%u", program->driver_version / 1000,
                        program->driver_version % 1000 / 10);
    base_buf_puts(out, "\n  ");
    put_counted(out, data->calls, "call");
    if (data->failed_calls)
        base_buf_printf(out, " (%llu failed)", (unsigned long long)data->failed_calls);
    base_buf_puts(out, ", ");
    put_counted(out, data->launches, "kernel run");
    base_buf_puts(out, ", ");
    put_counted(out, data->objects.count, "object");
    base_buf_putc(out, '\n');
}

static void put_notes(struct report_text *text)
{
    const struct report_data *data = text->data;
    if (data->notes.count == 0)
        return;
    report_text_heading(text, "Notes");
    for (size_t i = 0; i < data->notes.count; i++) {
        base_buf_printf(&text->out, "  %s: ", profile_severity_word(data->notes.items[i].severity));
        report_put_text(&text->out, data->notes.items[i].text);
        base_buf_putc(&text->out, '\n');
    }
}

enum base_code report_text(struct profile *profile, const struct analyze_thresholds *thresholds,
                           const struct report_style *style, report_write *write, void *user,
                           struct base_error *error)
{
    struct report_data data = {0};
    struct report_text text = {.data = &data, .style = style};
    enum base_code code = report_data_load(&data, profile, thresholds, error);
    if (code == BASE_OK) {
        put_head(&text);
        report_text_peaks(&text);
        report_text_findings(&text);
        put_kernels(&text);
        put_transfers(&text);
        put_waits(&text);
        report_text_objects(&text);
        put_notes(&text);
        if (text.failed || text.out.failed)
            code = base_fail(error, BASE_NO_MEMORY, "out of memory");
        else if (!write(user, text.out.text, text.out.length))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    base_buf_fini(&text.out);
    report_data_fini(&data);
    return code;
}
