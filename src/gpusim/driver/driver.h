// SPDX-License-Identifier: Apache-2.0
// The state of the simulated GPU's driver (libcuda.so.1) in a process and in a thread, and what
// every API function uses. The API is cudaabi's; machine/sim.h is the machine that executes
// kernels.
//
// One lock, driver.lock, guards all data of the driver unless a field says otherwise. Commands run
// without it. "Locked" in a comment means that the caller holds it, "not locked" that it must not.
#ifndef GLINT_GPUSIM_DRIVER_DRIVER_H
#define GLINT_GPUSIM_DRIVER_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "cudaabi/cudaabi.h"
#include "gpusim/locks.h"
#include "gpusim/machine/sim.h"

struct driver_context;
struct driver_stream;
struct driver_command;
struct driver_op;
struct driver_event;
struct driver_allocation;
struct driver_pool;
struct driver_module;
struct driver_function;
struct driver_array;
struct driver_graph;
struct driver_node;
struct driver_exec;
struct driver_capture;

enum {
    DRIVER_VERSION = 13000,
    DRIVER_ALIGNMENT = 512,
    DRIVER_GRANULARITY = 2 << 20, // of the virtual memory API
    DRIVER_CONTEXT_STACK = 64,
};

// --- The process ---------------------------------------------------------------------------------

// A device that the program sees. The program's numbers are the indices of driver.devices.
struct driver_device {
    unsigned physical; // its number among all devices, whichever the program sees
    const struct sim_preset *preset;
    struct sim_device *machine;

    struct driver_context *primary; // NULL before the first retain; primary_lock guards both
    unsigned primary_flags;
    uint64_t used_bytes; // of its memory
    struct driver_pool *default_pool, *current_pool;
};

struct driver_process {
    pthread_mutex_t lock;
    pthread_cond_t work;      // wakes idle workers: a stream has become ready
    pthread_cond_t completed; // wakes threads that wait: a command has completed

    _Atomic bool initialised, forked, finished;
    // The first error of a command, mostly a kernel's fault. All later calls in all contexts of the
    // process return it. CUDA_SUCCESS: there was none.
    _Atomic int error;
    // Written before the driver is initialized.
    struct driver_device devices[SIM_DEVICES_MAX];
    unsigned device_count;
    struct log_file *log; // NULL: no logging. Set before the first call is served
    bool log_failed;      // the log could not be opened

    // Guards the primary contexts, their retain counts and their flags.
    pthread_mutex_t primary_lock;
    // Held while a library is loaded for another device (module.c).
    pthread_mutex_t library_lock;
    struct driver_context *contexts;      // all, the primary one included
    struct driver_context *dead_contexts; // destroyed, but perhaps still current in a thread
    struct driver_module *libraries;      // modules that belong to no context
    struct driver_array *dead_arrays;     // ended by a reset; the program still has handles
    uint64_t next_id;
    uint64_t sequence; // of the newest command
    uint64_t host_ns;  // the host's time on the simulated clock, which never decreases

    struct driver_stream *ready, *ready_last; // queue of streams that a worker may take
    uint64_t delay_ns; // before work starts unless a call waits for it, to expose missing waits
    bool strict;       // an invalid handle aborts the program (GLINT_SIM_STRICT)
    unsigned workers, idle_workers;
    unsigned blocked; // streams whose first command waits for other streams
    unsigned running; // commands that run now

    struct base_intervals memory; // allocations by address, in the order of API calls
    struct driver_pool *pools;

    _Atomic uint64_t staged_bytes;   // of pageable memory, buffered for asynchronous copies
    _Atomic bool graph_memory_loose; // graphs have released memory since it was last collected

    // Blocks for small allocations (block.c): lists of free blocks by size, and the chunk that new
    // blocks are cut from.
    struct base_map free_blocks;
    struct driver_chunk *newest_chunk;
    bool lenient;                // invalid accesses end launches only where `pages` has no memory
    pthread_mutex_t pages_lock;  // guards `pages`
    struct base_intervals pages; // where a GPU would have memory for the blocks; only if lenient

    // The virtual memory API (vmm.c). The file is never shortened: offsets are used once, and freed
    // memory is punched out of the file, so no list of holes is needed.
    struct base_intervals reserved, mapped; // ranges of addresses
    int physical_file;                      // -1: no allocation yet
    uint64_t physical_bytes;                // used in the file

    _Atomic unsigned captures;            // in progress; written with the lock held
    struct driver_capture *first_capture; // list of captures in progress

    pthread_mutex_t reported_lock; // guards `reported`
    struct base_map reported;      // hashes of messages that driver_say_once() has printed

    pthread_once_t log_once;
    _Atomic uint64_t threads, logged_threads; // that have called the driver; that have logged calls
    _Atomic uint64_t launches;                // so far; each launch is numbered by it
    char *_Atomic fault;                      // text of the first kernel's that failed; NULL: none
};

extern struct driver_process driver;

// The state of a thread.
struct driver_thread {
    struct driver_context *stack[DRIVER_CONTEXT_STACK]; // the current context is the last
    unsigned depth;
    CUcontext current;                // NULL: none. struct cudaabi_sim publishes its address
    bool in_callback;                 // API calls are not permitted
    bool working;                     // it runs a command
    unsigned per_thread;              // above 0: stream 0 means the thread's own (per_thread.h)
    CUstreamCaptureMode capture_mode; // cuThreadExchangeStreamCaptureMode
    uint64_t id;                      // 0: not assigned yet
    // For the log:
    uint64_t log_id;                  // 0: not assigned yet
    uint64_t call;                    // the API call that it is in
    struct driver_stream *running_on; // the stream of the command that it runs
    uint64_t running_for;             // the call that submitted the command
};

struct driver_thread *driver_thread(void);
// The functions of struct cudaabi_sim.
const CUcontext *driver_current_place(void);
int driver_at(void);
const char *driver_fault(void);

// Opens the log if the environment asks for one. Later calls do nothing.
CUresult driver_log_open(void);
void driver_log_end(void);
// Log an operation that the calling thread has just executed: a copy, or a fill or write of a
// value. Not locked.
void driver_log_copy(const struct driver_op *op);
void driver_log_fill(const struct driver_op *op);
// Logs a call without arguments.
void driver_log_missing(const char *name, CUresult result);

// Returns the device of a handle, or NULL if there is none.
static inline struct driver_device *driver_device_at(CUdevice handle)
{
    return handle >= 0 && (unsigned)handle < driver.device_count ? &driver.devices[handle] : NULL;
}

static inline int driver_ordinal(const struct driver_device *device)
{
    return (int)(device - driver.devices);
}

// Returns a device of the machine, for functions that concern the memory of all.
static inline struct sim_device *driver_machine(void)
{
    return driver.devices[0].machine;
}

// Stores the devices that the program sees, in its order, as the environment asks. Returns why
// there is none.
CUresult driver_devices_find(void);
// Returns whether the device can access memory of the other one, which may be the same.
bool driver_devices_linked(const struct driver_device *device, const struct driver_device *other);
// Writes the device's UUID.
void driver_device_uuid(const struct driver_device *device, CUuuid *uuid);

// Begins an API function. Returns an error if the driver is not initialized or cannot be used.
CUresult driver_begin(void);

#define DRIVER_TRY(expression)         \
    do {                               \
        CUresult tried = (expression); \
        if (tried != CUDA_SUCCESS)     \
            return tried;              \
    } while (0)
#define DRIVER_BEGIN() DRIVER_TRY(driver_begin())
#define DRIVER_REJECT(condition, code) \
    do {                               \
        if (condition)                 \
            return (code);             \
    } while (0)

// Print one line on stderr, "glint: ...". driver_say_once() prints each text once in a process.
void driver_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void driver_say_once(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Prints once that the function is not implemented; returns CUDA_ERROR_NOT_SUPPORTED.
CUresult driver_not_there(const char *function);
// With GLINT_SIM_STRICT, reports an invalid handle and aborts: NVIDIA's driver may crash on one.
void driver_end_if_strict(const char *what);
// Returns the error for an invalid handle.
static inline CUresult driver_no_handle(const char *what)
{
    driver_end_if_strict(what);
    return CUDA_ERROR_INVALID_HANDLE;
}

// Writes the output of kernels' printf to the program's stdout. Called where NVIDIA's driver does:
// by launches, calls that wait for the device, blocking copies, loading and unloading, before host
// functions, with an error and at exit. Never called by a thread that runs kernels, so that lines
// of the host and of kernels stay in order. Not locked.
void driver_flush_output(void);

CUresult driver_init_process(void);
// Return the version of CUDA that the driver claims, as 13000 for 13.0, and whether it knows a
// version of PTX, as 90 for 9.0 (version.c).
int driver_version(void);
bool driver_knows_ptx(uint32_t version);
// Implements cuGetProcAddress (proc.c).
CUresult driver_proc_find(const char *symbol, void **pfn, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status);
// Returns the CUDA error for a kernel's fault.
CUresult driver_code_of_fault(enum sim_fault_kind kind);

static inline void driver_lock(void)
{
    gpusim_lock(&driver.lock, GPUSIM_RANK_DRIVER);
}

static inline void driver_unlock(void)
{
    gpusim_unlock(&driver.lock, GPUSIM_RANK_DRIVER);
}

#endif
