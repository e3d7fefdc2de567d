// SPDX-License-Identifier: Apache-2.0
// The inner face of shadow memory, between the files shadow*.c: memory of the driver's and what
// lies in it, lanes, batches and tickets. See shadow.h for what it is for.
//
// A *lane* is device memory for launches that follow one another on one stream: a stream has one
// while something of it is in flight, so there are as many as streams work at once. Launches come
// back in *batches*: at object level one copy for many launches, at element level one reduction for
// each. A batch lands in pinned memory, and is told in the order of its lane.
//
// Locks: a lane's lock, or state.lock, then shadow->lock, then that of the objects. Tickets between
// shadow_begin and shadow_launched hold their lane's.
#ifndef GLINT_INJECT_SHADOW_INNER_H
#define GLINT_INJECT_SHADOW_INNER_H

#include "device/device.h"
#include "shadow.h"

// --- Memory (memory.c) --------------------------------------------------------------------

struct shadow_block {
    uint64_t address; // 0: none
    uint64_t bytes;
};

// Memory from slabs of the driver, which go with the context only: to free one would wait.
struct shadow_heap {
    BASE_ARRAY(struct shadow_block) free; // ascending, no two adjacent
    uint64_t slab_bytes, limit_bytes;
    bool pinned; // of the host, else of the device
};

enum { SHADOW_ALIGN = 256 }; // of blocks, in bytes

struct shadow {
    struct context *context;
    pthread_mutex_t lock;    // protects all below, and where they say so what it leads to
    _Atomic bool failed;     // the driver refused: nothing more is watched
    _Atomic bool dead;       // a kernel failed, and with it the context: nothing in flight arrives
    _Atomic uint64_t landed; // batches and chunks of maps that have
    struct shadow_heap device, pinned;
    CUstream own;      // glint's, for what is ready before the program's launches are
    CUevent own_event; // behind the last of it
    bool own_pending;  // and not known to have happened
    BASE_ARRAY(struct shadow_block) staging;       // pinned, until own_event
    BASE_ARRAY(CUevent) events;                    // spare
    struct base_map lane_of;                       // number of a stream to struct shadow_lane
    struct shadow_lane *_Atomic lanes;             // all; they stay
    struct shadow_table *table;                    // the newest
    struct shadow_ticket *settled, **settled_last; // launches of which nothing needs to come back
    size_t settled_count;
    struct base_map kernels; // number of a kernel to struct shadow_kernel
    // Elements:
    CUfunction reduce[2], reduce_many;     // without and with counts; NULL: not loaded yet
    uint32_t processors;                   // of the GPU
    struct base_map objects;               // number to struct shadow_object
    struct shadow_object *ended;           // whose memory launches in flight may use
    uint64_t begun;                        // launches
    struct shadow_ticket *oldest, *newest; // of those that were not told, at element level
    bool wants_maps;
    struct shadow_map *maps;        // the first is coming
    uint64_t coarse;                // objects whose elements are larger than they should be
    struct shadow_mallocs *mallocs; // malloc.h; NULL: no kernel that allocates was watched
    bool mallocs_off;               // what kernels allocate is not told, or not any more
};

// What is to be said of a kernel at the end.
struct shadow_kernel {
    const char *name;
    uint64_t unwatched;        // launches
    uint64_t strays, stray_at; // accesses to what is no object, and where one was
    uint64_t heap_lost;        // launches with more accesses to memory of kernels' own than fitted
};

// The context's, made where there is none; NULL: it cannot be.
struct shadow *shadow_of(struct context *context);
// Once: what the driver refused.
void shadow_fail(struct shadow *shadow, const char *what, CUresult result);
struct shadow_kernel *shadow_kernel(struct shadow *shadow, uint32_t number,
                                    const struct instrument_kernel *kernel); // NULL: no memory

// With shadow->lock held, and the context current where memory is taken. What is taken is not
// cleared. False: no room.
bool shadow_take(struct shadow *shadow, struct shadow_heap *heap, uint64_t bytes,
                 struct shadow_block *block);
void shadow_give(struct shadow_heap *heap, struct shadow_block *block);
void *shadow_host(struct shadow_block block); // of pinned memory

// On the context's own stream, with shadow->lock held and the context current: device memory is
// cleared; pinned memory is copied there, and given back when that is done; and the stream waits
// for all of that, where it has not happened yet.
bool shadow_own_clear(struct shadow *shadow, struct shadow_block block);
bool shadow_own_copy(struct shadow *shadow, uint64_t to, struct shadow_block *staging,
                     uint64_t bytes);
bool shadow_own_wait(struct shadow *shadow, struct stream *stream);
// Copies from the device, and records the event behind it. Likewise.
bool shadow_own_fetch(struct shadow *shadow, void *to, uint64_t from, uint64_t bytes,
                      CUevent event);

CUevent shadow_event_take(struct shadow *shadow);
void shadow_event_give(struct shadow *shadow, CUevent event);

// The driver refuses some questions while a stream is captured, unless the thread says it does not
// mind.
static inline CUstreamCaptureMode shadow_relax(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    return mode;
}
static inline void shadow_restore(CUstreamCaptureMode mode)
{
    REAL(cuThreadExchangeStreamCaptureMode)(&mode);
}

// --- Tables (table.c) ---------------------------------------------------------------------

// The objects at one moment, as probes look them up. Held by counting, under shadow->lock.
struct shadow_table {
    uint64_t changes; // of the map of objects
    uint32_t holders;
    uint32_t count;
    struct shadow_block entries; // at object level
    struct shadow_grain *grains; // by piece, at element level: of its object; NULL: not known yet
    struct objects_piece pieces[];
};

// The table of now, held; NULL: no room. With shadow->lock held.
struct shadow_table *shadow_table_hold(struct shadow *shadow);
void shadow_table_drop(struct shadow *shadow, struct shadow_table *table);
// Where the piece's elements lie between its base and its end.
struct instrument_slot shadow_slot(const struct objects_piece *piece, uint32_t shift);

// --- Lanes and batches (lane.c) -----------------------------------------------------------

// What is told of an object's elements.
struct shadow_grain {
    uint32_t shift;
    uint32_t piece;    // elements in each of the pieces that are compared
    uint64_t elements; // of the object
};

struct shadow_root {
    uint64_t object;       // 0: none
    uint64_t address;      // of none: to which it points
    uint32_t job;          // at element level: whose sums are its object's
    uint64_t first, bytes; // at object level: of the piece that it points into
};

struct shadow_job { // of an object that some root points into
    uint64_t object;
    struct shadow_grain grain;
    struct device_job job;
};

struct shadow_ticket {
    struct shadow_ticket *next;
    struct shadow *shadow;
    struct shadow_lane *lane; // NULL: nothing comes back
    struct stream *stream;
    const struct instrument_kernel *kernel;
    uint32_t kernel_number, facts;
    uint64_t begun; // how many were when it was; 0: it is not of those, which are in this list
    struct shadow_ticket *older, *newer; // of those, under shadow->lock
    uint64_t threads;
    uint64_t call;
    uint32_t node;              // of a graph launch
    bool strangers;             // some root points into no object
    uint32_t doubts;            // that there are before it is told: sum of 1 << enum event_doubt
    struct shadow_node *memory; // of a node of a graph, and of each of its replays
    struct shadow_table *table; // held; NULL: none
    struct shadow_malloc_launch *mallocs; // NULL: it has to do with no memory of kernels' own
    // Bytes from the start of what lands.
    uint32_t flags_at, frame_at;  // at object level
    struct device_result *result; // at element level
    struct shadow_job *jobs;
    uint32_t job_count;
    uint32_t root_count;
    struct shadow_root roots[];
};

struct shadow_batch {
    struct shadow_batch *next;
    CUevent event; // behind its copies; NULL: its results say themselves that they are there
    struct shadow_block landing;
    struct shadow_ticket *first, **last;
    BASE_ARRAY(struct shadow_block) leftovers; // device memory that is free once it has landed
    BASE_ARRAY(struct shadow_block) staging;   // likewise, pinned
    bool untold;                               // there was no room for what it says
};

// --- Elements (element.c) -----------------------------------------------------------------

// What is known of an object's elements. Under shadow->lock.
struct shadow_object {
    struct shadow_object *next; // of those that have ended
    uint64_t number, start, bytes;
    uint64_t base, words;
    uint32_t first; // element from base on that is the object's first
    struct shadow_grain grain;
    struct shadow_block known; // any, multi, full
    uint64_t ended;            // launches that were begun by then
    bool sparse; // the last launch that was told came to few of its elements more than once
};

// Memory in which launches that follow one another mark elements of one object.
struct shadow_marks {
    struct shadow_block bits;   // then struct device_sums
    struct shadow_block counts; // then struct device_sums and struct device_counts; none: no counts
};

// All memory for launches that follow one another at element level. Zero between them, but for the
// table. Under shadow->lock.
struct shadow_pad {
    struct shadow_block small;    // see element.c
    struct shadow_table *table;   // held
    struct shadow_block entries;  // struct instrument_table, slots, struct device_entry
    struct shadow_block touched;  // then moved
    struct instrument_table says; // as entries begin
    uint64_t jobs_at;             // address of the struct device_entry
    bool counts;                  // the entries have counters
    uint64_t table_words;         // of all objects in it
    struct base_map marks;        // number of an object to struct shadow_marks
};

// Where what is small lies in memory of a pad: bytes from its start.
struct shadow_small {
    uint64_t strayed, flags, tallies, bytes;
};
struct shadow_small shadow_small_of(const struct instrument_kernel *kernel);
enum { SHADOW_DONE_AT = 0, SHADOW_STRAYS_AT = 64 }; // in it, always

// With shadow->lock held. NULL, false: no room.
struct shadow_object *shadow_object_at(struct shadow *shadow, struct shadow_pad *pad,
                                       const struct object *object, uint32_t element_bytes,
                                       bool counts);
struct shadow_marks *shadow_marks_at(struct shadow *shadow, struct shadow_pad *pad,
                                     const struct shadow_object *object, bool counts);
// The slot of the piece, which is one of the object's.
// A launch moved so many bytes of the object and touched so many elements.
void shadow_element_seen(struct shadow *shadow, uint64_t number, uint64_t bytes, uint64_t elements);
struct instrument_slot shadow_slot_of(const struct objects_piece *piece,
                                      const struct shadow_object *object,
                                      const struct shadow_marks *marks, bool counts);
// What is known of the object becomes what the job joins into.
void shadow_job_know(struct device_job *job, const struct shadow_object *object);
struct device_job shadow_job_of(const struct shadow_object *object,
                                const struct shadow_marks *marks, bool counts);
// Gives the pad a table for launches that tell these facts (enum instrument_facts). What it had
// before is left to the caller in old[2].
bool shadow_pad_table(struct shadow *shadow, struct shadow_pad *pad, struct shadow_table *table,
                      uint32_t facts, struct shadow_block old[2]);
void shadow_pad_fini(struct shadow *shadow, struct shadow_pad *pad);
// A launch is in flight from now on, until its ticket is free.
void shadow_element_begun(struct shadow *shadow, struct shadow_ticket *ticket);
void shadow_element_told(struct shadow *shadow, struct shadow_ticket *ticket);
// The object has ended; and frees what such had, where no launch begun before is in flight.
void shadow_element_ended(struct shadow *shadow, uint64_t object);
void shadow_element_trim(struct shadow *shadow);
void shadow_element_free(struct shadow *shadow, struct shadow_object *object);
void shadow_element_forget(struct shadow *shadow); // the context is gone

// --- Maps (map.c) -------------------------------------------------------------------------

// The object's maps are to be told; and it is free then, where it has ended. With shadow->lock
// held, as below.
bool shadow_map_add(struct shadow *shadow, struct shadow_object *object, bool ended);
// Tells what has come and asks for more. True: all is told, or never will be.
bool shadow_map_step(struct shadow *shadow);
void shadow_map_forget(struct shadow *shadow);

// --- Reductions (reduce.c) ----------------------------------------------------------------

// The code, loaded; with shadow->lock held.
bool shadow_reduce_load(struct shadow *shadow, bool counts);
// The objects of the ticket's roots, with marks in the pad: jobs and slots. Likewise.
bool shadow_reduce_roots(struct shadow_pad *pad, struct shadow_ticket *ticket,
                         const uint64_t *roots, struct instrument_slot *slots);
// A launch at element level: fills the context, with its slots, and prepares its reduction. Its
// lane is locked. And enqueues that; the ticket is the lane's then.
bool shadow_reduce_enter(struct shadow_lane *lane, struct shadow_ticket *ticket,
                         const uint64_t *roots, struct instrument_context *context,
                         struct instrument_slot *slots);
void shadow_reduce_launched(struct shadow_lane *lane, struct shadow_ticket *ticket);
// The reduction of a launch: its numbers, and the layout of its record, whose bytes it returns; and
// where what it reads and writes lies. Its jobs are not filled in.
uint64_t shadow_reduce_describe(const struct shadow_ticket *ticket, struct device_reduction *about);
void shadow_reduce_place(const struct shadow_pad *pad, const struct shadow_ticket *ticket,
                         struct device_reduction *about);
// For that many words in all objects.
CUresult shadow_reduce_enqueue(const struct shadow *shadow, struct device_reduction *about,
                               uint64_t words, bool counts, CUstream stream);
bool shadow_reduce_landed(const struct shadow_batch *batch);

struct shadow_lane {
    struct shadow *shadow;
    struct shadow_lane *next;
    uint32_t stream_number; // 0: free. With users under shadow->lock
    uint32_t users;         // threads that found it and are not done
    pthread_mutex_t lock;   // protects all below
    struct stream *stream;
    uint64_t closed_ns; // when the last batch was
    struct shadow_block flags;
    uint64_t flags_used;
    struct shadow_table *table; // held; NULL: no frames
    struct shadow_block frames; // a struct instrument_table for each frame, then the frames
    uint64_t frame_bytes;       // of each
    uint32_t frame_count, frames_used;
    struct shadow_pad pad;        // at element level
    struct shadow_batch *open;    // launches that were not asked for yet
    struct shadow_batch *reduced; // of the launch that is being made at element level
    struct shadow_replay *replay; // of the graph that is being launched
    struct shadow_batch *flying;  // the oldest first
};

// The stream's lane, locked; NULL: none can be had. And done with it.
struct shadow_lane *shadow_lane_take(struct shadow *shadow, struct stream *stream);
struct shadow_lane *shadow_lane_held(struct shadow *shadow, struct stream *stream); // by the caller
void shadow_lane_leave(struct shadow_lane *lane);
// Room for one more launch of the ticket's kernel at object level: fills the context.
bool shadow_lane_enter(struct shadow_lane *lane, struct shadow_ticket *ticket,
                       struct instrument_context *context);
// Asks for all that was launched since it last was, on its stream or one that orders with it.
void shadow_lane_close(struct shadow_lane *lane, CUstream stream);
// The batch's read-back was enqueued on the lane's stream.
void shadow_lane_fly(struct shadow_lane *lane, struct shadow_batch *batch);
// Tells what has landed. True: nothing is in flight.
bool shadow_lane_tell(struct shadow_lane *lane);
void shadow_lane_forget(struct shadow_lane *lane); // the context is gone, and all memory with it

// A batch without tickets, with so much to land in, and an event; NULL: no room. With shadow->lock
// held.
struct shadow_batch *shadow_batch_make(struct shadow *shadow, uint64_t bytes, bool event);
// Device memory that launches in flight in the lane may use, or in the batch. Likewise.
void shadow_lane_give(struct shadow_lane *lane, struct shadow_block *block);
void shadow_batch_give(struct shadow_batch *batch, struct shadow_block *block);
void shadow_batch_free(struct shadow *shadow, struct shadow_batch *batch); // without
void shadow_batch_add(struct shadow_batch *batch, struct shadow_ticket *ticket);

// --- Nodes of graphs (graph.c) ------------------------------------------------------------

// A replay of the node was told, or never will be. With shadow->lock held.
void shadow_node_told(struct shadow *shadow, struct shadow_node *node);

// --- Memory that kernels allocate (malloc.c, malloc_tell.c) ------------------------

// A launch is begun that may allocate, free, or touch what was allocated, in the order of launches.
// With shadow->lock held, as all but one of these.
void shadow_malloc_enter(struct shadow *shadow, struct shadow_ticket *ticket);
// Makes its table, which by then is there in the order of the stream, say where the launch tells of
// that; ticket NULL: it does not.
bool shadow_malloc_point(struct shadow *shadow, const struct shadow_ticket *ticket, uint64_t table,
                         struct stream *stream);
// It was launched on the stream as the ticket's call, or never will be.
void shadow_malloc_launched(struct shadow_ticket *ticket, CUstream stream, bool launched);
// A pointer that the kernel was given, into no object, was read or written (EVENT_ACCESS_*) by the
// launch. False: it points to no block either. True: that is found out later, and told. Takes the
// lock.
bool shadow_malloc_use(const struct shadow_ticket *ticket, uint64_t address, uint32_t flags);
// Nothing more will be said of it but what the kernel has.
void shadow_malloc_told(struct shadow_ticket *ticket);
// The kernel runs, but not as a launch that tells.
void shadow_malloc_skipped(const struct shadow_ticket *ticket);
// Tells what has come and asks for more. True: all is told, or never will be. The context is
// current.
bool shadow_malloc_step(struct shadow *shadow);
// No more launches come: what is left of blocks is told by the next steps. False: nothing is.
bool shadow_malloc_end(struct shadow *shadow);
// The context is gone, in the call, and all blocks with it.
void shadow_malloc_forget(struct shadow *shadow, uint64_t call);

// --- Launches (shadow.c) -------------------------------------------------------------------------

// Of the launch, with the objects of its roots; NULL: no memory.
struct shadow_ticket *shadow_ticket_make(struct shadow *shadow, const struct shadow_launch *launch);
void shadow_ticket_free(struct shadow_ticket *ticket);
// The launch context as the clone takes it.
void shadow_context_fill(const struct shadow_launch *launch, const struct shadow_ticket *ticket,
                         struct instrument_context *about, const struct instrument_slot *slots,
                         void *context);
// Nothing comes back of it, and it is told with the next ones.
void shadow_settle(struct shadow *shadow, struct shadow_ticket *ticket);
void shadow_count_unwatched(struct shadow *shadow, uint32_t kernel_number,
                            const struct instrument_kernel *kernel);

// --- Telling (tell.c) ---------------------------------------------------------------------

// What a launch did, from what landed (NULL: its kernel has no flags; no table); and at element
// level, from its record.
void shadow_tell(const struct shadow_ticket *ticket, const unsigned char *flags,
                 const unsigned char *frame);
void shadow_tell_record(const struct shadow_ticket *ticket);
// All is told that is known of a launch, or a node; doubts: sum of 1 << enum event_doubt.
void shadow_put_told(uint64_t call, uint32_t node, uint32_t doubts);
// What is to be said at the end.
void shadow_tell_notes(struct shadow *shadow);

#endif
