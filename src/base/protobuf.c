// SPDX-License-Identifier: Apache-2.0
// The writer of protocol buffers. The length of a message precedes its content. One byte is
// reserved for it, which suffices for most messages; the content of longer ones is moved. Lengths
// of fixed size would cost three bytes in each of millions of messages.
#include "protobuf.h"

#include <assert.h>

enum { HAND_ON_BYTES = 32768, LONGEST_VARINT = 10 };
enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

void base_protobuf_fini(struct base_protobuf *out)
{
    base_buf_fini(&out->buf);
}

static size_t encode(uint64_t value, char *to)
{
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        to[length++] = (char)(value | 0x80);
    to[length++] = (char)value;
    return length;
}

// Writes the field number with the kind of its value, then a number: the value or its length.
static void put_head(struct base_protobuf *out, uint32_t field, enum wire wire, uint64_t number)
{
    char bytes[2 * LONGEST_VARINT];
    size_t length = encode((uint64_t)field << 3 | wire, bytes);
    length += encode(number, bytes + length);
    base_buf_add(&out->buf, bytes, length);
}

static void hand_on(struct base_protobuf *out)
{
    if (!base_protobuf_failed(out) && out->buf.length)
        out->refused = !out->write(out->user, out->buf.text, out->buf.length);
    out->buf.length = 0;
}

void base_protobuf_begin(struct base_protobuf *out, uint32_t field)
{
    assert(out->depth < BASE_PROTOBUF_DEPTH);
    put_head(out, field, WIRE_LENGTH, 0);
    out->open[out->depth++] = out->buf.length;
}

void base_protobuf_end(struct base_protobuf *out)
{
    assert(out->depth > 0);
    size_t start = out->open[--out->depth];
    if (!out->buf.failed) {
        char bytes[LONGEST_VARINT];
        size_t content = out->buf.length - start, length = encode(content, bytes);
        base_buf_add(&out->buf, bytes, length - 1); // makes room; the bytes do not matter
        if (!out->buf.failed) {
            char *at = out->buf.text + start;
            memmove(at + length - 1, at, content);
            memcpy(at - 1, bytes, length);
        }
    }
    if (out->depth == 0 && out->buf.length >= HAND_ON_BYTES)
        hand_on(out);
}

void base_protobuf_u64(struct base_protobuf *out, uint32_t field, uint64_t value)
{
    put_head(out, field, WIRE_VARINT, value);
}

void base_protobuf_i64(struct base_protobuf *out, uint32_t field, int64_t value)
{
    base_protobuf_u64(out, field, (uint64_t)value);
}

void base_protobuf_fixed64(struct base_protobuf *out, uint32_t field, uint64_t value)
{
    char bytes[LONGEST_VARINT + 8];
    size_t length = encode((uint64_t)field << 3 | WIRE_FIXED64, bytes);
    for (unsigned i = 0; i < 8; i++)
        bytes[length++] = (char)(value >> 8 * i);
    base_buf_add(&out->buf, bytes, length);
}

void base_protobuf_bytes(struct base_protobuf *out, uint32_t field, const char *bytes,
                         size_t length)
{
    put_head(out, field, WIRE_LENGTH, length);
    base_buf_add(&out->buf, bytes, length);
}

bool base_protobuf_finish(struct base_protobuf *out)
{
    hand_on(out);
    return !base_protobuf_failed(out) && out->depth == 0;
}
