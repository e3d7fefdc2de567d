// SPDX-License-Identifier: Apache-2.0
// Findings as rows for queries: v_findings, which docs/reference/profile.md describes.
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "short_names.h"
#include "suppress.h"

// Name and value of each column. Texts are NULL where they are unknown, numbers by COLUMN_KNOWN.
#define COLUMNS(NUMBER, KNOWN, TEXT)                                                 \
    NUMBER(rank, index + 1)                                                          \
    TEXT(pattern, analyze_pattern_word(finding->pattern))                            \
    KNOWN(object, finding->object, finding->object)                                  \
    TEXT(object_name, object ? object->name : NULL)                                  \
    KNOWN(call, finding->call, finding->call)                                        \
    TEXT(called, report_called_at(data, finding->path))                              \
    TEXT(kernel, finding->kernel ? report_kernel_name(data, finding->kernel) : NULL) \
    TEXT(place, texts[PLACE])                                                        \
    KNOWN(path, finding->path, finding->path)                                        \
    NUMBER(worthwhile, finding->worthwhile)                                          \
    NUMBER(only_together, finding->only_together)                                    \
    KNOWN(covered_by, analyze_covering_rank(data->analysis, finding),                \
          analyze_covering_rank(data->analysis, finding))                            \
    NUMBER(peak_bytes, finding->peak_bytes)                                          \
    NUMBER(traffic_bytes, finding->traffic_bytes)                                    \
    NUMBER(gpu_ns, finding->gpu_ns)                                                  \
    NUMBER(run_ns, finding->host_ns)                                                 \
    NUMBER(waits, finding->waits)                                                    \
    NUMBER(together_bytes, finding->together_bytes)                                  \
    NUMBER(together_ns, finding->together_ns)                                        \
    NUMBER(count, finding->count)                                                    \
    KNOWN(distance, finding->distance, finding->has_distance)                        \
    TEXT(worth, texts[WORTH])                                                        \
    TEXT(message, texts[MESSAGE])                                                    \
    TEXT(suggestion, texts[SUGGESTION])

#define AS_NUMBER(name, value)       #name ","
#define AS_KNOWN(name, value, known) #name ","
#define AS_TEXT(name, value)         #name ","
static const char declaration[] = "CREATE TABLE v_findings(" COLUMNS(
    AS_NUMBER, AS_KNOWN, AS_TEXT) "more HIDDEN)"; // ends the list; always NULL

#define ONE(...) +1
enum { COLUMN_COUNT = 0 COLUMNS(ONE, ONE, ONE) + 1 };

enum { PLACE, WORTH, MESSAGE, SUGGESTION, TEXTS };

struct report_findings_table {
    struct profile_rows table;
    struct report_data data; // owns the texts
    struct profile_cell *cells;
};

static struct profile_cell number_cell(uint64_t number)
{
    return (struct profile_cell){.kind = PROFILE_CELL_INTEGER, .integer = (int64_t)number};
}

static struct profile_cell text_cell(const char *text)
{
    if (!text)
        return (struct profile_cell){.kind = PROFILE_CELL_NULL};
    return (struct profile_cell){.kind = PROFILE_CELL_TEXT, .bytes = {text, strlen(text)}};
}

// Moves the text of a buffer to the arena. Returns NULL if it is empty; sets *failed if memory ran
// out.
static const char *keep(struct report_data *data, struct base_buf *buf, bool *failed)
{
    const char *kept =
        buf->length && !buf->failed ? base_alloc_text(&data->arena, buf->text, buf->length) : NULL;
    *failed |= buf->failed || (buf->length && !kept);
    base_buf_fini(buf);
    return kept;
}

static bool fill_row(struct report_data *data, size_t index, struct profile_cell *cell)
{
    const struct analyze_finding *finding = analyze_finding(data->analysis, index);
    const struct report_object *object = report_find_object(data, finding->object);
    struct base_buf bufs[TEXTS] = {{0}};
    const char *texts[TEXTS];
    bool failed = false;
    report_put_finding_place(data, finding, &bufs[PLACE]);
    report_put_worth(data, finding, &bufs[WORTH]);
    report_put_message(data, finding, &bufs[MESSAGE]);
    report_put_suggestion(data, finding, &bufs[SUGGESTION]);
    for (unsigned i = 0; i < TEXTS; i++)
        texts[i] = keep(data, &bufs[i], &failed);
#define PUT_NUMBER(name, value) *cell++ = number_cell(value);
#define PUT_KNOWN(name, value, known) \
    *cell++ = (known) ? number_cell(value) : (struct profile_cell){.kind = PROFILE_CELL_NULL};
#define PUT_TEXT(name, value) *cell++ = text_cell(value);
    COLUMNS(PUT_NUMBER, PUT_KNOWN, PUT_TEXT)
    return !failed;
}

enum base_code report_findings_table(struct profile *profile, const struct report_rules *rules,
                                     struct report_findings_table **out, struct base_error *error)
{
    struct report_findings_table *made = *out = calloc(1, sizeof(*made));
    BASE_RETURN_IF_NO_MEMORY(!made, error);
    enum base_code code = report_data_load_by(&made->data, profile, rules, error);
    const size_t count = code == BASE_OK ? analyze_finding_count(made->data.analysis) : 0;
    made->cells = calloc(count + 1, COLUMN_COUNT * sizeof(*made->cells));
    bool good = made->cells != NULL;
    for (size_t i = 0; i < count && good; i++)
        good = fill_row(&made->data, i, &made->cells[i * COLUMN_COUNT]);
    if (code == BASE_OK && !good)
        code = base_no_memory(error);
    made->table = (struct profile_rows){.name = "v_findings",
                                        .declaration = declaration,
                                        .column_count = COLUMN_COUNT,
                                        .row_count = count,
                                        .cells = made->cells};
    if (code == BASE_OK)
        code = profile_offer_rows(profile, &made->table, error);
    if (code != BASE_OK) {
        report_findings_table_free(made);
        *out = NULL;
    }
    return code;
}

void report_findings_table_free(struct report_findings_table *table)
{
    if (!table)
        return;
    report_data_fini(&table->data);
    free(table->cells);
    free(table);
}
