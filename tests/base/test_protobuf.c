// SPDX-License-Identifier: Apache-2.0
// Tests of the writer of protocol buffers: known answers of the encoding, lengths at which the
// length field itself grows, and sinks that fail.
#include "testing.h"

#include <stdlib.h>
#include <string.h>

static bool take(void *user, const char *bytes, size_t length)
{
    base_buf_add(user, bytes, length);
    return true;
}

// Runs `calls` on a writer named out and expects the bytes.
#define WRITES(expected, calls)                                      \
    do {                                                             \
        static const char wanted[] = (expected);                     \
        struct base_buf got = {0};                                   \
        struct base_protobuf writer = {.write = take, .user = &got}; \
        struct base_protobuf *out = &writer;                         \
        calls;                                                       \
        assert_true(base_protobuf_finish(out));                      \
        assert_int_equal(got.length, sizeof(wanted) - 1);            \
        assert_memory_equal(got.text, wanted, got.length);           \
        base_protobuf_fini(out);                                     \
        base_buf_fini(&got);                                         \
    } while (0)

static void values_are_encoded_by_their_kind(void **state)
{
    (void)state;
    WRITES("\x08\x00", base_protobuf_u64(out, 1, 0));
    WRITES("\x08\x7f", base_protobuf_u64(out, 1, 127));
    WRITES("\x08\x80\x01", base_protobuf_u64(out, 1, 128));
    WRITES("\x78\xac\x02", base_protobuf_u64(out, 15, 300));
    WRITES("\x80\x01\x01", base_protobuf_u64(out, 16, 1));
    WRITES("\xf8\xff\xff\xff\x0f\x01", base_protobuf_u64(out, (1u << 29) - 1, 1));
    WRITES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", base_protobuf_u64(out, 1, UINT64_MAX));
    WRITES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", base_protobuf_i64(out, 1, -1));
    WRITES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", base_protobuf_i64(out, 1, INT64_MIN));
    WRITES("\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01",
           base_protobuf_fixed64(out, 47, 0x0102030405060708));
    WRITES("\x12\x03"
           "a\0b",
           base_protobuf_bytes(out, 2, "a\0b", 3));
    WRITES("\x12\x00", base_protobuf_bytes(out, 2, NULL, 0));
}

static void messages_nest(void **state)
{
    (void)state;
    WRITES("\x0a\x00", (base_protobuf_begin(out, 1), base_protobuf_end(out)));
    WRITES("\x0a\x06\x08\x01\x12\x02\x08\x02\x18\x03",
           (base_protobuf_begin(out, 1), base_protobuf_u64(out, 1, 1), base_protobuf_begin(out, 2),
            base_protobuf_u64(out, 1, 2), base_protobuf_end(out), base_protobuf_end(out),
            base_protobuf_u64(out, 3, 3)));
}

// Nests a message of so many bytes in another, and checks that both lengths lead to the end.
static void check_length(size_t content)
{
    struct base_buf got = {0};
    struct base_protobuf out = {.write = take, .user = &got};
    char *bytes = malloc(content + 1);
    memset(bytes, 'x', content);
    base_protobuf_begin(&out, 1);
    base_protobuf_begin(&out, 2);
    base_protobuf_bytes(&out, 3, bytes, content);
    base_protobuf_u64(&out, 4, 9);
    base_protobuf_end(&out);
    base_protobuf_end(&out);
    assert_true(base_protobuf_finish(&out));
    const unsigned char *at = (const unsigned char *)got.text, *end = at + got.length;
    static const unsigned char tags[] = {0x0a, 0x12, 0x1a};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(*at++, tags[i]);
        size_t length = 0;
        unsigned shift = 0;
        do
            length |= (size_t)(*at & 0x7f) << shift, shift += 7;
        while (*at++ & 0x80);
        if (i < 2)
            assert_int_equal(length, end - at);
        else
            assert_int_equal(length, content);
    }
    assert_memory_equal(at, bytes, content);
    assert_memory_equal(at + content, "\x20\x09", 2);
    assert_ptr_equal(at + content + 2, end);
    free(bytes);
    base_protobuf_fini(&out);
    base_buf_fini(&got);
}

static void lengths_fit_their_content(void **state)
{
    (void)state;
    for (size_t content = 100; content < 140; content++)
        check_length(content);
    for (size_t content = 16360; content < 16400; content++)
        check_length(content);
    check_length(2097140);
    check_length(2097152);
}

struct pieces {
    size_t count, bytes, most; // most: bytes that the sink accepts
};

static bool count_pieces(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    struct pieces *pieces = user;
    pieces->count++;
    pieces->bytes += length;
    return pieces->bytes <= pieces->most;
}

static void write_many(struct base_protobuf *out)
{
    for (unsigned i = 0; i < 100000; i++) {
        base_protobuf_begin(out, 1);
        base_protobuf_u64(out, 1, 1);
        base_protobuf_end(out);
    }
}

static void bytes_are_handed_on_in_pieces(void **state)
{
    (void)state;
    struct pieces pieces = {.most = SIZE_MAX};
    struct base_protobuf out = {.write = count_pieces, .user = &pieces};
    write_many(&out);
    assert_true(out.buf.capacity <= 65536);
    assert_true(base_protobuf_finish(&out));
    assert_int_equal(pieces.bytes, 400000);
    assert_in_range(pieces.count, 5, 50);
    base_protobuf_fini(&out);
}

static void a_sink_that_refuses_is_not_asked_again(void **state)
{
    (void)state;
    struct pieces pieces = {.most = 1000};
    struct base_protobuf out = {.write = count_pieces, .user = &pieces};
    write_many(&out);
    assert_true(base_protobuf_failed(&out) && out.refused);
    assert_false(base_protobuf_finish(&out));
    assert_int_equal(pieces.count, 1);
    base_protobuf_fini(&out);
}

static void an_open_message_is_no_end(void **state)
{
    (void)state;
    struct pieces pieces = {.most = SIZE_MAX};
    struct base_protobuf out = {.write = count_pieces, .user = &pieces};
    base_protobuf_begin(&out, 1);
    assert_false(base_protobuf_finish(&out));
    base_protobuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_encoded_by_their_kind),
        cmocka_unit_test(messages_nest),
        cmocka_unit_test(lengths_fit_their_content),
        cmocka_unit_test(bytes_are_handed_on_in_pieces),
        cmocka_unit_test(a_sink_that_refuses_is_not_asked_again),
        cmocka_unit_test(an_open_message_is_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
