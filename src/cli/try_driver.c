// SPDX-License-Identifier: Apache-2.0
// Tries a CUDA driver: a child process loads it, queries its devices, and optionally runs a kernel.
// It reports through a pipe; a child that dies or hangs counts as a failure.
#include "try_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

// Without a persistent daemon, a driver initializes each GPU of a machine when it is first used.
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

static enum cli_driver put_devices(const struct driver *driver, struct base_buf *said)
{
    int version = 0, count = 0;
    const CUresult result = driver->cuInit(0);
    if (!good(driver, result, "cuInit", said))
        return result == CUDA_ERROR_NO_DEVICE ? CLI_DRIVER_ABSENT : CLI_DRIVER_FAILS;
    if (!GOOD(cuDriverGetVersion, &version) || !GOOD(cuDeviceGetCount, &count))
        return CLI_DRIVER_FAILS;
    base_buf_printf(said, "CUDA %d.%d: ", version / 1000, version % 1000 / 10);
    for (int i = 0; i < count && i < MOST_NAMED; i++) {
        CUdevice device;
        char name[256] = "";
        if (!GOOD(cuDeviceGet, &device, i) || !GOOD(cuDeviceGetName, name, sizeof(name), device))
            return CLI_DRIVER_FAILS;
        base_buf_printf(said, "%s%s", i ? ", " : "", name);
    }
    if (count > MOST_NAMED)
        base_buf_printf(said, " and %d more", count - MOST_NAMED);
    if (count == 0)
        base_buf_puts(said, "no device");
    return count > 0 ? CLI_DRIVER_WORKS : CLI_DRIVER_ABSENT;
}

// Runs in the child.
static enum cli_driver try_here(const struct cli_driver_trial *trial, struct base_buf *said)
{
    struct driver driver;
    Dl_info place;
    void *library = dlopen(trial->library, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        base_buf_puts(said, why ? why : "it cannot be loaded");
        return CLI_DRIVER_ABSENT;
    }
    if (!find_functions(library, &driver, said))
        return CLI_DRIVER_FAILS;
    if (trial->not_within && dladdr(*(void **)&driver.cuInit, &place) && place.dli_fname &&
        strncmp(place.dli_fname, trial->not_within, strlen(trial->not_within)) == 0) {
        base_buf_puts(said, "LD_LIBRARY_PATH leads to glint's simulated GPU");
        return CLI_DRIVER_ABSENT;
    }
    const enum cli_driver found = put_devices(&driver, said);
    const bool failed =
        found == CLI_DRIVER_WORKS && trial->run_kernel && !run_kernel(&driver, said);
    return failed ? CLI_DRIVER_FAILS : found;
}

static void child(const struct cli_driver_trial *trial, int to)
{
    struct base_buf said = {0};
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    const int nowhere = trial->silent ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    const enum cli_driver found = try_here(trial, &said);
    size_t sent = 0;
    while (sent < said.length) {
        ssize_t written = write(to, said.text + sent, said.length - sent);
        if (written <= 0)
            break;
        sent += (size_t)written;
    }
    _exit((int)found);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t deadline_ms(void)
{
    const char *text = getenv("GLINT_DRIVER_SECONDS");
    const long seconds = text ? strtol(text, NULL, 10) : 0;
    return now_ms() + 1000 * (seconds > 0 && seconds < 3600 ? seconds : MOST_SECONDS);
}

// Reads what the child says until it ends or its time is over.
static void hear(int from, int64_t deadline, struct base_buf *said)
{
    for (int64_t left; (left = deadline - now_ms()) > 0;) {
        struct pollfd event = {.fd = from, .events = POLLIN};
        char bytes[512];
        if (poll(&event, 1, (int)left) <= 0)
            continue;
        const ssize_t got = read(from, bytes, sizeof(bytes));
        if (got == 0 || (got < 0 && errno != EINTR))
            return;
        if (got > 0)
            base_buf_add(said, bytes, (size_t)got);
    }
}

// Waits for the child until its time is over, and then a moment for its end. A process that hangs
// in the kernel cannot be ended, and is left behind.
static bool wait_for(pid_t process, int64_t deadline, int *status)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    bool killed = false;
    for (;;) {
        const pid_t ended = waitpid(process, status, WNOHANG);
        if (ended == process)
            return true;
        if (ended < 0 && errno != EINTR)
            return false;
        if (now_ms() >= deadline) {
            if (killed)
                return false;
            kill(process, SIGKILL);
            killed = true;
            deadline = now_ms() + 1000;
        }
        nanosleep(&pause, NULL);
    }
}

enum cli_driver cli_try_driver(const struct cli_driver_trial *trial, struct base_buf *said)
{
    int ends[2], status = 0;
    const int64_t deadline = deadline_ms();
    if (pipe2(ends, O_CLOEXEC) != 0) {
        base_buf_printf(said, "cannot create a pipe: %s", strerror(errno));
        return CLI_DRIVER_FAILS;
    }
    fflush(NULL); // otherwise buffered output would be written twice
    pid_t process = fork();
    if (process == 0)
        child(trial, ends[1]);
    close(ends[1]);
    if (process < 0) {
        base_buf_printf(said, "cannot start a process: %s", strerror(errno));
        close(ends[0]);
        return CLI_DRIVER_FAILS;
    }
    hear(ends[0], deadline, said);
    close(ends[0]);
    const bool ended = wait_for(process, deadline, &status);
    const bool hangs = !ended || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    if (hangs)
        base_buf_printf(said, "%sit hangs", said->length ? "; " : "");
    else if (WIFSIGNALED(status))
        base_buf_printf(said, "%sit crashes (signal %d)", said->length ? "; " : "",
                        WTERMSIG(status));
    return !hangs && WIFEXITED(status) && WEXITSTATUS(status) <= CLI_DRIVER_ABSENT
               ? (enum cli_driver)WEXITSTATUS(status)
               : CLI_DRIVER_FAILS;
}
