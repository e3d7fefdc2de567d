// SPDX-License-Identifier: Apache-2.0
// Records of the requests that warps of a launch made; see requests.h. They follow from tallies
// and, where the launch was regular, from the sets of lanes that it counted.
#include "requests.h"

#include <stdlib.h>

#include "memory.h"
#include "shapes.h"

// What a launch counted.
struct counted {
    const struct shadow_ticket *ticket;
    const struct device_reduction *layout;
    const uint64_t *tallies; // NULL: memory ran out
    const uint64_t (
        *places)[INSTRUMENT_PLACES];     // of a regular launch: the same by place; else NULL
    const struct instrument_mask *masks; // of a regular launch, behind their number
};

// Returns the object that all accesses of the site were in, or 0.
static uint64_t object_of(const struct counted *counted, const struct instrument_site *site)
{
    const struct shadow_ticket *ticket = counted->ticket;
    const uint64_t *strayed = shadow_part_of(ticket, counted->layout->small.strayed_at);
    if (site->root >= ticket->root_count)
        return 0;
    for (uint32_t way = 0; way < 2 && counted->layout->small.strayed_count; way++) {
        if (strayed[2 * site->root + way])
            return 0;
    }
    return ticket->roots[site->root].object;
}

static bool is_crowded(const struct counted *counted)
{
    return counted->masks && counted->masks[0].count;
}

// Sums up the requests of site i. Returns false if they are unknown.
static bool sum(const struct counted *counted, uint32_t i, const struct instrument_site *site,
                bool shared, uint64_t *sums)
{
    const struct shadow_ticket *ticket = counted->ticket;
    if (counted->places && site->masked) {
        if (is_crowded(counted))
            return false;
        instrument_sum_masked(site, shared, &ticket->shape->places[i], ticket->block,
                              ticket->blocks, counted->places, counted->masks + 1,
                              counted->masks[0].key, sums);
        return true;
    }
    if (!counted->tallies)
        return false;
    instrument_sum_requests(site, shared, counted->tallies, ticket->threads,
                            ticket->counted[shared],
                            ticket->shape ? &ticket->shape->costs[i] : NULL, sums);
    return true;
}

static void put(const struct counted *counted, uint32_t i, bool unknown)
{
    const struct shadow_ticket *ticket = counted->ticket;
    const struct instrument_kernel *kernel = ticket->kernel;
    const bool shared = i >= kernel->site_count;
    const struct instrument_site *site =
        shared ? &kernel->shared[i - kernel->site_count] : &kernel->sites[i];
    const struct instrument_cost *cost = ticket->shape ? &ticket->shape->costs[i] : NULL;
    uint64_t sums[INSTRUMENT_REQUEST_TALLIES];
    if (!sum(counted, i, site, shared, sums) || !sums[INSTRUMENT_REQUEST_COUNT])
        return;
    const struct event_requests record = {
        .call = ticket->call,
        .object = unknown ? 0 : object_of(counted, site),
        .requests = sums[INSTRUMENT_REQUEST_COUNT],
        .taken = sums[INSTRUMENT_REQUEST_SECTORS],
        .needed = sums[INSTRUMENT_REQUEST_NEEDED],
        .lines = sums[INSTRUMENT_REQUEST_LINES],
        .stride = cost && cost->has_stride ? cost->stride : 0,
        .node = ticket->node,
        .kernel = ticket->kernel_number,
        .site = i + 1,
        .shared = shared && !site->local,
        .local = site->local,
        .has_stride = cost && cost->has_stride,
    };
    core_put(EVENT_REQUESTS, &record, sizeof(record), NULL, 0);
}

// If there were too many different masks, the kernel's next launches are counted in another way.
static void note_crowded(const struct shadow_ticket *ticket)
{
    struct shadow *shadow = ticket->shadow;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_kernel *about = shadow_kernel(shadow, ticket->kernel_number, ticket->kernel);
    if (about) {
        about->irregular = true;
        about->crowded++;
    }
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

void shadow_tell_requests(const struct shadow_ticket *ticket, const struct device_reduction *layout,
                          bool unknown)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    const uint32_t count = layout->small.tally_count;
    struct counted counted = {.ticket = ticket,
                              .layout = layout,
                              .tallies = shadow_part_of(ticket, layout->small.tallies_at)};
    uint64_t *all = NULL;
    if (ticket->regular) {
        counted.places = shadow_part_of(ticket, layout->small.tallies_at);
        counted.masks = shadow_part_of(ticket, layout->small.masks_at);
        counted.tallies = all = calloc((size_t)count + 1, sizeof(*all));
        for (uint32_t i = 0; all && i < count * INSTRUMENT_PLACES; i++)
            all[i / INSTRUMENT_PLACES] +=
                counted.places[i / INSTRUMENT_PLACES][i % INSTRUMENT_PLACES];
        if (!all)
            core_no_memory();
    }
    for (uint32_t i = 0; i < kernel->site_count + kernel->shared_count; i++)
        put(&counted, i, unknown);
    if (is_crowded(&counted))
        note_crowded(ticket);
    free(all);
}
