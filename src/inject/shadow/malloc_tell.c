// SPDX-License-Identifier: Apache-2.0
// Writes the records of memory that kernels allocate, from the reports of launches. Blocks begin
// and end as objects, with the launches that allocated and freed them. The accesses of launches are
// summed up here, as the reduction does for other objects. Elements have 4 bytes.
#include "malloc_tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/util/plain_name.h"
#include "memory.h"
#include "tell.h"

enum {
    ELEMENT_BYTES = 4,
    MAP_BYTES = 64 << 10, // of a record, at most
    MORE_PAGES = 4,       // factor by which pages grow if there were too few
};

struct shadow_malloc_block {
    uint64_t serial, number; // number: the object's
    uint64_t call;           // of the launch that began it
    uint64_t start, bytes;
    uint64_t elements;
    // Bits: elements touched by some launch, and by more than one; NULL: none was reported.
    uint32_t *any, *multi;
    bool unplaced; // some accesses to it were not reported
    bool ended;
    // The call whose launch got the block's memory although the block's end was not reported; 0:
    // none.
    uint64_t displaced;
};

static struct shadow_malloc_block *block_at(uint64_t value)
{
    return (struct shadow_malloc_block *)(uintptr_t)value; // NOLINT(performance-no-int-to-ptr)
}

static struct shadow_malloc_block *find_block(const struct shadow_mallocs *mallocs, uint64_t serial)
{
    const uint64_t *place = base_map_get(&mallocs->by_serial, serial);
    return place ? block_at(*place) : NULL;
}

// --- Maps ----------------------------------------------------------------------------------------

static bool is_zero(const unsigned char *bytes, size_t count)
{
    return !bytes[0] && memcmp(bytes, bytes + 1, count - 1) == 0;
}

static void tell_map(const struct shadow_malloc_block *block, uint8_t kind, const uint32_t *bits)
{
    const unsigned char *bytes = (const unsigned char *)bits;
    const uint64_t all = (block->elements + 7) / 8;
    for (uint64_t at = 0; at < all; at += MAP_BYTES) {
        const size_t count = all - at < MAP_BYTES ? (size_t)(all - at) : MAP_BYTES;
        const struct event_map record = {.object = block->number,
                                         .first = 8 * at,
                                         .elements = block->elements,
                                         .element_bytes = ELEMENT_BYTES,
                                         .kind = kind};
        if (!is_zero(bytes + at, count))
            core_put(EVENT_MAP, &record, sizeof(record), bytes + at, count);
    }
}

static void tell_maps(const struct shadow *shadow, const struct shadow_malloc_block *block)
{
    if (!shadow->wants_maps || !block->any)
        return;
    tell_map(block, EVENT_MAP_TOUCHED, block->any);
    tell_map(block, EVENT_MAP_SHARED, block->multi);
}

// --- Blocks begin and end ------------------------------------------------------------------------

static void free_block(struct shadow_malloc_block *block)
{
    free(block->any);
    free(block);
}

static uint64_t pages_of(const struct shadow_malloc_block *block)
{
    return (block->elements + INSTRUMENT_HEAP_PAGE_ELEMENTS - 1) / INSTRUMENT_HEAP_PAGE_ELEMENTS;
}

static void remove_block(struct shadow_mallocs *mallocs, struct shadow_malloc_block *block)
{
    base_map_remove(&mallocs->by_serial, block->serial);
    mallocs->live_pages -= pages_of(block);
    struct base_interval *found = base_intervals_find(&mallocs->by_address, block->start);
    if (found && found->value == (uint64_t)(uintptr_t)block)
        base_intervals_remove(&mallocs->by_address, block->start, NULL);
    free_block(block);
}

static void end_block(struct shadow_malloc_block *block, uint64_t call)
{
    const struct event_object_end record = {.number = block->number, .call = call};
    if (!block->ended)
        core_put(EVENT_OBJECT_END, &record, sizeof(record), NULL, 0);
    block->ended = true;
}

static void name_block(const struct shadow_malloc_launch *launch, uint64_t number)
{
    const struct event_name record = {number};
    char kernel[256], name[300];
    const char *plain = util_plain_name(launch->kernel->name, kernel, sizeof(kernel))
                            ? kernel
                            : launch->kernel->name;
    const int length = snprintf(name, sizeof(name), "malloc in %.255s", plain);
    core_put(EVENT_OBJECT_NAME, &record, sizeof(record), name, (size_t)length);
}

// Enters the block by its address. An older block at these addresses has ended: in this launch, in
// a concurrent launch that is recorded later, or unreported. Serials show which block is older,
// also if launches overtook one another; if it is the new one, that one has ended. Returns false if
// out of memory.
static bool place_block(struct shadow_mallocs *mallocs, struct shadow_malloc_block *block)
{
    struct base_intervals_walk walk;
    struct base_interval *there =
        base_intervals_first_overlap(&mallocs->by_address, block->start, block->bytes, &walk);
    while (there) {
        struct shadow_malloc_block *other = block_at(there->value);
        if (other->serial > block->serial) {
            block->displaced = other->call;
            there = base_intervals_next(&walk);
        } else {
            other->displaced = block->call;
            base_intervals_remove(&mallocs->by_address, there->start, NULL);
            there = base_intervals_first_overlap(&mallocs->by_address, block->start, block->bytes,
                                                 &walk);
        }
    }
    return block->displaced ||
           base_intervals_insert(&mallocs->by_address, block->start, block->bytes,
                                 (uint64_t)(uintptr_t)block, NULL) == BASE_OK;
}

// Returns false if out of memory.
static bool begin_block(struct shadow *shadow, const struct shadow_malloc_launch *launch,
                        const struct instrument_heap_entry *entry)
{
    struct shadow_mallocs *mallocs = shadow->mallocs;
    struct shadow_malloc_block *block = calloc(1, sizeof(*block));
    uint64_t *place = block ? base_map_put(&mallocs->by_serial, entry->what >> 2, NULL) : NULL;
    if (!place) {
        free(block);
        return false;
    }
    *block = (struct shadow_malloc_block){
        .serial = entry->what >> 2,
        .number = core_objects_number(&core_state.objects),
        .call = launch->call,
        .start = entry->address,
        .bytes = entry->bytes,
        .elements = (entry->bytes + ELEMENT_BYTES - 1) / ELEMENT_BYTES,
        .unplaced = (entry->what & 3) == INSTRUMENT_HEAP_UNPLACED,
    };
    *place = (uint64_t)(uintptr_t)block;
    mallocs->live_pages += pages_of(block);
    const struct event_object record = {.number = block->number,
                                        .address = block->start,
                                        .bytes = block->bytes,
                                        .call = launch->call,
                                        .context = shadow->context->number,
                                        .device = shadow->context->device,
                                        .kind = EVENT_OBJECT_HEAP};
    core_put(EVENT_OBJECT, &record, sizeof(record), NULL, 0);
    name_block(launch, block->number);
    return place_block(mallocs, block);
}

// Drops the launches behind this one, because their records could name the wrong blocks.
static void stop_behind(struct shadow *shadow, const struct shadow_malloc_launch *launch)
{
    shadow_malloc_stop(shadow, launch->kernel->name,
                       "allocated and freed more than there is room for");
    for (struct shadow_malloc_launch *later = launch->next; later; later = later->next)
        later->dropped = true;
}

static bool tell_log(struct shadow *shadow, struct shadow_malloc_launch *launch)
{
    for (; launch->index < launch->log.count; launch->index++) {
        const struct instrument_heap_entry *entry = &launch->log.items[launch->index];
        struct shadow_malloc_block *block;
        bool good = true;
        if (event_is_busy(core_state.ring))
            return false;
        if ((entry->what & 3) != INSTRUMENT_HEAP_ENDED)
            good = begin_block(shadow, launch, entry);
        else if ((block = find_block(shadow->mallocs, entry->what >> 2)))
            end_block(block, launch->call);
        if (!good || (entry->what & 3) == INSTRUMENT_HEAP_UNPLACED)
            stop_behind(shadow, launch);
    }
    return true;
}

// Records the maps of blocks that have ended, and frees those blocks.
static bool forget_ended(struct shadow *shadow, struct shadow_malloc_launch *launch)
{
    struct shadow_mallocs *mallocs = shadow->mallocs;
    for (; launch->index < launch->log.count; launch->index++) {
        struct shadow_malloc_block *block =
            find_block(mallocs, launch->log.items[launch->index].what >> 2);
        if (!block || !block->ended)
            continue;
        if (event_is_busy(core_state.ring))
            return false;
        tell_maps(shadow, block);
        remove_block(mallocs, block);
    }
    return true;
}

// --- Accesses to blocks --------------------------------------------------------------------------

static int by_key(const void *a, const void *b)
{
    const struct instrument_heap_page *one = a, *other = b;
    return one->key < other->key ? -1 : one->key > other->key;
}

static int by_number(const void *a, const void *b)
{
    const struct shadow_malloc_told *one = a, *other = b;
    return one->block->number < other->block->number ? -1
                                                     : one->block->number > other->block->number;
}

static void add(struct shadow_malloc_launch *launch, struct shadow_malloc_told reported)
{
    if (!reported.block || reported.block->unplaced)
        return;
    struct shadow_malloc_told *place = base_array_push(&launch->told_blocks);
    if (place)
        *place = reported;
    else
        launch->incomplete = true;
}

// Adds a row for each block that the launch's pages belong to, ordered by serial.
static void add_pages(const struct shadow_mallocs *mallocs, struct shadow_malloc_launch *launch)
{
    const bool elements = mallocs->facts & INSTRUMENT_ELEMENTS;
    const unsigned shift = elements ? INSTRUMENT_HEAP_PAGE_BITS : 2;
    struct instrument_heap_page *pages = launch->pages.items;
    const size_t count = launch->pages.count;
    if (count)
        qsort(pages, count, sizeof(*pages), by_key);
    for (size_t i = 0; i < count;) {
        const size_t first = i;
        const uint64_t serial = pages[i].key >> shift;
        while (i < count && pages[i].key >> shift == serial)
            i++;
        struct shadow_malloc_told reported = {.block = find_block(mallocs, serial)};
        if (elements) {
            reported.first_page = first;
            reported.pages = i - first;
        } else {
            reported.flags = (pages[first].key & 1 ? EVENT_ACCESS_READ : 0u) |
                             (pages[first].key & 2 ? EVENT_ACCESS_WRITTEN : 0u);
        }
        add(launch, reported);
    }
}

// Finds which elements are new to the block, and which were touched by one launch before.
static bool join_bits(struct shadow_malloc_block *block, const struct instrument_heap_page *page,
                      struct event_access *record)
{
    const uint64_t words = (block->elements + 31) / 32;
    const uint64_t word = page->key & ((UINT64_C(1) << INSTRUMENT_HEAP_PAGE_BITS) - 1);
    if (!block->any) {
        block->any = calloc(2 * words, sizeof(*block->any));
        if (!block->any)
            return false;
        block->multi = block->any + words;
    }
    if (word >= words)
        return false;
    const uint32_t seen = page->bits & block->any[word];
    record->elements += (unsigned)__builtin_popcount(page->bits);
    record->new_elements += (unsigned)__builtin_popcount(page->bits & ~seen);
    record->shared_elements += (unsigned)__builtin_popcount(seen & ~block->multi[word]);
    block->any[word] |= page->bits;
    block->multi[word] |= seen;
    return true;
}

static void put_record(const struct shadow_mallocs *mallocs,
                       const struct shadow_malloc_launch *launch,
                       const struct shadow_malloc_told *reported)
{
    const bool elements = mallocs->facts & INSTRUMENT_ELEMENTS;
    const uint64_t none = elements ? 0 : EVENT_UNKNOWN;
    bool good = true;
    struct event_access record = {.call = launch->call,
                                  .object = reported->block->number,
                                  .node = launch->node,
                                  .flags = reported->flags,
                                  .read_bytes = none,
                                  .written_bytes = none,
                                  .elements = none,
                                  .new_elements = none,
                                  .shared_elements = none,
                                  .element_bytes = elements ? ELEMENT_BYTES : 0};
    for (size_t i = 0; i < reported->pages; i++) {
        const struct instrument_heap_page *page = &launch->pages.items[reported->first_page + i];
        record.read_bytes += page->moved[0];
        record.written_bytes += page->moved[1];
        good &= join_bits(reported->block, page, &record);
    }
    if (elements)
        record.flags |= (record.read_bytes ? EVENT_ACCESS_READ : 0u) |
                        (record.written_bytes ? EVENT_ACCESS_WRITTEN : 0u);
    if (good)
        core_put(EVENT_ACCESS, &record, sizeof(record), NULL, 0);
    else
        core_no_memory();
}

// --- Counts --------------------------------------------------------------------------------------

struct counting {
    struct event_counts record;
    unsigned __int128 squares;
    uint64_t pieces[DEVICE_PIECES]; // sums of counts
};

static unsigned bin_of(uint32_t count)
{
    const unsigned power = 31 - (unsigned)__builtin_clz(count);
    return 2 * power + (power && count >> (power - 1) & 1);
}

static void count_element(struct counting *counting, uint64_t element, uint64_t piece,
                          uint32_t count)
{
    struct event_counts *record = &counting->record;
    record->sum += count;
    counting->squares += (uint64_t)count * count;
    if (count > record->most) {
        record->most = count;
        record->most_at = element;
    }
    record->bins[bin_of(count)]++;
    counting->pieces[element / piece] += count;
}

// Finds the highest sums, the highest first; of equal ones, the first comes first.
static void find_hottest(struct counting *counting, uint64_t elements, uint64_t piece)
{
    struct event_range *hottest = counting->record.hottest;
    for (uint64_t first = 0; first < elements; first += piece) {
        const uint64_t sum = counting->pieces[first / piece];
        unsigned at = EVENT_HOT_RANGES;
        while (at > 0 && sum > hottest[at - 1].sum)
            at--;
        if (at == EVENT_HOT_RANGES)
            continue;
        memmove(&hottest[at + 1], &hottest[at], (EVENT_HOT_RANGES - 1 - at) * sizeof(*hottest));
        hottest[at] =
            (struct event_range){.first = first,
                                 .count = elements - first < piece ? elements - first : piece,
                                 .sum = sum};
    }
}

static void put_counts(const struct shadow_malloc_launch *launch,
                       const struct shadow_malloc_told *reported, struct counting *counting)
{
    const uint64_t elements = reported->block->elements;
    const uint64_t piece = (elements + DEVICE_PIECES - 1) / DEVICE_PIECES;
    *counting = (struct counting){
        .record = {.call = launch->call, .object = reported->block->number, .node = launch->node}};
    for (size_t i = 0; i < reported->pages; i++) {
        const struct instrument_heap_page *page = &launch->pages.items[reported->first_page + i];
        const uint64_t first = (page->key & ((UINT64_C(1) << INSTRUMENT_HEAP_PAGE_BITS) - 1)) *
                               INSTRUMENT_HEAP_PAGE_ELEMENTS;
        for (unsigned k = 0; k < INSTRUMENT_HEAP_PAGE_ELEMENTS; k++) {
            if (page->counts[k] && first + k < elements)
                count_element(counting, first + k, piece, page->counts[k]);
        }
    }
    counting->record.squares_low = (uint64_t)counting->squares;
    counting->record.squares_high = (uint64_t)(counting->squares >> 64);
    find_hottest(counting, elements, piece);
    if (counting->record.sum)
        core_put(EVENT_COUNTS, &counting->record, sizeof(counting->record), NULL, 0);
}

// --- Launches ------------------------------------------------------------------------------------

// Adds accesses through pointers, to blocks that existed when the launch began.
static void add_uses(const struct shadow_mallocs *mallocs, struct shadow_malloc_launch *launch)
{
    bool outside = false;
    for (size_t i = 0; i < launch->uses.count; i++) {
        const struct shadow_malloc_use *use = &launch->uses.items[i];
        const struct base_interval *found = base_intervals_find(&mallocs->by_address, use->address);
        if (found)
            add(launch,
                (struct shadow_malloc_told){.block = block_at(found->value), .flags = use->flags});
        outside |= !found;
    }
    if (outside)
        shadow_put_told(launch->call, launch->node, 1u << EVENT_DOUBT_POINTER);
}

// Joins the rows of each block into one, in the order of object numbers.
static void join_rows(struct shadow_malloc_launch *launch)
{
    struct shadow_malloc_told *rows = launch->told_blocks.items;
    size_t kept = 0;
    if (!launch->told_blocks.count)
        return;
    qsort(rows, launch->told_blocks.count, sizeof(*rows), by_number);
    for (size_t i = 1; i < launch->told_blocks.count; i++) {
        if (rows[i].block == rows[kept].block)
            rows[kept].flags |= rows[i].flags;
        else
            rows[++kept] = rows[i];
    }
    launch->told_blocks.count = kept + 1;
}

static void list_rows(struct shadow *shadow, struct shadow_malloc_launch *launch)
{
    struct shadow_kernel *about;
    add_pages(shadow->mallocs, launch);
    join_rows(launch);
    if (!launch->head.lost && !launch->incomplete)
        return;
    launch->told_blocks.count = 0; // the list is incomplete
    if (launch->head.lost)
        shadow->mallocs->least_pages = (uint64_t)MORE_PAGES << launch->area->page_bits;
    about = shadow_kernel(shadow, launch->kernel_number, launch->kernel);
    if (about)
        about->heap_lost++;
}

static bool tell_rows(const struct shadow_mallocs *mallocs, struct shadow_malloc_launch *launch)
{
    struct counting *counting =
        mallocs->facts & INSTRUMENT_COUNTS ? malloc(sizeof(*counting)) : NULL;
    if (mallocs->facts & INSTRUMENT_COUNTS && !counting)
        core_no_memory();
    while (launch->index < launch->told_blocks.count && !event_is_busy(core_state.ring)) {
        const struct shadow_malloc_told *reported = &launch->told_blocks.items[launch->index++];
        put_record(mallocs, launch, reported);
        if (counting)
            put_counts(launch, reported, counting);
    }
    free(counting);
    return launch->index == launch->told_blocks.count;
}

enum { USES, LOG, ROWS, TELL_ROWS, ENDS, STEPS };

static bool take_step(struct shadow *shadow, struct shadow_malloc_launch *launch)
{
    switch (launch->step) {
    case USES:
        add_uses(shadow->mallocs, launch);
        if (launch->head.logged > launch->log.count)
            stop_behind(shadow, launch);
        return true;
    case LOG: return tell_log(shadow, launch);
    case ROWS: list_rows(shadow, launch); return true;
    case TELL_ROWS: return tell_rows(shadow->mallocs, launch);
    default: return forget_ended(shadow, launch);
    }
}

bool shadow_malloc_tell(struct shadow *shadow, struct shadow_malloc_launch *launch)
{
    while (launch->step < STEPS) {
        if (!take_step(shadow, launch))
            return false;
        launch->step++;
        launch->index = 0;
    }
    return true;
}

bool shadow_malloc_tell_rest(struct shadow *shadow)
{
    struct shadow_mallocs *mallocs = shadow->mallocs;
    for (; mallocs->rest < mallocs->by_serial.count; mallocs->rest++) {
        const struct base_map_entry *entry = &mallocs->by_serial.entries[mallocs->rest];
        if (entry->removed)
            continue;
        if (event_is_busy(core_state.ring))
            return false;
        struct shadow_malloc_block *block = block_at(entry->value);
        if (block->displaced)
            end_block(block, block->displaced);
        tell_maps(shadow, block);
    }
    return true;
}

void shadow_malloc_end_blocks(struct shadow_mallocs *mallocs, uint64_t call)
{
    for (size_t i = 0; i < mallocs->by_serial.count; i++) {
        const struct base_map_entry *entry = &mallocs->by_serial.entries[i];
        if (entry->removed)
            continue;
        struct shadow_malloc_block *block = block_at(entry->value);
        end_block(block, block->displaced ? block->displaced : call);
        free_block(block);
    }
    base_map_fini(&mallocs->by_serial);
    base_intervals_fini(&mallocs->by_address);
}
