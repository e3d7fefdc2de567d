// SPDX-License-Identifier: Apache-2.0
// Memory that is in flight: MPI has it beyond the call that gave it, and other processes may read
// and write there. Nothing is closed there meanwhile: a process that meets a closed page gets an
// error, and no signal comes here.
//
// A flight ends when its request is seen to be over (libglint-mpi.so, mpi/mpi.c). Where that is not
// seen, it ends when a copy is made into the memory, which a correct program does only when it has
// it back. What others may reach at any time (a window) never ends.
#include "flight.h"

#include <string.h>

#include "ranges.h"

enum { MOST = 4096, BUCKETS = 512, MOST_LOOSE = 256 };

struct guard_flight {
    uint64_t low, high; // low 1: all memory
    uint64_t request;   // 0: none
    uint32_t next;      // of the same bucket; a place from 1
    uint32_t mark;
    enum guard_flight_kind kind;
    bool active; // MPI has it
};

static struct {
    struct util_lock lock; // protects what is not atomic. Taken last, and held a moment
    _Atomic uint32_t top;  // all from there on are none; anybody may look
    _Atomic bool full;     // one found no room
    struct guard_flight items[MOST];
    uint32_t buckets[BUCKETS]; // by request; a place from 1
} flights;

#define EACH_FLIGHT(flight)                      \
    struct guard_flight *flight = flights.items; \
    flight < flights.items + flights.top;        \
    flight++

// --- The table -----------------------------------------------------------------------------------

static unsigned bucket_of(uint64_t request)
{
    return (unsigned)(request * UINT64_C(0x9E3779B97F4A7C15) >> 40) % BUCKETS;
}

// Both with the lock of the flights. Places are counted from 1, as in the chains.
static struct guard_flight *first_of(uint64_t request)
{
    const uint32_t place = flights.buckets[bucket_of(request)];
    return place ? &flights.items[place - 1] : NULL;
}

static struct guard_flight *next_of(const struct guard_flight *flight)
{
    return flight->next ? &flights.items[flight->next - 1] : NULL;
}

static uint32_t place_of(const struct guard_flight *flight)
{
    return (uint32_t)(flight - flights.items) + 1;
}

static void take_out(const struct guard_flight *flight)
{
    const uint32_t place = place_of(flight);
    uint32_t *link = &flights.buckets[bucket_of(flight->request)];
    while (*link && *link != place)
        link = &flights.items[*link - 1].next;
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
    while (flights.top && flights.items[flights.top - 1].kind == GUARD_FLIGHT_NONE)
        flights.top--;
}

static struct guard_flight *find_room(void)
{
    if (flights.top < MOST)
        return &flights.items[flights.top++];
    for (EACH_FLIGHT(flight))
        if (flight->kind == GUARD_FLIGHT_NONE)
            return flight;
    return NULL;
}

// --- Beginning and end ---------------------------------------------------------------------------

// Of those that have no request one does for all that it holds, and for what touches it: a program
// may go through an array word by word. When there are many, one is widened.
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
    util_lock_take(&flights.lock);
    struct guard_flight *known = named ? NULL : widen(low, high, kind);
    struct guard_flight *flight = known ? known : find_room();
    if (flight && !known)
        *flight = (struct guard_flight){.low = low, .high = high, .kind = kind, .active = true};
    util_lock_give(&flights.lock);
    if (!flight && !atomic_exchange(&flights.full, true)) {
        atomic_fetch_add(&guard_table.unguarded, 1);
        core_note(EVENT_WARNING, "first uses are not watched for any more: MPI has too many "
                                 "requests at once");
    }
    return flight;
}

// A request that is given out again says that what had it before is over.
void guard_flight_name(struct guard_flight *const *named, unsigned count, uint64_t request)
{
    util_lock_take(&flights.lock);
    for (struct guard_flight *other = first_of(request), *next; other; other = next) {
        next = next_of(other);
        if (other->request == request)
            end(other);
    }
    uint32_t *bucket = &flights.buckets[bucket_of(request)];
    for (unsigned i = 0; i < count; i++) {
        if (!named[i])
            continue;
        named[i]->request = request;
        named[i]->next = *bucket;
        named[i]->active = named[i]->kind != GUARD_FLIGHT_AGAIN;
        *bucket = place_of(named[i]);
    }
    util_lock_give(&flights.lock);
}

void guard_flight_end(struct guard_flight *flight)
{
    util_lock_take(&flights.lock);
    flight->kind = GUARD_FLIGHT_ONCE;
    end(flight);
    util_lock_give(&flights.lock);
}

// --- By their requests ---------------------------------------------------------------------------

unsigned guard_flight_mark(uint64_t request, uint32_t from, uint32_t to)
{
    unsigned count = 0;
    util_lock_take(&flights.lock);
    for (struct guard_flight *flight = first_of(request); flight; flight = next_of(flight)) {
        if (flight->request == request && flight->mark == from) {
            flight->mark = to;
            count++;
        }
    }
    util_lock_give(&flights.lock);
    return count;
}

void guard_flight_end_marked(uint32_t mark)
{
    util_lock_take(&flights.lock);
    for (EACH_FLIGHT(flight)) {
        if (flight->kind && flight->mark == mark) {
            flight->mark = 0;
            end(flight);
        }
    }
    util_lock_give(&flights.lock);
}

void guard_flight_free(uint64_t request)
{
    util_lock_take(&flights.lock);
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
    util_lock_give(&flights.lock);
}

bool guard_flight_start(uint64_t request, void (*open)(uint64_t low, uint64_t high, void *context),
                        void *context)
{
    enum { MOST_PIECES = 4 };
    uint64_t low[MOST_PIECES], high[MOST_PIECES];
    unsigned count = 0;
    util_lock_take(&flights.lock);
    for (struct guard_flight *flight = first_of(request); flight && count < MOST_PIECES;
         flight = next_of(flight)) {
        if (flight->request != request || flight->kind != GUARD_FLIGHT_AGAIN)
            continue;
        flight->active = true;
        low[count] = flight->low;
        high[count++] = flight->high;
    }
    util_lock_give(&flights.lock);
    for (unsigned i = 0; i < count; i++)
        open(low[i], high[i], context);
    return count;
}

// --- What they forbid ----------------------------------------------------------------------------

bool guard_is_in_flight(uint64_t low, uint64_t high)
{
    bool any = false;
    if (!flights.top)
        return false;
    util_lock_take(&flights.lock);
    for (EACH_FLIGHT(flight))
        any |= flight->active && flight->low < high && flight->high > low;
    util_lock_give(&flights.lock);
    return any;
}

void guard_flight_overwritten(uint64_t low, uint64_t high)
{
    if (!flights.top)
        return;
    util_lock_take(&flights.lock);
    for (EACH_FLIGHT(flight)) {
        const bool all = flight->low <= 1;
        if (flight->active && !all && flight->kind != GUARD_FLIGHT_GOOD && flight->low < high &&
            flight->high > low)
            end(flight);
    }
    util_lock_give(&flights.lock);
}

void guard_flight_forked(void)
{
    if (flights.top)
        memset(&flights, 0, sizeof(flights));
    atomic_store(&flights.full, false);
    flights.lock = (struct util_lock){0};
}
