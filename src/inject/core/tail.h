// SPDX-License-Identifier: Apache-2.0
// The tail of a stream: work of glint's that lies behind the program's last work on it, such as the
// read-back of what probes found. A program that asks whether the stream has ended its work asks
// about its own: the tail must not make the answer "not ready".
//
// Pieces of work are counted as they are given to a stream (struct core_stream). `last` is the
// program's last piece; once all pieces up to `idle` are known to be done, and idle >= last, only
// the tail is left. Where the program's work is still under way when a tail begins, an event
// between the two, the *mark*, tells later.
#ifndef GLINT_INJECT_CORE_TAIL_H
#define GLINT_INJECT_CORE_TAIL_H

#include "state.h"

// Before glint gives the stream work of its own, which may stay behind the program's last. Inside a
// hook, with the stream's context current; the stream is not under capture. Does not wait. Costs
// nothing where the program's work is known to be done or marked already.
void core_tail_begin(struct core_stream *stream);
// Whether all that the program gave the stream is known to be done, though the driver says that the
// stream is not ready. Any thread.
bool core_tail_is_all(struct core_stream *stream);
// The stream is gone. Its context is not.
void core_tail_forget(struct core_stream *stream);

#endif
