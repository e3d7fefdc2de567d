// SPDX-License-Identifier: Apache-2.0
// CUPTI in the process is not CUPTI at work: PyTorch loads it always, and uses it while its
// profiler runs. CUPTI finds the driver with dlsym, when a function of it is called that needs the
// driver (cuptiSubscribe, cuptiActivityEnable, cuptiActivityRegisterCallbacks,
// cuptiProfilerInitialize, but not cuptiGetVersion or cuptiGetTimestamp), and looks up all that it
// needs before it asks the driver for anything. So its first lookup of a driver's function, which
// glint sees as it sees all others, says that it gets to work, however the program has called it.
// Nothing of CUPTI is called or replaced. Before that lookup returns, the subscription to the
// Sanitizer API is given up, because CUPTI refuses work while there is one.
//
// Threads that use the Sanitizer API at that moment, mostly to launch something, are waited for,
// but not for long: they may wait for the program. The last of them gives the subscription up.
#include "tools.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "inject/util/environment.h"
#include "inject/util/imports.h"
#include "sampled.h"
#include "state.h"

static struct {
    _Atomic bool cupti; // it is at work; never false again
    _Atomic bool given; // the subscription was given up
    _Atomic uint32_t inside;
} tools;

#define CUPTI "libcupti.so"

enum { LOOK_EACH_NS = 20000, WAIT_LOOKS = 5000 }; // a tenth of a second, and more on busy machines

// --- The subscription ----------------------------------------------------------------------------

static void give_up(void)
{
    if (!atomic_exchange(&tools.given, true))
        sampled_unsubscribe();
}

bool sampled_enter(void)
{
    atomic_fetch_add(&tools.inside, 1);
    if (!atomic_load(&tools.cupti))
        return true;
    sampled_leave();
    return false;
}

void sampled_leave(void)
{
    if (atomic_fetch_sub(&tools.inside, 1) == 1 && atomic_load(&tools.cupti))
        give_up();
}

void sampled_begin_anew(void)
{
    atomic_store(&tools.inside, 0);
}

// --- Libraries -----------------------------------------------------------------------------------

// Parts of the names of libraries by which tools follow CUDA: Compute Sanitizer, Nsight.
static const char *const libraries[] = {
    "libsanitizer-collection", "libInterceptorInjection", "libTreeLauncher",
    "libToolsInjection",       "libcuda-injection",       "libnvperf_host.so",
};

static bool is_named(const struct dl_phdr_info *info, const char *part)
{
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    return info->dlpi_name && strstr(name ? name : info->dlpi_name, part);
}

static int look_for_tool(struct dl_phdr_info *info, size_t bytes, void *user)
{
    const char **found = user;
    (void)bytes;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        if (is_named(info, libraries[i]))
            *found = libraries[i];
    }
    if (is_named(info, CUPTI) && !util_imports_calls(info, "dlsym"))
        *found = "a " CUPTI " that finds the driver in an unknown way";
    return *found != NULL;
}

struct caller {
    const void *address;
    bool is_cupti;
};

static int look_for_caller(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct caller *caller = user;
    (void)bytes;
    if (!util_imports_has_code(info, caller->address))
        return 0;
    caller->is_cupti = is_named(info, CUPTI);
    return 1;
}

// --- What the rest of glint asks and says --------------------------------------------------------

const char *sampled_conflict(void)
{
    static const char *const variables[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                            "NV_SANITIZER_INJECTION_PORT_BASE",
                                            "NV_COMPUTE_PROFILER_PERFWORKS_DIR"};
    char value[1024];
    const char *found = NULL;
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        // glint record leads NVTX to its own library.
        if (util_environment(variables[i], value, sizeof(value)) && value[0] &&
            !strstr(value, "/libglint.so"))
            return variables[i];
    }
    if (atomic_load(&tools.cupti))
        return CUPTI ", which is in use";
    dl_iterate_phdr(look_for_tool, &found);
    return found;
}

void sampled_looked_up(const char *name, const void *caller)
{
    struct caller found = {.address = caller};
    if (name[0] != 'c' || name[1] != 'u' || atomic_load(&tools.cupti))
        return;
    dl_iterate_phdr(look_for_caller, &found);
    if (!found.is_cupti || atomic_exchange(&tools.cupti, true))
        return;
    if (sampled_state.on)
        sampled_stop("the program uses CUPTI now, as profilers do");
    if (!atomic_load(&tools.inside))
        give_up();
    for (int i = 0; i < WAIT_LOOKS && !atomic_load(&tools.given); i++)
        nanosleep(&(struct timespec){.tv_nsec = LOOK_EACH_NS}, NULL);
}
