// SPDX-License-Identifier: Apache-2.0
// Weighs values by accesses: see weigh.h. An object is weighed if the launch only reads it, through
// roots, and if one element of its counts is one element of a field of its layout. More than
// DEVICE_WEIGH_JOBS fields of a launch are weighed one after the other.
#include "weigh.h"

#include <stdlib.h>

#include "code.h"
#include "contents.h"
#include "lane.h"
#include "memory.h"
#include "scan.h"

struct shadow_weighing {
    struct shadow_weighing *next; // of the same launch
    struct shadow_block landing;  // a sequence word, then the results
    uint64_t call;
    uint32_t node;
    uint32_t count;
    struct weigh_field {
        uint64_t object;
        struct device_weigh_job job;
    } fields[DEVICE_WEIGH_JOBS];
};

// With shadow->lock held.
static bool load(struct shadow *shadow)
{
    const struct shadow_code_kernel kernels[] = {
        {DEVICE_WEIGH_CHOOSE, &shadow->weigh_choose, 0},
        {DEVICE_WEIGH_COUNT, &shadow->weigh_count, 0},
    };
    return shadow_code_load(shadow, device_weigh_ptx, kernels, 2,
                            "to load the code that weighs values");
}

// --- What is weighed -----------------------------------------------------------------------------

struct weigh_list {
    struct shadow_weighing *first, *open; // `open` has the last fields
};

static void add(struct weigh_list *list, uint64_t object, const struct device_weigh_job *job)
{
    if (!list->open || list->open->count == DEVICE_WEIGH_JOBS) {
        struct shadow_weighing *weighing = calloc(1, sizeof(*weighing));
        if (!weighing) {
            core_no_memory();
            return;
        }
        *(list->open ? &list->open->next : &list->first) = weighing;
        list->open = weighing;
    }
    struct weigh_field *field = &list->open->fields[list->open->count++];
    field->object = object;
    field->job = *job;
}

// Returns the size of an element; 0: smaller than any element of counts.
static uint32_t size_of(uint32_t type)
{
    switch (type) {
    case DEVICE_RAW:
    case DEVICE_U32:
    case DEVICE_S32:
    case DEVICE_F32: return 4;
    case DEVICE_U64:
    case DEVICE_S64:
    case DEVICE_F64: return 8;
    default: return 0;
    }
}

// Adds the fields of the object whose elements are those of its counts.
static void add_fields(struct weigh_list *list, const struct shadow_contents *contents,
                       const struct shadow_job *from)
{
    const struct device_values_job about = shadow_contents_job(contents, DEVICE_KNOWN);
    const uint32_t shift = from->grain.shift;
    struct device_weigh_job job = {
        .first = about.first,
        .end = about.end,
        .base = about.first - ((uint64_t)from->job.first << shift),
        .bits = from->job.bits,
        .counts = from->job.counts,
        .shift = shift,
        .stride = about.stride,
    };
    for (uint32_t i = 0; i < about.field_count; i++) {
        job.offset = about.fields[i].offset;
        job.type = about.fields[i].type;
        const uint64_t places = (job.first + job.offset) | job.stride;
        if (size_of(job.type) == 1u << shift && !(places & ((1u << shift) - 1)))
            add(list, contents->number, &job);
    }
}

// Returns what the launch does with the object through all its roots.
static uint32_t ways_of(const struct shadow_ticket *ticket, uint64_t object)
{
    uint32_t ways = 0;
    for (uint32_t i = 0; i < ticket->root_count; i++) {
        if (ticket->roots[i].object == object)
            ways |= shadow_scan_ways(ticket->kernel, i);
    }
    return ways;
}

// With shadow->lock held.
static struct weigh_list list_fields(struct shadow_lane *lane, const struct shadow_ticket *ticket)
{
    struct weigh_list list = {0};
    if (shadow_scan_ways(ticket->kernel, INSTRUMENT_NONE) & EVENT_ACCESS_WRITTEN)
        return list;
    for (uint32_t i = 0; i < ticket->job_count; i++) {
        const struct shadow_job *job = &ticket->jobs[i];
        const struct shadow_contents *contents = shadow_contents_of(lane->shadow, job->object);
        if (contents && ways_of(ticket, job->object) == EVENT_ACCESS_READ &&
            !shadow_is_concurrent(contents, lane->stream))
            add_fields(&list, contents, job);
    }
    return list;
}

// --- Enqueuing -----------------------------------------------------------------------------------

static CUresult enqueue(struct shadow_lane *lane, const struct shadow_weighing *weighing)
{
    const struct shadow *shadow = lane->shadow;
    const CUfunction kernels[] = {shadow->weigh_choose, shadow->weigh_count};
    struct device_weigh about = {
        .done = lane->weigh_work.address,
        .sequence = weighing->landing.address,
        .job_count = weighing->count,
    };
    void *params[] = {&about};
    uint64_t wanted = 1, most = 4 * (uint64_t)shadow->processors;
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < weighing->count; i++) {
        struct device_weigh_job *job = &about.jobs[i];
        *job = weighing->fields[i].job;
        job->work =
            lane->weigh_work.address + SHADOW_CODE_WORK_AT + (uint64_t)i * DEVICE_WEIGH_WORK;
        job->result = weighing->landing.address + SHADOW_CODE_RESULTS_AT +
                      (uint64_t)i * sizeof(struct device_weighed);
        wanted += (job->end - job->first) / job->stride / DEVICE_WEIGH_THREADS;
    }
    if (most > DEVICE_WEIGH_BLOCKS)
        most = DEVICE_WEIGH_BLOCKS;
    for (int i = 0; i < 2 && result == CUDA_SUCCESS; i++)
        result =
            REAL(cuLaunchKernel)(kernels[i], (unsigned)(wanted < most ? wanted : most), 1, 1,
                                 DEVICE_WEIGH_THREADS, 1, 1, 0, lane->stream->handle, params, NULL);
    return result;
}

void shadow_weigh_after(struct shadow_lane *lane, struct shadow_ticket *ticket,
                        struct shadow_batch *batch)
{
    struct shadow *shadow = lane->shadow;
    const uint32_t both = INSTRUMENT_VALUES | INSTRUMENT_COUNTS;
    if ((ticket->facts & both) != both)
        return;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_weighing *first = list_fields(lane, ticket).first;
    bool good =
        first && load(shadow) &&
        shadow_code_work(lane, &lane->weigh_work, (uint64_t)DEVICE_WEIGH_JOBS * DEVICE_WEIGH_WORK);
    for (struct shadow_weighing *at = first; at && good; at = at->next) {
        at->call = ticket->call;
        at->node = ticket->node;
        good = shadow_code_land(shadow, at->count * sizeof(struct device_weighed), &at->landing);
    }
    CUresult result = CUDA_SUCCESS;
    const CUstreamCaptureMode mode = shadow_relax();
    for (struct shadow_weighing *at = first; at && good && result == CUDA_SUCCESS; at = at->next)
        result = enqueue(lane, at);
    shadow_restore(mode);
    if (result != CUDA_SUCCESS)
        shadow_fail(shadow, "to weigh values", result);
    if (good && result == CUDA_SUCCESS)
        batch->weighing = first;
    else
        shadow_weigh_free(shadow, first);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

void shadow_weigh_free(struct shadow *shadow, struct shadow_weighing *weighing)
{
    while (weighing) {
        struct shadow_weighing *next = weighing->next;
        shadow_give(&shadow->pinned, &weighing->landing);
        free(weighing);
        weighing = next;
    }
}

// --- Records -------------------------------------------------------------------------------------

bool shadow_weigh_landed(const struct shadow_weighing *weighing)
{
    for (const struct shadow_weighing *at = weighing; at; at = at->next) {
        if (!shadow_code_landed(at->landing))
            return false;
    }
    return true;
}

void shadow_weigh_tell(const struct shadow_weighing *weighing)
{
    for (const struct shadow_weighing *at = weighing; at; at = at->next) {
        const struct device_weighed *results =
            (const void *)((const char *)shadow_host(at->landing) + SHADOW_CODE_RESULTS_AT);
        for (uint32_t i = 0; i < at->count; i++) {
            const struct event_weighed record = {
                .call = at->call,
                .object = at->fields[i].object,
                .accesses = results[i].accesses,
                .value = results[i].value,
                .count = results[i].count,
                .node = at->node,
                .offset = at->fields[i].job.offset,
                .stride = at->fields[i].job.stride,
                .type = (uint8_t)at->fields[i].job.type,
            };
            if (record.accesses)
                core_put(EVENT_WEIGHED, &record, sizeof(record), NULL, 0);
        }
    }
}
