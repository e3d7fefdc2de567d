// SPDX-License-Identifier: Apache-2.0
// How a program gets the driver's functions, and that it gets the hooks instead: by direct linking
// (the hooks are exported under the driver's names, and this library comes first), by dlsym and
// dlvsym, by cuGetProcAddress. What is asked must really be the driver's: the real address decides,
// so that a library with functions of the same names, or a version of a function that is not in the
// table, passes through. Functions of MPI that have one of libglint-mpi.so before them are
// given out in the same way.
//
// dlsym and dlvsym find by who calls them (RTLD_NEXT, RTLD_DEFAULT), so for all that is not ours to
// answer they jump to the real one with the caller's return address in place: entry.h. The
// real one is found in the loader's tables, because asking by dlsym would ask ourselves.
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "inject/core/state.h"
#include "inject/guard/inner.h"
#include "inject/guard/readers.h"
#include "inject/util/entry.h"
#include "inject/util/next.h"
#include "plan/plan.h"

// --- The table -----------------------------------------------------------------------------------

#define HOOK(name, version, symbol, kind, how) \
    {#name, #symbol, version, false, EVENT_CALL_##kind, HOW(how), (void *)(uintptr_t)(symbol)},
#define HOOK_BOTH(name, version, symbol, suffix, kind, how)                                     \
    {#name, #symbol, version, false, EVENT_CALL_##kind, HOW(how), (void *)(uintptr_t)(symbol)}, \
        {#name,                                                                                 \
         #symbol #suffix,                                                                       \
         version,                                                                               \
         true,                                                                                  \
         EVENT_CALL_##kind,                                                                     \
         HOW(how),                                                                              \
         (void *)(uintptr_t)(symbol##suffix)},
#define USED(symbol)     {#symbol, #symbol, 0, false, EVENT_CALL_OTHER, HOOK_HIDDEN, NULL},
#define TOLD(name, kind) {#name, #name, 0, false, EVENT_CALL_##kind, HOOK_HIDDEN, NULL},
#define HOW(how)         (how)
#define ASYNC            HOOK_ASYNC
#define WAITS            HOOK_WAITS
#define TIMED            HOOK_TIMED
#define HIDDEN           HOOK_HIDDEN
#define UNSURE           HOOK_UNSURE
const struct hook_row hook_rows[HOOK_ROWS] = {
#include "inject/core/hooks.def"
};

enum { NEWEST_VERSION = 13000 }; // of CUDA, whose names the table knows all

// --- The real functions --------------------------------------------------------------------------

// Cached for good: any thread may write them, and all write the same.
static struct {
    void *_Atomic dlsym, *_Atomic dlvsym;
    void *_Atomic driver; // handle of libcuda.so.1
} doors;
void *_Atomic door_found[HOOK_AND_USED_COUNT]; // not_in_driver: this driver has none

void *door_next_dlsym(void)
{
    void *found = atomic_load_explicit(&doors.dlsym, memory_order_acquire);
    if (!found) {
        found = door_next("dlsym");
        atomic_store_explicit(&doors.dlsym, found, memory_order_release);
    }
    return found;
}

static void *next_dlvsym(void)
{
    void *found = atomic_load_explicit(&doors.dlvsym, memory_order_acquire);
    if (!found) {
        found = door_next("dlvsym");
        atomic_store_explicit(&doors.dlvsym, found, memory_order_release);
    }
    return found;
}

static void *next_symbol(void *handle, const char *name)
{
    return ((void *(*)(void *, const char *))door_next_dlsym())(handle, name);
}

// The driver where the program has loaded it. Never loads it. It is then kept, because addresses in
// it are kept.
static void *driver(void)
{
    void *handle = atomic_load_explicit(&doors.driver, memory_order_acquire);
    if (!handle) {
        handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (handle)
            atomic_store_explicit(&doors.driver, handle, memory_order_release);
        else
            (void)dlerror(); // ours, not the program's
    }
    return handle;
}

// Stands in for what this driver does not have.
static CUresult not_in_driver(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

// The driver's; without a driver that of a library which the program has in its place. NULL: none.
static void *find_real(enum hook hook)
{
    void *const none = (void *)(uintptr_t)not_in_driver;
    void *real = atomic_load_explicit(&door_found[hook], memory_order_relaxed);
    if (real)
        return real == none ? NULL : real;
    void *handle = driver();
    real = next_symbol(handle ? handle : RTLD_NEXT, hook_rows[hook].symbol);
    if (!real)
        (void)dlerror(); // ours, not the program's
    if (handle)          // else the driver may still come
        atomic_store_explicit(&door_found[hook], real ? real : none, memory_order_relaxed);
    return real;
}

void *door_find(enum hook hook)
{
    void *real = find_real(hook);
    return real ? real : (void *)(uintptr_t)not_in_driver;
}

struct door_driver door_prepare(void)
{
    static const char simulated[] = "/lib/glint/sim/"; // a folder of its own
    struct door_driver about = {0};
    Dl_info file;
    for (int i = 0; i < HOOK_AND_USED_COUNT; i++)
        find_real((enum hook)i);
    if (REAL(cuDriverGetVersion)(&about.version) != CUDA_SUCCESS)
        about.version = 0;
    about.simulated = dladdr(door_real(HOOK_cuDriverGetVersion), &file) && file.dli_fname &&
                      strstr(file.dli_fname, simulated);
    const void *table = NULL;
    const CUuuid id = CUDAABI_SIM_ID;
    if (about.simulated && REAL(cuGetExportTable)(&table, &id) == CUDA_SUCCESS && table &&
        ((const struct cudaabi_sim *)table)->size_bytes >= sizeof(struct cudaabi_sim)) {
        about.current = ((const struct cudaabi_sim *)table)->current;
        about.at = ((const struct cudaabi_sim *)table)->at;
    }
    return about;
}

bool door_is_below(const void *address)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)address, &found) || !found.dlfo_link_map->l_name)
        return false;
    const char *name = found.dlfo_link_map->l_name;
    return plan_is_below(name, strlen(name));
}

// --- dlsym, dlvsym -------------------------------------------------------------------------------

static enum hook hook_of_symbol(const char *symbol)
{
    for (int i = 0; i < HOOK_COUNT; i++) {
        if (strcmp(hook_rows[i].symbol, symbol) == 0)
            return (enum hook)i;
    }
    return HOOK_COUNT;
}

// Without a driver in the process its functions are not there, whatever this library exports. The
// loader says why: it knows no such version.
static void *absent(void *handle, const char *name)
{
    void *(*next)(void *, const char *, const char *) =
        (void *(*)(void *, const char *, const char *))next_dlvsym();
    return next(handle, name, "GLINT_NONE");
}

// The function of libglint-mpi.so that stands before one of MPI's; NULL: none does.
static void *find_mpi(const char *name)
{
    const struct outer_mpi *outer = atomic_load_explicit(&use_outer_mpi, memory_order_acquire);
    return outer && name ? outer->find(name) : NULL;
}

static void *next_mpi(const char *name)
{
    return atomic_load_explicit(&use_outer_mpi, memory_order_acquire)->next(name);
}

static void *swap_mpi(void *handle, const char *name, void *found, void *wrapper)
{
    if (found == wrapper)
        return next_mpi(name) ? found : absent(handle, name);
    return found == next_mpi(name) ? wrapper : found;
}

// What the program gets where the loader found an address under a hooked name.
static void *swap(void *handle, const char *name, void *found)
{
    if (!found)
        return NULL;
    void *mpi = find_mpi(name);
    if (mpi)
        return swap_mpi(handle, name, found, mpi);
    const enum hook hook = hook_of_symbol(name);
    void *wrapper = hook_rows[hook].wrapper;
    if (found == wrapper)
        return find_real(hook) ? found : absent(handle, name);
    return state_wanted() && driver() && found == find_real(hook) ? wrapper : found;
}

static void *plain_dlsym(void *handle, const char *name)
{
    return swap(handle, name, next_symbol(handle, name));
}

static void *plain_dlvsym(void *handle, const char *name, const char *version)
{
    void *(*next)(void *, const char *, const char *) =
        (void *(*)(void *, const char *, const char *))next_dlvsym();
    return swap(handle, name, next(handle, name, version));
}

enum { ANSWER_PASS, ANSWER_SWAP, ANSWER_ABSENT };

static int answer(void *handle, const char *name)
{
    if (find_mpi(name)) {
        if (handle == RTLD_DEFAULT || handle == RTLD_NEXT)
            return next_mpi(name) ? ANSWER_PASS : ANSWER_ABSENT;
        return ANSWER_SWAP;
    }
    if (!name || name[0] != 'c' || name[1] != 'u' || hook_of_symbol(name) == HOOK_COUNT)
        return ANSWER_PASS;
    // By the program's own order of libraries this one comes first.
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT)
        return find_real(hook_of_symbol(name)) ? ANSWER_PASS : ANSWER_ABSENT;
    return ANSWER_SWAP;
}

// Where the call of dlsym goes on.
__attribute__((used)) void *door_choose_dlsym(void *handle, const char *name);
void *door_choose_dlsym(void *handle, const char *name)
{
    int error = errno;
    readers_thread_is_back();
    int choice = answer(handle, name);
    void *next = choice == ANSWER_SWAP     ? (void *)(uintptr_t)plain_dlsym
                 : choice == ANSWER_ABSENT ? (void *)(uintptr_t)absent
                                           : door_next_dlsym();
    errno = error;
    return next;
}

__attribute__((used)) void *door_choose_dlvsym(void *handle, const char *name);
void *door_choose_dlvsym(void *handle, const char *name)
{
    int error = errno;
    void *next =
        answer(handle, name) == ANSWER_SWAP ? (void *)(uintptr_t)plain_dlvsym : next_dlvsym();
    errno = error;
    return next;
}

ENTRY(dlsym);
ENTRY(dlvsym);

// --- cuGetProcAddress ----------------------------------------------------------------------------

// The hook for what the driver gave out. Its address tells; where a driver gives addresses other
// than those it exports, the table does, but not for versions of CUDA that it does not know.
static void *swap_proc(const char *name, void *found, int version, cuuint64_t flags)
{
    const bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    const struct hook_row *best = NULL;
    for (int i = 0; i < HOOK_COUNT; i++) {
        const struct hook_row *row = &hook_rows[i];
        const bool named = strcmp(row->name, name) == 0;
        if (!named && strcmp(row->symbol, name) != 0)
            continue;
        if (find_real((enum hook)i) == found)
            return row->wrapper;
        // The form for the thread's own stream comes right after the other.
        if (named && row->version <= version && (per_thread || !row->per_thread))
            best = row;
    }
    if (!best || version > NEWEST_VERSION)
        return found;
    return best->wrapper;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUresult result = REAL(cuGetProcAddress)(symbol, pfn, cudaVersion, flags);
    if (result == CUDA_SUCCESS && symbol && pfn && *pfn && state_wanted())
        *pfn = swap_proc(symbol, *pfn, cudaVersion, flags);
    return result;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    CUresult result = REAL(cuGetProcAddress_v2)(symbol, pfn, cudaVersion, flags, symbolStatus);
    if (result == CUDA_SUCCESS && symbol && pfn && *pfn && state_wanted())
        *pfn = swap_proc(symbol, *pfn, cudaVersion, flags);
    return result;
}
