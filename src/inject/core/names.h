// SPDX-License-Identifier: Apache-2.0
// Numbers of threads and events, and the maps by which the driver's handles lead to glint's
// structures. Numbers are given out under core_state.lock and announced before they are returned.
#ifndef GLINT_INJECT_CORE_NAMES_H
#define GLINT_INJECT_CORE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "cudaabi/cudaabi.h"
#include "state.h"

// --- Maps of handles, with the lock that protects them held --------------------------------------

static inline uint64_t core_map_key(const void *handle)
{
    return (uint64_t)(uintptr_t)handle;
}
static inline void *core_map_pointer(uint64_t value)
{
    return (void *)(uintptr_t)value; // NOLINT(performance-no-int-to-ptr)
}
// Returns what the key leads to; NULL: nothing.
static inline void *core_map_at(const struct base_map *map, uint64_t key)
{
    const uint64_t *value = base_map_get(map, key);
    return value ? core_map_pointer(*value) : NULL;
}
// Makes the key lead to the value. Returns false if memory runs out, which is noted.
static inline bool core_map_enter(struct base_map *map, uint64_t key, const void *value)
{
    uint64_t *place = base_map_put(map, key, NULL);
    if (place)
        *place = core_map_key(value);
    else
        core_no_memory();
    return place != NULL;
}

// --- Threads and events --------------------------------------------------------------------------

uint32_t core_thread_number_new(void);
// Returns the number of the calling thread, announced if it is new.
static inline uint32_t core_thread_number(void)
{
    return core_thread.generation == core_state.generation ? core_thread.number
                                                           : core_thread_number_new();
}

// Returns the event's number, assigned if it is new; 0: out of memory, or no event.
uint64_t core_event_number(CUevent event);
// Returns how often the event was recorded; with `next`, counts one more record first.
uint32_t core_event_record_number(CUevent event, bool next);
void core_event_end(CUevent event); // forgets the handle

#endif
