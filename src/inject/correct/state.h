// SPDX-License-Identifier: Apache-2.0
// The state of corrections. Beside each field stands the lock or the single writer that protects
// it.
#ifndef GLINT_INJECT_CORRECT_STATE_H
#define GLINT_INJECT_CORRECT_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "inject/core/objects.h"
#include "inject/correct/memory/fence.h"
#include "inject/correct/memory/pieces.h"
#include "inject/correct/wait/marks.h"
#include "inject/correct/wait/staging.h"
#include "inject/guard/table.h"
#include "plan/plan.h"

enum {
    CORRECT_EVENTS = 1024,
    CORRECT_SHARED = 128,
    CORRECT_STAGES = 64,
    CORRECT_CHUNK_BYTES = 1 << 16,
};

struct correct_counts {
    _Atomic uint32_t stack;
    _Atomic uint64_t count[EVENT_CORRECTION_COUNTS];
};

struct correct_plan { // correct.c; written at the start, but for the atomic fields
    struct plan plan;
    uint64_t *hashes;        // by row: hash of its path
    uint32_t *next;          // the next row with the same path, from 1; 0: none
    _Atomic uint32_t *paths; // by number of a call path: 0 unknown yet, 1 no row, else 1 + number
                             // of the first row
    struct correct_counts *counts; // by row number; [0]: those of the process
    _Atomic bool *said; // by image of the plan: a note says that another build of it is loaded
};

struct correct_owed {            // wait/owed.c
    uint32_t count;              // how often something was owed; under the layer's lock
    _Atomic bool never;          // something outside may see the GPU's memory or output
    _Atomic bool off;            // something may access memory without waiting
    _Atomic uint64_t hosts;      // host functions that were enqueued
    _Atomic uint64_t hosts_done; // how many of these are known to have run
    _Atomic bool uses_pools;     // memory was allocated from the driver's pools
    _Atomic bool keeps;          // pools keep memory that a wait would have released: see release.c
    _Atomic bool marks_events;   // records of events get marks
    _Atomic CUresult reported;   // the last error that the program was returned
    struct {
        CUevent event;
        struct correct_mark mark;
    } events[CORRECT_EVENTS]; // by hash of the handle, the last one each. Under the layer's lock
};

struct correct_marks { // wait/marks.c
    pthread_mutex_t lock;
    bool given, refused; // the words are registered with the driver; the driver refused them
    CUdeviceptr on_device;
    struct correct_lane lanes[CORRECT_LANES];
    _Atomic uint32_t top;             // lanes from there on are free
    volatile uint32_t *_Atomic words; // by lane: the last mark reached; NULL: none yet
    uint64_t made_by;                 // core_state.generation
    _Atomic uint32_t waiting;         // threads that have waited long for a mark
    _Atomic CUresult failure;         // the error by which the GPU failed; CUDA_SUCCESS: it has not
    bool watched;                     // a thread of glint's watches for failure
};

struct correct_staging { // wait/staging.c; protected by the lock of the marks
    struct correct_stage blocks[CORRECT_STAGES];
    size_t bytes;
    uint64_t ages;
    uint64_t made_by; // core_state.generation
    bool refused;     // the driver has no more pinned memory
};

struct correct_memory {   // wait/memory.c; protected by the lock of the marks, but for what says so
    uint64_t made_by;     // core_state.generation
    bool asked, possible; // whether memory can be closed at all
    bool pageable_access; // GPUs can access all of the program's memory
    bool drivers_touch;   // the driver accesses pinned memory by the CPU
    _Atomic uint32_t data;    // ranges to which data is owed
    _Atomic uint32_t touched; // threads that wait because they touched a closed page
    uint64_t changes;         // value of host_changes when `shared` was listed
    bool listed, unclosable;  // `shared` is listed; some of it cannot be closed
    bool said_pinned;         // it was noted that pinned memory is why
    size_t shared_count;
    struct core_object shared[CORRECT_SHARED];
    struct { // by range of guard's table, under its lock
        // Has the data; NULL: the range waits for all marks that are owed.
        struct correct_stage *block;
        struct correct_mark mark;
    } owed[GUARD_RANGES];
};

struct correct_pool;
struct correct_open_fence { // of a block that was reused before its fence had happened
    struct correct_pool *pool;
    struct correct_fence *fence;
    uint64_t number;
};

struct correct_pools {    // memory/pool.c
    _Atomic bool any;     // there are pools
    pthread_mutex_t lock; // protects all below; `opened` may be read without it
    struct correct_pool *first;
    BASE_ARRAY(struct correct_open_fence) open; // in the order of their numbers
    size_t open_first;                          // index of the first that is not done
    _Atomic uint64_t opened; // numbers that were given out; core_stream.fenced is the last that a
                             // stream waits for
};

struct correct_backs {     // memory/back.c
    _Atomic uint32_t live; // objects; read without the lock
    pthread_mutex_t lock;  // protects all below
    struct base_intervals at;
    uint32_t flying;        // calls in the driver that may use the objects
    uint32_t wanting, away; // objects without memory, and objects in host memory
    uint64_t from, to;      // bounds of their addresses, with a margin
    int64_t left_bytes;   // free bytes that there would be without glint, at the last query, minus
                          // what was allocated since
    uint64_t total_bytes; // bytes of all objects, as the program sees them
    int64_t saved_bytes;  // bytes of objects that are not backed by the device
};

struct correct_uses {        // memory/uses.c
    pthread_mutex_t lock;    // protects the map
    struct base_map kernels; // handle to struct params; dropped when modules are loaded or unloaded
    bool host_known;         // bounds of host memory are known, as of host_changes
    uint64_t host_changes, host_from, host_to;
    _Atomic bool host_seen; // kernels can read host memory that no parameter names
    // 0: unknown yet, 1: kernels access only memory that CUDA knows, 2: all memory.
    _Atomic int pageable;
    char chunk[CORRECT_CHUNK_BYTES]; // data searched for addresses; under the lock of back.h
};

struct correct_state {
    bool on;                 // there is a plan; written at the start and in a child of fork alone
    _Atomic bool given_back; // kept memory was given back because nothing is corrected any more
    struct correct_plan plan;
    struct correct_owed owed;
    struct correct_marks marks;
    struct correct_staging staging;
    struct correct_memory memory;
    struct correct_pools pools;
    struct correct_backs backs;
    struct correct_pieces pieces;
    struct correct_uses uses;
};

extern struct correct_state correct_state;

#endif
