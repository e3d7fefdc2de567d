// SPDX-License-Identifier: Apache-2.0
// Which lines of global memory warps reach: see trace.h.
//
// A launch that is traced has device memory of its own: a struct instrument_trace, then blocks,
// then records. It is read back chunk by chunk on glint's stream after the launch has ended,
// and only as far as it was used, so that neither the program's stream nor the program waits for
// it. Of the levels of lines, those are recorded from which on all records had room.
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum {
    MOST_TRACES = 16,       // of a context, that are in flight or not read back yet
    MOST_BLOCKS = 1 << 20,  // of a launch
    MOST_RECORDS = 1 << 19, // of a level: 64 MiB for all levels
    LEAST_RECORDS = 1 << 17,
    RECORDS_OF_THREAD = 128,        // of a level: what threads that do much make
    PIECE_BYTES = 192 << 10,        // of what is recorded at once
    CHUNK_BYTES = 16 * PIECE_BYTES, // of what is read at once
    FIRST_LIMIT = 0x0fffffff,       // a sixteenth of all lines
};
_Static_assert(PIECE_BYTES % sizeof(struct instrument_traced) == 0 &&
                   PIECE_BYTES % sizeof(struct instrument_traced_block) == 0 &&
                   PIECE_BYTES + sizeof(struct event_trace_part) <= EVENT_MOST_BYTES,
               "pieces are whole records, and fit into one event");

_Static_assert(sizeof(struct event_traced) == sizeof(struct instrument_traced) &&
                   sizeof(struct event_traced_block) == sizeof(struct instrument_traced_block) &&
                   (int)EVENT_TRACED_SECTORS_AT == (int)INSTRUMENT_TRACED_SECTORS_AT &&
                   (int)EVENT_TRACED_SITE_AT == (int)INSTRUMENT_TRACED_SITE_AT &&
                   1 << EVENT_TRACED_PROCESSOR_BITS == INSTRUMENT_TRACED_PROCESSORS,
               "records are sent as probes write them");

// What is read: the head, then blocks, then the records of each level.
enum part { HEAD, BLOCKS, RECORDS, END };

struct shadow_trace {
    struct shadow_trace *next;
    struct shadow_block memory;
    struct event_trace about;
    const struct instrument_kernel *kernel;
    uint32_t room, limit;         // room: for records of a level
    uint32_t shelves;             // of a level, among which it is divided
    struct instrument_trace head; // as it was when the launch had ended
    enum part part;               // that is being read
    uint32_t level, shelf;        // of records: the next that is read
    uint64_t at;                  // bytes of the part, or of the shelf, that are read
    CUevent event;                // recorded behind the copy of the next; NULL: none is under way
    struct shadow_block landing;
    uint64_t reading; // bytes of the copies
};

// --- Before the launch ---------------------------------------------------------------------------

static uint64_t head_bytes(void)
{
    return (sizeof(struct instrument_trace) + SHADOW_ALIGN - 1) / SHADOW_ALIGN * SHADOW_ALIGN;
}

static uint64_t block_bytes(const struct shadow_trace *trace)
{
    return (trace->about.blocks * sizeof(struct instrument_traced_block) + SHADOW_ALIGN - 1) /
           SHADOW_ALIGN * SHADOW_ALIGN;
}

// Finds how many blocks of the program's own kernel a multiprocessor runs at once, and what they
// take of shared memory.
static void find_room(const struct shadow_launch *launch, struct event_trace *about)
{
    const int threads = (int)about->threads;
    int resident = 0, fixed = 0, carveout = -1;
    about->carveout = -1;
    if (!launch->original)
        return;
    if (REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&resident, launch->original, threads,
                                                          launch->dynamic_bytes) == CUDA_SUCCESS &&
        resident > 0)
        about->resident = (uint32_t)resident;
    if (REAL(cuFuncGetAttribute)(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, launch->original) ==
            CUDA_SUCCESS &&
        fixed > 0)
        about->shared_bytes = (uint32_t)fixed;
    about->shared_bytes += launch->dynamic_bytes;
    if (REAL(cuFuncGetAttribute)(&carveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                 launch->original) == CUDA_SUCCESS)
        about->carveout = carveout;
}

// Takes memory for so many records of each level, or fewer if there is not enough.
static bool take(struct shadow *shadow, struct shadow_trace *trace)
{
    for (; trace->room >= LEAST_RECORDS; trace->room /= 2) {
        const uint64_t bytes =
            head_bytes() + block_bytes(trace) +
            (uint64_t)trace->room * INSTRUMENT_TRACE_LEVELS * sizeof(struct instrument_traced);
        if (shadow_take(shadow, &shadow->device, bytes, &trace->memory))
            return true;
    }
    return false;
}

static bool prepare(struct shadow *shadow, const struct shadow_trace *trace)
{
    const struct shadow_block counted = {trace->memory.address, head_bytes() + block_bytes(trace)};
    return shadow_own_clear(shadow, counted);
}

static void fill_context(const struct shadow_trace *trace, struct instrument_context *context)
{
    context->trace = trace->memory.address;
    context->trace_blocks = context->trace + head_bytes();
    context->trace_records = context->trace_blocks + block_bytes(trace);
    context->trace_limit = trace->limit;
    context->trace_room = trace->room / trace->shelves;
    context->trace_last_shelf = trace->shelves - 1;
}

static bool make(struct shadow *shadow, struct shadow_ticket *ticket,
                 const struct shadow_launch *launch)
{
    struct shadow_trace *trace = shadow->trace_count < MOST_TRACES && ticket->blocks <= MOST_BLOCKS
                                     ? calloc(1, sizeof(*trace))
                                     : NULL;
    if (!trace)
        return false;
    trace->about = (struct event_trace){
        .kernel = ticket->kernel_number,
        .node = ticket->node,
        .device = (uint32_t)ticket->stream->context->device,
        .blocks = ticket->blocks,
        .threads = ticket->block[0] * ticket->block[1] * ticket->block[2],
    };
    trace->kernel = ticket->kernel;
    find_room(launch, &trace->about);
    trace->limit = FIRST_LIMIT;
    trace->room = MOST_RECORDS;
    while (trace->room > LEAST_RECORDS && trace->room / 2 >= ticket->threads * RECORDS_OF_THREAD)
        trace->room /= 2;
    trace->shelves = 1;
    while (trace->shelves < INSTRUMENT_TRACE_SHELVES && trace->shelves < ticket->blocks)
        trace->shelves *= 2;
    if (take(shadow, trace) && prepare(shadow, trace)) {
        ticket->trace = trace;
        shadow->trace_count++;
        return true;
    }
    shadow_give(&shadow->device, &trace->memory);
    free(trace);
    return false;
}

void shadow_trace_enter(struct shadow *shadow, struct shadow_ticket *ticket,
                        const struct shadow_launch *launch, struct instrument_context *context)
{
    if (!(ticket->facts & INSTRUMENT_CACHE) || !ticket->turn || !ticket->kernel->traces)
        return;
    if (make(shadow, ticket, launch)) {
        fill_context(ticket->trace, context);
        return;
    }
    struct shadow_kernel *about = shadow_kernel(shadow, ticket->kernel_number, ticket->kernel);
    if (about)
        about->untraced++;
}

// --- After the launch ----------------------------------------------------------------------------

void shadow_tell_trace(struct shadow_ticket *ticket)
{
    struct shadow *shadow = ticket->shadow;
    struct shadow_trace *trace = ticket->trace;
    if (!trace)
        return;
    ticket->trace = NULL;
    trace->about.call = ticket->call;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_trace **place = &shadow->traces;
    while (*place)
        place = &(*place)->next;
    *place = trace;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

void shadow_trace_drop(struct shadow *shadow, struct shadow_trace *trace)
{
    if (!trace)
        return;
    shadow->trace_count--;
    shadow_event_give(shadow, trace->event);
    shadow_give(&shadow->pinned, &trace->landing);
    shadow_give(&shadow->device, &trace->memory);
    free(trace);
}

static uint64_t records_of(const struct shadow_trace *trace, uint32_t level, uint32_t shelf)
{
    return trace->head.shelves[level][shelf].next;
}

// Where what is read next lies in the launch's memory, and how long it is.
static struct shadow_block place_of(const struct shadow_trace *trace)
{
    const uint64_t shelf = (uint64_t)trace->level * trace->shelves + trace->shelf;
    switch (trace->part) {
    case HEAD: return (struct shadow_block){0, sizeof(trace->head)};
    case BLOCKS:
        return (struct shadow_block){head_bytes(),
                                     trace->about.blocks * sizeof(struct instrument_traced_block)};
    default:
        return (struct shadow_block){
            head_bytes() + block_bytes(trace) +
                shelf * (trace->room / trace->shelves) * sizeof(struct instrument_traced),
            records_of(trace, trace->level, trace->shelf) * sizeof(struct instrument_traced)};
    }
}

// Goes on to the next shelf; returns false behind the last.
static bool next_shelf(struct shadow_trace *trace)
{
    trace->at = 0;
    if (++trace->shelf < trace->shelves)
        return true;
    trace->shelf = 0;
    return ++trace->level < INSTRUMENT_TRACE_LEVELS;
}

// Begins to read as much of the part as fits.
static bool ask(struct shadow *shadow, struct shadow_trace *trace)
{
    bool more = true;
    trace->event = shadow_event_take(shadow);
    if (!trace->event || (!trace->landing.address &&
                          !shadow_take(shadow, &shadow->pinned, CHUNK_BYTES, &trace->landing))) {
        shadow_event_give(shadow, trace->event);
        trace->event = NULL;
        return false;
    }
    trace->reading = 0;
    while (more && trace->reading < CHUNK_BYTES) {
        const struct shadow_block place = place_of(trace);
        const uint64_t left = place.bytes - trace->at, room = CHUNK_BYTES - trace->reading;
        const uint64_t bytes = left < room ? left : room;
        if (bytes && !shadow_own_fetch(shadow, (char *)shadow_host(trace->landing) + trace->reading,
                                       trace->memory.address + place.address + trace->at, bytes,
                                       trace->event))
            return false;
        trace->reading += bytes;
        trace->at += bytes;
        if (trace->at == place.bytes)
            more = trace->part == RECORDS && next_shelf(trace);
    }
    return true;
}

// Finds the levels whose records are all there, and announces what follows.
static void begin(struct shadow *shadow, struct shadow_trace *trace)
{
    struct event_trace *about = &trace->about;
    memcpy(&trace->head, shadow_host(trace->landing), sizeof(trace->head));
    uint32_t first = 0; // of the levels from which on nothing was lost
    for (uint32_t level = 0; level < INSTRUMENT_TRACE_LEVELS; level++) {
        for (uint32_t shelf = 0; shelf < trace->shelves; shelf++) {
            if (records_of(trace, level, shelf) > trace->room / trace->shelves)
                first = level + 1;
        }
    }
    for (uint32_t level = first; level < INSTRUMENT_TRACE_LEVELS; level++) {
        for (uint32_t shelf = 0; shelf < trace->shelves; shelf++)
            about->records += records_of(trace, level, shelf);
    }
    trace->level = first;
    about->share = first < INSTRUMENT_TRACE_LEVELS
                       ? (uint32_t)(((uint64_t)trace->limit + 1) >> 16 >> first)
                       : 0;
    core_put(EVENT_TRACE, about, sizeof(*about), NULL, 0);
    struct shadow_kernel *kernel =
        about->share ? NULL : shadow_kernel(shadow, about->kernel, trace->kernel);
    if (kernel)
        kernel->overfull++;
}

static void tell_chunk(const struct shadow_trace *trace)
{
    const struct event_trace_part record = {
        .call = trace->about.call,
        .node = trace->about.node,
        .is_records = trace->part == RECORDS,
    };
    const char *bytes = shadow_host(trace->landing);
    for (uint64_t at = 0; at < trace->reading; at += PIECE_BYTES) {
        const uint64_t left = trace->reading - at;
        core_put(EVENT_TRACE_PART, &record, sizeof(record), bytes + at,
                 left < PIECE_BYTES ? left : PIECE_BYTES);
    }
}

// Goes on to the next part if this one has been read.
static void advance(struct shadow_trace *trace)
{
    const bool done = trace->part == RECORDS ? trace->level == INSTRUMENT_TRACE_LEVELS
                                             : trace->at == place_of(trace).bytes;
    if (!done)
        return;
    trace->at = 0;
    trace->part = trace->about.share && (trace->part != BLOCKS || trace->about.records)
                      ? trace->part + 1
                      : END;
}

// Records the chunk that has arrived.
static void tell(struct shadow *shadow, struct shadow_trace *trace)
{
    if (trace->part == HEAD)
        begin(shadow, trace);
    else
        tell_chunk(trace);
    advance(trace);
    if (trace->part != END)
        return;
    const struct event_trace_part record = {
        .call = trace->about.call, .node = trace->about.node, .is_last = true};
    core_put(EVENT_TRACE_PART, &record, sizeof(record), NULL, 0);
    shadow->traces = trace->next;
    shadow_trace_drop(shadow, trace);
}

bool shadow_trace_step(struct shadow *shadow)
{
    // All are read at the same time, but recorded one after the other.
    for (struct shadow_trace *trace = shadow->traces; trace && !atomic_load(&shadow->failed);
         trace = trace->next) {
        if (!trace->event && !ask(shadow, trace))
            break; // there is no room, or the driver has refused
    }
    for (struct shadow_trace *trace; (trace = shadow->traces);) {
        if (!trace->event && (atomic_load(&shadow->failed) || !ask(shadow, trace)))
            return atomic_load(&shadow->failed);
        const CUstreamCaptureMode mode = shadow_relax();
        const CUresult result = REAL(cuEventQuery)(trace->event);
        shadow_restore(mode);
        if (result == CUDA_ERROR_NOT_READY || event_is_busy(core_state.ring))
            return false;
        atomic_fetch_add_explicit(&shadow->landed, 1, memory_order_relaxed);
        shadow_event_give(shadow, trace->event);
        trace->event = NULL;
        if (result == CUDA_SUCCESS) {
            tell(shadow, trace);
            continue;
        }
        shadow_fail(shadow, "read-back of traces", result);
        shadow->traces = trace->next;
        shadow_trace_drop(shadow, trace);
    }
    return true;
}

void shadow_trace_forget(struct shadow *shadow)
{
    while (shadow->traces) {
        struct shadow_trace *trace = shadow->traces;
        shadow->traces = trace->next;
        free(trace);
    }
}
