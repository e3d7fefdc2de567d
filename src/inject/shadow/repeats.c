// SPDX-License-Identifier: Apache-2.0
// Launches that repeat earlier ones: see repeats.h. A launch is only recognized when the results of
// one like it have arrived. Bits of bitmaps are never cleared while an object lives, so it does not
// matter what other streams do in between.
#include "repeats.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { MOST_KEPT = 1024 }; // launches that are remembered in a context

// What identifies launches that touch the same. There is no padding: it is compared as bytes.
struct root_key {
    uint64_t object, first, bytes;
};
struct repeat_key {
    uint64_t kernel; // struct instrument_kernel
    uint32_t number, facts, grid[3], block[3], dynamic_bytes, root_count;
    struct root_key roots[]; // then parameters
};

struct shadow_repeat {
    uint64_t key_bytes, record_bytes, counts_bytes; // the first two are multiples of 8
    // The key; then, once it was recorded, the part of the record before its entries; then counts.
    // At object level, the record is the flags.
    uint64_t content[];
};

static char *content_of(struct shadow_repeat *repeat)
{
    return (char *)repeat->content;
}

static struct base_str key_of(struct shadow_repeat *repeat)
{
    return (struct base_str){content_of(repeat), repeat->key_bytes};
}

static bool may_repeat(const struct shadow_ticket *ticket, const struct shadow_launch *launch)
{
    const struct instrument_kernel *kernel = launch->kernel;
    const uint32_t others = INSTRUMENT_VALUES | INSTRUMENT_ACCESSED | INSTRUMENT_REQUESTS |
                            INSTRUMENT_SHARED | INSTRUMENT_CACHE;
    return launch->may_repeat && kernel->repeats && !kernel->reason && !(ticket->facts & others) &&
           (ticket->facts & INSTRUMENT_ELEMENTS || (!kernel->needs_table && !kernel->outside)) &&
           !ticket->doubts && !ticket->strangers && !ticket->mallocs && !ticket->flying;
}

void shadow_repeats_enter(struct shadow_ticket *ticket, const struct shadow_launch *launch)
{
    const struct instrument_kernel *kernel = launch->kernel;
    if (!may_repeat(ticket, launch))
        return;
    const size_t head = sizeof(struct repeat_key) + ticket->root_count * sizeof(struct root_key);
    const uint64_t bytes = (head + kernel->context_offset + 7) / 8 * 8;
    struct shadow_repeat *repeat = calloc(1, sizeof(*repeat) + bytes);
    if (!repeat) {
        core_no_memory();
        return;
    }
    repeat->key_bytes = bytes;
    struct repeat_key *key = (struct repeat_key *)repeat->content;
    key->kernel = (uint64_t)(uintptr_t)kernel;
    key->number = launch->kernel_number;
    key->facts = launch->facts;
    memcpy(key->grid, launch->grid, sizeof(key->grid));
    memcpy(key->block, launch->block, sizeof(key->block));
    key->dynamic_bytes = launch->dynamic_bytes;
    key->root_count = ticket->root_count;
    for (uint32_t i = 0; i < ticket->root_count; i++) {
        const struct shadow_root *root = &ticket->roots[i];
        key->roots[i] = (struct root_key){root->object, root->first, root->bytes};
    }
    char *params = content_of(repeat) + head;
    for (uint32_t i = 0; i < kernel->param_count; i++)
        memcpy(params + kernel->params[i].offset, launch->params + kernel->params[i].offset,
               kernel->params[i].bytes);
    ticket->repeat = repeat;
}

static uint64_t counts_bytes(const struct shadow_ticket *ticket)
{
    return ticket->facts & INSTRUMENT_COUNTS ? ticket->job_count * sizeof(struct device_counted)
                                             : 0;
}

// Returns what was recorded of a launch like it; NULL: nothing. Needs shadow->lock.
static struct shadow_repeat *find(const struct shadow_ticket *ticket)
{
    const uint64_t *place =
        ticket->repeat ? base_map_get_str(&ticket->shadow->repeats, key_of(ticket->repeat)) : NULL;
    return place ? (struct shadow_repeat *)(uintptr_t)*place : NULL; // NOLINT
}

bool shadow_repeats_find(struct shadow_ticket *ticket, const struct device_reduction *layout)
{
    struct shadow_repeat *kept = find(ticket);
    if (!kept || kept->record_bytes != layout->entries_at ||
        kept->counts_bytes != counts_bytes(ticket))
        return false;
    const char *record = content_of(kept) + kept->key_bytes;
    memcpy(ticket->result, record, kept->record_bytes);
    memcpy((char *)ticket->result + layout->job_counts_at, record + kept->record_bytes,
           kept->counts_bytes);
    ticket->repeated = true;
    return true;
}

static uint64_t flags_bytes(const struct shadow_ticket *ticket)
{
    return (uint64_t)ticket->kernel->flag_row_bytes * INSTRUMENT_FLAG_ROWS;
}

bool shadow_repeats_find_flags(struct shadow_ticket *ticket)
{
    struct shadow_repeat *kept = find(ticket);
    const uint64_t bytes = flags_bytes(ticket);
    ticket->known_flags = kept && kept->record_bytes == bytes ? malloc(bytes) : NULL;
    if (!ticket->known_flags)
        return false;
    memcpy(ticket->known_flags, content_of(kept) + kept->key_bytes, bytes);
    ticket->repeated = true;
    return true;
}

// Returns whether all accesses were inside of the roots' objects, and all elements that they
// touched were known to be touched by several launches.
static bool is_settled(const struct shadow_ticket *ticket, const struct device_reduction *layout)
{
    const uint64_t *strayed = shadow_part_of(ticket, layout->small.strayed_at);
    const struct device_sums *sums = shadow_part_of(ticket, layout->jobs_at);
    bool settled = !ticket->result->strays && !ticket->result->entry_count;
    for (uint32_t i = 0; i < layout->small.strayed_count; i++)
        settled &= !strayed[i];
    for (uint32_t i = 0; i < ticket->job_count; i++)
        settled &= !sums[i].fresh && !sums[i].shared;
    return settled;
}

// Keeps the record, and what follows it, for launches like the ticket's.
static void keep(const struct shadow_ticket *ticket, const void *record, uint64_t record_bytes,
                 const void *counts, uint64_t more_bytes)
{
    struct shadow *shadow = ticket->shadow;
    const uint64_t key_bytes = ticket->repeat->key_bytes;
    struct shadow_repeat *kept = malloc(sizeof(*kept) + key_bytes + record_bytes + more_bytes);
    if (!kept) {
        core_no_memory();
        return;
    }
    *kept = (struct shadow_repeat){key_bytes, record_bytes, more_bytes};
    char *to = content_of(kept);
    memcpy(to, ticket->repeat->content, key_bytes);
    memcpy(to + key_bytes, record, record_bytes);
    if (more_bytes)
        memcpy(to + key_bytes + record_bytes, counts, more_bytes);
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    if (shadow->repeats.live >= MOST_KEPT)
        shadow_repeats_forget(shadow);
    bool added = false;
    uint64_t *place = base_map_put_str(&shadow->repeats, key_of(kept), &added);
    if (added) {
        *place = (uint64_t)(uintptr_t)kept;
        kept = NULL;
    }
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    free(kept);
}

void shadow_repeats_learn(const struct shadow_ticket *ticket, const struct device_reduction *layout)
{
    if (ticket->repeat && !ticket->repeated && is_settled(ticket, layout))
        keep(ticket, ticket->result, layout->entries_at,
             shadow_part_of(ticket, layout->job_counts_at), counts_bytes(ticket));
}

void shadow_repeats_learn_flags(const struct shadow_ticket *ticket, const unsigned char *flags)
{
    if (ticket->repeat && !ticket->repeated)
        keep(ticket, flags, flags_bytes(ticket), NULL, 0);
}

void shadow_repeats_free(struct shadow_repeat *repeat)
{
    free(repeat);
}

void shadow_repeats_forget(struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->repeats.count; i++) {
        if (!shadow->repeats.entries[i].removed)
            free((void *)(uintptr_t)shadow->repeats.entries[i].value); // NOLINT
    }
    base_map_fini(&shadow->repeats);
}
