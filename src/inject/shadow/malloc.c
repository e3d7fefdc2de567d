// SPDX-License-Identifier: Apache-2.0
// Memory that kernels allocate: device memory in which launches report it, and how the reports are
// read back. Each launch has its own area, and its table is changed to point there in the order of
// the stream. Areas are read on glint's stream, one after the other in the order of launches, and
// reused.
//
// How much a launch may report is not known in advance. It gets room for twice the known blocks,
// for several blocks per thread if it allocates, and for as much as the launches in flight have. If
// it reports more, or a kernel that allocates cannot be watched, later records could name the wrong
// blocks. Recording such memory then stops, and a note says so.
#include "malloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/core/tail.h"
#include "malloc_tell.h"
#include "memory.h"

enum {
    CHUNK_BYTES = 4 << 20,  // read back at once
    HEAP_BYTES = 8 << 20,   // the heap's size, if the driver does not report it
    BYTES_OF_BLOCK = 16,    // at least, of a block
    PAGES_OF_THREAD = 16,   // of a launch that allocates
    ENTRIES_OF_THREAD = 16, // likewise, in the log
    LEAST_PLACES = 1 << 16, // of each of these
    MOST_PLACES = 4 << 20,  // likewise
    LEAST_BITS = 8,         // of tables of places, if there is no memory for more
    SHARE = 16,             // each takes at most this fraction of all shadow memory
    GROUPS_AT = 64,         // in an area
};
_Static_assert(GROUPS_AT >= sizeof(struct instrument_heap), "the head comes first");

static uint64_t page_bytes(const struct shadow_mallocs *mallocs)
{
    if (!(mallocs->facts & INSTRUMENT_ELEMENTS))
        return sizeof(uint64_t);
    return mallocs->facts & INSTRUMENT_COUNTS ? sizeof(struct instrument_heap_page)
                                              : offsetof(struct instrument_heap_page, counts);
}

static uint64_t group_count(const struct shadow_area *area)
{
    return UINT64_C(1) << (area->page_bits - INSTRUMENT_HEAP_GROUP_BITS);
}

static uint64_t pages_at(const struct shadow_area *area)
{
    return GROUPS_AT + (group_count(area) + GROUPS_AT - 1) / GROUPS_AT * GROUPS_AT;
}

static uint64_t pages_bytes(const struct shadow_mallocs *mallocs, const struct shadow_area *area)
{
    return page_bytes(mallocs) << area->page_bits;
}

// Returns the bits of the index of a table with this many places, or with as many as allowed.
static uint32_t bits_for(uint64_t places, uint64_t most)
{
    uint32_t bits = LEAST_BITS;
    while ((UINT64_C(1) << bits) < places && (UINT64_C(2) << bits) <= most)
        bits++;
    return bits;
}

// Returns how many places of this many bytes each are allowed.
static uint64_t most_of(const struct shadow *shadow, uint64_t bytes)
{
    const uint64_t fit = shadow->device.limit_bytes / SHARE / bytes;
    return fit < MOST_PLACES ? fit : MOST_PLACES;
}

void shadow_malloc_stop(struct shadow *shadow, const char *kernel, const char *why)
{
    char text[512];
    if (shadow->mallocs_off)
        return;
    shadow->mallocs_off = true;
    snprintf(text, sizeof(text),
             "memory that kernels allocate is not recorded from here on: kernel %.300s %s", kernel,
             why);
    core_note(EVENT_WARNING, text);
}

static const char unwatched[] = "may allocate or free memory and ran unwatched";

void shadow_malloc_skipped(const struct shadow_ticket *ticket)
{
    if (ticket->shadow->mallocs && (ticket->kernel->allocates || ticket->kernel->outside))
        shadow_malloc_stop(ticket->shadow, ticket->kernel->name, unwatched);
}

void shadow_heap_unwatched(struct core_context *context, const char *kernel)
{
    struct shadow *shadow = atomic_load(&context->shadow);
    if (!shadow)
        return;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    if (shadow->mallocs)
        shadow_malloc_stop(shadow, kernel, unwatched);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

// --- Initialization ------------------------------------------------------------------------------

// Makes an empty map of blocks. False: no room.
static bool make_blocks(struct shadow *shadow, struct shadow_mallocs *mallocs, uint32_t bits)
{
    struct shadow_block staging = {0};
    const uint64_t pieces_at = SHADOW_ALIGN;
    if (!shadow_take(shadow, &shadow->device,
                     pieces_at + (sizeof(struct instrument_heap_piece) << bits),
                     &mallocs->blocks) ||
        !shadow_take(shadow, &shadow->pinned, sizeof(struct instrument_heap_blocks), &staging)) {
        shadow_give(&shadow->device, &mallocs->blocks);
        return false;
    }
    const struct instrument_heap_blocks blocks = {
        .pieces = mallocs->blocks.address + pieces_at,
        .shift = 64 - bits,
    };
    memcpy(shadow_host(staging), &blocks, sizeof(blocks));
    return shadow_own_clear(shadow, mallocs->blocks) &&
           shadow_own_copy(shadow, mallocs->blocks.address, &staging, sizeof(blocks));
}

static struct shadow_mallocs *make(struct shadow *shadow, uint32_t facts)
{
    struct shadow_mallocs *mallocs = calloc(1, sizeof(*mallocs));
    size_t heap_bytes = 0;
    if (!mallocs) {
        core_no_memory();
        return NULL;
    }
    const CUstreamCaptureMode mode = shadow_relax();
    if (REAL(cuCtxGetLimit)(&heap_bytes, CU_LIMIT_MALLOC_HEAP_SIZE) != CUDA_SUCCESS)
        heap_bytes = HEAP_BYTES;
    shadow_restore(mode);
    mallocs->facts = facts;
    const uint64_t places = heap_bytes / BYTES_OF_BLOCK; // the most blocks that fit
    mallocs->most_log_room = most_of(shadow, sizeof(struct instrument_heap_entry));
    mallocs->most_pages = most_of(shadow, page_bytes(mallocs));
    if (mallocs->most_pages > 2 * places)
        mallocs->most_pages = 2 * places;
    mallocs->last = &mallocs->first;
    base_intervals_init(&mallocs->by_address, 0);
    if (make_blocks(shadow, mallocs,
                    bits_for(places, most_of(shadow, sizeof(struct instrument_heap_piece)))))
        return mallocs;
    free(mallocs);
    return NULL;
}

static void free_area(struct shadow *shadow, struct shadow_area *area)
{
    shadow_give(&shadow->device, &area->block);
    free(area);
}

// Returns a new area, cleared; NULL: no room.
static struct shadow_area *make_area(struct shadow *shadow, const struct shadow_area *like)
{
    struct shadow_mallocs *mallocs = shadow->mallocs;
    struct shadow_block staging = {0};
    struct shadow_area *area = malloc(sizeof(*area));
    if (!area)
        return NULL;
    *area = *like;
    const uint64_t log_at = pages_at(area) + pages_bytes(mallocs, area);
    if (!shadow_take(shadow, &shadow->device,
                     log_at + area->log_room * sizeof(struct instrument_heap_entry),
                     &area->block) ||
        !shadow_take(shadow, &shadow->pinned, sizeof(struct instrument_heap), &staging)) {
        free_area(shadow, area);
        return NULL;
    }
    const struct instrument_heap head = {
        .blocks = mallocs->blocks.address,
        .log = area->block.address + log_at,
        .log_room = area->log_room,
        .pages = area->block.address + pages_at(area),
        .groups = area->block.address + GROUPS_AT,
        .page_shift = 64 - area->page_bits,
    };
    memcpy(shadow_host(staging), &head, sizeof(head));
    shadow_own_clear(shadow, area->block);
    shadow_own_copy(shadow, area->block.address, &staging, sizeof(head));
    return area;
}

// Returns a spare area with enough room, cleared except for its log; NULL: there is none.
static struct shadow_area *spare_area(struct shadow *shadow, const struct shadow_area *like)
{
    const uint64_t from = offsetof(struct instrument_heap, logged);
    struct shadow_area **place = &shadow->mallocs->spare;
    while (*place && ((*place)->page_bits < like->page_bits || (*place)->log_room < like->log_room))
        place = &(*place)->next;
    struct shadow_area *area = *place;
    if (!area)
        return NULL;
    *place = area->next;
    shadow_own_clear(
        shadow, (struct shadow_block){area->block.address + from,
                                      pages_at(area) + pages_bytes(shadow->mallocs, area) - from});
    return area;
}

static uint64_t larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

// Returns an area with as much room as the launch may need. NULL: no room.
static struct shadow_area *area_for(struct shadow *shadow, const struct shadow_ticket *ticket)
{
    struct shadow_mallocs *mallocs = shadow->mallocs;
    const bool allocates = ticket->kernel->allocates;
    const uint64_t threads = allocates ? ticket->threads : 0;
    uint64_t pages = larger(larger(LEAST_PLACES, mallocs->least_pages),
                            larger(2 * mallocs->live_pages, PAGES_OF_THREAD * threads));
    uint64_t entries =
        larger(LEAST_PLACES, larger(2 * mallocs->by_serial.live, ENTRIES_OF_THREAD * threads));
    for (const struct shadow_malloc_launch *launch = mallocs->first; launch;
         launch = launch->next) {
        pages = larger(pages, launch->area ? UINT64_C(1) << launch->area->page_bits : 0);
        entries = larger(entries, launch->area ? launch->area->log_room : 0);
    }
    struct shadow_area like = {.page_bits = bits_for(pages, mallocs->most_pages)};
    if (allocates)
        like.log_room = entries < mallocs->most_log_room ? entries : mallocs->most_log_room;
    struct shadow_area *area = spare_area(shadow, &like);
    if (!area)
        area = make_area(shadow, &like);
    if (!area) {
        shadow_malloc_step(shadow); // finished launches make their areas spare
        area = spare_area(shadow, &like);
    }
    while (!area && mallocs->spare) { // frees areas that are too small
        struct shadow_area *small = mallocs->spare;
        mallocs->spare = small->next;
        free_area(shadow, small);
        area = make_area(shadow, &like);
    }
    return area;
}

// The launch has no area to report in, so its accesses to blocks are not recorded. If it may begin
// or end blocks, the set of live blocks is unknown from here on, and recording stops.
static void give_up(struct shadow *shadow, struct shadow_malloc_launch *launch)
{
    struct shadow_kernel *about = shadow_kernel(shadow, launch->kernel_number, launch->kernel);
    launch->dropped = true;
    if (launch->kernel->allocates)
        shadow_malloc_stop(shadow, launch->kernel->name, "has no room to report what it allocates");
    else if (about)
        about->heap_lost++;
}

void shadow_malloc_enter(struct shadow *shadow, struct shadow_ticket *ticket)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    // At object level the host records accesses through pointers that the kernel gets as
    // parameters.
    const bool by_host = ticket->strangers && !(ticket->facts & INSTRUMENT_ELEMENTS);
    if (shadow->mallocs_off || (!shadow->mallocs && !kernel->allocates) ||
        (!kernel->heap && !kernel->outside && !by_host))
        return;
    if (kernel->outside) {
        shadow_malloc_stop(shadow, kernel->name,
                           "calls functions outside of its module, which may free memory");
        return;
    }
    if (!shadow->mallocs)
        shadow->mallocs = make(shadow, ticket->facts);
    struct shadow_mallocs *mallocs = shadow->mallocs;
    struct shadow_malloc_launch *launch =
        mallocs && mallocs->facts == ticket->facts ? calloc(1, sizeof(*launch)) : NULL;
    if (!launch) {
        shadow_malloc_stop(shadow, kernel->name, "has no room to report what it allocates");
        return;
    }
    mallocs->ending = false; // another launch follows the supposed end
    mallocs->rest = 0;
    launch->kernel = kernel;
    launch->kernel_number = ticket->kernel_number;
    *mallocs->last = launch;
    mallocs->last = &launch->next;
    ticket->mallocs = launch;
    if (!kernel->heap)
        return;
    launch->area = area_for(shadow, ticket);
    launch->event = launch->area ? shadow_event_take(shadow) : NULL;
    if (!launch->event)
        give_up(shadow, launch);
}

bool shadow_malloc_point(struct shadow *shadow, const struct shadow_ticket *ticket, uint64_t table,
                         struct core_stream *stream)
{
    const struct shadow_malloc_launch *launch = ticket ? ticket->mallocs : NULL;
    const uint64_t heap =
        launch && launch->area && !launch->dropped ? launch->area->block.address : 0;
    const uint64_t at = table + offsetof(struct instrument_table, heap);
    if (!shadow->mallocs || (ticket && !ticket->kernel->heap))
        return true; // no probe reads it, or no table has ever pointed elsewhere
    core_tail_begin(stream);
    const CUstreamCaptureMode mode = shadow_relax();
    CUresult result = REAL(cuMemsetD32Async)(at, (uint32_t)heap, 1, stream->handle);
    if (result == CUDA_SUCCESS)
        result = REAL(cuMemsetD32Async)(at + 4, (uint32_t)(heap >> 32), 1, stream->handle);
    shadow_restore(mode);
    if (result != CUDA_SUCCESS)
        shadow_fail(shadow, "to set memory", result);
    return result == CUDA_SUCCESS;
}

// --- Behind the launch ---------------------------------------------------------------------------

void shadow_malloc_launched(struct shadow_ticket *ticket, CUstream stream, bool launched)
{
    struct shadow *shadow = ticket->shadow;
    struct shadow_malloc_launch *launch = ticket->mallocs;
    if (!launch)
        return;
    launch->call = ticket->call;
    launch->node = ticket->node;
    launch->launched = true;
    launch->dropped |= !launched;
    if (launch->dropped || !launch->event)
        return;
    const CUstreamCaptureMode mode = shadow_relax();
    const CUresult result = REAL(cuEventRecord)(launch->event, stream);
    shadow_restore(mode);
    launch->recorded = result == CUDA_SUCCESS;
    if (!launch->recorded)
        shadow_fail(shadow, "an event", result);
}

bool shadow_malloc_use(const struct shadow_ticket *ticket, uint64_t address, uint32_t flags)
{
    struct shadow *shadow = ticket->shadow;
    if (!ticket->mallocs || !address)
        return false;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_malloc_use *use = base_array_push(&ticket->mallocs->uses);
    if (use)
        *use = (struct shadow_malloc_use){address, flags};
    else
        core_no_memory();
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    return use;
}

void shadow_malloc_told(struct shadow_ticket *ticket)
{
    struct shadow_malloc_launch *launch = ticket->mallocs;
    if (!launch)
        return;
    launch->dropped |= !launch->launched; // it was never launched
    launch->launched = launch->reported = true;
    ticket->mallocs = NULL;
}

// --- Reading -------------------------------------------------------------------------------------

// The segments of a launch's area, which are read one after the other. Of the pages, only those of
// used groups are read.
enum segment { HEAD, GROUPS, PAGES, LOG, SEGMENTS };

struct extent {
    uint64_t from, bytes, unit;
};

static struct extent extent_of(const struct shadow_mallocs *mallocs, unsigned segment)
{
    const struct shadow_malloc_launch *launch = mallocs->first;
    const struct shadow_area *area = launch->area;
    const uint64_t logged =
        launch->head.logged < area->log_room ? launch->head.logged : area->log_room;
    switch (segment) {
    case HEAD: return (struct extent){0, sizeof(launch->head), sizeof(launch->head)};
    case GROUPS: return (struct extent){GROUPS_AT, group_count(area), 1};
    case PAGES:
        return (struct extent){pages_at(area), pages_bytes(mallocs, area), page_bytes(mallocs)};
    default:
        return (struct extent){pages_at(area) + pages_bytes(mallocs, area),
                               logged * sizeof(struct instrument_heap_entry),
                               sizeof(struct instrument_heap_entry)};
    }
}

static bool take_over(struct shadow_mallocs *mallocs, uint64_t unit)
{
    struct shadow_malloc_launch *launch = mallocs->first;
    const unsigned char *landed = shadow_host(mallocs->landing);
    if (mallocs->segment == HEAD) {
        memcpy(&launch->head, landed, sizeof(launch->head));
        return true;
    }
    for (uint64_t at = 0; at < mallocs->length; at += unit) {
        const bool page = mallocs->segment == PAGES;
        uint64_t first = 1;
        if (page)
            memcpy(&first, landed + at, sizeof(first));
        void *to = !first                       ? NULL
                   : page                       ? (void *)base_array_push(&launch->pages)
                   : mallocs->segment == GROUPS ? (void *)base_array_push(&launch->groups)
                                                : (void *)base_array_push(&launch->log);
        if (to)
            memcpy(to, landed + at, unit);
        else if (first)
            return false;
    }
    return true;
}

// Skips the pages of unused groups. Returns how many bytes to read from there.
static uint64_t next_pages(struct shadow_mallocs *mallocs, const struct extent *extent)
{
    const unsigned char *used = mallocs->first->groups.items;
    const size_t count = mallocs->first->groups.count;
    const uint64_t group_bytes = extent->unit << INSTRUMENT_HEAP_GROUP_BITS;
    size_t group = mallocs->at / group_bytes;
    while (group < count && !used[group])
        group++;
    const size_t first = group;
    while (group < count && used[group] && (group + 1 - first) * group_bytes <= CHUNK_BYTES)
        group++;
    mallocs->at = first < count ? first * group_bytes : extent->bytes;
    return (group - first) * group_bytes;
}

// Enqueues the next read. Returns false if that is not possible now.
static bool ask(struct shadow *shadow, struct shadow_mallocs *mallocs, const struct extent *extent)
{
    if (!mallocs->landing.address &&
        !shadow_take(shadow, &shadow->pinned, CHUNK_BYTES, &mallocs->landing))
        return false;
    mallocs->event = shadow_event_take(shadow);
    return mallocs->event &&
           shadow_own_fetch(shadow, shadow_host(mallocs->landing),
                            mallocs->first->area->block.address + extent->from + mallocs->at,
                            mallocs->length, mallocs->event);
}

static bool happened(struct shadow *shadow, CUevent event)
{
    const CUstreamCaptureMode mode = shadow_relax();
    const CUresult result = REAL(cuEventQuery)(event);
    shadow_restore(mode);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        shadow_fail(shadow, "read-back", result);
    return result == CUDA_SUCCESS;
}

// Threads that wait for the end watch this counter of progress.
static void went_on(struct shadow *shadow)
{
    atomic_fetch_add_explicit(&shadow->landed, 1, memory_order_relaxed);
}

// Returns true if all of the first launch's area has arrived.
static bool read_area(struct shadow *shadow, struct shadow_mallocs *mallocs)
{
    while (mallocs->segment < SEGMENTS) {
        const struct extent extent = extent_of(mallocs, mallocs->segment);
        if (!mallocs->event) {
            const uint64_t most = CHUNK_BYTES / extent.unit * extent.unit;
            const uint64_t left = extent.bytes - mallocs->at;
            mallocs->length = left < most ? left : most;
            if (mallocs->segment == PAGES)
                mallocs->length = next_pages(mallocs, &extent);
            if (!mallocs->length) {
                mallocs->segment++;
                mallocs->at = 0;
                continue;
            }
            if (!ask(shadow, mallocs, &extent))
                return false;
        }
        if (!happened(shadow, mallocs->event))
            return false;
        if (!take_over(mallocs, extent.unit)) {
            mallocs->first->incomplete = true;
            core_no_memory();
        }
        went_on(shadow);
        shadow_event_give(shadow, mallocs->event);
        mallocs->event = NULL;
        mallocs->at += mallocs->length;
    }
    return true;
}

static void free_launch(struct shadow *shadow, struct shadow_malloc_launch *launch)
{
    if (launch->area) {
        launch->area->next = shadow->mallocs->spare;
        shadow->mallocs->spare = launch->area;
    }
    shadow_event_give(shadow, launch->event);
    base_array_fini(&launch->uses);
    base_array_fini(&launch->log);
    base_array_fini(&launch->groups);
    base_array_fini(&launch->pages);
    base_array_fini(&launch->told_blocks);
    free(launch);
}

static void pop(struct shadow_mallocs *mallocs)
{
    mallocs->first = mallocs->first->next;
    if (!mallocs->first)
        mallocs->last = &mallocs->first;
    mallocs->segment = 0;
    mallocs->at = 0;
}

bool shadow_malloc_step(struct shadow *shadow)
{
    struct shadow_mallocs *mallocs = shadow->mallocs;
    struct shadow_malloc_launch *launch;
    if (!mallocs)
        return true;
    while ((launch = mallocs->first) && !atomic_load(&shadow->failed)) {
        if (!launch->launched || !launch->reported ||
            (launch->recorded && !happened(shadow, launch->event)) ||
            (launch->recorded && !launch->dropped && !read_area(shadow, mallocs)))
            return atomic_load(&shadow->failed);
        const unsigned step = launch->step;
        const size_t index = launch->index;
        const bool reported = launch->dropped || shadow_malloc_tell(shadow, launch);
        if (reported || launch->step != step || launch->index != index)
            went_on(shadow);
        if (!reported)
            return false;
        pop(mallocs);
        free_launch(shadow, launch);
    }
    const size_t rest = mallocs->rest;
    const bool done = !mallocs->ending || shadow_malloc_tell_rest(shadow);
    if (mallocs->rest != rest)
        went_on(shadow);
    return done;
}

bool shadow_malloc_end(struct shadow *shadow)
{
    if (shadow->mallocs)
        shadow->mallocs->ending = true;
    return shadow->mallocs;
}

static void forget_spare(struct shadow_mallocs *mallocs)
{
    while (mallocs->spare) {
        struct shadow_area *area = mallocs->spare;
        mallocs->spare = area->next;
        free(area);
    }
}

bool shadow_malloc_leave(struct shadow *shadow)
{
    struct shadow_mallocs *mallocs = shadow->mallocs;
    if (mallocs && mallocs->first)
        return false;
    shadow->mallocs_off = true;
    if (mallocs) {
        forget_spare(mallocs);
        mallocs->blocks = (struct shadow_block){0};
    }
    return true;
}

void shadow_malloc_forget(struct shadow *shadow, uint64_t call)
{
    struct shadow_mallocs *mallocs = shadow->mallocs;
    if (!mallocs)
        return;
    while (mallocs->first) {
        struct shadow_malloc_launch *launch = mallocs->first;
        pop(mallocs);
        free_launch(shadow, launch);
    }
    forget_spare(mallocs);
    shadow_malloc_end_blocks(mallocs, call);
    free(mallocs);
    shadow->mallocs = NULL;
    shadow->mallocs_off = true;
}
