// SPDX-License-Identifier: Apache-2.0
// The state of the driver in a process: its initialization from the environment, its end at exit,
// its state in a forked child, and its messages on stderr.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device_runtime.h"
#include "driver.h"
#include "gpusim/calls/calls.h"
#include "gpusim/calls/reasons.h"
#include "memory.h"
#include "missing.h"

struct driver_process driver = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .primary_lock = PTHREAD_MUTEX_INITIALIZER,
    .library_lock = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
    .completed = PTHREAD_COND_INITIALIZER,
    .reported_lock = PTHREAD_MUTEX_INITIALIZER,
    .pages_lock = PTHREAD_MUTEX_INITIALIZER,
    .log_once = PTHREAD_ONCE_INIT,
    .physical_file = -1,
};

// Initial-exec TLS, because every API call reads it. The library is loaded at program start or
// early enough for this.
static __thread struct driver_thread this_thread
    __attribute__((tls_model("initial-exec"))) = {.capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL};

struct driver_thread *driver_thread(void)
{
    if (!this_thread.id)
        this_thread.id = atomic_fetch_add(&driver.threads, 1) + 1;
    return &this_thread;
}

// --- Messages ------------------------------------------------------------------------------------

static void say(const char *text)
{
    char line[1200];
    int length = snprintf(line, sizeof line, "glint: %s\n", text);
    if (length >= (int)sizeof line) {
        length = sizeof line - 1;
        line[length - 1] = '\n';
    }
    // One write keeps the lines of several threads intact. A failure cannot be reported anywhere.
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written;
}

void driver_say(const char *format, ...)
{
    char text[1100];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say(text);
}

void driver_say_once(const char *format, ...)
{
    char text[1100];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    gpusim_lock(&driver.reported_lock, GPUSIM_RANK_REPORTED);
    bool added = true;
    base_map_put(&driver.reported, base_hash(text, strlen(text)), &added);
    gpusim_unlock(&driver.reported_lock, GPUSIM_RANK_REPORTED);
    if (added)
        say(text);
}

void driver_end_if_strict(const char *what)
{
    if (!driver.strict)
        return;
    driver_say("simulated GPU: the program used an invalid or destroyed %s handle", what);
    abort();
}

CUresult driver_not_there(const char *function)
{
    driver_say_once("simulated GPU: %s is not implemented%s", function, calls_reason(function));
    return CUDA_ERROR_NOT_SUPPORTED;
}

int driver_missing(const char *function)
{
    driver_log_missing(function, CUDA_ERROR_NOT_SUPPORTED);
    const struct calls_cancel cancel = calls_hold_cancel();
    const int result = driver_not_there(function);
    calls_let_cancel(cancel);
    return result;
}

void driver_flush_output(void)
{
    if (!driver_machine())
        return;
    struct base_buf out = {0};
    sim_device_take_output(driver_machine(), &out);
    // Written through stdio, so that lines of the host and of kernels stay in order.
    if (out.length)
        fwrite(out.text, 1, out.length, stdout);
    base_buf_fini(&out);
}

// --- Start and exit ------------------------------------------------------------------------------

static void in_child(void)
{
    // The child has no workers, and another thread may have held the lock at the fork.
    if (driver.initialised)
        driver.forked = true;
    this_thread.depth = 0;
    this_thread.current = NULL;
}

const CUcontext *driver_current_place(void)
{
    return &this_thread.current;
}

int driver_at(void)
{
    return this_thread.in_callback                  ? CUDAABI_SIM_IN_HOST_FUNCTION
           : this_thread.working || sim_is_worker() ? CUDAABI_SIM_AT_WORK
                                                    : CUDAABI_SIM_ELSEWHERE;
}

// At exit, commands that have not started are dropped. Running commands get five seconds to end, so
// that the log is complete.
__attribute__((destructor)) static void finish(void)
{
    if (driver.forked)
        return;
    if (!driver.initialised) {
        driver_log_end();
        return;
    }
    driver.finished = true;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    driver_lock();
    bool idle = true;
    while (driver.running && idle)
        idle = pthread_cond_timedwait(&driver.completed, &driver.lock, &until) != ETIMEDOUT;
    driver_unlock();
    driver_flush_output();
    if (idle)
        driver_log_end();
}

static void warn(const char *text)
{
    driver_say("%s", text);
}

static CUresult start(void)
{
    DRIVER_TRY(driver_devices_find());
    struct base_error error = {0};
    char text[1000];
    DRIVER_TRY(driver_log_open());
    const char *workers = getenv("GLINT_SIM_WORKERS"), *delay = getenv("GLINT_SIM_DELAY_US");
    const char *strict = getenv("GLINT_SIM_STRICT");
    driver.strict = strict && *strict && strcmp(strict, "0") != 0;
    driver.delay_ns = delay ? strtoull(delay, NULL, 10) * 1000 : 0;
    unsigned long count = workers ? strtoul(workers, NULL, 10) : 0;
    const unsigned each = count > 1024 ? 1024 : (unsigned)count;
    for (unsigned i = 0; i < driver.device_count; i++) {
        struct driver_device *device = &driver.devices[i];
        const enum base_code code =
            i ? sim_device_create_beside(driver_machine(), device->preset, each, &device->machine,
                                         &error)
              : sim_device_create(device->preset, each, driver.log, &device->machine, &error);
        if (code == BASE_OK) {
            sim_device_set_host(device->machine, &driver_host);
            continue;
        }
        base_error_text(&error, text, sizeof text);
        driver_say_once("simulated GPU: %s", text);
        return code == BASE_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_OPERATING_SYSTEM;
    }
    base_intervals_init(&driver.memory, 0);
    base_intervals_init(&driver.pages, 0);
    const char *errors = getenv("GLINT_SIM_MEMORY_ERRORS");
    driver.lenient = errors && strcmp(errors, "warn") == 0;
    for (unsigned i = 0; driver.lenient && i < driver.device_count; i++)
        sim_device_set_lenient(driver.devices[i].machine, driver_block_is_mapped, warn);
    pthread_atfork(NULL, NULL, in_child);
    driver.initialised = true;
    return CUDA_SUCCESS;
}

CUresult driver_init_process(void)
{
    DRIVER_REJECT(driver.forked, CUDA_ERROR_NOT_INITIALIZED);
    DRIVER_REJECT(driver.finished, CUDA_ERROR_DEINITIALIZED);
    if (driver.initialised)
        return CUDA_SUCCESS;
    driver_lock();
    CUresult result = driver.initialised ? CUDA_SUCCESS : start();
    driver_unlock();
    return result;
}

// Only the load of `initialised` needs acquire order: it alone publishes other data.
CUresult driver_begin(void)
{
    DRIVER_REJECT(!atomic_load_explicit(&driver.initialised, memory_order_acquire) ||
                      atomic_load_explicit(&driver.forked, memory_order_relaxed),
                  CUDA_ERROR_NOT_INITIALIZED);
    DRIVER_REJECT(atomic_load_explicit(&driver.finished, memory_order_relaxed),
                  CUDA_ERROR_DEINITIALIZED);
    DRIVER_REJECT(this_thread.in_callback, CUDA_ERROR_NOT_PERMITTED);
    return CUDA_SUCCESS;
}
