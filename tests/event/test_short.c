// SPDX-License-Identifier: Apache-2.0
// Tests of the short form of calls about memory: they are read back unchanged from one slot. Calls
// that do not fit are rejected and leave nothing behind.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "event/event.h"

enum { SLOTS = 8 };

struct memory_call {
    struct event_call call;
    struct event_alloc alloc;
};

struct ring {
    void *memory;
    struct event_ring *ring;
    struct event_reader reader;
};

static void ring_init(struct ring *ring)
{
    const size_t bytes = event_ring_bytes(SLOTS);
    ring->memory = aligned_alloc(64, bytes);
    assert_non_null(ring->memory);
    memset(ring->memory, 0, bytes);
    ring->ring = event_ring_make(ring->memory, bytes);
    assert_non_null(ring->ring);
    assert_true(event_reader_init(&ring->reader, ring->memory, bytes));
}

static struct memory_call usual(void)
{
    return (struct memory_call){.call = {.number = 7,
                                         .start_ns = UINT64_C(1) << 62,
                                         .end_ns = (UINT64_C(1) << 62) + 900,
                                         .function = 12,
                                         .thread = 1,
                                         .context = 2,
                                         .stream = 3,
                                         .stack = 4,
                                         .kind = EVENT_CALL_ALLOC,
                                         .flags = EVENT_CALL_ASYNC},
                                .alloc = {.address = UINT64_C(0x7f0012345600),
                                          .bytes = UINT64_C(1) << 40,
                                          .object = 5,
                                          .begins = EVENT_OBJECT_DEVICE,
                                          .device = 1}};
}

static struct memory_call largest(void)
{
    struct memory_call all = usual();
    all.call.number = all.alloc.object = all.call.stack = UINT32_MAX;
    all.call.end_ns = all.call.start_ns + UINT32_MAX;
    all.call.waited_ns = UINT32_MAX;
    all.call.function = all.call.thread = all.call.context = all.call.stream = UINT16_MAX;
    all.call.kind = EVENT_CALL_MEMORY;
    all.call.flags = UINT8_MAX;
    all.alloc.address = all.alloc.bytes = UINT64_MAX;
    all.alloc.begins = EVENT_OBJECT_KINDS - 1;
    all.alloc.ends = 1;
    all.alloc.device = UINT8_MAX;
    return all;
}

static void assert_comes_back(struct ring *ring, const struct memory_call *put)
{
    struct base_buf got = {0};
    assert_true(event_put_short(ring->ring, &put->call, &put->alloc));
    assert_int_equal(event_waiting(&ring->reader), 1);
    assert_int_equal(event_take(&ring->reader, &got, false), EVENT_CALL);
    assert_int_equal(got.length, sizeof(*put));
    assert_memory_equal(got.text, put, sizeof(*put));
    base_buf_fini(&got);
}

static void a_call_comes_back_as_it_was_put(void **state)
{
    (void)state;
    struct ring ring;
    ring_init(&ring);
    const struct memory_call nothing = {0};
    const struct memory_call most = largest();
    struct memory_call freed = usual();
    freed.call.kind = EVENT_CALL_FREE;
    freed.alloc.begins = 0;
    freed.alloc.ends = 1;
    freed.call.flags = EVENT_CALL_WAITED;
    freed.call.waited_ns = 900;
    for (int round = 0; round < 2 * SLOTS; round++) {
        const struct memory_call made = usual();
        assert_comes_back(&ring, &made);
        assert_comes_back(&ring, &freed);
        assert_comes_back(&ring, &most);
        assert_comes_back(&ring, &nothing);
    }
    free(ring.memory);
}

static void assert_refused(struct memory_call put)
{
    struct ring ring;
    struct base_buf got = {0};
    ring_init(&ring);
    assert_false(event_put_short(ring.ring, &put.call, &put.alloc));
    assert_int_equal(event_waiting(&ring.reader), 0);
    assert_int_equal(event_take(&ring.reader, &got, false), EVENT_NONE);
    assert_int_equal(event_dropped(&ring.reader, EVENT_CALL), 0);
    base_buf_fini(&got);
    free(ring.memory);
}

#define REFUSED(field, value)             \
    do {                                  \
        struct memory_call put = usual(); \
        put.field = (value);              \
        assert_refused(put);              \
    } while (0)

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    REFUSED(call.number, UINT64_C(1) << 32);
    REFUSED(alloc.object, UINT64_C(1) << 32);
    REFUSED(call.end_ns, usual().call.start_ns + (UINT64_C(1) << 32));
    REFUSED(call.end_ns, usual().call.start_ns - 1);
    REFUSED(call.function, 1u << 16);
    REFUSED(call.thread, 1u << 16);
    REFUSED(call.context, 1u << 16);
    REFUSED(call.stream, 1u << 16);
    REFUSED(alloc.device, 1u << 8);
    REFUSED(call.result, 2);
    REFUSED(call.result, -1);
    REFUSED(call.waited_ns, 899);
}

static void a_full_ring_drops_short_calls_as_calls(void **state)
{
    (void)state;
    struct ring ring;
    struct base_buf got = {0};
    const struct memory_call put = usual();
    ring_init(&ring);
    for (int i = 0; i < SLOTS + 2; i++)
        assert_true(event_put_short(ring.ring, &put.call, &put.alloc));
    assert_int_equal(event_dropped(&ring.reader, EVENT_CALL), 2);
    for (int i = 0; i < SLOTS; i++)
        assert_int_equal(event_take(&ring.reader, &got, false), EVENT_CALL);
    assert_int_equal(event_take(&ring.reader, &got, false), EVENT_NONE);
    base_buf_fini(&got);
    free(ring.memory);
}

// The length follows the mark of the first slot, which follows the ring's head.
static void a_short_call_of_another_length_is_none(void **state)
{
    (void)state;
    struct ring ring;
    struct base_buf got = {0};
    const struct memory_call put = usual();
    ring_init(&ring);
    assert_true(event_put_short(ring.ring, &put.call, &put.alloc));
    unsigned char *slot = (unsigned char *)ring.memory + event_ring_bytes(SLOTS) - SLOTS * 64;
    slot[8]--;
    assert_int_equal(event_take(&ring.reader, &got, false), EVENT_NONE);
    slot[8]++;
    assert_int_equal(event_take(&ring.reader, &got, false), EVENT_CALL);
    base_buf_fini(&got);
    free(ring.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_comes_back_as_it_was_put),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_full_ring_drops_short_calls_as_calls),
        cmocka_unit_test(a_short_call_of_another_length_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
