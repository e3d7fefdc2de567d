// SPDX-License-Identifier: Apache-2.0
// duplicate-transfer: a copy transfers bytes that are there already: the same place has them from
// an earlier copy; or another place of the device has them, or had them until its memory was freed;
// or they came from the device and go back unchanged.
//
// For copies to the host, the recorder compares the destination. For copies to the device, only
// known writes to the object in between can be excluded, so nothing is found if a launch may have
// touched anything.
#include <assert.h>
#include <stdlib.h>

#include "analyze/remedies.h"

// The most pieces that are kept for one object. Beyond that, all of its pieces are forgotten.
enum { MOST_PIECES = 256 };

// A piece of an object that holds what a copy brought there, or took from there.
struct piece {
    const struct analyze_copy *copy;
    uint32_t next; // index + 1, of the same object
    bool changed;  // something else may have been written to it
};

struct duplicate_search {
    struct analyze_remedies *remedies;
    BASE_ARRAY(struct piece) pieces;
    struct object_pieces {
        uint32_t first; // index + 1
        uint32_t count;
    } * objects;
    uint32_t from;            // index of a call: copies before it are not compared any more
    struct base_map contents; // hash of what was copied to index + 1 of the last piece that held it
    struct base_map on_host;  // destination to index + 1 of the last copy to it
};

static uint64_t extent_of(const struct analyze_copy *copy, uint64_t pitch)
{
    return copy->shape[1] > 1 && pitch ? (copy->shape[1] - 1) * pitch + copy->shape[0]
                                       : copy->bytes;
}

static bool is_same_place(const struct analyze_copy *a, const struct analyze_copy *b)
{
    return a->device_address == b->device_address && a->bytes == b->bytes &&
           a->shape[0] == b->shape[0] && a->shape[1] == b->shape[1] && a->shape[2] == b->shape[2];
}

static bool is_same(const struct analyze_copy *a, const struct analyze_copy *b)
{
    return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1];
}

enum place { PLACE_SAME, PLACE_OTHER, PLACE_FREED };

// Returns whether equal bytes say nothing: a flag or a counter often has the value that it had
// before, or that another one has. Where nothing wrote to the destination, it holds them for sure.
static bool may_be_equal_by_chance(const struct analyze_copy *copy, enum place place)
{
    enum { LEAST_BYTES = 64 };
    return copy->bytes < LEAST_BYTES && (copy->to_host || place != PLACE_SAME);
}

static void add(struct duplicate_search *looking, const struct analyze_copy *copy,
                const struct analyze_copy *before, enum place place)
{
    static const char *const words[] = {"same", "other", "freed"};
    struct analyze_remedies *remedies = looking->remedies;
    const struct analyze_model *model = remedies->model;
    const struct analyze_call *call = &model->calls.items[copy->call],
                              *other = &model->calls.items[before->call];
    if (!call->path || !other->path || may_be_equal_by_chance(copy, place))
        return;
    bool is_new;
    struct analyze_remedy *remedy = analyze_remedy_at(remedies, ANALYZE_DUPLICATE_TRANSFER,
                                                      call->path, other->path, place, &is_new);
    if (!remedy)
        return;
    struct analyze_finding *finding = &remedy->finding;
    struct analyze_wait_facts *facts = &remedy->facts;
    if (finding->times++ == 0) {
        finding->call = call->number;
        finding->other_call = other->number;
        finding->kind = finding->other_kind = PROFILE_CALL_COPY;
        facts->place = words[place];
        facts->is_other_place = place == PLACE_OTHER;
        facts->is_freed = place == PLACE_FREED;
        facts->from_device = before->to_host && !copy->to_host;
        facts->is_round_trip = facts->from_device && before->host_address == copy->host_address;
        analyze_set_direction(facts, copy->to_host);
        analyze_set_memory(facts, (enum profile_memory)copy->memory);
        if (copy->object != ANALYZE_NONE)
            finding->object = model->objects.items[copy->object].number;
    }
    const struct analyze_time *time = &model->host.times.items[copy->call];
    facts->bytes += copy->bytes;
    finding->traffic_bytes += copy->bytes;
    finding->gpu_ns += call->gpu_ns;
    facts->calls++;
    uint64_t took_ns = (uint64_t)(time->end_ns - time->start_ns);
    analyze_add_act(remedies, remedy, copy->call, ANALYZE_LEAVE_OUT,
                    call->flags & ANALYZE_ASYNC ? took_ns + call->gpu_ns : took_ns);
}

// --- To the host ---------------------------------------------------------------------------------

static void take_to_host(struct duplicate_search *looking, const struct analyze_copy *copy)
{
    const struct analyze_copy *copies = looking->remedies->model->host.copies.items;
    const uint64_t key[] = {copy->host_address, copy->bytes, copy->shape[0], copy->shape[1],
                            copy->shape[3]};
    uint64_t *slot = base_map_put(&looking->on_host, base_hash(key, sizeof(key)), NULL);
    looking->remedies->failed |= !slot;
    if (!slot)
        return;
    if (*slot && copy->same_before && copies[*slot - 1].hashed && is_same(copy, &copies[*slot - 1]))
        add(looking, copy, &copies[*slot - 1], PLACE_SAME);
    *slot = (uint64_t)(copy - copies) + 1;
}

// --- To the device -------------------------------------------------------------------------------

static bool is_known(const struct analyze_object *object)
{
    return !object->elsewhere && !object->is_host && !object->blurred && !object->has_parts;
}

static void forget(struct duplicate_search *looking, uint32_t object)
{
    for (uint32_t at = looking->objects[object].first; at;) {
        assert(looking->pieces.items);
        struct piece *piece = &looking->pieces.items[at - 1];
        piece->changed = true;
        at = piece->next;
    }
    looking->objects[object].first = looking->objects[object].count = 0;
}

// Forgets the pieces that a copy or set overwrites, except the piece of that copy itself.
static void overwrite(struct duplicate_search *looking, const struct analyze_touch *touch,
                      const struct analyze_copy *own)
{
    const struct analyze_object *object = &looking->remedies->model->objects.items[touch->object];
    struct object_pieces *pieces = &looking->objects[touch->object];
    if (touch->is_kernel || touch->rows == 0) {
        forget(looking, touch->object);
        return;
    }
    uint64_t from = object->address + touch->offset;
    uint64_t to = from + touch->row_bytes + (touch->rows - 1) * touch->pitch;
    for (uint32_t *at = &pieces->first; *at;) {
        assert(looking->pieces.items);
        struct piece *piece = &looking->pieces.items[*at - 1];
        uint64_t start = piece->copy->device_address;
        uint64_t end = start + extent_of(piece->copy, piece->copy->shape[2]);
        const bool overlaps = start < to && from < end;
        if (overlaps && !(own && is_same_place(own, piece->copy))) {
            *at = piece->next;
            piece->changed = true;
            pieces->count--;
        } else {
            at = &piece->next;
        }
    }
}

// What another device has is no duplicate: each needs the bytes in its own memory.
static uint64_t content_of(const struct duplicate_search *looking, const struct analyze_copy *copy)
{
    const struct analyze_object *objects = looking->remedies->model->objects.items;
    const uint64_t key[] = {copy->hash[0], copy->hash[1], copy->bytes,
                            objects[copy->object].device};
    return base_hash(key, sizeof(key));
}

// Looks for another place that holds the bytes of a copy to the device, or did when it was freed.
static void find_elsewhere(struct duplicate_search *looking, const struct analyze_copy *copy)
{
    const struct analyze_object *objects = looking->remedies->model->objects.items;
    const uint64_t *slot = base_map_get(&looking->contents, content_of(looking, copy));
    const struct piece *piece = slot && *slot ? &looking->pieces.items[*slot - 1] : NULL;
    if (!piece || piece->changed || piece->copy->call < looking->from ||
        piece->copy->bytes != copy->bytes || !is_same(piece->copy, copy))
        return;
    const bool freed = objects[piece->copy->object].end < copy->call;
    add(looking, copy, piece->copy, freed ? PLACE_FREED : PLACE_OTHER);
}

// Returns the index + 1 of the piece at the place of the copy, which it makes if necessary; 0 when
// memory ran out.
static uint32_t piece_of(struct duplicate_search *looking, const struct analyze_copy *copy)
{
    struct object_pieces *pieces = &looking->objects[copy->object];
    for (uint32_t at = pieces->first; at; at = looking->pieces.items[at - 1].next) {
        assert(looking->pieces.items);
        if (is_same_place(looking->pieces.items[at - 1].copy, copy))
            return at;
    }
    if (pieces->count == MOST_PIECES)
        forget(looking, copy->object);
    struct piece *piece = base_array_push(&looking->pieces);
    looking->remedies->failed |= !piece;
    if (!piece)
        return 0;
    *piece = (struct piece){NULL, pieces->first, false};
    pieces->first = (uint32_t)looking->pieces.count;
    pieces->count++;
    return pieces->first;
}

// Notes that the object now holds the bytes of the copy. If `compare`, adds a finding if the place,
// or else another one, had them before.
static void take_contents(struct duplicate_search *looking, const struct analyze_copy *copy,
                          bool compare)
{
    if (!is_known(&looking->remedies->model->objects.items[copy->object]))
        return;
    const uint32_t at = piece_of(looking, copy);
    if (!at)
        return;
    const struct analyze_copy *before = looking->pieces.items[at - 1].copy;
    if (compare && before && before->call >= looking->from && is_same(before, copy))
        add(looking, copy, before, PLACE_SAME);
    else if (compare)
        find_elsewhere(looking, copy);
    looking->pieces.items[at - 1].copy = copy;
    uint64_t *slot = base_map_put(&looking->contents, content_of(looking, copy), NULL);
    looking->remedies->failed |= !slot;
    if (slot)
        *slot = at;
}

// Removing a copy also removes its wait, so the wait must not be needed for other data.
static bool may_go(const struct analyze_remedies *remedies, const struct analyze_copy *copy)
{
    uint32_t wait = analyze_wait_of(&remedies->waits, copy->call);
    return wait == ANALYZE_NONE || remedies->waits.waits.items[wait].judgement == ANALYZE_UNNEEDED;
}

static void take_call(struct duplicate_search *looking, uint32_t index,
                      const struct analyze_copy *copy)
{
    const struct analyze_model *model = looking->remedies->model;
    const struct analyze_call *call = &model->calls.items[index];
    const bool compared = copy && copy->hashed && copy->object != ANALYZE_NONE;
    if (copy && copy->to_host && copy->hashed) {
        take_to_host(looking, copy);
        if (copy->object != ANALYZE_NONE)
            take_contents(looking, copy, false);
        return;
    }
    if (call->flags & (ANALYZE_UNSEEN | ANALYZE_BATCH)) {
        looking->from = index;
        return;
    }
    const bool same_place = compared && !copy->to_host;
    for (uint32_t i = call->touches, end = analyze_touches_end(model, index); i < end; i++) {
        if (model->touches.items[i].how & ANALYZE_WRITE)
            overwrite(looking, &model->touches.items[i], same_place ? copy : NULL);
    }
    if (same_place && may_go(looking->remedies, copy))
        take_contents(looking, copy, true);
    else if (same_place)
        forget(looking, copy->object);
}

static uint64_t *count_at(struct analyze_remedies *remedies, struct base_map *counts, uint32_t path)
{
    uint64_t *count = base_map_put(counts, analyze_place_of(remedies->model, path), NULL);
    remedies->failed |= !count;
    return count;
}

static bool may_be_chance(const struct analyze_remedy *remedy)
{
    const struct analyze_wait_facts *facts = &remedy->facts;
    return facts->is_other_place || (facts->from_device && !facts->is_round_trip);
}

// Leaves out findings on bytes that are elsewhere by chance: fewer than half of the copies that
// their line makes to the device are such duplicates. Where the line copies the same again, or
// back, its source tells when to skip the copy.
static void leave_out_coincidences(struct analyze_remedies *remedies, size_t first)
{
    const struct analyze_model *model = remedies->model;
    struct base_map copies = {0}, elsewhere = {0}; // by source line
    for (size_t i = 0; i < model->host.copies.count && !remedies->failed; i++) {
        const struct analyze_copy *copy = &model->host.copies.items[i];
        uint64_t *count =
            copy->to_host ? NULL : count_at(remedies, &copies, model->calls.items[copy->call].path);
        if (count)
            ++*count;
    }
    for (size_t i = first; i < remedies->remedies.count && !remedies->failed; i++) {
        const struct analyze_remedy *remedy = &remedies->remedies.items[i];
        uint64_t *count = count_at(remedies, &elsewhere, remedy->finding.path);
        if (count && may_be_chance(remedy))
            *count += remedy->finding.times;
    }
    for (size_t i = first; i < remedies->remedies.count && !remedies->failed; i++) {
        struct analyze_remedy *remedy = &remedies->remedies.items[i];
        const uint64_t place = analyze_place_of(model, remedy->finding.path);
        const uint64_t *all = base_map_get(&copies, place), *some = base_map_get(&elsewhere, place);
        if (may_be_chance(remedy) && all && some && *some * 2 < *all)
            remedy->finding.times = 0; // not reported
    }
    base_map_fini(&copies);
    base_map_fini(&elsewhere);
}

static void find(struct analyze_remedies *remedies)
{
    const struct analyze_model *model = remedies->model;
    const size_t first = remedies->remedies.count;
    struct duplicate_search looking = {.remedies = remedies};
    looking.objects = calloc(model->objects.count + 1, sizeof(*looking.objects));
    remedies->failed |= !looking.objects;
    size_t next = 0;
    for (uint32_t i = 0; i < model->calls.count && !remedies->failed; i++) {
        const struct analyze_copy *copy = NULL;
        if (next < model->host.copies.count && model->host.copies.items[next].call == i)
            copy = &model->host.copies.items[next++];
        if (model->calls.items[i].flags & ANALYZE_WORKS)
            take_call(&looking, i, copy);
    }
    leave_out_coincidences(remedies, first);
    free(looking.objects);
    base_array_fini(&looking.pieces);
    base_map_fini(&looking.on_host);
    base_map_fini(&looking.contents);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    ANALYZE_WAIT_FIELDS,
    {"copied_before", "the earlier copy of the same bytes",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    ANALYZE_COPY_FIELDS,
    {"place",
     "where the bytes are already: at the same place, at another one on the device, or at one "
     "whose memory was freed since",
     ANALYZE_OWN(WORD, struct analyze_wait_facts, place), .values = "same other freed"},
    {"round_trip", "the bytes come from host memory to which the earlier copy brought them",
     ANALYZE_OWN(FLAG, struct analyze_wait_facts, is_round_trip)},
    {"from_device", NULL, ANALYZE_OWN(FLAG, struct analyze_wait_facts, from_device)},
    {"is_other_place", NULL, ANALYZE_OWN(FLAG, struct analyze_wait_facts, is_other_place)},
    {"is_freed", NULL, ANALYZE_OWN(FLAG, struct analyze_wait_facts, is_freed)},
    {0},
};

const struct analyze_description analyze_duplicate_transfer = {
    .name = "duplicate-transfer",
    .title = "Copies unchanged data",
    .definition = "A copy transfers the same bytes as an earlier copy: to the same place, where "
                  "nothing has changed them in between; to another place on the device, or to "
                  "memory that was allocated anew; or from the device to the host and back.",
    .remedy = "Remove the copy, or make it only when its source has changed. Copy on the device "
              "what is there already.",
    .paper = "Welton and Miller, ICS 2020",
    .needs = ANALYZE_INPUT_SYNC,
    .roles = {[ANALYZE_CALL] = {"copied again", "the copy"},
              [ANALYZE_OTHER_CALL] = {"copied before", "the earlier copy of the same bytes"}},
    .thresholds = {&analyze_wait_us, &analyze_wait_percent},
    .fields = fields,
    .message = "{if brief}{call:name} copies {bytes} {if is_freed}again, to memory allocated "
               "anew{elif to_host}that the host already has{else}that the device already has{end}"
               "{if repeated}, {times} times{end}{else}"
               "{call} copies {bytes} {if to_host}to the host{else}to the device{end}{if repeated} "
               "in {times} copies{end} {if round_trip}that {other_call} brought to the host, "
               "unchanged{elif from_device}that {other_call} has already read on the device{elif "
               "is_other_place}that {other_call} has already copied to another "
               "place on the device{elif is_freed}that {other_call} had copied to memory which was "
               "then freed{else}that are already there, unchanged since {other_call}{end}"
               "{end}",
    .suggestion = "{if is_freed}keep the memory, and copy only when the source has changed"
                  "{elif is_other_place}copy from there on the device{if not from_device}, or use "
                  "one object for both{end}{else}skip the copy while its source is "
                  "unchanged{end}" ANALYZE_TEXT_ALONE,
    .find_remedies = find,
};
