// SPDX-License-Identifier: Apache-2.0
// Finds the driver's functions. The next dlsym is found in the loader's tables (util/next.h),
// because dlsym itself would return glint's.
#include "driver.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "event/event.h"
#include "inject/util/next.h"
#include "plan/plan.h"

// --- The real functions --------------------------------------------------------------------------

static void *find_next(void *_Atomic *kept, const char *name)
{
    void *found = atomic_load_explicit(kept, memory_order_acquire);
    if (!found) {
        found = util_next(name);
        atomic_store_explicit(kept, found, memory_order_release);
    }
    return found;
}

void *core_driver_next_dlsym(void)
{
    return find_next(&core_state.next_dlsym, "dlsym");
}

void *core_driver_next_dlvsym(void)
{
    return find_next(&core_state.next_dlvsym, "dlvsym");
}

void *core_driver_next_symbol(void *handle, const char *name)
{
    return ((void *(*)(void *, const char *))core_driver_next_dlsym())(handle, name);
}

// The library stays loaded from then on, because addresses in it are kept.
void *core_driver_handle(void)
{
    void *handle = atomic_load_explicit(&core_state.driver, memory_order_acquire);
    if (!handle) {
        handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (handle)
            atomic_store_explicit(&core_state.driver, handle, memory_order_release);
        else
            (void)dlerror(); // the error is glint's: the program must not see it
    }
    return handle;
}

// Stands in for a function that this driver does not have.
static CUresult not_in_driver(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

// Without a driver, this finds the function of a library that the program has in its place.
void *core_driver_find_real(enum core_hook hook)
{
    void *const none = (void *)(uintptr_t)not_in_driver;
    void *real = atomic_load_explicit(&core_state.driver_found[hook], memory_order_relaxed);
    if (real)
        return real == none ? NULL : real;
    void *handle = core_driver_handle();
    real = core_driver_next_symbol(handle ? handle : RTLD_NEXT, core_hook_rows[hook].symbol);
    if (!real)
        (void)dlerror(); // the error is glint's
    if (handle)          // else the program may still load the driver
        atomic_store_explicit(&core_state.driver_found[hook], real ? real : none,
                              memory_order_relaxed);
    return real;
}

void *core_driver_find(enum core_hook hook)
{
    void *real = core_driver_find_real(hook);
    return real ? real : (void *)(uintptr_t)not_in_driver;
}

struct core_driver core_driver_prepare(void)
{
    static const char simulated[] = "/lib/glint/sim/"; // a folder for the simulated GPU only
    struct core_driver about = {0};
    Dl_info file;
    for (int i = 0; i < HOOK_AND_USED_COUNT; i++)
        core_driver_find_real((enum core_hook)i);
    if (REAL(cuDriverGetVersion)(&about.version) != CUDA_SUCCESS)
        about.version = 0;
    about.simulated = dladdr(core_driver_real(HOOK_cuDriverGetVersion), &file) && file.dli_fname &&
                      strstr(file.dli_fname, simulated);
    const void *table = NULL;
    const CUuuid id = CUDAABI_SIM_ID;
    if (about.simulated && REAL(cuGetExportTable)(&table, &id) == CUDA_SUCCESS && table &&
        ((const struct cudaabi_sim *)table)->size_bytes >= sizeof(struct cudaabi_sim)) {
        about.current = ((const struct cudaabi_sim *)table)->current;
        about.at = ((const struct cudaabi_sim *)table)->at;
        about.fault = ((const struct cudaabi_sim *)table)->fault;
    }
    return about;
}

bool core_driver_is_below(const void *address)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)address, &found) || !found.dlfo_link_map->l_name)
        return false;
    const char *name = found.dlfo_link_map->l_name;
    return plan_is_below(name, strlen(name));
}

bool core_driver_devices_have(CUdevice_attribute which)
{
    int count = 0, value = 0;
    bool any = false;
    if (REAL(cuDeviceGetCount)(&count) != CUDA_SUCCESS)
        return false;
    for (int i = 0; i < count; i++)
        any |= REAL(cuDeviceGetAttribute)(&value, which, i) == CUDA_SUCCESS && value;
    return any;
}
