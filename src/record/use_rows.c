// SPDX-License-Identifier: Apache-2.0
// First uses of what the GPU gave the program: from records to rows.
#include "rows.h"

_Static_assert((int)EVENT_USE_CLOCK == (int)PROFILE_USE_CLOCK &&
                   (int)EVENT_USE_KINDS == (int)PROFILE_USE_KINDS,
               "values are the same");

bool record_use(struct session *session, struct record_piece *piece)
{
    struct event_use event;
    if (!record_take(piece, &event, sizeof(event)) || event.sync == 0 || event.kind == 0 ||
        event.kind >= EVENT_USE_KINDS || event.unwatched_bytes > event.bytes)
        return false;
    const struct profile_use use = {.sync = event.sync,
                                    .copy = event.copy,
                                    .object = event.object,
                                    .node = event.node,
                                    .kind = (enum profile_use_kind)event.kind,
                                    .address = event.address,
                                    .offset = event.offset,
                                    .bytes = event.bytes,
                                    .unwatched_bytes = event.unwatched_bytes,
                                    .time_ns = (int64_t)(event.time_ns - session->process.start_ns),
                                    .thread = event.thread,
                                    .path = event.stack};
    profile_add_use(session->writer, &use, &session->error);
    return true;
}
