// SPDX-License-Identifier: Apache-2.0
// How the runtime's functions for programs built with --default-stream per-thread (_ptsz) call the
// plain ones: with stream 0 replaced by the handle of the thread's own default stream. calls.awk
// generates them, except those that per_thread.c defines.
#ifndef GLINT_GPUSIM_RUNTIME_PER_THREAD_H
#define GLINT_GPUSIM_RUNTIME_PER_THREAD_H

#include "runtime.h"

#define PER_THREAD(call)          return (call)
#define PER_THREAD_STREAM(stream) runtime_per_thread(stream)

#endif
