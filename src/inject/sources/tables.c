// SPDX-License-Identifier: Apache-2.0
// Tables of pointers, as for batches of matrices, are small, and a program copies them to the GPU
// in one piece. So only small copies are searched, for aligned words. Larger ones, rows with gaps,
// and copies of graphs are not. Programs often copy parameters before they load the first code
// without probes, as PyTorch does, so small copies are searched from the start. Until such code is
// loaded, that may take a hundredth of the run, or a few milliseconds. If it takes more, the object
// that a copy fills is marked, and launches that are passed it are unknown.
#include "tables.h"

#include "inject/core/object_records.h"
#include "inject/probe/probe.h"
#include "read.h"

enum {
    MOST_BYTES = 16 << 10, // of a copy that is searched
    EARLY_NS = 5000000,    // may be spent until code without probes is loaded, or
    EARLY_PART = 100,      // this part of the time since the start, if that is more
};

static void take(void *user, const char *chunk, size_t bytes)
{
    (void)user;
    core_object_addresses(chunk, bytes);
}

// Returns whether searching a copy is worth what it costs.
static bool may_search(uint64_t bytes)
{
    const bool passes = atomic_load_explicit(&probe_state->passes, memory_order_relaxed);
    const uint64_t spent_ns = atomic_load_explicit(&sources_state.search_ns, memory_order_relaxed);
    return sources_may_read(bytes) &&
           (passes || spent_ns < EARLY_NS ||
            spent_ns < (core_now_ns() - sources_state.start_ns) / EARLY_PART);
}

static bool search(uint64_t start, uint64_t bytes)
{
    const uint64_t start_ns = core_now_ns();
    const bool good = sources_read(start, bytes, take, NULL);
    atomic_fetch_add_explicit(&sources_state.search_ns, core_now_ns() - start_ns,
                              memory_order_relaxed);
    return good;
}

void sources_tables_copied(const struct core_call *call)
{
    const struct event_copy *copy = &call->detail.copy;
    const uint8_t memory = copy->from_memory;
    if (copy->direction != EVENT_HOST_TO_DEVICE || copy->height > 1 || copy->depth > 1 ||
        copy->bytes < sizeof(uint64_t) || copy->bytes > MOST_BYTES ||
        (memory != EVENT_MEMORY_PAGEABLE && memory != EVENT_MEMORY_PINNED))
        return;
    if (!may_search(copy->bytes) || !search(copy->from, copy->bytes))
        core_objects_unsearched(&core_state.objects, copy->to);
}
