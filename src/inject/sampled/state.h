// SPDX-License-Identifier: Apache-2.0
// The state of sampled launches.
#ifndef GLINT_INJECT_SAMPLED_STATE_H
#define GLINT_INJECT_SAMPLED_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/probe/kernel.h"
#include "instrument/instrument.h"
#include "library.h"

// The image of a loaded module, and its copies.
struct sampled_module {
    const unsigned char *image; // NULL: there is none that can be loaded again
    bool owned;
    bool examined; // of the context's GPU: the field below is known
    bool refused;  // its code has variables, or cannot be read
    struct sampled_copy *copies;
};

// A patched copy in one context. Never freed, because kernels refer to it.
struct sampled_copy {
    struct sampled_copy *next;
    struct core_context *context;
    CUmodule module;    // NULL: it could not be made
    _Atomic bool ended; // its functions must not be launched any more
};

// A kernel's function in a copy. Never freed, because launches in flight refer to it.
struct sampled_kernel {
    struct sampled_kernel *next; // in another context
    struct sampled_copy *copy;
    CUfunction function;
    struct instrument_kernel about; // what shadow memory needs to know: only a table
    _Atomic uint64_t launches;
    _Atomic bool due;        // a launch of it is to be sampled; who clears it does so
    _Atomic uint32_t flying; // sampled launches whose results have not arrived
};

struct sampled_state {
    // Written at the start only:
    bool on;
    uint32_t every, percent;
    struct sampled_library library;
    void *patch;
    // Any thread:
    _Atomic bool stopped; // no more launches are sampled; it was noted why
    _Atomic bool refused; // it was noted that a module has no copy
    // Held while copies are made, and protects `patched`. Who finds it taken makes no copy: the
    // driver may wait for the GPU meanwhile.
    pthread_mutex_t loading;
    BASE_ARRAY(struct core_context *) patched; // contexts that have the patch
    pthread_mutex_t
        lock; // protects `modules`, and their lists; the driver is never called under it
    struct base_map modules; // number to struct sampled_module
};

extern struct sampled_state sampled_state;

// Samples no more launches, and notes why, once.
void sampled_stop(const char *why);
// Gives up the subscription to the Sanitizer API, if there is one. Nobody uses it.
void sampled_unsubscribe(void);
// Returns the kernel's patched function in the context; NULL: it has none. Both without the lock.
struct sampled_kernel *sampled_kernel_in(const struct probe_kernel *kernel,
                                         const struct core_context *context);
void sampled_module_ended(uint32_t module);
void sampled_context_gone(struct core_context *context, uint64_t call);

#endif
