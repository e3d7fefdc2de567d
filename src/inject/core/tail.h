// SPDX-License-Identifier: Apache-2.0
// The tail of a stream: work of glint behind the program's last work on it, such as the read-back
// of probe results. A program that queries the stream asks about its own work, so the tail must not
// make the answer "not ready".
//
// Pieces of work are counted when they are enqueued (struct core_stream). `last` is the program's
// last piece. All pieces up to `idle` are known to be done; if idle >= last, only the tail remains.
// If the program's work is not done when a tail begins, an event between the two, the *mark*, shows
// later when it is.
#ifndef GLINT_INJECT_CORE_TAIL_H
#define GLINT_INJECT_CORE_TAIL_H

#include "state.h"

// Called before glint gives the stream work that may stay behind the program's last. Needs a hook,
// the stream's context current, and no capture of the stream. Does not wait. Costs nothing if the
// program's work is known to be done, or is marked already.
void core_tail_begin(struct core_stream *stream);
// Returns whether all of the program's work on the stream is known to be done although the driver
// reports "not ready". Any thread.
bool core_tail_is_all(struct core_stream *stream);
// Called when the stream was destroyed, while its context still exists.
void core_tail_forget(struct core_stream *stream);

#endif
