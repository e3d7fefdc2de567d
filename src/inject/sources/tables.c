// SPDX-License-Identifier: Apache-2.0
// Tables of pointers, as for batches of matrices, are small, and a program copies them to the GPU
// in one piece. So only small copies are searched, for aligned words. Larger ones, rows with gaps,
// and copies of graphs are not. Before the program has loaded code without probes, nothing is
// searched: then the object that such a copy fills is marked, and launches that are passed it are
// unknown.
#include "tables.h"

#include "inject/core/object_records.h"
#include "inject/probe/probe.h"
#include "read.h"

enum { MOST_BYTES = 16 << 10 }; // of a copy that is searched

static void take(void *user, const char *chunk, size_t bytes)
{
    (void)user;
    core_object_addresses(chunk, bytes);
}

void sources_tables_copied(const struct core_call *call)
{
    const struct event_copy *copy = &call->detail.copy;
    const uint8_t memory = copy->from_memory;
    if (copy->direction != EVENT_HOST_TO_DEVICE || copy->height > 1 || copy->depth > 1 ||
        copy->bytes < sizeof(uint64_t) || copy->bytes > MOST_BYTES ||
        (memory != EVENT_MEMORY_PAGEABLE && memory != EVENT_MEMORY_PINNED))
        return;
    const bool passes = atomic_load_explicit(&probe_state->passes, memory_order_relaxed);
    if (!passes || !sources_may_read(copy->bytes) ||
        !sources_read(copy->from, copy->bytes, take, NULL))
        core_objects_unsearched(&core_state.objects, copy->to);
}
