// SPDX-License-Identifier: Apache-2.0
// The state of sources. Beside each field stands the lock or the single writer that protects it.
#ifndef GLINT_INJECT_SOURCES_STATE_H
#define GLINT_INJECT_SOURCES_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "inject/core/call.h"

struct sources_copy { // to an object that nothing has used yet
    struct sources_copy *next;
    uint64_t number; // of the call
    uint64_t object;
    uint64_t start, bytes; // of the source
    uint64_t events;       // sources_state.events at that time
    struct core_call_hash hash;
};

struct sources_state {
    pthread_mutex_t lock;        // RANK_SOURCES
    struct base_map objects;     // number to its copies, or to SOURCES_USED; under the lock
    size_t copy_count;           // under the lock
    bool full;                   // there are too many objects; under the lock
    _Atomic size_t waiting;      // objects that have copies; read without the lock
    _Atomic uint64_t low, high;  // bounds of the addresses of these objects; only grow
    _Atomic uint64_t events;     // launches and frees so far; any thread
    _Atomic uint64_t spent_ns;   // on reading sources; any thread
    _Atomic uint64_t read_bytes; // any thread
    _Atomic uint64_t search_ns;  // on searching small copies, part of spent_ns; any thread
    _Atomic bool unreadable;     // the system does not permit it; any thread
    char *_Atomic chunk;         // a buffer that no thread uses; any thread
    uint64_t start_ns;           // written at the start alone
    int seccomp;                 // mode of system call filters; written at the start alone
};

extern struct sources_state sources_state;

#endif
