// SPDX-License-Identifier: Apache-2.0
// The ring: many writers in the program, one reader in the recorder, no locks and no waiting.
//
// A record takes whole slots of 64 bytes. A writer reserves them by moving `head`, fills them, and
// says so last, by the mark of the first. A mark holds the slot's position in the whole stream, so
// that one left from the round before is never taken for a new one and nothing needs to be cleared.
// The slots that continue a record have marks too: after writers have died in the middle, the
// reader finds the next whole record with certainty.
//
//   mark: position + 1 (40 bits), kind (8), slots of the record (16; 0: continues one)
//   payload, 56 bytes a slot: u32 length of the record, then its bytes
#include <stdatomic.h>
#include <string.h>

#include "event.h"

enum {
    SLOT_BYTES = 64,
    PAYLOAD = 56,
    HEAD_BYTES = 4096,
    LENGTH_BYTES = sizeof(uint32_t),
    MOST_SLOTS = 4096
};

#define MAGIC UINT64_C(0x474E495254494C47) // "GLITRING"

struct slot {
    _Atomic uint64_t mark;
    unsigned char payload[PAYLOAD];
};

struct event_ring {
    uint64_t magic;
    uint32_t version;
    uint32_t slot_count; // a power of two
    // The next slot to be reserved, by writers; and to be read, by the reader. Positions only grow.
    _Alignas(64) _Atomic uint64_t head;
    _Alignas(64) _Atomic uint64_t tail;
    _Alignas(64) _Atomic uint64_t dropped[EVENT_KINDS];
    _Atomic uint64_t unfinished; // the reader's
};

_Static_assert(sizeof(struct event_ring) <= HEAD_BYTES, "the head takes one page");
_Static_assert(sizeof(struct slot) == SLOT_BYTES, "slots are cache lines");

static struct slot *slot_at(const struct event_ring *ring, uint64_t position)
{
    unsigned char *slots = (unsigned char *)(uintptr_t)ring + HEAD_BYTES;
    return (struct slot *)(void *)slots + (position & (ring->slot_count - 1));
}

static uint64_t mark_of(uint64_t position, unsigned kind, uint64_t slots)
{
    return (position + 1) << 24 | (uint64_t)kind << 16 | slots;
}

size_t event_ring_bytes(uint32_t slots)
{
    return HEAD_BYTES + (size_t)slots * SLOT_BYTES;
}

struct event_ring *event_ring_make(void *memory, size_t bytes)
{
    if (bytes < event_ring_bytes(2))
        return NULL;
    struct event_ring *ring = memory;
    uint64_t slots = (bytes - HEAD_BYTES) / SLOT_BYTES;
    if (slots & (slots - 1) || slots > UINT32_MAX || event_ring_bytes((uint32_t)slots) != bytes)
        return NULL;
    ring->slot_count = (uint32_t)slots;
    ring->version = EVENT_VERSION;
    ring->magic = MAGIC;
    return ring;
}

struct event_ring *event_ring_find(void *memory, size_t bytes)
{
    struct event_ring *ring = memory;
    if (bytes < HEAD_BYTES || ring->magic != MAGIC || ring->version != EVENT_VERSION)
        return NULL;
    uint32_t slots = ring->slot_count;
    if (slots < 2 || slots & (slots - 1) || event_ring_bytes(slots) != bytes)
        return NULL;
    return ring;
}

// --- The program's side --------------------------------------------------------------------------

struct writer {
    struct event_ring *ring;
    uint64_t position; // of the slot that is filled now
    size_t used;       // of its payload
};

static void write_bytes(struct writer *writer, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    while (length) {
        if (writer->used == PAYLOAD) {
            writer->position++;
            writer->used = 0;
        }
        size_t room = PAYLOAD - writer->used, now = length < room ? length : room;
        memcpy(slot_at(writer->ring, writer->position)->payload + writer->used, from, now);
        writer->used += now;
        from += now;
        length -= now;
    }
}

static bool drop(struct event_ring *ring, enum event_kind kind)
{
    atomic_fetch_add_explicit(&ring->dropped[kind], 1, memory_order_relaxed);
    return false;
}

bool event_put_pieces(struct event_ring *ring, enum event_kind kind,
                      const struct event_piece *pieces, unsigned count)
{
    size_t length = 0;
    for (unsigned i = 0; i < count; i++)
        length += pieces[i].length;
    uint64_t slots = (LENGTH_BYTES + length + PAYLOAD - 1) / PAYLOAD;
    if (length > EVENT_MOST_BYTES - LENGTH_BYTES || slots > ring->slot_count)
        return drop(ring, kind);
    uint64_t start = atomic_load_explicit(&ring->head, memory_order_relaxed);
    do {
        // What the reader has released may be written over.
        uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
        if (start + slots - tail > ring->slot_count && (int64_t)(start - tail) >= 0)
            return drop(ring, kind);
    } while (!atomic_compare_exchange_weak_explicit(&ring->head, &start, start + slots,
                                                    memory_order_relaxed, memory_order_relaxed));
    uint32_t stated = (uint32_t)length;
    struct writer writer = {ring, start, 0};
    write_bytes(&writer, &stated, sizeof(stated));
    for (unsigned i = 0; i < count; i++)
        write_bytes(&writer, pieces[i].bytes, pieces[i].length);
    for (uint64_t i = 1; i < slots; i++)
        atomic_store_explicit(&slot_at(ring, start + i)->mark, mark_of(start + i, kind, 0),
                              memory_order_relaxed);
    atomic_store_explicit(&slot_at(ring, start)->mark, mark_of(start, kind, slots),
                          memory_order_release);
    return true;
}

bool event_put(struct event_ring *ring, enum event_kind kind, const void *record, size_t bytes,
               const void *more, size_t more_bytes)
{
    const struct event_piece pieces[] = {{record, bytes}, {more, more_bytes}};
    return event_put_pieces(ring, kind, pieces, 2);
}

// --- The recorder's side -------------------------------------------------------------------------

// How many slots the whole record at the position takes; 0: there is none. A program that writes
// where it should not may have left anything here.
static uint64_t whole_at(const struct event_ring *ring, uint64_t position, enum event_kind *kind,
                         uint32_t *length)
{
    const struct slot *slot = slot_at(ring, position);
    uint64_t mark = atomic_load_explicit(&slot->mark, memory_order_acquire);
    uint64_t slots = mark & 0xFFFF;
    unsigned found = mark >> 16 & 0xFF;
    if (mark >> 24 != ((position + 1) & UINT64_C(0xFFFFFFFFFF)) || !slots || slots > MOST_SLOTS ||
        slots > ring->slot_count || found >= EVENT_KINDS || found == EVENT_NONE)
        return 0;
    memcpy(length, slot->payload, sizeof(*length));
    if (*length > slots * PAYLOAD - LENGTH_BYTES)
        return 0;
    *kind = (enum event_kind)found;
    return slots;
}

enum event_kind event_take(struct event_ring *ring, struct base_buf *out, bool abandoned)
{
    uint64_t at = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    enum event_kind kind = EVENT_NONE;
    uint32_t length = 0;
    uint64_t slots = whole_at(ring, at, &kind, &length);
    if (!slots && abandoned) {
        uint64_t end = atomic_load_explicit(&ring->head, memory_order_relaxed);
        if (at == end)
            return EVENT_NONE;
        atomic_fetch_add_explicit(&ring->unfinished, 1, memory_order_relaxed);
        while (at != end && !slots) {
            at++;
            slots = at == end ? 0 : whole_at(ring, at, &kind, &length);
        }
        atomic_store_explicit(&ring->tail, at, memory_order_release);
    }
    if (!slots)
        return EVENT_NONE;
    out->length = 0;
    base_buf_reserve(out, slots * PAYLOAD);
    size_t skip = LENGTH_BYTES;
    for (uint64_t i = 0; i < slots && out->length < length; i++) {
        size_t left = length - out->length, here = PAYLOAD - skip;
        base_buf_add(out, (const char *)slot_at(ring, at + i)->payload + skip,
                     left < here ? left : here);
        skip = 0;
        if (out->failed)
            break;
    }
    atomic_store_explicit(&ring->tail, at + slots, memory_order_release);
    return kind;
}

uint64_t event_dropped(const struct event_ring *ring, enum event_kind kind)
{
    return atomic_load_explicit(&ring->dropped[kind], memory_order_relaxed);
}

uint64_t event_unfinished(const struct event_ring *ring)
{
    return atomic_load_explicit(&ring->unfinished, memory_order_relaxed);
}

uint32_t event_waiting(const struct event_ring *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    return (uint32_t)(head - tail);
}

const char *event_kind_name(enum event_kind kind)
{
    static const char *const names[EVENT_KINDS] = {
        [EVENT_NONE] = "none",
        [EVENT_PROCESS] = "process",
        [EVENT_IMAGE] = "image",
        [EVENT_FUNCTION] = "function",
        [EVENT_THREAD] = "thread",
        [EVENT_DEVICE] = "device",
        [EVENT_CONTEXT] = "context",
        [EVENT_STREAM] = "stream",
        [EVENT_MODULE] = "module",
        [EVENT_KERNEL] = "kernel",
        [EVENT_STACK] = "call path",
        [EVENT_GRAPH] = "graph",
        [EVENT_CALL] = "call",
        [EVENT_OBJECT] = "object",
        [EVENT_OBJECT_END] = "end of an object",
        [EVENT_OBJECT_NAME] = "object's name",
        [EVENT_TIME] = "GPU time",
        [EVENT_NOTE] = "note",
        [EVENT_FINISH] = "finish",
    };
    return kind < EVENT_KINDS ? names[kind] : "unknown";
}
