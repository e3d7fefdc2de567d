// SPDX-License-Identifier: Apache-2.0
// Others that read or write the program's memory: the kernel asynchronously (io_uring), network
// cards, other processes, and code that libglint-sync.so does not intercept. Closed pages cannot
// make them wait. Once there may be such a reader, guard closes no more pages and nothing is
// corrected. readers.c has the only list of them.
#ifndef GLINT_INJECT_GUARD_READERS_H
#define GLINT_INJECT_GUARD_READERS_H

#include <stdbool.h>

// Returns why memory must not be closed: a reader that was found before, or one that is found now
// among the open files and the tracers, or at the last look at the libraries (libraries.h). NULL:
// none. Makes system calls only. Any
// thread, not in a signal handler.
const char *guard_readers_find(void);
const char *guard_readers_known(void); // only one that was found before; also in a signal handler

// Returns whether a thread is loading a library that was not examined yet.
bool guard_readers_are_loading(void);
// Called when the thread makes another call: if it was loading a library, that has ended.
void guard_readers_thread_is_back(void);

// --- Called by libglint-sync.so (libc/readers.c, libc/loading.c) ---------------------------------

// Called before the program gets a reader. When this returns, no memory is closed and nothing is
// owed.
void guard_readers_found(const char *why);
// Called before a library is loaded. escapes: why libglint-sync.so will not see its calls; NULL: it
// will. caller: the return address of the loading function.
void guard_readers_load(const char *escapes, const void *caller);
// Called when the program has opened a file. Keeps errno.
void guard_readers_opened(int file);

#endif
