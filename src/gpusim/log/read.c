// SPDX-License-Identifier: Apache-2.0
// Reads the simulated GPU's log and turns frames into records. The file may be truncated anywhere,
// or may not be a log at all. So the reader checks every size, and requires each record to refer
// only to objects, launches and sites that were announced before.
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "gpusim/gpusim.h"

struct gpusim_log {
    char *owned;
    const unsigned char *bytes;
    size_t length;
    const char *name; // borrowed from the caller
    enum gpusim_log_state state;
    size_t at;        // offset of the next frame or access
    size_t frame_end; // end of the access frame being read; 0: no such frame
    bool cut;         // the file ends inside the frame
    struct base_arena arena;
    struct base_map objects, launches, sites; // number to pointer
    const struct gpusim_log_launch *launch;   // launch of the access frame being read
    uint64_t block;                           // block of the previous access in the frame
    uint32_t warp;
    bool has_access;
};

// --- Bytes ---------------------------------------------------------------------------------------

// The unread part of a frame. `bad` is set on the first invalid or missing byte and never cleared.
struct input {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t get_number(struct input *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
        unsigned char byte = *in->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    in->bad = true;
    return 0;
}

static uint32_t get_small(struct input *in)
{
    uint64_t value = get_number(in);
    in->bad |= value > UINT32_MAX;
    return (uint32_t)value;
}

static const unsigned char *get_bytes(struct input *in, uint64_t count)
{
    const unsigned char *from = in->at;
    if (in->bad || count > (uint64_t)(in->end - in->at)) {
        in->bad = true;
        return (const unsigned char *)"";
    }
    in->at += count;
    return from;
}

static const char *get_text(struct input *in)
{
    uint64_t length = get_number(in);
    const char *text = (const char *)get_bytes(in, length < SIZE_MAX ? length + 1 : SIZE_MAX);
    if (!in->bad && (text[length] || memchr(text, 0, (size_t)length)))
        in->bad = true;
    return in->bad ? "" : text;
}

// --- Opening and closing -------------------------------------------------------------------------

enum base_code gpusim_log_open_bytes(const void *bytes, size_t length, const char *name,
                                     struct gpusim_log **log, struct base_error *error)
{
    const unsigned char *header = bytes;
    *log = NULL;
    BASE_RETURN_IF(length < LOG_HEADER_BYTES || memcmp(header, LOG_MAGIC, 8) != 0, error,
                   BASE_CORRUPT, "%s is not a log of the simulated GPU", name);
    uint32_t version = header[8] | (uint32_t)header[9] << 8 | (uint32_t)header[10] << 16 |
                       (uint32_t)header[11] << 24;
    BASE_RETURN_IF(version != LOG_VERSION, error, BASE_UNSUPPORTED,
                   "%s has log version %u; this glint reads version %d", name, version,
                   LOG_VERSION);
    struct gpusim_log *made = calloc(1, sizeof(*made));
    if (!made)
        return base_no_memory_while(error, "for a log");
    made->bytes = bytes;
    made->length = length;
    made->name = name;
    made->at = LOG_HEADER_BYTES;
    base_arena_init(&made->arena, 0);
    *log = made;
    return BASE_OK;
}

enum base_code gpusim_log_open(const char *path, struct gpusim_log **log, struct base_error *error)
{
    char *bytes;
    size_t length;
    *log = NULL;
    enum base_code code = base_file_read(path, &bytes, &length, error);
    if (code != BASE_OK)
        return code;
    code = gpusim_log_open_bytes(bytes, length, path, log, error);
    if (*log)
        (*log)->owned = bytes;
    else
        free(bytes);
    return code;
}

void gpusim_log_close(struct gpusim_log *log)
{
    if (!log)
        return;
    base_map_fini(&log->objects);
    base_map_fini(&log->launches);
    base_map_fini(&log->sites);
    base_arena_fini(&log->arena);
    free(log->owned);
    free(log);
}

enum gpusim_log_state gpusim_log_state(const struct gpusim_log *log)
{
    return log->state;
}

// --- Announced objects, launches and sites -------------------------------------------------------

static void *find(const struct base_map *map, uint64_t number)
{
    const uint64_t *place = base_map_get(map, number);
    return place ? (void *)(uintptr_t)*place : NULL;
}

// Allocates an item and registers it under the number. Returns NULL when memory runs out. A number
// that is already in use makes the input bad.
static void *announce(struct gpusim_log *log, struct base_map *map, uint64_t number, size_t bytes,
                      struct input *in)
{
    bool added;
    void *made = base_alloc(&log->arena, bytes);
    uint64_t *place = made ? base_map_put(map, number, &added) : NULL;
    if (!place)
        return NULL;
    in->bad |= !added;
    *place = (uint64_t)(uintptr_t)made;
    return made;
}

static enum base_code no_memory(struct base_error *error)
{
    return base_no_memory_while(error, "for a log");
}

static enum base_code read_object(struct gpusim_log *log, struct input *in,
                                  struct gpusim_log_record *record, struct base_error *error)
{
    struct gpusim_object object = {.id = get_number(in)};
    object.address = get_number(in);
    object.size_bytes = get_number(in);
    uint32_t kind = get_small(in);
    object.kind = (enum gpusim_object_kind)kind;
    object.device = get_small(in);
    object.name = get_text(in);
    in->bad |= kind > GPUSIM_OBJECT_HEAP || !object.id || !object.size_bytes ||
               object.size_bytes - 1 > UINT64_MAX - object.address;
    if (in->bad)
        return BASE_OK;
    struct gpusim_object *made = announce(log, &log->objects, object.id, sizeof(*made), in);
    if (!made)
        return no_memory(error);
    *made = object;
    record->object = made;
    return BASE_OK;
}

static void read_grid(struct input *in, uint32_t size[3])
{
    for (int i = 0; i < 3; i++)
        size[i] = get_small(in);
}

static enum base_code read_launch(struct gpusim_log *log, struct input *in,
                                  struct gpusim_log_record *record, struct base_error *error)
{
    struct gpusim_log_launch launch = {.number = get_number(in)};
    launch.call = get_number(in);
    launch.stream = get_number(in);
    launch.device = get_small(in);
    read_grid(in, launch.grid);
    read_grid(in, launch.block);
    read_grid(in, launch.cluster);
    launch.static_shared_bytes = get_small(in);
    launch.dynamic_shared_bytes = get_small(in);
    launch.cooperative = get_number(in);
    launch.kernel = get_text(in);
    launch.params_bytes = get_small(in);
    launch.params = get_bytes(in, launch.params_bytes);
    if (in->bad)
        return BASE_OK;
    struct gpusim_log_launch *made =
        announce(log, &log->launches, launch.number, sizeof(*made), in);
    if (!made)
        return no_memory(error);
    *made = launch;
    record->launch = made;
    return BASE_OK;
}

static enum base_code read_site(struct gpusim_log *log, struct input *in, struct base_error *error)
{
    struct gpusim_log_site site = {.number = get_small(in)};
    site.function = get_text(in);
    site.text = get_text(in);
    site.index = get_small(in);
    site.ptx_line = get_small(in);
    site.file = get_text(in);
    site.line = get_small(in);
    if (in->bad)
        return BASE_OK;
    struct gpusim_log_site *made = announce(log, &log->sites, site.number, sizeof(*made), in);
    if (!made)
        return no_memory(error);
    *made = site;
    return BASE_OK;
}

// --- Copies and contents -------------------------------------------------------------------------

static enum base_code read_rows(struct gpusim_log *log, struct input *in,
                                struct gpusim_log_rows *rows, struct base_error *error)
{
    rows->address = get_number(in);
    rows->pitch = get_number(in);
    rows->slice = get_number(in);
    uint64_t count = get_number(in);
    in->bad |= count > (uint64_t)(in->end - in->at); // each takes a byte or more
    if (in->bad || !count)
        return BASE_OK;
    const struct gpusim_object **objects =
        base_alloc(&log->arena, (size_t)count * sizeof(const struct gpusim_object *));
    if (!objects)
        return no_memory(error);
    for (uint64_t i = 0; i < count; i++) {
        objects[i] = find(&log->objects, get_number(in));
        in->bad |= !objects[i];
    }
    rows->objects = objects;
    rows->object_count = (size_t)count;
    return BASE_OK;
}

// Returns whether all rows lie in the address space.
static bool rows_fit(const struct gpusim_log_rows *rows, uint64_t width, uint64_t height,
                     uint64_t depth)
{
    uint64_t slices, lines, end;
    return width && height && depth && !__builtin_mul_overflow(depth - 1, rows->slice, &slices) &&
           !__builtin_mul_overflow(height - 1, rows->pitch, &lines) &&
           !__builtin_add_overflow(slices, lines, &end) &&
           !__builtin_add_overflow(end, width - 1, &end) &&
           !__builtin_add_overflow(end, rows->address, &end);
}

static enum base_code read_copy(struct gpusim_log *log, struct input *in,
                                struct gpusim_log_copy *copy, struct base_error *error)
{
    *copy = (struct gpusim_log_copy){.call = get_number(in)};
    copy->stream = get_number(in);
    copy->width = get_number(in);
    copy->height = get_number(in);
    copy->depth = get_number(in);
    enum base_code code = read_rows(log, in, &copy->to, error);
    if (code == BASE_OK)
        code = read_rows(log, in, &copy->from, error);
    uint64_t has_bytes = get_number(in), rows = 0, bytes = 0;
    in->bad |= has_bytes > 1 || !rows_fit(&copy->to, copy->width, copy->height, copy->depth) ||
               !rows_fit(&copy->from, copy->width, copy->height, copy->depth) ||
               __builtin_mul_overflow(copy->height, copy->depth, &rows) ||
               __builtin_mul_overflow(rows, copy->width, &bytes);
    if (code == BASE_OK && !in->bad && has_bytes)
        copy->bytes = get_bytes(in, bytes);
    return code;
}

static enum base_code read_fill(struct gpusim_log *log, struct input *in,
                                struct gpusim_log_fill *fill, struct base_error *error)
{
    *fill = (struct gpusim_log_fill){.call = get_number(in)};
    fill->stream = get_number(in);
    fill->width = get_number(in);
    fill->height = get_number(in);
    enum base_code code = read_rows(log, in, &fill->to, error);
    fill->value = get_number(in);
    fill->value_bytes = get_small(in);
    const uint32_t bytes = fill->value_bytes;
    in->bad |= (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || fill->width % bytes ||
               !rows_fit(&fill->to, fill->width, fill->height, 1);
    return code;
}

static void read_contents(const struct gpusim_log *log, struct input *in,
                          struct gpusim_log_contents *contents)
{
    contents->object = find(&log->objects, get_number(in));
    uint64_t count = get_number(in);
    in->bad |= !contents->object || count > contents->object->size_bytes;
    contents->bytes = get_bytes(in, count);
    contents->byte_count = (size_t)count;
}

// --- Accesses ------------------------------------------------------------------------------------

static bool has_object(enum gpusim_log_space space)
{
    return space == GPUSIM_LOG_GLOBAL || space == GPUSIM_LOG_CONST || space == GPUSIM_LOG_TEXTURE ||
           space == GPUSIM_LOG_SURFACE;
}

static void read_addresses(struct input *in, struct gpusim_log_access *access, bool affine)
{
    int before = __builtin_ctz(access->mask);
    access->address[before] = get_number(in) + (access->object ? access->object->address : 0);
    uint32_t others = access->mask & (access->mask - 1);
    int64_t step = affine && others ? log_unzigzag(get_number(in)) : 0;
    for (uint32_t left = others; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        uint64_t change = affine ? (uint64_t)step * (uint64_t)(i - before)
                                 : (uint64_t)log_unzigzag(get_number(in));
        access->address[i] = access->address[before] + change;
        before = i;
    }
}

// Returns whether the bytes of every lane lie inside the access's object.
static bool is_inside(const struct gpusim_log_access *access)
{
    const struct gpusim_object *object = access->object;
    for (uint32_t left = object ? access->mask : 0; left; left &= left - 1) {
        uint64_t offset = access->address[__builtin_ctz(left)] - object->address;
        if (offset >= object->size_bytes || object->size_bytes - offset < access->bytes)
            return false;
    }
    return true;
}

static void read_access(struct gpusim_log *log, struct input *in, struct gpusim_log_access *access)
{
    unsigned head = get_bytes(in, 1)[0];
    *access = (struct gpusim_log_access){
        .launch = log->launch,
        .kind = (enum gpusim_log_access_kind)((head & LOG_KIND) + 1),
        .generic = head & LOG_GENERIC,
        .continued = head & LOG_CONTINUED,
        .mask = UINT32_MAX,
    };
    access->site = find(&log->sites, get_number(in));
    in->bad |= !access->site || (head & LOG_SAME_WARP && !log->has_access);
    if (!(head & LOG_SAME_WARP)) {
        log->block = get_number(in);
        log->warp = get_small(in);
    }
    access->block = log->block;
    access->warp = log->warp;
    log->has_access = true;
    if (!(head & LOG_ALL_LANES)) {
        const unsigned char *mask = get_bytes(in, 4);
        access->mask = in->bad ? 0
                               : mask[0] | (uint32_t)mask[1] << 8 | (uint32_t)mask[2] << 16 |
                                     (uint32_t)mask[3] << 24;
    }
    uint64_t shape = get_number(in);
    access->space = (enum gpusim_log_space)(shape & ((1u << LOG_SPACE_BITS) - 1));
    in->bad |= !access->mask || !access->space || access->space > GPUSIM_LOG_CLUSTER ||
               shape >> LOG_SPACE_BITS == 0 || shape >> LOG_SPACE_BITS > UINT32_MAX;
    if (in->bad)
        return;
    access->bytes = (uint32_t)(shape >> LOG_SPACE_BITS);
    if (has_object(access->space)) {
        uint64_t id = get_number(in); // 0: the object was freed while the launch ran
        access->object = id ? find(&log->objects, id) : NULL;
        in->bad |= id && !access->object;
    }
    read_addresses(in, access, head & LOG_AFFINE);
    in->bad |= !is_inside(access);
    uint64_t lanes = head & LOG_SAME_VALUE ? 1 : (uint64_t)__builtin_popcount(access->mask);
    access->value_stride = head & LOG_SAME_VALUE ? 0 : access->bytes;
    access->values = get_bytes(in, lanes * access->bytes);
    if (access->kind >= GPUSIM_LOG_ATOMIC)
        access->after = get_bytes(in, lanes * access->bytes);
}

// --- Frames --------------------------------------------------------------------------------------

static enum base_code corrupt(struct gpusim_log *log, size_t at, struct base_error *error)
{
    log->state = GPUSIM_LOG_CUT;
    return base_fail(error, BASE_CORRUPT, "%s: incomplete record at byte %zu", log->name, at);
}

static enum base_code end(struct gpusim_log *log, enum gpusim_log_state state)
{
    log->state = state;
    return BASE_NOT_FOUND;
}

static enum base_code next_access(struct gpusim_log *log, struct gpusim_log_record *record,
                                  struct base_error *error)
{
    struct input in = {log->bytes + log->at, log->bytes + log->frame_end, false};
    record->type = GPUSIM_LOG_ACCESS;
    read_access(log, &in, &record->access);
    if (in.bad && log->cut && in.at <= in.end)
        return end(log, GPUSIM_LOG_CUT);
    if (in.bad)
        return corrupt(log, log->at, error);
    log->at = (size_t)(in.at - log->bytes);
    if (log->at == log->frame_end && !log->cut)
        log->frame_end = 0;
    return BASE_OK;
}

static void read_launch_end(struct input *in, struct gpusim_log_launch_end *ended)
{
    ended->number = get_number(in);
    ended->fault = get_small(in);
    ended->text = get_text(in);
}

// Reads a frame that holds a single record, or the head of an access frame. *is_record says whether
// the caller gets a record from it.
static enum base_code read_frame(struct gpusim_log *log, struct input *in,
                                 struct gpusim_log_record *record, bool *is_record,
                                 struct base_error *error)
{
    unsigned type = get_bytes(in, 1)[0];
    *is_record = true;
    switch (in->bad ? 0 : type) {
    case LOG_CALL:
        record->type = GPUSIM_LOG_CALL;
        record->call.number = get_number(in);
        record->call.inside = get_number(in);
        record->call.thread = get_number(in);
        record->call.name = get_text(in);
        record->call.arguments = get_text(in);
        return BASE_OK;
    case LOG_RETURN:
        record->type = GPUSIM_LOG_RETURN;
        record->returned.number = get_number(in);
        record->returned.result = log_unzigzag(get_number(in));
        record->returned.outputs = get_text(in);
        return BASE_OK;
    case LOG_OBJECT: record->type = GPUSIM_LOG_OBJECT; return read_object(log, in, record, error);
    case LOG_OBJECT_END:
        record->type = GPUSIM_LOG_OBJECT_END;
        record->object = find(&log->objects, get_number(in));
        in->bad |= !record->object;
        return BASE_OK;
    case LOG_LAUNCH: record->type = GPUSIM_LOG_LAUNCH; return read_launch(log, in, record, error);
    case LOG_LAUNCH_END:
        record->type = GPUSIM_LOG_LAUNCH_END;
        read_launch_end(in, &record->launch_end);
        in->bad |= !find(&log->launches, record->launch_end.number);
        return BASE_OK;
    case LOG_COPY: record->type = GPUSIM_LOG_COPY; return read_copy(log, in, &record->copy, error);
    case LOG_FILL: record->type = GPUSIM_LOG_FILL; return read_fill(log, in, &record->fill, error);
    case LOG_CONTENTS:
        record->type = GPUSIM_LOG_CONTENTS;
        read_contents(log, in, &record->contents);
        return BASE_OK;
    case LOG_SITE: *is_record = false; return read_site(log, in, error);
    case LOG_ACCESSES:
        *is_record = false;
        log->launch = find(&log->launches, get_number(in));
        log->has_access = false;
        in->bad |= !log->launch;
        return BASE_OK;
    default: in->bad = true; return BASE_OK;
    }
}

enum base_code gpusim_log_next(struct gpusim_log *log, struct gpusim_log_record *record,
                               struct base_error *error)
{
    for (;;) {
        if (log->state != GPUSIM_LOG_READING)
            return BASE_NOT_FOUND;
        if (log->frame_end)
            return next_access(log, record, error);
        size_t start = log->at, room = log->length - start;
        const unsigned char *head = log->bytes + start;
        if (room < 5)
            return end(log, room ? GPUSIM_LOG_CUT : GPUSIM_LOG_UNFINISHED);
        uint32_t bytes =
            head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
        bool cut = bytes > room - 4, is_record;
        struct input in = {head + 4, head + 4 + (cut ? room - 4 : bytes), false};
        if (!cut && bytes == 1 && head[4] == LOG_END) {
            if (room > 5)
                return corrupt(log, start + 5, error);
            return end(log, GPUSIM_LOG_COMPLETE);
        }
        // In a truncated frame, only accesses can be complete.
        if (cut && head[4] != LOG_ACCESSES)
            return end(log, GPUSIM_LOG_CUT);
        enum base_code code = read_frame(log, &in, record, &is_record, error);
        if (code != BASE_OK)
            return code;
        if (in.bad && cut)
            return end(log, GPUSIM_LOG_CUT);
        bool accesses = !in.bad && head[4] == LOG_ACCESSES;
        if (in.bad || accesses == (in.at == in.end && !cut))
            return corrupt(log, start, error);
        log->at = (size_t)(in.at - log->bytes);
        if (accesses) {
            log->frame_end = (size_t)(in.end - log->bytes);
            log->cut = cut;
        }
        if (is_record)
            return BASE_OK;
    }
}

// --- Words ---------------------------------------------------------------------------------------

const char *gpusim_log_kind_name(enum gpusim_log_access_kind kind)
{
    static const char *const names[] = {"?", "load", "store", "atomic", "reduction"};
    return names[(unsigned)kind <= GPUSIM_LOG_REDUCTION ? kind : 0];
}

const char *gpusim_log_space_name(enum gpusim_log_space space)
{
    static const char *const names[] = {"?",     "global",  "const",   "shared", "local",
                                        "param", "texture", "surface", "cluster"};
    return names[(unsigned)space <= GPUSIM_LOG_CLUSTER ? space : 0];
}

const char *gpusim_object_kind_name(enum gpusim_object_kind kind)
{
    static const char *const names[] = {"device",   "managed",  "host",  "pool", "mapped",
                                        "variable", "constant", "array", "heap"};
    return (unsigned)kind <= GPUSIM_OBJECT_HEAP ? names[kind] : "?";
}
