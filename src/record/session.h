// SPDX-License-Identifier: Apache-2.0
// A session is the recording of one process: its ring, its profile, and the parts of records that
// are kept until they can be written. Internal.
#ifndef GLINT_RECORD_SESSION_H
#define GLINT_RECORD_SESSION_H

#include "event/event.h"
#include "pattern.h"
#include "profile/profile.h"
#include "python.h"
#include "record.h"

struct record_caches;

struct record_session_stack {
    uint32_t number;
    uint32_t depth;
    size_t first; // index into record_session.frames
    bool truncated;
    uint32_t python_depth;
    size_t python_first; // index into record_session.python_frames
    bool python_truncated;
};

struct record_session_frame {
    uint32_t image;  // 0: unknown; offset is then the address
    uint64_t offset; // in the image's file
};

struct record_session_object {
    uint64_t number, call, bytes;
    uint32_t stack; // determined when the session ends
};

// A source file that call paths or kernels name (sources.h). Its texts are in the arena.
struct record_session_source {
    const char *name, *folder; // folder: in which the compiler ran; NULL: unknown
    int64_t built_s;           // when the code was built of it, seconds since 1970; 0: unknown
    uint32_t line;             // the last line that is named
};

struct record_session {
    int pid;
    int pidfd;     // readable when the process has ended; -1: not available
    bool ended;    // the process has ended
    bool replaced; // the process called exec; the new program has its own session
    struct event_ring *ring;
    struct event_reader reader;
    size_t ring_bytes;
    char *path;
    struct profile_writer *writer; // NULL before the first record, and after a failure
    bool made;                     // there is a profile, complete or not
    struct base_error error;       // why writing stopped
    struct base_buf record;        // the current record
    struct event_process process;  // version 0: not received yet
    uint64_t calls, objects;
    struct base_arena arena; // texts of `program` and of images
    struct profile_program program;
    BASE_ARRAY(struct event_image) images;
    BASE_ARRAY(const char *) image_paths; // in the arena
    BASE_ARRAY(struct record_session_stack) stacks;
    BASE_ARRAY(struct record_session_frame) frames; // of all stacks
    struct base_map stack_numbers;                  // of the stacks received, to their index + 1
    BASE_ARRAY(struct record_python_code) codes;    // texts and tables in the arena
    struct base_map code_numbers;                   // of the code received, to its index + 1
    BASE_ARRAY(uint64_t) python_frames;             // of all stacks, as event_python_frame
    BASE_ARRAY(struct profile_node) nodes;          // of the graph whose records are coming in
    uint64_t graph;                                 // number of that graph
    BASE_ARRAY(struct record_session_object) objects_made;
    struct base_map allocations;  // from an allocating call to its stack
    struct base_map sync_stacks;  // the stacks of synchronizations
    struct base_map waiting;      // from a copy or fill that waited to its duration
    struct base_map named;        // objects that the program has named
    struct base_map untold;       // watched launches without an EVENT_TOLD record so far
    struct base_map source_index; // from the name of a source file to its index + 1
    BASE_ARRAY(struct record_session_source) sources;          // in the order of their appearance
    struct record_caches *caches;                              // caches.h; NULL: none yet
    bool nameless, has_caches, cold_caches;                    // of record_request
    void (*progress)(void *user, uint64_t done, uint64_t all); // may be NULL
    void *user;
};

// Starts a session. Takes ownership of the ring and of the profile's place. If place is NULL, the
// session creates the profile at `path`. Returns NULL if memory ran out; ring and place are then
// released.
struct record_session *record_session_open(struct event_ring *ring, size_t bytes,
                                           const struct record_process *process, const char *path,
                                           struct profile_place *place,
                                           const struct record_request *request);
// Writes up to `most` records that have arrived and returns their number.
uint32_t record_session_drain(struct record_session *session, uint32_t most);
// Writes the remaining records, call paths and names of objects, finishes the profile and frees the
// session. code is the exit status or signal number if `ending` says that there is one.
void record_session_close(struct record_session *session, enum profile_ending ending, int code,
                          struct record_profile *out);

// ending.c: finds out how a process ended, as far as the system reveals it. Not for the recorder's
// own child, which the recorder waits for.
void record_session_find_ending(const struct record_session *session, enum profile_ending *ending,
                                int *code);
// rows.c: writes one record. Returns false if the record is not valid.
bool record_session_write(struct record_session *session, enum event_kind kind, const char *bytes,
                          size_t length);
// Writes the graph whose nodes are complete; they may have come in several records.
void record_session_end_graph(struct record_session *session);
// probe_rows.c: writes a doubt for each watched launch whose results never arrived.
void record_session_write_untold(struct record_session *session);
// paths.c: writes call paths with functions, files and lines, and the names of objects. Called
// once, when the session ends.
void record_session_write_paths(struct record_session *session);

#endif
