// SPDX-License-Identifier: Apache-2.0
// Writes what the model of the caches found in the text report, a table for each kernel; and what
// caches of other sizes would serve, by reuse distances.
#include "caches.h"
#include "short_names.h"
#include "text.h"
#include "units.h"

enum { OBJECTS = 8, KERNELS = 10 }; // the most rows and tables, if there is no limit

// --- Cells ---------------------------------------------------------------------------------------

struct cache_context {
    const struct report_data *data;
    const struct analyze_cache_kernel *kernel;
    const struct report_choice *choice;
};

static const struct report_cache_row *row_at(const void *row)
{
    return row;
}

static void cell_name(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct report_object *first = row_at(row)->first;
    if (row_at(row)->is_all)
        base_buf_puts(out, "all");
    else if (!first)
        base_buf_puts(out, "(unknown)");
    else if (first->label)
        report_put_text(out, first->label);
    else
        base_buf_printf(out, "(object %llu)", (unsigned long long)first->number);
}

static void cell_traffic(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    report_put_bytes(out, analyze_cache_dram(&row_at(row)->sum) * PROFILE_CACHE_SECTOR_BYTES);
}

static void put_rate(struct base_buf *out, struct profile_cache_hits hits)
{
    if (hits.sectors)
        report_put_share(out, hits.hits, hits.sectors);
}

static void cell_l1_loads(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_rate(out, row_at(row)->sum.l1[PROFILE_SITE_LOAD]);
}

static void cell_l1_writes(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_rate(out, report_cache_writes(row_at(row)->sum.l1));
}

static void cell_l2_loads(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_rate(out, row_at(row)->sum.l2[PROFILE_SITE_LOAD]);
}

static void cell_l2_writes(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_rate(out, report_cache_writes(row_at(row)->sum.l2));
}

static void put_error(struct base_buf *out, double error)
{
    if (error < 0)
        base_buf_putc(out, '?');
    else
        base_buf_printf(out, "%.1f", error);
}

static void cell_errors(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_error(out, row_at(row)->sum.l1_error);
    base_buf_puts(out, " / ");
    put_error(out, row_at(row)->sum.l2_error);
}

static const struct report_column columns[] = {
    {"object", false, REPORT_CUT_MIDDLE, cell_name},
    {"DRAM traffic", true, REPORT_WHOLE, cell_traffic},
    {"L1 loads", true, REPORT_WHOLE, cell_l1_loads},
    {"writes", true, REPORT_WHOLE, cell_l1_writes},
    {"L2 loads", true, REPORT_WHOLE, cell_l2_loads},
    {"writes", true, REPORT_WHOLE, cell_l2_writes},
    {"error L1 / L2", true, REPORT_WHOLE, cell_errors},
};

// --- Tables --------------------------------------------------------------------------------------

static void put_rows(struct report_text *text, const struct analyze_cache_kernel *kernel,
                     const struct report_column *list, size_t count)
{
    const struct cache_context context = {text->data, kernel, text->choice};
    const size_t limit = text->choice->limit ? text->choice->limit : OBJECTS;
    struct report_cache_rows rows = {0};
    text->failed |= !report_cache_rows(text->data, kernel, &rows);
    const size_t found = rows.list.count;
    struct report_cache_row *all = found > 1 && !text->failed ? base_array_push(&rows.list) : NULL;
    text->failed |= found > 1 && !all;
    const size_t most = found < limit ? found : limit;
    if (all) { // after the rows that are shown
        *all = rows.list.items[most];
        rows.list.items[most] = (struct report_cache_row){
            .is_all = true,
            .sum = kernel->sum,
            .levels = {kernel->levels[0], kernel->levels[1]},
            .has_distances = {kernel->has_distances[0], kernel->has_distances[1]}};
    }
    const struct report_table table = {
        list, count, rows.list.items, most + (all != NULL), sizeof(rows.list.items[0]), &context};
    text->failed |= !report_put_table(&table, text->style, &text->out);
    if (found > most)
        base_buf_printf(&text->out, "  ... and %zu more objects\n", found - most);
    base_array_fini(&rows.list);
}

static void put_words(struct report_text *text, struct base_buf *words)
{
    report_text_lines(text, "  ", words);
    base_buf_fini(words);
}

// "add: 3 launches with 224.0 KiB of L1 and 60.0 MiB of L2 of h200, 1 in 16 lines".
static void put_kernel(struct report_text *text, const struct analyze_cache_kernel *kernel)
{
    struct base_buf words = {0};
    base_buf_printf(&words, "%s: %llu launch%s with ",
                    report_short_kernel(text->data, kernel->kernel),
                    (unsigned long long)kernel->launches, kernel->launches == 1 ? "" : "es");
    report_put_bytes(&words, kernel->l1_bytes);
    base_buf_puts(&words, " of L1 and ");
    report_put_bytes(&words, kernel->l2_bytes);
    base_buf_puts(&words, " of L2 of ");
    report_put_text(&words, kernel->preset ? kernel->preset : "an unknown GPU");
    if (kernel->share == PROFILE_CACHE_ALL)
        base_buf_puts(&words, ", all lines");
    else
        base_buf_printf(&words, ", 1 in %u lines",
                        (PROFILE_CACHE_ALL + kernel->share / 2) / kernel->share);
    const uint64_t made = kernel->records + kernel->lost;
    if (kernel->lost)
        base_buf_printf(&words, "; %llu of %llu records were lost",
                        (unsigned long long)kernel->lost, (unsigned long long)made);
    base_buf_putc(&text->out, '\n');
    put_words(text, &words);
}

static void put_kernels(struct report_text *text, const struct report_column *list, size_t count,
                        bool needs_distances)
{
    const size_t limit = text->choice->limit ? text->choice->limit : KERNELS;
    struct report_cache_kernels kernels = {0};
    size_t shown = 0;
    text->failed |= !report_cache_kernels(text->data, text->choice->kernel, &kernels);
    size_t left = kernels.left_out;
    for (size_t i = 0; i < kernels.list.count; i++) {
        const struct analyze_cache_kernel *kernel = kernels.list.items[i];
        const bool has = kernel->has_distances[0] || kernel->has_distances[1];
        if (shown == limit || (needs_distances && !has)) {
            left++;
            continue;
        }
        shown++;
        put_kernel(text, kernel);
        put_rows(text, kernel, list, count);
    }
    if (left)
        base_buf_printf(&text->out, "\n  %zu more kernel%s not shown\n", left,
                        left == 1 ? " is" : "s are");
    base_array_fini(&kernels.list);
}

void report_text_caches(struct report_text *text)
{
    struct base_buf words = {0};
    if (!analyze_caches(text->data->analysis)->kernels.count)
        return;
    report_text_heading(text, "Hits in caches");
    base_buf_puts(&words, "Modelled, not measured. Writes are stores and atomic operations. Errors "
                          "are those of sampling, with 95 % confidence, in percentage points.");
    put_words(text, &words);
    put_kernels(text, REPORT_COLUMNS(columns), false);
}

// --- Caches of other sizes -----------------------------------------------------------------------

// Adds the hit rate of a fully associative cache. Level 0 is L1.
static void put_hits(struct base_buf *out, const struct report_cache_row *row, unsigned level,
                     uint64_t bytes)
{
    const struct analyze_cache_distances *distances = &row->levels[level];
    const uint64_t all = distances->first + analyze_cache_reused(distances);
    if (row->has_distances[level] && all)
        report_put_share(out, analyze_cache_hits(distances, bytes / PROFILE_CACHE_LINE_BYTES), all);
}

static void cell_l1_modelled(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_rate(out, analyze_cache_all(row_at(row)->sum.l1));
}

static void cell_l1_now(const void *context, const void *row, struct base_buf *out)
{
    const struct cache_context *now = context;
    put_hits(out, row, 0, now->kernel->l1_bytes);
}

static void cell_l1_then(const void *context, const void *row, struct base_buf *out)
{
    const struct cache_context *then = context;
    put_hits(out, row, 0, then->choice->l1_bytes);
}

static void cell_l2_modelled(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    put_rate(out, analyze_cache_all(row_at(row)->sum.l2));
}

static void cell_l2_now(const void *context, const void *row, struct base_buf *out)
{
    const struct cache_context *now = context;
    put_hits(out, row, 1, now->kernel->l2_bytes);
}

static void cell_l2_then(const void *context, const void *row, struct base_buf *out)
{
    const struct cache_context *then = context;
    put_hits(out, row, 1, then->choice->l2_bytes);
}

void report_text_what_if(struct report_text *text)
{
    const struct report_choice *choice = text->choice;
    struct base_buf words = {0}, l1 = {0}, l2 = {0};
    struct report_column list[7] = {{"object", false, REPORT_CUT_MIDDLE, cell_name}};
    size_t count = 1;
    base_buf_puts(&l1, "L1 ");
    base_buf_puts(&l2, "L2 ");
    report_put_bytes(&l1, choice->l1_bytes);
    report_put_bytes(&l2, choice->l2_bytes);
    text->failed |= l1.failed || l2.failed;
    if (choice->l1_bytes && !text->failed) {
        list[count++] = (struct report_column){"L1 model", true, REPORT_WHOLE, cell_l1_modelled};
        list[count++] = (struct report_column){"L1 now", true, REPORT_WHOLE, cell_l1_now};
        list[count++] = (struct report_column){l1.text, true, REPORT_WHOLE, cell_l1_then};
    }
    if (choice->l2_bytes && !text->failed) {
        list[count++] = (struct report_column){"L2 model", true, REPORT_WHOLE, cell_l2_modelled};
        list[count++] = (struct report_column){"L2 now", true, REPORT_WHOLE, cell_l2_now};
        list[count++] = (struct report_column){l2.text, true, REPORT_WHOLE, cell_l2_then};
    }
    report_text_heading(text, "What if caches had other sizes");
    base_buf_puts(&words,
                  "Hits of fully associative caches in which the line leaves that was not used for "
                  "the longest time, by reuse distances within launches. \"now\" is such a cache "
                  "of today's size; compare with that. \"model\" are the caches as they are; "
                  "stores of whole sectors are hits of L2 there.");
    if (choice->l2_bytes)
        base_buf_puts(&words, " L2 is asked for what today's L1 does not have.");
    put_words(text, &words);
    if (!text->failed)
        put_kernels(text, list, count, true);
    base_buf_fini(&l1);
    base_buf_fini(&l2);
}
