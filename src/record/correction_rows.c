// SPDX-License-Identifier: Apache-2.0
// What a corrected program did by its plan: from records to rows.
#include "rows.h"

bool record_correction(struct session *session, struct record_piece *piece)
{
    struct event_correction event;
    if (!record_take(piece, &event, sizeof(event)) || event.remedy >= PROFILE_REMEDIES ||
        (event.row == 0) != (event.remedy == PROFILE_REMEDY_NONE))
        return false;
    const struct profile_correction correction = {
        .row = event.row,
        .remedy = (enum profile_remedy)event.remedy,
        .path = event.stack,
        .applied = event.counts[EVENT_CORRECTION_APPLIED],
        .left_alone = event.counts[EVENT_CORRECTION_LEFT],
        .bytes = event.counts[EVENT_CORRECTION_BYTES],
        .paid = event.counts[EVENT_CORRECTION_PAID],
        .peak_bytes = event.counts[EVENT_CORRECTION_PEAK_BYTES],
        .native_peak_bytes = event.counts[EVENT_CORRECTION_NATIVE_PEAK_BYTES]};
    profile_add_correction(session->writer, &correction, &session->error);
    return true;
}
