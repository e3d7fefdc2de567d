// SPDX-License-Identifier: Apache-2.0
// What was done by the plan of a corrected run: from records to rows.
#include "rows.h"

bool record_correction(struct session *session, struct record_piece *piece)
{
    struct event_correction event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    const struct profile_correction row = {
        .row = event.row,
        .remedy = event.remedy < PROFILE_REMEDY_KINDS ? (enum profile_remedy)event.remedy
                                                      : PROFILE_REMEDY_NONE,
        .path = event.stack,
        .applied = event.counts[EVENT_CORRECTION_APPLIED],
        .left = event.counts[EVENT_CORRECTION_LEFT],
        .bytes = event.counts[EVENT_CORRECTION_BYTES],
        .paid = event.counts[EVENT_CORRECTION_PAID],
        .peak_bytes = event.counts[EVENT_CORRECTION_PEAK_BYTES],
        .native_peak_bytes = event.counts[EVENT_CORRECTION_NATIVE_PEAK_BYTES]};
    profile_add_correction(session->writer, &row, &session->error);
    return true;
}
