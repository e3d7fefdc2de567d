// SPDX-License-Identifier: Apache-2.0
// Launches at element level or with values: their slots, and the reduction that runs behind each
// launch and writes one record into pinned memory. See device/device.h for what the reduction does.
#include "reduce.h"

#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "element.h"
#include "inject/util/settings.h"
#include "lane.h"
#include "malloc.h"
#include "memory.h"
#include "repeats.h"
#include "reuse.h"
#include "scan.h"
#include "table.h"
#include "trace.h"
#include "weigh.h"
#include "words.h"

_Static_assert(sizeof(struct device_mask) == sizeof(struct instrument_mask) &&
                   (int)DEVICE_MASKS == (int)INSTRUMENT_MASKS &&
                   (int)DEVICE_PLACES == (int)INSTRUMENT_PLACES,
               "they are the same");

bool shadow_reduce_load(struct shadow *shadow, bool counts)
{
    const struct shadow_code_kernel kernels[] = {
        {DEVICE_REDUCE, &shadow->reduce[counts], 0},
        {DEVICE_REDUCE_MANY, &shadow->reduce_many, 0},
    };
    // Tests choose the blocks that GPUs get.
    const char *blocks = util_setting("GLINT_REDUCTION");
    shadow->few = core_state.simulated && !(blocks && strcmp(blocks, "wide") == 0);
    const char *bits_ptx = shadow->few ? device_few_ptx : device_ptx;
    return shadow_code_load(shadow, counts ? device_counts_ptx : bits_ptx, kernels, counts ? 1 : 2,
                            "to load the reduction code");
}

// --- The record ----------------------------------------------------------------------------------

static uint32_t place(uint64_t *bytes, uint64_t more)
{
    const uint64_t here = *bytes;
    *bytes += (more + 7) / 8 * 8;
    return (uint32_t)here;
}

uint64_t shadow_reduce_describe(const struct shadow_ticket *ticket, struct device_reduction *about)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    uint64_t bytes = sizeof(struct device_result);
    memset(about, 0, offsetof(struct device_reduction, jobs));
    about->small.flag_count = kernel->flag_count;
    about->small.flag_rows = INSTRUMENT_FLAG_ROWS;
    about->small.flag_row_bytes = kernel->flag_row_bytes;
    about->small.tally_count = kernel->tally_count;
    about->small.tally_rows = INSTRUMENT_TALLY_ROWS;
    about->small.tally_row_bytes = kernel->tally_row_bytes;
    if (ticket->table) {
        about->small.strayed_count =
            ticket->facts & INSTRUMENT_ELEMENTS ? 2 * ticket->root_count : 0;
        about->table_count = ticket->table->count;
    }
    about->small.by_place = ticket->regular;
    about->small.tallies_at =
        place(&bytes, about->small.tally_count * sizeof(uint64_t) *
                          (about->small.by_place ? (uint64_t)INSTRUMENT_PLACES : 1));
    if (ticket->facts & INSTRUMENT_ACCESSED) {
        about->small.accessed_count = kernel->accessed_count;
        about->small.accessed_rows = INSTRUMENT_TALLY_ROWS;
        about->small.accessed_row_bytes = kernel->accessed_row_bytes;
    }
    about->small.accessed_at =
        place(&bytes, about->small.accessed_count * sizeof(struct device_accessed));
    about->small.strayed_at = place(&bytes, about->small.strayed_count * sizeof(uint64_t));
    about->small.flags_at = place(&bytes, about->small.flag_count);
    about->jobs_at = place(&bytes, ticket->job_count * sizeof(struct device_sums));
    about->entries_at = place(&bytes, about->table_count * sizeof(struct device_touched));
    if (ticket->facts & INSTRUMENT_COUNTS) {
        about->job_counts_at = place(&bytes, ticket->job_count * sizeof(struct device_counted));
        about->entry_counts_at = place(&bytes, about->table_count * sizeof(struct device_counted));
    }
    if (ticket->regular) {
        bytes = (bytes + 15) / 16 * 16; // they are moved as vectors
        about->small.masks_at =
            place(&bytes, (1 + INSTRUMENT_MASKS) * sizeof(struct instrument_mask));
    }
    return bytes;
}

bool shadow_reduce_landed(const struct shadow_batch *batch)
{
    for (const struct shadow_ticket *ticket = batch->first; ticket; ticket = ticket->next) {
        const struct device_result *result = ticket->result;
        if (result && !result->sequence)
            return false;
    }
    if (!shadow_scan_landed(batch->scans) || !shadow_weigh_landed(batch->weighing))
        return false;
    atomic_thread_fence(memory_order_acquire);
    return true;
}

// --- Before the launch ---------------------------------------------------------------------------

// Returns the job of the object, one for all roots that point into it; UINT32_MAX: no memory.
static uint32_t job_for(struct shadow_ticket *ticket, const struct shadow_object *object,
                        const struct device_job *job)
{
    for (uint32_t i = 0; i < ticket->job_count; i++) {
        if (ticket->jobs[i].object == object->number)
            return i;
    }
    ticket->jobs[ticket->job_count] =
        (struct shadow_job){.object = object->number, .grain = object->grain, .job = *job};
    return ticket->job_count++;
}

bool shadow_reduce_roots(struct shadow_pad *pad, struct shadow_ticket *ticket,
                         const uint64_t *roots, struct instrument_slot *slots)
{
    struct shadow *shadow = ticket->shadow;
    const bool counts = ticket->facts & INSTRUMENT_COUNTS;
    ticket->jobs = calloc(ticket->root_count + 1, sizeof(*ticket->jobs));
    if (!ticket->jobs) {
        core_no_memory();
        return false;
    }
    for (uint32_t i = 0; i < ticket->root_count; i++) {
        struct core_objects_piece piece;
        ticket->roots[i].object = 0;
        if (!roots[i] || !core_objects_find_piece(&core_state.objects, roots[i], &piece))
            continue;
        const struct shadow_object *object = shadow_object_at(
            shadow, pad, &piece.object, ticket->kernel->roots[i].element_bytes, counts);
        const struct shadow_marks *marks =
            object ? shadow_marks_at(shadow, pad, object, counts) : NULL;
        if (!marks)
            return false;
        const struct device_job job = shadow_job_of(object, marks, counts);
        ticket->roots[i].object = object->number;
        ticket->roots[i].job = job_for(ticket, object, &job);
        slots[i] = shadow_slot_of(&piece, object, marks, counts);
    }
    return true;
}

void shadow_reduce_place(const struct shadow_pad *pad, const struct shadow_ticket *ticket,
                         struct device_reduction *about)
{
    const struct shadow_small small = shadow_small_of(ticket->kernel);
    about->done = pad->small.address + SHADOW_DONE_AT;
    about->small.flags = pad->small.address + small.flags;
    about->small.tallies = pad->small.address + small.tallies;
    about->small.accessed = pad->small.address + small.accessed;
    about->small.masks = ticket->regular ? pad->small.address + small.masks : 0;
    about->small.result = (uint64_t)(uintptr_t)ticket->result;
    if (!ticket->table)
        return;
    about->small.strayed = pad->small.address + small.strayed;
    about->small.strays = pad->small.address + SHADOW_STRAYS_AT;
    about->touched = pad->says.touched;
    about->moved = pad->says.moved;
    about->stored = pad->says.stored;
    about->entries = pad->jobs_at;
}

static bool ensure_small(struct shadow_lane *lane, uint64_t bytes)
{
    struct shadow *shadow = lane->shadow;
    struct shadow_pad *pad = &lane->pad;
    if (pad->small.bytes >= bytes)
        return true;
    shadow_lane_give(lane, &pad->small);
    shadow_table_drop(shadow, pad->table); // the table refers to it
    pad->table = NULL;
    return shadow_take(shadow, &shadow->device, bytes, &pad->small) &&
           shadow_own_clear(shadow, pad->small);
}

// With shadow->lock held.
static bool enter(struct shadow_lane *lane, struct shadow_ticket *ticket,
                  const struct shadow_launch *launch, struct instrument_context *context,
                  struct instrument_slot *slots)
{
    struct shadow *shadow = lane->shadow;
    struct shadow_pad *pad = &lane->pad;
    const bool counts = ticket->facts & INSTRUMENT_COUNTS;
    const struct shadow_small small = shadow_small_of(ticket->kernel);
    if (!shadow_reduce_load(shadow, counts) || !ensure_small(lane, small.bytes) ||
        (ticket->facts & INSTRUMENT_ELEMENTS &&
         !shadow_reduce_roots(pad, ticket, launch->roots, slots)))
        return false;
    shadow_malloc_enter(shadow, ticket);
    if (ticket->kernel->needs_table) {
        ticket->table = shadow_table_hold(shadow);
        if (!ticket->table)
            return false;
        if (pad->table != ticket->table || pad->facts != ticket->facts) {
            struct shadow_block old[2] = {{0}};
            const bool good = shadow_pad_table(shadow, pad, ticket->table, ticket->facts, old);
            shadow_lane_give(lane, &old[0]);
            shadow_lane_give(lane, &old[1]);
            if (!good)
                return false;
        }
    }
    struct device_reduction about;
    uint64_t bytes = shadow_reduce_describe(ticket, &about);
    struct shadow_block old = {0};
    shadow_words_enter(shadow, pad, ticket, &old);
    shadow_lane_give(lane, &old);
    ticket->words_at = bytes;
    bytes += ticket->word_bytes;
    shadow_reuse_enter(shadow, pad, ticket, launch, &old);
    shadow_lane_give(lane, &old);
    ticket->reuse_at = bytes;
    bytes += ticket->reuse_bytes;
    lane->reduced = shadow_batch_make(shadow, bytes, false);
    if (!lane->reduced)
        return false;
    ticket->result = shadow_host(lane->reduced->landing);
    ticket->result->sequence = 0;
    shadow_reduce_place(pad, ticket, &about);
    *context = (struct instrument_context){
        .flags = ticket->kernel->flag_count ? about.small.flags : 0,
        .tallies = ticket->kernel->tally_count ? about.small.tallies : 0,
        .accessed = ticket->kernel->accessed_count ? about.small.accessed : 0,
        .masks = about.small.masks,
        .table = ticket->table ? pad->entries.address : 0,
    };
    shadow_reuse_point(shadow, pad, ticket, lane->reduced, context);
    shadow_trace_enter(shadow, ticket, launch, context);
    shadow_element_begun(shadow, ticket);
    shadow_repeats_enter(ticket, launch);
    if (shadow_repeats_find(ticket, &about))
        return true;
    return shadow_own_wait(shadow, lane->stream) &&
           (!ticket->table ||
            shadow_malloc_point(shadow, ticket, pad->entries.address, lane->stream));
}

bool shadow_reduce_enter(struct shadow_lane *lane, struct shadow_ticket *ticket,
                         const struct shadow_launch *launch, struct instrument_context *context,
                         struct instrument_slot *slots, struct instrument_pieces *pieces)
{
    shadow_lane_tell(lane);
    util_mutex_lock(&lane->shadow->lock, RANK_SHADOW);
    bool good = enter(lane, ticket, launch, context, slots);
    util_mutex_unlock(&lane->shadow->lock, RANK_SHADOW);
    if (good && ticket->facts & INSTRUMENT_VALUES)
        good = shadow_scan_before(lane, ticket, launch->roots, pieces);
    if (!good && lane->reduced) {
        shadow_batch_free(lane->shadow, lane->reduced);
        lane->reduced = NULL;
    }
    return good;
}

// --- After the launch ----------------------------------------------------------------------------

uint32_t shadow_reduce_threads(const struct shadow *shadow, bool counts)
{
    return shadow->few && !counts ? DEVICE_FEW_THREADS : DEVICE_THREADS;
}

// Returns how many blocks to launch: as many as have work for each warp, and as the GPU runs at
// once.
static uint32_t blocks_for(const struct shadow *shadow, uint64_t words, bool counts)
{
    const uint64_t each = shadow->few && !counts ? DEVICE_FEW_WORDS
                                                 : DEVICE_CHUNK_WORDS * (counts ? 1 : DEVICE_SPAN) *
                                                       (DEVICE_THREADS / 32);
    const uint64_t wanted = (words + each - 1) / each;
    const uint64_t most =
        (uint64_t)shadow->processors * (counts ? DEVICE_COUNTS_BLOCKS : DEVICE_BLOCKS);
    return wanted < 1 ? 1 : (uint32_t)(wanted < most ? wanted : most);
}

CUresult shadow_reduce_enqueue(const struct shadow *shadow, struct device_reduction *about,
                               uint64_t words, bool counts, CUstream stream)
{
    void *params[] = {about};
    return REAL(cuLaunchKernel)(shadow->reduce[counts], blocks_for(shadow, words, counts), 1, 1,
                                shadow_reduce_threads(shadow, counts), 1, 1, 0, stream, params,
                                NULL);
}

bool shadow_reduce_small(const struct shadow_lane *lane, const struct shadow_ticket *ticket,
                         struct device_small *small)
{
    struct device_reduction about;
    if (ticket->job_count || ticket->table)
        return false;
    shadow_reduce_describe(ticket, &about);
    shadow_reduce_place(&lane->pad, ticket, &about);
    *small = about.small;
    return true;
}

void shadow_reduce_launched(struct shadow_lane *lane, struct shadow_ticket *ticket)
{
    struct shadow *shadow = lane->shadow;
    struct shadow_batch *batch = lane->reduced;
    struct device_reduction about;
    CUresult result = CUDA_SUCCESS;
    lane->reduced = NULL;
    shadow_reduce_describe(ticket, &about);
    shadow_reduce_place(&lane->pad, ticket, &about);
    const uint32_t jobs_at = about.jobs_at, counts_at = about.job_counts_at;
    if (ticket->repeated) {
        shadow_batch_add(batch, ticket);
        shadow_lane_fly(lane, batch);
        return;
    }
    const CUstreamCaptureMode mode = shadow_relax();
    // If there are more jobs than fit into one reduction, several run; only the last does more than
    // process jobs.
    for (uint32_t from = 0; result == CUDA_SUCCESS && !ticket->is_reduced;) {
        const uint32_t left = ticket->job_count - from;
        uint64_t words = 0;
        about.job_count = left < DEVICE_JOBS ? left : DEVICE_JOBS;
        about.sequence = about.job_count == left;
        for (uint32_t i = 0; i < about.job_count; i++) {
            about.jobs[i] = ticket->jobs[from + i].job;
            words += about.jobs[i].words;
        }
        about.jobs_at = jobs_at + from * (uint32_t)sizeof(struct device_sums);
        about.job_counts_at = counts_at + from * (uint32_t)sizeof(struct device_counted);
        if (about.sequence && ticket->table)
            words += lane->pad.table_words;
        result = shadow_reduce_enqueue(shadow, &about, words, ticket->facts & INSTRUMENT_COUNTS,
                                       lane->stream->handle);
        from += about.job_count;
        if (about.sequence)
            break;
    }
    shadow_restore(mode);
    shadow_batch_add(batch, ticket);
    if (result == CUDA_SUCCESS) {
        shadow_lane_fly(lane, batch);
        return;
    }
    shadow_fail(shadow, "to sum up", result);
    shadow_batch_free(shadow, batch);
}
