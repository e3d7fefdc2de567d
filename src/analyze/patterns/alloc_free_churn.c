// SPDX-License-Identifier: Apache-2.0
// alloc-free-churn: memory of about one size is repeatedly allocated at one call path and freed at
// another, and each free synchronizes with the GPU without need. This includes a free that found no
// pending work because another free came just before it. Memory that all exists at once does not
// count: only an allocation after a free of the same kind could have reused its memory.
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

static bool is_churned(const struct analyze_object *object)
{
    return (object->kind == PROFILE_OBJECT_DEVICE || object->kind == PROFILE_OBJECT_PITCHED) &&
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
    struct analyze_finding *finding = &remedies->remedies.items[change->remedy].finding;
    if (finding->times++ == 0) {
        const struct analyze_object *object = &model->objects.items[freed->object];
        finding->object = object->number;
        finding->call = model->calls.items[object->end].number;
        finding->kind = PROFILE_CALL_FREE;
        finding->other_call = model->calls.items[object->call].number;
        finding->other_kind = PROFILE_CALL_ALLOC;
    }
    remedies->remedies.items[change->remedy].facts.bytes +=
        model->objects.items[change->object].bytes;
    pool(remedies, freed);
    pool(remedies, change);
}

static void find(struct analyze_remedies *remedies)
{
    const struct analyze_model *model = remedies->model;
    const size_t first = remedies->remedies.count;
    const uint32_t least = analyze_limit(remedies->thresholds, &churns_reported);
    struct churn_change *changes = calloc(2 * model->objects.count + 1, sizeof(*changes));
    size_t count = 0;
    remedies->failed |= !changes;
    for (size_t i = 0; i < model->objects.count && !remedies->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!is_churned(object))
            continue;
        const struct analyze_call *made = &model->calls.items[object->call],
                                  *freed = &model->calls.items[object->end];
        const struct analyze_wait_path *path =
            analyze_find_wait_path(remedies->analysis, freed->path, PROFILE_CALL_FREE);
        if (!made->path || !path || !path->safe)
            continue;
        const struct analyze_remedy *remedy = analyze_remedy_at(
            remedies, ANALYZE_ALLOC_FREE_CHURN, freed->path, made->path, size_class(object->bytes));
        if (!remedy)
            break;
        uint32_t index = (uint32_t)(remedy - remedies->remedies.items);
        remedies->remedies.items[index].facts.calls++;
        changes[count++] = (struct churn_change){object->call, (uint32_t)i, index, 0, false};
        changes[count++] = (struct churn_change){object->end, (uint32_t)i, index, 0, true};
    }
    struct churn *churns = calloc(remedies->remedies.count - first + 1, sizeof(*churns));
    remedies->failed |= !churns;
    if (count && changes)
        qsort(changes, count, sizeof(*changes), by_call);
    for (uint32_t i = 0; i < count && !remedies->failed; i++)
        take_change(remedies, changes, i, &churns[changes[i].remedy - first]);
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
    {0},
};

const struct analyze_description analyze_alloc_free_churn = {
    .name = "alloc-free-churn",
    .title = "Allocated and freed repeatedly",
    .definition = "Memory of about one size is repeatedly allocated and freed, and each free waits "
                  "for the GPU.",
    .remedy = "Allocate the memory once, or use a memory pool (cudaMallocAsync, cudaFreeAsync).",
    .paper = "Welton and Miller, ICS 2020",
    .needs = ANALYZE_INPUT_SYNC,
    .correction = "memory comes from a pool, and freeing it does not wait",
    .roles = {[ANALYZE_CALL] = {"freed", "the free"},
              [ANALYZE_OTHER_CALL] = {"allocated", "the allocation"}},
    .thresholds = {&churns_reported, &analyze_wait_us, &analyze_wait_percent},
    .fields = fields,
    .message =
        "{if brief}{object} is freed and allocated again{if repeated}, {times} times{end}{else}"
        "{call} frees memory like {object}, which {other_call} then allocates again; each "
        "free waits for the GPU{if repeated}; this happens {times} times{if timed}, "
        "{waited_ns} in total{end}{elif timed}; this takes {waited_ns}{end}"
        "{end}",
    .suggestion = "{if brief}allocate it once, or use cudaMallocAsync and cudaFreeAsync{else}"
                  "allocate it once and reuse it, or use a memory pool: cudaMallocAsync and "
                  "cudaFreeAsync" ANALYZE_TEXT_ALONE "{end}",
    .find_remedies = find,
};
