// SPDX-License-Identifier: Apache-2.0
// Live ranges of words of shared memory: see ranges.h.
#include "ranges.h"

uint64_t shadow_ranges_bytes(const struct shadow_ticket *ticket)
{
    return ticket->tags ? instrument_range_count(ticket->kernel, ticket->dynamic_bytes) *
                              sizeof(struct instrument_range)
                        : 0;
}

void shadow_ranges_point(struct shadow_ticket *ticket, uint64_t ranges,
                         struct instrument_context *context)
{
    ticket->traced = shadow_ranges_bytes(ticket) != 0;
    if (ticket->traced)
        instrument_place_tags(ticket->kernel, ticket->tags, ranges, context);
}

static void tell_site(const struct shadow_ticket *ticket, const struct instrument_range *ranges,
                      uint32_t array, uint32_t i)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    const struct instrument_range_site *site = &kernel->range_sites[i];
    const struct instrument_range_sum sum =
        instrument_sum_site(kernel, i, array, ticket->dynamic_bytes, ranges);
    const struct event_ranges record = {
        .call = ticket->call,
        .ranges = sum.ranges,
        .loads = sum.loads,
        .again = sum.again,
        .own = sum.own,
        .drained = sum.drained,
        .node = ticket->node,
        .kernel = ticket->kernel_number,
        .array = array + 1,
        .site = (site->listed ? kernel->site_count : 0) + site->site + 1,
        .words = (uint32_t)sum.words,
        .fills = site->fills,
    };
    if (record.ranges)
        core_put(EVENT_RANGES, &record, sizeof(record), NULL, 0);
}

void shadow_tell_ranges(const struct shadow_ticket *ticket, const struct instrument_range *ranges,
                        uint32_t array)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    for (uint32_t i = 0; i < kernel->range_site_count; i++)
        tell_site(ticket, ranges, array, i);
    const struct instrument_lives reuse =
        instrument_sum_array(kernel, array, ticket->dynamic_bytes, ranges);
    const struct event_lives record = {
        .call = ticket->call,
        .unstored = reuse.unstored,
        .ranges = reuse.sum.ranges,
        .loads = reuse.sum.loads,
        .again = reuse.sum.again,
        .own = reuse.sum.own,
        .drained = reuse.sum.drained,
        .fills = reuse.fills,
        .fills_min = reuse.fills_min,
        .fills_max = reuse.fills_max,
        .fill_loads = reuse.fill_loads,
        .least_loads = reuse.least_loads,
        .least_fills = reuse.least_fills,
        .most_loads = reuse.most_loads,
        .most_fills = reuse.most_fills,
        .node = ticket->node,
        .kernel = ticket->kernel_number,
        .array = array + 1,
        .filled_words = reuse.filled_words,
    };
    core_put(EVENT_LIVES, &record, sizeof(record), NULL, 0);
}
