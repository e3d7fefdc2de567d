// SPDX-License-Identifier: Apache-2.0
// Closes pages so that every access to them waits, also accesses by the system: their contents are
// moved away, and userfaultfd announces who misses them. System calls, kernel threads, DMA and
// other processes then wait until the page is back, instead of failing as they do on protected
// pages, and threads need not take a signal. No mapping has to be divided to bring a page back.
//
// Needs Linux 6.8, private anonymous memory, and CAP_SYS_PTRACE, without which the system announces
// no forks: children that the C library does not know of would find zeros. Where it does not work,
// pages stay open, unless the user asked that they be protected (protect.h).
//
//   pager.c    moves pages
//   touches.c  answers faults
#ifndef GLINT_INJECT_GUARD_PAGER_H
#define GLINT_INJECT_GUARD_PAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Called at the start of a process. Starts the pager's threads, if the system permits it and
// GLINT_PAGER is not 0.
void guard_pager_start(void);
// Called in a child of fork, which has no pager. Brings back pages that were away in the parent.
void guard_pager_forked(void);

// --- With the lock of guard's table held ---------------------------------------------------------

// Moves pages away. Returns false if some of them cannot be moved, for example because a device
// accesses them; guard_pager_open must then be called.
bool guard_pager_close(uint64_t low, uint64_t high);
// Read and write pages that are away. Return false if some of the bytes are not away.
bool guard_pager_read(uint64_t from, void *to, size_t bytes);
bool guard_pager_write(uint64_t to, const void *from, size_t bytes);

// --- Also without it -----------------------------------------------------------------------------

// Brings pages back that are away, and wakes who waits for them.
void guard_pager_open(uint64_t low, uint64_t high);
// Called when the process has forked: fills pages of the child that are away here, through its
// userfaultfd, which is closed. Only a thread of the pager calls it.
void guard_pager_fill(int file);
bool guard_pager_is_on(void);
const char *guard_pager_refused(void);  // why it is not on; NULL: it is
bool guard_pager_has(uint64_t address); // the address may be in a page that is away

#endif
