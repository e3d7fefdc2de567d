// SPDX-License-Identifier: Apache-2.0
// Converts records of first uses of data from the GPU to rows.
#include "rows.h"

bool record_use(struct record_session *session, struct record_piece *piece)
{
    struct event_use event;
    if (!record_take(piece, &event, sizeof(event)) || event.sync == 0 || event.kind == 0 ||
        event.kind >= EVENT_USE_KINDS || event.unwatched_bytes > event.bytes)
        return false;
    const struct profile_use use = {FACTS_USE(RECORD_AS)};
    profile_add_use(session->writer, &use, &session->error);
    return true;
}
