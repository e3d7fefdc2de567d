// SPDX-License-Identifier: Apache-2.0
// The driver's own functions. Which hook the program gets in their place is hooks/doors.c's affair.
#ifndef GLINT_INJECT_CORE_DRIVER_H
#define GLINT_INJECT_CORE_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cudaabi/cudaabi.h"
#include "hook.h"
#include "state.h"

// Returns the driver's function, or one that returns CUDA_ERROR_NOT_SUPPORTED if this driver does
// not have it. An address that was found once is kept for good. Any thread.
void *core_driver_find(enum core_hook hook);
static inline void *core_driver_real(enum core_hook hook)
{
    void *real = atomic_load_explicit(&core_state.driver_found[hook], memory_order_relaxed);
    return real ? real : core_driver_find(hook);
}
#define REAL(symbol) ((__typeof__(&(symbol)))core_driver_real(HOOK_##symbol))

// As core_driver_find, but returns NULL for a function that this driver does not have.
void *core_driver_find_real(enum core_hook hook);

// The handle of libcuda.so.1 if the program has loaded it, else NULL. Never loads it.
void *core_driver_handle(void);

struct core_driver {
    int version;                       // as cuDriverGetVersion reports it; 0: unknown
    bool simulated;                    // it is glint's simulated GPU
    const CUcontext *(*current)(void); // where it keeps the current context; NULL: it does not say
    int (*at)(void); // what the thread is doing (struct cudaabi_sim); NULL: unknown
};

// Looks up all of the driver's functions and describes the driver. After it core_driver_real never
// enters the dynamic loader: a thread that holds the loader's lock may be waiting for one of ours.
struct core_driver core_driver_prepare(void);

// The dlsym and dlvsym that come after glint's in the order of loading, and the former called.
void *core_driver_next_dlsym(void);
void *core_driver_next_dlvsym(void);
void *core_driver_next_symbol(void *handle, const char *name);

// Whether some device has the attribute. Calls the driver.
bool core_driver_devices_have(CUdevice_attribute which);

// Whether the address lies in CUDA's libraries or in libglint.so. Takes no lock.
bool core_driver_is_below(const void *address);

#endif
