// SPDX-License-Identifier: Apache-2.0
// Hashes of what copies between host and device move (EVENT_HASH).
#ifndef GLINT_INJECT_USES_HASH_H
#define GLINT_INJECT_USES_HASH_H

#include "inject/core/call.h"
#include "inject/guard/ranges.h"

void use_hash_start(void);

// Before a copy to the host: whether the bytes at the destination have to be hashed. The second
// does so, once the memory is known to be open.
bool use_hash_wants_before(struct call *call);
void use_hash_before(struct call *call);
// At the end of a copy; sync: it has waited for itself. And for one more copy that the call has
// made.
void use_hash_after(struct call *call, bool sync);
void use_hash_source(const struct call *call, const struct event_copy *copy);

// With the lock of guard's table, about a pending copy to the host: it begins; the hash of what was
// there before is kept; other work will change the bytes there; the call has made it safe.
void use_hash_begin(struct use_range *range, const struct event_copy *copy);
void use_hash_keep_before(const struct call *call);
void use_hash_disturb(uint64_t low, uint64_t high);
void use_hash_safe(const struct call *call, struct use_range *range);

// A stream is given a host function or other work that may write to host memory. The other two
// stand around a synchronization, after which all such work may be done.
void use_hash_host_work(void);
void use_hash_sync(struct call *call);
void use_hash_idle(const struct call *call, bool sync);

#endif
