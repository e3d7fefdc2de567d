// SPDX-License-Identifier: Apache-2.0
// Which work of streams is known to be behind, or before, work of other streams: a stream has
// waited for an event, or the host has. Needed only for values (core_order_begin).
//
// A stream's *clock* says of other streams how much of their work is done when the stream's next
// work begins: pieces of work, as struct core_stream counts them. An event has the clock of its
// stream at the last record of it. What a clock has no room for is not known to be ordered.
//
// Any thread may call; stream structures need not be valid any more, only numbers.
#ifndef GLINT_INJECT_CORE_ORDER_H
#define GLINT_INJECT_CORE_ORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "cudaabi/cudaabi.h"

struct core_stream;

enum { CORE_CLOCK_STREAMS = 8 };

struct core_clock {
    struct core_clock_entry {
        uint32_t stream; // number; 0: unused
        uint64_t work;   // all up to this piece is done
    } entries[CORE_CLOCK_STREAMS];
};

struct core_order {          // in core_state
    _Atomic bool on;         // otherwise nothing is known
    pthread_mutex_t lock;    // protects all below
    uint64_t records;        // of events
    struct base_map streams; // number to struct core_clock
    struct base_map events;  // CUevent to struct order_event
    struct core_clock host;  // what the host has waited for
};

void core_order_begin(void); // at the start
// Says that events may be recorded in a way that is not announced here: nothing is known from then
// on.
void core_order_distrust(void);

void core_order_event_made(CUevent event, unsigned flags);
void core_order_event_gone(CUevent event);
// Says that a call is about to record the event. It has no clock until core_order_recorded, which
// is called if the record is on the stream, with what this returns.
uint64_t core_order_recording(CUevent event, const struct core_stream *stream);
void core_order_recorded(CUevent event, const struct core_stream *stream, uint64_t enqueued);
// Returns which record of the event a wait that begins now refers to; 0: unknown. core_order_waited
// says that the wait is enqueued, or (stream NULL) that the host has waited. It does nothing if the
// event was recorded meanwhile.
uint64_t core_order_waits(CUevent event);
void core_order_waited(CUevent event, const struct core_stream *stream, uint64_t record);
void core_order_stream_gone(uint32_t stream);

// Returns whether the next work on the stream is known to begin after that piece of work of another
// stream has ended.
bool core_order_is_behind(uint32_t stream, uint32_t other, uint64_t work);

#endif
