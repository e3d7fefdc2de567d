// SPDX-License-Identifier: Apache-2.0
// Other tools that follow CUDA in the process, to which sampled launches give way: only one can
// use the driver's interface for tools.
#ifndef GLINT_INJECT_SAMPLED_TOOLS_H
#define GLINT_INJECT_SAMPLED_TOOLS_H

#include <stdbool.h>

// Returns what keeps sampled launches off in this process; NULL: nothing is known.
const char *sampled_conflict(void);

// The program looks up a function of the driver with dlsym, from code at `caller`. Called by any
// thread, also before the process has met the recorder.
void sampled_looked_up(const char *name, const void *caller);

// The Sanitizer API may only be used in between. False: it must not be used any more, and
// sampled_leave is not called. Any thread; may be nested.
bool sampled_enter(void);
void sampled_leave(void);
// Nobody is in between: a child of fork, or the start of the process.
void sampled_begin_anew(void);

#endif
