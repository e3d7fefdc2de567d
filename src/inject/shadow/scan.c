// SPDX-License-Identifier: Apache-2.0
// Scans of contents. A launch is followed, on its stream, by a scan of the objects that it may have
// written, and preceded by one of the objects that it may use if they hold something that was not
// described yet. Copies and sets are followed by a scan of the bytes that they wrote.
#include "scan.h"

#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "constant.h"
#include "inject/core/tail.h"
#include "lane.h"
#include "memory.h"
#include "reduce.h"

struct shadow_scan {
    struct shadow_scan *next; // of the same batch
    struct shadow_block landing;
    uint64_t call;             // 0: it is not recorded
    uint8_t kind;              // enum event_contents_kind
    bool words;                // device_values_is_words: of all jobs
    struct device_small small; // of the launch
    uint32_t count;
    struct scan_job {
        struct shadow_contents *contents; // held
        uint32_t at;                      // bytes from the start of what lands
        uint64_t number;                  // of those of the contents, from 1 on
        struct device_values_job job;
        struct shadow_constant constant; // fills the object, so that the host describes it
        uint64_t gaps;                   // bytes of the range that were not written
    } jobs[DEVICE_VALUES_JOBS];
};

// --- The code ------------------------------------------------------------------------------------

bool shadow_scan_load(struct shadow *shadow, bool words)
{
    const struct shadow_code_kernel kernels[] = {
        {DEVICE_VALUES_SCAN, &shadow->scans[words], DEVICE_VALUES_SHARED},
        {DEVICE_VALUES_MARK, &shadow->mark, 0},
    };
    return shadow_code_load(shadow, words ? device_values_ptx : device_values_others_ptx, kernels,
                            words ? 2 : 1, "to load the code that looks at contents");
}

// --- Making a scan -------------------------------------------------------------------------------

void shadow_scan_add(struct shadow_scan_list *list, struct shadow_contents *contents,
                     const struct device_values_job *job, const struct core_stream *stream)
{
    const bool words = device_values_is_words(job);
    struct shadow_scan *scan = list->open[words];
    if (!scan || scan->count == DEVICE_VALUES_JOBS) {
        scan = calloc(1, sizeof(*scan));
        if (!scan) {
            core_no_memory();
            return;
        }
        scan->kind = (uint8_t)list->kind;
        scan->words = words;
        *(list->last ? &list->last->next : &list->first) = scan;
        list->last = list->open[words] = scan;
    }
    struct scan_job *place = &scan->jobs[scan->count++];
    place->contents = contents;
    place->job = *job;
    shadow_known_meet(contents, stream, atomic_load(&stream->enqueued) + 1);
    place->number = ++contents->scans;
    contents->known = true;
    shadow_contents_hold(contents);
}

static uint64_t result_bytes(const struct device_values_job *job)
{
    return offsetof(struct device_values_result, fields) +
           job->field_count * sizeof(struct device_field_result);
}

static struct device_values_result *result_of(const struct shadow_scan *scan,
                                              const struct scan_job *about)
{
    return (void *)((char *)shadow_host(scan->landing) + about->at);
}

// Takes memory for the results of the scan, in which the device code leaves fields alone that it
// does not describe. With shadow->lock held.
static bool take_landing(struct shadow *shadow, struct shadow_scan *scan)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < scan->count; i++) {
        scan->jobs[i].at = SHADOW_CODE_RESULTS_AT + (uint32_t)bytes;
        bytes += result_bytes(&scan->jobs[i].job);
    }
    if (!shadow_code_land(shadow, bytes, &scan->landing))
        return false;
    for (uint32_t i = 0; i < scan->count; i++) {
        const struct scan_job *about = &scan->jobs[i];
        if (about->constant.bytes)
            shadow_constant_describe(&about->constant, &about->job, result_of(scan, about)->fields);
    }
    return true;
}

// --- Enqueuing -----------------------------------------------------------------------------------

static CUresult enqueue(struct shadow_lane *lane, const struct shadow_scan *scan)
{
    const struct shadow *shadow = lane->shadow;
    const CUstream stream = lane->stream->handle;
    struct device_values about = {
        .done = lane->scan_work.address,
        .sequence = scan->landing.address,
        .job_count = scan->count,
        .small = scan->small,
    };
    void *params[] = {&about};
    for (uint32_t i = 0; i < scan->count; i++) {
        about.jobs[i] = scan->jobs[i].job;
        about.jobs[i].work =
            lane->scan_work.address + SHADOW_CODE_WORK_AT + (uint64_t)i * DEVICE_VALUES_WORK;
        about.jobs[i].result = scan->landing.address + scan->jobs[i].at;
    }
    const uint32_t blocks = device_values_grid(&about, shadow->processors);
    return REAL(cuLaunchKernel)(shadow->scans[scan->words], blocks, 1, 1, DEVICE_VALUES_THREADS, 1,
                                1, DEVICE_VALUES_SHARED, stream, params, NULL);
}

// Says that the pieces of objects that the host describes were seen.
static CUresult enqueue_seen(const struct shadow_lane *lane, const struct shadow_scan *scan)
{
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < scan->count && result == CUDA_SUCCESS; i++) {
        const struct device_values_job *job = &scan->jobs[i].job;
        if (scan->jobs[i].constant.bytes)
            result = REAL(cuMemsetD8Async)(job->states, DEVICE_PIECE_KNOWN | DEVICE_PIECE_SEEN,
                                           job->pieces, lane->stream->handle);
    }
    return result;
}

void shadow_scan_free(struct shadow *shadow, struct shadow_scan *scans)
{
    while (scans) {
        struct shadow_scan *scan = scans;
        scans = scan->next;
        for (uint32_t i = 0; i < scan->count; i++)
            shadow_contents_drop(shadow, scan->jobs[i].contents);
        shadow_give(&shadow->pinned, &scan->landing);
        free(scan);
    }
}

struct shadow_scan *shadow_scan_start(struct shadow_lane *lane, struct shadow_scan *scans)
{
    struct shadow *shadow = lane->shadow;
    if (!scans)
        return NULL;
    uint64_t jobs = 1; // a power of two, so that work memory seldom grows
    for (const struct shadow_scan *scan = scans; scan; scan = scan->next) {
        while (jobs < scan->count)
            jobs *= 2;
    }
    bool good = shadow_code_work(lane, &lane->scan_work, jobs * DEVICE_VALUES_WORK);
    // Code is loaded with clones, because that may wait for everything.
    bool has_code = true;
    for (struct shadow_scan *scan = scans; scan && good && has_code; scan = scan->next) {
        has_code = scan->words ? shadow_scan_load(shadow, true) : shadow->scans[false] != NULL;
        good = has_code && take_landing(shadow, scan);
    }
    if (!good || !shadow_own_wait(shadow, lane->stream)) {
        for (const struct shadow_scan *scan = scans; scan; scan = scan->next)
            *(has_code ? &shadow->unlooked : &shadow->uncoded) += scan->count;
        shadow_scan_free(shadow, scans);
        return NULL;
    }
    CUresult result = CUDA_SUCCESS;
    core_tail_begin(lane->stream);
    const CUstreamCaptureMode mode = shadow_relax();
    for (const struct shadow_scan *scan = scans; scan && result == CUDA_SUCCESS;
         scan = scan->next) {
        result = enqueue(lane, scan);
        if (result == CUDA_SUCCESS)
            result = enqueue_seen(lane, scan);
    }
    shadow_restore(mode);
    if (result == CUDA_SUCCESS)
        return scans;
    shadow_fail(shadow, "to look at contents", result);
    shadow_scan_free(shadow, scans);
    return NULL;
}

struct shadow_batch *shadow_scan_start_batch(struct shadow_lane *lane, struct shadow_scan *scans)
{
    struct shadow *shadow = lane->shadow;
    struct shadow_batch *batch = scans ? shadow_batch_make(shadow, SHADOW_ALIGN, false) : NULL;
    if (batch)
        batch->scans = shadow_scan_start(lane, scans);
    else
        shadow_scan_free(shadow, scans);
    return batch;
}

void shadow_scan_fly(struct shadow_lane *lane, struct shadow_batch *batch, uint64_t call)
{
    if (batch && batch->scans) {
        shadow_scan_set_call(batch->scans, call);
        shadow_lane_fly(lane, batch);
    } else if (batch) {
        shadow_batch_free(lane->shadow, batch);
    }
}

bool shadow_scan_mark(struct shadow_lane *lane, const struct device_marking *marking)
{
    struct shadow *shadow = lane->shadow;
    struct device_marking about = *marking;
    void *params[] = {&about};
    if (!shadow_scan_load(shadow, true) || !shadow_own_wait(shadow, lane->stream))
        return false;
    const uint64_t places = about.other ? (uint64_t)about.mask + 1 : about.count;
    const uint64_t wanted = (places + DEVICE_VALUES_THREADS - 1) / DEVICE_VALUES_THREADS,
                   most = (uint64_t)shadow->processors * DEVICE_VALUES_BLOCKS;
    core_tail_begin(lane->stream);
    const CUstreamCaptureMode mode = shadow_relax();
    const CUresult result =
        REAL(cuLaunchKernel)(shadow->mark, (unsigned)(wanted < most ? wanted : most), 1, 1,
                             DEVICE_VALUES_THREADS, 1, 1, 0, lane->stream->handle, params, NULL);
    shadow_restore(mode);
    if (result != CUDA_SUCCESS)
        shadow_fail(shadow, "to mark pieces", result);
    return result == CUDA_SUCCESS;
}

// --- Launches ------------------------------------------------------------------------------------

uint32_t shadow_scan_ways(const struct instrument_kernel *kernel, uint32_t root)
{
    uint32_t ways = 0;
    for (uint32_t i = 0; i < kernel->site_count; i++) {
        const struct instrument_site *site = &kernel->sites[i];
        if (site->root == root)
            ways |= (site->access != 1 ? EVENT_ACCESS_READ : 0u) |
                    (site->access != 0 ? EVENT_ACCESS_WRITTEN : 0u);
    }
    return ways;
}

bool shadow_scan_looks_up(const struct shadow_ticket *ticket)
{
    return ticket->table &&
           shadow_scan_ways(ticket->kernel, INSTRUMENT_NONE) & EVENT_ACCESS_WRITTEN;
}

bool shadow_scan_sees(const struct instrument_kernel *kernel)
{
    return !kernel->unmarked && !kernel->reason;
}

void shadow_scan_set_call(struct shadow_scan *scans, uint64_t call)
{
    for (struct shadow_scan *scan = scans; scan; scan = scan->next)
        scan->call = call;
}

void shadow_scan_add_written(struct shadow_ticket *ticket, struct shadow_contents *contents)
{
    for (uint32_t i = 0; i < ticket->written_count; i++) {
        if (ticket->written[i] == contents)
            return;
    }
    ticket->written[ticket->written_count++] = contents;
    shadow_contents_hold(contents);
}

void shadow_scan_add_found(struct shadow_scan_list *list, struct shadow_contents *contents,
                           bool reads, const struct core_stream *stream)
{
    if ((!contents->unseen && !(reads && contents->undescribed)) ||
        shadow_is_concurrent(contents, stream))
        return;
    const struct device_values_job job =
        shadow_contents_job(contents, contents->undescribed ? DEVICE_KNOWN : DEVICE_UNSEEN);
    if (job.describes)
        shadow_scan_add(list, contents, &job, stream);
    contents->unseen = contents->undescribed = false;
}

// Lists what the launch may write in the ticket, and returns scans of what it finds. With
// shadow->lock held.
static struct shadow_scan *prepare(struct shadow_lane *lane, struct shadow_ticket *ticket,
                                   const uint64_t *roots, struct instrument_pieces *pieces)
{
    struct shadow *shadow = lane->shadow;
    const struct instrument_kernel *kernel = ticket->kernel;
    struct shadow_scan_list list = {.kind = EVENT_CONTENTS_FOUND};
    for (uint32_t i = 0; i < ticket->root_count; i++) {
        const uint32_t ways = shadow_scan_ways(kernel, i);
        struct shadow_contents *contents = ways ? shadow_contents_holding(shadow, roots[i]) : NULL;
        if (ways & EVENT_ACCESS_WRITTEN)
            shadow_contents_written_from(shadow->context, roots[i]);
        if (!contents || !shadow_known_refresh(shadow, contents, lane->stream))
            continue;
        shadow_contents_shape(contents, &kernel->roots[i].layout, roots[i]);
        shadow_scan_add_found(&list, contents, ways & EVENT_ACCESS_READ, lane->stream);
        if (ways & EVENT_ACCESS_WRITTEN) {
            pieces[i] = shadow_contents_pieces(contents);
            shadow_known_writes(contents, lane->stream);
            shadow_scan_add_written(ticket, contents);
        }
    }
    for (uint32_t i = 0; shadow_scan_looks_up(ticket) && i < ticket->table->count; i++) {
        struct shadow_contents *contents =
            shadow_contents_of(shadow, ticket->table->pieces[i].object.number);
        if (contents && shadow_known_refresh(shadow, contents, lane->stream)) {
            shadow_known_writes(contents, lane->stream);
            shadow_scan_add_written(ticket, contents);
        }
    }
    return list.first;
}

void shadow_scan_peers(const struct shadow_ticket *ticket, bool marked, struct core_stream *stream)
{
    if (atomic_load_explicit(&core_state.peers, memory_order_relaxed) &&
        (!marked || shadow_scan_looks_up(ticket)))
        shadow_unseen_others(stream);
}

bool shadow_scan_make_written(struct shadow_ticket *ticket)
{
    const size_t most =
        ticket->root_count + (shadow_scan_looks_up(ticket) ? ticket->table->count : 0);
    ticket->written = calloc(most + 1, sizeof(struct shadow_contents *));
    if (!ticket->written)
        core_no_memory();
    return ticket->written != NULL;
}

bool shadow_scan_before(struct shadow_lane *lane, struct shadow_ticket *ticket,
                        const uint64_t *roots, struct instrument_pieces *pieces)
{
    struct shadow *shadow = lane->shadow;
    if (!shadow_scan_make_written(ticket))
        return false;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_scan *scans = prepare(lane, ticket, roots, pieces);
    const bool good = shadow_own_wait(shadow, lane->stream); // contents may be new
    struct shadow_batch *batch = shadow_scan_start_batch(lane, scans);
    ticket->found = batch ? batch->scans : NULL;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    shadow_scan_fly(lane, batch, 0); // the call has no number yet
    return good;
}

void shadow_scan_after(struct shadow_lane *lane, struct shadow_ticket *ticket,
                       struct shadow_batch *batch)
{
    struct shadow *shadow = lane->shadow;
    struct shadow_scan_list list = {.kind = EVENT_CONTENTS_WRITTEN};
    const bool marked = shadow_scan_sees(ticket->kernel);
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    if (!marked)
        shadow_known_unseen(shadow, lane->stream);
    for (uint32_t i = 0; marked && i < ticket->written_count; i++) {
        struct shadow_contents *contents = ticket->written[i];
        const struct device_values_job job = shadow_known_job(contents, lane->stream);
        shadow_scan_add(&list, contents, &job, lane->stream);
    }
    const bool small = list.first && shadow_reduce_small(lane, ticket, &list.first->small);
    batch->scans = shadow_scan_start(lane, list.first);
    ticket->is_reduced = small && batch->scans;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    shadow_scan_set_call(batch->scans, ticket->call);
    shadow_scan_set_call(ticket->found, ticket->call);
    shadow_scan_peers(ticket, marked, lane->stream);
}

// It is described again before the next launch that is made.
void shadow_scan_unfind(const struct shadow_scan *scans)
{
    for (; scans; scans = scans->next) {
        for (uint32_t i = 0; i < scans->count; i++)
            scans->jobs[i].contents->undescribed = true;
    }
}

void shadow_scan_refused(struct shadow_ticket *ticket)
{
    util_mutex_lock(&ticket->shadow->lock, RANK_SHADOW);
    shadow_scan_unfind(ticket->found);
    util_mutex_unlock(&ticket->shadow->lock, RANK_SHADOW);
}

void shadow_scan_leave(struct shadow_ticket *ticket)
{
    for (uint32_t i = 0; i < ticket->written_count; i++)
        shadow_contents_drop(ticket->shadow, ticket->written[i]);
    ticket->written_count = 0;
}

// --- Copies and sets -----------------------------------------------------------------------------

// Scans what a copy or set has written. If it leaves one value in all of the object, the
// description is known: only hashes are compared.
static struct shadow_scan *range(struct shadow_lane *lane, const struct shadow_writing *writing)
{
    struct shadow *shadow = lane->shadow;
    const uint64_t from = writing->from, to = writing->to;
    struct shadow_scan_list list = {.kind = EVENT_CONTENTS_WRITTEN};
    struct shadow_contents *contents = shadow_contents_holding(shadow, from);
    if (!shadow_contents_is_one(from, to)) {
        shadow_known_unseen(shadow, lane->stream);
        return NULL;
    }
    if (!contents || !shadow_known_refresh(shadow, contents, lane->stream))
        return NULL;
    struct device_values_job job = shadow_contents_job(contents, DEVICE_RANGE);
    job.from = from;
    job.to = to;
    if (shadow_is_concurrent(contents, lane->stream))
        job.describes = job.field_count = 0;
    contents->unseen |= !job.describes;
    const bool single = job.describes && writing->bytes == contents->bytes &&
                        shadow_constant_is_single(&writing->constant, &job);
    if (single) {
        job.describes = 0;
        contents->unseen = contents->undescribed = false;
    }
    job.filled = !job.describes && writing->constant.bytes && writing->bytes == to - from &&
                 !shadow_is_concurrent(contents, lane->stream);
    job.word = shadow_constant_word(&writing->constant);
    shadow_scan_add(&list, contents, &job, lane->stream);
    if (list.first) {
        list.first->jobs[0].gaps = to - from - writing->bytes;
        if (single)
            list.first->jobs[0].constant = writing->constant;
    }
    return list.first;
}

void shadow_wrote(struct core_stream *stream, uint64_t call, const struct shadow_writing *writing)
{
    struct shadow *shadow = shadow_of(stream->context);
    if (!shadow || atomic_load(&shadow->failed) || !writing->bytes)
        return;
    struct shadow_lane *lane = shadow_lane_take(shadow, stream);
    if (!lane)
        return;
    shadow_lane_tell(lane);
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_batch *batch = shadow_scan_start_batch(lane, range(lane, writing));
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    shadow_scan_fly(lane, batch, call);
    if (batch)
        core_stream_work(stream);
    shadow_lane_leave(lane);
}

// --- Records -------------------------------------------------------------------------------------

bool shadow_scan_landed(const struct shadow_scan *scans)
{
    for (const struct shadow_scan *scan = scans; scan; scan = scan->next) {
        if (!shadow_code_landed(scan->landing))
            return false;
    }
    return true;
}

static void put_field(struct event_field *to, const struct device_values_job *job, uint32_t index,
                      const struct device_field_result *from)
{
    *to = (struct event_field){
        .elements = from->elements,
        .zeros = from->zeros,
        .nans = from->nans,
        .least = from->least,
        .greatest = from->greatest,
        .any_bits = from->any_bits,
        .all_bits = from->all_bits,
        .integral = from->integral,
        .narrow = from->narrow,
        .brief = from->brief,
        .slope = from->slope,
        .intercept = from->intercept,
        .linear = from->linear,
        .distinct = (uint32_t)from->distinct,
        .offset = job->fields[index].offset,
        .type = (uint8_t)job->fields[index].type,
    };
    for (int i = 0; i < EVENT_CANDIDATES; i++) {
        to->candidates[i].value = from->candidates[i].value;
        to->candidates[i].count = from->candidates[i].count;
    }
    for (int i = 0; i < EVENT_ROUNDINGS; i++) {
        to->roundings[i].value = from->roundings[i].value;
        to->roundings[i].count = from->roundings[i].count;
        to->roundings[i].linear = from->roundings[i].linear;
    }
}

_Static_assert((int)EVENT_FIELDS == DEVICE_FIELDS && (int)EVENT_CANDIDATES == DEVICE_CANDIDATES &&
                   (int)EVENT_ROUNDINGS == DEVICE_ROUNDINGS,
               "they are copied");

static void put_contents(const struct shadow_scan *scan, const struct scan_job *about)
{
    const struct device_values_job *job = &about->job;
    const struct device_values_result *result = result_of(scan, about);
    struct event_field fields[EVENT_FIELDS];
    if (!result->pieces)
        return;
    // Memory that changes while it is read has no description.
    const bool disturbed = about->number <= atomic_load(&about->contents->disturbed);
    const uint32_t field_count = disturbed ? 0 : job->field_count;
    const struct event_contents record = {
        .call = scan->call,
        .object = about->contents->number,
        .pieces = result->pieces,
        .bytes = result->bytes,
        .fresh_pieces = result->fresh,
        // Of pieces that have changed, what was not written may be all that is the same.
        .moved_bytes = result->moved - about->gaps,
        .same_bytes = result->same > about->gaps ? result->same - about->gaps : 0,
        // Two scans at the same time may both count a piece.
        .known_pieces = result->known < job->pieces ? result->known : job->pieces,
        .all_pieces = job->pieces,
        .hash_high = result->hash[1],
        .hash_low = result->hash[0],
        .stride = field_count ? job->stride : 0,
        .flags = disturbed ? EVENT_CONTENTS_CONCURRENT : 0,
        .kind = scan->kind,
        .field_count = (uint8_t)field_count,
    };
    for (uint32_t i = 0; i < field_count; i++)
        put_field(&fields[i], job, i, &result->fields[i]);
    core_put(EVENT_CONTENTS, &record, sizeof(record), fields,
             field_count * sizeof(struct event_field));
}

void shadow_scan_tell(const struct shadow_scan *scans)
{
    for (const struct shadow_scan *scan = scans; scan; scan = scan->next) {
        for (uint32_t i = 0; scan->call && i < scan->count; i++)
            put_contents(scan, &scan->jobs[i]);
    }
}
