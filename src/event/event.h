// SPDX-License-Identifier: Apache-2.0
// What passes from a watched program to the recorder: records, and the ring in shared memory that
// carries them. The program's side never waits and never allocates: where the ring is full, the
// record is dropped and counted by its kind. The recorder's side survives the program's death at
// any moment: what was written whole is read.
//
// Records are C structures of one build of glint, followed by bytes that belong to them (a name, a
// list). Both sides check EVENT_VERSION before anything else. Numbers (of calls, objects, streams,
// ...) start at 1 and are the process's own; 0 means none. Times are CLOCK_MONOTONIC nanoseconds.
// A record that defines a number comes before the first one that uses it, in the order of the ring.
#ifndef GLINT_EVENT_EVENT_H
#define GLINT_EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define EVENT_VERSION 4u

enum event_kind {
    EVENT_NONE = 0,
    // Definitions.
    EVENT_PROCESS, // struct event_process, "executable\0folder\0argument\0...\0": the first record
    EVENT_IMAGE,   // struct event_image, path: an executable or library, mapped. Holds for the call
                   // paths that follow, until another takes its place
    EVENT_FUNCTION, // struct event_name, name: an API function, "cuMemAlloc_v2"
    EVENT_THREAD,   // struct event_thread, name
    EVENT_DEVICE,   // struct event_device, name
    EVENT_CONTEXT,  // struct event_context
    EVENT_STREAM,   // struct event_stream
    EVENT_MODULE,   // struct event_module, name or path
    EVENT_KERNEL,   // struct event_kernel, mangled name
    EVENT_STACK,    // struct event_stack, u64 return addresses, innermost first. Two threads may
                    // both tell the same one, and the same image
    EVENT_GRAPH,    // struct event_graph, struct event_node: what a launch of it does. Where nodes
                    // do not fit one record, more of the same number follow at once
    EVENT_EDGES,    // struct event_edges, struct event_edge: which nodes of a graph follow which.
                    // More of the same number may follow
    EVENT_PROBE,    // struct event_probe, why not: what the probes of a kernel tell
    EVENT_SITE,     // struct event_site, "function\0opcode\0type\0file\0inlined function\0
                    // file where it was inlined\0": a memory instruction of a kernel
    // What happens.
    EVENT_CALL,        // struct event_call, then by its kind one of the structures below it
    EVENT_OBJECT,      // struct event_object: begins. Comes before the call that made it, or is
                       // part of it: event_begins
    EVENT_OBJECT_END,  // struct event_object_end; or event_ends
    EVENT_OBJECT_NAME, // struct event_name, name: what the program calls it
    EVENT_TIME,        // struct event_time: when the GPU did it
    EVENT_ACCESS,      // struct event_access: what a launch did to an object, as probes tell
    EVENT_TOLD,        // struct event_told: all that is known of what a launch did has been told
    EVENT_COUNTS,      // struct event_counts: how often it touched the object's elements
    EVENT_MAP,         // struct event_map, bytes: which elements of an object were touched
    EVENT_USE,         // struct event_use: the program's first use of what the GPU gave it
    EVENT_HASH,        // struct event_hash: what a copy between host and device has moved
    EVENT_BLOCK,       // struct event_block: memory of the host, before the first copy that is
                       // made from or to it
    EVENT_BLOCK_END,   // struct event_block_end
    EVENT_CORRECTION,  // struct event_correction: how often a row of the plan was applied
    EVENT_NOTE,        // struct event_note, text for the report
    EVENT_FINISH,      // struct event_finish: the process leaves by exit or return
    EVENT_KINDS
};

struct event_process {
    uint32_t version; // EVENT_VERSION
    int32_t pid, parent;
    uint32_t driver_version; // 13000; 0: not known yet
    uint64_t start_ns;       // when watching began
    uint64_t start_unix_ns;  // the same moment by CLOCK_REALTIME
    uint32_t simulated;      // the driver is glint's own
    uint32_t timestamps;     // GPU times are taken
};

struct event_image {
    uint64_t start, end; // addresses of what is executable
    uint64_t bias;       // address minus the file's virtual address
    uint32_t build_id_bytes;
    unsigned char build_id[32];
};

struct event_name { // of what the kind of record says
    uint64_t number;
};

struct event_thread {
    uint32_t number;
    int32_t tid;
};

struct event_device {
    uint32_t number; // 1 + ordinal
    uint32_t major, minor;
    uint32_t multiprocessors;
    uint64_t memory_bytes;
    unsigned char uuid[16];
};

struct event_context {
    uint32_t number, device;
};

enum { EVENT_STREAM_NON_BLOCKING = 1, EVENT_STREAM_LEGACY = 2, EVENT_STREAM_PER_THREAD = 4 };

struct event_stream {
    uint32_t number, context;
    uint32_t flags;
    int32_t priority;
    uint32_t thread; // of a thread's own default stream
};

struct event_module {
    uint32_t number, context;
    uint64_t bytes;   // of its image, where known
    uint64_t hash;    // XXH3-64 of it
    uint32_t has_ptx; // kernels can be rewritten
};

struct event_kernel {
    uint32_t number, module;
    uint32_t registers, static_shared_bytes, local_bytes;
};

struct event_stack {
    uint32_t number, depth;
    uint32_t truncated; // there were more frames
};

enum { EVENT_PROBE_OBJECTS = 1, EVENT_PROBE_ELEMENTS = 2, EVENT_PROBE_COUNTS = 4 };

struct event_probe {
    uint32_t kernel;
    uint32_t
        facts; // sum of EVENT_PROBE_*; 0: it has no probes. More may follow: the last one holds
};

struct event_site {
    uint32_t kernel;
    uint32_t number; // in its kernel, from 1
    uint32_t index;  // of the instruction in its function
    uint32_t ptx_line;
    uint32_t bytes;              // each thread moves; 0: not fixed by the instruction
    uint32_t line, column;       // in the source; 0: not known
    uint32_t at_line, at_column; // where its function was inlined
    uint8_t access;              // 0 load, 1 store, 2 atomic
    uint8_t generic;
    uint8_t type_count;
    uint8_t padding;
};

enum event_node_kind {
    EVENT_NODE_KERNEL = 1,
    EVENT_NODE_COPY,
    EVENT_NODE_SET,
    EVENT_NODE_ALLOC,
    EVENT_NODE_FREE,
    EVENT_NODE_EVENT_RECORD,
    EVENT_NODE_EVENT_WAIT,
    EVENT_NODE_HOST,
    EVENT_NODE_GRAPH, // a child graph's nodes follow in its place
    EVENT_NODE_EMPTY,
    EVENT_NODE_OTHER,
};

struct event_launch {
    uint32_t kernel;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_bytes;
    uint32_t flags; // EVENT_LAUNCH_*
};
// Watched: with probes, so that objects of which nothing is told were not touched, once the launch
// has its EVENT_TOLD, and if that names no doubt.
enum { EVENT_LAUNCH_COOPERATIVE = 1, EVENT_LAUNCH_WATCHED = 2 };

enum event_memory { // where an end of a copy is
    EVENT_MEMORY_PAGEABLE = 1,
    EVENT_MEMORY_PINNED,
    EVENT_MEMORY_DEVICE,
    EVENT_MEMORY_MANAGED,
    EVENT_MEMORY_ARRAY,
    EVENT_MEMORY_UNKNOWN,
};

// What the host's end of a copy is. Pageable memory is told apart only where first uses are watched
// for.
enum event_host {
    EVENT_HOST_PAGEABLE = 1, // of which no more is known
    EVENT_HOST_ALLOCATED,    // by malloc and the like
    EVENT_HOST_MAPPED,       // by mmap
    EVENT_HOST_FILE,         // by mmap, of a file
    EVENT_HOST_STACK,        // of the thread
    EVENT_HOST_STATIC,       // variables of the executable or a library
    EVENT_HOST_PINNED,
    EVENT_HOST_REGISTERED,
    EVENT_HOST_MANAGED,
    EVENT_HOST_KINDS
};

struct event_copy {
    uint64_t bytes;                  // in all
    uint64_t from, to;               // addresses
    uint64_t from_object, to_object; // 0: none that glint knows
    uint64_t from_pitch, to_pitch;   // bytes from row to row; 0: one row
    uint64_t from_slice, to_slice;   // bytes from slice to slice; 0: one slice
    uint64_t width_bytes, height, depth;
    uint64_t block;                 // that the host's end lies in; 0: none is known
    uint8_t from_memory, to_memory; // enum event_memory
    uint8_t direction;              // enum event_direction
    uint8_t host;                   // enum event_host; 0: no end is the host's, or nobody looked
    uint8_t padding[4];
};
enum event_direction {
    EVENT_HOST_TO_DEVICE = 1,
    EVENT_DEVICE_TO_HOST,
    EVENT_DEVICE_TO_DEVICE,
    EVENT_HOST_TO_HOST,
    EVENT_PEER_TO_PEER,
};

struct event_set {
    uint64_t address, object;
    uint64_t bytes, pitch, width_bytes, height;
    uint32_t value, value_bytes; // 1, 2 or 4
};

struct event_node {
    uint8_t kind; // enum event_node_kind
    uint8_t padding[7];
    union {
        struct event_launch launch;
        struct event_copy copy;
        struct event_set set;
        struct {
            uint64_t object, bytes;
        } memory;
        struct {
            uint64_t event;
        } event;
    };
};

struct event_graph {
    uint64_t number; // of an executable graph; a new number where it was updated
    uint32_t node_count;
};

struct event_edges {
    uint64_t number; // of the graph
    uint32_t edge_count;
};

// Where a child graph is, its first nodes follow its own node, and what comes after that follows
// its last ones.
struct event_edge {
    uint32_t from, to; // 1 + index: the one is over when the other begins
};

enum event_call_kind {
    EVENT_CALL_OTHER = 0,
    EVENT_CALL_ALLOC,        // struct event_alloc
    EVENT_CALL_FREE,         // struct event_alloc
    EVENT_CALL_COPY,         // struct event_copy
    EVENT_CALL_SET,          // struct event_set
    EVENT_CALL_LAUNCH,       // struct event_launch
    EVENT_CALL_GRAPH_LAUNCH, // struct event_graph
    EVENT_CALL_SYNC,         // struct event_sync: an explicit one
    EVENT_CALL_EVENT_RECORD, // struct event_sync
    EVENT_CALL_EVENT_WAIT,   // struct event_sync: a stream waits for an event
    EVENT_CALL_HOST,         // a host function on a stream
    EVENT_CALL_STREAM,       // made, destroyed
    EVENT_CALL_CONTEXT,
    EVENT_CALL_MODULE, // loaded, unloaded
    EVENT_CALL_MEMORY, // prefetch, advice, mapping, registration: struct event_alloc
    EVENT_CALL_KINDS
};

enum {
    EVENT_CALL_ASYNC = 1,  // the function is one that need not wait
    EVENT_CALL_WAITED = 2, // GPU work was pending at its start on what it orders with, and none at
                           // its end: an implicit or explicit synchronisation
    EVENT_CALL_CAPTURED = 4, // it went into a graph under capture and did nothing
};

struct event_call {
    uint64_t number;
    uint64_t start_ns, end_ns;
    uint32_t function, thread, context, stream, stack;
    int32_t result;     // CUresult
    uint64_t waited_ns; // of it spent waiting for the GPU, where known
    uint8_t kind;       // enum event_call_kind
    uint8_t flags;      // EVENT_CALL_*
    uint8_t padding[6];
};

// An object of no more than an address and a size begins and ends with calls alone, without records
// of its own.
struct event_alloc {
    uint64_t address, bytes, object;
    uint8_t
        begins; // the object, of this kind (enum event_object_kind), with the call; 0: it does not
    uint8_t ends; // 1: it ends with the call
    uint8_t padding[2];
    uint32_t device; // of what begins
};

struct event_sync {
    uint64_t event;  // number of an event; 0: all of the stream or context
    uint32_t stream; // that is waited for, or that waits
    uint32_t record; // of a wait: which record of the event it waits for, counted from 1
};

enum event_object_kind {
    EVENT_OBJECT_DEVICE = 1, // cudaMalloc
    EVENT_OBJECT_PITCHED,
    EVENT_OBJECT_ARRAY,
    EVENT_OBJECT_MANAGED,
    EVENT_OBJECT_POOL,       // cudaMallocAsync
    EVENT_OBJECT_MAPPING,    // of the virtual memory API
    EVENT_OBJECT_GLOBAL,     // a variable of a module
    EVENT_OBJECT_PINNED,     // cudaHostAlloc
    EVENT_OBJECT_REGISTERED, // cudaHostRegister
    EVENT_OBJECT_IMPORTED,   // from another process or interface
    EVENT_OBJECT_GRAPH,      // a memory node's
    EVENT_OBJECT_PART,       // a sub-allocation that the program announced
    EVENT_OBJECT_HEAP,       // malloc in a kernel
    EVENT_OBJECT_KINDS
};

struct event_object {
    uint64_t number;
    uint64_t address, bytes;
    uint64_t call;   // that made it; 0: none (a module's variable at first use)
    uint64_t parent; // of a part: the object it lies in
    uint64_t pitch, width_bytes, height, depth; // of pitched memory and arrays
    uint32_t context, device;
    uint32_t stream; // of pool memory: where its life begins, in stream order
    uint8_t kind;    // enum event_object_kind
    uint8_t padding[3];
};

struct event_object_end {
    uint64_t number;
    uint64_t call;   // that ended it; 0: the process did
    uint32_t stream; // of pool memory: where its life ends, in stream order
    uint32_t padding;
};

struct event_time {
    uint64_t call;
    uint32_t node;             // of a graph launch: 1 + index; 0: all of it
    uint32_t flags;            // EVENT_TIME_*
    uint64_t start_ns, end_ns; // CLOCK_MONOTONIC, as well as the GPU's clock can be fitted to it
};

enum { EVENT_TIME_ESTIMATED = 1 }; // the start is, from when the launch was handed over

enum { EVENT_ACCESS_READ = 1, EVENT_ACCESS_WRITTEN = 2 };

// Of one launch and one object. What was not looked at is EVENT_UNKNOWN.
#define EVENT_UNKNOWN UINT64_MAX
struct event_access {
    uint64_t call;
    uint64_t object;
    uint32_t node;            // of a graph launch: 1 + index
    uint32_t flags;           // EVENT_ACCESS_*
    uint64_t read_bytes;      // that threads moved, each as often as it was
    uint64_t written_bytes;   // likewise; an atomic operation does both
    uint64_t elements;        // different ones that were touched
    uint64_t new_elements;    // of those, that no launch had touched before
    uint64_t shared_elements; // and that only one launch had touched before
    uint32_t element_bytes;   // at which granularity elements are told; 0: they are not
    uint32_t named;           // 1: an address in the object is among what the kernel was given
};

// Why it is not known what a launch, or other work on a stream, did to objects: it may have read
// and written any object that was there, whatever its accesses say.
enum event_doubt {
    EVENT_DOUBT_POINTER = 1, // it used a pointer among its arguments that points into no object
    EVENT_DOUBT_LEFT,        // an access left the object that the pointer it comes from points into
    EVENT_DOUBT_TEXTURE,     // it has texture instructions while textures read linear memory
    EVENT_DOUBT_WRAPPED, // an address wrapped round in a loop, and what was touched was not seen
    EVENT_DOUBT_WORK,    // it is work of a kind whose accesses are not observed
    EVENT_DOUBT_UNTOLD,  // nothing was told: the program or its context ended before
    EVENT_DOUBT_KINDS
};

// Follows the accesses of each watched launch. A launch that said it was watched and has no such
// record is one of which nothing is known. Nodes of graphs have one only where there is a doubt: a
// node without accesses is one of which nothing is known.
struct event_told {
    uint64_t call;
    uint32_t node;   // of a graph launch: 1 + index
    uint32_t doubts; // sum of 1 << enum event_doubt
};

// The distribution of counts over the elements that were touched. bins[b] has those of 2^(b/2) and
// more where b is even, 3 * 2^((b-1)/2 - 1) and more where it is odd, up to the next bin's.
enum { EVENT_COUNT_BINS = 64, EVENT_HOT_RANGES = 8 };
struct event_counts {
    uint64_t call;
    uint64_t object;
    uint32_t node;
    uint32_t most;                           // the highest count
    uint64_t sum, squares_low, squares_high; // of the counts; squares: 128 bits
    uint64_t most_at;                        // the first element that has it
    uint64_t bins[EVENT_COUNT_BINS];
    struct event_range {
        uint64_t first, count, sum; // elements, and the sum of their counts; count 0: none
    } hottest[EVENT_HOT_RANGES];    // the hottest first
};

enum event_map_kind {
    EVENT_MAP_TOUCHED = 1, // a bit for each element: some launch touched it
    EVENT_MAP_SHARED,      // more than one did
};

// A piece of a map, from its first element on; bit i of byte k is element first + 8 * k + i. Pieces
// of only zeros are left out. It holds for the object's whole life.
struct event_map {
    uint64_t object;
    uint64_t first;    // a multiple of 8
    uint64_t elements; // of the whole object
    uint32_t element_bytes;
    uint8_t kind; // enum event_map_kind
    uint8_t padding[3];
};

enum event_use_kind {
    EVENT_USE_READ = 1,
    EVENT_USE_WRITE,
    EVENT_USE_SYSTEM,    // handed to the system, or to the driver: write(), send(), a copy from it
    EVENT_USE_UNKNOWN,   // it may have been used from then on, without being seen
    EVENT_USE_UNWATCHED, // not used until then; from then on it was not watched
    EVENT_USE_CLOCK,     // of no data: the thread that had waited read a clock next
    EVENT_USE_KINDS
};

// The first use by the program of data that a synchronisation has made safe: the destination of a
// copy to the host, or managed memory that kernels may have written. Data that was never used has
// none. A later record of the same sync, copy, node and object holds instead of an earlier one.
struct event_use {
    uint64_t sync;   // the call that made it safe
    uint64_t copy;   // that brought it, or the launch of a graph that did; 0: managed memory
    uint64_t object; // that the data lies in; 0: none
    uint64_t address, offset;        // offset: from the beginning of the data
    uint64_t bytes, unwatched_bytes; // of the data; of them not watched: uses of these are not seen
    uint64_t time_ns;
    uint32_t node; // of a graph launch: 1 + index
    uint32_t thread, stack;
    uint8_t kind; // enum event_use_kind
    uint8_t padding[3];
};

// XXH3-128 of the bytes that a copy between host and device has moved, row by row: at the host's
// end, before the program could change them.
struct event_hash {
    uint64_t copy;      // the call
    uint64_t at;        // the call at whose end it was computed: the copy, or what made it safe
    uint64_t high, low; // of the hash
    uint64_t took_ns;   // by which everything after that call comes later than it would
    uint8_t same;       // enum event_same
    uint8_t padding[7];
};
enum event_same { // of a copy to the host: whether these very bytes were there before
    EVENT_SAME_UNKNOWN,
    EVENT_SAME_NO,
    EVENT_SAME_YES
};

// Pageable memory that copies are made from or to.
struct event_block {
    uint64_t number;
    uint64_t address, bytes;
    uint64_t time_ns; // when it was allocated; may be before the process was first heard of
    uint32_t stack;   // where; 0: not known
    uint8_t kind;     // enum event_host: ALLOCATED, MAPPED or FILE
    uint8_t padding[3];
};

struct event_block_end { // freed, unmapped or given to realloc
    uint64_t number;
    uint64_t time_ns;
    uint32_t thread, stack;
};

enum event_correction_count {
    EVENT_CORRECTION_APPLIED,    // calls
    EVENT_CORRECTION_LEFT,       // calls at which it was not, because that would not have been safe
    EVENT_CORRECTION_BYTES,      // that were copied, or allocated
    EVENT_CORRECTION_PAID,       // waits that were made up for later
    EVENT_CORRECTION_PEAK_BYTES, // of device memory, as corrected
    EVENT_CORRECTION_NATIVE_PEAK_BYTES, // and as the program believes it to be
    EVENT_CORRECTION_COUNTS
};

// What was done by a row of the plan so far, in this process. A later record of the same row holds
// instead of an earlier one.
struct event_correction {
    uint32_t row;    // of the plan, from 1; 0: of the process as a whole
    uint32_t remedy; // enum plan_remedy
    uint32_t stack;  // its call path; 0: it was not met
    uint64_t counts[EVENT_CORRECTION_COUNTS];
};

enum event_severity { EVENT_INFO = 1, EVENT_WARNING, EVENT_ERROR };

struct event_note {
    uint32_t severity;
};

struct event_finish {
    uint64_t end_ns;
    uint64_t calls, objects; // made in all, so that what is missing can be told
};

// What a call says of its object, as the records that it saves. False: nothing.
bool event_begins(const struct event_call *call, const struct event_alloc *alloc,
                  struct event_object *object);
bool event_ends(const struct event_call *call, const struct event_alloc *alloc,
                struct event_object_end *end);

// --- The ring ------------------------------------------------------------------------------------

// Shared memory of whole pages: a head, then slots of 64 bytes. ring.c tells the rest.
struct event_ring;

// Bytes to map for a ring of so many slots (a power of two).
size_t event_ring_bytes(uint32_t slots);

// Makes an empty ring of zeroed memory: NULL where the size is none of event_ring_bytes. The ring
// lies in the memory; there is nothing to free.
struct event_ring *event_ring_make(void *memory, size_t bytes);

// The program's side, any thread, also in a signal handler: the record's structure and what belongs
// to it. False: it did not fit and was counted as dropped.
bool event_put(struct event_ring *ring, enum event_kind kind, const void *record, size_t bytes,
               const void *more, size_t more_bytes);
// The same in three pieces, for calls: head, detail, and what belongs to it.
struct event_piece {
    const void *bytes;
    size_t length;
};
bool event_put_pieces(struct event_ring *ring, enum event_kind kind,
                      const struct event_piece *pieces, unsigned count);
// The same for a call with its struct event_alloc (EVENT_CALL) in half the room, if its numbers are
// small enough and it did not fail. False: it is to be put whole.
bool event_put_short(struct event_ring *ring, const struct event_call *call,
                     const struct event_alloc *alloc);
// Whether half of the ring waits to be read: what need not be told now had better be told later.
bool event_is_busy(const struct event_ring *ring);
enum { EVENT_MOST_BYTES = 56 * 4096 - 4 }; // of one record with what belongs to it

// The recorder's side, one thread. What the program can reach it can also spoil, so whatever
// decides where the reader looks is here, in the recorder's own memory. Begins with
// event_reader_init.
struct event_reader {
    struct event_ring *ring;
    uint32_t slot_count;
    uint64_t tail;       // the next slot to be read
    uint64_t released;   // up to where the writers know of it
    uint64_t unfinished; // how often records were passed over that were begun and never finished
};

// Finds the ring that somebody made in the memory, which must stay mapped and, where it is a file,
// of its size (seal it: F_SEAL_SHRINK). False: it is none of this version, or the size is wrong.
bool event_reader_init(struct event_reader *reader, void *memory, size_t bytes);

// Copies the next record into out (its bytes replace what out held; where memory runs out, out says
// so and the record is lost) and returns its kind; EVENT_NONE: there is none yet. With `abandoned`
// the writers are known to be dead: records that were begun and never finished are passed over, and
// each row of them is counted once.
enum event_kind event_take(struct event_reader *reader, struct base_buf *out, bool abandoned);

// How many records of the kind were dropped because the ring was full.
uint64_t event_dropped(const struct event_reader *reader, enum event_kind kind);
// Slots in use, for the recorder's decision how long to sleep.
uint32_t event_waiting(const struct event_reader *reader);

const char *event_kind_name(enum event_kind kind); // "call", for people

// --- How the recorder gets the ring --------------------------------------------------------------

// The environment variable that names the recorder's socket to the program and its children.
#define EVENT_SOCKET_VARIABLE        "GLINT_SOCKET"
// "1": GPU times are taken.
#define EVENT_TIMESTAMPS_VARIABLE    "GLINT_TIMESTAMPS"
// What probes are to tell: a sum of EVENT_PROBE_*; and of which kernels (an extended regular
// expression, found in the mangled name, or in the function's with its scopes but without template
// arguments and parameters), of which launches of a kernel (each so many), with how much shadow
// memory at most (bytes), and whether maps are wanted ("1").
#define EVENT_PROBES_VARIABLE        "GLINT_PROBES"
#define EVENT_KERNELS_VARIABLE       "GLINT_KERNELS"
#define EVENT_SAMPLE_VARIABLE        "GLINT_SAMPLE"
#define EVENT_MAX_SHADOW_VARIABLE    "GLINT_MAX_SHADOW"
#define EVENT_MAPS_VARIABLE          "GLINT_MAPS"
// "1": first uses of what the GPU gave are watched for; "2": of all of it, whatever that costs.
#define EVENT_SYNC_TRACKING_VARIABLE "GLINT_SYNC_TRACKING"
// The folder of rewritten modules; empty: none is kept.
#define EVENT_CACHE_VARIABLE         "GLINT_CACHE"

// The program's side: makes a ring in memory of its own, of so many slots, or where there is no
// memory for them, or the program may not write files of that size, of half as many, down to the
// least; hands it to the recorder behind the socket, and keeps no descriptor. NULL, with errno set,
// where there is no recorder or no memory.
// Calls only what may be called between fork and exec.
struct event_ring *event_ring_offer(const char *socket_path, uint32_t slots, uint32_t least,
                                    size_t *bytes);

// The recorder's side: takes the ring that a process offers on the connection. *pid is the process
// as the system tells it. The memory cannot shrink under the reader. NULL: it is no ring of this
// version, or the peer is another user's. Ends with event_ring_release.
struct event_ring *event_ring_accept(int connection, size_t *bytes, int *pid,
                                     struct base_error *error);
void event_ring_release(struct event_ring *ring, size_t bytes);

#endif
