// SPDX-License-Identifier: Apache-2.0
// libglint-sync.so, which stands before functions of the C library where first uses are watched or
// waits are corrected (`--analyses sync`, `glint fix`). Without it libglint.so closes no pages. It
// decides nothing itself, but announces to libglint.so (hooks/inside.h) what the program is about
// to do.
//
//   libc.c     joining libglint.so
//   files.c    functions that hand memory to the system
//   memory.c   functions that allocate and free memory
//   spare.c    large blocks that were freed, kept for reuse
//   signals.c  functions that set signal handlers and masks
//   loading.c  dlopen
//   readers.c  other functions that let others access the program's memory
//   clocks.c   functions that read a clock
#ifndef GLINT_INJECT_LIBC_LIBC_H
#define GLINT_INJECT_LIBC_LIBC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "inject/hooks/inside.h"

extern const struct hooks_inside *_Atomic libc_joined; // written once, by the constructor

// Returns NULL if libglint.so needs nothing of this process, or has not been joined yet: all calls
// are then passed on.
static inline const struct hooks_inside *libc_inside(void)
{
    return atomic_load_explicit(&libc_joined, memory_order_acquire);
}

// memory.c: the program calls this as free(). The compiler must not know it by that name.
void libc_free(void *block) __asm__("free") __attribute__((visibility("default")));

// signals.c: the C library's functions; whether a system call made by number would block SIGSEGV in
// the thread; and the reason that is given for closing no more pages then.
int libc_next_sigaction(int number, const struct sigaction *action, struct sigaction *old);
int libc_next_mask(int how, const sigset_t *set, sigset_t *old);
bool libc_blocks_fault(long number, const long argument[6]);
void libc_check_event(const struct sigevent *event); // gives up if the event starts a thread
extern const char libc_blocked[];

// clocks.c: whether a system call made by number reads a clock.
bool libc_reads_clock(long number);

// spare.c. Makes glibc's malloc map large blocks individually from now on. By itself it stops doing
// so when the first of them are freed, which the driver does at its start.
void libc_spare_start(void);
// Returns a freed block of this many bytes, with arbitrary contents; NULL: none is kept.
void *libc_spare_take(size_t bytes);
// Called when the program frees a block. Returns true if the block is kept.
bool libc_spare_keep(void *block);
// Called when memory is short. Returns true if kept blocks were freed.
bool libc_spare_release(void);

#endif
