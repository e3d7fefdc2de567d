// SPDX-License-Identifier: Apache-2.0
// From what probes wrote to records: what several roots and entries of a table say of one object is
// joined, and each object that a launch touched is told once, in the order of their numbers.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shadow_inner.h"

struct told { // of one object, by one root or entry
    uint64_t object;
    uint32_t flags; // EVENT_ACCESS_*
};

struct told_list {
    BASE_ARRAY(struct told) items;
    bool incomplete; // memory ran out
};

static void add(struct told_list *list, uint64_t object, uint32_t flags)
{
    if (!object || !flags)
        return;
    struct told *told = base_array_push(&list->items);
    if (told)
        *told = (struct told){.object = object, .flags = flags};
    else
        list->incomplete = true;
}

static int by_object(const void *a, const void *b)
{
    const struct told *one = a, *other = b;
    return one->object < other->object ? -1 : one->object > other->object;
}

static bool is_set(const struct instrument_kernel *kernel, const unsigned char *flags,
                   uint32_t flag)
{
    if (flag == INSTRUMENT_NONE)
        return true;
    for (uint32_t row = 0; row < INSTRUMENT_FLAG_ROWS; row++) {
        if (flags[(size_t)row * kernel->flag_row_bytes + flag])
            return true;
    }
    return false;
}

static void add_uses(struct told_list *list, const struct shadow_ticket *ticket,
                     const unsigned char *flags)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    for (uint32_t i = 0; i < kernel->use_count; i++) {
        const struct instrument_use *use = &kernel->uses[i];
        if (use->root < ticket->root_count && is_set(kernel, flags, use->flag))
            add(list, ticket->roots[use->root].object,
                (use->read ? EVENT_ACCESS_READ : 0u) | (use->written ? EVENT_ACCESS_WRITTEN : 0u));
    }
}

static void count_strays(const struct shadow_ticket *ticket, const struct instrument_strays *strays)
{
    if (!strays->count)
        return;
    struct shadow *shadow = ticket->shadow;
    pthread_mutex_lock(&shadow->lock);
    struct shadow_kernel *about = shadow_kernel(shadow, ticket->kernel_number, ticket->kernel);
    if (about) {
        if (!about->strays)
            about->stray_at = strays->addresses[0];
        about->strays += strays->count;
    }
    pthread_mutex_unlock(&shadow->lock);
}

static void add_entries(struct told_list *list, const struct shadow_ticket *ticket,
                        const unsigned char *frame)
{
    const struct shadow_table *table = ticket->table;
    struct instrument_strays strays;
    memcpy(&strays, frame, sizeof(strays));
    count_strays(ticket, &strays);
    const unsigned char *touched = frame + sizeof(strays);
    for (uint32_t i = 0; i < table->count; i++)
        add(list, table->pieces[i].object.number,
            (touched[2 * i] ? EVENT_ACCESS_READ : 0u) |
                (touched[2 * i + 1] ? EVENT_ACCESS_WRITTEN : 0u));
}

void shadow_tell(const struct shadow_ticket *ticket, const unsigned char *flags,
                 const unsigned char *frame)
{
    struct told_list list = {0};
    add_uses(&list, ticket, flags);
    if (ticket->table)
        add_entries(&list, ticket, frame);
    if (list.incomplete)
        state_no_memory();
    if (list.items.count)
        qsort(list.items.items, list.items.count, sizeof(struct told), by_object);
    for (size_t i = 0; i < list.items.count;) {
        struct event_access record = {
            .call = ticket->call,
            .object = list.items.items[i].object,
            .node = ticket->node,
            .read_bytes = EVENT_UNKNOWN,
            .written_bytes = EVENT_UNKNOWN,
            .elements = EVENT_UNKNOWN,
            .new_elements = EVENT_UNKNOWN,
            .shared_elements = EVENT_UNKNOWN,
        };
        for (; i < list.items.count && list.items.items[i].object == record.object; i++)
            record.flags |= list.items.items[i].flags;
        put(EVENT_ACCESS, &record, sizeof(record), NULL, 0);
    }
    base_array_fini(&list.items);
}

// --- Notes ---------------------------------------------------------------------------------------

void shadow_tell_notes(struct shadow *shadow)
{
    enum { TEXT_BYTES = 512 };
    char text[TEXT_BYTES];
    pthread_mutex_lock(&shadow->lock);
    for (size_t i = 0; i < shadow->kernels.count; i++) {
        const struct base_map_entry *entry = &shadow->kernels.entries[i];
        struct shadow_kernel *about = (struct shadow_kernel *)(uintptr_t)entry->value; // NOLINT
        if (!about)
            continue;
        if (about->unwatched) {
            snprintf(text, sizeof(text),
                     "kernel %.300s: %" PRIu64 " launches ran unwatched, because there was no room "
                     "for what their probes write",
                     about->name, about->unwatched);
            state_note(EVENT_WARNING, text);
        }
        if (about->strays) {
            snprintf(text, sizeof(text),
                     "kernel %.300s: %" PRIu64 " accesses to memory that is no known object, for "
                     "example at 0x%" PRIx64,
                     about->name, about->strays, about->stray_at);
            state_note(EVENT_INFO, text);
        }
        about->unwatched = about->strays = 0;
    }
    pthread_mutex_unlock(&shadow->lock);
}
