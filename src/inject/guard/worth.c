// SPDX-License-Identifier: Apache-2.0
// Bounds what it costs to watch data. Data of call paths whose waits are known to be needed is
// watched only now and then, and none once closing pages has taken too much of the program's time.
#include "worth.h"

#include "ranges.h"

// --- Call paths whose waits are known to be needed -----------------------------------------------

// A path is the pair of the call that made data safe and the call that copied it. Once its data was
// used (or may have been) often enough, it is watched only now and then.
enum { USES_ENOUGH = 32 };

static uint64_t key_of(uint32_t sync_path, uint32_t copy_path)
{
    return ((uint64_t)sync_path << 32 | copy_path) + 1;
}

static unsigned place_of(uint64_t key)
{
    return (unsigned)(key * UINT64_C(0x9E3779B97F4A7C15) >> 52) % GUARD_PATHS;
}

bool guard_wanted(uint32_t sync_path, uint32_t copy_path)
{
    const uint64_t key = key_of(sync_path, copy_path);
    const unsigned place = place_of(key);
    if (!guard_state.paths[place].key)
        guard_state.paths[place].key = key;
    if (guard_state.table.all || guard_state.paths[place].key != key ||
        guard_state.paths[place].uses < USES_ENOUGH)
        return true; // a second path with the same hash is always watched
    const uint32_t every = guard_state.paths[place].uses < 2 * USES_ENOUGH   ? 16
                           : guard_state.paths[place].uses < 4 * USES_ENOUGH ? 64
                                                                             : 256;
    return ++guard_state.paths[place].times % every == 0;
}

void guard_count(const struct guard_range *range)
{
    const uint64_t key = key_of(range->sync_path, range->copy_path);
    const unsigned place = place_of(key);
    if (guard_state.paths[place].key == key)
        guard_state.paths[place].uses++;
}

// --- Time ----------------------------------------------------------------------------------------

// Closing pages may take this share of the program's time, plus a fixed allowance.
enum { GRANTED_NS = 50000000, SHARE = 8 };

bool guard_is_too_slow(void)
{
    return !guard_state.table.all &&
           guard_state.table.spent_ns >
               GRANTED_NS + (core_now_ns() - guard_state.table.since_ns) / SHARE;
}
