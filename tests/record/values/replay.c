// SPDX-License-Identifier: Apache-2.0
// Replays the simulated GPU's log: see replay.h.
#include "replay.h"

#include <string.h>

// A launch or group that has begun and not ended, or a copy or fill.
struct running {
    struct running *next;
    const struct gpusim_log_launch *launch;
    struct running *group; // that it belongs to; NULL: none
    uint64_t call, left;   // of a group: events that have not ended
    BASE_ARRAY(struct replay_write) writes;
    BASE_ARRAY(struct replay_range) ranges; // of a group
};

// What an object held when it began, as far as the log shows it.
struct initial {
    unsigned char *bytes, *known; // from the object's first byte on
    unsigned char *touched;       // 1: it was written or loaded
};

struct replay {
    const struct replay_calls *calls;
    struct replay_totals *totals;
    bool learning;             // the first pass
    struct base_map initials;  // number of the object to struct initial
    struct base_map objects;   // number to struct replay_object; live ones
    struct base_intervals map; // the same by address
    struct running *running, *groups;
    BASE_ARRAY(struct gpusim_log_access) records; // of the instruction that is being read
};

static void *pointer_of(const struct base_map *map, uint64_t key)
{
    const uint64_t *place = base_map_get(map, key);
    return place ? (void *)(uintptr_t)*place : NULL;
}

struct replay_object *replay_object(const struct replay *replay, uint64_t id)
{
    return pointer_of(&replay->objects, id);
}

struct replay_object *replay_at(const struct replay *replay, uint64_t address)
{
    const struct base_interval *found = base_intervals_find(&replay->map, address);
    return found ? (struct replay_object *)(uintptr_t)found->value : NULL;
}

// --- Objects -------------------------------------------------------------------------------------

static struct initial *initial_of(struct replay *replay, const struct gpusim_object *object)
{
    bool added;
    uint64_t *place = replay_must(base_map_put(&replay->initials, object->id, &added));
    if (added) {
        struct initial *made = replay_must(calloc(1, sizeof(*made)));
        made->bytes = replay_must(calloc(1, object->size_bytes));
        made->known = replay_must(calloc(1, object->size_bytes));
        made->touched = replay_must(calloc(1, object->size_bytes));
        *place = (uint64_t)(uintptr_t)made;
    }
    return (struct initial *)(uintptr_t)*place;
}

static void begin_object(struct replay *replay, const struct gpusim_object *object)
{
    struct replay_object *made = replay_must(calloc(1, sizeof(*made)));
    const struct initial *initial = pointer_of(&replay->initials, object->id);
    made->object = object;
    made->base = object->address & ~(uint64_t)(REPLAY_ALIGN - 1);
    const uint64_t before = object->address - made->base;
    made->pieces = (before + object->size_bytes + REPLAY_PIECE_BYTES - 1) >> REPLAY_PIECE_SHIFT;
    made->host = object->kind == GPUSIM_OBJECT_MANAGED || object->kind == GPUSIM_OBJECT_HOST;
    made->bytes = replay_must(calloc(made->pieces, REPLAY_PIECE_BYTES));
    made->known = replay_must(calloc(made->pieces, REPLAY_PIECE_BYTES));
    if (initial && !made->host) {
        memcpy(made->bytes + before, initial->bytes, object->size_bytes);
        memcpy(made->known + before, initial->known, object->size_bytes);
    }
    *(uint64_t *)replay_must(base_map_put(&replay->objects, object->id, NULL)) =
        (uint64_t)(uintptr_t)made;
    if (base_intervals_insert(&replay->map, object->address, object->size_bytes,
                              (uint64_t)(uintptr_t)made, NULL) != BASE_OK)
        abort(); // the simulated GPU has refused objects that overlap
    if (replay->calls->object_began)
        replay->calls->object_began(replay->calls->user, made);
}

static void free_object(struct replay_object *object)
{
    free(object->bytes);
    free(object->known);
    free(object);
}

static void free_write(struct replay_write *write)
{
    for (uint64_t i = 0; i < write->object->pieces; i++)
        free(write->pieces[i]);
    free(write->pieces);
}

// A launch that still runs does not report what it wrote to an object that has ended.
static void forget_writes(struct running *running, const struct replay_object *object)
{
    for (size_t i = 0; i < running->writes.count; i++) {
        if (running->writes.items[i].object != object)
            continue;
        free_write(&running->writes.items[i]);
        running->writes.items[i] = running->writes.items[--running->writes.count];
        return;
    }
}

static void end_object(struct replay *replay, const struct gpusim_object *ended)
{
    struct replay_object *object = replay_object(replay, ended->id);
    if (!object)
        return;
    if (replay->calls->object_ended)
        replay->calls->object_ended(replay->calls->user, object);
    for (struct running *at = replay->running; at; at = at->next)
        forget_writes(at, object);
    for (struct running *at = replay->groups; at; at = at->next)
        forget_writes(at, object);
    base_map_remove(&replay->objects, ended->id);
    base_intervals_remove(&replay->map, ended->address, NULL);
    free_object(object);
}

// --- Bytes ---------------------------------------------------------------------------------------

// Returns the piece of the event's write, with what it held before.
static struct replay_piece *piece_of(struct running *running, struct replay_object *object,
                                     uint64_t number)
{
    struct replay_write *write = NULL;
    if (running->group)
        running = running->group;
    for (size_t i = 0; i < running->writes.count && !write; i++) {
        if (running->writes.items[i].object == object)
            write = &running->writes.items[i];
    }
    if (!write) {
        write = replay_must(base_array_push(&running->writes));
        write->object = object;
        write->pieces = replay_must(calloc(object->pieces, sizeof(struct replay_piece *)));
    }
    if (!write->pieces[number]) {
        struct replay_piece *piece = replay_must(calloc(1, sizeof(*piece)));
        const uint64_t at = number << REPLAY_PIECE_SHIFT;
        memcpy(piece->before, object->bytes + at, REPLAY_PIECE_BYTES);
        memcpy(piece->known, object->known + at, REPLAY_PIECE_BYTES);
        write->pieces[number] = piece;
    }
    return write->pieces[number];
}

// Writes bytes at an address inside the object. bytes NULL: what is written is unknown.
static void put_bytes(struct running *running, struct replay_object *object, uint64_t address,
                      const unsigned char *bytes, uint64_t count)
{
    for (uint64_t at = address - object->base, end = at + count; at < end;) {
        const uint64_t in_piece = at & (REPLAY_PIECE_BYTES - 1);
        uint64_t part = REPLAY_PIECE_BYTES - in_piece;
        if (part > end - at)
            part = end - at;
        struct replay_piece *piece = piece_of(running, object, at >> REPLAY_PIECE_SHIFT);
        memset(piece->written + in_piece, 1, part);
        memset(object->known + at, bytes ? REPLAY_WRITTEN : REPLAY_UNKNOWN, part);
        if (bytes) {
            memcpy(object->bytes + at, bytes, part);
            bytes += part;
        }
        at += part;
    }
}

// Sees that something read these bytes.
static void see_bytes(struct replay *replay, struct replay_object *object, uint64_t address,
                      const unsigned char *bytes, uint64_t count)
{
    const uint64_t first = address - object->base;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t at = first + i;
        if (object->host) { // whatever it was
            object->bytes[at] = bytes[i];
            object->known[at] = REPLAY_LEARNED;
        } else if (object->known[at]) {
            replay->totals->loads++;
            replay->totals->contradictions += object->bytes[at] != bytes[i];
        }
    }
}

// --- The first pass ------------------------------------------------------------------------------

static void touch(struct replay *replay, const struct gpusim_object *object, uint64_t address,
                  const unsigned char *loaded, uint64_t count)
{
    struct initial *initial = initial_of(replay, object);
    const uint64_t first = address - object->address;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t at = first + i;
        if (loaded && !initial->touched[at]) {
            initial->bytes[at] = loaded[i];
            initial->known[at] = REPLAY_LEARNED;
        }
        initial->touched[at] = 1;
    }
}

static const unsigned char *value_at(const struct gpusim_log_access *access,
                                     const unsigned char *values, unsigned nth)
{
    return values + nth * access->value_stride;
}

static void learn_access(struct replay *replay, const struct gpusim_log_access *access)
{
    unsigned nth = 0;
    for (uint32_t left = access->object ? access->mask : 0; left; left &= left - 1, nth++)
        touch(replay, access->object, access->address[__builtin_ctz(left)],
              access->kind == GPUSIM_LOG_STORE ? NULL : value_at(access, access->values, nth),
              access->bytes);
}

// --- Accesses ------------------------------------------------------------------------------------

static struct running *running_of(const struct replay *replay,
                                  const struct gpusim_log_launch *launch)
{
    struct running *running = replay->running;
    while (running && running->launch != launch)
        running = running->next;
    return replay_must(running);
}

static void see_access(struct replay *replay, const struct gpusim_log_access *access)
{
    struct replay_object *object = replay_object(replay, access->object->id);
    unsigned nth = 0;
    for (uint32_t left = object ? access->mask : 0; left; left &= left - 1, nth++)
        see_bytes(replay, object, access->address[__builtin_ctz(left)],
                  value_at(access, access->values, nth), access->bytes);
}

// Applies the lanes in their order: of several that write the same byte, the last wins, and each
// atomic operation finds what the one before it left.
static void apply_access(struct replay *replay, const struct gpusim_log_access *access)
{
    struct replay_object *object = replay_object(replay, access->object->id);
    struct running *running = running_of(replay, access->launch);
    const bool atomic = access->kind != GPUSIM_LOG_STORE;
    unsigned nth = 0;
    for (uint32_t left = object ? access->mask : 0; left; left &= left - 1, nth++) {
        const uint64_t address = access->address[__builtin_ctz(left)];
        if (atomic)
            see_bytes(replay, object, address, value_at(access, access->values, nth),
                      access->bytes);
        put_bytes(running, object, address,
                  value_at(access, atomic ? access->after : access->values, nth), access->bytes);
    }
}

// Ends the execution of an instruction: its loads see what was there before its stores.
static void end_instruction(struct replay *replay)
{
    const size_t count = replay->records.count;
    if (!count)
        return;
    if (!replay->learning && replay->calls->executed)
        replay->calls->executed(replay->calls->user, replay->records.items, count);
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            const struct gpusim_log_access *access = &replay->records.items[i];
            if (!access->object)
                continue; // shared memory and the like, or memory that has ended meanwhile
            if (replay->learning && !pass)
                learn_access(replay, access);
            else if (!replay->learning && !pass && access->kind == GPUSIM_LOG_LOAD)
                see_access(replay, access);
            else if (!replay->learning && pass && access->kind != GPUSIM_LOG_LOAD)
                apply_access(replay, access);
        }
    }
    replay->records.count = 0;
}

// --- Events --------------------------------------------------------------------------------------

// Returns the group of an event of the call, which begins with its first event; NULL: none.
static struct running *group_of(struct replay *replay, uint64_t call)
{
    const struct base_map *groups = replay->calls->groups;
    const uint64_t *count = groups && !replay->learning ? base_map_get(groups, call) : NULL;
    struct running *group = replay->groups;
    while (group && group->call != call)
        group = group->next;
    if (group || !count)
        return group;
    group = replay_must(calloc(1, sizeof(*group)));
    group->call = call;
    group->left = *count;
    group->next = replay->groups;
    replay->groups = group;
    if (replay->calls->group_began)
        replay->calls->group_began(replay->calls->user, call);
    return group;
}

static void tell_event(struct replay *replay, struct running *running, struct replay_event *event)
{
    event->writes = running->writes.items;
    event->write_count = running->writes.count;
    event->ranges = running->ranges.items;
    event->range_count = running->ranges.count;
    if (replay->calls->ended)
        replay->calls->ended(replay->calls->user, event);
    for (size_t i = 0; i < running->writes.count; i++)
        free_write(&running->writes.items[i]);
    base_array_fini(&running->writes);
    base_array_fini(&running->ranges);
}

static void end_event(struct replay *replay, struct running *running, struct replay_event *event)
{
    struct running *group = running->group, **link = &replay->groups;
    event->is_member = group != NULL;
    tell_event(replay, running, event);
    if (!group || --group->left)
        return;
    while (*link != group)
        link = &(*link)->next;
    *link = group->next;
    struct replay_event whole = {.kind = REPLAY_GROUP, .call = group->call};
    tell_event(replay, group, &whole);
    free(group);
}

static void add_range(struct running *running, const struct gpusim_log_rows *to, uint64_t width,
                      uint64_t height, uint64_t depth)
{
    if (running->group && width && height && depth)
        REPLAY_PUSH(struct replay_range, &running->group->ranges) = (struct replay_range){
            to->address, to->address + (depth - 1) * to->slice + (height - 1) * to->pitch + width};
}

static void begin_launch(struct replay *replay, const struct gpusim_log_launch *launch)
{
    struct running *running = replay_must(calloc(1, sizeof(*running)));
    running->launch = launch;
    running->group = group_of(replay, launch->call);
    running->next = replay->running;
    replay->running = running;
    replay->totals->launches++;
    if (replay->calls->launch_began)
        replay->calls->launch_began(replay->calls->user, launch);
}

static void end_launch(struct replay *replay, uint64_t number)
{
    struct running **link = &replay->running;
    while (*link && (*link)->launch->number != number)
        link = &(*link)->next;
    struct running *running = replay_must(*link);
    *link = running->next;
    struct replay_event event = {
        .kind = REPLAY_LAUNCH, .call = running->launch->call, .launch = running->launch};
    end_event(replay, running, &event);
    free(running);
}

// One row of a copy or fill.
struct row {
    uint64_t address, bytes;
    const struct gpusim_log_rows *rows;
};

// Finds the next part of the row that lies in one object, at or behind offset *from. Returns NULL
// if there is none.
static const struct gpusim_object *next_part(const struct row *row, uint64_t *from, uint64_t *count)
{
    for (; row->rows->object_count && *from < row->bytes; ++*from) {
        const uint64_t at = row->address + *from;
        for (size_t i = 0; i < row->rows->object_count; i++) {
            const struct gpusim_object *object = row->rows->objects[i];
            const uint64_t room = object->address + object->size_bytes - at;
            if (at - object->address >= object->size_bytes)
                continue;
            *count = room < row->bytes - *from ? room : row->bytes - *from;
            return object;
        }
    }
    return NULL;
}

// Writes a row into its objects; bytes NULL: they are unknown.
static void put_row(struct replay *replay, struct running *running, const struct row *row,
                    const unsigned char *bytes)
{
    const struct gpusim_object *object;
    uint64_t from = 0, count;
    for (; (object = next_part(row, &from, &count)); from += count) {
        struct replay_object *live = replay_object(replay, object->id);
        if (replay->learning)
            touch(replay, object, row->address + from, NULL, count);
        else if (live)
            put_bytes(running, live, row->address + from, bytes ? bytes + from : NULL, count);
    }
}

// Sees that a copy read a row; bytes are what it wrote.
static void see_row(struct replay *replay, const struct row *row, const unsigned char *bytes)
{
    const struct gpusim_object *object;
    uint64_t from = 0, count;
    for (; (object = next_part(row, &from, &count)); from += count) {
        struct replay_object *live = replay_object(replay, object->id);
        if (replay->learning)
            touch(replay, object, row->address + from, bytes + from, count);
        else if (live)
            see_bytes(replay, live, row->address + from, bytes + from, count);
    }
}

static bool overlaps(const struct gpusim_log_copy *copy)
{
    const uint64_t rows = copy->height - 1, slices = copy->depth - 1;
    const uint64_t to = slices * copy->to.slice + rows * copy->to.pitch + copy->width;
    const uint64_t from = slices * copy->from.slice + rows * copy->from.pitch + copy->width;
    return copy->to.address < copy->from.address + from &&
           copy->from.address < copy->to.address + to;
}

static void run_copy(struct replay *replay, const struct gpusim_log_copy *copy)
{
    struct running running = {.group = group_of(replay, copy->call)};
    struct replay_event event = {.kind = REPLAY_COPY, .call = copy->call, .copy = copy};
    add_range(&running, &copy->to, copy->width, copy->height, copy->depth);
    // What an overlapping copy read is not what its source holds afterwards.
    for (unsigned pass = copy->bytes && !overlaps(copy) ? 0 : 1; pass < 2; pass++) {
        const unsigned char *bytes = copy->bytes;
        const struct gpusim_log_rows *rows = pass ? &copy->to : &copy->from;
        for (uint64_t z = 0; z < copy->depth; z++) {
            for (uint64_t y = 0; y < copy->height; y++) {
                const struct row row = {rows->address + z * rows->slice + y * rows->pitch,
                                        copy->width, rows};
                if (pass)
                    put_row(replay, &running, &row, bytes);
                else
                    see_row(replay, &row, bytes);
                bytes += bytes ? copy->width : 0;
            }
        }
    }
    replay->totals->copies++;
    if (!replay->learning)
        end_event(replay, &running, &event);
}

static void run_fill(struct replay *replay, const struct gpusim_log_fill *fill)
{
    struct running running = {.group = group_of(replay, fill->call)};
    struct replay_event event = {.kind = REPLAY_FILL, .call = fill->call, .fill = fill};
    add_range(&running, &fill->to, fill->width, fill->height, 1);
    unsigned char *bytes = replay_must(malloc(fill->width));
    for (uint64_t i = 0; i < fill->width; i++)
        bytes[i] = (unsigned char)(fill->value >> 8 * (i % fill->value_bytes));
    for (uint64_t y = 0; y < fill->height; y++) {
        const struct row row = {fill->to.address + y * fill->to.pitch, fill->width, &fill->to};
        put_row(replay, &running, &row, bytes);
    }
    free(bytes);
    replay->totals->fills++;
    if (!replay->learning)
        end_event(replay, &running, &event);
}

static void set_contents(struct replay *replay, const struct gpusim_log_contents *contents)
{
    const struct gpusim_object *object = contents->object;
    struct replay_object *live = replay_object(replay, object->id);
    if (replay->learning) {
        touch(replay, object, object->address, NULL, object->size_bytes);
    } else if (live) {
        const uint64_t first = object->address - live->base;
        memset(live->bytes + first, 0, object->size_bytes);
        memcpy(live->bytes + first, contents->bytes, contents->byte_count);
        memset(live->known + first, REPLAY_WRITTEN, object->size_bytes);
    }
}

// --- The log -------------------------------------------------------------------------------------

static void see_record(struct replay *replay, const struct gpusim_log_record *record)
{
    if (record->type != GPUSIM_LOG_ACCESS || !record->access.continued)
        end_instruction(replay);
    switch (record->type) {
    case GPUSIM_LOG_ACCESS:
        REPLAY_PUSH(struct gpusim_log_access, &replay->records) = record->access;
        return;
    case GPUSIM_LOG_COPY: run_copy(replay, &record->copy); return;
    case GPUSIM_LOG_FILL: run_fill(replay, &record->fill); return;
    case GPUSIM_LOG_CONTENTS: set_contents(replay, &record->contents); return;
    default: break;
    }
    if (replay->learning)
        return;
    switch (record->type) {
    case GPUSIM_LOG_CALL:
        if (replay->calls->called)
            replay->calls->called(replay->calls->user, &record->call);
        break;
    case GPUSIM_LOG_OBJECT: begin_object(replay, record->object); break;
    case GPUSIM_LOG_OBJECT_END: end_object(replay, record->object); break;
    case GPUSIM_LOG_LAUNCH: begin_launch(replay, record->launch); break;
    case GPUSIM_LOG_LAUNCH_END: end_launch(replay, record->launch_end.number); break;
    default: break;
    }
}

static enum base_code pass(struct replay *replay, const char *path, struct base_error *error)
{
    struct gpusim_log *log;
    struct gpusim_log_record record;
    enum base_code code = gpusim_log_open(path, &log, error);
    if (code != BASE_OK)
        return code;
    *replay->totals = (struct replay_totals){0};
    while ((code = gpusim_log_next(log, &record, error)) == BASE_OK)
        see_record(replay, &record);
    end_instruction(replay);
    if (code == BASE_NOT_FOUND)
        code = gpusim_log_state(log) == GPUSIM_LOG_COMPLETE
                   ? BASE_OK
                   : base_fail(error, BASE_CORRUPT, "%s is not complete", path);
    for (size_t i = 0; i < replay->objects.count; i++) {
        const struct base_map_entry *entry = &replay->objects.entries[i];
        if (!entry->removed)
            end_object(replay, ((struct replay_object *)(uintptr_t)entry->value)->object);
    }
    gpusim_log_close(log);
    return code;
}

static void fini(struct replay *replay)
{
    for (size_t i = 0; i < replay->initials.count; i++) {
        struct initial *initial = (struct initial *)(uintptr_t)replay->initials.entries[i].value;
        free(initial->bytes);
        free(initial->known);
        free(initial->touched);
        free(initial);
    }
    while (replay->running || replay->groups) { // their end is missing
        struct running **link = replay->running ? &replay->running : &replay->groups;
        struct running *running = *link;
        *link = running->next;
        for (size_t i = 0; i < running->writes.count; i++)
            free(running->writes.items[i].pieces);
        base_array_fini(&running->writes);
        base_array_fini(&running->ranges);
        free(running);
    }
    base_map_fini(&replay->initials);
    base_map_fini(&replay->objects);
    base_intervals_fini(&replay->map);
    base_array_fini(&replay->records);
}

enum base_code replay_run(const char *path, const struct replay_calls *calls,
                          struct replay **replay, struct replay_totals *totals,
                          struct base_error *error)
{
    struct replay made = {.calls = calls, .totals = totals, .learning = true};
    *replay = &made;
    enum base_code code = pass(&made, path, error);
    made.learning = false;
    if (code == BASE_OK)
        code = pass(&made, path, error);
    fini(&made);
    *replay = NULL;
    return code;
}
