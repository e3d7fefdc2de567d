// SPDX-License-Identifier: Apache-2.0
// Writes what is known about the elements of the page's objects: maps say where elements were
// touched, in cells of equal size; counts say how often, for the launch with the most uneven
// counts.
#include <stdlib.h>

#include "html.h"
#include "json_members.h"

enum { CELLS = 512, LEVELS = 36 };

struct element_row {
    uint32_t element_bytes;
    uint64_t elements;
    uint64_t *cells[2]; // of touched and of shared elements; NULL: no map
    struct profile_counts *counts;
    double variation;
};

struct gathering {
    struct page *page;
    struct element_row *rows; // by index in page.objects
    struct base_arena arena;
};

// --- Maps ----------------------------------------------------------------------------------------

static uint64_t count_bits(const unsigned char *bits, uint64_t from, uint64_t to)
{
    uint64_t count = 0;
    for (; from < to && from % 8; from++)
        count += bits[from / 8] >> from % 8 & 1;
    for (; from + 8 <= to; from += 8)
        count += (uint64_t)__builtin_popcount(bits[from / 8]);
    for (; from < to; from++)
        count += bits[from / 8] >> from % 8 & 1;
    return count;
}

static unsigned cell_count(uint64_t elements)
{
    return elements < CELLS ? (unsigned)elements : CELLS;
}

static uint64_t cell_start(uint64_t elements, unsigned cell)
{
    return (uint64_t)((unsigned __int128)elements * cell / cell_count(elements));
}

static bool take_map(void *user, const struct profile_map *map)
{
    struct gathering *gathering = user;
    uint32_t index = page_find_object(gathering->page, map->object);
    if (index == UINT32_MAX || map->elements == 0 ||
        (map->kind != PROFILE_MAP_TOUCHED && map->kind != PROFILE_MAP_SHARED))
        return true;
    struct element_row *row = &gathering->rows[index];
    if (row->elements && row->elements != map->elements)
        return true; // the granularity changed
    row->elements = map->elements;
    row->element_bytes = map->element_bytes;
    uint64_t **cells = &row->cells[map->kind == PROFILE_MAP_SHARED];
    if (!*cells)
        *cells = base_new_array(&gathering->arena, uint64_t, CELLS);
    gathering->page->failed |= !*cells;
    if (!*cells)
        return false;
    const uint64_t end = map->first + 8 * (uint64_t)map->bit_bytes;
    for (unsigned i = 0; i < cell_count(map->elements); i++) {
        uint64_t from = cell_start(map->elements, i), to = cell_start(map->elements, i + 1);
        from = from > map->first ? from : map->first;
        to = to < end ? to : end;
        if (from < to)
            (*cells)[i] += count_bits(map->bits, from - map->first, to - map->first);
    }
    return true;
}

// Writes a digit of base 36 for each cell: 0 means no elements, z means all. If all cells are
// equal, one digit stands for all.
static void put_cells(struct base_json *json, const char *key, const uint64_t *cells,
                      uint64_t elements)
{
    char text[CELLS + 1];
    const unsigned count = cell_count(elements);
    bool same = true;
    for (unsigned i = 0; i < count; i++) {
        uint64_t size = cell_start(elements, i + 1) - cell_start(elements, i);
        unsigned level = cells[i] == 0 ? 0
                         : cells[i] >= size
                             ? LEVELS - 1
                             : 1 + (unsigned)((double)cells[i] / (double)size * (LEVELS - 2));
        level = level == LEVELS - 1 && cells[i] < size ? LEVELS - 2 : level;
        text[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[level];
        same &= text[i] == text[0];
    }
    text[same ? 1 : count] = '\0';
    base_json_key(json, key);
    base_json_string(json, text);
}

// --- Counts --------------------------------------------------------------------------------------

static bool take_counts(void *user, const struct profile_counts *counts)
{
    struct gathering *gathering = user;
    uint32_t index = page_find_object(gathering->page, counts->object);
    if (index == UINT32_MAX)
        return true;
    struct element_row *row = &gathering->rows[index];
    double variation = profile_counts_variation(counts);
    if (row->counts && variation <= row->variation)
        return true;
    if (!row->counts)
        row->counts = base_new(&gathering->arena, struct profile_counts);
    gathering->page->failed |= !row->counts;
    if (!row->counts)
        return false;
    *row->counts = *counts;
    row->variation = variation;
    return true;
}

static void put_counts(struct base_json *json, const struct element_row *row)
{
    const struct profile_counts *counts = row->counts;
    base_json_key(json, "counts");
    base_json_begin_object(json);
    report_json_number(json, "call", counts->call);
    report_json_number(json, "sum", counts->sum);
    report_json_number(json, "most", counts->most);
    base_json_key(json, "variation");
    base_json_double(json, row->variation);
    base_json_key(json, "bins"); // least count, elements
    base_json_begin_array(json);
    for (unsigned i = 0; i < PROFILE_COUNT_BINS; i++) {
        if (counts->bins[i]) {
            base_json_u64(json, profile_bin_least(i));
            base_json_u64(json, counts->bins[i]);
        }
    }
    base_json_end_array(json);
    base_json_key(json, "hottest"); // first, elements, sum
    base_json_begin_array(json);
    for (unsigned i = 0; i < PROFILE_HOT_RANGES && counts->hottest[i].elements; i++) {
        base_json_u64(json, counts->hottest[i].first);
        base_json_u64(json, counts->hottest[i].elements);
        base_json_u64(json, counts->hottest[i].sum);
    }
    base_json_end_array(json);
    base_json_end_object(json);
}

// --- The section ---------------------------------------------------------------------------------

static void put(struct page *page, const struct element_row *rows)
{
    const struct report_data *data = page->data;
    struct page_section section;
    struct base_json *json = &section.json;
    uint64_t shown = 0, of = 0;
    page_begin(&section, false);
    for (size_t i = 0; i < page->objects.count; i++) {
        const struct element_row *row = &rows[i];
        if (!row->counts && !row->cells[0])
            continue;
        of++;
        if (page_section_bytes(&section) > PAGE_ELEMENT_BYTES)
            continue;
        shown++;
        base_json_begin_object(json);
        report_json_number(json, "object", data->objects.items[page->objects.items[i]].number);
        if (row->cells[0]) {
            report_json_number(json, "element_bytes", row->element_bytes);
            report_json_number(json, "elements", row->elements);
            put_cells(json, "touched", row->cells[0], row->elements);
        }
        if (row->cells[0] && row->cells[1])
            put_cells(json, "shared", row->cells[1], row->elements);
        if (row->counts)
            put_counts(json, row);
        base_json_end_object(json);
    }
    page->failed |= !page_end(page, &section, "elements", PAGE_ELEMENT_BYTES + PAGE_ROW_BYTES);
    page_omit(page, "heat maps", shown, of, "those of the objects that were made first");
}

enum base_code page_put_elements(struct page *page, struct base_error *error)
{
    struct gathering gathering = {.page = page};
    base_arena_init(&gathering.arena, 0);
    gathering.rows = calloc(page->objects.count + 1, sizeof(*gathering.rows));
    page->failed |= !gathering.rows;
    enum base_code code = BASE_OK;
    if (gathering.rows)
        code = profile_each_map(page->profile, take_map, &gathering, error);
    if (code == BASE_OK && !page->failed)
        code = profile_each_counts(page->profile, take_counts, &gathering, error);
    if (code == BASE_OK && !page->failed)
        put(page, gathering.rows);
    free(gathering.rows);
    base_arena_fini(&gathering.arena);
    return code;
}
