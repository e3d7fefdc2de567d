// SPDX-License-Identifier: Apache-2.0
// Converts records of calls of NCCL to rows.
#include "rows.h"

bool record_collective(struct record_session *session, struct record_piece *piece)
{
    struct event_collective event;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 ||
        event.type >= EVENT_COLLECTIVE_TYPES)
        return false;
    const struct profile_collective collective = {FACTS_COLLECTIVE(RECORD_AS)};
    profile_add_collective(session->writer, &collective, &session->error);
    return true;
}
