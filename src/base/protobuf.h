// SPDX-License-Identifier: Apache-2.0
// A streaming writer of protocol buffers: the caller says which field comes next, the writer knows
// the encoding and hands the bytes on in pieces, so that a file of any number of messages needs the
// memory of its largest one.
//     struct base_protobuf out = {.write = write, .user = user};
//     base_protobuf_begin(&out, 1);
//     base_protobuf_u64(&out, 8, timestamp_ns);
//     base_protobuf_end(&out);
//     bool good = base_protobuf_finish(&out);
//     base_protobuf_fini(&out);
// It reads nothing, and knows no schema. Single-threaded.
#ifndef GLINT_BASE_PROTOBUF_H
#define GLINT_BASE_PROTOBUF_H

#include "json.h"

enum { BASE_PROTOBUF_DEPTH = 8 };

// Begins with `write` and `user` set and all else 0.
struct base_protobuf {
    base_json_write *write;
    void *user;
    struct base_buf buf;              // what was not handed on yet; `failed` where memory ran out
    bool refused;                     // by the sink
    unsigned depth;                   // open messages
    size_t open[BASE_PROTOBUF_DEPTH]; // where the content of each begins
};

void base_protobuf_fini(struct base_protobuf *out);

static inline bool base_protobuf_failed(const struct base_protobuf *out)
{
    return out->refused || out->buf.failed;
}

// A message as a field. Fields that are written before its end are its own. What is complete at
// depth 0 is handed on now and then.
void base_protobuf_begin(struct base_protobuf *out, uint32_t field);
void base_protobuf_end(struct base_protobuf *out);

// By the encoding: uint32, uint64, bool and enum; int32 and int64; fixed64; string and bytes.
void base_protobuf_u64(struct base_protobuf *out, uint32_t field, uint64_t value);
void base_protobuf_i64(struct base_protobuf *out, uint32_t field, int64_t value);
void base_protobuf_fixed64(struct base_protobuf *out, uint32_t field, uint64_t value);
void base_protobuf_bytes(struct base_protobuf *out, uint32_t field, const char *bytes,
                         size_t length);

// Hands on what is left. True where all was taken and no message is open.
bool base_protobuf_finish(struct base_protobuf *out);

#endif
