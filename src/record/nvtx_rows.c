// SPDX-License-Identifier: Apache-2.0
// Converts records of NVTX ranges to rows.
#include "rows.h"

bool record_nvtx_range(struct record_session *session, struct record_piece *piece)
{
    struct event_nvtx_range event;
    if (!record_take(piece, &event, sizeof(event)) || event.number == 0)
        return false;
    const char *name = record_next_text(piece), *domain = record_next_text(piece);
    const struct profile_nvtx_range range = {.number = event.number,
                                             .name = name,
                                             .domain = domain,
                                             .thread = event.thread,
                                             .start_ns =
                                                 record_since_start(session, event.start_ns),
                                             .pushed = event.pushed};
    profile_add_nvtx_range(session->writer, &range, &session->error);
    return true;
}

bool record_nvtx_range_end(struct record_session *session, struct record_piece *piece)
{
    struct event_nvtx_range_end event;
    if (!record_take(piece, &event, sizeof(event)) || event.number == 0)
        return false;
    profile_end_nvtx_range(session->writer, event.number, record_since_start(session, event.end_ns),
                           event.thread, &session->error);
    return true;
}
