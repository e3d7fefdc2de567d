// SPDX-License-Identifier: Apache-2.0
// How much GPU time sampled launches may take.
#ifndef GLINT_INJECT_SAMPLED_BUDGET_H
#define GLINT_INJECT_SAMPLED_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum { SAMPLED_BUDGET_PERCENT = 10, SAMPLED_UNLIMITED_PERCENT = 100 };

// Returns whether another launch may be sampled. native_ns: what all other launches have taken so
// far. unread: sampled launches whose time is unknown yet; there is only one at a time, because it
// may take hundreds of times as long as natively.
static inline bool sampled_budget_allows(uint64_t native_ns, uint64_t sampled_ns, uint32_t unread,
                                         uint32_t percent)
{
    if (percent >= SAMPLED_UNLIMITED_PERCENT)
        return true;
    return !unread && sampled_ns <= native_ns / 100 * percent;
}

#endif
