// SPDX-License-Identifier: Apache-2.0
// The report as text: about one screen for a person, the largest of everything first.
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "table.h"
#include "units.h"

enum { MOST_ROWS = 10, MOST_ROWS_OF_A_PEAK = 5 };

struct writing {
    const struct report_data *data;
    const struct report_style *style;
    struct base_buf out;
    bool failed; // memory ran out
};

#define COLUMNS(table) (table), sizeof(table) / sizeof((table)[0])

static void put_table(struct writing *writing, const struct report_column *columns,
                      size_t column_count, const void *rows, size_t count, size_t row_bytes,
                      size_t most)
{
    const struct report_table table = {columns,   column_count, rows, count < most ? count : most,
                                       row_bytes, writing->data};
    writing->failed |= !report_put_table(&table, writing->style, &writing->out);
    if (count > most)
        base_buf_printf(&writing->out, "  ... and %zu more\n", count - most);
}

static void put_heading(struct writing *writing, const char *text)
{
    base_buf_putc(&writing->out, '\n');
    report_put_heading(writing->style, text, &writing->out);
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

static const struct report_column kernel_columns[] = {
    {"kernel", false, REPORT_CUT_END, kernel_name},  {"launches", true, REPORT_WHOLE, kernel_count},
    {"GPU time", true, REPORT_WHOLE, kernel_total},  {"mean", true, REPORT_WHOLE, kernel_mean},
    {"longest", true, REPORT_WHOLE, kernel_longest},
};

static int by_kernel_time(const void *one, const void *other)
{
    const struct report_kernel *a = one, *b = other;
    int order = compare_sums(&a->sum, &b->sum);
    return order ? order : strcmp(a->name, b->name);
}

static void put_kernels(struct writing *writing)
{
    const struct report_data *data = writing->data;
    struct report_kernel *rows = calloc(data->kernel_rows.count + 1, sizeof(*rows));
    size_t count = 0;
    bool timed = false;
    for (size_t i = 0; rows && i < data->kernel_rows.count; i++) {
        if (data->kernel_rows.items[i].sum.count)
            rows[count++] = data->kernel_rows.items[i];
        timed |= data->kernel_rows.items[i].sum.timed > 0;
    }
    writing->failed |= !rows;
    if (count) {
        qsort(rows, count, sizeof(*rows), by_kernel_time);
        put_heading(writing, timed ? "Kernels by GPU time" : "Kernels by launches");
        put_table(writing, COLUMNS(kernel_columns), rows, count, sizeof(*rows), MOST_ROWS);
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

static void put_transfers(struct writing *writing)
{
    const struct report_data *data = writing->data;
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
    put_heading(writing, timed ? "Copies by GPU time" : "Copies by number");
    put_table(writing, COLUMNS(transfer_columns), rows, count, sizeof(rows[0]), count);
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

static void put_waits(struct writing *writing)
{
    const struct report_data *data = writing->data;
    size_t count = data->wait_rows.count;
    struct report_wait *rows = calloc(count + 1, sizeof(*rows));
    writing->failed |= !rows;
    if (rows && count) {
        memcpy(rows, data->wait_rows.items, count * sizeof(*rows));
        qsort(rows, count, sizeof(*rows), by_wait_time);
        put_heading(writing, "Synchronisations by time waited");
        put_table(writing, COLUMNS(wait_columns), rows, count, sizeof(*rows), MOST_ROWS);
    }
    free(rows);
}

// --- Objects, those of one name, kind and place together -----------------------------------------

struct group {
    const struct report_object *first;
    uint64_t count, bytes, unfreed;
};

static void group_name(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct group *group = row;
    if (group->first->name && group->first->name[0])
        report_put_text(out, group->first->name);
    else
        base_buf_printf(out, "(object %llu)", (unsigned long long)group->first->number);
}

static void group_kind(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct group *group = row;
    base_buf_puts(out, profile_object_kind_word((enum profile_object_kind)group->first->kind));
}

static void group_count(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_u64(out, ((const struct group *)row)->count);
}

static void group_bytes(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    report_put_bytes(out, ((const struct group *)row)->bytes);
}

static void group_unfreed(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    if (((const struct group *)row)->unfreed)
        base_buf_u64(out, ((const struct group *)row)->unfreed);
}

static void group_place(const void *context, const void *row, struct base_buf *out)
{
    report_put_place(context, ((const struct group *)row)->first->path, out);
}

static const struct report_column peak_columns[] = {
    {"object", false, REPORT_CUT_END, group_name},
    {"kind", false, REPORT_WHOLE, group_kind},
    {"objects", true, REPORT_WHOLE, group_count},
    {"size", true, REPORT_WHOLE, group_bytes},
    {"allocated at", false, REPORT_CUT_START, group_place},
};

static const struct report_column object_columns[] = {
    {"object", false, REPORT_CUT_END, group_name},
    {"kind", false, REPORT_WHOLE, group_kind},
    {"objects", true, REPORT_WHOLE, group_count},
    {"size", true, REPORT_WHOLE, group_bytes},
    {"not freed", true, REPORT_WHOLE, group_unfreed},
    {"allocated at", false, REPORT_CUT_START, group_place},
};

static int by_group_bytes(const void *one, const void *other)
{
    const struct group *a = one, *b = other;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first; // by number
}

// A table of the objects, of those that make the peak where one is given.
static void put_objects(struct writing *writing, const struct report_peak *peak,
                        const struct report_column *columns, size_t column_count, size_t most)
{
    const struct report_data *data = writing->data;
    struct base_map known = {0};
    BASE_ARRAY(struct group) groups = {0};
    for (size_t i = 0; i < data->objects.count && !writing->failed; i++) {
        const struct report_object *object = &data->objects.items[i];
        if (peak && (!object->counts || object->call > peak->start || object->end <= peak->start))
            continue;
        // Nameless ones are told apart by number.
        uint64_t key[4] = {(uint64_t)(uintptr_t)object->name, object->kind, object->path,
                           object->name ? 0 : object->number};
        uint64_t *slot = base_map_put(&known, base_hash(key, sizeof(key)), NULL);
        if (slot && *slot == 0) {
            struct group *group = base_array_push(&groups);
            if (group)
                group->first = object;
            *slot = group ? groups.count : 0;
        }
        writing->failed |= !slot || *slot == 0;
        if (writing->failed)
            break;
        assert(groups.items); // since the map is not empty
        struct group *group = &groups.items[*slot - 1];
        group->count++;
        group->bytes += object->bytes;
        group->unfreed += object->end == REPORT_NEVER;
    }
    if (groups.count && !writing->failed) {
        qsort(groups.items, groups.count, sizeof(groups.items[0]), by_group_bytes);
        put_table(writing, columns, column_count, groups.items, groups.count,
                  sizeof(groups.items[0]), most);
    }
    base_map_fini(&known);
    base_array_fini(&groups);
}

static void put_peaks(struct writing *writing)
{
    const struct report_data *data = writing->data;
    for (size_t i = 0; i < data->peak_count; i++) {
        const struct report_peak *peak = &data->peaks[i];
        struct base_buf heading = {0};
        base_buf_puts(&heading, i == 0 ? "Peak of device memory: " : "Second peak: ");
        report_put_bytes(&heading, peak->bytes);
        if (peak->start)
            base_buf_printf(&heading, ", reached by call %llu", (unsigned long long)peak->start);
        if (peak->times > 1)
            base_buf_printf(&heading, " and %llu times more",
                            (unsigned long long)(peak->times - 1));
        writing->failed |= heading.failed;
        put_heading(writing, heading.text ? heading.text : "");
        base_buf_fini(&heading);
        put_objects(writing, peak, COLUMNS(peak_columns), MOST_ROWS_OF_A_PEAK);
    }
    if (data->peak_count == 0)
        put_heading(writing, "No device memory was allocated");
}

// --- The head ------------------------------------------------------------------------------------

// As one would type it in a shell, as far as a reader is concerned.
static void put_argument(struct base_buf *out, const char *text)
{
    bool plain = text[0] && !text[strcspn(text, " \t\n\"'\\$`*?<>|&;()[]{}!#~")];
    base_buf_puts(out, plain ? "" : "'");
    report_put_text(out, text);
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

static void put_head(struct writing *writing)
{
    const struct report_data *data = writing->data;
    const struct profile_program *program = profile_program(data->profile);
    struct base_buf line = {0};
    struct base_buf *out = &writing->out;
    for (uint32_t i = 0; i < program->argument_count; i++) {
        base_buf_puts(&line, i ? " " : "");
        put_argument(&line, program->arguments[i]);
    }
    if (program->argument_count == 0)
        report_put_text(&line, program->executable);
    report_put_heading(writing->style, line.length ? line.text : "(program not known)", out);
    writing->failed |= line.failed;
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

static void put_notes(struct writing *writing)
{
    const struct report_data *data = writing->data;
    if (data->notes.count == 0)
        return;
    put_heading(writing, "Notes");
    for (size_t i = 0; i < data->notes.count; i++) {
        base_buf_printf(&writing->out,
                        "  %s: ", profile_severity_word(data->notes.items[i].severity));
        report_put_text(&writing->out, data->notes.items[i].text);
        base_buf_putc(&writing->out, '\n');
    }
}

enum base_code report_text(struct profile *profile, const struct report_style *style,
                           report_write *write, void *user, struct base_error *error)
{
    struct report_data data = {0};
    struct writing writing = {.data = &data, .style = style};
    enum base_code code = report_data_load(&data, profile, error);
    if (code == BASE_OK) {
        put_head(&writing);
        put_peaks(&writing);
        put_kernels(&writing);
        put_transfers(&writing);
        put_waits(&writing);
        if (data.objects.count) {
            put_heading(&writing, "Objects by size");
            put_objects(&writing, NULL, COLUMNS(object_columns), MOST_ROWS);
        }
        put_notes(&writing);
        if (writing.failed || writing.out.failed)
            code = base_fail(error, BASE_NO_MEMORY, "out of memory");
        else if (!write(user, writing.out.text, writing.out.length))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    base_buf_fini(&writing.out);
    report_data_fini(&data);
    return code;
}
