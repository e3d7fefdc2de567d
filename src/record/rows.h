// SPDX-License-Identifier: Apache-2.0
// Helpers for the files that convert records to rows of a profile. Internal.
#ifndef GLINT_RECORD_ROWS_H
#define GLINT_RECORD_ROWS_H

#include "session.h"

// The unread rest of a record. A NUL follows the last byte.
struct record_piece {
    const char *bytes;
    size_t length;
};

// Initializers of a row from the fields that a record shares with it (src/facts/fields.def). The
// record is the variable `event`; fields with times need the variable `session` too.
// clang-format off
#define RECORD_AS_SAME(type, name)                     .name = event.name,
#define RECORD_AS_TRIPLE(type, name) \
    .name = {event.name[0], event.name[1], event.name[2]},
#define RECORD_AS_KIND(list, name)                     .name = (enum profile_##list)event.name,
#define RECORD_AS_WIDER(record_type, row_type, name)   .name = event.name,
#define RECORD_AS_RENAMED(type, record_name, row_name) .row_name = event.record_name,
#define RECORD_AS_TIME(record_name, row_name) \
    .row_name = record_since_start(session, event.record_name),
#define RECORD_AS_RECORD_ONLY(type, name)
// clang-format on

// Converts a CLOCK_MONOTONIC time of a record to a time of the profile.
static inline int64_t record_since_start(const struct record_session *session, uint64_t time_ns)
{
    return (int64_t)(time_ns - session->process.start_ns);
}

// Copies the structure at the front of the record and moves past it. Returns false if the record is
// too short.
bool record_take(struct record_piece *piece, void *out, size_t bytes);
// Returns the next NUL-terminated text of the record and moves past it. Returns NULL if it is empty
// or there is none.
const char *record_next_text(struct record_piece *piece);

// Each writes one kind of record and returns false if the record is not valid. probe_rows.c:
bool record_probe(struct record_session *session, struct record_piece *piece);
bool record_site(struct record_session *session, struct record_piece *piece);
bool record_access(struct record_session *session, struct record_piece *piece);
bool record_told(struct record_session *session, struct record_piece *piece);
bool record_counts(struct record_session *session, struct record_piece *piece);
bool record_map(struct record_session *session, struct record_piece *piece);
bool record_trace(struct record_session *session, struct record_piece *piece);
bool record_trace_part(struct record_session *session, struct record_piece *piece);
bool record_requests(struct record_session *session, struct record_piece *piece);
// python_rows.c:
bool record_code(struct record_session *session, struct record_piece *piece);
bool record_python(struct record_session *session, struct record_piece *piece);
// Returns the code of a Python frame (event_python_frame); NULL: it is unknown.
const struct record_python_code *record_session_code(const struct record_session *session,
                                                     uint64_t frame);
// Returns the frame as a row. Its texts are those of the code.
struct profile_frame record_python_frame(const struct record_session *session, uint64_t frame);
// shared_rows.c:
bool record_shared_array(struct record_session *session, struct record_piece *piece);
void record_site_array(struct record_session *session, uint32_t kernel, uint32_t site,
                       const char *mangled);
bool record_shared_words(struct record_session *session, struct record_piece *piece);
bool record_shared_ranges(struct record_session *session, struct record_piece *piece);
bool record_shared_lives(struct record_session *session, struct record_piece *piece);
// reuse_rows.c:
bool record_block_reuse(struct record_session *session, struct record_piece *piece);

// value_rows.c:
bool record_contents(struct record_session *session, struct record_piece *piece);
bool record_stored(struct record_session *session, struct record_piece *piece);
bool record_weighed(struct record_session *session, struct record_piece *piece);
bool record_accessed(struct record_session *session, struct record_piece *piece);
// nvtx_rows.c:
bool record_nvtx_range(struct record_session *session, struct record_piece *piece);
bool record_nvtx_range_end(struct record_session *session, struct record_piece *piece);
// use_rows.c:
bool record_use(struct record_session *session, struct record_piece *piece);
// transfer_rows.c:
bool record_hash(struct record_session *session, struct record_piece *piece);
bool record_copy_source(struct record_session *session, struct record_piece *piece);
bool record_block(struct record_session *session, struct record_piece *piece);
bool record_block_end(struct record_session *session, struct record_piece *piece);
// collective_rows.c:
bool record_collective(struct record_session *session, struct record_piece *piece);
// correction_rows.c:
bool record_correction(struct record_session *session, struct record_piece *piece);

#endif
