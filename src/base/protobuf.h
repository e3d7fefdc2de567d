// SPDX-License-Identifier: Apache-2.0
// A streaming writer of protocol buffers. The caller says which field comes next; the writer
// encodes it and passes the bytes on in pieces. So a file of any number of messages needs only the
// memory of its largest message.
//     struct base_protobuf out = {.write = write, .user = user};
//     base_protobuf_begin(&out, 1);
//     base_protobuf_u64(&out, 8, timestamp_ns);
//     base_protobuf_end(&out);
//     bool good = base_protobuf_finish(&out);
//     base_protobuf_fini(&out);
// It cannot read, and knows no schema. Used by one thread.
#ifndef GLINT_BASE_PROTOBUF_H
#define GLINT_BASE_PROTOBUF_H

#include "json.h"

enum { BASE_PROTOBUF_DEPTH = 8 };

// Initialize `write` and `user`, and all else with 0.
struct base_protobuf {
    base_json_write *write;
    void *user;
    struct base_buf buf;              // not passed on yet; `failed` if memory ran out
    bool refused;                     // the sink failed
    unsigned depth;                   // number of open messages
    size_t open[BASE_PROTOBUF_DEPTH]; // where the content of each begins
};

void base_protobuf_fini(struct base_protobuf *out);

static inline bool base_protobuf_failed(const struct base_protobuf *out)
{
    return out->refused || out->buf.failed;
}

// Begin and end a message that is a field. Fields that are written in between belong to it.
// Complete messages at depth 0 are passed on from time to time.
void base_protobuf_begin(struct base_protobuf *out, uint32_t field);
void base_protobuf_end(struct base_protobuf *out);

// Write a field: uint32, uint64, bool and enum; int32 and int64; fixed64; string and bytes.
void base_protobuf_u64(struct base_protobuf *out, uint32_t field, uint64_t value);
void base_protobuf_i64(struct base_protobuf *out, uint32_t field, int64_t value);
void base_protobuf_fixed64(struct base_protobuf *out, uint32_t field, uint64_t value);
void base_protobuf_bytes(struct base_protobuf *out, uint32_t field, const char *bytes,
                         size_t length);

// Passes on the rest. Returns true if the sink took everything and no message is open.
bool base_protobuf_finish(struct base_protobuf *out);

#endif
