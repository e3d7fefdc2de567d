// SPDX-License-Identifier: Apache-2.0
// Hashes of what copies between host and device move (EVENT_HASH).
#ifndef GLINT_INJECT_USES_HASH_H
#define GLINT_INJECT_USES_HASH_H

#include "inject/core/call.h"
#include "inject/guard/ranges.h"

void uses_hash_start(void);

// Called before a copy to the host. uses_hash_wants_before returns whether the bytes at the
// destination must be hashed; uses_hash_before hashes them, once the memory is known to be open.
bool uses_hash_wants_before(struct core_call *call);
void uses_hash_before(struct core_call *call);
// Called at the end of a copy, and for each further copy that the call has made. sync: the call has
// waited for the copy.
void uses_hash_after(struct core_call *call, bool sync);
struct core_call_hash uses_hash_source(const struct core_call *call, const struct event_copy *copy);

// About a pending copy to the host, with the lock of guard's table: it begins; the hash of the
// previous contents is stored; other work will change the bytes; the call has made the data safe.
void uses_hash_begin(struct guard_range *range, const struct event_copy *copy);
void uses_hash_keep_before(const struct core_call *call);
void uses_hash_disturb(uint64_t low, uint64_t high);
void uses_hash_safe(const struct core_call *call, struct guard_range *range);

// uses_hash_host_work says that a stream gets a host function or other work that may write to host
// memory. The other two bracket a synchronization, after which all such work may be done.
void uses_hash_host_work(void);
void uses_hash_sync(struct core_call *call);
void uses_hash_idle(const struct core_call *call, bool sync);

#endif
