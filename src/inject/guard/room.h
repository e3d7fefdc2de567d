// SPDX-License-Identifier: Apache-2.0
// Whether a thread's stack has room for a signal.
#ifndef GLINT_INJECT_GUARD_ROOM_H
#define GLINT_INJECT_GUARD_ROOM_H

#include <stdbool.h>
#include <stdint.h>

// Returns whether the system can surely put a signal's frame below the stack pointer, and guard's
// handler can run there, without overwriting anything. Only called by one thread of the pager.
bool guard_has_room(uint64_t sp);

#endif
