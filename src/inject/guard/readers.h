// SPDX-License-Identifier: Apache-2.0
// Others that read or write the program's memory: the kernel on its own (io_uring), network cards,
// other processes, and code that libglint-sync.so does not stand before. Neither
// page protection nor those functions can make them wait, so once there may be one, no memory is
// closed any more and nothing is corrected. readers.c has the one list of them.
#ifndef GLINT_INJECT_GUARD_READERS_H
#define GLINT_INJECT_GUARD_READERS_H

#include <stdbool.h>

// Why memory must not be closed: a reader that was found before, or one that is there now, among
// the libraries, the open files and the tracers. NULL: none is known. Makes system calls only. Any
// thread, not in a signal handler.
const char *guard_readers_find(void);
const char *guard_readers_known(void); // only what was found before; anybody

// A thread is loading a library, of which nobody knows yet what it brings.
bool guard_readers_are_loading(void);
// The thread makes another call: if it was loading, it is back.
void guard_readers_thread_is_back(void);

// --- Called by libglint-sync.so (libc/readers.c, libc/loading.c) ---------------------------------

// The program is about to get a reader. All memory is as it natively is when this returns.
void guard_readers_found(const char *why);
// A library is about to be loaded, in such a way that it `escapes` what stands before the C
// library's functions (NULL: it does not). caller: the return address of who loads it.
void guard_readers_load(const char *escapes, const void *caller);
// The program has opened a file. errno stays.
void guard_readers_opened(int file);

#endif
