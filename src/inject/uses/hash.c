// SPDX-License-Identifier: Apache-2.0
// Hashes of what copies between host and device move (EVENT_HASH), computed at the host's end.
//
// The source of a copy to the device is hashed when the driver's function has returned, before the
// program goes on: it is unchanged, and known to be readable. The destination of a copy to the host
// is hashed at the call that makes it safe: the copy itself, or a later call that waits for it and
// finds it among the pending ranges.
//
// Memory that the GPU will access later must have the same contents then, and still when that is
// known. Other submitted work could change it: copies, which are known, and host functions on
// streams. While any of these may be pending, asynchronous copies are not hashed. A kernel that
// writes into pinned memory while it is copied is the program's responsibility.
//
// A hash does not count as a use by the program: closed pages are opened and closed again.
#include "hash.h"

#include <string.h>

#include "inject/guard/fault.h"
#include "inject/guard/memory.h"
#include "inject/guard/system.h"
#include "state.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

// --- The host's end ------------------------------------------------------------------------------

struct end { // rows of the copy's width
    uint64_t start, pitch, slice;
    uint64_t low, high; // bounds of the data
};

static struct end end_of(const struct event_copy *copy)
{
    const bool from = copy->direction == EVENT_HOST_TO_DEVICE;
    struct end end = {.start = from ? copy->from : copy->to,
                      .pitch = from ? copy->from_pitch : copy->to_pitch,
                      .slice = from ? copy->from_slice : copy->to_slice};
    const bool rows = copy->height > 1 || copy->depth > 1;
    end.low = end.start;
    end.high = end.start + (rows ? (copy->depth - 1) * end.slice + (copy->height - 1) * end.pitch +
                                       copy->width_bytes
                                 : copy->bytes);
    return end;
}

static bool is_readable(const struct end *end)
{
    const uint64_t page = guard_page_bytes();
    for (uint64_t at = end->low; at < end->high; at = (at & ~(page - 1)) + page) {
        if (!guard_can_be_read(at))
            return false;
    }
    return true;
}

// Whether the memory is known to be readable.
enum trust {
    TRUST_NOT,    // it must not be read, or not now
    TRUST_LOOKED, // each page must be tested first
    TRUST_SURE
};

// Registered memory belongs to the program, which may have unmapped it without unregistering it.
static enum trust trust_of(const struct event_copy *copy, const struct end *end, bool later,
                           uint64_t *holder)
{
    struct core_object first, last;
    const bool from = copy->direction == EVENT_HOST_TO_DEVICE;
    core_objects_find(&core_state.objects, OBJECTS_MEMORY, end->low, &first);
    core_objects_find(&core_state.objects, OBJECTS_MEMORY, end->high - 1, &last);
    *holder = first.number;
    if (first.unread || last.unread)
        return TRUST_NOT;
    if ((from ? copy->from_memory : copy->to_memory) == EVENT_MEMORY_PAGEABLE)
        return later ? TRUST_LOOKED : TRUST_SURE;
    if (!first.number)
        return TRUST_NOT;
    return first.kind == EVENT_OBJECT_PINNED && first.number == last.number ? TRUST_SURE
                                                                            : TRUST_LOOKED;
}

static const void *pointer(uint64_t address)
{
    return (const void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

static XXH128_hash_t hash_rows(const struct event_copy *copy, const struct end *end)
{
    if (end->high - end->low == copy->bytes)
        return XXH3_128bits(pointer(end->start), copy->bytes);
    XXH3_state_t sum;
    XXH3_128bits_reset(&sum);
    for (uint64_t z = 0; z < copy->depth; z++) {
        for (uint64_t y = 0; y < copy->height; y++)
            XXH3_128bits_update(&sum, pointer(end->start + z * end->slice + y * end->pitch),
                                copy->width_bytes);
    }
    return XXH3_128bits_digest(&sum);
}

static struct core_call_hash compute(const struct event_copy *copy, const struct end *end,
                                     enum trust trust)
{
    const uint64_t start_ns = core_now_ns();
    struct core_call_hash hash = {.known = false};
    if (trust == TRUST_SURE || (trust == TRUST_LOOKED && is_readable(end))) {
        const XXH128_hash_t found = hash_rows(copy, end);
        hash.high = found.high64;
        hash.low = found.low64;
        hash.known = true;
    }
    hash.took_ns = core_now_ns() - start_ns;
    return hash;
}

// --- Places that copies were made to -------------------------------------------------------------

static uint64_t key_of(const struct event_copy *copy)
{
    const uint64_t words[] = {copy->to,       copy->bytes,       copy->to_pitch,
                              copy->to_slice, copy->width_bytes, copy->height};
    return XXH3_64bits(words, sizeof(words)) | 1;
}

static bool was_seen(uint64_t key)
{
    return atomic_load_explicit(&uses_state.hashes.seen[key >> 32 & (USES_SEEN - 1)],
                                memory_order_relaxed) == key;
}

static void tell(const struct core_call *at, uint64_t number, const struct event_copy *copy,
                 const struct core_call_hash *hash, const struct core_call_hash *before)
{
    if (!hash->known)
        return;
    const bool had = before && before->known;
    const bool same = had && before->high == hash->high && before->low == hash->low;
    struct event_hash record = {
        .copy = number,
        .at = at->number,
        .high = hash->high,
        .low = hash->low,
        .took_ns = hash->took_ns + (had ? before->took_ns : 0),
        .same = !had   ? EVENT_SAME_UNKNOWN
                : same ? EVENT_SAME_YES
                       : EVENT_SAME_NO,
    };
    core_put(EVENT_HASH, &record, sizeof(record), NULL, 0);
    if (copy->direction == EVENT_DEVICE_TO_HOST) {
        const uint64_t key = key_of(copy);
        atomic_store_explicit(&uses_state.hashes.seen[key >> 32 & (USES_SEEN - 1)], key,
                              memory_order_relaxed);
    }
}

// --- Other work ----------------------------------------------------------------------------------

void uses_hash_host_work(void)
{
    atomic_fetch_add(&uses_state.hashes.host_calls, 1);
}

void uses_hash_start(void)
{
    atomic_store(&uses_state.hashes.host_done, atomic_load(&uses_state.hashes.host_calls));
}

void uses_hash_sync(struct core_call *call)
{
    call->host_calls = atomic_load(&uses_state.hashes.host_calls);
}

void uses_hash_idle(const struct core_call *call, bool sync)
{
    if (sync && call->kind == EVENT_CALL_SYNC && !call->stream && !call->event &&
        core_state.contexts_made == 1)
        atomic_store(&uses_state.hashes.host_done, call->host_calls);
}

static bool is_host_at_work(void)
{
    return atomic_load(&uses_state.hashes.host_calls) != atomic_load(&uses_state.hashes.host_done);
}

static bool is_in_flight(const struct end *end)
{
    bool found = false;
    if (!atomic_load_explicit(&guard_state.table.pending, memory_order_relaxed))
        return false;
    guard_lock();
    for (EACH_GUARD_RANGE(range)) // its bounds still include one page behind the data
        found |= range->state == GUARD_PENDING && range->start < end->high &&
                 range->high - guard_page_bytes() > end->low;
    guard_unlock();
    return found;
}

// --- Around calls --------------------------------------------------------------------------------

static bool is_host(uint8_t memory)
{
    return memory == EVENT_MEMORY_PAGEABLE || memory == EVENT_MEMORY_PINNED;
}

static bool is_to_host(const struct event_copy *copy)
{
    return copy->direction == EVENT_DEVICE_TO_HOST && is_host(copy->to_memory) && copy->bytes;
}

// Returns whether the data is still what a copy of the same shape has left there: all its pages are
// closed, and only the CPU could have changed it.
static bool is_untouched(const struct event_copy *copy, const struct guard_range *range)
{
    return range->state == GUARD_ARMED && range->after.known && !range->open && !range->reported &&
           !range->held && !range->about.unwatched_bytes && range->start == copy->to &&
           range->about.bytes == copy->bytes && range->width == copy->bytes && range->rows == 1;
}

static bool recall(struct core_call *call)
{
    const struct event_copy *copy = &call->detail.copy;
    if (copy->to_memory != EVENT_MEMORY_PAGEABLE ||
        !guard_may_be_closed(copy->to, copy->to + copy->bytes))
        return false;
    guard_lock();
    for (EACH_GUARD_RANGE(range)) {
        if (is_untouched(copy, range)) {
            call->before = range->after;
            call->before.took_ns = 0;
        }
    }
    guard_unlock();
    return call->before.known;
}

bool uses_hash_wants_before(struct core_call *call)
{
    const struct event_copy *copy = &call->detail.copy;
    if (!is_to_host(copy) || !was_seen(key_of(copy)) || is_host_at_work())
        return false;
    const struct end end = end_of(copy);
    return !is_in_flight(&end) && !recall(call);
}

void uses_hash_before(struct core_call *call)
{
    const struct event_copy *copy = &call->detail.copy;
    const struct end end = end_of(copy);
    uint64_t holder;
    call->before = compute(copy, &end, trust_of(copy, &end, true, &holder));
}

struct core_call_hash uses_hash_source(const struct core_call *call, const struct event_copy *copy)
{
    struct core_call_hash hash = {.known = false};
    const bool async = call->flags & EVENT_CALL_ASYNC;
    if (copy->direction != EVENT_HOST_TO_DEVICE || !is_host(copy->from_memory) || !copy->bytes)
        return hash;
    const struct end end = end_of(copy);
    uint64_t holder;
    const enum trust trust = trust_of(copy, &end, async, &holder);
    if (trust == TRUST_NOT || (async && copy->from_memory != EVENT_MEMORY_PAGEABLE &&
                               (is_host_at_work() || is_in_flight(&end))))
        return hash;
    struct guard_hold *guard = guard_hold_take(end.low, end.high);
    if (guard_may_be_closed(end.low, end.high)) {
        guard_lock();
        guard_lend(end.low, end.high);
        guard_unlock();
    }
    hash = compute(copy, &end, trust);
    guard_hold_give(guard);
    tell(call, call->number, copy, &hash, NULL);
    return hash;
}

static void hash_destination(struct core_call *call)
{
    const struct event_copy *copy = &call->detail.copy;
    if (!is_to_host(copy))
        return;
    const struct end end = end_of(copy);
    uint64_t holder;
    call->after =
        compute(copy, &end, trust_of(copy, &end, call->flags & EVENT_CALL_ASYNC, &holder));
    tell(call, call->number, copy, &call->after, &call->before);
}

void uses_hash_after(struct core_call *call, bool sync)
{
    if (call->result != CUDA_SUCCESS || call->flags & EVENT_CALL_CAPTURED)
        return;
    call->after = uses_hash_source(call, &call->detail.copy);
    if (sync)
        hash_destination(call);
}

// --- Copies that are pending ---------------------------------------------------------------------

// Hashes only memory from the driver's allocators, or registered with the driver, because glint
// sees when it is freed.
void uses_hash_begin(struct guard_range *range, const struct event_copy *copy)
{
    uint64_t holder;
    const struct end end = end_of(copy);
    if (is_to_host(copy) && copy->to_memory == EVENT_MEMORY_PINNED && !is_host_at_work() &&
        trust_of(copy, &end, true, &holder) != TRUST_NOT) {
        range->what = *copy;
        range->holder = holder;
    }
}

void uses_hash_keep_before(const struct core_call *call)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_PENDING && range->about.copy == call->number)
            range->before = call->before;
    }
}

void uses_hash_disturb(uint64_t low, uint64_t high)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_PENDING && range->what.bytes && range->start < high &&
            end_of(&range->what).high > low)
            range->what.bytes = 0;
    }
}

void uses_hash_safe(const struct core_call *call, struct guard_range *range)
{
    const struct event_copy *copy = &range->what;
    if (range->about.copy == call->number) {
        range->after = call->after;
        return;
    }
    if (!copy->bytes || is_host_at_work())
        return;
    const struct end end = end_of(copy);
    uint64_t holder;
    const enum trust trust = trust_of(copy, &end, true, &holder);
    if (holder != range->holder)
        return;
    const struct core_call_hash hash = compute(copy, &end, trust);
    guard_state.table.locked_ns += hash.took_ns; // this time does not count as watching
    tell(call, range->about.copy, copy, &hash, &range->before);
}
