// SPDX-License-Identifier: Apache-2.0
// The ring: many writers in the program, one reader in the recorder, no locks and no waiting.
//
// A record occupies whole slots of 64 bytes. A writer reserves them by advancing `head`, fills
// them, and publishes the record by setting the mark of the first slot last. A mark contains the
// slot's position in the whole stream, so a mark of an earlier round is never mistaken for a new
// one and nothing needs to be cleared. Slots that continue a record have marks too, so that the
// reader can find the next complete record after a writer died in the middle of one.
//
//   mark: position + 1 (40 bits), kind (8), slots of the record (16; 0: continues one)
//   payload, 56 bytes per slot: u32 length of the record, then its bytes
//
// Most calls about memory fit into one slot in a short form, struct short_call, which is private to
// this file: the reader returns them in full.
#include <stdatomic.h>
#include <string.h>

#include "event.h"

enum {
    SLOT_BYTES = 64,
    PAYLOAD = 56,
    HEAD_BYTES = 4096,
    LENGTH_BYTES = sizeof(uint32_t),
    MOST_SLOTS = 4096,
    AHEAD = 32,        // slots to prefetch ahead; the processor itself fetches nearer ones
    POSITION_BITS = 40 // in a mark; positions that agree in them are 64 TiB of records apart
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
    // head: the next slot to reserve, advanced by writers. tail: the next slot to read, published
    // by the reader. Positions only grow.
    _Alignas(64) _Atomic uint64_t head;
    _Alignas(64) _Atomic uint64_t tail;
    _Alignas(64) _Atomic uint64_t dropped[EVENT_KINDS];
};

// A call with its struct event_alloc, for small numbers. It follows the length of the record; there
// its 64-bit words are aligned.
enum { SHORT_CALL = EVENT_KINDS, SHORT_ENDS = 0x80, SHORT_WAITED = 0x40 }; // kind of record; bits

struct __attribute__((packed, aligned(4))) short_call {
    uint32_t number;
    uint64_t start_ns, address, bytes;
    uint32_t object, stack;
    uint32_t duration_ns;
    uint16_t function, thread, context, stream;
    uint8_t kind, flags;
    uint8_t begins; // enum event_object_kind and SHORT_* bits
    uint8_t device;
};

struct whole_call { // as the reader returns it
    struct event_call call;
    struct event_alloc alloc;
};

_Static_assert(sizeof(struct short_call) + LENGTH_BYTES == PAYLOAD, "a short call fills its slot");
_Static_assert(sizeof(struct whole_call) == sizeof(struct event_call) + sizeof(struct event_alloc),
               "one follows the other");
_Static_assert((int)EVENT_OBJECT_KINDS <= (int)SHORT_WAITED, "bits above the kinds");
_Static_assert(sizeof(struct event_ring) <= HEAD_BYTES, "the head takes one page");
_Static_assert(sizeof(struct slot) == SLOT_BYTES, "slots are cache lines");
_Static_assert(EVENT_MOST_BYTES + LENGTH_BYTES == MOST_SLOTS * PAYLOAD, "the most fills its slots");

static struct slot *slot_at(struct event_ring *ring, uint32_t slot_count, uint64_t position)
{
    unsigned char *slots = (unsigned char *)ring + HEAD_BYTES;
    return (struct slot *)(void *)slots + (position & (slot_count - 1));
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

// --- The program's side --------------------------------------------------------------------------

struct writer {
    struct event_ring *ring;
    uint64_t position; // of the slot being filled
    unsigned char *to; // in its payload
    size_t room;       // left in the payload
};

// Records are short and consist of words: calling memcpy for each piece would double the time.
static inline void copy_words(unsigned char *restrict to, const unsigned char *restrict from,
                              size_t length)
{
    for (; length >= sizeof(uint64_t); length -= sizeof(uint64_t)) {
        memcpy(to, from, sizeof(uint64_t));
        to += sizeof(uint64_t);
        from += sizeof(uint64_t);
        __asm__(""); // keeps the compiler from calling memcpy
    }
    if (length & sizeof(uint32_t)) { // half a word at the end of a slot
        memcpy(to, from, sizeof(uint32_t));
        to += sizeof(uint32_t);
        from += sizeof(uint32_t);
    }
    if (length % sizeof(uint32_t))
        memcpy(to, from, length % sizeof(uint32_t));
}

static inline void write_bytes(struct writer *writer, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    while (length) {
        if (!writer->room) {
            writer->position++;
            writer->to = slot_at(writer->ring, writer->ring->slot_count, writer->position)->payload;
            writer->room = PAYLOAD;
        }
        const size_t now = length < writer->room ? length : writer->room;
        copy_words(writer->to, from, now);
        writer->to += now;
        writer->room -= now;
        from += now;
        length -= now;
    }
}

static bool drop(struct event_ring *ring, enum event_kind kind)
{
    atomic_fetch_add_explicit(&ring->dropped[kind], 1, memory_order_relaxed);
    return false;
}

static inline bool reserve(struct event_ring *ring, uint64_t slots, uint64_t *position)
{
    uint64_t start = atomic_load_explicit(&ring->head, memory_order_relaxed);
    do {
        // Slots that the reader has released may be overwritten.
        uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
        if (start + slots - tail > ring->slot_count && (int64_t)(start - tail) >= 0)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&ring->head, &start, start + slots,
                                                    memory_order_relaxed, memory_order_relaxed));
    *position = start;
    return true;
}

// Prefetches for writing. With a hint for reading, x86 would request the line twice.
static inline void fetch(const struct slot *slot)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*slot));
#else
    __builtin_prefetch(slot, 1);
#endif
}

// Publishes the record, and prefetches slots of the next ones, which the reader's cache held last.
static inline void finish(struct event_ring *ring, uint64_t start, unsigned kind, uint64_t slots)
{
    atomic_store_explicit(&slot_at(ring, ring->slot_count, start)->mark,
                          mark_of(start, kind, slots), memory_order_release);
    for (uint64_t i = 0; i < 2; i++)
        fetch(slot_at(ring, ring->slot_count, start + AHEAD + i));
}

bool event_put_pieces(struct event_ring *ring, enum event_kind kind,
                      const struct event_piece *pieces, unsigned count)
{
    size_t length = 0;
    for (unsigned i = 0; i < count; i++)
        length += pieces[i].length;
    uint64_t slots = (LENGTH_BYTES + length + PAYLOAD - 1) / PAYLOAD, start;
    if (length > EVENT_MOST_BYTES || slots > ring->slot_count || !reserve(ring, slots, &start))
        return drop(ring, kind);
    uint32_t stated = (uint32_t)length;
    struct writer writer = {ring, start, slot_at(ring, ring->slot_count, start)->payload, PAYLOAD};
    write_bytes(&writer, &stated, sizeof(stated));
    for (unsigned i = 0; i < count; i++)
        write_bytes(&writer, pieces[i].bytes, pieces[i].length);
    for (uint64_t i = 1; i < slots; i++)
        atomic_store_explicit(&slot_at(ring, ring->slot_count, start + i)->mark,
                              mark_of(start + i, kind, 0), memory_order_relaxed);
    finish(ring, start, kind, slots);
    return true;
}

static inline bool is_short(const struct event_call *call, const struct event_alloc *alloc)
{
    const uint64_t duration = call->end_ns - call->start_ns;
    const uint64_t words = call->number | alloc->object | duration;
    const uint32_t halves = call->function | call->thread | call->context | call->stream;
    // One combined test, because nearly always all conditions hold.
    return !((words >> 32) | (halves >> 16) | (alloc->device >> 8) | (uint32_t)call->result) &&
           (!call->waited_ns || call->waited_ns == duration);
}

bool event_put_short(struct event_ring *ring, const struct event_call *call,
                     const struct event_alloc *alloc)
{
    uint64_t start;
    if (!is_short(call, alloc))
        return false;
    if (!reserve(ring, 1, &start)) {
        drop(ring, EVENT_CALL);
        return true;
    }
    unsigned char *payload = slot_at(ring, ring->slot_count, start)->payload;
    const uint32_t stated = sizeof(struct short_call);
    memcpy(payload, &stated, sizeof(stated));
    struct short_call *to = (struct short_call *)(void *)(payload + LENGTH_BYTES);
    to->number = (uint32_t)call->number;
    to->start_ns = call->start_ns;
    to->address = alloc->address;
    to->bytes = alloc->bytes;
    to->object = (uint32_t)alloc->object;
    to->stack = call->stack;
    to->duration_ns = (uint32_t)(call->end_ns - call->start_ns);
    to->function = (uint16_t)call->function;
    to->thread = (uint16_t)call->thread;
    to->context = (uint16_t)call->context;
    to->stream = (uint16_t)call->stream;
    to->kind = call->kind;
    to->flags = call->flags;
    to->begins = (uint8_t)(alloc->begins | (alloc->ends ? SHORT_ENDS : 0) |
                           (call->waited_ns ? SHORT_WAITED : 0));
    to->device = (uint8_t)alloc->device;
    finish(ring, start, SHORT_CALL, 1);
    return true;
}

bool event_put(struct event_ring *ring, enum event_kind kind, const void *record, size_t bytes,
               const void *more, size_t more_bytes)
{
    const struct event_piece pieces[] = {{record, bytes}, {more, more_bytes}};
    return event_put_pieces(ring, kind, pieces, 2);
}

bool event_is_busy(const struct event_ring *ring)
{
    const uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    const uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    return head - tail > ring->slot_count / 2 && (int64_t)(head - tail) >= 0;
}

// --- The recorder's side -------------------------------------------------------------------------

// A faulty program may overwrite the ring with anything at any moment. So nothing is read twice,
// every number is checked before use, and no loop is bounded by a number in the ring.

bool event_reader_init(struct event_reader *reader, void *memory, size_t bytes)
{
    struct event_ring *ring = memory;
    if (bytes < HEAD_BYTES || ring->magic != MAGIC || ring->version != EVENT_VERSION)
        return false;
    uint32_t slots = *(volatile uint32_t *)&ring->slot_count;
    if (slots < 2 || slots & (slots - 1) || event_ring_bytes(slots) != bytes)
        return false;
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    *reader = (struct event_reader){ring, slots, tail, tail, 0};
    return true;
}

// Volatile, so that the compiler reads it once.
typedef const volatile uint32_t __attribute__((may_alias)) stated_length;

struct found {
    enum event_kind kind; // or SHORT_CALL
    uint64_t slots;       // 0: there is no complete record
    uint32_t length;
};

static struct found whole_at(const struct event_reader *reader, uint64_t position)
{
    const struct found none = {EVENT_NONE, 0, 0};
    const struct slot *slot = slot_at(reader->ring, reader->slot_count, position);
    uint64_t mark = atomic_load_explicit(&slot->mark, memory_order_acquire);
    struct found found = {(enum event_kind)(mark >> 16 & 0xFF), mark & 0xFFFF, 0};
    if ((mark ^ mark_of(position, 0, 0)) >> (64 - POSITION_BITS) || !found.slots ||
        found.slots > MOST_SLOTS || found.slots > reader->slot_count || found.kind == EVENT_NONE ||
        (int)found.kind > SHORT_CALL)
        return none;
    found.length = *(stated_length *)(const void *)slot->payload;
    if ((int)found.kind == SHORT_CALL && found.length != sizeof(struct short_call))
        return none;
    return found.length <= found.slots * PAYLOAD - LENGTH_BYTES ? found : none;
}

// Writers read the tail for every record, so it is published in strides: its cache line then stays
// with them most of the time. It is also published when nothing is left to read.
static void release(struct event_reader *reader)
{
    reader->released = reader->tail;
    atomic_store_explicit(&reader->ring->tail, reader->tail, memory_order_release);
}

static bool is_due(const struct event_reader *reader)
{
    enum { STRIDE = 1024 };
    uint64_t held = reader->tail - reader->released;
    return held >= STRIDE || held >= reader->slot_count / 16;
}

// Skips unfinished records up to the next complete one or the end.
static struct found skip_unfinished(struct event_reader *reader)
{
    struct found found = {EVENT_NONE, 0, 0};
    uint64_t at = reader->tail;
    uint64_t used = atomic_load_explicit(&reader->ring->head, memory_order_relaxed) - at;
    if (!used)
        return found;
    uint64_t end = at + (used < reader->slot_count ? used : reader->slot_count);
    while (!found.slots && ++at != end)
        found = whole_at(reader, at);
    reader->unfinished++;
    reader->tail = at;
    return found;
}

static void copy_out(const struct event_reader *reader, size_t length, struct base_buf *out)
{
    out->length = 0;
    base_buf_reserve(out, length);
    if (out->failed || !out->text)
        return;
    size_t skip = LENGTH_BYTES;
    for (uint64_t at = reader->tail; out->length < length; at++) {
        size_t left = length - out->length, here = PAYLOAD - skip;
        const struct slot *slot = slot_at(reader->ring, reader->slot_count, at);
        memcpy(out->text + out->length, slot->payload + skip, left < here ? left : here);
        out->length += left < here ? left : here;
        skip = 0;
    }
    out->text[length] = 0;
}

static void lengthen(struct base_buf *record)
{
    struct short_call from;
    if (record->failed || record->length != sizeof(from))
        return;
    memcpy(&from, record->text, sizeof(from));
    const struct whole_call whole = {
        .call = {.number = from.number,
                 .start_ns = from.start_ns,
                 .end_ns = from.start_ns + from.duration_ns,
                 .function = from.function,
                 .thread = from.thread,
                 .context = from.context,
                 .stream = from.stream,
                 .stack = from.stack,
                 .waited_ns = from.begins & SHORT_WAITED ? from.duration_ns : 0,
                 .kind = from.kind,
                 .flags = from.flags},
        .alloc = {.address = from.address,
                  .bytes = from.bytes,
                  .object = from.object,
                  .begins = from.begins & (SHORT_WAITED - 1),
                  .ends = from.begins & SHORT_ENDS ? 1 : 0,
                  .device = from.device},
    };
    record->length = 0;
    base_buf_reserve(record, sizeof(whole));
    if (record->failed)
        return;
    memcpy(record->text, &whole, sizeof(whole));
    record->length = sizeof(whole);
    record->text[sizeof(whole)] = 0;
}

enum event_kind event_take(struct event_reader *reader, struct base_buf *out, bool abandoned)
{
    struct found found = whole_at(reader, reader->tail);
    if (!found.slots && abandoned)
        found = skip_unfinished(reader);
    if (!found.slots) {
        if (reader->released != reader->tail)
            release(reader);
        return EVENT_NONE;
    }
    copy_out(reader, found.length, out);
    reader->tail += found.slots;
    if (is_due(reader))
        release(reader);
    if ((int)found.kind != SHORT_CALL)
        return found.kind;
    lengthen(out);
    return EVENT_CALL;
}

uint64_t event_dropped(const struct event_reader *reader, enum event_kind kind)
{
    return atomic_load_explicit(&reader->ring->dropped[kind], memory_order_relaxed);
}

uint32_t event_waiting(const struct event_reader *reader)
{
    uint64_t head = atomic_load_explicit(&reader->ring->head, memory_order_relaxed);
    uint64_t used = head - reader->tail;
    return used < reader->slot_count ? (uint32_t)used : reader->slot_count;
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
        [EVENT_CODE] = "Python code",
        [EVENT_PYTHON] = "Python call path",
        [EVENT_GRAPH] = "graph",
        [EVENT_EDGES] = "graph edges",
        [EVENT_PROBE] = "kernel's probes",
        [EVENT_SITE] = "site",
        [EVENT_CALL] = "call",
        [EVENT_OBJECT] = "object",
        [EVENT_OBJECT_END] = "end of an object",
        [EVENT_OBJECT_NAME] = "object's name",
        [EVENT_TIME] = "GPU time",
        [EVENT_ACCESS] = "access",
        [EVENT_TOLD] = "end of accesses",
        [EVENT_COUNTS] = "distribution of accesses",
        [EVENT_MAP] = "map of elements",
        [EVENT_USE] = "first use",
        [EVENT_HASH] = "content of a copy",
        [EVENT_COPY_SOURCE] = "source of a copy",
        [EVENT_BLOCK] = "host memory",
        [EVENT_BLOCK_END] = "end of host memory",
        [EVENT_COLLECTIVE] = "collective",
        [EVENT_CORRECTION] = "correction",
        [EVENT_NVTX_RANGE] = "NVTX range",
        [EVENT_NVTX_RANGE_END] = "end of an NVTX range",
        [EVENT_NOTE] = "note",
        [EVENT_FINISH] = "finish",
    };
    return kind < EVENT_KINDS ? names[kind] : "unknown";
}
