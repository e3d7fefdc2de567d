// SPDX-License-Identifier: Apache-2.0
// Prints a kernel as text: parameters, layouts, shared arrays, loops, and a table of memory sites.
#include <stdlib.h>
#include <string.h>

#include "kernel_view.h"

enum { WIDEST_COLUMN = 32 };

// A column of the table of sites: its header, and how a site's cell is written.
struct column {
    const char *header;
    bool right;
    void (*cell)(const struct cli_kernel_view *view, const struct ptx_site *site,
                 struct base_buf *out);
};

static void cell_line(const struct cli_kernel_view *view, const struct ptx_site *site,
                      struct base_buf *out)
{
    cli_kernel_view_line(view, site->instr, out);
}

static void cell_access(const struct cli_kernel_view *view, const struct ptx_site *site,
                        struct base_buf *out)
{
    (void)view;
    base_buf_puts(out, ptx_access_name((enum ptx_access)site->access));
}

static void cell_space(const struct cli_kernel_view *view, const struct ptx_site *site,
                       struct base_buf *out)
{
    (void)view;
    base_buf_puts(out, ptx_space_name((enum ptx_space)site->actual_space));
    if (site->space == PTX_SPACE_GENERIC && site->actual_space != PTX_SPACE_GENERIC)
        base_buf_puts(out, "*");
}

static void cell_bytes(const struct cli_kernel_view *view, const struct ptx_site *site,
                       struct base_buf *out)
{
    (void)view;
    if (site->bytes)
        base_buf_u64(out, site->bytes);
    else
        base_buf_puts(out, "-");
}

static void cell_type(const struct cli_kernel_view *view, const struct ptx_site *site,
                      struct base_buf *out)
{
    (void)view;
    cli_kernel_view_type(site, out);
}

static void cell_origin(const struct cli_kernel_view *view, const struct ptx_site *site,
                        struct base_buf *out)
{
    cli_kernel_view_origin(view, &site->origin, out);
}

static void cell_class(const struct cli_kernel_view *view, const struct ptx_site *site,
                       struct base_buf *out)
{
    (void)view;
    base_buf_puts(out, ptx_site_class_name((enum ptx_site_class)site->kind));
}

static void cell_depth(const struct cli_kernel_view *view, const struct ptx_site *site,
                       struct base_buf *out)
{
    (void)view;
    base_buf_u64(out, site->loop_depth);
    if (site->loop_invariant)
        base_buf_putc(out, '=');
}

static void put_range(struct base_buf *out, const struct ptx_range *range)
{
    base_buf_u64(out, range->from);
    if (range->to != range->from)
        base_buf_printf(out, "-%u", range->to);
}

static void cell_warp(const struct cli_kernel_view *view, const struct ptx_site *site,
                      struct base_buf *out)
{
    struct ptx_site_costs costs;
    if (!cli_kernel_view_costs(view, site, &costs)) {
        base_buf_puts(out, "-");
        return;
    }
    put_range(out, &costs.count);
    base_buf_puts(out, costs.shared ? " wavefront" : " sector");
    base_buf_puts(out, costs.count.to == 1 ? "" : "s");
    if (costs.count.from > costs.least.to) {
        base_buf_puts(out, " for ");
        put_range(out, &costs.least);
    }
    if (costs.words_apart)
        base_buf_printf(out, " (%lld apart)", (long long)costs.words_apart);
}

// Appends the line of a load, without the file if it is that of the site.
static void put_near_line(const struct cli_kernel_view *view, const struct ptx_instr *load,
                          const struct ptx_instr *site, struct base_buf *out)
{
    if (load->loc && site->loc && load->loc->file == site->loc->file && !load->loc->inlined)
        base_buf_printf(out, "line %u", load->loc->line);
    else
        cli_kernel_view_line(view, load, out);
}

// Appends the lines of the loads that a fill or drain brings; many of them are only counted.
static void put_sources(const struct cli_kernel_view *view, const struct ptx_staging *staging,
                        const struct ptx_instr *site, struct base_buf *out)
{
    enum { MOST_LINES = 2 };
    struct base_buf lines[PTX_STAGING_SOURCES] = {0};
    unsigned count = 0;
    for (uint8_t i = 0; i < staging->source_count; i++) {
        struct base_buf *line = &lines[count];
        put_near_line(view, view->sites[staging->sources[i]].instr, site, line);
        out->failed |= line->failed;
        bool listed = line->failed;
        for (unsigned k = 0; k < count && !listed; k++)
            listed = strcmp(lines[k].text, line->text) == 0;
        if (listed)
            base_buf_fini(line);
        count += !listed;
    }
    if (staging->more || count > MOST_LINES)
        base_buf_printf(out, "%s%u loads", staging->more ? "more than " : "",
                        staging->source_count);
    for (unsigned i = 0; i < count; i++) {
        if (!staging->more && count <= MOST_LINES)
            base_buf_printf(out, "%s%s", i ? ", " : "", lines[i].text);
        base_buf_fini(&lines[i]);
    }
}

// What the site does with shared memory, or why its array is unknown.
static void cell_shared(const struct cli_kernel_view *view, const struct ptx_site *site,
                        struct base_buf *out)
{
    const uint32_t index = cli_kernel_view_index(view, site);
    const struct ptx_staging *staging = &view->stagings[index];
    const char *doubt = ptx_array_doubt((enum ptx_array_kind)view->arrays.places[index].kind);
    if (staging->kind != PTX_STAGING_NONE)
        base_buf_puts(out, ptx_staging_name((enum ptx_staging_kind)staging->kind));
    if (staging->source_count && view->sites[staging->sources[0]].instr == site->instr) {
        base_buf_puts(out, " by a copy");
    } else if (staging->source_count) {
        base_buf_puts(out, " of ");
        put_sources(view, staging, site->instr, out);
    }
    // Any generic address may be one of shared memory; that is said in the column of spaces.
    if (doubt && site->actual_space == PTX_SPACE_SHARED)
        base_buf_printf(out, "%s%s", staging->kind == PTX_STAGING_NONE ? "" : ", ", doubt);
}

static void cell_address(const struct cli_kernel_view *view, const struct ptx_site *site,
                         struct base_buf *out)
{
    ptx_form_print(view->facts->affine, &site->form, &view->namer, out);
}

static const struct column columns[] = {
    {"line", false, cell_line},         {"access", false, cell_access},
    {"space", false, cell_space},       {"bytes", true, cell_bytes},
    {"type", false, cell_type},         {"from", false, cell_origin},
    {"class", false, cell_class},       {"loop", false, cell_depth},
    {"a warp takes", false, cell_warp}, {"shared memory", false, cell_shared},
    {"address", false, cell_address},
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]), ADDRESS = COLUMNS - 1 };

// A row of the table: one site, or several that differ only by a constant in their address.
struct row {
    const struct ptx_site *first;
    uint32_t count;
    int64_t least, most;
    char *cells[COLUMNS];
};

struct rows {
    BASE_ARRAY(struct row) list;
    struct base_map by_text; // from the text of likeness() to 1 + the row's index
    BASE_ARRAY(char *) keys;
};

// Returns all cells of the site as one text, with its address without the constant. Sites with
// equal texts share a row.
static char *likeness(const struct cli_kernel_view *view, const struct ptx_site *site)
{
    struct base_buf key = {0};
    struct ptx_site shifted = *site;
    shifted.form.constant = 0;
    for (int c = 0; c < COLUMNS; c++) {
        columns[c].cell(view, &shifted, &key);
        base_buf_putc(&key, '\n');
    }
    if (key.failed)
        base_buf_fini(&key);
    return key.text;
}

static struct row *add_row(struct rows *rows, const struct ptx_site *site)
{
    struct row *row = base_array_push(&rows->list);
    if (row)
        *row = (struct row){.first = site, .least = INT64_MAX, .most = INT64_MIN};
    return row;
}

// Returns the row that a site belongs to, or NULL if memory runs out.
static struct row *find_row(const struct cli_kernel_view *view, const struct ptx_site *site,
                            bool all, struct rows *rows)
{
    if (all)
        return add_row(rows, site);
    char *key = likeness(view, site);
    char **kept = key ? base_array_push(&rows->keys) : NULL;
    if (!kept) {
        free(key);
        return NULL;
    }
    *kept = key;
    uint64_t *place = base_map_put_str(&rows->by_text, base_str(key), NULL);
    if (!place)
        return NULL;
    if (*place)
        return &rows->list.items[*place - 1];
    struct row *row = add_row(rows, site);
    *place = rows->list.count;
    return row;
}

static void fill_cells(const struct cli_kernel_view *view, struct row *row)
{
    for (int c = 0; c < COLUMNS; c++) {
        struct base_buf cell = {0};
        // NOLINTNEXTLINE(*NullDereference): counted items exist
        struct ptx_site site = *row->first;
        if (row->count > 1 && row->least != row->most)
            site.form.constant = 0;
        columns[c].cell(view, &site, &cell);
        if (c == ADDRESS && row->count > 1 && row->least != row->most)
            base_buf_printf(&cell, " + %lld...%lld", (long long)row->least, (long long)row->most);
        if (c == ADDRESS && row->count > 1)
            base_buf_printf(&cell, "  (%u sites)", row->count);
        base_buf_puts(&cell, ""); // an empty cell is a text, too
        if (cell.failed)
            base_buf_fini(&cell);
        row->cells[c] = cell.text;
    }
}

static void put_cell(struct base_buf *out, const char *text, size_t width, bool right, bool last)
{
    size_t length = strlen(text);
    for (size_t i = length; right && i < width; i++)
        base_buf_putc(out, ' ');
    base_buf_puts(out, text);
    for (size_t i = length; !right && !last && i < width; i++)
        base_buf_putc(out, ' ');
    base_buf_puts(out, last ? "\n" : "  ");
}

// Finds the widths of columns. A column without any text has none and is left out.
static void find_widths(const struct rows *rows, size_t widths[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++) {
        size_t widest = 0;
        bool any = false;
        for (size_t i = 0; i < rows->list.count; i++) {
            const char *cell = rows->list.items[i].cells[c];
            const size_t width = cell ? strlen(cell) : 1;
            any |= width > 0;
            // A wider cell shifts only the rest of its own row.
            if (width > widest && width <= WIDEST_COLUMN)
                widest = width;
        }
        const size_t header = strlen(columns[c].header);
        widths[c] = !any ? 0 : widest > header ? widest : header;
    }
}

static void print_rows(const struct rows *rows, struct base_buf *out)
{
    size_t widths[COLUMNS];
    find_widths(rows, widths);
    base_buf_puts(out, "    ");
    for (int c = 0; c < COLUMNS; c++) {
        if (widths[c])
            put_cell(out, columns[c].header, widths[c], columns[c].right, c == ADDRESS);
    }
    for (size_t i = 0; i < rows->list.count; i++) {
        base_buf_puts(out, "    ");
        for (int c = 0; c < COLUMNS; c++) {
            const char *cell = rows->list.items[i].cells[c];
            if (widths[c])
                put_cell(out, cell ? cell : "?", widths[c], columns[c].right, c == ADDRESS);
        }
    }
}

static void print_sites(const struct cli_kernel_view *view, bool all, struct base_buf *out)
{
    struct rows rows = {0};
    for (uint32_t i = 0; i < view->site_count && !out->failed; i++) {
        struct row *row = find_row(view, &view->sites[i], all, &rows);
        if (!row) {
            out->failed = true;
            break;
        }
        int64_t constant = view->sites[i].form.constant;
        row->count++;
        row->least = constant < row->least ? constant : row->least;
        row->most = constant > row->most ? constant : row->most;
    }
    for (size_t i = 0; i < rows.list.count; i++)
        fill_cells(view, &rows.list.items[i]);
    print_rows(&rows, out);
    for (size_t i = 0; i < rows.list.count; i++) {
        for (int c = 0; c < COLUMNS; c++) // NOLINTNEXTLINE(*NullDereference): counted items exist
            free(rows.list.items[i].cells[c]);
    }
    for (size_t i = 0; i < rows.keys.count; i++)
        free(rows.keys.items[i]);
    base_array_fini(&rows.list);
    base_array_fini(&rows.keys);
    base_map_fini(&rows.by_text);
}

static void print_trip(const struct cli_kernel_view *view, const struct ptx_trip *trip,
                       struct base_buf *out)
{
    if (!trip->known) {
        base_buf_puts(out, "an unknown number of times");
        return;
    }
    if (!trip->exact)
        base_buf_puts(out, "at most ");
    if (trip->is_constant) {
        base_buf_printf(out, "%llu times", (unsigned long long)trip->constant);
        return;
    }
    // ceil(n / s) + 1 is ceil((n + s) / s); for an inclusive bound it is floor((n + 2s) / s).
    struct ptx_linear rounds = trip->numerator;
    rounds.constant += trip->inclusive ? 2 * trip->step : trip->step;
    bool divided = trip->step != 1;
    bool several = rounds.term_count > 1 || rounds.constant;
    if (divided)
        base_buf_printf(out, "%s(%s", trip->inclusive ? "floor" : "ceil", several ? "(" : "");
    ptx_form_print(view->facts->affine, &rounds, &view->namer, out);
    if (divided)
        base_buf_printf(out, "%s / %lld)", several ? ")" : "", (long long)trip->step);
    base_buf_puts(out, " times");
}

static void print_loops(const struct cli_kernel_view *view, struct base_buf *out)
{
    const struct ptx_cfg *cfg = view->facts->cfg;
    if (!cfg->loop_count)
        return;
    base_buf_puts(out, "  loops\n");
    for (uint32_t i = 0; i < cfg->loop_count; i++) {
        const struct ptx_loop *loop = &cfg->loops[i];
        const struct ptx_block *header = &cfg->blocks[loop->header];
        base_buf_puts(out, "    ");
        for (uint32_t k = 1; k < loop->depth; k++)
            base_buf_puts(out, "  ");
        base_buf_printf(out, "i%u  ", i);
        if (header->instr_count)
            cli_kernel_view_line(view, header->instrs[0], out);
        base_buf_puts(out, "  runs ");
        print_trip(view, &view->facts->affine->trips[i], out);
        if (view->facts->uniformity->exit_deps[i] & PTX_DEP_ANY_THREAD)
            base_buf_puts(out, ", not the same for all threads");
        base_buf_putc(out, '\n');
    }
}

static void print_params(const struct cli_kernel_view *view, struct base_buf *out)
{
    const struct ptx_function *function = view->function;
    static const char *const uses[] = {"", "read", "written", "read and written"};
    if (!function->param_count)
        return;
    base_buf_puts(out, "  parameters\n");
    for (uint32_t i = 0; i < function->param_count; i++) {
        const struct ptx_var *var = function->params[i];
        base_buf_printf(out, "    p%-3u %5llu B  %-8s", i, (unsigned long long)var->size_bytes,
                        var->dim_count ? "struct" : ptx_type_info((enum ptx_type)var->type)->name);
        base_buf_printf(out, "  %-16s", uses[view->param_use[i]]);
        if (view->param_types[i])
            base_buf_printf(out, "  %s", view->param_types[i]);
        while (out->length && out->text[out->length - 1] == ' ')
            out->text[--out->length] = '\0';
        base_buf_putc(out, '\n');
    }
}

// Returns whether a matrix product reads the array by a descriptor. NULL: an unknown array.
static bool is_described(const struct cli_kernel_view *view, const struct ptx_var *array)
{
    for (uint32_t i = 0; i < view->arrays.described_count; i++) {
        if (view->arrays.described[i].array == array)
            return true;
    }
    return false;
}

static void print_shared(const struct cli_kernel_view *view, struct base_buf *out)
{
    const bool any_described = is_described(view, NULL);
    if (!view->shared_count && !any_described)
        return;
    base_buf_puts(out, "  shared memory\n");
    for (uint32_t i = 0; i < view->shared_count; i++) {
        const struct ptx_var *var = view->shared[i];
        if (var->size_bytes)
            base_buf_printf(out, "    %6llu B  ", (unsigned long long)var->size_bytes);
        else
            base_buf_puts(out, "   dynamic  ");
        base_buf_printf(out, "%s%s\n", cli_kernel_view_name(view, var),
                        is_described(view, var) ? ", read by matrix descriptors" : "");
    }
    if (any_described)
        base_buf_puts(out, "    an unknown array is read by matrix descriptors\n");
}

static void print_layouts(const struct cli_kernel_view *view, struct base_buf *out)
{
    if (!view->layout_count)
        return;
    base_buf_puts(out, "  layouts of global memory\n");
    for (uint32_t i = 0; i < view->layout_count; i++) {
        const size_t start = out->length;
        base_buf_puts(out, "    ");
        cli_kernel_view_root(view, &view->layouts[i].root, out);
        do
            base_buf_putc(out, ' ');
        while (!out->failed && out->length < start + 9);
        ptx_layout_print(&view->layouts[i], out);
        base_buf_putc(out, '\n');
    }
}

void cli_kernel_view_text(const struct cli_kernel_view *view, bool all, struct base_buf *out)
{
    const struct ptx_block_size most = cli_kernel_view_size(view->function, ".maxntid");
    base_buf_printf(out, "%s%s\n", view->function->is_entry ? "" : "device function ", view->title);
    if (most.x)
        base_buf_printf(out, "  at most %u x %u x %u threads in a block\n", most.x, most.y, most.z);
    print_params(view, out);
    print_layouts(view, out);
    print_shared(view, out);
    print_loops(view, out);
    if (!view->site_count) {
        base_buf_puts(out, "  no memory sites\n");
    } else {
        base_buf_printf(out, "  %u memory site%s\n", view->site_count,
                        view->site_count == 1 ? "" : "s");
        print_sites(view, all, out);
    }
    base_buf_putc(out, '\n');
}
