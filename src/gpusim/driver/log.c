// SPDX-License-Identifier: Apache-2.0
// The driver's part of the log: opens it if the environment asks for one, and writes the API calls
// of the driver and of runtimes.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "gpusim/calls/calls.h"
#include "gpusim/log/write.h"

// Child processes inherit the variable. %p expands to the process ID, so that each process can have
// its own log.
static void expand_path(const char *path, struct base_buf *out)
{
    for (; *path; path++) {
        if (path[0] == '%' && path[1] == 'p') {
            base_buf_i64(out, getpid());
            path++;
        } else {
            base_buf_putc(out, *path);
        }
    }
}

// A forked child shares the file but must not write to it.
static void in_child(void)
{
    driver.log = NULL;
    atomic_store(&calls_found.state, CALLS_OFF);
}

static void open_log(void)
{
    const char *path = getenv("GLINT_SIM_LOG");
    if (!path || !*path)
        return;
    struct base_error error = {0};
    struct base_buf expanded = {0};
    expand_path(path, &expanded);
    if (log_open(expanded.failed ? path : expanded.text, &driver.log, &error) != BASE_OK) {
        char text[1000];
        base_error_text(&error, text, sizeof text);
        driver_say_once("GLINT_SIM_LOG: %s", text);
        driver.log_failed = true;
    }
    base_buf_fini(&expanded);
    pthread_atfork(NULL, NULL, in_child);
}

CUresult driver_log_open(void)
{
    pthread_once(&driver.log_once, open_log);
    return driver.log_failed ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

void driver_log_end(void)
{
    int error = driver.log ? log_end(driver.log) : 0;
    if (error)
        driver_say("GLINT_SIM_LOG: the log is incomplete: %s", strerror(error));
}

// --- Calls ---------------------------------------------------------------------------------------

static void begin(struct calls_call *call, const char *name, const char *arguments)
{
    struct driver_thread *own = driver_thread();
    if (!driver.log)
        return;
    if (!own->log_id)
        own->log_id = atomic_fetch_add(&driver.logged_threads, 1) + 1;
    call->outer = own->call;
    call->number = own->call = log_call(driver.log, call->outer, own->log_id, name, arguments);
}

static void end(struct calls_call *call, int64_t result, const char *outputs)
{
    if (!call->number)
        return;
    driver_thread()->call = call->outer;
    if (driver.log)
        log_return(driver.log, call->number, result, outputs);
}

const struct calls *calls_open(void)
{
    static const struct calls calls = {sizeof calls, begin, end};
    driver_log_open();
    return driver.log ? &calls : NULL;
}

// The runtime obtains the log, and the recorder the thread's state, through this function. Their
// requests are recognized by their identifiers and are not logged, because the program did not make
// them.
CUresult cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    DRIVER_REJECT(!ppExportTable || !pExportTableId, CUDA_ERROR_INVALID_VALUE);
    *ppExportTable = NULL;
    if (memcmp(pExportTableId, &calls_id, sizeof calls_id) == 0) {
        *ppExportTable = calls_to();
        return *ppExportTable ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    }
    static const struct cudaabi_sim sim = {sizeof sim, driver_current_place, driver_at};
    static const CUuuid sim_id = CUDAABI_SIM_ID;
    if (memcmp(pExportTableId, &sim_id, sizeof sim_id) == 0) {
        *ppExportTable = &sim;
        return CUDA_SUCCESS;
    }
    driver_log_missing("cuGetExportTable", CUDA_ERROR_NOT_FOUND);
    return CUDA_ERROR_NOT_FOUND;
}

void driver_log_missing(const char *name, CUresult result)
{
    const struct calls_cancel cancel = calls_hold_cancel();
    struct calls_call call = {.to = calls_to()};
    if (call.to) {
        calls_begin(&call, name);
        calls_end(&call, result);
    }
    calls_let_cancel(cancel);
}
