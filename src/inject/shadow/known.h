// SPDX-License-Identifier: Apache-2.0
// Whether what is kept about contents is true: work that glint does not see, and work of several
// streams at the same time, make contents unknown. All functions need shadow->lock.
#ifndef GLINT_INJECT_SHADOW_KNOWN_H
#define GLINT_INJECT_SHADOW_KNOWN_H

#include "contents.h"

// Returns whether work of another stream that writes the object may be in flight.
bool shadow_is_concurrent(const struct shadow_contents *contents, const struct core_stream *stream);
// Says that the stream is about to write the object. If another stream's work on it may be in
// flight, the scan that follows and all earlier ones that were not reported yet are disturbed:
// either stream may be the first. The contents are unknown then.
void shadow_known_writes(struct shadow_contents *contents, const struct core_stream *stream);
// Returns the job of a scan of what the stream's last work has written: marked pieces. While
// another stream's scan may be in flight, only hashes of the whole object. A scan chooses its
// sample from marks and states that it counts first; if they were cleared meanwhile, it would
// search forever.
struct device_values_job shadow_known_job(const struct shadow_contents *contents,
                                          const struct core_stream *stream);
// Does what shadow_known_writes does, for the piece of work of that number.
void shadow_known_meet(struct shadow_contents *contents, const struct core_stream *stream,
                       uint64_t work);
// Makes what is kept about the object current, in the order of the stream: if work that glint did
// not see may have changed its contents, they are unknown.
bool shadow_known_refresh(struct shadow *shadow, struct shadow_contents *contents,
                          struct core_stream *stream);
// Says that work which is not seen, the last that was counted on the stream (NULL: unknown), may
// have written anything.
void shadow_known_unseen(struct shadow *shadow, const struct core_stream *stream);

#endif
