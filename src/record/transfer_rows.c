// SPDX-License-Identifier: Apache-2.0
// Converts records of the contents of copies, and of the host memory at their ends, to rows.
#include "rows.h"

bool record_hash(struct record_session *session, struct record_piece *piece)
{
    struct event_hash event;
    if (!record_take(piece, &event, sizeof(event)) || event.copy == 0 ||
        event.same > EVENT_SAME_YES)
        return false;
    const struct profile_hash hash = {FACTS_HASH(RECORD_AS)};
    profile_add_hash(session->writer, &hash, &session->error);
    return true;
}

bool record_copy_source(struct record_session *session, struct record_piece *piece)
{
    struct event_copy_source event;
    if (!record_take(piece, &event, sizeof(event)) || event.copy == 0 || event.at == 0 ||
        event.same == EVENT_SAME_UNKNOWN || event.same > EVENT_SAME_YES)
        return false;
    const struct profile_copy_source source = {FACTS_COPY_SOURCE(RECORD_AS)};
    profile_add_copy_source(session->writer, &source, &session->error);
    return true;
}

bool record_block(struct record_session *session, struct record_piece *piece)
{
    struct event_block event;
    if (!record_take(piece, &event, sizeof(event)) || event.number == 0 || event.kind == 0 ||
        event.kind >= EVENT_HOST_KINDS)
        return false;
    const struct profile_block block = {FACTS_BLOCK(RECORD_AS)};
    profile_add_block(session->writer, &block, &session->error);
    return true;
}

bool record_block_end(struct record_session *session, struct record_piece *piece)
{
    struct event_block_end event;
    if (!record_take(piece, &event, sizeof(event)) || event.number == 0)
        return false;
    const struct profile_block_end end = {FACTS_BLOCK_END(RECORD_AS)};
    profile_add_block_end(session->writer, &end, &session->error);
    return true;
}
