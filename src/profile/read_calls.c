// SPDX-License-Identifier: Apache-2.0
// Reads calls in the order of their numbers. The details of calls are in several tables, all
// ordered by call: reading them in step takes a third of the time of a join.
#include "reader.h"

static enum base_code take_launch(struct profile *profile, sqlite3_stmt *at, void *state,
                                  struct base_error *error)
{
    (void)state;
    if (U64(0) != profile->launches.count + 1)
        return profile_damaged(profile, error);
    struct profile_launch *launch = base_array_push(&profile->launches);
    BASE_RETURN_IF_NO_MEMORY(!launch, error);
    *launch = (struct profile_launch){.kernel = U32(1),
                                      .grid = {U32(2), U32(3), U32(4)},
                                      .block = {U32(5), U32(6), U32(7)},
                                      .dynamic_shared_bytes = U32(8),
                                      .flags = U32(9)};
    return BASE_OK;
}

enum base_code profile_load_launches(struct profile *profile, struct base_error *error)
{
    return profile_load(profile,
                        "SELECT id, kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z,"
                        " shared, flags FROM launches ORDER BY id",
                        take_launch, &profile->launches.count, error);
}

struct profile_launch profile_launch_at(const struct profile *profile, int64_t number)
{
    return number > 0 && (uint64_t)number <= profile->launches.count
               ? profile->launches.items[number - 1]
               : (struct profile_launch){0};
}

static enum base_code take_site(struct profile *profile, sqlite3_stmt *at, void *state,
                                struct base_error *error)
{
    (void)state;
    if (U64(0) != profile->sites.count + 1)
        return profile_damaged(profile, error);
    struct profile_site *site = base_array_push(&profile->sites);
    BASE_RETURN_IF_NO_MEMORY(!site, error);
    uint64_t kind = U64(1);
    *site = (struct profile_site){.kind = kind < PROFILE_CALL_KINDS ? (enum profile_call_kind)kind
                                                                    : PROFILE_CALL_OTHER,
                                  .function = U32(2),
                                  .thread = U32(3),
                                  .context = U32(4),
                                  .stream = U32(5),
                                  .path = U32(6),
                                  .flags = U32(7)};
    return BASE_OK;
}

// --- Reading tables in step ----------------------------------------------------------------------

enum side { SIDE_TIMES, SIDE_COPIES, SIDE_SETS, SIDE_RANGES, SIDE_SYNCS, SIDE_HOSTS, SIDES };

static const char *const side_sql[SIDES] = {
    "SELECT call, start, duration, estimated FROM gpu_times ORDER BY call",
    "SELECT call, bytes, from_address, to_address, from_object, to_object, from_pitch, to_pitch,"
    " width, height, depth, from_memory, to_memory, direction FROM copies ORDER BY call",
    "SELECT call, address, object, bytes, pitch, width, height, value, value_bytes FROM sets "
    "ORDER BY call",
    "SELECT call, address, bytes, object FROM ranges ORDER BY call",
    "SELECT call, event, stream, record FROM syncs ORDER BY call",
    "SELECT call, host, block FROM copy_hosts ORDER BY call",
};

struct walk {
    bool (*each)(void *user, const struct profile_call *row);
    void *user;
    sqlite3_stmt *sides[SIDES]; // each is at the row of a call, or at its end
    int64_t calls[SIDES];       // INT64_MAX: at its end
    int result;                 // SQLITE_OK until one fails
};

static void step(struct walk *walk, enum side side)
{
    int result = sqlite3_step(walk->sides[side]);
    walk->calls[side] =
        result == SQLITE_ROW ? sqlite3_column_int64(walk->sides[side], 0) : INT64_MAX;
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        walk->result = result;
}

// Returns the side's row of that call, or NULL.
static sqlite3_stmt *row_of(struct walk *walk, enum side side, int64_t call)
{
    while (walk->calls[side] < call)
        step(walk, side);
    return walk->calls[side] == call ? walk->sides[side] : NULL;
}

static enum profile_memory memory_of(uint64_t value)
{
    return value < PROFILE_MEMORY_UNKNOWN ? (enum profile_memory)value : PROFILE_MEMORY_UNKNOWN;
}

static void read_detail(struct walk *walk, struct profile_call *call)
{
    sqlite3_stmt *at;
    int64_t number = (int64_t)call->number;
    switch (call->kind) {
    case PROFILE_CALL_COPY:
        if (!(at = row_of(walk, SIDE_COPIES, number)))
            break;
        call->copy = (struct profile_copy){.bytes = U64(1),
                                           .from = U64(2),
                                           .to = U64(3),
                                           .from_object = U64(4),
                                           .to_object = U64(5),
                                           .from_pitch = U64(6),
                                           .to_pitch = U64(7),
                                           .width_bytes = U64(8),
                                           .height = U64(9),
                                           .depth = U64(10),
                                           .from_memory = memory_of(U64(11)),
                                           .to_memory = memory_of(U64(12)),
                                           .direction = U64(13) <= PROFILE_PEER_TO_PEER
                                                            ? (enum profile_direction)U64(13)
                                                            : PROFILE_DIRECTION_NONE};
        if ((at = row_of(walk, SIDE_HOSTS, number))) {
            call->copy.host = (enum profile_host)profile_known(
                at, 1, PROFILE_HOST_PAGEABLE, PROFILE_HOST_KINDS, PROFILE_HOST_NONE);
            call->copy.block = U64(2);
        }
        break;
    case PROFILE_CALL_SET:
        if (!(at = row_of(walk, SIDE_SETS, number)))
            break;
        call->set = (struct profile_set){.address = U64(1),
                                         .object = U64(2),
                                         .bytes = U64(3),
                                         .pitch = U64(4),
                                         .width_bytes = U64(5),
                                         .height = U64(6),
                                         .value = U32(7),
                                         .value_bytes = U32(8)};
        break;
    case PROFILE_CALL_ALLOC:
    case PROFILE_CALL_FREE:
    case PROFILE_CALL_MEMORY:
        if ((at = row_of(walk, SIDE_RANGES, number)))
            call->range =
                (struct profile_range){.address = U64(1), .bytes = U64(2), .object = U64(3)};
        break;
    case PROFILE_CALL_SYNC:
    case PROFILE_CALL_EVENT_RECORD:
    case PROFILE_CALL_EVENT_WAIT:
        if ((at = row_of(walk, SIDE_SYNCS, number)))
            call->sync = (struct profile_sync){.event = U64(1), .stream = U32(2), .record = U32(3)};
        break;
    default: break;
    }
}

static enum base_code take_call(struct profile *profile, sqlite3_stmt *at, void *state,
                                struct base_error *error)
{
    struct walk *walk = state;
    uint64_t number = U64(3);
    if (number == 0 || number > profile->sites.count)
        return profile_damaged(profile, error);
    const struct profile_site *site = &profile->sites.items[number - 1];
    struct profile_call call = {.number = KEY(0),
                                .start_ns = (int64_t)U64(1),
                                .end_ns = (int64_t)(U64(1) + U64(2)),
                                .function = site->function,
                                .thread = site->thread,
                                .context = site->context,
                                .stream = site->stream,
                                .path = site->path,
                                .result = sqlite3_column_int(at, 4),
                                .waited_ns = U64(5),
                                .kind = site->kind,
                                .flags = site->flags};
    if (call.kind == PROFILE_CALL_LAUNCH)
        call.launch = profile_launch_at(profile, sqlite3_column_int64(at, 6));
    else if (call.kind == PROFILE_CALL_GRAPH_LAUNCH)
        call.graph = U64(6);
    else
        read_detail(walk, &call);
    if ((at = row_of(walk, SIDE_TIMES, (int64_t)call.number))) {
        call.has_gpu_time = true;
        call.gpu_start_ns = (int64_t)U64(1);
        call.gpu_end_ns = (int64_t)(U64(1) + U64(2));
        call.gpu_start_estimated = U64(3) != 0;
    }
    if (walk->result != SQLITE_OK)
        return profile_read_fail(profile, walk->result, error);
    return PROFILE_PASS_ROW(profile, walk, &call, error);
}

PROFILE_EACH(call, call)
{
    struct walk walk = {.each = each, .user = user};
    enum base_code code = profile_load_launches(profile, error);
    if (code == BASE_OK)
        code = profile_load(profile,
                            "SELECT id, kind, function, thread, context, stream, path, flags "
                            "FROM sites ORDER BY id",
                            take_site, &profile->sites.count, error);
    for (unsigned i = 0; i < SIDES && code == BASE_OK; i++) {
        const bool is_there = i != SIDE_HOSTS || profile_has(profile, PROFILE_TABLE_COPY_HOSTS);
        walk.calls[i] = is_there ? INT64_MIN : INT64_MAX;
        if (is_there)
            code = profile_read_prepare(profile, side_sql[i], &walk.sides[i], error);
    }
    if (code == BASE_OK)
        code = profile_walk(profile,
                            "SELECT number, start, duration, site, result, waited, detail "
                            "FROM calls ORDER BY number",
                            take_call, &walk, error);
    for (unsigned i = 0; i < SIDES; i++)
        sqlite3_finalize(walk.sides[i]);
    return code;
}
