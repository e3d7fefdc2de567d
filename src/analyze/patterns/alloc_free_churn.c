// SPDX-License-Identifier: Apache-2.0
// alloc-free-churn: memory of one kind and about one size is repeatedly allocated at one call path
// and freed at another, and each free synchronizes with the GPU without need. This includes a free
// that found no pending work because another free came just before it. Memory that all exists at
// once does not count: only an allocation after a free of the same kind could have reused its
// memory.
//
// Pinning host memory takes long, so memory that is pinned or registered again and again is found
// even if the frees have to wait, as for a copy that still reads the memory. Those waits stay.
#include <stdlib.h>

#include "analyze/remedies.h"

static const struct analyze_threshold churns_reported = {
    "churns", "allocations", 4, "at least this many reuse memory that was just freed"};

// Sizes of one class differ by less than a factor of two.
static uint64_t size_class(uint64_t bytes)
{
    uint64_t class = 0;
    while (bytes >>= 1)
        class ++;
    return class;
}

static bool is_device(const struct analyze_object *object)
{
    return object->kind == PROFILE_OBJECT_DEVICE || object->kind == PROFILE_OBJECT_PITCHED;
}

static bool is_pinned(const struct analyze_object *object)
{
    return object->kind == PROFILE_OBJECT_PINNED || object->kind == PROFILE_OBJECT_REGISTERED;
}

static bool is_churned(const struct analyze_object *object)
{
    return (is_device(object) || is_pinned(object) || object->kind == PROFILE_OBJECT_MANAGED ||
            object->kind == PROFILE_OBJECT_ARRAY) &&
           object->parent == ANALYZE_NONE && object->call != ANALYZE_NONE &&
           object->end != ANALYZE_NONE;
}

// The state of one remedy while its allocations and frees are visited in order.
struct churn {
    uint32_t free; // index + 1 of the last free whose memory is not reused yet
};

struct churn_change {
    uint32_t call, object;
    uint32_t remedy;
    uint32_t before; // of a free: index + 1 of the previous such free
    bool is_free;
};

static int by_call(const void *one, const void *other)
{
    const struct churn_change *a = one, *b = other;
    return (a->call > b->call) - (a->call < b->call);
}

static uint64_t took_beyond(const struct analyze_model *model, uint32_t call)
{
    const struct analyze_time *time = &model->host.times.items[call];
    uint64_t took_ns = (uint64_t)(time->end_ns - time->start_ns);
    return took_ns > ANALYZE_POOL_NS ? took_ns - ANALYZE_POOL_NS : 0;
}

static void pool(struct analyze_remedies *remedies, const struct churn_change *change)
{
    analyze_add_act(remedies, &remedies->remedies.items[change->remedy], change->call,
                    ANALYZE_FROM_POOL, took_beyond(remedies->model, change->call));
}

// Matches an allocation with the last free whose memory is not reused yet. With a pool, neither
// call is needed.
static void take_change(struct analyze_remedies *remedies, struct churn_change *changes,
                        uint32_t index, struct churn *churn)
{
    const struct analyze_model *model = remedies->model;
    struct churn_change *change = &changes[index];
    if (change->is_free) {
        change->before = churn->free;
        churn->free = index + 1;
        return;
    }
    if (!churn->free)
        return;
    const struct churn_change *freed = &changes[churn->free - 1];
    churn->free = freed->before;
    struct analyze_remedy *remedy = &remedies->remedies.items[change->remedy];
    struct analyze_finding *finding = &remedy->finding;
    if (finding->times++ == 0) {
        const struct analyze_object *object = &model->objects.items[freed->object];
        const struct analyze_call *calls = model->calls.items;
        finding->object = object->number;
        finding->call = calls[object->end].number;
        finding->kind = (enum profile_call_kind)calls[object->end].kind;
        finding->other_call = calls[object->call].number;
        finding->other_kind = (enum profile_call_kind)calls[object->call].kind;
        remedy->facts.object_kind =
            profile_object_kind_word((enum profile_object_kind)object->kind);
        remedy->facts.is_device = is_device(object);
        remedy->facts.is_registered = object->kind == PROFILE_OBJECT_REGISTERED;
        finding->waits_are_pins = is_pinned(object);
    }
    remedy->facts.bytes += model->objects.items[change->object].bytes;
    if (!remedy->facts.waits_stay)
        pool(remedies, freed);
    pool(remedies, change);
}

// Adds the changes of one object. Returns how many they are.
static size_t add_object(struct analyze_remedies *remedies, uint32_t index,
                         struct churn_change *changes)
{
    const struct analyze_model *model = remedies->model;
    const struct analyze_object *object = &model->objects.items[index];
    const struct analyze_call *made = &model->calls.items[object->call],
                              *freed = &model->calls.items[object->end];
    const struct analyze_wait_path *path = analyze_find_wait_path(
        remedies->analysis, freed->path, (enum profile_call_kind)freed->kind);
    if (!made->path || !path ||
        !(is_pinned(object) || (path->safe && (is_device(object) || path->waited))))
        return 0;
    bool is_new;
    struct analyze_remedy *remedy =
        analyze_remedy_at(remedies, ANALYZE_ALLOC_FREE_CHURN, freed->path, made->path,
                          (uint64_t)object->device << 16 | (uint64_t)object->kind << 8 |
                              size_class(object->bytes), // memory is reused on its device
                          &is_new);
    if (!remedy)
        return 0;
    remedy->facts.calls++;
    remedy->facts.waits_stay = !path->safe;
    const uint32_t which = (uint32_t)(remedy - remedies->remedies.items);
    changes[0] = (struct churn_change){object->call, index, which, 0, false};
    changes[1] = (struct churn_change){object->end, index, which, 0, true};
    return 2;
}

static void find(struct analyze_remedies *remedies)
{
    const struct analyze_model *model = remedies->model;
    const size_t first = remedies->remedies.count;
    const uint32_t least = analyze_limit(remedies->thresholds, &churns_reported);
    struct churn_change *changes = calloc(2 * model->objects.count + 1, sizeof(*changes));
    size_t count = 0;
    remedies->failed |= !changes;
    for (uint32_t i = 0; i < model->objects.count && !remedies->failed; i++) {
        if (is_churned(&model->objects.items[i]))
            count += add_object(remedies, i, &changes[count]);
    }
    struct churn *churns = calloc(remedies->remedies.count - first + 1, sizeof(*churns));
    remedies->failed |= !churns;
    if (count && changes)
        qsort(changes, count, sizeof(*changes), by_call);
    for (uint32_t i = 0; i < count && !remedies->failed; i++)
        take_change(remedies, changes, i, &churns[changes[i].remedy - first]);
    // The last free stays, but its wait is part of the finding, too.
    for (uint32_t i = 0; i < count && !remedies->failed; i++) {
        const struct analyze_remedy *remedy = &remedies->remedies.items[changes[i].remedy];
        if (changes[i].is_free && !remedy->facts.waits_stay)
            analyze_add_act(remedies, remedy, changes[i].call, ANALYZE_KEEP, 0);
    }
    for (size_t i = first; i < remedies->remedies.count; i++) {
        struct analyze_finding *finding = &remedies->remedies.items[i].finding;
        if (finding->times < least)
            finding->times = 0; // too few to be reported
    }
    free(changes);
    free(churns);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    ANALYZE_WAIT_FIELDS,
    {"allocated_by", "the call that allocated what `call` frees",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {"memory", "the kind of memory", ANALYZE_OWN(WORD, struct analyze_wait_facts, object_kind),
     .values = "device pitched array managed pinned registered"},
    {"waits_stay",
     "what the frees wait for is needed, so that only the time to pin memory is saved",
     ANALYZE_OWN(FLAG, struct analyze_wait_facts, waits_stay)},
    {"is_device", NULL, ANALYZE_OWN(FLAG, struct analyze_wait_facts, is_device)},
    {"is_registered", NULL, ANALYZE_OWN(FLAG, struct analyze_wait_facts, is_registered)},
    {0},
};

const struct analyze_description analyze_alloc_free_churn = {
    .name = "alloc-free-churn",
    .title = "Allocated and freed repeatedly",
    .definition = "Memory of one kind and about one size is repeatedly allocated and freed, and "
                  "each free waits for the GPU; or host memory is repeatedly pinned.",
    .remedy = "Allocate, or register, the memory once. Device memory may come from a memory pool "
              "instead (cudaMallocAsync, cudaFreeAsync).",
    .paper = "Welton and Miller, ICS 2020",
    .needs = ANALYZE_INPUT_SYNC,
    .correction = "device memory comes from a pool, and freeing it does not wait",
    .roles = {[ANALYZE_CALL] = {"freed", "the free"},
              [ANALYZE_OTHER_CALL] = {"allocated", "the allocation"}},
    .thresholds = {&churns_reported, &analyze_wait_us, &analyze_wait_percent},
    .fields = fields,
    .message =
        "{if brief}{object} is {if is_registered}unregistered and registered{else}freed and "
        "allocated{end} again{if repeated}, {times} times{end}{else}"
        "{call} {if is_registered}unregisters{else}frees{end} memory like {object}, which "
        "{other_call} then {if is_registered}registers{else}allocates{end} again; {if not "
        "waits_stay}"
        "each {if is_registered}time it{else}free{end} waits for the GPU; {end}this "
        "{if repeated}happens {times} times{if timed}, {waited_ns} in total{end}{elif timed}takes "
        "{waited_ns}{else}happens once{end}"
        "{end}",
    .suggestion =
        "{if brief}{if is_registered}register it once{else}allocate it once{if is_device}, or use "
        "cudaMallocAsync and cudaFreeAsync{end}{end}{else}"
        "{if is_registered}register it once, and unregister it at the end{else}allocate it once "
        "and reuse it{if is_device}, or use a memory pool: cudaMallocAsync and cudaFreeAsync{end}"
        "{end}{if waits_stay}; before the program writes to it again, wait for the work that "
        "uses it{end}" ANALYZE_TEXT_ALONE "{end}",
    .find_remedies = find,
};
