// SPDX-License-Identifier: Apache-2.0
// The driver's functions: the table of those that glint hooks or calls, and where the driver's own
// are. Which hook the program gets in place of which function is hooks/doors.c's affair.
#ifndef GLINT_INJECT_CORE_DRIVER_H
#define GLINT_INJECT_CORE_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cudaabi/cudaabi.h"

// One enumerator per row of hooks.def: hooked functions, then functions that only glint calls, then
// calls that the program makes to glint itself.
#define HOOK(name, version, symbol, kind, how)              HOOK_##symbol,
#define HOOK_BOTH(name, version, symbol, suffix, kind, how) HOOK_##symbol, HOOK_##symbol##suffix,
#define USED(symbol)
#define TOLD(name, kind)
enum core_hook {
#include "hooks.def"
    HOOK_COUNT,
    HOOK_LAST = HOOK_COUNT - 1,
#undef HOOK
#undef HOOK_BOTH
#undef USED
#define HOOK(name, version, symbol, kind, how)
#define HOOK_BOTH(name, version, symbol, suffix, kind, how)
#define USED(symbol) HOOK_##symbol,
#include "hooks.def"
    HOOK_AND_USED_COUNT,
    HOOK_BEFORE_TOLD = HOOK_AND_USED_COUNT - 1,
#undef USED
#undef TOLD
#define USED(symbol)
#define TOLD(name, kind) HOOK_##name,
#include "hooks.def"
    HOOK_ROWS,
};
#undef HOOK
#undef HOOK_BOTH
#undef USED
#undef TOLD

enum { HOOK_ASYNC = 1, HOOK_WAITS = 2, HOOK_TIMED = 4, HOOK_HIDDEN = 8, HOOK_UNSURE = 16 };

struct core_hook_row {
    const char *name;   // as cuGetProcAddress takes it
    const char *symbol; // as the driver exports it
    int version;        // of CUDA, since which the name means this symbol
    bool per_thread;    // stream 0 is the thread's own default stream
    uint8_t kind;       // enum event_call_kind
    uint8_t how;        // HOOK_*
};

extern const struct core_hook_row core_hook_rows[HOOK_ROWS];

// Returns the driver's function, or one that returns CUDA_ERROR_NOT_SUPPORTED if this driver does
// not have it. An address that was found once is kept for good. Any thread.
extern void *_Atomic core_driver_found[HOOK_AND_USED_COUNT]; // NULL: not looked up yet
void *core_driver_find(enum core_hook hook);
static inline void *core_driver_real(enum core_hook hook)
{
    void *real = atomic_load_explicit(&core_driver_found[hook], memory_order_relaxed);
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
