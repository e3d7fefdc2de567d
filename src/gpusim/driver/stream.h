// SPDX-License-Identifier: Apache-2.0
// Streams as queues of commands (stream.c), and the workers that run them (engine.c).
#ifndef GLINT_GPUSIM_DRIVER_STREAM_H
#define GLINT_GPUSIM_DRIVER_STREAM_H

#include "op.h"

struct driver_command {
    unsigned references;
    bool done;
    uint64_t sequence;          // in order of submission over all streams
    uint64_t call;              // for the log: the call that submitted it
    uint64_t submit_ns, end_ns; // on the simulated clock; end_ns is set when it is done
    uint64_t not_before_ns;     // on the real clock: earliest start, unless a call waits for it
    struct driver_stream *stream;
    struct driver_command *next;
    struct driver_command **waits; // held; all must be done before this one starts
    size_t wait_count;
    struct driver_op op;
};

struct driver_stream {
    uint64_t magic;
    struct driver_context *context;
    struct driver_stream *next;
    uint64_t id;
    uint64_t thread; // of a per-thread default stream: its thread; else 0
    unsigned flags;
    int priority;
    unsigned references; // the handle, and each command not done
    bool destroyed, running, queued, is_blocked;
    bool delayed; // a worker waits until its first command may start
    struct driver_stream *next_ready;
    struct driver_command *current;     // runs now
    struct driver_command *head, *tail; // queue of commands that have not started
    unsigned pending;                   // length of the queue
    struct driver_command *last;        // held: the newest submitted; NULL: none
    uint64_t clock_ns;                  // when its last completed command ended
    struct driver_capture *capture;     // NULL: not capturing
    struct driver_node **latest;        // of a capture: the nodes that the next one depends on
    size_t latest_count;
    CUstreamAttrValue attributes[16];
};

// Finds the stream of a handle. 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD mean streams of the
// context. Locked.
CUresult driver_stream_of(struct driver_context *context, CUstream handle,
                          struct driver_stream **stream);
// Returns the handle by which the program knows the stream. Default streams have special handles.
uint64_t driver_stream_handle(const struct driver_stream *stream);
struct driver_stream *driver_stream_create(struct driver_context *context, unsigned flags,
                                           int priority); // locked; NULL when memory runs out
void driver_stream_free(struct driver_stream *stream);    // locked; its queue is empty
// Frees a destroyed stream whose work is done. Locked.
void driver_stream_retire(struct driver_stream *stream);

// Submits the operation to the stream and takes ownership of *op, also on failure. waits: commands
// that it must follow besides those of its stream; the caller keeps its references. If command is
// not NULL, the caller gets a reference. Locked.
CUresult driver_submit(struct driver_stream *stream, struct driver_op *op,
                       struct driver_command *const *waits, size_t wait_count,
                       struct driver_command **command);
void driver_hold(struct driver_command *command);    // locked
void driver_release(struct driver_command *command); // locked; NULL is allowed

// Wait for a command, or for all commands submitted so far to a stream, to all streams of a
// context, or of a device and of those that may access its memory. They may run commands on the
// calling thread. Locked; they release the lock while they wait.
void driver_wait(struct driver_command *command);
void driver_wait_stream(struct driver_stream *stream);
void driver_wait_context(struct driver_context *context);
void driver_wait_device(const struct driver_device *device); // NULL: all devices
// Returns whether a command of the context is not done. Locked.
bool driver_is_busy(const struct driver_context *context);

// Begins an API function that takes a stream: finds context and stream. On CUDA_SUCCESS the lock is
// held.
CUresult driver_enter_stream(CUstream handle, struct driver_context **context,
                             struct driver_stream **stream);
// Submits the operation or, if the stream is captured, adds it to the graph. Takes ownership of
// *op. Locked.
CUresult driver_enqueue(struct driver_stream *stream, struct driver_op *op);
// Returns an error for a call that waits if the thread's captures forbid it. Locked.
CUresult driver_forbid_in_capture(struct driver_stream *stream);
// Returns an error for work on the legacy stream while blocking streams are captured. Locked.
CUresult driver_forbid_implicit(struct driver_stream *stream);

#endif
