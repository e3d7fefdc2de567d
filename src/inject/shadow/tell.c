// SPDX-License-Identifier: Apache-2.0
// Makes records of what probes wrote. Results of several roots and table entries about one object
// are joined, and each object that a launch touched is recorded once, in the order of numbers.
#include "tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accessed.h"
#include "contents.h"
#include "element.h"
#include "malloc.h"
#include "memory.h"
#include "reduce.h"
#include "repeats.h"
#include "requests.h"
#include "reuse.h"
#include "words.h"

struct reported { // about one object, from one root, job or entry
    uint64_t object;
    uint32_t flags;        // EVENT_ACCESS_*
    bool bytes_unknown[2]; // read, written
    uint64_t bytes[2];
    struct device_sums sums;
    const struct shadow_grain *grain; // NULL: nothing is known of elements
    const struct device_counted *counts;
};

struct told_list {
    BASE_ARRAY(struct reported) items;
    bool incomplete; // memory ran out
    uint32_t doubts; // sum of 1 << enum event_doubt
};

static struct reported *add_told(struct told_list *list, uint64_t object)
{
    struct reported *reported = object ? base_array_push(&list->items) : NULL;
    if (reported)
        reported->object = object;
    else if (object)
        list->incomplete = true;
    return reported;
}

static void add(struct told_list *list, uint64_t object, uint32_t flags)
{
    struct reported *reported = flags ? add_told(list, object) : NULL;
    if (reported)
        reported->flags = flags;
}

static int by_object(const void *a, const void *b)
{
    const struct reported *one = a, *other = b;
    return one->object < other->object ? -1 : one->object > other->object;
}

static bool is_set(const struct instrument_kernel *kernel, const unsigned char *flags,
                   uint32_t flag, uint32_t rows)
{
    if (flag == INSTRUMENT_NONE)
        return true;
    for (uint32_t row = 0; row < rows; row++) {
        if (flags[(size_t)row * kernel->flag_row_bytes + flag])
            return true;
    }
    return false;
}

// Returns whether the use happened. tallies is NULL at object level, where flags say all.
static bool is_used(const struct shadow_ticket *ticket, const struct instrument_use *use,
                    const unsigned char *flags, uint32_t rows, const uint64_t *tallies)
{
    if (!use->counted || !tallies)
        return is_set(ticket->kernel, flags, use->flag, rows);
    return (use->from_one ? ticket->threads : 0) + tallies[use->counted - 1] != 0;
}

static void add_uses(struct told_list *list, const struct shadow_ticket *ticket,
                     const unsigned char *flags, uint32_t rows, const uint64_t *tallies)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    if ((kernel->left_flag != INSTRUMENT_NONE && is_set(kernel, flags, kernel->left_flag, rows)) ||
        (kernel->left_counted && tallies && tallies[kernel->left_counted - 1]))
        list->doubts |= 1u << EVENT_DOUBT_LEFT;
    for (uint32_t i = 0; i < kernel->use_count; i++) {
        const struct instrument_use *use = &kernel->uses[i];
        const uint32_t ways =
            (use->read ? EVENT_ACCESS_READ : 0u) | (use->written ? EVENT_ACCESS_WRITTEN : 0u);
        if (use->root >= ticket->root_count || !is_used(ticket, use, flags, rows, tallies))
            continue;
        const struct shadow_root *root = &ticket->roots[use->root];
        add(list, root->object, ways);
        // A variable raises no doubt: accesses to it cannot belong to another object.
        if (!root->object && kernel->roots[use->root].kind == INSTRUMENT_ROOT_PARAM &&
            !shadow_malloc_use(ticket, root->address, ways))
            list->doubts |= 1u << EVENT_DOUBT_POINTER;
    }
}

// reported: the value of instrument_strays.count.
static void count_strays(struct told_list *list, const struct shadow_ticket *ticket,
                         uint64_t reported, uint64_t stray_at)
{
    const uint64_t count = reported & (INSTRUMENT_WRAPPED - 1);
    if (reported >= INSTRUMENT_WRAPPED)
        list->doubts |= 1u << EVENT_DOUBT_WRAPPED;
    if (!count)
        return;
    struct shadow *shadow = ticket->shadow;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_kernel *about = shadow_kernel(shadow, ticket->kernel_number, ticket->kernel);
    if (about) {
        if (!about->strays)
            about->stray_at = stray_at;
        about->strays += count;
    }
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

static void add_entries(struct told_list *list, const struct shadow_ticket *ticket,
                        const unsigned char *frame)
{
    const struct shadow_table *table = ticket->table;
    struct instrument_strays strays;
    memcpy(&strays, frame, sizeof(strays));
    count_strays(list, ticket, strays.count, strays.addresses[0]);
    const unsigned char *touched = frame + sizeof(strays);
    for (uint32_t i = 0; i < table->count; i++)
        add(list, table->pieces[i].object.number,
            (touched[2 * i] ? EVENT_ACCESS_READ : 0u) |
                (touched[2 * i + 1] ? EVENT_ACCESS_WRITTEN : 0u));
}

// --- Of elements ---------------------------------------------------------------------------------

// Returns how often threads executed the site.
static uint64_t times_of(const struct shadow_ticket *ticket, const struct instrument_site *site,
                         const uint64_t *tallies)
{
    const bool by_all = site->tally == INSTRUMENT_NONE;
    return (by_all || site->tally_from_one ? ticket->threads : 0) +
           (by_all ? 0 : tallies[site->tally]);
}

// Adds the bytes that sites of the root moved in its object.
static void add_sites(struct told_list *list, const struct shadow_ticket *ticket,
                      const struct device_reduction *layout)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    const uint64_t *tallies = shadow_part_of(ticket, layout->small.tallies_at);
    const uint64_t *strayed = shadow_part_of(ticket, layout->small.strayed_at);
    const size_t first = list->items.count;
    for (uint32_t i = 0; i < ticket->root_count; i++) {
        struct reported *reported = base_array_push(&list->items);
        if (!reported) {
            list->incomplete = true;
            return;
        }
        reported->object = ticket->roots[i].object;
        for (int way = 0; layout->small.strayed_count && way < 2; way++)
            reported->bytes[way] = 0 - strayed[2 * i + way];
    }
    struct reported *of_root = &list->items.items[first];
    for (uint32_t i = 0; i < kernel->site_count; i++) {
        const struct instrument_site *site = &kernel->sites[i];
        if (site->root >= ticket->root_count)
            continue;
        const uint64_t times = times_of(ticket, site, tallies);
        for (int way = 0; way < 2; way++) {
            const bool moves = way ? site->access != 0 : site->access != 1;
            of_root[site->root].bytes[way] += moves ? times * site->bytes : 0;
            of_root[site->root].bytes_unknown[way] |= moves && times && !site->bytes;
        }
    }
}

static void add_touched(struct told_list *list, const struct shadow_ticket *ticket,
                        const struct device_reduction *layout)
{
    const struct device_touched *entries = shadow_part_of(ticket, layout->entries_at);
    const struct device_counted *counts = shadow_part_of(ticket, layout->entry_counts_at);
    const bool elements = ticket->facts & INSTRUMENT_ELEMENTS;
    for (uint32_t i = 0; i < ticket->result->entry_count; i++) {
        const struct device_touched *entry = &entries[i];
        struct reported *reported =
            add_told(list, ticket->table->pieces[entry->index].object.number);
        if (!reported)
            continue;
        reported->flags =
            (entry->read ? EVENT_ACCESS_READ : 0u) | (entry->written ? EVENT_ACCESS_WRITTEN : 0u);
        reported->bytes[0] = entry->moved[0];
        reported->bytes[1] = entry->moved[1];
        reported->sums = entry->sums;
        reported->grain = elements ? &ticket->table->grains[entry->index] : NULL;
        reported->counts = entry->counted ? &counts[i] : NULL;
    }
}

static void add_jobs(struct told_list *list, const struct shadow_ticket *ticket,
                     const struct device_reduction *layout)
{
    const struct device_sums *sums = shadow_part_of(ticket, layout->jobs_at);
    const struct device_counted *counts = shadow_part_of(ticket, layout->job_counts_at);
    for (uint32_t i = 0; i < ticket->job_count; i++) {
        struct reported *reported = add_told(list, ticket->jobs[i].object);
        if (!reported)
            continue;
        reported->sums = sums[i];
        reported->grain = &ticket->jobs[i].grain;
        reported->counts = ticket->facts & INSTRUMENT_COUNTS ? &counts[i] : NULL;
    }
}

static void put_counts(const struct shadow_ticket *ticket, const struct reported *reported)
{
    const struct device_counted *counts = reported->counts;
    struct event_counts record = {
        .call = ticket->call,
        .object = reported->object,
        .node = ticket->node,
        .most = (uint32_t)counts->most,
        .sum = counts->sum,
        .squares_low = counts->squares_low,
        .squares_high = counts->squares_high,
        .most_at = counts->most_at,
    };
    memcpy(record.bins, counts->bins, sizeof(record.bins));
    for (int i = 0; i < EVENT_HOT_RANGES && counts->hottest[i].sum; i++) {
        const uint64_t first = counts->hottest[i].piece * reported->grain->piece;
        const uint64_t left = reported->grain->elements - first;
        record.hottest[i] = (struct event_range){
            .first = first,
            .count = left < reported->grain->piece ? left : reported->grain->piece,
            .sum = counts->hottest[i].sum};
    }
    core_put(EVENT_COUNTS, &record, sizeof(record), NULL, 0);
}

// --- Records -------------------------------------------------------------------------------------

_Static_assert((int)EVENT_COUNT_BINS == DEVICE_BINS, "they are copied");
_Static_assert((int)EVENT_HOT_RANGES == DEVICE_HOTTEST, "likewise");

static void join(struct reported *to, const struct reported *from)
{
    to->flags |= from->flags;
    for (int way = 0; way < 2; way++) {
        to->bytes[way] += from->bytes[way];
        to->bytes_unknown[way] |= from->bytes_unknown[way];
    }
    to->sums.elements += from->sums.elements;
    to->sums.fresh += from->sums.fresh;
    to->sums.shared += from->sums.shared;
    if (from->grain)
        to->grain = from->grain;
    if (from->counts && from->counts->sum) // otherwise another reduction has counted them
        to->counts = from->counts;
}

// Returns whether the launch got an address in the object through which its sites reach it.
static bool is_named(const struct shadow_ticket *ticket, uint64_t object)
{
    bool named = false;
    for (uint32_t i = 0; i < ticket->passed_count && !named; i++)
        named = ticket->passed[i] == object;
    for (uint32_t i = 0; i < ticket->root_count && !named; i++)
        named = ticket->roots[i].object == object && !ticket->roots[i].aimed;
    return named;
}

static void note_foreign(void)
{
    if (!atomic_exchange(&core_state.foreign_noted, true))
        core_note(EVENT_INFO,
                  "kernels used memory of another device or context: which elements of it all "
                  "launches together use is unknown");
}

static void put_access(const struct shadow_ticket *ticket, const struct reported *reported)
{
    const bool elements = ticket->facts & INSTRUMENT_ELEMENTS;
    struct event_access record = {
        .call = ticket->call,
        .object = reported->object,
        .node = ticket->node,
        .flags = reported->flags,
        .read_bytes = EVENT_UNKNOWN,
        .written_bytes = EVENT_UNKNOWN,
        .elements = EVENT_UNKNOWN,
        .new_elements = EVENT_UNKNOWN,
        .shared_elements = EVENT_UNKNOWN,
        .named = is_named(ticket, reported->object),
    };
    if (elements) {
        for (int way = 0; way < 2; way++) {
            uint64_t *bytes = way ? &record.written_bytes : &record.read_bytes;
            const uint32_t flag = way ? EVENT_ACCESS_WRITTEN : EVENT_ACCESS_READ;
            if (!reported->bytes_unknown[way])
                *bytes = reported->bytes[way];
            if (reported->bytes[way] || reported->bytes_unknown[way])
                record.flags |= flag;
        }
    }
    if (reported->grain) {
        record.elements = reported->sums.elements;
        // Each context has its own marks, and does not know what launches of others touched.
        if (reported->grain->foreign) {
            note_foreign();
        } else {
            record.new_elements = reported->sums.fresh;
            record.shared_elements = reported->sums.shared;
        }
        record.element_bytes = 1u << reported->grain->shift;
    }
    if ((!record.flags && !reported->sums.elements) || ticket->muted)
        return;
    if (ticket->flying)
        record.flags |= EVENT_ACCESS_PASSED | EVENT_ACCESS_SAMPLED;
    if (reported->grain && !reported->bytes_unknown[0] && !reported->bytes_unknown[1])
        shadow_element_seen(ticket->shadow, reported->object,
                            reported->bytes[0] + reported->bytes[1], reported->sums.elements);
    core_put(EVENT_ACCESS, &record, sizeof(record), NULL, 0);
    if (reported->counts && reported->grain && reported->sums.elements)
        put_counts(ticket, reported);
}

void shadow_put_told(uint64_t call, uint32_t node, uint32_t doubts)
{
    const struct event_told record = {call, node, doubts};
    core_put(EVENT_TOLD, &record, sizeof(record), NULL, 0);
}

static bool is_of_root(const struct shadow_ticket *ticket, uint64_t object)
{
    bool found = !object;
    for (uint32_t i = 0; i < ticket->root_count && !found; i++)
        found = ticket->roots[i].object == object;
    return found;
}

static void tell_alike(const struct shadow_ticket *ticket, const struct told_list *list)
{
    bool within = !list->doubts;
    for (size_t i = 0; i < list->items.count; i++) {
        const struct reported *reported = &list->items.items[i];
        const bool touched =
            reported->flags || reported->sums.elements || reported->bytes[0] || reported->bytes[1];
        within &= !touched || is_of_root(ticket, reported->object);
    }
    if (within)
        atomic_fetch_add(&ticket->alike->within, 1);
    else
        atomic_store(&ticket->alike->beyond, true);
}

static void tell_list(const struct shadow_ticket *ticket, struct told_list *list)
{
    list->doubts |= ticket->doubts;
    if (list->incomplete) {
        core_no_memory();
        list->doubts |= 1u << EVENT_DOUBT_UNTOLD;
    }
    if (ticket->alike)
        tell_alike(ticket, list);
    const size_t count = list->items.count;
    struct reported *items = list->items.items;
    if (count)
        qsort(items, count, sizeof(*items), by_object);
    for (size_t i = 0; i < count;) {
        struct reported *first = &items[i];
        for (i++; i < count && items[i].object == first->object; i++)
            join(first, &items[i]);
        if (first->object)
            put_access(ticket, first);
    }
    if (!ticket->flying && (!ticket->node || list->doubts))
        shadow_put_told(ticket->call, ticket->node, list->doubts);
    if (ticket->whole)
        atomic_fetch_sub(&ticket->whole->untold, 1);
    base_array_fini(&list->items);
}

void shadow_tell(const struct shadow_ticket *ticket, const unsigned char *flags,
                 const unsigned char *frame)
{
    struct told_list list = {0};
    add_uses(&list, ticket, flags, INSTRUMENT_FLAG_ROWS, NULL);
    if (ticket->table && frame)
        add_entries(&list, ticket, frame);
    tell_list(ticket, &list);
    if (flags && !list.doubts)
        shadow_repeats_learn_flags(ticket, flags);
}

// --- Stores --------------------------------------------------------------------------------------

static bool is_written(const struct shadow_ticket *ticket, uint64_t object)
{
    for (uint32_t i = 0; i < ticket->written_count; i++) {
        if (ticket->written[i]->number == object)
            return true;
    }
    return false;
}

static void put_stores(const struct shadow_ticket *ticket, const struct device_reduction *layout)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    const uint64_t *tallies = shadow_part_of(ticket, layout->small.tallies_at);
    for (uint32_t i = 0; i < kernel->site_count; i++) {
        const struct instrument_site *site = &kernel->sites[i];
        const uint64_t object =
            site->root < ticket->root_count ? ticket->roots[site->root].object : 0;
        if (site->silent == INSTRUMENT_NONE || !object || !is_written(ticket, object))
            continue;
        const struct event_stored record = {
            .call = ticket->call,
            .object = object,
            .stores = times_of(ticket, site, tallies),
            .silent = tallies[site->silent],
            .still = site->still == INSTRUMENT_NONE ? EVENT_UNKNOWN : tallies[site->still],
            .node = ticket->node,
            .kernel = ticket->kernel_number,
            .site = i + 1,
            .bytes = site->bytes,
        };
        if (record.stores)
            core_put(EVENT_STORED, &record, sizeof(record), NULL, 0);
    }
}

// The same for stores whose addresses were looked up, by object. One store is one byte here.
static void put_looked_up(const struct shadow_ticket *ticket, const struct device_reduction *layout)
{
    const struct device_touched *entries = shadow_part_of(ticket, layout->entries_at);
    for (uint32_t i = 0; i < ticket->result->entry_count; i++) {
        const struct device_touched *entry = &entries[i];
        const struct event_stored record = {
            .call = ticket->call,
            .object = ticket->table->pieces[entry->index].object.number,
            .stores = entry->stored[0],
            .silent = entry->stored[1],
            .still = EVENT_UNKNOWN,
            .node = ticket->node,
            .kernel = ticket->kernel_number,
            .bytes = 1,
        };
        if (record.stores)
            core_put(EVENT_STORED, &record, sizeof(record), NULL, 0);
    }
}

// --- Records -------------------------------------------------------------------------------------

void shadow_tell_record(const struct shadow_ticket *ticket)
{
    struct told_list list = {0};
    struct device_reduction layout;
    shadow_reduce_describe(ticket, &layout);
    count_strays(&list, ticket, ticket->result->strays, ticket->result->stray_at);
    add_uses(&list, ticket, shadow_part_of(ticket, layout.small.flags_at), 1,
             shadow_part_of(ticket, layout.small.tallies_at));
    if (ticket->facts & INSTRUMENT_ELEMENTS) {
        add_sites(&list, ticket, &layout);
        add_jobs(&list, ticket, &layout);
    }
    if (ticket->table)
        add_touched(&list, ticket, &layout);
    const bool unknown = list.doubts || ticket->doubts;
    tell_list(ticket, &list);
    if (!unknown)
        shadow_repeats_learn(ticket, &layout);
    if (ticket->facts & INSTRUMENT_REQUESTS)
        shadow_tell_requests(ticket, &layout, unknown);
    shadow_tell_words(ticket, shadow_part_of(ticket, layout.small.tallies_at));
    if (!unknown)
        shadow_tell_reuse(ticket);
    if (ticket->facts & INSTRUMENT_ACCESSED && !unknown)
        shadow_tell_accessed(ticket, &layout);
    if (!(ticket->facts & INSTRUMENT_VALUES) || !ticket->written)
        return;
    put_stores(ticket, &layout);
    if (ticket->table)
        put_looked_up(ticket, &layout);
}

// --- Notes ---------------------------------------------------------------------------------------

// Says what is missing about so many launches of the kernel; nothing if there are none.
static void note(const struct shadow_kernel *about, uint64_t launches, enum event_severity severity,
                 const char *of, const char *what)
{
    char text[512];
    if (!launches)
        return;
    snprintf(text, sizeof(text), "kernel %.200s: %s%" PRIu64 " launches%s", about->name, of,
             launches, what);
    core_note(severity, text);
}

static void note_strays(const struct shadow_kernel *about)
{
    char text[512];
    if (!about->strays)
        return;
    snprintf(text, sizeof(text),
             "kernel %.300s: %" PRIu64 " accesses to memory that is no known object, for example "
             "at 0x%" PRIx64,
             about->name, about->strays, about->stray_at);
    core_note(EVENT_INFO, text);
}

// Says how often contents were not looked at, and why; nothing if that never happened.
static void note_contents(uint64_t *times, const char *why)
{
    char text[200];
    if (!*times)
        return;
    snprintf(text, sizeof(text),
             "the contents of objects were not looked at %" PRIu64 " times, because %s", *times,
             why);
    core_note(EVENT_WARNING, text);
    *times = 0;
}

void shadow_tell_notes(struct shadow *shadow)
{
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    for (size_t i = 0; i < shadow->kernels.count; i++) {
        const struct base_map_entry *entry = &shadow->kernels.entries[i];
        struct shadow_kernel *about = (struct shadow_kernel *)(uintptr_t)entry->value; // NOLINT
        if (!about)
            continue;
        note(about, about->unwatched, EVENT_WARNING, "",
             " ran unwatched: there was no room for what their probes write");
        note_strays(about);
        note(about, about->heap_lost, EVENT_WARNING, "of ",
             " it is unknown what they did to memory that kernels allocate, because there was no "
             "room for it");
        note(about, about->crowded, EVENT_WARNING, "of ",
             " the requests of some instructions are unknown, because too many different sets of "
             "lanes made them; later launches are counted in another way");
        note(about, about->words_missed, EVENT_WARNING, "of ",
             " or nodes of graphs it is unknown how often words of shared memory were loaded and "
             "stored, because there was no room for counters");
        note(about, about->ranges_missed, EVENT_INFO, "of ",
             " or nodes of graphs it is unknown how often data in shared memory was loaded before "
             "it was replaced, because there was no spare shared memory");
        note(about, about->untraced, EVENT_INFO, "of ",
             " it is unknown how they use caches, because there was no room to trace them");
        note(about, about->overfull, EVENT_INFO, "of ",
             " it is unknown how they use caches, because they access memory too often to be "
             "traced");
        about->overfull = 0;
        about->unwatched = about->strays = about->heap_lost = about->words_missed =
            about->ranges_missed = about->crowded = about->untraced = 0;
    }
    note_contents(&shadow->unlooked, "there was no room for what is kept about them");
    note_contents(&shadow->uncoded, "the code for elements of their types was not loaded");
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}
