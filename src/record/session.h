// SPDX-License-Identifier: Apache-2.0
// One process that is recorded: its ring, its profile, and what must be remembered of the records
// until they can be written. Internal.
#ifndef GLINT_RECORD_SESSION_H
#define GLINT_RECORD_SESSION_H

#include "event/event.h"
#include "profile/profile.h"
#include "record.h"

struct record_session_stack {
    uint32_t number;
    uint32_t depth;
    size_t first; // among the frames
    bool truncated;
};

struct record_session_frame {
    uint32_t image;  // 0: in none that is known; offset is the address then
    uint64_t offset; // in the image's file
};

struct record_session_object {
    uint64_t number, call, bytes;
    uint32_t stack; // found out at the end
};

struct record_session {
    int pid;
    int pidfd;     // readable when the process has ended; -1: it cannot be watched
    bool ended;    // the process has
    bool replaced; // it has become another program, whose session is another
    struct event_ring *ring;
    struct event_reader reader;
    size_t ring_bytes;
    char *path;
    struct profile_writer *writer; // NULL before the first record, and after a failure
    bool made;                     // there is a profile, whole or not
    struct base_error error;       // why there is no writer any more
    struct base_buf record;        // the one that is being looked at
    struct event_process process;  // version 0: not told yet
    uint64_t calls, objects;
    struct base_arena arena; // what the program's row holds
    struct profile_program program;
    BASE_ARRAY(struct event_image) images;
    BASE_ARRAY(const char *) image_paths; // in the arena
    BASE_ARRAY(struct record_session_stack) stacks;
    BASE_ARRAY(struct record_session_frame) frames; // of all stacks
    struct base_map stack_numbers;                  // that were told
    BASE_ARRAY(struct profile_node) nodes;          // of the graph that is being told
    uint64_t graph;                                 // its number
    BASE_ARRAY(struct record_session_object) objects_made;
    struct base_map allocations; // call that allocates to its stack
    struct base_map waiting;     // copies and fills that waited, to how long they took
    struct base_map named;       // objects that the program has named
    struct base_map untold;      // launches that are watched and of which nothing was told yet
    bool nameless;               // as record_request says
    void (*progress)(void *user, uint64_t done, uint64_t all); // may be NULL
    void *user;
};

// Takes over the ring, and the place of the profile, which may be NULL: path is tried then. NULL
// when memory ran out: both are released then.
struct record_session *record_session_open(struct event_ring *ring, size_t bytes, int pid,
                                           const char *path, struct profile_place *place,
                                           const struct record_request *request);
// Writes what has come, at most so many records; returns how many there were.
uint32_t record_session_drain(struct record_session *session, uint32_t most);
// Takes what is left, names objects and call paths, and ends the profile. code: the exit status or
// signal, where ending says so.
void record_session_close(struct record_session *session, enum profile_ending ending, int code,
                          struct record_profile *out);

// ending.c: how a process that has ended did, as far as the system tells; the recorder's own child
// is waited for instead.
void record_session_find_ending(const struct record_session *session, enum profile_ending *ending,
                                int *code);
// rows.c: writes one record. False: it makes no sense.
bool record_session_write(struct record_session *session, enum event_kind kind, const char *bytes,
                          size_t length);
// Writes the graph whose nodes came last, which may take several records.
void record_session_end_graph(struct record_session *session);
// probe_rows.c: at the end, of launches whose results never came: what they did is not known.
void record_session_write_untold(struct record_session *session);
// paths.c: call paths with functions, files and lines, and the names of objects, at the end.
void record_session_write_paths(struct record_session *session);

#endif
