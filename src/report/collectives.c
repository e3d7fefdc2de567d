// SPDX-License-Identifier: Apache-2.0
// Sums are those of SQL, because nothing else of the report needs the calls one by one.
#include "collectives.h"

#include "json_members.h"
#include "text.h"
#include "units.h"

static const char query[] =
    "SELECT name, communicator, max(rank), max(ranks), call_path, count(*), sum(status NOT IN (0, "
    "7)),"
    " CASE count(sent_bytes) WHEN count(*) THEN sum(sent_bytes) END,"
    " CASE count(received_bytes) WHEN count(*) THEN sum(received_bytes) END"
    " FROM v_collectives GROUP BY name, communicator, call_path ORDER BY min(call)";

struct collecting {
    struct report_data *data;
    bool failed; // memory ran out
};

static bool see_columns(void *user, unsigned count, const char *const *names)
{
    (void)user;
    (void)names;
    return count == 9;
}

static int64_t number_of(const struct profile_cell *cell, int64_t otherwise)
{
    return cell->kind == PROFILE_CELL_INTEGER ? cell->integer : otherwise;
}

static bool see_row(void *user, unsigned count, const struct profile_cell *cells)
{
    struct collecting *loading = user;
    struct report_data *data = loading->data;
    struct report_collective *row = base_array_push(&data->collectives);
    (void)count;
    if (!row) {
        loading->failed = true;
        return false;
    }
    const bool named = cells[0].kind == PROFILE_CELL_TEXT;
    *row = (struct report_collective){
        .name = named ? base_alloc_text(&data->arena, cells[0].bytes.text, cells[0].bytes.length)
                      : "(unknown)",
        .communicator = (uint32_t)number_of(&cells[1], 0),
        .rank = number_of(&cells[2], -1),
        .ranks = number_of(&cells[3], -1),
        .path = (uint32_t)number_of(&cells[4], 0),
        .calls = (uint64_t)number_of(&cells[5], 0),
        .failed = (uint64_t)number_of(&cells[6], 0),
        .has_sent = cells[7].kind == PROFILE_CELL_INTEGER,
        .has_received = cells[8].kind == PROFILE_CELL_INTEGER,
        .sent_bytes = (uint64_t)number_of(&cells[7], 0),
        .received_bytes = (uint64_t)number_of(&cells[8], 0)};
    loading->failed = !row->name || (row->path && !base_map_put(&data->paths, row->path, NULL));
    return !loading->failed;
}

enum base_code report_collectives_load(struct report_data *data, struct base_error *error)
{
    enum { SINCE_MINOR = 18 };
    struct collecting loading = {data, false};
    const struct profile_sink sink = {see_columns, see_row, &loading};
    if (profile_meta(data->profile)->minor < SINCE_MINOR)
        return BASE_OK;
    const enum base_code code = profile_query(data->profile, query, &sink, error);
    return code == BASE_OK && loading.failed ? base_no_memory(error) : code;
}

void report_json_collectives(struct base_json *json, const struct report_data *data)
{
    report_json_key(json, "collectives");
    base_json_begin_array(json);
    for (size_t i = 0; i < data->collectives.count; i++) {
        const struct report_collective *row = &data->collectives.items[i];
        base_json_begin_object(json);
        report_json_string(json, "name", row->name);
        report_json_number_or_null(json, "communicator", row->communicator, row->communicator);
        report_json_time(json, "rank", row->rank, row->rank >= 0);
        report_json_time(json, "ranks", row->ranks, row->ranks >= 0);
        report_json_number_or_null(json, "path", row->path, row->path);
        report_json_number(json, "calls", row->calls);
        report_json_number(json, "failed", row->failed);
        report_json_number_or_null(json, "sent_bytes", row->sent_bytes, row->has_sent);
        report_json_number_or_null(json, "received_bytes", row->received_bytes, row->has_received);
        base_json_end_object(json);
    }
    base_json_end_array(json);
}

// --- Text ----------------------------------------------------------------------------------------

static void put_name(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    report_put_text(out, ((const struct report_collective *)row)->name);
}

static void put_calls(const void *context, const void *row, struct base_buf *out)
{
    const struct report_collective *at = row;
    (void)context;
    base_buf_u64(out, at->calls);
    if (at->failed)
        base_buf_printf(out, " (%llu failed)", (unsigned long long)at->failed);
}

static void put_sent(const void *context, const void *row, struct base_buf *out)
{
    const struct report_collective *at = row;
    (void)context;
    if (at->has_sent)
        report_put_bytes(out, at->sent_bytes);
}

static void put_received(const void *context, const void *row, struct base_buf *out)
{
    const struct report_collective *at = row;
    (void)context;
    if (at->has_received)
        report_put_bytes(out, at->received_bytes);
}

static void put_communicator(const void *context, const void *row, struct base_buf *out)
{
    const struct report_collective *at = row;
    (void)context;
    if (!at->communicator)
        return;
    base_buf_printf(out, "%u", at->communicator);
    if (at->rank >= 0 && at->ranks >= 0)
        base_buf_printf(out, ", rank %lld of %lld", (long long)at->rank, (long long)at->ranks);
}

static void put_place(const void *context, const void *row, struct base_buf *out)
{
    report_put_place(context, ((const struct report_collective *)row)->path, out);
}

static const struct report_column columns[] = {
    {"call of NCCL", false, REPORT_CUT_END, put_name},
    {"calls", true, REPORT_WHOLE, put_calls},
    {"gives", true, REPORT_WHOLE, put_sent},
    {"gets", true, REPORT_WHOLE, put_received},
    {"communicator", false, REPORT_WHOLE, put_communicator},
    {"at", false, REPORT_CUT_START, put_place},
};

void report_text_collectives(struct report_text *text)
{
    const struct report_data *data = text->data;
    if (!data->collectives.count)
        return;
    report_text_heading(text, "Collectives");
    report_text_table(text, REPORT_COLUMNS(columns), data->collectives.items,
                      data->collectives.count, sizeof(*data->collectives.items));
}
