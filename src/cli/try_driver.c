// SPDX-License-Identifier: Apache-2.0
// Tries a CUDA driver: a child process loads it, queries its devices, and optionally runs a kernel.
// It reports through a pipe; a child that dies or hangs counts as a failure.
#include "try_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

enum { MOST_SECONDS = 60, MOST_NAMED = 8 };

static const char kernel[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .entry answer(.param .u64 where)\n{\n"
                             ".reg .u64 %at;\n.reg .u32 %thread, %value;\n"
                             "ld.param.u64 %at, [where];\n"
                             "mov.u32 %thread, %tid.x;\n"
                             "mul.lo.u32 %value, %thread, 3;\n"
                             "mad.wide.u32 %at, %thread, 4, %at;\n"
                             "st.global.u32 [%at], %value;\n"
                             "ret;\n}\n";

// The driver functions that are used here, by their exported names.
// clang-format off
#define FUNCTIONS(X) \
    X(cuInit) X(cuDriverGetVersion) X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) \
    X(cuGetErrorName) X(cuCtxCreate_v2) X(cuCtxDestroy_v2) X(cuModuleLoadData) \
    X(cuModuleGetFunction) X(cuMemAlloc_v2) X(cuLaunchKernel) X(cuMemcpyDtoH_v2)
// clang-format on

struct driver {
#define MEMBER(name) __typeof__(&name) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

static bool find_functions(void *library, struct driver *driver, struct base_buf *said)
{
#define FIND(name)                                           \
    *(void **)&driver->name = dlsym(library, #name);         \
    if (!driver->name) {                                     \
        base_buf_puts(said, "it lacks the function " #name); \
        return false;                                        \
    }
    FUNCTIONS(FIND)
#undef FIND
    return true;
}

// Returns whether the call succeeded; appends its name and error if not.
static bool good(const struct driver *driver, CUresult result, const char *function,
                 struct base_buf *said)
{
    const char *name = NULL;
    if (result == CUDA_SUCCESS)
        return true;
    driver->cuGetErrorName(result, &name);
    base_buf_printf(said, "%s gives %d (%s)", function, (int)result, name ? name : "unknown");
    return false;
}

#define GOOD(function, ...) good(driver, driver->function(__VA_ARGS__), #function, said)

static bool run_kernel(const struct driver *driver, struct base_buf *said)
{
    enum { THREADS = 64 };
    uint32_t result[THREADS] = {0};
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr memory = 0;
    void *arguments[] = {&memory};
    if (!GOOD(cuDeviceGet, &device, 0) || !GOOD(cuCtxCreate_v2, &context, 0, device) ||
        !GOOD(cuModuleLoadData, &module, kernel) ||
        !GOOD(cuModuleGetFunction, &function, module, "answer") ||
        !GOOD(cuMemAlloc_v2, &memory, sizeof(result)) ||
        !GOOD(cuLaunchKernel, function, 1, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL) ||
        !GOOD(cuMemcpyDtoH_v2, result, memory, sizeof(result)) || !GOOD(cuCtxDestroy_v2, context))
        return false;
    for (uint32_t i = 0; i < THREADS; i++) {
        if (result[i] != 3 * i) {
            base_buf_puts(said, "a kernel computed a wrong result");
            return false;
        }
    }
    return true;
}

static bool put_devices(const struct driver *driver, struct base_buf *said)
{
    int version = 0, count = 0;
    if (!GOOD(cuInit, 0) || !GOOD(cuDriverGetVersion, &version) || !GOOD(cuDeviceGetCount, &count))
        return false;
    base_buf_printf(said, "CUDA %d.%d: ", version / 1000, version % 1000 / 10);
    for (int i = 0; i < count && i < MOST_NAMED; i++) {
        CUdevice device;
        char name[256] = "";
        if (!GOOD(cuDeviceGet, &device, i) || !GOOD(cuDeviceGetName, name, sizeof(name), device))
            return false;
        base_buf_printf(said, "%s%s", i ? ", " : "", name);
    }
    if (count > MOST_NAMED)
        base_buf_printf(said, " and %d more", count - MOST_NAMED);
    if (count == 0)
        base_buf_puts(said, "no device");
    return count > 0;
}

// Runs in the child.
static bool try_here(const struct cli_driver_trial *trial, struct base_buf *said)
{
    struct driver driver;
    Dl_info place;
    void *library = dlopen(trial->library, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        base_buf_puts(said, why ? why : "it cannot be loaded");
        return false;
    }
    if (!find_functions(library, &driver, said))
        return false;
    if (trial->not_within && dladdr(*(void **)&driver.cuInit, &place) && place.dli_fname &&
        strncmp(place.dli_fname, trial->not_within, strlen(trial->not_within)) == 0) {
        base_buf_puts(said, "LD_LIBRARY_PATH leads to glint's simulated GPU");
        return false;
    }
    return put_devices(&driver, said) && (!trial->run_kernel || run_kernel(&driver, said));
}

static void child(const struct cli_driver_trial *trial, int to)
{
    struct base_buf said = {0};
    alarm(MOST_SECONDS);
    bool works = try_here(trial, &said);
    size_t sent = 0;
    while (sent < said.length) {
        ssize_t written = write(to, said.text + sent, said.length - sent);
        if (written <= 0)
            break;
        sent += (size_t)written;
    }
    _exit(works ? 0 : 1);
}

bool cli_try_driver(const struct cli_driver_trial *trial, struct base_buf *said)
{
    int ends[2], status = 0;
    if (pipe(ends) != 0) {
        base_buf_printf(said, "cannot create a pipe: %s", strerror(errno));
        return false;
    }
    fflush(NULL); // otherwise buffered output would be written twice
    pid_t process = fork();
    if (process == 0)
        child(trial, ends[1]);
    close(ends[1]);
    if (process < 0) {
        base_buf_printf(said, "cannot start a process: %s", strerror(errno));
        close(ends[0]);
        return false;
    }
    char bytes[512];
    ssize_t got;
    while ((got = read(ends[0], bytes, sizeof(bytes))) > 0 || (got < 0 && errno == EINTR)) {
        if (got > 0)
            base_buf_add(said, bytes, (size_t)got);
    }
    close(ends[0]);
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        base_buf_printf(said, "%sit %s (signal %d)", said->length ? "; " : "",
                        WTERMSIG(status) == SIGALRM ? "hangs" : "crashes", WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
