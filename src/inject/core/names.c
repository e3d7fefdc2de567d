// SPDX-License-Identifier: Apache-2.0
// Numbers of threads and events. A number is announced in the ring under the lock that gives it
// out.
#include "names.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t core_thread_number_new(void)
{
    struct core_thread *thread = &core_thread;
    char name[17] = "";
    prctl(PR_GET_NAME, name);
    struct event_thread record = {atomic_fetch_add(&core_state.threads_made, 1) + 1,
                                  (int32_t)syscall(SYS_gettid)};
    core_put(EVENT_THREAD, &record, sizeof(record), name, strlen(name));
    thread->number = record.number;
    thread->generation = core_state.generation;
    thread->last_handle = NULL;
    return thread->number;
}

// --- Events --------------------------------------------------------------------------------------

// Returns the event's place in the map, whose value is number << 32 | times recorded. Needs the
// lock.
static uint64_t *event_place(CUevent event)
{
    bool added;
    uint64_t *place = base_map_put(&core_state.events, core_map_key(event), &added);
    if (!place)
        core_no_memory();
    else if (added)
        *place = (atomic_fetch_add(&core_state.events_made, 1) + 1) << 32;
    return place;
}

uint64_t core_event_number(CUevent event)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    const uint64_t *place = event ? event_place(event) : NULL;
    uint64_t number = place ? *place >> 32 : 0;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return number;
}

uint32_t core_event_record_number(CUevent event, bool next)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    uint64_t *place = event ? event_place(event) : NULL;
    if (place && next)
        (*place)++;
    uint32_t number = place ? (uint32_t)*place : 0;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return number;
}

void core_event_end(CUevent event)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    base_map_remove(&core_state.events, core_map_key(event));
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}
