// SPDX-License-Identifier: Apache-2.0
// Hashes of what copies between host and device move (EVENT_HASH).
#ifndef GLINT_INJECT_USES_HASH_H
#define GLINT_INJECT_USES_HASH_H

#include "inject/core/call.h"
#include "inject/guard/ranges.h"

void uses_hash_start(void);

// Before a copy to the host: whether the bytes at the destination have to be hashed. The second
// does so, once the memory is known to be open.
bool uses_hash_wants_before(struct core_call *call);
void uses_hash_before(struct core_call *call);
// At the end of a copy; sync: it has waited for itself. And for one more copy that the call has
// made.
void uses_hash_after(struct core_call *call, bool sync);
void uses_hash_source(const struct core_call *call, const struct event_copy *copy);

// With the lock of guard's table, about a pending copy to the host: it begins; the hash of what was
// there before is kept; other work will change the bytes there; the call has made it safe.
void uses_hash_begin(struct guard_range *range, const struct event_copy *copy);
void uses_hash_keep_before(const struct core_call *call);
void uses_hash_disturb(uint64_t low, uint64_t high);
void uses_hash_safe(const struct core_call *call, struct guard_range *range);

// A stream is given a host function or other work that may write to host memory. The other two
// stand around a synchronization, after which all such work may be done.
void uses_hash_host_work(void);
void uses_hash_sync(struct core_call *call);
void uses_hash_idle(const struct core_call *call, bool sync);

#endif
