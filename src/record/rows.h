// SPDX-License-Identifier: Apache-2.0
// Records as bytes, for the files that make rows of them. Internal.
#ifndef GLINT_RECORD_ROWS_H
#define GLINT_RECORD_ROWS_H

#include "session.h"

// What is left of a record: its structure, and what belongs to it. A NUL follows the last byte.
struct record_piece {
    const char *bytes;
    size_t length;
};

// Initializers of a row from the fields that a record shares with it (src/facts/fields.def). The
// record is the variable `event`; fields with times need the variable `session` too.
#define RECORD_AS_SAME(type, name)                     .name = event.name,
#define RECORD_AS_TRIPLE(type, name)                   .name = {event.name[0], event.name[1], event.name[2]},
#define RECORD_AS_KIND(list, name)                     .name = (enum profile_##list)event.name,
#define RECORD_AS_WIDER(record_type, row_type, name)   .name = event.name,
#define RECORD_AS_RENAMED(type, record_name, row_name) .row_name = event.record_name,
#define RECORD_AS_TIME(record_name, row_name) \
    .row_name = record_since_start(session, event.record_name),
#define RECORD_AS_RECORD_ONLY(type, name)

// Converts a CLOCK_MONOTONIC time of a record to a time of the profile.
static inline int64_t record_since_start(const struct record_session *session, uint64_t time_ns)
{
    return (int64_t)(time_ns - session->process.start_ns);
}

// Copies the structure from the front of the record. False: it is too short.
bool record_take(struct record_piece *piece, void *out, size_t bytes);
// The next of the texts that NULs end, in the record; NULL: it is empty, or there is none.
const char *record_next_text(struct record_piece *piece);

// probe_rows.c: writes one record of what probes tell. False: it makes no sense.
bool record_probe(struct record_session *session, struct record_piece *piece);
bool record_site(struct record_session *session, struct record_piece *piece);
bool record_access(struct record_session *session, struct record_piece *piece);
bool record_told(struct record_session *session, struct record_piece *piece);
bool record_counts(struct record_session *session, struct record_piece *piece);
bool record_map(struct record_session *session, struct record_piece *piece);

// use_rows.c: the same of a first use.
bool record_use(struct record_session *session, struct record_piece *piece);
// transfer_rows.c: of what a copy has moved, and of host memory.
bool record_hash(struct record_session *session, struct record_piece *piece);
bool record_block(struct record_session *session, struct record_piece *piece);
bool record_block_end(struct record_session *session, struct record_piece *piece);
bool record_correction(struct record_session *session, struct record_piece *piece);

#endif
