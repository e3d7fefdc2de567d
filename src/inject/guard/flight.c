// SPDX-License-Identifier: Apache-2.0
// Memory that is in flight: MPI uses it after the call that got it has returned, and other
// processes may read and write it. No page is closed there meanwhile, because another process that
// accesses a closed page gets an error, and this process gets no signal.
//
// A flight ends when its request is seen to complete (libglint-mpi.so, mpi/mpi.c). Otherwise it
// ends when a copy is made into the memory, which a correct program does only after the request has
// completed. Memory that others may access at any time (a window) stays in flight.
#include "flight.h"

#include <string.h>

#include "state.h"

enum { MOST = GUARD_FLIGHTS, BUCKETS = GUARD_BUCKETS, MOST_LOOSE = 256 };

#define EACH_FLIGHT(flight)                                       \
    struct guard_flight *flight = guard_state.flights.items;      \
    flight < guard_state.flights.items + guard_state.flights.top; \
    flight++

// --- The table -----------------------------------------------------------------------------------

static unsigned bucket_of(uint64_t request)
{
    return (unsigned)(request * UINT64_C(0x9E3779B97F4A7C15) >> 40) % BUCKETS;
}

// Both need the lock of the flights. Indices are counted from 1, as in the chains.
static struct guard_flight *first_of(uint64_t request)
{
    const uint32_t place = guard_state.flights.buckets[bucket_of(request)];
    return place ? &guard_state.flights.items[place - 1] : NULL;
}

static struct guard_flight *next_of(const struct guard_flight *flight)
{
    return flight->next ? &guard_state.flights.items[flight->next - 1] : NULL;
}

static uint32_t place_of(const struct guard_flight *flight)
{
    return (uint32_t)(flight - guard_state.flights.items) + 1;
}

static void take_out(const struct guard_flight *flight)
{
    const uint32_t place = place_of(flight);
    uint32_t *link = &guard_state.flights.buckets[bucket_of(flight->request)];
    while (*link && *link != place)
        link = &guard_state.flights.items[*link - 1].next;
    if (*link)
        *link = flight->next;
}

static void end(struct guard_flight *flight)
{
    if (flight->kind == GUARD_FLIGHT_AGAIN) {
        flight->active = false;
        return;
    }
    if (flight->request)
        take_out(flight);
    *flight = (struct guard_flight){0};
    while (guard_state.flights.top &&
           guard_state.flights.items[guard_state.flights.top - 1].kind == GUARD_FLIGHT_NONE)
        guard_state.flights.top--;
}

static struct guard_flight *find_room(void)
{
    if (guard_state.flights.top < MOST)
        return &guard_state.flights.items[guard_state.flights.top++];
    for (EACH_FLIGHT(flight))
        if (flight->kind == GUARD_FLIGHT_NONE)
            return flight;
    return NULL;
}

// --- Start and end of flights --------------------------------------------------------------------

// Joins flights without a request that touch each other, because a program may go through an array
// word by word. If there are many, one is widened.
static struct guard_flight *widen(uint64_t low, uint64_t high, enum guard_flight_kind kind)
{
    struct guard_flight *found = NULL;
    unsigned count = 0;
    for (EACH_FLIGHT(flight)) {
        if (flight->kind != kind)
            continue;
        if (flight->low <= high && flight->high >= low)
            found = flight;
        else if (++count >= MOST_LOOSE && !found)
            found = flight;
    }
    if (found && low < found->low)
        found->low = low;
    if (found && high > found->high)
        found->high = high;
    return found;
}

struct guard_flight *guard_flight_begin(uint64_t low, uint64_t high, enum guard_flight_kind kind)
{
    const bool named = kind == GUARD_FLIGHT_ONCE || kind == GUARD_FLIGHT_AGAIN;
    util_lock_take(&guard_state.flights.lock, RANK_FLIGHTS);
    struct guard_flight *known = named ? NULL : widen(low, high, kind);
    struct guard_flight *flight = known ? known : find_room();
    if (flight && !known)
        *flight = (struct guard_flight){.low = low, .high = high, .kind = kind, .active = true};
    util_lock_give(&guard_state.flights.lock, RANK_FLIGHTS);
    if (!flight && !atomic_exchange(&guard_state.flights.full, true)) {
        atomic_fetch_add(&guard_state.table.unguarded, 1);
        core_note(EVENT_WARNING,
                  "first uses are no longer watched: MPI has too many requests at once");
    }
    return flight;
}

// If MPI reuses a request, the flights that had it before have ended.
void guard_flight_name(struct guard_flight *const *named, unsigned count, uint64_t request)
{
    util_lock_take(&guard_state.flights.lock, RANK_FLIGHTS);
    for (struct guard_flight *other = first_of(request), *next; other; other = next) {
        next = next_of(other);
        if (other->request == request)
            end(other);
    }
    uint32_t *bucket = &guard_state.flights.buckets[bucket_of(request)];
    for (unsigned i = 0; i < count; i++) {
        if (!named[i])
            continue;
        named[i]->request = request;
        named[i]->next = *bucket;
        named[i]->active = named[i]->kind != GUARD_FLIGHT_AGAIN;
        *bucket = place_of(named[i]);
    }
    util_lock_give(&guard_state.flights.lock, RANK_FLIGHTS);
}

void guard_flight_end(struct guard_flight *flight)
{
    util_lock_take(&guard_state.flights.lock, RANK_FLIGHTS);
    flight->kind = GUARD_FLIGHT_ONCE;
    end(flight);
    util_lock_give(&guard_state.flights.lock, RANK_FLIGHTS);
}

// --- By their requests ---------------------------------------------------------------------------

unsigned guard_flight_mark(uint64_t request, uint32_t from, uint32_t to)
{
    unsigned count = 0;
    util_lock_take(&guard_state.flights.lock, RANK_FLIGHTS);
    for (struct guard_flight *flight = first_of(request); flight; flight = next_of(flight)) {
        if (flight->request == request && flight->mark == from) {
            flight->mark = to;
            count++;
        }
    }
    util_lock_give(&guard_state.flights.lock, RANK_FLIGHTS);
    return count;
}

void guard_flight_end_marked(uint32_t mark)
{
    util_lock_take(&guard_state.flights.lock, RANK_FLIGHTS);
    for (EACH_FLIGHT(flight)) {
        if (flight->kind && flight->mark == mark) {
            flight->mark = 0;
            end(flight);
        }
    }
    util_lock_give(&guard_state.flights.lock, RANK_FLIGHTS);
}

void guard_flight_free(uint64_t request)
{
    util_lock_take(&guard_state.flights.lock, RANK_FLIGHTS);
    for (struct guard_flight *flight = first_of(request), *next; flight; flight = next) {
        next = next_of(flight);
        if (flight->request != request)
            continue;
        take_out(flight);
        flight->request = 0;
        flight->kind = GUARD_FLIGHT_LOOSE;
        if (!flight->active)
            end(flight);
    }
    util_lock_give(&guard_state.flights.lock, RANK_FLIGHTS);
}

bool guard_flight_start(uint64_t request, void (*open)(uint64_t low, uint64_t high, void *context),
                        void *context)
{
    enum { MOST_PIECES = 4 };
    uint64_t low[MOST_PIECES], high[MOST_PIECES];
    unsigned count = 0;
    util_lock_take(&guard_state.flights.lock, RANK_FLIGHTS);
    for (struct guard_flight *flight = first_of(request); flight && count < MOST_PIECES;
         flight = next_of(flight)) {
        if (flight->request != request || flight->kind != GUARD_FLIGHT_AGAIN)
            continue;
        flight->active = true;
        low[count] = flight->low;
        high[count++] = flight->high;
    }
    util_lock_give(&guard_state.flights.lock, RANK_FLIGHTS);
    for (unsigned i = 0; i < count; i++)
        open(low[i], high[i], context);
    return count;
}

// --- Checks before pages are closed --------------------------------------------------------------

bool guard_is_in_flight(uint64_t low, uint64_t high)
{
    bool any = false;
    if (!guard_state.flights.top)
        return false;
    util_lock_take(&guard_state.flights.lock, RANK_FLIGHTS);
    for (EACH_FLIGHT(flight))
        any |= flight->active && flight->low < high && flight->high > low;
    util_lock_give(&guard_state.flights.lock, RANK_FLIGHTS);
    return any;
}

void guard_flight_overwritten(uint64_t low, uint64_t high)
{
    if (!guard_state.flights.top)
        return;
    util_lock_take(&guard_state.flights.lock, RANK_FLIGHTS);
    for (EACH_FLIGHT(flight)) {
        const bool all = flight->low <= 1;
        if (flight->active && !all && flight->kind != GUARD_FLIGHT_GOOD && flight->low < high &&
            flight->high > low)
            end(flight);
    }
    util_lock_give(&guard_state.flights.lock, RANK_FLIGHTS);
}

void guard_flight_forked(void)
{
    if (guard_state.flights.top)
        memset(&guard_state.flights, 0, sizeof(guard_state.flights));
    atomic_store(&guard_state.flights.full, false);
    guard_state.flights.lock = (struct util_lock){0};
}
