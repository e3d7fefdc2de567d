// SPDX-License-Identifier: Apache-2.0
// The work that the kernels of a launch request by the device runtime: grids, copies and fills. All
// of it belongs to the launch that the host made, its root, and runs before that ends. Each piece
// is a task. The tasks of a root form a tree: a task is complete when its own work, the tasks that
// it requested, and then, one after another, its tail launches are.
//
// The lock of the device guards everything here but atomics; all functions take it.
#ifndef GLINT_GPUSIM_MACHINE_CHILDREN_H
#define GLINT_GPUSIM_MACHINE_CHILDREN_H

#include "machine.h"

// CUDA allows that many levels of grids below the host's launch.
enum { MOST_DEPTH = 24 };

// Rows of bytes in slices.
struct sim_box {
    uint64_t address, pitch, slice;
};

enum sim_task_kind { TASK_GRID, TASK_COPY, TASK_FILL };

struct sim_task {
    enum sim_task_kind kind;
    struct sim_task *parent; // NULL: the host's launch
    uint32_t depth;
    uint32_t references; // until it is complete; of streams and events
    uint64_t open;       // its own work, until that ends, and the tasks that it waits for
    uint32_t blocked;    // tasks that must be complete before it starts
    bool begun, complete, takes_slot;
    struct sim_task *tail, *last_tail;     // its tail launches that have not started, in order
    struct sim_task *next;                 // of its parent's tails, or in the list of ready tasks
    struct sim_task *live_next, **live_at; // in the list of all tasks of the root
    BASE_ARRAY(struct sim_task *) after;   // tasks that it blocks
    struct sim_stream *streams;            // that its blocks have created
    struct sim_event *events;
    // A grid.
    struct sim_run run;
    struct sim_launch request;
    unsigned char *params;
    // A copy or fill.
    struct sim_box to, from;
    uint64_t width, height, depth_of_box;
    uint8_t value;
};

// A stream orders tasks. Streams with a handle belong to the grid that created them; each block
// has a default stream, and each thread another one for code that was compiled so.
struct sim_stream {
    struct sim_stream *next;
    uint64_t thread;                        // 0: the block's default stream; else 1 + its thread
    struct sim_task *last;                  // the task that was requested last, or NULL
    BASE_ARRAY(struct sim_task *) for_next; // what the next task also waits for
};

// What was requested in a stream before the event was recorded.
struct sim_event {
    struct sim_event *next;
    BASE_ARRAY(struct sim_task *) tasks;
};

// A launch, from the request for the buffer of its parameters on.
struct sim_params {
    const struct sim_kernel *kernel; // NULL: named by the launch
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t bytes, room_class;
    unsigned char *values; // what the buffer held when it was launched
};

// Memory for buffers of one size. `kept` has what is remembered of each, or NULL.
struct sim_chunk {
    char *memory;
    uint64_t bytes, buffer_bytes;
    struct sim_params **kept;
};

enum { PARAM_CLASSES = 16 };

// The tasks of a root.
struct sim_family {
    struct sim_run *root;
    struct sim_task top; // of the host's launch
    struct sim_task *ready, **ready_end;
    struct sim_task *live;          // all but `top`
    atomic_uint_fast64_t startable; // tasks in `ready`
    uint64_t blocks;                // of all grids so far, for numbers in the log
    uint64_t grids;
    uint64_t slots;    // launches that were requested and have not begun
    uint64_t running;  // copies, fills and blocks that have begun and not ended, but no root's
    uint64_t waiting;  // blocks that wait for a slot, of the root, too
    uint64_t attempts; // of blocks that wait, since a slot was freed
    bool done;         // the top is complete
    uint64_t unused[PARAM_CLASSES]; // free buffers, linked by their first words
    BASE_ARRAY(struct sim_chunk) chunks;
};

// Prepares and frees the tasks of a root. sim_family_fini() is called when no thread runs blocks.
void sim_family_init(struct sim_family *family, struct sim_run *root);
void sim_family_fini(struct sim_family *family);

// Takes a cluster of a grid that may start, the first in order; runs copies and fills that come
// before it. Returns false if there is none. Called by a worker of the root.
bool sim_family_take(struct sim_family *family, struct sim_run **run, uint64_t *number);
// A block of the run has ended; `waited`: while it wanted a slot.
void sim_family_end(struct sim_run *run, bool waited);

// --- For the device runtime, about the task and block of a warp ----------------------------------

// Takes slots for `count` launches. SLOT_WAIT: none is free now, but may be soon.
enum sim_slot { SLOT_TAKEN, SLOT_WAIT, SLOT_NONE };
enum sim_slot sim_family_reserve(struct sim_block *block, uint32_t count);
void sim_family_give_back(struct sim_block *block, uint32_t count);

// Returns memory for a grid's parameters, in which *params is remembered; 0 if there is none.
uint64_t sim_family_buffer(struct sim_family *family, const struct sim_params *params);
// Takes the launch that belongs to a buffer, whose memory is then free; the caller frees its
// values. Returns false if there is no such buffer.
bool sim_family_buffer_take(struct sim_family *family, uint64_t address, struct sim_params *params);

// Where a task runs, in its parent.
enum sim_place { PLACE_NOWHERE, PLACE_STREAM, PLACE_TAIL, PLACE_AT_ONCE };

// Creates a task, which the caller describes and then submits. NULL: out of memory.
struct sim_task *sim_family_task(struct sim_block *block, enum sim_task_kind kind);
// Returns false when memory runs out: the launch has failed.
bool sim_family_submit(struct sim_family *family, struct sim_task *task, enum sim_place place,
                       struct sim_stream *stream);

// Drops a reference to the task. The device's lock is held.
void sim_task_release(struct sim_task *task);

#endif
