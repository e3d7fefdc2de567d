// SPDX-License-Identifier: Apache-2.0
// Writes objects as slices, from the call that makes them to the call that ends them, and memory in
// use as counters. Both follow the calls in the order of their numbers. Peaks are defined in that
// order too, so the highest value of the counter is the peak of all reports. If threads call at
// once, the clock may contradict that order; then a change gets the time of the change before it.
#include <stdio.h>
#include <stdlib.h>

#include "perfetto.h"

enum { RANK_SUM = 0, RANK_KINDS = 1, RANK_OBJECTS = 2000000000 };

// --- Loading objects -----------------------------------------------------------------------------

struct objects_walk {
    struct perfetto_lives *lives;
    size_t next;
};

// Rows are in the order of data->objects.
static bool take_object(void *user, const struct profile_object *object)
{
    struct objects_walk *walk = user;
    const struct report_data *data = walk->lives->data;
    if (walk->next == data->objects.count)
        return false;
    const struct report_object *of = &data->objects.items[walk->next];
    walk->lives->several |= walk->next > 0 && object->device != walk->lives->lives[0].device;
    walk->lives->lives[walk->next++] = (struct perfetto_life){
        .call = of->call, .end = of->end, .device = object->device, .is_part = object->parent != 0};
    return true;
}

static int by_call(const void *one, const void *other, void *user)
{
    const struct perfetto_life *lives = user;
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    if (lives[a].call != lives[b].call)
        return lives[a].call < lives[b].call ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int by_end(const void *one, const void *other, void *user)
{
    const struct perfetto_life *lives = user;
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    if (lives[a].end != lives[b].end)
        return lives[a].end < lives[b].end ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void sort(struct perfetto_lives *lives)
{
    size_t count = lives->data->objects.count;
    qsort_r(lives->made, count, sizeof(*lives->made), by_call, lives->lives);
    qsort_r(lives->ended, count, sizeof(*lives->ended), by_end, lives->lives);
    lives->next_made = lives->next_ended = 0;
}

enum base_code perfetto_lives_load(struct perfetto_lives *lives, const struct report_data *data,
                                   struct base_error *error)
{
    size_t count = data->objects.count;
    struct objects_walk walk = {lives, 0};
    lives->data = data;
    if (count < UINT32_MAX) {
        lives->lives = calloc(count + 1, sizeof(*lives->lives));
        lives->made = calloc(count + 1, sizeof(*lives->made));
        lives->ended = calloc(count + 1, sizeof(*lives->ended));
    }
    if (!lives->lives || !lives->made || !lives->ended)
        return base_no_memory(error);
    for (uint32_t i = 0; i < count; i++)
        lives->made[i] = lives->ended[i] = i;
    enum base_code code = profile_each_object(data->profile, take_object, &walk, error);
    if (code == BASE_OK)
        sort(lives);
    return code;
}

void perfetto_lives_fini(struct perfetto_lives *lives)
{
    for (size_t i = 0; i < lives->group_rows.count; i++)
        perfetto_group_fini(&lives->group_rows.items[i]);
    base_array_fini(&lives->group_rows);
    base_array_fini(&lives->devices);
    base_map_fini(&lives->groups);
    free(lives->lives);
    free(lives->made);
    free(lives->ended);
}

void perfetto_lives_see(struct perfetto_lives *lives, uint64_t call)
{
    size_t count = lives->data->objects.count;
    for (; lives->next_made < count; lives->next_made++) {
        struct perfetto_life *life = &lives->lives[lives->made[lives->next_made]];
        if (life->call > call)
            break;
        life->made_seen = life->call == call;
    }
    for (; lives->next_ended < count; lives->next_ended++) {
        struct perfetto_life *life = &lives->lives[lives->ended[lives->next_ended]];
        if (life->end > call)
            break;
        life->end_seen = life->end == call;
    }
}

// As in the analysis: an object whose allocation is not in the profile always existed, and one
// whose end is not in the profile never ends.
void perfetto_lives_ready(struct perfetto_lives *lives)
{
    for (size_t i = 0; i < lives->data->objects.count; i++) {
        struct perfetto_life *life = &lives->lives[i];
        if (!life->made_seen)
            life->call = 0;
        if (!life->end_seen)
            life->end = ANALYZE_NEVER;
    }
    sort(lives);
}

// --- Memory in use -------------------------------------------------------------------------------

static struct perfetto_device_memory *memory_of(struct perfetto_trace *trace,
                                                struct perfetto_lives *lives, uint32_t device)
{
    for (size_t i = 0; i < lives->devices.count; i++) {
        if (lives->devices.items[i].device == device)
            return &lives->devices.items[i];
    }
    struct perfetto_device_memory *memory = base_array_push(&lives->devices);
    trace->failed |= !memory;
    if (memory)
        memory->device = device;
    return memory;
}

static void change(struct perfetto_memory *memory, uint64_t bytes, bool more)
{
    memory->bytes = more ? memory->bytes + bytes : memory->bytes - bytes;
    memory->changed = true;
}

// An object changes the counter of its kind; if it counts as device memory in use, also the sums.
// Parts change nothing, because they lie in another object.
static void change_memory(struct perfetto_trace *trace, struct perfetto_lives *lives, size_t index,
                          bool more)
{
    const struct report_object *object = &lives->data->objects.items[index];
    const struct perfetto_life *life = &lives->lives[index];
    struct perfetto_device_memory *memory =
        life->is_part ? NULL : memory_of(trace, lives, life->device);
    if (!memory)
        return;
    change(&memory->kinds[object->kind], object->bytes, more);
    if (object->counts) {
        change(&memory->sum, object->bytes, more);
        change(&lives->all, object->bytes, more);
    }
}

static void put_memory(struct perfetto_trace *trace, struct perfetto_memory *memory,
                       uint64_t parent, const char *name, int32_t rank, int64_t ns)
{
    if (!memory->changed)
        return;
    if (!memory->track)
        memory->track = perfetto_add_counter(trace, parent, name, rank);
    perfetto_event(trace, PERFETTO_COUNTERS, PERFETTO_COUNTER, memory->track, ns);
    perfetto_value(trace, memory->bytes > INT64_MAX ? INT64_MAX : (int64_t)memory->bytes);
    perfetto_event_end(trace);
    memory->changed = false;
}

static void put_changes(struct perfetto_trace *trace, struct perfetto_lives *lives)
{
    static const char *const names[PROFILE_OBJECT_KINDS] = {
        [PROFILE_OBJECT_OTHER] = "in use: other",
        [PROFILE_OBJECT_DEVICE] = "in use: device",
        [PROFILE_OBJECT_PITCHED] = "in use: pitched",
        [PROFILE_OBJECT_ARRAY] = "in use: array",
        [PROFILE_OBJECT_MANAGED] = "in use: managed",
        [PROFILE_OBJECT_POOL] = "in use: pool",
        [PROFILE_OBJECT_MAPPING] = "in use: mapping",
        [PROFILE_OBJECT_GLOBAL] = "in use: global",
        [PROFILE_OBJECT_PINNED] = "in use: pinned",
        [PROFILE_OBJECT_REGISTERED] = "in use: registered",
        [PROFILE_OBJECT_IMPORTED] = "in use: imported",
        [PROFILE_OBJECT_GRAPH] = "in use: graph",
        [PROFILE_OBJECT_PART] = "in use: part",
        [PROFILE_OBJECT_HEAP] = "in use: heap",
        [PROFILE_OBJECT_TENSOR] = "in use: tensor",
    };
    if (lives->several)
        put_memory(trace, &lives->all, trace->process, "memory in use", RANK_SUM, lives->now_ns);
    for (size_t i = 0; i < lives->devices.count; i++) {
        struct perfetto_device_memory *memory = &lives->devices.items[i];
        uint64_t parent = perfetto_device_track(trace, memory->device);
        put_memory(trace, &memory->sum, parent, "memory in use", RANK_SUM, lives->now_ns);
        for (int kind = 0; kind < PROFILE_OBJECT_KINDS; kind++)
            put_memory(trace, &memory->kinds[kind], parent, names[kind], RANK_KINDS + kind,
                       lives->now_ns);
    }
}

// --- Slices --------------------------------------------------------------------------------------

static struct perfetto_group *group_of(struct perfetto_trace *trace, struct perfetto_lives *lives,
                                       uint32_t device, unsigned kind)
{
    bool added;
    uint64_t *slot = base_map_put(&lives->groups, (uint64_t)device << 8 | kind, &added);
    struct perfetto_group *group = slot && added ? base_array_push(&lives->group_rows) : NULL;
    if (group) {
        *slot = lives->group_rows.count;
        group->parent = perfetto_device_track(trace, device);
        group->name = perfetto_format(trace, "objects: %s",
                                      profile_object_kind_word((enum profile_object_kind)kind));
        group->rank = RANK_OBJECTS + (int32_t)kind;
    }
    trace->failed |= !slot || *slot == 0;
    return trace->failed ? NULL : &lives->group_rows.items[*slot - 1];
}

static void put_object(struct perfetto_trace *trace, const struct report_object *object,
                       const struct perfetto_life *life)
{
    if (object->label) {
        perfetto_name(trace, PERFETTO_CATEGORY_OBJECT, object->label);
    } else {
        char name[40];
        snprintf(name, sizeof(name), "(object %llu)", (unsigned long long)object->number);
        perfetto_name_once(trace, PERFETTO_CATEGORY_OBJECT, name);
    }
    perfetto_put_u64(trace, PERFETTO_OBJECT_IS, object->number);
    perfetto_put_u64(trace, PERFETTO_BYTES_IS, object->bytes);
    perfetto_put_text(trace, PERFETTO_KIND_IS,
                      profile_object_kind_word((enum profile_object_kind)object->kind));
    perfetto_put_place(trace, object->path);
    if (object->call)
        perfetto_put_u64(trace, PERFETTO_ALLOCATED_BY_IS, object->call);
    if (object->end != ANALYZE_NEVER)
        perfetto_put_u64(trace, PERFETTO_FREED_BY_IS, object->end);
    if (life->end == ANALYZE_NEVER)
        perfetto_put_text(trace, PERFETTO_ENDED_IS, "not before the program");
}

static void begin_life(struct perfetto_trace *trace, struct perfetto_lives *lives, size_t index)
{
    const struct report_object *object = &lives->data->objects.items[index];
    struct perfetto_life *life = &lives->lives[index];
    struct perfetto_group *group = group_of(trace, lives, life->device, object->kind);
    if (!group)
        return;
    life->track = perfetto_group_take(trace, group, lives->now_ns, INT64_MAX, &life->lane);
    if (!life->track)
        return;
    perfetto_event(trace, PERFETTO_OBJECTS, PERFETTO_BEGIN, life->track, lives->now_ns);
    put_object(trace, object, life);
    perfetto_event_end(trace);
    change_memory(trace, lives, index, true);
}

static void end_life(struct perfetto_trace *trace, struct perfetto_lives *lives, size_t index)
{
    const struct report_object *object = &lives->data->objects.items[index];
    struct perfetto_life *life = &lives->lives[index];
    struct perfetto_group *group = group_of(trace, lives, life->device, object->kind);
    if (!group || !life->track)
        return;
    perfetto_end(trace, PERFETTO_OBJECTS, life->track, lives->now_ns);
    perfetto_lanes_leave(&group->lanes, life->lane, lives->now_ns);
    life->track = 0;
}

// Objects that the call ends are written before those that it makes. An object that the call both
// makes and ends has no duration.
static void take_changes(struct perfetto_trace *trace, struct perfetto_lives *lives, uint64_t call)
{
    size_t count = lives->data->objects.count;
    for (; lives->next_ended < count && !trace->failed; lives->next_ended++) {
        size_t index = lives->ended[lives->next_ended];
        if (lives->lives[index].end > call)
            break;
        if (lives->lives[index].track) {
            end_life(trace, lives, index);
            change_memory(trace, lives, index, false);
        }
    }
    for (; lives->next_made < count && !trace->failed; lives->next_made++) {
        size_t index = lives->made[lives->next_made];
        if (lives->lives[index].call > call)
            break;
        begin_life(trace, lives, index);
        if (lives->lives[index].end <= call) {
            end_life(trace, lives, index);
            change_memory(trace, lives, index, false);
        }
    }
    put_changes(trace, lives);
}

static bool changes_at(const struct perfetto_lives *lives, uint64_t call)
{
    size_t count = lives->data->objects.count;
    return (lives->next_made < count && lives->lives[lives->made[lives->next_made]].call <= call) ||
           (lives->next_ended < count && lives->lives[lives->ended[lives->next_ended]].end <= call);
}

void perfetto_lives_call(struct perfetto_trace *trace, struct perfetto_lives *lives, uint64_t call,
                         int64_t ns)
{
    if (changes_at(lives, 0))
        take_changes(trace, lives, 0); // objects that existed before all calls
    if (!changes_at(lives, call))
        return;
    if (ns > lives->now_ns)
        lives->now_ns = ns;
    take_changes(trace, lives, call);
}

void perfetto_lives_end(struct perfetto_trace *trace, struct perfetto_lives *lives, int64_t ns)
{
    size_t count = lives->data->objects.count;
    if (changes_at(lives, 0))
        take_changes(trace, lives, 0);
    if (ns > lives->now_ns)
        lives->now_ns = ns;
    for (; lives->next_ended < count && !trace->failed; lives->next_ended++)
        end_life(trace, lives, lives->ended[lives->next_ended]);
}
