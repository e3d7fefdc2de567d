// SPDX-License-Identifier: Apache-2.0
// dead-write: all bytes that a copy or set writes are overwritten before anything reads one of
// them, or nothing ever reads them. The analysis follows bytes, not objects. A kernel that reads
// the object, and a copy that reads one of the bytes, end the search. A kernel that only writes
// overwrites the object if it has written all elements, with stores that are at least as wide as an
// element: of narrower ones, it is unknown whether they have written all of its bytes. The fix
// removes the write. Writes of one call path to one object are one finding. The same line may also
// make writes that are needed; then the fix skips only those that are not.
#include <assert.h>
#include <stdlib.h>

#include "analyze/analyses.h"

enum { MOST_ROWS = 1 << 16 }; // copies with more rows are not followed row by row

struct pending { // a write that nothing has read so far
    uint32_t touch;
    uint64_t left; // bytes that are not overwritten yet; UINT64_MAX: some were read
};

struct object_writes {
    struct base_intervals bytes; // bytes to the index of the pending write that wrote them last
    uint64_t epoch;              // the epoch of `looking` in which they were written
};

struct dead {           // dead writes to one object from one call path
    uint32_t touch, by; // the first of them, and the call that overwrites it; NONE: none does
    uint64_t times, bytes, gpu_ns;
};

struct dead_writes { // of a finding
    uint64_t needed; // other writes that the same line makes
    bool by_kernel;  // a kernel overwrites it
    bool in_graph;   // it is a node of a graph
};

struct write_search {
    struct analyze_run *run;
    BASE_ARRAY(struct pending) pending;
    struct object_writes **objects;
    BASE_ARRAY(struct dead) dead;
    struct base_map index;  // object and call path to index + 1 in dead
    struct base_map needed; // line, or node of a graph, to the number of its needed writes
    uint64_t epoch;         // incremented at each launch that may touch anything
};

static struct object_writes *writes_of(struct write_search *looking, uint32_t object)
{
    struct object_writes **slot = &looking->objects[object];
    if (!*slot)
        *slot = calloc(1, sizeof(**slot));
    if (!*slot) {
        looking->run->failed = true;
        return NULL;
    }
    if ((*slot)->epoch != looking->epoch)
        base_intervals_fini(&(*slot)->bytes);
    (*slot)->epoch = looking->epoch;
    return *slot;
}

static void report(struct write_search *looking, const struct pending *dead, uint32_t by)
{
    const struct analyze_model *model = looking->run->model;
    const struct analyze_touch *touch = &model->touches.items[dead->touch];
    const struct analyze_call *call = &model->calls.items[touch->call];
    const uint64_t key[3] = {touch->object, call->path, by == ANALYZE_NONE};
    // A call without a call path is similar to no other call.
    uint64_t *slot = base_map_put(
        &looking->index, call->path ? base_hash(key, sizeof(key)) : UINT64_MAX - touch->call, NULL);
    if (slot && *slot == 0) {
        struct dead *made = base_array_push(&looking->dead);
        if (made)
            *made = (struct dead){dead->touch, by, 0, 0, 0};
        *slot = made ? looking->dead.count : 0;
    }
    looking->run->failed |= !slot || *slot == 0;
    if (looking->run->failed)
        return;
    struct dead *row = &looking->dead.items[*slot - 1];
    looking->run->dead[dead->touch] = true;
    row->times++;
    row->bytes += touch->row_bytes * touch->rows;
    // The GPU time of a graph launch covers all nodes, so it is not the time of the write.
    if (call->kind != PROFILE_CALL_GRAPH_LAUNCH)
        row->gpu_ns += call->gpu_ns;
}

// --- Findings ------------------------------------------------------------------------------------

// Returns a key for what makes the access: the line of its call, or the node of its graph.
static uint64_t line_of(const struct analyze_model *model, const struct analyze_touch *touch)
{
    const struct analyze_call *call = &model->calls.items[touch->call];
    const uint64_t node[] = {call->graph, touch->node, 1};
    if (call->kind == PROFILE_CALL_GRAPH_LAUNCH)
        return call->graph ? base_hash(node, sizeof(node)) : UINT64_MAX - touch->call;
    const uint64_t *line = call->path ? base_map_get(&model->lines, call->path) : NULL;
    return line ? *line : call->path ? call->path : UINT64_MAX - touch->call;
}

static void add_needed(struct write_search *looking, uint64_t line)
{
    uint64_t *count = base_map_put(&looking->needed, line, NULL);
    looking->run->failed |= !count;
    if (count)
        ++*count;
}

// Counts the needed writes of each line. A copy or set is needed if it writes something that is not
// dead, or nothing that is known.
static void count_needed(struct write_search *looking, uint32_t index)
{
    const struct analyze_model *model = looking->run->model;
    const struct analyze_call *call = &model->calls.items[index];
    const uint32_t end = analyze_touches_end(model, index);
    const bool is_graph = call->kind == PROFILE_CALL_GRAPH_LAUNCH;
    if (!(call->flags & ANALYZE_WORKS) ||
        (!is_graph && call->kind != PROFILE_CALL_COPY && call->kind != PROFILE_CALL_SET))
        return;
    bool any_dead = false, any_needed = false;
    for (uint32_t i = call->touches; i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        if (touch->is_kernel || !(touch->how & ANALYZE_WRITE))
            continue;
        any_dead |= looking->run->dead[i];
        any_needed |= !looking->run->dead[i];
        if (is_graph && !looking->run->dead[i])
            add_needed(looking, line_of(model, touch));
    }
    const struct analyze_touch own = {.call = index};
    if (!is_graph && (any_needed || !any_dead))
        add_needed(looking, line_of(model, &own));
}

static void add(struct write_search *looking, const struct dead *dead)
{
    struct analyze_run *run = looking->run;
    const struct analyze_touch *touch = &run->model->touches.items[dead->touch];
    const uint64_t *needed = base_map_get(&looking->needed, line_of(run->model, touch));
    struct analyze_finding finding =
        analyze_begin_finding(run, ANALYZE_DEAD_WRITE, touch->object, touch->call, dead->by);
    const struct dead_writes writes = {.needed = needed ? *needed : 0,
                                       .by_kernel = finding.other_kernel != 0,
                                       .in_graph = finding.kind == PROFILE_CALL_GRAPH_LAUNCH};
    // A node cannot be skipped in some launches of its graph.
    if (writes.in_graph && writes.needed)
        return;
    if (dead->by != ANALYZE_NONE)
        analyze_set_distance(run->model, &finding, touch->call, dead->by);
    analyze_set_payload(&finding, writes);
    finding.aspect = (unsigned)(dead->by == ANALYZE_NONE) | (unsigned)writes.by_kernel << 1;
    finding.times = dead->times;
    finding.traffic_bytes = dead->bytes;
    finding.gpu_ns = dead->gpu_ns;
    analyze_add_finding(run, &finding);
}

// --- The search ----------------------------------------------------------------------------------

// Removes bytes from pending writes because they are read, or overwritten by the call `by`.
static void take_away(struct write_search *looking, struct base_intervals *map, uint64_t offset,
                      uint64_t bytes, bool read, uint32_t by)
{
    struct base_intervals_walk walk;
    struct base_interval *at = base_intervals_first_overlap(map, offset, bytes, &walk);
    for (; at; at = base_intervals_next(&walk)) {
        assert(looking->pending.items); // the map is not empty, so there are pending writes
        struct pending *pending = &looking->pending.items[at->value];
        uint64_t start = at->start > offset ? at->start : offset;
        uint64_t last = at->last < offset + bytes - 1 ? at->last : offset + bytes - 1;
        if (pending->left == UINT64_MAX) // some of its bytes were read
            continue;
        pending->left = read ? UINT64_MAX : pending->left - (last - start + 1);
        if (pending->left == 0)
            report(looking, pending, by);
    }
    looking->run->failed |= base_intervals_remove_range(map, offset, bytes) != BASE_OK;
}

static void read_bytes(struct write_search *looking, const struct analyze_touch *touch)
{
    struct object_writes *writes = writes_of(looking, touch->object);
    if (!writes || touch->row_bytes == 0)
        return;
    uint64_t whole = touch->row_bytes + (touch->rows ? touch->rows - 1 : 0) * touch->pitch;
    if (touch->rows > MOST_ROWS)
        take_away(looking, &writes->bytes, touch->offset, whole, true, touch->call);
    for (uint32_t i = 0; i < touch->rows && touch->rows <= MOST_ROWS; i++)
        take_away(looking, &writes->bytes, touch->offset + i * touch->pitch, touch->row_bytes, true,
                  touch->call);
}

static void write_bytes(struct write_search *looking, uint32_t index)
{
    const struct analyze_touch *touch = &looking->run->model->touches.items[index];
    struct object_writes *writes = writes_of(looking, touch->object);
    // If the written bytes are not known exactly, or are in too many pieces, nothing is surely
    // overwritten.
    if (!writes || touch->row_bytes == 0 || touch->rows == 0 || touch->rows > MOST_ROWS ||
        (touch->rows > 1 && touch->pitch < touch->row_bytes))
        return;
    size_t number = looking->pending.count;
    struct pending *pending = base_array_push(&looking->pending);
    looking->run->failed |= !pending;
    if (!pending)
        return;
    *pending = (struct pending){index, touch->row_bytes * touch->rows};
    for (uint32_t i = 0; i < touch->rows; i++) {
        uint64_t offset = touch->offset + i * touch->pitch;
        take_away(looking, &writes->bytes, offset, touch->row_bytes, false, touch->call);
        looking->run->failed |= base_intervals_insert(&writes->bytes, offset, touch->row_bytes,
                                                      number, NULL) == BASE_NO_MEMORY;
    }
}

// Follows a kernel's access. What it reads is unknown byte by byte, so it may read all of it.
static void look_at_kernel(struct write_search *looking, const struct analyze_touch *touch)
{
    struct object_writes *writes = looking->objects[touch->object];
    const struct analyze_model *model = looking->run->model;
    const uint64_t bytes = model->objects.items[touch->object].bytes;
    uint64_t written;
    if (!writes || writes->epoch != looking->epoch)
        return;
    if (touch->how != ANALYZE_WRITE)
        base_intervals_fini(&writes->bytes);
    else if (touch->elements != PROFILE_UNKNOWN && touch->element_bytes &&
             !__builtin_mul_overflow(touch->elements, (uint64_t)touch->element_bytes, &written) &&
             written >= bytes &&
             analyze_narrowest_store(model, touch->kernel) >= touch->element_bytes)
        take_away(looking, &writes->bytes, 0, bytes, false, touch->call);
}

// Reports writes of which nothing has read a byte by the end of the program.
static void look_at_rest(struct write_search *looking, uint32_t object)
{
    struct object_writes *writes = looking->objects[object];
    struct base_intervals_walk walk;
    if (!writes || writes->epoch != looking->epoch || !looking->run->model->ended ||
        looking->run->model->objects.items[object].is_unused)
        return;
    struct base_interval *at = base_intervals_first(&writes->bytes, &walk);
    for (; at; at = base_intervals_next(&walk)) {
        struct pending *pending = &looking->pending.items[at->value];
        if (pending->left == UINT64_MAX || pending->left == 0)
            continue;
        pending->left = 0;
        report(looking, pending, ANALYZE_NONE);
    }
}

static void look_at(struct write_search *looking, uint32_t call)
{
    const struct analyze_model *model = looking->run->model;
    uint32_t end = analyze_touches_end(model, call);
    if (model->calls.items[call].flags & ANALYZE_UNSEEN)
        looking->epoch++;
    for (uint32_t i = model->calls.items[call].touches; i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        if (!analyze_is_subject(&model->objects.items[touch->object]))
            continue;
        if (touch->is_kernel) {
            look_at_kernel(looking, touch);
        } else {
            if (touch->how & ANALYZE_READ)
                read_bytes(looking, touch);
            if (touch->how & ANALYZE_WRITE)
                write_bytes(looking, i);
        }
    }
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    struct write_search looking = {.run = run};
    looking.objects = calloc(model->objects.count + 1, sizeof(struct object_writes *));
    run->dead = calloc(model->touches.count + 1, sizeof(*run->dead));
    run->failed |= !looking.objects || !run->dead;
    for (uint32_t i = 0; i < model->calls.count && !run->failed; i++)
        look_at(&looking, i);
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++)
        look_at_rest(&looking, i);
    for (uint32_t i = 0; i < model->calls.count && !run->failed && looking.dead.count; i++)
        count_needed(&looking, i);
    for (size_t i = 0; i < looking.dead.count && !run->failed; i++)
        add(&looking, &looking.dead.items[i]);
    for (size_t i = 0; looking.objects && i < model->objects.count; i++) {
        if (looking.objects[i])
            base_intervals_fini(&looking.objects[i]->bytes);
        free(looking.objects[i]);
    }
    free(looking.objects);
    base_array_fini(&looking.pending);
    base_array_fini(&looking.dead);
    base_map_fini(&looking.index);
    base_map_fini(&looking.needed);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"overwritten_by", "the call that overwrites the last byte of it; 0: nothing reads it",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call)},
    {"needed", "other copies and sets that the same line makes, and that are needed",
     ANALYZE_OWN(COUNT, struct dead_writes, needed), .unit = "needed write"},
    {"by_kernel", NULL, ANALYZE_OWN(FLAG, struct dead_writes, by_kernel)},
    {"in_graph", NULL, ANALYZE_OWN(FLAG, struct dead_writes, in_graph)},
    {0},
};

const struct analyze_description analyze_dead_write = {
    .name = "dead-write",
    .title = "Written, but never read",
    .definition = "A copy or set writes data that is overwritten before anything reads it, or that "
                  "nothing ever reads.",
    .remedy = "Remove the call that writes it; or skip it where nothing reads what it writes.",
    .paper = "DrGPUM, definition 3.7",
    .needs = ANALYZE_INPUT_OBJECTS,
    .roles = {[ANALYZE_CALL] = {"written for nothing", "the write"},
              [ANALYZE_OTHER_CALL] = {"overwritten", "the call that overwrites it"}},
    .fields = fields,
    .message =
        "{if brief}{if other_call}{object:name} is overwritten before anything reads it{else}"
        "nothing reads what is written to {object:name}{end}{if repeated}, {times} "
        "times{end}{else}"
        "{call} writes to {object:name}, but {if other_call}{other_call} overwrites it "
        "before anything reads it{else}nothing reads it afterwards{end}{if repeated}; this "
        "happens {times} times{end}"
        "{end}",
    .suggestion =
        "{if brief}{if in_graph}leave the copy or set out of the graph{elif needed}skip "
        "{call:name} then; its line also makes {needed:unit}{else}remove {call}{end}{else}"
        "{if in_graph}leave the copy or set out of the graph{elif needed}skip {call} in that case: "
        "the same line makes {needed:unit}, too{else}remove {call}{end}{if by_kernel}, if "
        "{other_call} overwrites all of it for other inputs, too{end}"
        "{end}",
    .find = find,
};
