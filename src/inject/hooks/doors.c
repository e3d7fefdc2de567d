// SPDX-License-Identifier: Apache-2.0
// The ways in which a program gets the driver's functions, each of which returns hooks instead:
// direct linking (the hooks are exported under the driver's names, and this library comes first),
// dlsym and dlvsym, and cuGetProcAddress. The hook replaces a function only if its real address is
// the driver's. So a library with functions of the same names, or a version of a function that is
// not in the table, passes through. Functions of MPI that libglint-mpi.so replaces are returned in
// the same way. dladdr describes a hook as the function that it stands for.
//
// dlsym and dlvsym depend on their caller (RTLD_NEXT, RTLD_DEFAULT). If glint does not replace the
// result, they jump to the real function with the caller's return address in place (util/entry.h).
// The real function is found in the loader's tables, because dlsym would return glint's.
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "asked.h"
#include "inject/guard/readers.h"
#include "inject/guard/state.h"
#include "inject/sampled/tools.h"
#include "inject/util/entry.h"
#include "inject/util/next.h"
#include "plan/plan.h"

// --- The table -----------------------------------------------------------------------------------

#define HOOK(name, version, symbol, kind, how) (void *)(uintptr_t)(symbol),
#define HOOK_BOTH(name, version, symbol, suffix, kind, how) \
    (void *)(uintptr_t)(symbol), (void *)(uintptr_t)(symbol##suffix),
#define USED(symbol)
#define REPORTED(name, kind)
static void *const wrappers[HOOK_COUNT] = {
#include "inject/core/hooks.def"
};

enum { NEWEST_VERSION = 13000 }; // the newest CUDA version whose names the table has

// --- dlsym, dlvsym -------------------------------------------------------------------------------

static enum core_hook hook_of_symbol(const char *symbol)
{
    for (int i = 0; i < HOOK_COUNT; i++) {
        if (strcmp(core_hook_rows[i].symbol, symbol) == 0)
            return (enum core_hook)i;
    }
    return HOOK_COUNT;
}

// If there is no driver in the process, its functions must not be found, whatever this library
// exports. dlerror then reports an unknown version.
static void *absent(void *handle, const char *name)
{
    void *(*next)(void *, const char *, const char *) =
        (void *(*)(void *, const char *, const char *))core_driver_next_dlvsym();
    return next(handle, name, "GLINT_NONE");
}

// Returns the function of libglint-mpi.so that replaces one of MPI's; NULL: none does.
static void *find_mpi(const char *name)
{
    const struct guard_outer_mpi *outer =
        atomic_load_explicit(&guard_state.outer_mpi, memory_order_acquire);
    return outer && name ? outer->find(name) : NULL;
}

static void *next_mpi(const char *name)
{
    return atomic_load_explicit(&guard_state.outer_mpi, memory_order_acquire)->next(name);
}

static void *swap_mpi(void *handle, const char *name, void *found, void *wrapper)
{
    if (found == wrapper)
        return next_mpi(name) ? found : absent(handle, name);
    return found == next_mpi(name) ? wrapper : found;
}

// Returns what the program gets if the loader found an address under a hooked name.
static void *swap(void *handle, const char *name, void *found)
{
    if (!found)
        return NULL;
    void *mpi = find_mpi(name);
    if (mpi)
        return swap_mpi(handle, name, found, mpi);
    const enum core_hook hook = hook_of_symbol(name);
    void *wrapper = wrappers[hook];
    if (found == wrapper)
        return core_driver_find_real(hook) ? found : absent(handle, name);
    return core_is_wanted() && core_driver_handle() && found == core_driver_find_real(hook)
               ? wrapper
               : found;
}

static void *plain_dlsym(void *handle, const char *name)
{
    return swap(handle, name, core_driver_next_symbol(handle, name));
}

static void *plain_dlvsym(void *handle, const char *name, const char *version)
{
    void *(*next)(void *, const char *, const char *) =
        (void *(*)(void *, const char *, const char *))core_driver_next_dlvsym();
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
    // In the program's order of libraries this one comes first.
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT)
        return core_driver_find_real(hook_of_symbol(name)) ? ANSWER_PASS : ANSWER_ABSENT;
    return ANSWER_SWAP;
}

// The program looks up a function in the driver that has no hook. It may be unknown.
static void look_up(void *handle, const char *name)
{
    if (!name || name[0] != 'c' || name[1] != 'u' || !handle || handle == RTLD_NEXT ||
        !core_is_wanted() || handle != core_driver_handle() || hook_of_symbol(name) != HOOK_COUNT)
        return;
    if (core_driver_next_symbol(handle, name))
        hooks_asked(name, 0);
    else
        (void)dlerror(); // the program's own call reports it
}

// Returns where the call of dlsym continues.
__attribute__((used)) void *hooks_choose_dlsym(void *handle, const char *name, const void *unused,
                                               const void *caller);
void *hooks_choose_dlsym(void *handle, const char *name, const void *unused, const void *caller)
{
    int error = errno;
    (void)unused;
    guard_readers_thread_is_back();
    if (name && core_is_wanted())
        sampled_looked_up(name, caller);
    int choice = answer(handle, name);
    if (choice == ANSWER_PASS)
        look_up(handle, name);
    void *next = choice == ANSWER_SWAP     ? (void *)(uintptr_t)plain_dlsym
                 : choice == ANSWER_ABSENT ? (void *)(uintptr_t)absent
                                           : core_driver_next_dlsym();
    errno = error;
    return next;
}

__attribute__((used)) void *hooks_choose_dlvsym(void *handle, const char *name);
void *hooks_choose_dlvsym(void *handle, const char *name)
{
    int error = errno;
    void *next = answer(handle, name) == ANSWER_SWAP ? (void *)(uintptr_t)plain_dlvsym
                                                     : core_driver_next_dlvsym();
    errno = error;
    return next;
}

ENTRY(hooks, dlsym);
ENTRY(hooks, dlvsym);

// --- dladdr --------------------------------------------------------------------------------------

static bool is_own(const char *path)
{
    static const char *const own[] = {"libglint.so", "libglint-sync.so", "libglint-mpi.so"};
    const char *slash = path ? strrchr(path, '/') : NULL;
    for (size_t i = 0; slash && i < sizeof(own) / sizeof(own[0]); i++) {
        if (strcmp(slash + 1, own[i]) == 0)
            return true;
    }
    return false;
}

struct other {
    const char *name;
    void *found;
};

static int find_other(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct other *other = user;
    (void)bytes;
    other->found = is_own(info->dlpi_name) ? NULL : util_definition(info, other->name);
    return other->found != NULL;
}

// Returns the function in whose place the program has one of glint's; NULL: none.
static const void *stands_for(const void *address, const Dl_info *info)
{
    if (!is_own(info->dli_fname) || info->dli_saddr != address)
        return NULL;
    for (int i = 0; i < HOOK_COUNT; i++) {
        if (wrappers[i] == address)
            return core_driver_find_real((enum core_hook)i);
    }
    struct other other = {.name = info->dli_sname};
    dl_iterate_phdr(find_other, &other);
    return other.found;
}

__attribute__((visibility("default"))) int dladdr1(const void *address, Dl_info *info, void **extra,
                                                   int flags)
{
    int (*next)(const void *, Dl_info *, void **, int) =
        NEXT(dladdr1, int (*)(const void *, Dl_info *, void **, int));
    int found = next(address, info, extra, flags);
    const void *real = found ? stands_for(address, info) : NULL;
    if (real && (found = next(real, info, extra, flags)) != 0)
        info->dli_saddr = (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
    return found;
}

__attribute__((visibility("default"))) int dladdr(const void *address, Dl_info *info)
{
    return dladdr1(address, info, NULL, 0);
}

// --- cuGetProcAddress ----------------------------------------------------------------------------

// Returns the hook for an address that the driver returned. If the driver returns addresses other
// than those it exports, the table decides, but not for CUDA versions that it does not know.
static void *swap_proc(const char *name, void *found, int version, cuuint64_t flags)
{
    const bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    int best = -1;
    for (int i = 0; i < HOOK_COUNT; i++) {
        const struct core_hook_row *row = &core_hook_rows[i];
        const bool named = strcmp(row->name, name) == 0;
        if (!named && strcmp(row->symbol, name) != 0)
            continue;
        if (core_driver_find_real((enum core_hook)i) == found)
            return wrappers[i];
        // The form for per-thread default streams comes right after the other.
        if (named && row->version <= version && (per_thread || !row->per_thread))
            best = i;
    }
    if (best < 0 || version > NEWEST_VERSION)
        return found;
    return wrappers[best];
}

static void *answer_proc(const char *name, void *found, int version, cuuint64_t flags)
{
    void *answered = swap_proc(name, found, version, flags);
    if (answered == found)
        hooks_asked(name, version);
    return answered;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUresult result = REAL(cuGetProcAddress)(symbol, pfn, cudaVersion, flags);
    if (result == CUDA_SUCCESS && symbol && pfn && *pfn && core_is_wanted())
        *pfn = answer_proc(symbol, *pfn, cudaVersion, flags);
    return result;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    CUresult result = REAL(cuGetProcAddress_v2)(symbol, pfn, cudaVersion, flags, symbolStatus);
    if (result == CUDA_SUCCESS && symbol && pfn && *pfn && core_is_wanted())
        *pfn = answer_proc(symbol, *pfn, cudaVersion, flags);
    return result;
}
