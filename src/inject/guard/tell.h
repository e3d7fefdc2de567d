// SPDX-License-Identifier: Apache-2.0
// Records of uses, and of data whose uses may be missed. Needs the lock of guard's table.
#ifndef GLINT_INJECT_GUARD_TELL_H
#define GLINT_INJECT_GUARD_TELL_H

#include <stdint.h>

#include "event/event.h"

struct core_call;
struct guard_range;

// Records a use of the range by this thread; stack 0: the thread and its call path are unknown.
// guard_tell_of does the same for another thread; 0: it is unknown.
void guard_tell(const struct guard_range *range, enum event_use_kind kind, uint64_t address,
                uint32_t stack);
void guard_tell_of(const struct guard_range *range, enum event_use_kind kind, uint64_t address,
                   uint32_t thread, uint32_t stack);
// Record, once, that uses of the range, or of all ranges with pages there, may be missed from now
// on.
void guard_tell_unknown(struct guard_range *range, enum event_use_kind kind);
void guard_tell_open(uint64_t low, uint64_t high);
// Records data that the call has made safe, and of which nothing is watched.
void guard_tell_unwatched(const struct core_call *call, const struct event_use *about);

#endif
