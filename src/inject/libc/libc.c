// SPDX-License-Identifier: Apache-2.0
// Joins libglint.so when the process starts. Before that, and if libglint.so is not loaded or needs
// nothing, every call is passed on to the C library.
#include "libc.h"

#include "inject/util/next.h"

const struct hooks_inside *_Atomic libc_joined;

__attribute__((constructor)) static void join(void)
{
    static const struct guard_outer_libc outer = {
        .free = libc_free, .sigaction = libc_next_sigaction, .mask = libc_next_mask};
    const struct hooks_inside *(*const ask)(uint32_t, const struct guard_outer_libc *) =
        (const struct hooks_inside *(*)(uint32_t, const struct guard_outer_libc *))util_next(
            "glint_v1_join_libc");
    const struct hooks_inside *inside = ask ? ask(INSIDE_VERSION, &outer) : NULL;
    if (inside)
        libc_spare_start();
    atomic_store_explicit(&libc_joined, inside, memory_order_release);
}
