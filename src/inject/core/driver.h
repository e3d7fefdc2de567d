// SPDX-License-Identifier: Apache-2.0
// The driver's own functions. hooks/doors.c decides which hook the program gets in their place.
#ifndef GLINT_INJECT_CORE_DRIVER_H
#define GLINT_INJECT_CORE_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cudaabi/cudaabi.h"
#include "hook.h"
#include "state.h"

// Returns the driver's function, or one that returns CUDA_ERROR_NOT_SUPPORTED if this driver does
// not have it. Keeps each address that was found. Any thread may call.
void *core_driver_find(enum core_hook hook);
static inline void *core_driver_real(enum core_hook hook)
{
    void *real = atomic_load_explicit(&core_state.driver_found[hook], memory_order_relaxed);
    return real ? real : core_driver_find(hook);
}
#define REAL(symbol) ((__typeof__(&(symbol)))core_driver_real(HOOK_##symbol))

// Does the same, but returns NULL for a function that this driver does not have.
void *core_driver_find_real(enum core_hook hook);

// Returns the handle of libcuda.so.1 if the program has loaded it, else NULL. Never loads it.
void *core_driver_handle(void);

struct core_driver {
    int version;                       // as cuDriverGetVersion reports it; 0: unknown
    bool simulated;                    // it is glint's simulated GPU
    const CUcontext *(*current)(void); // where it keeps the current context; NULL: unknown
    // Functions of struct cudaabi_sim; NULL: unknown.
    int (*at)(void);
    const char *(*fault)(void);
};

// Looks up all of the driver's functions and describes the driver. After that, core_driver_real
// never enters the dynamic loader: a thread that holds the loader's lock may be waiting for one of
// glint's.
struct core_driver core_driver_prepare(void);

// Return the dlsym and dlvsym that follow glint's in load order; the last calls that dlsym.
void *core_driver_next_dlsym(void);
void *core_driver_next_dlvsym(void);
void *core_driver_next_symbol(void *handle, const char *name);

// Returns whether some device has the attribute. Calls the driver.
bool core_driver_devices_have(CUdevice_attribute which);

// Returns whether the address lies in CUDA's libraries or in libglint.so. Takes no lock.
bool core_driver_is_below(const void *address);

#endif
