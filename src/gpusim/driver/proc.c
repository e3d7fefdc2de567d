// SPDX-License-Identifier: Apache-2.0
// Implements cuGetProcAddress: finds a function by its name, the CUDA version that the program was
// built for, and the kind of default stream that it uses. The functions are the exported ones,
// which write the log (calls/calls.awk).
#include <string.h>

#include "driver.h"

struct proc {
    const char *name;
    int version;
    const char *symbol;
    void *function, *per_thread;
};

#define NONE 0
#define PROC(name, version, symbol, per_thread_symbol) \
    {#name, version, #symbol, (void *)(symbol), (void *)(per_thread_symbol)},
static const struct proc procs[] = {
#include "procs.def"
};
#undef PROC
#undef NONE

enum { PROC_COUNT = sizeof procs / sizeof procs[0] };

// Returns the newest function that the version has, or NULL. *known is true if any version has the
// name.
static const struct proc *find(const char *name, int version, bool *known)
{
    const struct proc *best = NULL;
    *known = false;
    for (size_t i = 0; i < PROC_COUNT; i++) {
        if (procs[i].version > driver_version())
            continue;
        if (strcmp(procs[i].name, name) == 0) {
            *known = true;
            if (procs[i].version <= version)
                best = &procs[i];
        } else if (strcmp(procs[i].symbol, name) == 0 && !best) {
            *known = true; // the name under which a symbol is exported
            best = &procs[i];
        }
    }
    return best;
}

CUresult driver_proc_find(const char *symbol, void **pfn, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status)
{
    DRIVER_REJECT(!symbol || !pfn, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(flags & ~(cuuint64_t)(CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                                        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
                  CUDA_ERROR_INVALID_VALUE);
    bool known;
    const struct proc *proc = find(symbol, version, &known);
    *pfn = NULL;
    if (proc)
        *pfn = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) && proc->per_thread
                   ? proc->per_thread
                   : proc->function;
    if (status)
        *status = proc    ? CU_GET_PROC_ADDRESS_SUCCESS
                  : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                          : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return proc ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
