// SPDX-License-Identifier: Apache-2.0
// Writes the page's calls; html_touches.c writes what they accessed. A call is stored as its
// times and a shape: function, stream, path and bytes; loops repeat shapes. If there are too many
// calls, the page keeps the calls of findings, peaks and objects, the longest calls, and a regular
// sample. From that sample the page estimates the order and time of the others. html_rest.c sums up
// the rest.
#include <stdlib.h>

#include "html_calls.h"
#include "json_members.h"
#include "short_names.h"

enum {
    CALL_BYTES = 30,     // usual size of a call in the page
    DURATION_BINS = 256, // four bins for each power of two
};

struct shape {
    uint64_t bytes, event;
    uint32_t kind, function, thread, stream, path, name, flags, record;
    int32_t result;
};

struct kept_call {
    uint64_t number, order;
    int64_t start_ns, end_ns, gpu_start_ns, gpu_end_ns;
    uint64_t waited_ns;
    uint32_t shape;
    bool has_gpu_time;
};

struct walk {
    struct page *page;
    size_t most;                 // most calls that are kept
    uint64_t stride;             // one call in so many is kept; 0: all
    uint64_t long_ns;            // calls of at least this duration are kept
    uint64_t seen;               // calls read so far
    BASE_ARRAY(uint64_t) wanted; // numbers of calls, ascending
    size_t next_wanted;
    uint64_t durations[DURATION_BINS];
    BASE_ARRAY(struct kept_call) calls;
    BASE_ARRAY(struct shape) shapes;
    struct base_map known; // hash of a shape to index + 1
    struct page_touching *touching;
    struct page_rest *rest;
};

// --- Choosing calls ------------------------------------------------------------------------------

static int by_number(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

static void want(struct walk *walk, uint64_t call)
{
    if (call == 0 || call == ANALYZE_NEVER || walk->wanted.count >= walk->most / 2)
        return;
    uint64_t *slot = base_array_push(&walk->wanted);
    walk->page->failed |= !slot;
    if (slot)
        *slot = call;
}

static void want_calls(struct walk *walk)
{
    const struct report_data *data = walk->page->data;
    walk->wanted.count = walk->next_wanted = 0;
    for (size_t i = 0; i < data->peak_count; i++) {
        want(walk, data->peaks[i].start);
        want(walk, data->peaks[i].end);
    }
    for (size_t i = 0; i < walk->page->findings; i++) {
        const struct analyze_finding *finding = analyze_finding(data->analysis, i);
        want(walk, finding->call);
        want(walk, finding->other_call);
        want(walk, finding->last_call);
    }
    for (size_t i = 0; i < walk->page->objects.count; i++) {
        const struct report_object *object = &data->objects.items[walk->page->objects.items[i]];
        want(walk, object->call);
        want(walk, object->end);
        want(walk, object->first_access);
        want(walk, object->last_access);
    }
    if (walk->wanted.count)
        qsort(walk->wanted.items, walk->wanted.count, sizeof(*walk->wanted.items), by_number);
}

static uint64_t duration_of(const struct profile_call *call)
{
    int64_t start = call->has_gpu_time ? call->gpu_start_ns : call->start_ns;
    int64_t end = call->has_gpu_time ? call->gpu_end_ns : call->end_ns;
    return end > start ? (uint64_t)end - (uint64_t)start : 0;
}

static unsigned duration_bin(uint64_t ns)
{
    if (ns < 4)
        return (unsigned)ns;
    unsigned power = 63u - (unsigned)__builtin_clzll(ns);
    return 4 * power + (unsigned)(ns >> (power - 2) & 3);
}

static uint64_t bin_start(unsigned bin)
{
    return bin < 8 ? bin : (uint64_t)(4 + bin % 4) << (bin / 4 - 2);
}

static bool take_duration(void *user, const struct profile_call *call)
{
    struct walk *walk = user;
    walk->durations[duration_bin(duration_of(call))]++;
    return true;
}

// Sets long_ns so that at most a quarter of the calls are kept because of their duration.
static void set_long(struct walk *walk)
{
    uint64_t count = 0;
    unsigned bin = DURATION_BINS;
    while (bin > 0 && count + walk->durations[bin - 1] <= walk->most / 4)
        count += walk->durations[--bin];
    walk->long_ns = bin == DURATION_BINS ? UINT64_MAX : bin_start(bin);
}

static bool is_kept(struct walk *walk, const struct profile_call *call)
{
    if (walk->stride == 0)
        return true;
    while (walk->next_wanted < walk->wanted.count &&
           walk->wanted.items[walk->next_wanted] < call->number)
        walk->next_wanted++;
    bool wanted = walk->next_wanted < walk->wanted.count &&
                  walk->wanted.items[walk->next_wanted] == call->number;
    return wanted || walk->seen % walk->stride == 0 || duration_of(call) >= walk->long_ns;
}

// --- Calls ---------------------------------------------------------------------------------------

static struct shape shape_of(struct page *page, const struct profile_call *call)
{
    const struct report_data *data = page->data;
    struct shape shape;
    memset(&shape, 0, sizeof(shape)); // the shape's bytes are hashed, including padding
    shape.kind = call->kind;
    shape.function = page_text(page, report_called(data, call->path, call->function));
    shape.thread = call->thread;
    shape.stream = call->stream;
    shape.path = call->path;
    shape.result = call->result;
    shape.flags = call->flags;
    switch (call->kind) {
    case PROFILE_CALL_LAUNCH:
        shape.name = page_text(page, report_short_kernel(data, call->launch.kernel));
        break;
    case PROFILE_CALL_COPY:
        shape.bytes = call->copy.bytes;
        if (call->copy.direction != PROFILE_DIRECTION_NONE)
            shape.name = page_text(page, profile_direction_word(call->copy.direction));
        break;
    case PROFILE_CALL_SET: shape.bytes = call->set.bytes; break;
    case PROFILE_CALL_ALLOC:
    case PROFILE_CALL_FREE:
    case PROFILE_CALL_MEMORY: shape.bytes = call->range.bytes; break;
    case PROFILE_CALL_SYNC:
    case PROFILE_CALL_EVENT_RECORD:
    case PROFILE_CALL_EVENT_WAIT:
        shape.event = call->sync.event;
        shape.record = call->sync.record;
        break;
    default: break;
    }
    return shape;
}

static void keep_call(struct walk *walk, const struct profile_call *call)
{
    struct page *page = walk->page;
    struct shape shape = shape_of(page, call);
    uint64_t *slot = base_map_put(&walk->known, base_hash(&shape, sizeof(shape)), NULL);
    if (slot && *slot == 0) {
        struct shape *row = base_array_push(&walk->shapes);
        if (row)
            *row = shape;
        *slot = row ? walk->shapes.count : 0;
    }
    struct kept_call *kept = slot && *slot ? base_array_push(&walk->calls) : NULL;
    page->failed |= !kept;
    if (!kept)
        return;
    *kept = (struct kept_call){.number = call->number,
                               .order = analyze_order(page->data->analysis, call->number),
                               .start_ns = call->start_ns,
                               .end_ns = call->end_ns,
                               .gpu_start_ns = call->gpu_start_ns,
                               .gpu_end_ns = call->gpu_end_ns,
                               .waited_ns = call->waited_ns,
                               .shape = (uint32_t)*slot - 1,
                               .has_gpu_time = call->has_gpu_time};
    page_want_path(page, call->path, 0);
}

static bool take_call(void *user, const struct profile_call *call)
{
    struct walk *walk = user;
    if (is_kept(walk, call))
        keep_call(walk, call);
    else
        page_rest_add(walk->rest, call);
    walk->seen++;
    page_touching_take(walk->touching, call);
    return !walk->page->failed;
}

// --- The sections --------------------------------------------------------------------------------

static bool put_calls(struct walk *walk, size_t most_bytes)
{
    const struct kept_call *calls = walk->calls.items;
    const size_t count = walk->calls.count;
    struct page_section section;
    struct base_json *json = &section.json;
    page_begin(&section, true);
#define COLUMN(key, value) PAGE_COLUMN(json, key, struct kept_call, calls, count, value)
    // The first three columns are differences to the row before; gpu_start is relative to start.
    COLUMN("number", row->number - (at ? row[-1].number : 0));
    COLUMN("order", (int64_t)(row->order - (at ? row[-1].order : 0)));
    COLUMN("start", row->start_ns - (at ? row[-1].start_ns : 0));
    COLUMN("ns", row->end_ns - row->start_ns);
    COLUMN("shape", row->shape);
    COLUMN("gpu_start", row->has_gpu_time ? row->gpu_start_ns - row->start_ns : 0);
    COLUMN("gpu_ns", row->has_gpu_time ? row->gpu_end_ns - row->gpu_start_ns : -1); // -1: unknown
    base_json_key(json, "waited"); // pairs of index and time, for calls that waited
    base_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        if (calls[i].waited_ns) {
            base_json_u64(json, i);
            base_json_u64(json, calls[i].waited_ns);
        }
    }
    base_json_end_array(json);
#undef COLUMN
    base_json_key(json, "shapes");
    base_json_begin_object(json);
#define COLUMN(key) \
    PAGE_COLUMN(json, #key, struct shape, walk->shapes.items, walk->shapes.count, row->key)
    COLUMN(kind);
    COLUMN(function);
    COLUMN(name);
    COLUMN(thread);
    COLUMN(stream);
    COLUMN(path);
    COLUMN(result);
    COLUMN(flags);
    COLUMN(bytes);
    COLUMN(event);
    COLUMN(record);
#undef COLUMN
    base_json_end_object(json);
    base_json_key(json, "kinds");
    base_json_begin_array(json);
    for (int i = 0; i < PROFILE_CALL_KINDS; i++)
        base_json_string(json, profile_call_kind_word((enum profile_call_kind)i));
    base_json_end_array(json);
    base_json_key(json, "rest");
    page_rest_put(walk->rest, json);
    return page_end(walk->page, &section, "calls", most_bytes);
}

static enum base_code walk_calls(struct walk *walk, struct base_error *error)
{
    struct page *page = walk->page;
    walk->calls.count = walk->shapes.count = 0;
    base_map_fini(&walk->known);
    walk->known = (struct base_map){0};
    walk->seen = 0;
    memset(walk->rest, 0, sizeof(*walk->rest));
    walk->rest->by_number = analyze_is_simulated(page->data->analysis);
    walk->rest->end = walk->rest->by_number ? (int64_t)page->data->calls + 1 : page->data->last_ns;
    enum base_code code = page_touching_begin(walk->touching, error);
    if (code == BASE_OK)
        code = profile_each_call(page->profile, take_call, walk, error);
    enum base_code ended = page_touching_end(walk->touching, code == BASE_OK ? error : NULL);
    return code == BASE_OK ? ended : code;
}

static enum base_code choose(struct walk *walk, struct base_error *error)
{
    struct page *page = walk->page;
    walk->stride = 0;
    if (page->data->calls <= walk->most)
        return BASE_OK;
    memset(walk->durations, 0, sizeof(walk->durations));
    enum base_code code = profile_each_call(page->profile, take_duration, walk, error);
    walk->stride = page->data->calls / (walk->most / 4 + 1) + 1;
    set_long(walk);
    want_calls(walk);
    return code;
}

enum base_code page_put_calls(struct page *page, struct base_error *error)
{
    struct walk walk = {.page = page, .rest = calloc(1, sizeof(*walk.rest))};
    const size_t reserved = PAGE_TEXT_BYTES + PAGE_PATH_BYTES + 3 * PAGE_ROW_BYTES;
    bool done = false;
    page->failed |= !walk.rest;
    enum base_code code = BASE_OK;
    if (!page->failed)
        code = page_touching_new(page, &walk.touching, error);
    walk.most = (page->left - reserved - PAGE_TOUCH_BYTES) / CALL_BYTES;
    while (code == BASE_OK && !page->failed && !done) {
        size_t room = page->left - reserved - PAGE_TOUCH_BYTES;
        code = choose(&walk, error);
        if (code == BASE_OK && !page->failed)
            code = walk_calls(&walk, error);
        if (code == BASE_OK && !page->failed)
            done = put_calls(&walk, room);
        walk.most /= 2; // the numbers have many digits, so fewer calls fit
    }
    if (code == BASE_OK && !page->failed) {
        page_omit(page, "calls", walk.calls.count, page->data->calls,
                  "those of findings, peaks and objects, the longest, and a sample of the "
                  "others; sums cover the rest");
        page_put_touches(page, page->left - reserved);
    }
    free(walk.rest);
    base_array_fini(&walk.wanted);
    base_array_fini(&walk.calls);
    base_array_fini(&walk.shapes);
    base_map_fini(&walk.known);
    page_touching_free(walk.touching);
    return code;
}
