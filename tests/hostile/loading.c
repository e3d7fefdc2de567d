// SPDX-License-Identifier: Apache-2.0
// Libraries: how they are opened, how they find CUDA, and what runs when they come and go.
#include <dlfcn.h>
#include <libgen.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "hostile.h"

static void *open_plugin(int flags)
{
    void *library = dlopen(HOSTILE_PLUGIN, flags);
    if (!library) {
        puts(dlerror());
        exit(1);
    }
    return library;
}

static void copy_by(void *library)
{
    int (*copy)(void *, CUdeviceptr, unsigned long) =
        (int (*)(void *, CUdeviceptr, unsigned long))dlsym(library, "plugin_copy");
    const struct result result = place_result(BLOCK);
    for (unsigned i = 0; i < 3; i++) {
        fill(device_words, result.count, i, 100000, NULL);
        printf("copy %d\n", copy(result.words, device_words, result.count * sizeof(unsigned)));
        say_good("block", result.words, result.count, i);
    }
}

static void own_by(void *library)
{
    int (*own)(unsigned char) = (int (*)(unsigned char))dlsym(library, "plugin_own");
    printf("own %d\n", own(99));
}

// --- Ways to open --------------------------------------------------------------------------------

void loading_plain(void)
{
    copy_by(open_plugin(RTLD_NOW | RTLD_LOCAL));
}

void loading_lazy(void)
{
    copy_by(open_plugin(RTLD_LAZY | RTLD_GLOBAL));
}

void loading_deepbind(void)
{
    copy_by(open_plugin(RTLD_NOW | RTLD_DEEPBIND));
}

// The library has a driver of its own.
void loading_namespace(void)
{
    void *library = dlmopen(LM_ID_NEWLM, HOSTILE_PLUGIN, RTLD_NOW);
    if (!library) {
        puts("cannot be opened");
        return;
    }
    own_by(library);
    const struct result result = place_result(BLOCK);
    bring(&result, 1);
    say_good("block", result.words, result.count, 1);
}

// Comes and goes.
void loading_closed(void)
{
    for (unsigned i = 0; i < 10; i++) {
        void *library = open_plugin(RTLD_NOW);
        own_by(library);
        printf("close %d\n", dlclose(library));
    }
}

void loading_plugin_constructor(void)
{
    setenv("HOSTILE_CONSTRUCTOR", "1", 1);
    void *library = open_plugin(RTLD_NOW);
    own_by(library);
    dlclose(library);
    open_plugin(RTLD_NOW); // stays until the end
}

static _Atomic bool stop;

static void *open_on(void *user)
{
    unsigned *count = user;
    do {
        dlclose(open_plugin(RTLD_NOW));
        ++*count;
    } while (!atomic_load(&stop));
    return NULL;
}

void loading_meanwhile(void)
{
    pthread_t thread;
    unsigned count = 0, good = 0;
    const struct result result = place_result(BLOCK);
    pthread_create(&thread, NULL, open_on, &count);
    for (unsigned i = 0; i < 50; i++) {
        bring(&result, i);
        good += count_good(result.words, result.count, i) == result.count;
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    printf("%u %d\n", good, count > 0);
}

// --- Ways to find CUDA ---------------------------------------------------------------------------

// The driver is opened by its name, and its functions are looked up.
void loading_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    CUresult (*copy)(void *, CUdeviceptr, size_t) =
        (CUresult(*)(void *, CUdeviceptr, size_t))dlsym(driver, "cuMemcpyDtoH_v2");
    CUresult (*wait)(void) = (CUresult(*)(void))dlsym(driver, "cuCtxSynchronize");
    const struct result result = place_result(BLOCK);
    for (unsigned i = 0; i < 3; i++) {
        fill(device_words, result.count, i, 100000, NULL);
        printf("%d ", (int)copy(result.words, device_words, result.count * sizeof(unsigned)));
        printf("%d\n", (int)wait());
        say_good("block", result.words, result.count, i);
    }
    printf("%d %d\n", dlsym(driver, "cuNothing") == NULL, dlsym(driver, "glint_open") == NULL);
    dlclose(driver);
}

void loading_next(void)
{
    void *next = dlsym(RTLD_NEXT, "cuMemAlloc_v2"),
         *standard = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
    CUdeviceptr memory;
    printf("%d\n", (int)((CUresult(*)(CUdeviceptr *, size_t))next)(&memory, 1000));
    printf("%d\n", (int)((CUresult(*)(CUdeviceptr *, size_t))standard)(&memory, 1000));
    printf("%d\n", dlvsym(RTLD_DEFAULT, "cuMemAlloc_v2", "NOTHING") == NULL);
}

// Where the driver lies, as programs ask to find files beside it.
void loading_address_of(void)
{
    Dl_info info;
    if (dladdr((void *)cuMemAlloc_v2, &info))
        printf("%s %s\n", basename((char *)info.dli_fname), info.dli_sname);
    // The same of functions that the program has looked up, and of those that look them up.
    static const char *const names[] = {
        "cuMemAlloc_v2", "cuLaunchKernel", "cuCtxGetCurrent",    "dlsym",
        "dladdr",        "malloc",         "cuGetProcAddress_v2"};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct link_map *map = NULL;
        void *found = dlsym(RTLD_DEFAULT, names[i]), *own = dlsym(driver, names[i]);
        if (!dladdr1(found, &info, (void **)&map, RTLD_DL_LINKMAP))
            continue;
        printf("%s: %s in %s, %s, there %d, at its start %d, the same %d\n", names[i],
               info.dli_sname, basename((char *)info.dli_fname),
               map ? basename(map->l_name) : "none", info.dli_saddr == found,
               (uintptr_t)info.dli_fbase == (uintptr_t)map->l_addr,
               own == found || names[i][0] != 'c');
    }
    printf("%d\n", dladdr(&info, &info));
}

// A program that can do without MPI, OpenMP or others asks whether they are there.
#define WEAK extern __attribute__((weak)) int
WEAK MPI_Init(int *, char ***);
WEAK MPI_Initialized(int *);
WEAK PMPI_Send(void);
WEAK MPI_Get_library_version(char *, int *);
WEAK nvtxRangePushA(const char *);
WEAK glint_nothing(void);
WEAK hwloc_topology_init(void);

void loading_weak(void)
{
    printf("%d %d %d %d %d %d %d\n", MPI_Init != NULL, MPI_Initialized != NULL, PMPI_Send != NULL,
           MPI_Get_library_version != NULL, nvtxRangePushA != NULL, glint_nothing != NULL,
           hwloc_topology_init != NULL);
    static const char *const names[] = {"MPI_Init", "mpi_init_", "cudaMalloc",
                                        "omp_get_num_threads", "nvtxInitialize"};
    for (unsigned i = 0; i < 5; i++)
        printf("%s %d\n", names[i], dlsym(RTLD_DEFAULT, names[i]) != NULL);
}

// --- Before and after main -----------------------------------------------------------------------

static struct result early_result;

static __attribute__((constructor)) void use_before_main(int count, char **arguments)
{
    if (count < 2 || strcmp(arguments[1], "loading.constructor") != 0)
        return;
    start();
    early_result = place_result(BLOCK);
    bring(&early_result, 7);
}

static __attribute__((destructor)) void use_after_main(void)
{
    if (!early_result.words)
        return;
    bring(&early_result, 8);
    say_good("after main", early_result.words, early_result.count, 8);
}

void loading_constructor(void)
{
    say_good("in main", early_result.words, early_result.count, 7);
}

// The program preloads a library of its own, beside what is preloaded already, or instead of it.
static void preload(const char *value)
{
    setenv("LD_PRELOAD", value, 1);
    say("exec", run_again("processes.fork_first"));
}

void loading_preload(void)
{
    preload(HOSTILE_PLUGIN);
}

void loading_preload_too(void)
{
    char value[PAGE];
    const char *before = getenv("LD_PRELOAD");
    snprintf(value, sizeof(value), "%s%s%s", HOSTILE_PLUGIN, before ? ":" : "",
             before ? before : "");
    preload(value);
}

// Whatever was done before main began, the program finds no error of it.
void loading_errno(void)
{
    say("errno", errno_at_start);
}

void loading_no_preload(void)
{
    unsetenv("LD_PRELOAD");
    say("exec", run_again("processes.fork_first"));
}
