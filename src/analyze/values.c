// SPDX-License-Identifier: Apache-2.0
// Finds the values that each call reads and writes. What an object holds when a call begins is
// described by the rows in effect: a row about all known pieces replaces the earlier ones, another
// row adds to them. Rows of work that other streams may have disturbed, and launches whose accesses
// are unknown, leave the values unknown until a row about all known pieces follows. A launch of a
// graph is one call, whatever its nodes do.
#include "values.h"

#include <stdlib.h>

enum {
    MOST_ROWS = 16,   // in effect for an object; beyond that, its values are unknown
    MOST_PENDING = 8, // copies to an object whose values nothing describes yet
    WHOLE_PARTS = 10, // a launch that writes all but one of these parts writes the whole
};

struct object_values {
    const struct profile_contents *rows[MOST_ROWS];
    uint32_t writers[MOST_ROWS]; // indices of calls
    uint32_t count;
    uint32_t epoch; // of the walk, in which the rows were taken
    bool is_lost;   // some known pieces are described by no row that counts
    bool is_unseen; // a copy or set has written values that no row describes yet
    // All such copies and sets; beyond MOST_PENDING they are only counted.
    const struct analyze_contents *pending[MOST_PENDING];
    uint32_t pending_count;
    uint32_t call; // 1 + index of the call that the fields below are about
    uint8_t how;   // all accesses of the call: sum of ANALYZE_READ, ANALYZE_WRITE
    bool is_read;  // a read by the call was taken
    bool has_row;  // the call has a row about what it wrote
};

struct values_walk {
    struct analyze_run *run;
    analyze_take_use *take;
    void *state;
    struct object_values *objects;
    uint32_t epoch; // incremented at each launch that may write anything
    size_t next_row;
};

bool analyze_has_values(const struct analyze_object *object)
{
    return !object->is_host && !object->elsewhere && object->bytes;
}

static struct object_values *values_at(struct values_walk *walk, uint32_t object)
{
    struct object_values *values = &walk->objects[object];
    if (values->epoch != walk->epoch) {
        values->count = 0;
        values->is_lost = true;
        values->is_unseen = false;
        values->pending_count = 0;
        values->epoch = walk->epoch;
    }
    return values;
}

// What the kernels of a call stored to an object.
struct stored {
    uint64_t bytes; // as far as they were counted
    bool is_known;  // no stores may have gone elsewhere, or came to it uncounted
};

// Of one node of a graph, or of all (NONE).
static struct stored stored_to(const struct analyze_model *model, uint32_t call, uint32_t node,
                               uint32_t object)
{
    const struct analyze_stored *stores = model->stores.items;
    const size_t count = model->stores.count;
    struct stored stored = {.is_known = true};
    size_t i = base_search(0, count, k, stores[k].call < call);
    for (; i < count && stores[i].call == call; i++) {
        if (node != ANALYZE_NONE && stores[i].node != node)
            continue;
        if (stores[i].object == object)
            stored.bytes += stores[i].stores * stores[i].bytes;
        stored.is_known &= stores[i].object != ANALYZE_NONE;
    }
    stored.is_known &= stored.bytes != 0;
    return stored;
}

uint64_t analyze_stored_bytes(const struct analyze_model *model, uint32_t call, uint32_t node,
                              uint32_t object)
{
    return stored_to(model, call, node, object).bytes;
}

// Returns the bytes of the elements that a row describes: without padding.
static uint64_t described_bytes(const struct profile_contents *row)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < row->field_count; i++)
        bytes += row->fields[i].elements * analyze_value_size(row->fields[i].type);
    return bytes < row->bytes ? bytes : row->bytes;
}

// Returns the call's last write to the object, else its first access; NULL: none. *how gets all
// accesses.
static const struct analyze_touch *touch_of(const struct analyze_model *model, uint32_t call,
                                            uint32_t object, unsigned *how)
{
    const struct analyze_touch *found = NULL;
    const uint32_t end = analyze_touches_end(model, call);
    *how = 0;
    for (uint32_t i = model->calls.items[call].touches; i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        if (touch->object != object)
            continue;
        *how |= touch->how;
        if (!found || touch->how & ANALYZE_WRITE)
            found = touch;
    }
    return found;
}

// Returns the bytes that an access moves if it touches each byte only once; `most` if unknown.
static uint64_t bytes_of(const struct analyze_touch *touch, uint64_t most)
{
    uint64_t bytes = most;
    if (!touch)
        return most;
    if (!touch->is_kernel)
        bytes = touch->row_bytes * touch->rows;
    else if (touch->elements != PROFILE_UNKNOWN && touch->element_bytes)
        bytes = touch->elements * touch->element_bytes;
    return bytes < most ? bytes : most;
}

// A launch may read only a part of an object. Only elements tell which.
static bool may_be_less(const struct analyze_touch *touch)
{
    return touch->is_kernel && (touch->elements == PROFILE_UNKNOWN || !touch->element_bytes);
}

// --- Writes --------------------------------------------------------------------------------------

static void give_write(struct values_walk *walk, const struct analyze_contents *by,
                       const struct profile_contents *row)
{
    const struct analyze_model *model = walk->run->model;
    const struct analyze_call *call = &model->calls.items[by->call];
    unsigned how;
    const struct analyze_touch *touch = touch_of(model, by->call, by->object, &how);
    const bool is_kernel = touch ? touch->is_kernel : call->kind == PROFILE_CALL_LAUNCH;
    const struct stored stored =
        is_kernel ? stored_to(model, by->call, ANALYZE_NONE, by->object) : (struct stored){0};
    const uint64_t described = described_bytes(row);
    const uint64_t unwritten =
        stored.is_known && stored.bytes < described ? described - stored.bytes : 0;
    // What a copy in a graph writes is not all that the row describes.
    if (call->kind == PROFILE_CALL_SET || (call->kind == PROFILE_CALL_GRAPH_LAUNCH && !is_kernel))
        return;
    const struct analyze_value_use use = {
        .call = by->call,
        .object = by->object,
        .writer = by->call,
        .is_kernel = is_kernel,
        .kernel = !is_kernel ? 0
                  : touch    ? touch->kernel
                             : call->kernel,
        .is_from_host = call->kind == PROFILE_CALL_COPY && call->flags & ANALYZE_HOST_END,
        .is_border = is_kernel && (how & ANALYZE_READ || stored.bytes > by->row->bytes),
        .is_whole =
            is_kernel ? unwritten <= described / WHOLE_PARTS : by->row->moved_bytes == row->bytes,
        .bytes = is_kernel ? bytes_of(touch, row->bytes - unwritten) : by->row->moved_bytes,
        .unwritten_bytes = unwritten,
        .rows = &row,
        .row_count = 1};
    walk->take(walk->run, &use, walk->state);
}

static bool overlaps(const struct analyze_touch *one, const struct analyze_touch *other)
{
    return !one || !other || one->rows != 1 || other->rows != 1 ||
           (one->offset < other->offset + other->row_bytes &&
            other->offset < one->offset + one->row_bytes);
}

// Returns whether the row describes what the pending copies wrote, and nothing else: they wrote
// different pieces, and these are the ones that it describes.
static bool is_of_pending(const struct analyze_model *model, const struct object_values *values,
                          const struct profile_contents *found)
{
    const struct analyze_touch *touches[MOST_PENDING];
    uint64_t pieces = 0, bytes = 0;
    if (values->pending_count == 0 || values->pending_count > MOST_PENDING)
        return false;
    for (uint32_t i = 0; i < values->pending_count; i++) {
        const struct analyze_contents *at = values->pending[i];
        unsigned how;
        if (model->calls.items[at->call].kind == PROFILE_CALL_GRAPH_LAUNCH)
            return false;
        touches[i] = touch_of(model, at->call, at->object, &how);
        for (uint32_t k = 0; k < i; k++) {
            if (overlaps(touches[i], touches[k]))
                return false;
        }
        pieces += at->row->pieces;
        bytes += at->row->bytes;
    }
    return pieces == found->pieces && bytes == found->bytes;
}

// Copies wrote values that nothing described until a launch found them.
static void end_pending(struct values_walk *walk, struct object_values *values,
                        const struct profile_contents *found, uint32_t *writer)
{
    if (!is_of_pending(walk->run->model, values, found))
        return;
    if (values->pending_count == 1)
        *writer = values->pending[0]->call;
    for (uint32_t i = 0; i < values->pending_count; i++)
        give_write(walk, values->pending[i], found);
}

// Bytes of fresh pieces never count as the same.
static bool changed_nothing(const struct profile_contents *row)
{
    return row->same_bytes == row->moved_bytes;
}

static void take_undescribed(struct object_values *values, const struct analyze_contents *at)
{
    if (changed_nothing(at->row))
        return;
    if (at->row->pieces == at->row->known_pieces) {
        values->count = 0;
        values->is_lost = false;
        values->is_unseen = false;
    }
    if (!values->is_unseen)
        values->pending_count = 0;
    if (values->pending_count < MOST_PENDING)
        values->pending[values->pending_count] = at;
    values->pending_count += values->pending_count <= MOST_PENDING;
    values->is_unseen = true;
}

// Returns the call that wrote all values that the rows in effect describe; NONE: several, unknown.
static uint32_t writer_of(const struct object_values *values)
{
    uint32_t writer = values->count ? values->writers[0] : ANALYZE_NONE;
    for (uint32_t i = 1; i < values->count; i++)
        writer = values->writers[i] == writer ? writer : ANALYZE_NONE;
    return writer;
}

static void take_row(struct values_walk *walk, const struct analyze_contents *at)
{
    const struct profile_contents *row = at->row;
    struct object_values *values = values_at(walk, at->object);
    uint32_t writer = row->kind == PROFILE_CONTENTS_WRITTEN ? at->call : ANALYZE_NONE;
    if (row->flags & PROFILE_CONTENTS_CONCURRENT) {
        values->count = 0;
        values->is_lost = true;
        values->pending_count = MOST_PENDING + 1;
        return;
    }
    if (row->field_count == 0) {
        take_undescribed(values, at);
        return;
    }
    if (row->kind == PROFILE_CONTENTS_FOUND && values->is_unseen)
        end_pending(walk, values, row, &writer);
    else if (row->kind == PROFILE_CONTENTS_FOUND && !values->is_lost) // another layout
        writer = writer_of(values);
    if (row->pieces == row->known_pieces) {
        values->count = 0;
        values->is_lost = values->is_unseen = false;
    }
    if (row->kind == PROFILE_CONTENTS_FOUND)
        values->is_unseen = false;
    if (values->count == MOST_ROWS) {
        values->count = 0;
        values->is_lost = true;
    }
    values->rows[values->count] = row;
    values->writers[values->count++] = writer;
    if (row->kind == PROFILE_CONTENTS_WRITTEN)
        give_write(walk, at, row);
}

// --- Reads ---------------------------------------------------------------------------------------

// Returns whether the launch changes what the object holds, or may do so.
static bool changes(const struct values_walk *walk, const struct analyze_touch *touch)
{
    const struct analyze_model *model = walk->run->model;
    for (size_t i = walk->next_row; i < model->contents.count; i++) {
        const struct analyze_contents *at = &model->contents.items[i];
        if (at->call != touch->call)
            break;
        if (at->object == touch->object && at->row->kind == PROFILE_CONTENTS_WRITTEN)
            return !changed_nothing(at->row);
    }
    return true;
}

static void give_read(struct values_walk *walk, const struct analyze_touch *touch)
{
    struct object_values *values = values_at(walk, touch->object);
    uint64_t most = 0;
    if (values->is_lost || values->is_unseen || values->count == 0)
        return;
    for (uint32_t i = 0; i < values->count; i++)
        most += values->rows[i]->bytes;
    const uint64_t whole = walk->run->model->objects.items[touch->object].bytes;
    most = most < whole ? most : whole;
    const bool writes = touch->is_kernel && values->how & ANALYZE_WRITE;
    const struct analyze_value_use use = {
        .call = touch->call,
        .object = touch->object,
        .writer = writer_of(values),
        .is_read = true,
        .is_kernel = touch->is_kernel,
        .kernel = touch->kernel,
        .is_border = writes,
        .is_changed = writes && changes(walk, touch),
        .is_whole = touch->is_kernel || (touch->rows == 1 && touch->row_bytes == whole),
        .bytes = bytes_of(touch, most),
        .may_be_less = may_be_less(touch),
        .rows = values->rows,
        .row_count = values->count};
    walk->take(walk->run, &use, walk->state);
}

// --- The walk ------------------------------------------------------------------------------------

// Sets what the call does to each object.
static void take_touches(struct values_walk *walk, uint32_t call)
{
    const struct analyze_model *model = walk->run->model;
    const uint32_t end = analyze_touches_end(model, call);
    for (uint32_t i = model->calls.items[call].touches; i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        struct object_values *values = values_at(walk, touch->object);
        if (values->call != call + 1) {
            values->call = call + 1;
            values->how = 0;
            values->is_read = values->has_row = false;
        }
        values->how |= touch->how;
    }
}

static void take_rows(struct values_walk *walk, size_t end_row, enum profile_contents_kind kind)
{
    const struct analyze_model *model = walk->run->model;
    for (size_t i = walk->next_row; i < end_row; i++) {
        const struct analyze_contents *at = &model->contents.items[i];
        if (at->row->kind != kind || !analyze_has_values(&model->objects.items[at->object]))
            continue;
        take_row(walk, at);
        struct object_values *values = values_at(walk, at->object);
        values->has_row |= values->call == at->call + 1 && kind == PROFILE_CONTENTS_WRITTEN;
    }
}

// A graph may write an object without a row: the recorder had no memory for it.
static void forget_written(struct values_walk *walk, uint32_t call)
{
    const struct analyze_model *model = walk->run->model;
    const uint32_t end = analyze_touches_end(model, call);
    for (uint32_t i = model->calls.items[call].touches; i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        struct object_values *values = values_at(walk, touch->object);
        if (!(touch->how & ANALYZE_WRITE) || values->has_row)
            continue;
        values->count = 0;
        values->is_lost = true;
        values->pending_count = MOST_PENDING + 1;
    }
}

// Takes the rows of a call: first those about what it found, then, after its reads, those about
// what it wrote. Several nodes of a graph may read an object, which is one read.
static void take_known(struct values_walk *walk, uint32_t call, size_t end_row)
{
    const struct analyze_model *model = walk->run->model;
    const uint32_t end = analyze_touches_end(model, call);
    take_touches(walk, call);
    take_rows(walk, end_row, PROFILE_CONTENTS_FOUND);
    for (uint32_t i = model->calls.items[call].touches; i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        struct object_values *values = values_at(walk, touch->object);
        if (!(touch->how & ANALYZE_READ) || values->is_read ||
            !analyze_has_values(&model->objects.items[touch->object]))
            continue;
        values->is_read = true;
        give_read(walk, touch);
    }
    take_rows(walk, end_row, PROFILE_CONTENTS_WRITTEN);
    if (model->calls.items[call].kind == PROFILE_CALL_GRAPH_LAUNCH)
        forget_written(walk, call);
}

static void take_call(struct values_walk *walk, uint32_t call)
{
    const struct analyze_model *model = walk->run->model;
    const struct analyze_contents *rows = model->contents.items;
    size_t end_row = walk->next_row;
    while (end_row < model->contents.count && rows[end_row].call <= call)
        end_row++;
    if (model->calls.items[call].flags & (ANALYZE_UNSEEN | ANALYZE_BATCH))
        walk->epoch++;
    else if (model->calls.items[call].flags & ANALYZE_WORKS)
        take_known(walk, call, end_row);
    walk->next_row = end_row;
}

void analyze_walk_values(struct analyze_run *run, analyze_take_use *take, void *state)
{
    const struct analyze_model *model = run->model;
    if (model->contents.count == 0)
        return;
    struct values_walk walk = {.run = run, .take = take, .state = state};
    run->value_limits.elements = analyze_limit(run->thresholds, &analyze_value_elements);
    run->value_limits.frequent_percent = analyze_limit(run->thresholds, &analyze_frequent_percent);
    run->value_limits.linear_percent = analyze_limit(run->thresholds, &analyze_linear_percent);
    walk.objects = calloc(model->objects.count + 1, sizeof(*walk.objects));
    run->failed |= !walk.objects;
    for (uint32_t i = 0; i < model->calls.count && !run->failed; i++)
        take_call(&walk, i);
    free(walk.objects);
}
