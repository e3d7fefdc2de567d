// SPDX-License-Identifier: Apache-2.0
// What copies between host and device moved, and the host's memory at their ends: from records to
// rows.
#include "rows.h"

_Static_assert((int)EVENT_HOST_MANAGED == (int)PROFILE_HOST_MANAGED &&
                   (int)EVENT_HOST_KINDS == (int)PROFILE_HOST_KINDS &&
                   (int)EVENT_SAME_YES == (int)PROFILE_SAME_YES,
               "values are the same");

static int64_t since_start(const struct session *session, uint64_t time_ns)
{
    return (int64_t)(time_ns - session->process.start_ns);
}

bool record_hash(struct session *session, struct record_piece *piece)
{
    struct event_hash event;
    if (!record_take(piece, &event, sizeof(event)) || event.copy == 0 ||
        event.same > EVENT_SAME_YES)
        return false;
    const struct profile_hash hash = {.copy = event.copy,
                                      .at = event.at,
                                      .high = event.high,
                                      .low = event.low,
                                      .took_ns = event.took_ns,
                                      .same = (enum profile_same)event.same};
    profile_add_hash(session->writer, &hash, &session->error);
    return true;
}

bool record_block(struct session *session, struct record_piece *piece)
{
    struct event_block event;
    if (!record_take(piece, &event, sizeof(event)) || event.number == 0 || event.kind == 0 ||
        event.kind >= EVENT_HOST_KINDS)
        return false;
    const struct profile_block block = {.number = event.number,
                                        .address = event.address,
                                        .bytes = event.bytes,
                                        .allocated_ns = since_start(session, event.time_ns),
                                        .allocated_path = event.stack,
                                        .kind = (enum profile_host)event.kind};
    profile_add_block(session->writer, &block, &session->error);
    return true;
}

bool record_block_end(struct session *session, struct record_piece *piece)
{
    struct event_block_end event;
    if (!record_take(piece, &event, sizeof(event)) || event.number == 0)
        return false;
    const struct profile_block_end end = {.number = event.number,
                                          .freed_ns = since_start(session, event.time_ns),
                                          .thread = event.thread,
                                          .freed_path = event.stack};
    profile_add_block_end(session->writer, &end, &session->error);
    return true;
}
