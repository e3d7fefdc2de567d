// SPDX-License-Identifier: Apache-2.0
// Converts records of what blocks loaded of objects in global memory to rows. The program can
// overwrite records, so a record that contradicts itself is rejected.
#include "rows.h"

bool record_block_reuse(struct record_session *session, struct record_piece *piece)
{
    struct event_block_reuse event;
    const uint32_t flags = EVENT_REUSE_INCOMPLETE | EVENT_REUSE_LARGE | EVENT_REUSE_APART;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 || event.object == 0 ||
        event.kernel == 0 || event.site == 0 || event.looked == 0 || event.looked > event.blocks ||
        event.words == 0 || event.words > event.moved || event.moved > event.loads ||
        event.most_words > event.words || event.words / event.looked > event.most_words ||
        event.most_words > event.extent || event.flags & ~flags ||
        (event.resident == 0) != (event.free_bytes == EVENT_UNKNOWN))
        return false;
    const struct profile_block_reuse reuse = {FACTS_BLOCK_REUSE(RECORD_AS)};
    profile_add_block_reuse(session->writer, &reuse, &session->error);
    return true;
}
