// SPDX-License-Identifier: Apache-2.0
// System calls without libc, which keep errno and enter no function of libglint-sync.so.
#ifndef GLINT_INJECT_GUARD_KERNEL_H
#define GLINT_INJECT_GUARD_KERNEL_H

// Return the result, or -errno.
long guard_system_call6(long number, long a, long b, long c, long d, long e, long f);
static inline long guard_system_call(long number, long a, long b, long c, long d)
{
    return guard_system_call6(number, a, b, c, d, 0, 0);
}

#endif
