// SPDX-License-Identifier: Apache-2.0
// Protects pages and opens them again. Opening a part of a mapping splits it, and the system limits
// the number of mappings (vm.max_map_count). So some are reserved, to be given back when the limit
// is reached; if that is not enough, more than was asked for is opened.
#include "protect.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "kernel.h"
#include "memory.h"
#include "ranges.h"
#include "system.h"

static bool protect_once(uint64_t low, uint64_t high, int how)
{
    return guard_system_call(SYS_mprotect, (long)low, (long)(high - low), how, 0) == 0;
}

enum { RESERVED = 64 };

void guard_protect_prepare(void)
{
    const uint64_t page = guard_page_bytes();
    if (guard_state.reserve.made)
        return;
    guard_state.reserve.made = true;
    const long at = guard_system_call6(SYS_mmap, 0, (long)(RESERVED * page), PROT_NONE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at < 0)
        return;
    for (uint64_t i = 1; i < RESERVED; i += 2)
        protect_once((uint64_t)at + i * page, (uint64_t)at + (i + 1) * page, PROT_READ);
    atomic_store(&guard_state.reserve.at, (uint64_t)at);
}

// Gives the reserved mappings back. No page is closed from then on.
static bool give_reserve(void)
{
    const uint64_t at = atomic_exchange(&guard_state.reserve.at, 0);
    guard_keep_open(
        "the program has nearly as many memory mappings as the system allows (vm.max_map_count)");
    return at && guard_system_call(SYS_munmap, (long)at, (long)(RESERVED * guard_page_bytes()), 0,
                                   0) == 0;
}

// Widens the range to all adjoining closed pages, which are one mapping to the system. Pages with
// owed data are excluded, because they must stay closed until it is delivered.
static void widen(uint64_t *low, uint64_t *high)
{
    for (bool wider = true; wider;) {
        wider = false;
        for (EACH_GUARD_RANGE(range)) {
            if (range->state != GUARD_ARMED || range->owed || range->paged || range->high < *low ||
                range->low > *high || (range->low >= *low && range->high <= *high))
                continue;
            *low = range->low < *low ? range->low : *low;
            *high = range->high > *high ? range->high : *high;
            wider = true;
        }
    }
}

bool guard_protect(uint64_t low, uint64_t high)
{
    return protect_once(low, high, PROT_NONE);
}

void guard_unprotect(uint64_t *low, uint64_t *high)
{
    const uint64_t page = guard_page_bytes();
    if (protect_once(*low, *high, PROT_READ | PROT_WRITE))
        return;
    if (give_reserve() && protect_once(*low, *high, PROT_READ | PROT_WRITE))
        return;
    widen(low, high);
    if (protect_once(*low, *high, PROT_READ | PROT_WRITE))
        return;
    // mprotect stops at unmapped pages; all that are mapped must be opened.
    for (uint64_t at = *low; at < *high; at += page)
        protect_once(at, at + page, PROT_READ | PROT_WRITE);
}

void guard_unprotect_by_force(const struct guard_range *range, uint64_t low, uint64_t high)
{
    if (protect_once(low, high, PROT_READ | PROT_WRITE))
        return;
    if (give_reserve() && protect_once(low, high, PROT_READ | PROT_WRITE))
        return;
    uint64_t all_low = range->low, all_high = range->high;
    widen(&all_low, &all_high);
    protect_once(all_low, all_high, PROT_READ | PROT_WRITE);
}
