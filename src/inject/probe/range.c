// SPDX-License-Identifier: Apache-2.0
// Counts the ranges that are open. There are no locks, so that a child of fork finds none held.
#include "range.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "event/event.h"
#include "inject/core/presence.h"
#include "inject/util/settings.h"

enum { SLOTS = 1024 };

static struct {
    pthread_once_t once;
    struct event_capture wanted; // written once
    // Any thread:
    _Atomic bool profiled; // the program is between cuProfilerStart and cuProfilerStop
    _Atomic uint32_t open; // wanted ranges that hold for all threads
    // The identifiers of ranges that were started; 0: unused. An identifier is SLOTS times a
    // number, plus its slot. If more are open at once, the others have no effect and no end.
    _Atomic uint64_t slots[SLOTS];
    _Atomic bool wants[SLOTS]; // by slot: the range is wanted
    _Atomic uint64_t made;
} ranges = {.once = PTHREAD_ONCE_INIT};

// Ranges that the thread has begun and not ended, one inside the other: how many, and which is the
// outermost that is wanted, counted from 1; 0: none. What is inside of that makes no difference.
// Initial-exec: a thread's first use must not make the loader allocate.
static __thread struct {
    uint32_t depth, outermost;
} pushed __attribute__((tls_model("initial-exec")));

static void read_setting(void)
{
    const char *text = util_setting(EVENT_CAPTURE_VARIABLE);
    if (text)
        event_capture_parse(text, &ranges.wanted);
}

static enum event_capture_kind kind(void)
{
    pthread_once(&ranges.once, read_setting);
    return ranges.wanted.kind;
}

bool probe_range_watches(void)
{
    const enum event_capture_kind wanted = kind();
    if (wanted == EVENT_CAPTURE_ALL)
        return true;
    const bool inside =
        wanted == EVENT_CAPTURE_PROFILER
            ? atomic_load_explicit(&ranges.profiled, memory_order_relaxed)
            : pushed.outermost || atomic_load_explicit(&ranges.open, memory_order_relaxed);
    if (inside)
        core_presence_add(EVENT_PRESENT_INSIDE);
    return inside;
}

void probe_range_profiler(bool open)
{
    atomic_store_explicit(&ranges.profiled, open, memory_order_relaxed);
    if (open && kind() == EVENT_CAPTURE_PROFILER)
        core_presence_add(EVENT_PRESENT_RANGE);
}

// --- NVTX ----------------------------------------------------------------------------------------

bool probe_range_uses_nvtx(void)
{
    return kind() == EVENT_CAPTURE_NVTX;
}

bool probe_range_is_name(const char *name)
{
    return probe_range_uses_nvtx() && strcmp(name, ranges.wanted.name) == 0;
}

bool probe_range_is_domain(const char *name)
{
    if (!probe_range_uses_nvtx())
        return false;
    const char *wanted = ranges.wanted.domain;
    return name ? *wanted && strcmp(name, wanted) == 0 : !*wanted;
}

void probe_range_push(bool wanted)
{
    pushed.depth++;
    if (!wanted)
        return;
    core_presence_add(EVENT_PRESENT_RANGE);
    if (!pushed.outermost)
        pushed.outermost = pushed.depth;
}

void probe_range_pop(void)
{
    if (pushed.outermost == pushed.depth)
        pushed.outermost = 0;
    if (pushed.depth)
        pushed.depth--;
}

uint64_t probe_range_number(uint64_t identifier)
{
    return identifier / SLOTS;
}

uint64_t probe_range_new(void)
{
    return (atomic_fetch_add(&ranges.made, 1) + 1) * SLOTS;
}

uint64_t probe_range_start(bool wanted)
{
    const uint64_t first = probe_range_new(), number = probe_range_number(first);
    if (wanted)
        core_presence_add(EVENT_PRESENT_RANGE);
    for (uint64_t i = 0; i < SLOTS; i++) {
        const uint64_t slot = (number + i) % SLOTS, identifier = first + slot;
        uint64_t unused = 0;
        if (atomic_compare_exchange_strong(&ranges.slots[slot], &unused, identifier)) {
            atomic_store(&ranges.wants[slot], wanted);
            if (wanted)
                atomic_fetch_add(&ranges.open, 1);
            return identifier;
        }
    }
    return first;
}

bool probe_range_end(uint64_t identifier)
{
    const uint64_t slot = identifier % SLOTS;
    const bool wanted = atomic_load(&ranges.wants[slot]);
    if (!identifier ||
        !atomic_compare_exchange_strong(&ranges.slots[slot], &(uint64_t){identifier}, 0))
        return false;
    if (wanted)
        atomic_fetch_sub(&ranges.open, 1);
    return true;
}
