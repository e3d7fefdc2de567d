// SPDX-License-Identifier: Apache-2.0
// Collects the rows of one profile and puts them into an order that depends only on what they hold,
// so that the digest of a profile is the same wherever it is merged.
#include "part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job_part *job_part_create(void)
{
    struct job_part *part = calloc(1, sizeof(*part));
    if (part)
        base_arena_init(&part->arena, 0);
    return part;
}

void job_part_destroy(struct job_part *part)
{
    if (!part)
        return;
    for (unsigned i = 0; i < JOB_TABLE_COUNT; i++)
        base_array_fini(&part->rows[i]);
    base_arena_fini(&part->arena);
    free(part);
}

static const char *keep_text(struct job_part *part, const char *text)
{
    const char *kept = text ? base_alloc_text(&part->arena, text, strlen(text)) : NULL;
    part->failed |= text && !kept;
    return kept;
}

const struct job_place *job_part_keep(struct job_part *part, const struct job_place *place)
{
    struct job_place *kept = base_new(&part->arena, struct job_place);
    part->failed |= !kept;
    if (kept)
        *kept = (struct job_place){keep_text(part, place->trace), keep_text(part, place->function),
                                   keep_text(part, place->file), place->line};
    return part->failed ? NULL : kept;
}

bool job_part_put(struct job_part *part, enum job_table table, const struct job_cell *cells)
{
    const struct job_table_info *info = &job_tables[table];
    struct job_cell *kept = base_new_array(&part->arena, struct job_cell, info->count);
    struct job_row *row = kept ? base_array_push(&part->rows[table]) : NULL;
    part->failed |= !row;
    for (unsigned i = 0; row && i < info->count; i++) {
        const struct job_column *column = &info->columns[i];
        const char *text = cells[i].text;
        kept[i] = cells[i];
        if (column->type == JOB_TEXT && !text && column->role == JOB_KEY)
            kept[i] = job_text("");
        else if (column->type == JOB_TEXT)
            kept[i].text = keep_text(part, text);
    }
    if (row)
        *row = (struct job_row){kept};
    return !part->failed;
}

// --- Order ---------------------------------------------------------------------------------------

static int compare_texts(const char *one, const char *other)
{
    if (!one || !other)
        return (one != NULL) - (other != NULL);
    return strcmp(one, other);
}

static int compare_places(const struct job_place *one, const struct job_place *other)
{
    if (!one || !other)
        return (one != NULL) - (other != NULL);
    int order = compare_texts(one->trace, other->trace);
    if (order == 0)
        order = compare_texts(one->function, other->function);
    if (order == 0)
        order = compare_texts(one->file, other->file);
    return order ? order : (one->line > other->line) - (one->line < other->line);
}

static int compare_cells(const struct job_column *column, const struct job_cell *one,
                         const struct job_cell *other)
{
    if (!one->known || !other->known)
        return one->known - other->known;
    switch (column->type) {
    case JOB_NUMBER: return (one->number > other->number) - (one->number < other->number);
    case JOB_TEXT: return compare_texts(one->text, other->text);
    case JOB_PATH: return compare_places(one->place, other->place);
    default: return 0;
    }
}

static int compare_columns(const struct job_table_info *info, const struct job_row *one,
                           const struct job_row *other, unsigned count)
{
    int order = 0;
    for (unsigned i = 0; i < count && order == 0; i++)
        order = compare_cells(&info->columns[i], &one->cells[i], &other->cells[i]);
    return order;
}

static int compare_rows(const void *one, const void *other, void *user)
{
    const struct job_table_info *info = user;
    return compare_columns(info, one, other, info->count);
}

// Sums wrap: only a hostile profile has numbers whose sum is too large.
static void join(const struct job_table_info *info, struct job_row *to, const struct job_row *from)
{
    struct job_cell *cells = (struct job_cell *)to->cells; // the part's own
    for (unsigned i = info->keys; i < info->count; i++) {
        const int64_t more = from->cells[i].number;
        if (info->columns[i].role == JOB_SUM)
            cells[i].number = (int64_t)((uint64_t)cells[i].number + (uint64_t)more);
        else if (info->columns[i].role == JOB_MOST && (uint64_t)more > (uint64_t)cells[i].number)
            cells[i].number = more;
    }
}

void job_part_settle(struct job_part *part)
{
    for (unsigned i = 0; i < JOB_TABLE_COUNT; i++) {
        const struct job_table_info *info = &job_tables[i];
        struct job_row *rows = part->rows[i].items;
        const size_t count = part->rows[i].count;
        size_t kept = 0;
        if (count)
            qsort_r(rows, count, sizeof(*rows), compare_rows, (void *)info);
        for (size_t at = 0; at < count; at++) {
            if (kept && compare_columns(info, &rows[kept - 1], &rows[at], info->keys) == 0)
                join(info, &rows[kept - 1], &rows[at]);
            else
                rows[kept++] = rows[at];
        }
        part->rows[i].count = kept;
    }
}

// --- Digest --------------------------------------------------------------------------------------

static void put_number(struct base_buf *bytes, uint64_t number)
{
    for (unsigned shift = 0; shift < 64; shift += 8)
        base_buf_putc(bytes, (char)(unsigned char)(number >> shift));
}

static void put_text(struct base_buf *bytes, const char *text)
{
    put_number(bytes, text ? strlen(text) + 1 : 0);
    if (text)
        base_buf_puts(bytes, text);
}

static void put_cell(struct base_buf *bytes, const struct job_column *column,
                     const struct job_cell *cell)
{
    base_buf_putc(bytes, cell->known ? 'k' : 'n');
    if (!cell->known)
        return;
    switch (column->type) {
    case JOB_NUMBER: put_number(bytes, (uint64_t)cell->number); break;
    case JOB_TEXT: put_text(bytes, cell->text); break;
    case JOB_PATH:
        base_buf_putc(bytes, cell->place ? 'k' : 'n');
        if (cell->place) {
            put_text(bytes, cell->place->trace);
            put_text(bytes, cell->place->function);
            put_text(bytes, cell->place->file);
            put_number(bytes, cell->place->line);
        }
        break;
    default: break;
    }
}

bool job_part_digest(const struct job_part *part, char digest[JOB_DIGEST_BYTES])
{
    static const unsigned char key[BASE_SIPHASH_KEY_BYTES] = "glint job 1";
    unsigned char hash[BASE_SIPHASH_BYTES] = {0};
    struct base_buf bytes = {0};
    for (unsigned i = 0; i < JOB_TABLE_COUNT; i++) {
        const struct job_table_info *info = &job_tables[i];
        for (size_t at = 0; at < part->rows[i].count; at++) {
            base_buf_clear(&bytes);
            put_text(&bytes, info->name);
            for (unsigned c = 0; c < info->count; c++) {
                const bool is_name =
                    i == JOB_PROFILES && (c == JOB_PROFILES_file || c == JOB_PROFILES_digest);
                if (!is_name)
                    put_cell(&bytes, &info->columns[c], &part->rows[i].items[at].cells[c]);
            }
            if (bytes.failed)
                break;
            unsigned char before[BASE_SIPHASH_BYTES];
            memcpy(before, hash, sizeof(before));
            base_siphash(key, before, sizeof(before), bytes.text, bytes.length, hash);
        }
    }
    for (unsigned i = 0; i < BASE_SIPHASH_BYTES; i++)
        snprintf(digest + 2 * (size_t)i, 3, "%02x", hash[i]);
    const bool good = !bytes.failed;
    base_buf_fini(&bytes);
    return good;
}
