// SPDX-License-Identifier: Apache-2.0
// The state of the pager (pager.h), a part of guard's.
#ifndef GLINT_INJECT_GUARD_PAGER_STATE_H
#define GLINT_INJECT_GUARD_PAGER_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { GUARD_SPANS = 1024, GUARD_REQUESTS = 16, GUARD_TOUCHES = 64 };

// Pages that are registered with userfaultfd. Each is either where it belongs, or `away`.
struct guard_span { // written by the pager's thread
    _Atomic uint64_t low, high;
    _Atomic uint64_t away; // where the first page is kept; 0: all are back, or it was never used
};

enum guard_request_state {
    GUARD_REQUEST_FREE,
    GUARD_REQUEST_MAKING,
    GUARD_REQUEST_MADE,
    GUARD_REQUEST_DONE,
};

// Asks the pager's thread for something. Belongs to the thread that makes it, until it is
// made; then to the pager's thread, until it is done.
struct guard_request {
    _Atomic uint32_t state; // enum guard_request_state; a futex
    enum { GUARD_REQUEST_CLOSE, GUARD_REQUEST_OPEN, GUARD_REQUEST_FILL } kind;
    uint64_t low, high;
    int file; // to fill a child: its userfaultfd
    bool result;
};

// An access, or a fork, that the thread which reads announcements (touches.c) hands on.
struct guard_touch {
    uint64_t address;
    uint64_t pc; // of the instruction; 0: unknown, or in the system
    bool write, system;
    int child; // userfaultfd of a child of fork; -1: it is an access
};

struct guard_pager {
    _Atomic uint32_t on;     // enum guard_pager_on; a futex while the pager starts
    const char *_Atomic why; // why it is off; written before `on` says so
    int file;                // userfaultfd, in the file table of the pager's threads; written once
    struct guard_span spans[GUARD_SPANS];
    _Atomic unsigned
        top; // all spans from there on have nothing away; written by the pager's thread
    struct guard_request requests[GUARD_REQUESTS];
    _Atomic uint32_t rung; // counts requests; a futex
    // touches.c: a queue with one writer and one reader. Counts of touches handed on, and handled.
    struct guard_touch touches[GUARD_TOUCHES];
    _Atomic uint32_t handed, handled; // futexes
};

enum guard_pager_on { GUARD_PAGER_OFF, GUARD_PAGER_STARTS, GUARD_PAGER_ON, GUARD_PAGER_REFUSED };

#endif
