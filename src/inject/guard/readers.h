// SPDX-License-Identifier: Apache-2.0
// Others that read or write the program's memory: the kernel asynchronously (io_uring), network
// cards, other processes, and code that libglint-sync.so does not stand before. Closed pages cannot
// make them wait. Once there may be such a reader, no page is closed any more and nothing is
// corrected. readers.c has the one list of them.
#ifndef GLINT_INJECT_GUARD_READERS_H
#define GLINT_INJECT_GUARD_READERS_H

#include <stdbool.h>

// Returns why memory must not be closed: a reader that was found before, or one that is found now
// among the libraries, the open files and the tracers. NULL: none. Makes system calls only. Any
// thread, not in a signal handler.
const char *guard_readers_find(void);
const char *guard_readers_known(void); // only one that was found before; also in a signal handler

// Whether a thread is loading a library that was not examined yet.
bool guard_readers_are_loading(void);
// The thread makes another call: if it was loading a library, that has ended.
void guard_readers_thread_is_back(void);

// --- Called by libglint-sync.so (libc/readers.c, libc/loading.c) ---------------------------------

// The program is about to get a reader. When this returns, no memory is closed and nothing is owed.
void guard_readers_found(const char *why);
// A library is about to be loaded. escapes: why libglint-sync.so will not see its calls; NULL: it
// will. caller: the return address of the loading function.
void guard_readers_load(const char *escapes, const void *caller);
// The program has opened a file. Keeps errno.
void guard_readers_opened(int file);

#endif
