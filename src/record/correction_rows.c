// SPDX-License-Identifier: Apache-2.0
// Converts records of what a corrected program did with its plan to rows.
#include "rows.h"

#define COUNT(name, field) .field = event.counts[EVENT_CORRECTION_##name],

bool record_correction(struct record_session *session, struct record_piece *piece)
{
    struct event_correction event;
    if (!record_take(piece, &event, sizeof(event)) || event.remedy >= PROFILE_REMEDIES ||
        (event.row == 0) != (event.remedy == PROFILE_REMEDY_NONE))
        return false;
    const struct profile_correction correction = {.row = event.row,
                                                  .remedy = (enum profile_remedy)event.remedy,
                                                  .path = event.stack,
                                                  FACTS_CORRECTION_COUNTS(COUNT)};
    profile_add_correction(session->writer, &correction, &session->error);
    return true;
}
