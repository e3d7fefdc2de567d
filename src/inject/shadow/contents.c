// SPDX-License-Identifier: Apache-2.0
// What is kept about the contents of objects, in device memory: 18 bytes for each piece of 4096
// bytes. Only memory of the GPU itself is looked at: reading pinned, managed or peer memory is
// slow, and the CPU may change it at any time.
//
// Programs may have many small objects, so these have cells of their own size, without gaps: 48
// bytes for one piece, 64 for two. So objects of at least 3072 bytes take at most 1/64.
#include "contents.h"

#include <stdlib.h>
#include <string.h>

#include "inject/core/object_records.h"
#include "memory.h"

enum {
    LEAST_ELEMENTS = 64, // fewer are not described: no pattern holds for them
    MOST_LAYOUTS = 4,    // changes of an object's layout; later ones are ignored
    BASE_ALIGN = 16,
    MOST_SHARE = 64,          // at most 1/64 of the objects is kept about them,
    ALWAYS_BYTES = 256 << 10, // or this much, so that programs with few small objects have all
    CELL_ALIGN = 16,
    CELLS = 64, // that are taken at once
};

_Static_assert((int)DEVICE_PIECE_SHIFT == (int)INSTRUMENT_PIECE_SHIFT &&
                   (int)DEVICE_PIECE_STEP == (int)INSTRUMENT_PIECE_STEP &&
                   (int)DEVICE_FIELDS == (int)INSTRUMENT_LAYOUT_FIELDS,
               "probes mark what the scan reads");
_Static_assert((int)DEVICE_RAW == (int)INSTRUMENT_TYPE_RAW &&
                   (int)DEVICE_F64 == (int)INSTRUMENT_TYPE_F64,
               "types are copied");

static struct shadow_contents *at(const struct shadow *shadow, uint64_t number)
{
    const uint64_t *place = base_map_get(&shadow->contents, number);
    return place ? (struct shadow_contents *)(uintptr_t)*place : NULL; // NOLINT
}

struct shadow_contents *shadow_contents_of(const struct shadow *shadow, uint64_t object)
{
    return at(shadow, object);
}

static bool is_looked_at(const struct shadow *shadow, const struct core_object *object,
                         uint8_t kind)
{
    switch (kind) {
    case EVENT_OBJECT_DEVICE:
    case EVENT_OBJECT_PITCHED:
    case EVENT_OBJECT_POOL:
    case EVENT_OBJECT_GLOBAL:
    case EVENT_OBJECT_MAPPING:
        return object->bytes && object->device == shadow->context->device &&
               (object->bytes + BASE_ALIGN) >> DEVICE_PIECE_SHIFT < UINT32_MAX / 2;
    default: return false;
    }
}

// --- Memory --------------------------------------------------------------------------------------

static uint64_t hashes_bytes(const struct shadow_contents *contents)
{
    return (uint64_t)contents->pieces * 2 * sizeof(uint64_t);
}

static uint64_t kept_at(const struct shadow_contents *contents)
{
    return contents->memory.address + hashes_bytes(contents);
}

static bool is_small(const struct shadow_contents *contents)
{
    return contents->pieces <= DEVICE_SMALL_PIECES;
}

// What is kept about a small object lacks the last member.
static uint64_t states_at(const struct shadow_contents *contents)
{
    return kept_at(contents) +
           (is_small(contents) ? offsetof(struct device_kept, wants) : sizeof(struct device_kept));
}

// The scan reads states and marks 16 at a time, if there are 16.
static uint64_t states_bytes(const struct shadow_contents *contents)
{
    return is_small(contents) ? contents->pieces : ((uint64_t)contents->pieces + 15) / 16 * 16;
}
_Static_assert((int)DEVICE_SMALL_PIECES < 16, "marks of small objects are fewer than 16, too");

static uint64_t marks_at(const struct shadow_contents *contents)
{
    return states_at(contents) + states_bytes(contents);
}

struct shadow_block shadow_contents_marks(const struct shadow_contents *contents)
{
    return (struct shadow_block){marks_at(contents), (uint64_t)contents->mask + 1};
}

void shadow_contents_clearing(const struct shadow_contents *contents, struct shadow_block *block)
{
    block->address = kept_at(contents);
    block->bytes = marks_at(contents) + contents->mask + 1 - block->address;
}

static void count(struct shadow *shadow, const struct shadow_contents *contents, int times)
{
    shadow->looked_at_bytes += (uint64_t)times * contents->bytes;
    shadow->contents_bytes += (uint64_t)times * contents->memory.bytes;
}

// Large objects take 1/227 and leave the rest of the share to small ones.
static bool fits_share(const struct shadow *shadow, const struct shadow_contents *contents,
                       uint64_t bytes)
{
    const uint64_t kept = shadow->contents_bytes + bytes;
    return kept <= ALWAYS_BYTES || kept <= (shadow->looked_at_bytes + contents->bytes) / MOST_SHARE;
}

// Takes a cell of that many bytes for an object of so many pieces.
static bool take_cell(struct shadow *shadow, uint32_t pieces, uint64_t bytes,
                      struct shadow_block *cell)
{
    struct shadow_cells *cells = &shadow->cells[pieces - 1];
    struct shadow_block block;
    if (!cells->free.count) {
        if (!shadow_take(shadow, &shadow->device, CELLS * bytes, &block))
            return false;
        for (uint64_t i = CELLS; i-- > 0;) {
            uint64_t *place = base_array_push(&cells->free);
            if (place)
                *place = block.address + i * bytes;
        }
    }
    if (!cells->free.count)
        return false;
    *cell = (struct shadow_block){cells->free.items[--cells->free.count], bytes};
    return true;
}

static void give_memory(struct shadow *shadow, struct shadow_contents *contents)
{
    if (!is_small(contents)) {
        shadow_give(&shadow->device, &contents->memory);
        return;
    }
    uint64_t *place = base_array_push(&shadow->cells[contents->pieces - 1].free);
    if (place)
        *place = contents->memory.address; // otherwise it is lost until the context's end
}

static bool furnish(struct shadow *shadow, struct shadow_contents *contents)
{
    const bool small = is_small(contents);
    const uint64_t unit = small ? CELL_ALIGN : SHADOW_ALIGN;
    const uint64_t all = marks_at(contents) + contents->mask + 1; // from address 0
    const uint64_t bytes = (all + unit - 1) / unit * unit;
    if (!fits_share(shadow, contents, bytes) ||
        !(small ? take_cell(shadow, contents->pieces, bytes, &contents->memory)
                : shadow_take(shadow, &shadow->device, bytes, &contents->memory)))
        return false;
    if (shadow_own_clear(shadow, contents->memory)) {
        count(shadow, contents, 1);
        return true;
    }
    give_memory(shadow, contents);
    return false;
}

static void unfurnish(struct shadow *shadow, struct shadow_contents *contents)
{
    count(shadow, contents, -1);
    give_memory(shadow, contents);
}

// kind: that of the object, or of the one whose part it is.
static struct shadow_contents *contents_at(struct shadow *shadow, const struct core_object *object,
                                           uint8_t kind)
{
    struct shadow_contents *contents = at(shadow, object->number);
    if (contents || !is_looked_at(shadow, object, kind))
        return contents;
    uint64_t *place = NULL;
    bool furnished = false;
    contents = calloc(1, sizeof(*contents));
    if (contents) {
        contents->number = object->number;
        contents->start = object->start;
        contents->bytes = object->bytes;
        contents->padded = object->padded;
        contents->base = object->start & ~(uint64_t)(BASE_ALIGN - 1);
        const uint64_t last = object->start + object->bytes - 1 - contents->base;
        contents->pieces = (uint32_t)(last >> DEVICE_PIECE_SHIFT) + 1;
        while (contents->mask < contents->pieces - 1)
            contents->mask = 2 * contents->mask + 1;
        contents->epoch = shadow->unseen_work;
        furnished = furnish(shadow, contents);
        if (furnished)
            place = base_map_put(&shadow->contents, object->number, NULL);
        else
            shadow->unlooked++;
    }
    if (place) {
        *place = (uint64_t)(uintptr_t)contents;
        return contents;
    }
    if (furnished)
        unfurnish(shadow, contents);
    free(contents);
    return NULL;
}

struct instrument_pieces shadow_contents_pieces(const struct shadow_contents *contents)
{
    return (struct instrument_pieces){
        .base = contents->base,
        .bytes = contents->start + contents->bytes - contents->base,
        .marks = marks_at(contents),
        .mask = contents->mask,
        .loads = 1,
    };
}

// An object is not looked at if something else may write it, or while parts divide it, but its
// parts are. What was kept before is forgotten, because writes to it are no longer seen.
static struct shadow_contents *of_piece(struct shadow *shadow,
                                        const struct core_objects_piece *piece)
{
    const struct core_object *object = &piece->object;
    struct core_object whole = *object;
    const bool is_part = core_object_is_part(object);
    if (is_part && !core_objects_find(&core_state.objects, OBJECTS_MEMORY, object->start, &whole))
        return NULL;
    const bool is_entire = piece->start == object->start && piece->bytes == object->bytes;
    if (is_part || !is_entire || whole.shared)
        shadow_contents_ended(shadow, whole.number);
    if (is_part && whole.shared)
        shadow_contents_ended(shadow, object->number);
    return is_entire && !whole.shared ? contents_at(shadow, object, whole.kind) : NULL;
}

struct shadow_contents *shadow_contents_holding(struct shadow *shadow, uint64_t address)
{
    struct core_objects_piece piece;
    return address && core_objects_find_piece(&core_state.objects, address, &piece)
               ? of_piece(shadow, &piece)
               : NULL;
}

bool shadow_contents_is_one(uint64_t from, uint64_t to)
{
    struct core_objects_piece piece;
    return core_objects_find_piece(&core_state.objects, from, &piece) &&
           to - from <= piece.start + piece.bytes - from;
}

void shadow_contents_written_from(const struct core_context *context, uint64_t address)
{
    struct core_object object;
    if (atomic_load_explicit(&core_state.peers, memory_order_relaxed) && address &&
        core_objects_find(&core_state.objects, OBJECTS_MEMORY, address, &object) && object.device &&
        object.device != context->device)
        core_object_share(address);
}

struct instrument_pieces shadow_contents_of_piece(struct shadow *shadow,
                                                  const struct core_objects_piece *piece)
{
    const struct shadow_contents *contents = of_piece(shadow, piece);
    return contents ? shadow_contents_pieces(contents) : (struct instrument_pieces){0};
}

// --- Layouts -------------------------------------------------------------------------------------

static bool is_raw(const struct instrument_layout *layout)
{
    return !layout->field_count ||
           (layout->field_count == 1 && layout->fields[0].type == INSTRUMENT_TYPE_RAW);
}

// Returns the type that an integer of the same size without a sign has.
static uint32_t unsigned_of(uint32_t type)
{
    switch (type) {
    case INSTRUMENT_TYPE_S8: return INSTRUMENT_TYPE_U8;
    case INSTRUMENT_TYPE_S16: return INSTRUMENT_TYPE_U16;
    case INSTRUMENT_TYPE_S32: return INSTRUMENT_TYPE_U32;
    case INSTRUMENT_TYPE_S64: return INSTRUMENT_TYPE_U64;
    default: return type;
    }
}

// Most instructions do not say whether integers are signed, so kernels often disagree about that.
// All that is found about bits holds for both, and looking again would not tell more.
static bool is_same(const struct instrument_layout *a, const struct instrument_layout *b)
{
    bool same = a->stride == b->stride && a->field_count == b->field_count;
    for (uint32_t i = 0; same && i < a->field_count; i++)
        same = a->fields[i].offset == b->fields[i].offset &&
               unsigned_of(a->fields[i].type) == unsigned_of(b->fields[i].type);
    return same;
}

void shadow_contents_shape(struct shadow_contents *contents, const struct instrument_layout *layout,
                           uint64_t address)
{
    if (!layout->field_count || (address - contents->start) % layout->stride ||
        is_same(&contents->layout, layout) || (contents->layout.field_count && is_raw(layout)) ||
        contents->layouts >= MOST_LAYOUTS)
        return;
    contents->layouts += contents->layout.field_count != 0;
    contents->layout = *layout;
    contents->undescribed = contents->known;
}

// Sets the fields of a job that describes objects with the layout.
static void set_fields(struct device_values_job *job, const struct instrument_layout *layout)
{
    job->stride = layout->stride;
    job->field_count = layout->field_count;
    for (uint32_t i = 0; i < layout->field_count; i++) {
        job->fields[i].offset = layout->fields[i].offset;
        job->fields[i].type = layout->fields[i].type;
    }
}

bool shadow_contents_is_words(const struct instrument_layout *layout)
{
    struct device_values_job job = {.describes = layout->field_count != 0};
    set_fields(&job, layout);
    return device_values_is_words(&job);
}

// Returns whether the object can be described. An array of words that does not begin where a word
// can be would need code that is loaded only for kernels with other layouts.
static bool is_describable(const struct shadow_contents *contents)
{
    const struct instrument_layout *layout = &contents->layout;
    return layout->field_count && !contents->padded &&
           contents->bytes / layout->stride >= LEAST_ELEMENTS &&
           !(contents->start % layout->stride && shadow_contents_is_words(layout));
}

struct device_values_job shadow_contents_job(const struct shadow_contents *contents,
                                             enum device_which which)
{
    struct device_values_job job = {
        .base = contents->base,
        .first = contents->start,
        .end = contents->start + contents->bytes,
        .marks = marks_at(contents),
        .states = states_at(contents),
        .hashes = contents->memory.address,
        .kept = kept_at(contents),
        .mask = contents->mask,
        .pieces = contents->pieces,
        .which = which,
        .describes = is_describable(contents),
    };
    set_fields(&job, &contents->layout);
    if (!job.describes)
        job.field_count = 0;
    return job;
}

// --- Ends ----------------------------------------------------------------------------------------

static void dispose(struct shadow *shadow, struct shadow_contents *contents)
{
    unfurnish(shadow, contents);
    free(contents);
}

void shadow_contents_hold(struct shadow_contents *contents)
{
    contents->users++;
}

void shadow_contents_drop(struct shadow *shadow, struct shadow_contents *contents)
{
    if (--contents->users == 0 && contents->ended)
        dispose(shadow, contents);
}

void shadow_contents_ended(struct shadow *shadow, uint64_t object)
{
    struct shadow_contents *contents = at(shadow, object);
    if (!contents)
        return;
    base_map_remove(&shadow->contents, object);
    contents->ended = true;
    if (!contents->users)
        dispose(shadow, contents);
}

void shadow_contents_forget(struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->contents.count; i++) {
        const struct base_map_entry *entry = &shadow->contents.entries[i];
        struct shadow_contents *contents =
            (struct shadow_contents *)(uintptr_t)entry->value; // NOLINT
        if (entry->removed)
            continue;
        contents->ended = true;
        if (!contents->users) // otherwise a graph's node refers to it
            free(contents);
    }
    base_map_fini(&shadow->contents);
    for (uint32_t i = 0; i < DEVICE_SMALL_PIECES; i++)
        base_array_fini(&shadow->cells[i].free);
}
