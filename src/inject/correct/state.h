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
    uint64_t *hashes;        // of the rows' paths
    uint32_t *next;          // the next row with the same path, from 1; 0: none
    _Atomic uint32_t *paths; // by number: 0 not met yet, 1 no row, else 1 + the first row's number
    struct correct_counts *counts; // [0]: of the process
    _Atomic bool *said;            // by image of the plan: that another build of it is here
};

struct correct_owed {            // wait/owed.c
    uint32_t count;              // how often something came to be owed; under the layer's lock
    _Atomic bool never;          // something outside may look at the GPU's memory, or at its output
    _Atomic bool off;            // something may touch memory that nobody can make wait
    _Atomic uint64_t hosts;      // functions of the program's that the GPU's work was to call
    _Atomic uint64_t hosts_done; // of these, that have surely been called
    _Atomic bool marks_events;   // records of events are marked
    _Atomic CUresult told;       // the last error that the program got
    struct {
        CUevent event;
        struct correct_mark mark;
    } events[CORRECT_EVENTS]; // by handle: of two in one place the last. Under the layer's lock
};

struct correct_marks { // wait/marks.c
    pthread_mutex_t lock;
    bool given, refused; // the driver has the words; or does not take them
    CUdeviceptr on_device;
    struct correct_lane lanes[CORRECT_LANES];
    _Atomic uint32_t top;             // lanes from there on are free
    volatile uint32_t *_Atomic words; // by lane; NULL: none yet
    uint64_t made_by;                 // core_state.generation
    _Atomic uint32_t waiting;         // threads that wait for a mark for long
    _Atomic CUresult failure;         // how the GPU has failed, if it has
    bool watched;                     // there is a thread that asks for them
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
    bool pageable_access; // GPUs reach all of the program's memory
    bool drivers_touch;   // the driver touches pinned memory as the program does
    _Atomic uint32_t data;    // ranges with data
    _Atomic uint32_t touched; // threads that wait because they touched something
    uint64_t changes;         // of the host's objects, when these were listed
    bool listed, unclosable;  // some shared memory cannot be closed
    size_t shared_count;
    struct core_object shared[CORRECT_SHARED];
    struct {                         // beside the ranges, under their lock
        struct correct_stage *block; // NULL: all waits that are owed
        struct correct_mark mark;
    } owed[GUARD_RANGES];
};

struct correct_pool;
struct correct_open_fence { // of a block that was given out before it had happened
    struct correct_pool *pool;
    struct correct_fence *fence;
    uint64_t number;
};

struct correct_pools {    // memory/pool.c
    _Atomic bool any;     // there are pools
    pthread_mutex_t lock; // protects all below, but that anybody may look at `opened`
    struct correct_pool *first;
    BASE_ARRAY(struct correct_open_fence) open; // in the order of their numbers
    size_t open_first;                          // that is not done
    _Atomic uint64_t opened; // how many there were; struct core_stream has how many it has seen
};

struct correct_backs {     // memory/back.c
    _Atomic uint32_t live; // objects; anybody may look
    pthread_mutex_t lock;  // protects all below
    struct base_intervals at;
    uint32_t flying;        // calls that may use the objects, and are with the driver just now
    uint32_t wanting, away; // objects that are nowhere, or in the host's memory
    uint64_t from, to;      // where they lie, and near them
    int64_t left_bytes;     // that there natively would be, when the driver was last asked, less
                            // what was allocated since
    uint64_t total_bytes;   // of all objects, as the program believes
    int64_t saved_bytes;    // of those that have no memory of the device's
};

struct correct_uses {        // memory/uses.c
    pthread_mutex_t lock;    // protects the map
    struct base_map kernels; // handle to struct params; forgotten when modules come or go
    bool host_known;         // where memory of the host lies, as of host_changes
    uint64_t host_changes, host_from, host_to;
    _Atomic bool host_seen; // kernels can read memory of the host that no parameter names
    _Atomic int pageable;   // 0: not asked yet, 1: kernels see only memory they are told of, 2: all
    char chunk[CORRECT_CHUNK_BYTES]; // data that is looked through; under the lock of back.h
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
