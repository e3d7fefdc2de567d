// SPDX-License-Identifier: Apache-2.0
// A recorder's session without a program: tests put records into its ring.
#ifndef GLINT_TESTS_RECORD_FEEDING_H
#define GLINT_TESTS_RECORD_FEEDING_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/session.h"

struct feeding {
    struct event_ring *ring;
    struct record_session *session; // NULL: the session could not be created
};

// Where the profiles of a test are written. The functions are for cmocka_run_group_tests.
static char feeding_path[64];

static inline int feeding_make_path(void **state)
{
    (void)state;
    snprintf(feeding_path, sizeof(feeding_path), "/tmp/glint-feeding-%d.glint", (int)getpid());
    return 0;
}

static inline int feeding_remove_path(void **state)
{
    (void)state;
    return unlink(feeding_path);
}

// The profile will be at path. The process record is already in the ring.
static inline struct feeding feeding_begin(const char *path, uint32_t slots,
                                           const struct record_request *request)
{
    const struct event_process process = {.version = EVENT_VERSION, .pid = 1};
    const size_t bytes = event_ring_bytes(slots);
    struct feeding feeding = {0};
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return feeding;
    feeding.ring = event_ring_make(memory, bytes);
    feeding.session = record_session_open(
        feeding.ring, bytes, &(struct record_process){.pid = getpid()}, path, NULL, request);
    if (feeding.session)
        event_put(feeding.ring, EVENT_PROCESS, &process, sizeof(process), "a\0b\0a", 6);
    return feeding;
}

// Writes the records in the ring to the profile.
static inline void feeding_drain(struct feeding *feeding)
{
    record_session_drain(feeding->session, UINT32_MAX);
}

// Finishes the profile. Returns false if writing it failed.
static inline bool feeding_end(struct feeding *feeding)
{
    struct record_profile out;
    record_session_close(feeding->session, PROFILE_EXITED, 0, &out);
    free(out.path);
    return out.error.code == BASE_OK;
}

#endif
