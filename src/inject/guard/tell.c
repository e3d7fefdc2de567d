// SPDX-License-Identifier: Apache-2.0
// Records of uses, and of data whose uses may be missed.
#include "tell.h"

#include "inject/core/names.h"
#include "ranges.h"

void guard_tell(const struct guard_range *range, enum event_use_kind kind, uint64_t address,
                uint32_t stack)
{
    guard_tell_of(range, kind, address, stack ? core_thread_number() : 0, stack);
}

void guard_tell_of(const struct guard_range *range, enum event_use_kind kind, uint64_t address,
                   uint32_t thread, uint32_t stack)
{
    struct event_use use = range->about;
    use.address = address < range->start                              ? range->start
                  : range->block && address >= guard_range_end(range) ? guard_range_end(range) - 1
                                                                      : address;
    use.offset = use.address - range->start;
    use.time_ns = core_now_ns();
    use.thread = thread;
    use.stack = stack;
    use.kind = (uint8_t)kind;
    core_put(EVENT_USE, &use, sizeof(use), NULL, 0);
}

void guard_tell_unknown(struct guard_range *range, enum event_use_kind kind)
{
    if (!range->reported)
        guard_tell(range, kind, range->start, 0);
    range->reported = true;
}

void guard_tell_unwatched(const struct core_call *call, const struct event_use *about)
{
    struct event_use use = *about;
    use.unwatched_bytes = use.bytes;
    use.time_ns = call->end_ns;
    core_put(EVENT_USE, &use, sizeof(use), NULL, 0);
}

void guard_tell_open(uint64_t low, uint64_t high)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && guard_overlaps(range, low, high))
            guard_tell_unknown(range, EVENT_USE_UNKNOWN);
    }
}
