// SPDX-License-Identifier: Apache-2.0
// The driver's part of the log: opens it if the environment asks for one, and writes the API calls
// of the driver and of runtimes, and the copies and fills that streams and graphs execute.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "gpusim/calls/calls.h"
#include "gpusim/log/write.h"
#include "module.h"
#include "op.h"
#include "stream.h"

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

// --- Copies and fills ----------------------------------------------------------------------------

// The objects of one side of a copy. `logged` points to the items of `found`, once all are found.
struct objects {
    BASE_ARRAY(struct gpusim_object) found;
    const struct gpusim_object **logged;
    bool failed; // memory ran out
};

// Adds the object that contains the address, unless it is there, and returns it. NULL: there is
// none, or memory ran out.
static const struct gpusim_object *add_object(struct objects *objects, uint64_t address)
{
    struct gpusim_object object;
    for (size_t i = objects->found.count; i-- > 0;) {
        const struct gpusim_object *at = &objects->found.items[i];
        if (address - at->address < at->size_bytes)
            return at;
    }
    if (!sim_object_find(driver_machine(), address, &object))
        return NULL;
    struct gpusim_object *made = base_array_push(&objects->found);
    objects->failed |= !made;
    if (made)
        *made = object;
    return made;
}

// Finds the objects of all rows. Adjacent objects of the virtual memory API may share a row.
static void find_objects(struct objects *objects, struct gpusim_log_rows *rows, uint64_t width,
                         uint64_t height, uint64_t depth)
{
    for (uint64_t z = 0; z < depth; z++) {
        for (uint64_t y = 0; y < height; y++) {
            uint64_t at = rows->address + z * rows->slice + y * rows->pitch, end = at + width;
            const struct gpusim_object *object;
            while (at < end && (object = add_object(objects, at)))
                at = object->address + object->size_bytes;
        }
    }
    const size_t count = objects->found.count;
    objects->logged = count ? calloc(count, sizeof(*objects->logged)) : NULL;
    objects->failed |= count && !objects->logged;
    for (size_t i = 0; i < count && objects->logged; i++)
        objects->logged[i] = &objects->found.items[i];
    rows->objects = objects->logged;
    rows->object_count = objects->logged ? count : 0;
}

static void fini_objects(struct objects *objects)
{
    if (objects->failed)
        log_fail(driver.log, ENOMEM);
    base_array_fini(&objects->found);
    free(objects->logged);
}

void driver_log_copy(const struct driver_op *op)
{
    const struct driver_thread *own = driver_thread();
    const struct driver_box *box = &op->copy.box;
    struct objects to = {0}, from = {0};
    if (!driver.log || !box->width || !box->height || !box->depth)
        return;
    struct gpusim_log_copy copy = {
        .call = own->running_for,
        .stream = driver_stream_handle(own->running_on),
        .width = box->width,
        .height = box->height,
        .depth = box->depth,
        .to = {.address = (uintptr_t)box->dst, .pitch = box->dst_pitch, .slice = box->dst_slice},
    };
    if (!op->copy.staging)
        copy.from = (struct gpusim_log_rows){
            .address = (uintptr_t)box->src, .pitch = box->src_pitch, .slice = box->src_slice};
    find_objects(&to, &copy.to, box->width, box->height, box->depth);
    if (copy.from.address)
        find_objects(&from, &copy.from, box->width, box->height, box->depth);
    log_copy(driver.log, &copy);
    fini_objects(&to);
    fini_objects(&from);
}

void driver_log_fill(const struct driver_op *op)
{
    const struct driver_thread *own = driver_thread();
    struct objects to = {0};
    if (!driver.log)
        return;
    struct gpusim_log_fill fill = {
        .call = own->running_for, .stream = driver_stream_handle(own->running_on), .height = 1};
    if (op->kind == DRIVER_OP_FILL) {
        fill.width = op->fill.width * op->fill.element_bytes;
        fill.height = op->fill.height;
        fill.to =
            (struct gpusim_log_rows){.address = (uintptr_t)op->fill.dst, .pitch = op->fill.pitch};
        fill.value_bytes = op->fill.element_bytes;
        fill.value = op->fill.value & UINT64_MAX >> (64 - 8 * fill.value_bytes);
    } else {
        fill.width = fill.value_bytes = op->value.is_64 ? 8 : 4;
        fill.to.address = op->value.address;
        fill.value = op->value.is_64 ? op->value.value : (uint32_t)op->value.value;
    }
    if (!fill.width || !fill.height)
        return;
    find_objects(&to, &fill.to, fill.width, fill.height, 1);
    log_fill(driver.log, &fill);
    fini_objects(&to);
}

// --- Export tables -------------------------------------------------------------------------------

static CUresult watch_function(CUfunction handle, cudaabi_sim_watch *watch, void *user)
{
    struct driver_function *function = driver_function_of(handle);
    DRIVER_REJECT(!function, CUDA_ERROR_INVALID_HANDLE);
    driver_lock();
    function->watch = watch;
    function->watch_user = user;
    driver_unlock();
    return CUDA_SUCCESS;
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
    static const struct cudaabi_sim sim = {sizeof sim, driver_current_place, driver_at,
                                           driver_fault, watch_function};
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
