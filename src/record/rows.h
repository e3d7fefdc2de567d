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

// Copies the structure from the front of the record. False: it is too short.
bool record_take(struct record_piece *piece, void *out, size_t bytes);
// The next of the texts that NULs end, in the record; NULL: it is empty, or there is none.
const char *record_next_text(struct record_piece *piece);

// probe_rows.c: writes one record of what probes tell. False: it makes no sense.
bool record_probe(struct session *session, struct record_piece *piece);
bool record_site(struct session *session, struct record_piece *piece);
bool record_access(struct session *session, struct record_piece *piece);
bool record_told(struct session *session, struct record_piece *piece);
bool record_counts(struct session *session, struct record_piece *piece);
bool record_map(struct session *session, struct record_piece *piece);

// use_rows.c: the same of a first use.
bool record_use(struct session *session, struct record_piece *piece);
// transfer_rows.c: of what a copy has moved, and of host memory.
bool record_hash(struct session *session, struct record_piece *piece);
bool record_block(struct session *session, struct record_piece *piece);
bool record_block_end(struct session *session, struct record_piece *piece);
bool record_correction(struct session *session, struct record_piece *piece);

#endif
