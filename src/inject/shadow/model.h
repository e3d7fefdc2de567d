// SPDX-License-Identifier: Apache-2.0
// The structures of shadow memory that its files share.
//
// A *lane* is device memory for launches that follow one another on one stream. A stream has a lane
// while something of it is in flight, so there are as many as streams work at once. Launches come
// back in *batches*: at object level one copy for many launches, at element level one reduction for
// each. A batch lands in pinned memory, and is recorded in the order of its lane.
//
// util/ranks.h states the order of locks. A ticket holds its lane's lock between shadow_begin and
// shadow_launched.
#ifndef GLINT_INJECT_SHADOW_MODEL_H
#define GLINT_INJECT_SHADOW_MODEL_H

#include "device/device.h"
#include "inject/core/driver.h"
#include "inject/core/objects.h"
#include "shadow.h"
#include "users.h"

// --- Memory --------------------------------------------------------------------------------------

struct shadow_block {
    uint64_t address; // 0: none
    uint64_t bytes;
};

struct shadow_slabs { // as BASE_ARRAY makes it
    struct shadow_block *items;
    size_t count, capacity;
};

// Memory from slabs of the driver. Freeing a slab waits for the GPU, so slabs are freed with the
// context, or when the program finds no memory (give_back.c).
struct shadow_heap {
    BASE_ARRAY(struct shadow_block) free; // ascending, no two adjacent
    struct shadow_slabs slabs;
    uint64_t slab_bytes, limit_bytes;
    bool pinned; // host memory, else device memory
};

enum { SHADOW_ALIGN = 256 }; // alignment of blocks, in bytes

// Memory of one small size, which is taken many at a time and reused.
struct shadow_cells {
    BASE_ARRAY(uint64_t) free; // addresses
};

struct shadow_contents;
struct shadow_looked;
struct shadow_repeat;
struct shadow_scan;
struct shadow_trace;
struct shadow_weighing;

struct shadow { // of one context
    struct core_context *context;
    pthread_mutex_t lock; // protects all that is not atomic, and what comments name
    _Atomic bool failed;  // the driver refused: nothing more is watched
    _Atomic bool
        ending;     // its memory is being given back: nothing more is watched, no memory is taken
    bool impatient; // something in flight has not ended; written by give_back.c alone
    _Atomic bool dead; // a kernel failed, and with it the context: results in flight never arrive
    _Atomic uint64_t landed; // batches and chunks of maps that have arrived
    struct shadow_heap device, pinned;
    CUstream own;      // glint's stream, for what is prepared ahead of the program's launches
    CUevent own_event; // recorded behind the last work on it
    bool own_pending;  // own_event is not known to have happened
    BASE_ARRAY(struct shadow_block) staging;       // pinned, in use until own_event
    BASE_ARRAY(CUevent) events;                    // unused
    struct base_map lane_of;                       // number of a stream to struct shadow_lane
    size_t nodes;                                  // of graphs, whose memory is not given back
    struct shadow_lane *_Atomic lanes;             // all; never freed
    struct shadow_table *table;                    // the newest
    struct shadow_ticket *settled, **settled_last; // launches of which nothing comes back
    size_t settled_count;
    struct base_map kernels; // number of a kernel to struct shadow_kernel
    struct base_map shapes;  // shared: hash of a kernel's number and shape to its launches, turns.c
    // Elements:
    BASE_ARRAY(CUmodule) modules;      // of device code
    CUfunction reduce[2], reduce_many; // without and with counts; NULL: not loaded yet
    bool few;                    // blocks of `reduce[0]` and `reduce_many` have DEVICE_FEW_THREADS
    uint32_t processors;         // multiprocessors of the GPU
    struct base_map repeats;     // what identifies a launch to struct shadow_repeat
    struct base_map objects;     // number to struct shadow_object
    struct shadow_object *ended; // objects that have ended, whose memory launches in flight may use
    uint64_t begun;              // launches so far
    struct shadow_ticket *oldest, *newest; // launches at element level that are not recorded yet
    bool wants_maps;
    struct shadow_map *maps; // the first is being read back
    uint64_t coarse;         // objects whose elements are larger than they should be
    // Values:
    CUfunction scans[2], mark; // scans of everything, of arrays of words; NULL: not loaded yet
    CUfunction weigh_choose, weigh_count; // the same
    struct base_map contents;             // number of an object to struct shadow_contents
    uint64_t unseen_work;       // how often work that glint does not see may have written anything
    struct shadow_users unseen; // that work, as far as it may not have ended
    uint64_t looked_at_bytes;   // of objects in `contents` and those that scans still use
    uint64_t contents_bytes;    // what is kept about them
    struct shadow_cells cells[DEVICE_SMALL_PIECES]; // for objects of one piece, of two, ...
    uint64_t unlooked;              // contents that were not looked at, because there was no room,
    uint64_t uncoded;               // or because the code for their types was not loaded
    struct shadow_mallocs *mallocs; // malloc.h; NULL: no kernel that allocates was watched
    bool mallocs_off;               // what kernels allocate is not recorded, or not any more
    struct shadow_trace *traces;    // cache: of launches that have ended; the first is being read
    uint32_t trace_count;           // cache: these, and those of launches in flight
};

// What is noted about a kernel at the end.
struct shadow_kernel {
    const char *name;
    uint64_t unwatched;        // launches
    uint64_t strays, stray_at; // accesses outside of all objects, and the address of one
    uint64_t words_missed;     // launches and nodes whose words of shared memory were not counted
    uint64_t ranges_missed;    // launches and nodes whose live ranges were not traced
    uint64_t overfull;         // launches that made more records of lines than there is room for
    uint64_t untraced;         // launches whose lines were not traced although it was their turn
    uint64_t crowded;   // launches whose requests were not counted; `regular` does not run again
    bool irregular;     // it does not
    uint64_t heap_lost; // launches with more accesses to kernels' memory than there was room for
    struct shadow_shape *shape; // of its last launch whose requests were counted; held
};

// Returns whether launches are still watched in the context.
static inline bool shadow_watches(const struct shadow *shadow)
{
    return !atomic_load(&shadow->failed) && !atomic_load(&shadow->ending);
}

// Brackets calls of the driver that a stream capture of another thread would forbid.
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

// --- Tables --------------------------------------------------------------------------------------

// The objects at one moment, as probes look them up. shadow->lock protects its count of holders.
struct shadow_table {
    uint64_t changes; // value of core_objects.changes when it was made
    uint32_t holders;
    uint32_t count;
    struct shadow_block entries; // at object level
    struct shadow_grain *grains; // at element level, by piece: its object's; NULL: unknown yet
    struct core_objects_piece pieces[];
};

// --- Lanes and batches ---------------------------------------------------------------------------

// How an object is divided into elements.
struct shadow_grain {
    uint32_t shift;    // an element has 1 << shift bytes
    uint32_t piece;    // elements in each of the pieces that are compared
    uint64_t elements; // number of elements of the object
    bool foreign;      // launches of the object's own context mark them elsewhere
};

struct shadow_root {
    uint64_t object;       // 0: none
    uint64_t address;      // the pointer's value, if it points into no object
    uint32_t job;          // at element level: the job with its object's sums
    uint64_t first, bytes; // at object level: of the piece that it points into
    uint64_t offset;       // of the address from there
    bool aimed; // the pointer itself does not point into the object: accesses are expected there
};

// The watched nodes of one launch of a graph, each of which has a ticket. When the last ticket is
// freed, the launch counts as reported if the results of all of them were.
struct shadow_whole {
    _Atomic uint32_t tickets; // that are not freed yet
    _Atomic uint32_t untold;
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
    struct core_stream *stream;
    const struct instrument_kernel *kernel;
    uint32_t kernel_number, facts;
    uint64_t begun; // shadow->begun at its start; 0: it is not in the list below
    struct shadow_ticket *older, *newer; // shadow->oldest ... newest, under shadow->lock
    uint64_t threads;
    uint64_t call;
    uint32_t node;              // index + 1 of the node, in a graph launch
    struct shadow_whole *whole; // all nodes of that launch; NULL: it is none
    bool strangers;             // some root points into no object
    uint32_t doubts;            // known before it is recorded: sum of 1 << enum event_doubt
    struct shadow_node *memory; // of a graph's node, and of each replay of it
    struct shadow_table *table; // held; NULL: none
    struct shadow_malloc_launch *mallocs; // NULL: it uses no memory that kernels allocate
    uint32_t flags_at, frame_at;          // at object level: bytes from the start of what lands
    struct device_result *result;         // at element level
    struct shadow_contents **written;     // values: what it may write; held
    uint32_t written_count;
    struct shadow_scan *found; // values: of contents before it; a batch owns it
    bool is_reduced;           // the scan behind it writes the record
    struct shadow_job *jobs;
    uint32_t job_count;
    struct shadow_repeat *repeat;       // what identifies launches like it; NULL: unknown
    bool repeated;                      // it runs without probes, and its record is known
    unsigned char *known_flags;         // of a repeated launch at object level
    struct shadow_shape *shape;         // requests: see shapes.h; held; NULL: unknown
    bool light;                         // it launches the second clone
    bool regular;                       // requests: which counts by masks
    enum instrument_counted counted[2]; // requests: how, on global and shared memory
    uint64_t blocks;
    uint32_t block[3];
    uint32_t dynamic_bytes; // shared memory of a block
    uint32_t tags;          // where they are in it, as in struct instrument_context; 0: nowhere
    // Shared: what the launch knows of counts; NULL: all accesses are counted. Of replays, their
    // node owns it.
    struct instrument_word_place *word_places;
    uint64_t
        word_bytes;    // shared: of counters of words, and of live ranges; 0: they are not counted
    uint64_t words_at; // shared: where in its record they are copied
    bool turn;         // shared, cache: to be traced, see turns.h
    bool traced;       // shared: live ranges are
    struct shadow_looked *looked; // shared: blocks that are looked at, reuse.c; NULL: none
    uint64_t reuse_bytes;         // shared: of what these count; 0 without them
    uint64_t reuse_at;            // shared: where in its record they are copied
    struct shadow_trace *trace;   // cache: see trace.h; NULL: the launch is not traced
    uint64_t *passed;             // as in struct shadow_launch; owned
    uint32_t passed_count;
    bool muted;                 // nothing of it is recorded
    _Atomic uint32_t *flying;   // the same; NULL: it is not sampled
    struct shadow_alike *alike; // the same
    uint32_t root_count;
    struct shadow_root roots[];
};

// Returns the part of the launch's record that begins so many bytes behind its start.
static inline const void *shadow_part_of(const struct shadow_ticket *ticket, uint32_t at)
{
    return (const char *)ticket->result + at;
}

struct shadow_batch {
    struct shadow_batch *next;
    CUevent event; // recorded behind its copies; NULL: its results carry a sequence word
    struct shadow_block landing;
    struct shadow_ticket *first, **last;
    struct shadow_scan *scans;                 // with the same sequence words as results
    struct shadow_weighing *weighing;          // the same
    BASE_ARRAY(struct shadow_block) leftovers; // device memory that becomes free once it has landed
    BASE_ARRAY(struct shadow_block) staging;   // pinned memory that becomes free then, too
    bool untold;                               // there was no room in the ring for it
};

// --- Elements ------------------------------------------------------------------------------------

// What is known of an object's elements. Under shadow->lock.
struct shadow_object {
    struct shadow_object *next; // next object that has ended
    uint64_t number, start, bytes;
    uint64_t base, words;
    uint32_t first; // index from `base` of the object's first element
    struct shadow_grain grain;
    struct shadow_block known; // device memory: any, multi, full
    uint64_t ended;            // launches that had begun by its end
    bool sparse;               // the last launch touched few of its elements more than once
};

// Memory in which launches that follow one another mark elements of one object.
struct shadow_marks {
    struct shadow_block bits;   // then struct device_sums
    struct shadow_block counts; // then struct device_sums and struct device_counts; none: no counts
};

// All memory for launches that follow one another at element level. Zero between them, but for the
// table. Under shadow->lock.
struct shadow_pad {
    struct shadow_block small;    // laid out by struct shadow_small
    struct shadow_block words;    // counters of words of shared memory
    struct shadow_block reuse;    // what blocks load of global memory
    struct shadow_table *table;   // held
    struct shadow_block entries;  // struct instrument_table, slots, struct device_entry
    struct shadow_block touched;  // then moved
    struct instrument_table says; // the struct at the start of entries
    uint64_t jobs_at;             // address of the struct device_entry
    uint32_t facts;               // enum instrument_facts that the table serves
    uint64_t table_words;         // words of all objects in the table
    struct base_map marks;        // number of an object to struct shadow_marks
};

// Where the parts of a pad's small memory lie: bytes from its start.
struct shadow_small {
    uint64_t strayed, flags, tallies, accessed, masks, bytes;
};
enum { SHADOW_DONE_AT = 0, SHADOW_STRAYS_AT = 64 }; // offsets that do not depend on the kernel

// The memory of a graph's kernel node. shadow->lock protects all fields that change.
struct shadow_node {
    struct shadow_pad pad;
    struct shadow_block head;    // the struct instrument_table whose address is in the graph
    struct shadow_block nowhere; // for a record that is ignored
    struct shadow_block unknown; // for marks of an object that has ended
    uint32_t root_count;
    uint64_t *roots;                   // the pointers' values
    struct core_objects_piece *pieces; // by root, as in the slots; 0 bytes: none
    struct shadow_contents **marked;   // by root: values: whose marks are in the graph; held
    uint64_t *keys;                    // by job: the object number of its marks in the pad
    struct instrument_word_place *word_places; // of its replays, or NULL
    uint32_t flying;                           // replays that are not recorded yet
    bool released;
    bool broken; // its marks cannot be cleared: it is no longer watched
};

struct shadow_lane {
    struct shadow *shadow;
    struct shadow_lane *next;
    uint32_t stream_number; // 0: free. Protected, with `users`, by shadow->lock
    uint32_t users;         // threads that looked it up and have not left it
    pthread_mutex_t lock;   // protects all below
    struct core_stream *stream;
    uint64_t closed_ns; // when the last batch was closed
    struct shadow_block flags;
    uint64_t flags_used, flags_dirty; // dirty: bytes to be cleared before the next batch
    struct shadow_table *table;       // held; NULL: no frames
    struct shadow_block frames;       // a struct instrument_table for each frame, then the frames
    uint64_t frame_bytes;             // size of each frame
    uint32_t frame_count, frames_used;
    uint64_t frames_dirty;
    struct shadow_block scan_work; // values: for the scans of the stream
    struct shadow_block weigh_work;
    struct shadow_pad pad;        // at element level, and with values
    struct shadow_batch *open;    // launches whose read-back is not enqueued yet
    struct shadow_batch *reduced; // for the current launch, at element level
    struct shadow_replay *replay; // for the current launch of a graph
    struct shadow_batch *flying;  // the oldest first
};

#endif
