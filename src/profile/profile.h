// SPDX-License-Identifier: Apache-2.0
// The profile: what one process did with CUDA, in one SQLite file. This header is its writer, its
// reader and the rows that both exchange; docs/profile.md describes the file itself. The profile
// knows nothing of how the rows came about.
//
// Numbers (of calls, objects, streams, ...) start at 1; 0 means none. Times are nanoseconds since
// watching began. Texts that are handed over are copied; NULL is no text. The values of the
// enumerations are written into files: they are only ever added to, and a reader that does not know
// a value gives OTHER, NONE or UNKNOWN for it.
#ifndef GLINT_PROFILE_PROFILE_H
#define GLINT_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

// A reader takes files of its own major version, whatever their minor one.
enum { PROFILE_MAJOR = 1, PROFILE_MINOR = 6 };

// --- Rows ----------------------------------------------------------------------------------------

enum profile_ending {
    PROFILE_RECORDER_LOST = 0, // nobody said how: the recorder is still at it, or was lost
    PROFILE_EXITED,
    PROFILE_SIGNALLED,
    PROFILE_ENDED,    // by exit or a signal, nobody could tell which
    PROFILE_REPLACED, // it has become another program by exec
    PROFILE_ENDINGS
};

struct profile_meta {
    uint32_t major, minor;
    const char *glint; // version of the one that wrote it
    bool complete;     // profile_finish was reached
    enum profile_ending ending;
    int32_t code; // exit status, or number of the signal; 0 where ending is another
};

struct profile_program {
    const char *executable, *folder; // folder: where it was started
    const char *const *arguments;    // the first is the program's name
    uint32_t argument_count;
    int32_t pid, parent;
    uint32_t driver_version;    // 13000
    int64_t start_monotonic_ns; // CLOCK_MONOTONIC when watching began: time 0 of the profile
    int64_t start_unix_ns;      // the same moment by CLOCK_REALTIME
    bool simulated, timestamps; // timestamps: GPU times were taken
    bool has_end;               // the three below are known
    int64_t end_ns;             // when the program left by exit or return
    uint64_t calls_made, objects_made;
};

struct profile_image { // an executable or library, mapped
    uint32_t number;
    const char *path, *build_id; // in hexadecimal
    uint64_t start, end, bias;
};

struct profile_function { // of the CUDA API
    uint32_t number;
    const char *name;
};

// How much of the function's name programs write: without the suffixes of versions and of
// per-thread streams. "cuMemcpyHtoD" of "cuMemcpyHtoD_v2_ptds".
size_t profile_plain_length(const char *name);

struct profile_thread {
    uint32_t number;
    int32_t tid;
    const char *name;
};

struct profile_device {
    uint32_t number; // 1 + ordinal
    uint32_t major, minor, multiprocessors;
    uint64_t memory_bytes;
    const char *name, *uuid;
};

struct profile_context {
    uint32_t number, device;
};

enum { PROFILE_STREAM_NON_BLOCKING = 1, PROFILE_STREAM_LEGACY = 2, PROFILE_STREAM_PER_THREAD = 4 };

struct profile_stream {
    uint32_t number, context;
    uint32_t flags; // PROFILE_STREAM_*
    int32_t priority;
    uint32_t thread; // of a thread's own default stream
};

struct profile_module {
    uint32_t number, context;
    const char *name;
    uint64_t bytes, hash; // of its image, where known
    bool has_ptx;
};

struct profile_kernel {
    uint32_t number, module;
    const char *name, *mangled; // name: for people
    uint32_t registers, static_shared_bytes, local_bytes;
};

struct profile_frame {
    const char *function, *file; // NULL: not known
    uint32_t line;               // 0: not known
    uint32_t image;
    uint64_t offset; // in the image: the file's virtual address
    bool inlined;    // into the frame after it, which has the same offset
};

struct profile_path {
    uint32_t number;
    const struct profile_frame *frames; // innermost first
    uint32_t frame_count;
    bool truncated; // there were more frames
    // The function of the CUDA runtime that the program called from the first frame, as programs
    // spell it: "cudaMalloc". NULL: none, or not known; the program called the driver itself.
    const char *called;
};

struct profile_stack { // a path with all of its return addresses
    uint32_t number;   // of the path
    // Innermost first: the image's number, ':', the offset in hexadecimal, a blank between them;
    // " ..." at the end where there were more. Image 0: none that is known, and an address.
    const char *addresses;
};

enum {
    PROFILE_LAUNCH_COOPERATIVE = 1,
    PROFILE_LAUNCH_WATCHED = 2, // with probes: objects without an access were not touched
};

struct profile_launch {
    uint32_t kernel;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_bytes;
    uint32_t flags; // PROFILE_LAUNCH_*
};

enum profile_memory { // where an end of a copy is
    PROFILE_MEMORY_NONE = 0,
    PROFILE_MEMORY_PAGEABLE,
    PROFILE_MEMORY_PINNED,
    PROFILE_MEMORY_DEVICE,
    PROFILE_MEMORY_MANAGED,
    PROFILE_MEMORY_ARRAY,
    PROFILE_MEMORY_UNKNOWN,
};

enum profile_direction {
    PROFILE_DIRECTION_NONE = 0,
    PROFILE_HOST_TO_DEVICE,
    PROFILE_DEVICE_TO_HOST,
    PROFILE_DEVICE_TO_DEVICE,
    PROFILE_HOST_TO_HOST,
    PROFILE_PEER_TO_PEER,
};

enum profile_host {         // what the host's end of a copy is
    PROFILE_HOST_NONE = 0,  // none is, or nobody looked
    PROFILE_HOST_PAGEABLE,  // of which no more is known
    PROFILE_HOST_ALLOCATED, // by malloc and the like
    PROFILE_HOST_MAPPED,    // by mmap
    PROFILE_HOST_FILE,      // by mmap, of a file
    PROFILE_HOST_STACK,     // of the thread
    PROFILE_HOST_STATIC,    // variables of the executable or a library
    PROFILE_HOST_PINNED,
    PROFILE_HOST_REGISTERED,
    PROFILE_HOST_MANAGED,
    PROFILE_HOST_KINDS
};

struct profile_copy {
    uint64_t bytes;
    uint64_t from, to; // addresses
    uint64_t from_object, to_object;
    uint64_t from_pitch, to_pitch; // bytes from row to row; 0: one row
    uint64_t width_bytes, height, depth;
    enum profile_memory from_memory, to_memory;
    enum profile_direction direction;
    enum profile_host host; // of graph nodes, and in files of before version 1.4: none
    uint64_t block;         // that the host's end lies in; 0: none is known
};

struct profile_set {
    uint64_t address, object;
    uint64_t bytes, pitch, width_bytes, height;
    uint32_t value, value_bytes; // 1, 2 or 4
};

struct profile_range { // of memory that is made, freed, mapped, prefetched, ...
    uint64_t address, bytes, object;
};

struct profile_sync {
    uint64_t event;  // 0: all of the stream or context
    uint32_t stream; // that is waited for, or that waits
    uint32_t record; // which record of the event, counted from 1
};

enum profile_node_kind {
    PROFILE_NODE_KERNEL = 1,
    PROFILE_NODE_COPY,
    PROFILE_NODE_SET,
    PROFILE_NODE_ALLOC,
    PROFILE_NODE_FREE,
    PROFILE_NODE_EVENT_RECORD,
    PROFILE_NODE_EVENT_WAIT,
    PROFILE_NODE_HOST,
    PROFILE_NODE_GRAPH,
    PROFILE_NODE_EMPTY,
    PROFILE_NODE_OTHER,
};

struct profile_node {
    enum profile_node_kind kind;
    union {
        struct profile_launch launch;
        struct profile_copy copy;
        struct profile_set set;
        struct profile_range range; // alloc, free
        uint64_t event;             // event-record, event-wait
    };
};

struct profile_graph { // an executable one: what a launch of it does
    uint64_t number;
    const struct profile_node *nodes; // in an order that holds
    uint32_t node_count;
};

struct profile_edge { // between nodes of a graph: the one is over when the other begins
    uint64_t graph;
    uint32_t from, to; // from 1
};

enum profile_call_kind {
    PROFILE_CALL_OTHER = 0,
    PROFILE_CALL_ALLOC,        // range
    PROFILE_CALL_FREE,         // range
    PROFILE_CALL_COPY,         // copy
    PROFILE_CALL_SET,          // set
    PROFILE_CALL_LAUNCH,       // launch
    PROFILE_CALL_GRAPH_LAUNCH, // graph
    PROFILE_CALL_SYNC,         // sync
    PROFILE_CALL_EVENT_RECORD, // sync
    PROFILE_CALL_EVENT_WAIT,   // sync
    PROFILE_CALL_HOST,
    PROFILE_CALL_STREAM,
    PROFILE_CALL_CONTEXT,
    PROFILE_CALL_MODULE,
    PROFILE_CALL_MEMORY, // range
    PROFILE_CALL_KINDS
};

enum {
    PROFILE_CALL_ASYNC = 1,    // the function is one that need not wait
    PROFILE_CALL_WAITED = 2,   // it waited for the GPU: a synchronisation, explicit or implicit
    PROFILE_CALL_CAPTURED = 4, // it went into a graph under capture and did nothing
};

struct profile_call {
    uint64_t number;
    int64_t start_ns, end_ns;
    uint32_t function, thread, context, stream, path;
    int32_t result; // CUresult
    uint64_t waited_ns;
    enum profile_call_kind kind;
    uint32_t flags; // PROFILE_CALL_*
    bool has_gpu_time;
    bool gpu_start_estimated;
    int64_t gpu_start_ns, gpu_end_ns;
    union { // by kind; zero where the kind has none
        struct profile_launch launch;
        struct profile_copy copy;
        struct profile_set set;
        struct profile_range range;
        struct profile_sync sync;
        uint64_t graph;
    };
};

struct profile_time { // when the GPU did it
    uint64_t call;
    uint32_t node; // of a graph launch: 1 + index; 0: all of the call
    int64_t start_ns, end_ns;
    bool start_estimated; // of a call: no event tells it
};

enum profile_object_kind {
    PROFILE_OBJECT_OTHER = 0, // of a newer version
    PROFILE_OBJECT_DEVICE,
    PROFILE_OBJECT_PITCHED,
    PROFILE_OBJECT_ARRAY,
    PROFILE_OBJECT_MANAGED,
    PROFILE_OBJECT_POOL,
    PROFILE_OBJECT_MAPPING,
    PROFILE_OBJECT_GLOBAL,
    PROFILE_OBJECT_PINNED,
    PROFILE_OBJECT_REGISTERED,
    PROFILE_OBJECT_IMPORTED,
    PROFILE_OBJECT_GRAPH,
    PROFILE_OBJECT_PART,
    PROFILE_OBJECT_HEAP,
    PROFILE_OBJECT_KINDS
};

enum profile_name_source { // who called an object so, best last
    PROFILE_NAME_NONE = 0,
    PROFILE_NAME_PATH,    // the call path's top frame and the size
    PROFILE_NAME_PLACE,   // file:line of the allocation
    PROFILE_NAME_SOURCE,  // a variable in the source line of the allocation
    PROFILE_NAME_PROGRAM, // the program
};

struct profile_object {
    uint64_t number;
    enum profile_object_kind kind;
    uint64_t address, bytes;
    uint64_t call;   // that made it; 0: none
    uint64_t parent; // of a part: the object it lies in
    uint64_t pitch, width_bytes, height, depth;
    uint32_t context, device;
    uint32_t stream; // of pool memory: where its life begins, in stream order
    // Known later: profile_end_object and profile_name_object; profile_add_object ignores them.
    bool has_end;
    uint64_t end_call;   // 0: the process ended it
    uint32_t end_stream; // of pool memory: where its life ends, in stream order
    const char *name;    // NULL: none
    enum profile_name_source name_source;
};

enum profile_severity { PROFILE_INFO = 1, PROFILE_WARNING, PROFILE_ERROR };

struct profile_note {
    enum profile_severity severity;
    const char *text;
};

struct profile_dropped { // records that were lost on their way to the recorder
    const char *kind;    // of record: "call"; never NULL
    uint64_t count;
};

struct profile_setting {      // how recording was asked for: "sample", "10"
    const char *name, *value; // never NULL
};

// --- Rows: what probes in kernels tell -----------------------------------------------------------

enum { PROFILE_PROBE_OBJECTS = 1, PROFILE_PROBE_ELEMENTS = 2, PROFILE_PROBE_COUNTS = 4 };

struct profile_probe {
    uint32_t kernel;
    uint32_t facts;     // sum of PROFILE_PROBE_*; 0: the kernel has no probes
    const char *reason; // why not, or what they do not see; NULL: nothing
};

enum profile_site_access { PROFILE_SITE_LOAD = 0, PROFILE_SITE_STORE, PROFILE_SITE_ATOMIC };

struct profile_kernel_site { // a memory instruction of a kernel
    uint32_t kernel, number; // number: in its kernel, from 1
    const char *function;    // in which it stands
    const char *opcode;      // "ld.global.v4.f32"
    const char *type;        // what the bytes are used as, "f32"
    uint32_t type_count;
    uint32_t bytes; // that a thread moves; 0: not fixed by the instruction
    enum profile_site_access access;
    bool generic;
    uint32_t instruction, ptx_line; // instruction: its index in the function
    // In the source; NULL and 0: not known.
    const char *file;
    uint32_t line, column;
    const char *inlined_function; // NULL: not inlined; and where it was
    const char *at_file;
    uint32_t at_line, at_column;
};

#define PROFILE_UNKNOWN UINT64_MAX // was not looked at

struct profile_access { // what one launch did to one object
    uint64_t call;
    uint64_t object;
    uint32_t node; // of a graph launch: from 1; 0: of a launch
    bool read, written;
    uint64_t bytes_read, bytes_written; // that threads moved, each as often as it was; or UNKNOWN,
    uint64_t elements;                  // different ones touched: likewise, as the two below
    uint64_t new_elements;              // of those, that no launch had touched before
    uint64_t shared_elements;           // and that only one launch had touched before
    uint32_t element_bytes;             // 0: elements are not told
    bool named; // an address in the object was among what the kernel was given; false: or unknown
};

enum { PROFILE_COUNT_BINS = 64, PROFILE_HOT_RANGES = 8 };

// How often one launch touched the elements of one object, of those that it touched.
struct profile_counts {
    uint64_t call;
    uint64_t object;
    uint32_t node;
    uint32_t most;                           // the highest count
    uint64_t most_at;                        // the first element that has it
    uint64_t sum, squares_low, squares_high; // of the counts; squares: 128 bits
    uint64_t bins[PROFILE_COUNT_BINS];       // elements; profile_bin_least tells of which counts
    struct profile_hot_range {
        uint64_t first, elements, sum; // sum of their counts; elements 0: none
    } hottest[PROFILE_HOT_RANGES];     // the hottest first
};

uint64_t profile_bin_least(unsigned bin); // the lowest count in it
uint64_t profile_counts_elements(const struct profile_counts *counts);
// From the exact sums; 0 where nothing was touched.
double profile_counts_mean(const struct profile_counts *counts);
double profile_counts_variation(const struct profile_counts *counts); // its coefficient

enum profile_map_kind {
    PROFILE_MAP_NONE = 0,
    PROFILE_MAP_TOUCHED, // by some launch
    PROFILE_MAP_SHARED,  // by more than one
};

// A piece of an object's map. Bit i of byte k is element first + 8 * k + i; what no piece covers is
// 0.
struct profile_map {
    uint64_t object;
    enum profile_map_kind kind;
    uint32_t element_bytes;
    uint64_t elements; // of the whole object
    uint64_t first;    // a multiple of 8
    const unsigned char *bits;
    size_t bit_bytes;
};

// --- Rows: doubts --------------------------------------------------------------------------------

// Why it is not known what a launch did to objects.
enum profile_doubt_kind {
    PROFILE_DOUBT_OTHER = 0, // of a newer version
    PROFILE_DOUBT_POINTER,   // it used a pointer among its arguments that points into no object
    PROFILE_DOUBT_LEFT,      // an access left the object that its pointer points into
    PROFILE_DOUBT_TEXTURE,   // it has texture instructions while textures read linear memory
    PROFILE_DOUBT_WRAPPED, // an address wrapped round in a loop, and what was touched was not seen
    PROFILE_DOUBT_WORK,    // it is work of a kind whose accesses are not observed
    PROFILE_DOUBT_UNTOLD,  // the program or its context ended before its results came
    PROFILE_DOUBT_KINDS
};

// The launch may have read and written any object that was there, whatever its accesses say.
struct profile_doubt {
    uint64_t call;
    uint32_t node; // of a graph launch: from 1
    enum profile_doubt_kind kind;
};

// --- Rows: first uses ----------------------------------------------------------------------------

enum profile_use_kind {
    PROFILE_USE_OTHER = 0, // of a newer version
    PROFILE_USE_READ,
    PROFILE_USE_WRITE,
    PROFILE_USE_SYSTEM,    // handed to the system or to the driver
    PROFILE_USE_UNKNOWN,   // it may have been used from then on, without being seen
    PROFILE_USE_UNWATCHED, // not used until then; from then on it was not watched
    PROFILE_USE_CLOCK,     // of no data: the thread that had waited read a clock next
    PROFILE_USE_KINDS
};

// The program's first use of data that a synchronisation made safe. Data without one was not used
// before it was overwritten, freed or the program ended; or it was not looked at, because its call
// path had been seen to be needed often enough.
struct profile_use {
    uint64_t sync;   // the call that made it safe
    uint64_t copy;   // that brought it, or the launch of a graph that did; 0: managed memory
    uint64_t object; // that the data lies in; 0: none
    uint32_t node;   // of a graph launch: from 1
    enum profile_use_kind kind;
    uint64_t address, offset;        // offset: from the beginning of the data
    uint64_t bytes, unwatched_bytes; // of the data; of them not watched
    int64_t time_ns;
    uint32_t thread, path;
};

// --- Rows: transfers -----------------------------------------------------------------------------

enum profile_same { PROFILE_SAME_UNKNOWN, PROFILE_SAME_NO, PROFILE_SAME_YES };

// What a copy between host and device has moved: XXH3-128 of its bytes. A copy without one was not
// looked at.
struct profile_hash {
    uint64_t copy;          // the call
    uint64_t at;            // the call at whose end it was computed
    uint64_t high, low;     // of the hash
    uint64_t took_ns;       // by which everything after that call comes later than it would
    enum profile_same same; // of a copy to the host: these very bytes were there before
};

// Pageable memory that copies were made from or to.
struct profile_block {
    uint64_t number;
    uint64_t address, bytes;
    int64_t allocated_ns;
    uint32_t allocated_path;
    enum profile_host kind; // ALLOCATED, MAPPED or FILE
};

struct profile_block_end { // freed, unmapped or given to realloc
    uint64_t number;
    int64_t freed_ns;
    uint32_t thread, freed_path;
};

// --- Rows: corrections ---------------------------------------------------------------------------

enum profile_remedy { // as in a plan
    PROFILE_REMEDY_NONE = 0,
    PROFILE_REMEDY_DROP_SYNC,
    PROFILE_REMEDY_ASYNC_COPY,
    PROFILE_REMEDY_POOL,
    PROFILE_REMEDY_BACK,
    PROFILE_REMEDY_LAST_USE,
    PROFILE_REMEDIES
};

// What was done by a row of the plan that the program ran by. Row 0: by the plan as a whole.
struct profile_correction {
    uint32_t row;
    enum profile_remedy remedy;
    uint32_t path;       // at which it applies; 0: that was not met
    uint64_t applied;    // calls
    uint64_t left_alone; // calls at which it was not applied, because that would not have been safe
    uint64_t bytes;      // that were copied, or allocated, by those that it was
    uint64_t paid;       // waits that had to be made up for later
    uint64_t peak_bytes, native_peak_bytes; // of device memory: so, and as the program has it
};

// Words of the views, for people and JSON: "graph-launch". "?" for a value that is none.
const char *profile_call_kind_word(enum profile_call_kind kind);
const char *profile_object_kind_word(enum profile_object_kind kind);
const char *profile_node_kind_word(enum profile_node_kind kind);
const char *profile_doubt_word(enum profile_doubt_kind kind);
const char *profile_memory_word(enum profile_memory memory);
const char *profile_direction_word(enum profile_direction direction);
const char *profile_severity_word(enum profile_severity severity);
const char *profile_name_source_word(enum profile_name_source source);
const char *profile_ending_word(enum profile_ending ending);
const char *profile_site_access_word(enum profile_site_access access);
const char *profile_map_kind_word(enum profile_map_kind kind);
const char *profile_use_kind_word(enum profile_use_kind kind);
const char *profile_host_word(enum profile_host host);
const char *profile_remedy_word(enum profile_remedy remedy);

// --- Writing -------------------------------------------------------------------------------------

// A writer belongs to one thread. What was handed over is safe from a SIGKILL of this process at
// most 50 ms later, as long as the writer is called: profile_tick where there is nothing to write.
struct profile_writer;

// A name that a profile will have, held for this process as long as it lives.
struct profile_place;

// Reserves a name, so that what cannot work shows before there is anything to write. A new name is
// that of an empty profile from then on; an old file stays until profile_create_at. A link is
// followed; what is not a regular file is never replaced. BASE_CONFLICT: there is something that
// may not be replaced; *taken: because another process has reserved or is writing it, which
// `overwrite` does not change. BASE_IO: the system refused. An empty profile that a killed process
// reserved does not count.
enum base_code profile_reserve(const char *path, bool overwrite, struct profile_place **place,
                               bool *taken, struct base_error *error);
// Gives up the name: what was reserved goes away. NULL is allowed.
void profile_release(struct profile_place *place);
// Makes the profile. Takes the place, also where it fails.
enum base_code profile_create_at(struct profile_place *place, struct profile_writer **writer,
                                 struct base_error *error);

// Both at once: makes a profile at path, whole or not at all. BASE_CONFLICT: there is one and
// `overwrite` does not allow to replace it. BASE_IO: the system refused. The caller finishes or
// abandons the writer.
enum base_code profile_create(const char *path, bool overwrite, struct profile_writer **writer,
                              struct base_error *error);

// All of these may fail with BASE_IO or BASE_NO_MEMORY, at once or when a later one is handed over.
// The writer then takes nothing more and gives the same error from now on; what was safe before
// stays readable (when the disk is full, for instance). Definitions (program to graph), ends,
// names, times and what probes tell may be given again: the last one holds. Of calls and objects
// the first of a number does.
enum base_code profile_set_program(struct profile_writer *writer,
                                   const struct profile_program *program, struct base_error *error);
enum base_code profile_add_image(struct profile_writer *writer, const struct profile_image *image,
                                 struct base_error *error);
enum base_code profile_add_function(struct profile_writer *writer,
                                    const struct profile_function *function,
                                    struct base_error *error);
enum base_code profile_add_thread(struct profile_writer *writer,
                                  const struct profile_thread *thread, struct base_error *error);
enum base_code profile_add_device(struct profile_writer *writer,
                                  const struct profile_device *device, struct base_error *error);
enum base_code profile_add_context(struct profile_writer *writer,
                                   const struct profile_context *context, struct base_error *error);
enum base_code profile_add_stream(struct profile_writer *writer,
                                  const struct profile_stream *stream, struct base_error *error);
enum base_code profile_add_module(struct profile_writer *writer,
                                  const struct profile_module *module, struct base_error *error);
enum base_code profile_add_kernel(struct profile_writer *writer,
                                  const struct profile_kernel *kernel, struct base_error *error);
enum base_code profile_add_path(struct profile_writer *writer, const struct profile_path *path,
                                struct base_error *error);
enum base_code profile_add_stack(struct profile_writer *writer, const struct profile_stack *stack,
                                 struct base_error *error);
enum base_code profile_add_graph(struct profile_writer *writer, const struct profile_graph *graph,
                                 struct base_error *error);
enum base_code profile_add_edge(struct profile_writer *writer, const struct profile_edge *edge,
                                struct base_error *error);
enum base_code profile_add_call(struct profile_writer *writer, const struct profile_call *call,
                                struct base_error *error);
enum base_code profile_add_time(struct profile_writer *writer, const struct profile_time *time,
                                struct base_error *error);
// How long a call waited, where that was not known when it was added.
enum base_code profile_set_waited(struct profile_writer *writer, uint64_t call, uint64_t waited_ns,
                                  struct base_error *error);
enum base_code profile_add_object(struct profile_writer *writer,
                                  const struct profile_object *object, struct base_error *error);
enum base_code profile_end_object(struct profile_writer *writer, uint64_t number, uint64_t call,
                                  uint32_t stream, struct base_error *error);
enum base_code profile_name_object(struct profile_writer *writer, uint64_t number, const char *name,
                                   enum profile_name_source source, struct base_error *error);
enum base_code profile_add_note(struct profile_writer *writer, const struct profile_note *note,
                                struct base_error *error);
enum base_code profile_set_dropped(struct profile_writer *writer,
                                   const struct profile_dropped *dropped, struct base_error *error);
enum base_code profile_set_setting(struct profile_writer *writer,
                                   const struct profile_setting *setting, struct base_error *error);
enum base_code profile_add_probe(struct profile_writer *writer, const struct profile_probe *probe,
                                 struct base_error *error);
enum base_code profile_add_kernel_site(struct profile_writer *writer,
                                       const struct profile_kernel_site *site,
                                       struct base_error *error);
enum base_code profile_add_access(struct profile_writer *writer,
                                  const struct profile_access *access, struct base_error *error);
enum base_code profile_add_counts(struct profile_writer *writer,
                                  const struct profile_counts *counts, struct base_error *error);
// Joins the piece with the others of its map; where it overlaps one, its own bits hold. A map whose
// elements change in size or number begins anew. BASE_INVALID: the piece is none of such a map.
enum base_code profile_add_map(struct profile_writer *writer, const struct profile_map *piece,
                               struct base_error *error);
enum base_code profile_add_doubt(struct profile_writer *writer, const struct profile_doubt *doubt,
                                 struct base_error *error);
// Of the same sync, copy, node and object the last one holds.
enum base_code profile_add_use(struct profile_writer *writer, const struct profile_use *use,
                               struct base_error *error);
// Of the same copy, or block, the first one holds.
enum base_code profile_add_hash(struct profile_writer *writer, const struct profile_hash *hash,
                                struct base_error *error);
enum base_code profile_add_block(struct profile_writer *writer, const struct profile_block *block,
                                 struct base_error *error);
enum base_code profile_add_block_end(struct profile_writer *writer,
                                     const struct profile_block_end *end, struct base_error *error);
enum base_code profile_add_correction(struct profile_writer *writer,
                                      const struct profile_correction *correction,
                                      struct base_error *error);

// Makes safe what is 50 ms old. To be called when the recorder has nothing else to write.
enum base_code profile_tick(struct profile_writer *writer, struct base_error *error);
// Makes safe all that was handed over.
enum base_code profile_commit(struct profile_writer *writer, struct base_error *error);

// Writes how the program ended, marks the profile complete, makes it one self-contained file, and
// frees the writer, also where it fails. Where the last is not possible, because somebody holds the
// file open for reading or the disk is full, the profile is complete all the same: its "-wal" file
// stays beside it, which SQLite reads with it.
enum base_code profile_finish(struct profile_writer *writer, enum profile_ending ending,
                              int32_t code, struct base_error *error);

// Frees the writer and leaves the profile as a killed recorder would. NULL is allowed.
void profile_abandon(struct profile_writer *writer);

// --- Reading -------------------------------------------------------------------------------------

// A profile is read by one thread, as it was when it was opened, also while somebody writes it.
struct profile;

// BASE_NOT_FOUND: no such file. BASE_INVALID: it is no profile. BASE_UNSUPPORTED: it is of a newer
// major version. BASE_CORRUPT: it is damaged. BASE_IO: the system refused.
enum base_code profile_open(const char *path, struct profile **profile, struct base_error *error);
void profile_close(struct profile *profile);

// The rows one by one, in the order of their numbers, calls with their details and GPU times. The
// callback returns false to stop; the row is lent until it returns, its texts until profile_close.
// Damage that shows only now is BASE_CORRUPT.
#define PROFILE_EACH(what, row)                                                                   \
    enum base_code profile_each_##what(struct profile *profile,                                   \
                                       bool (*each)(void *user, const struct profile_##row *row), \
                                       void *user, struct base_error *error)
PROFILE_EACH(image, image);
PROFILE_EACH(function, function);
PROFILE_EACH(thread, thread);
PROFILE_EACH(device, device);
PROFILE_EACH(context, context);
PROFILE_EACH(stream, stream);
PROFILE_EACH(module, module);
PROFILE_EACH(kernel, kernel);
PROFILE_EACH(path, path);
PROFILE_EACH(graph, graph);
PROFILE_EACH(edge, edge); // in the order of graphs, then of the nodes that they lead to
PROFILE_EACH(call, call);
PROFILE_EACH(node_time, time); // of the nodes of graph launches
PROFILE_EACH(object, object);
PROFILE_EACH(note, note);
PROFILE_EACH(dropped, dropped);
PROFILE_EACH(setting, setting);
PROFILE_EACH(probe, probe);
PROFILE_EACH(kernel_site, kernel_site);
PROFILE_EACH(access, access); // in the order of calls, then nodes, then objects; likewise counts
PROFILE_EACH(counts, counts);
PROFILE_EACH(map, map);     // in the order of objects; the bits are lent until the callback returns
PROFILE_EACH(doubt, doubt); // in the order of calls, then nodes
PROFILE_EACH(use, use);     // in the order of copies, then nodes, objects and synchronisations
PROFILE_EACH(hash, hash);   // in the order of copies
PROFILE_EACH(block, block);
PROFILE_EACH(block_end, block_end); // of those that were freed
PROFILE_EACH(correction, correction);
PROFILE_EACH(stack, stack);

// The same accesses, taken one by one beside something else. The row is valid until the next; NULL
// at the end, and where reading fails, which profile_accesses_end then returns. Both take NULL.
struct profile_accesses;
enum base_code profile_accesses_begin(struct profile *profile, struct profile_accesses **accesses,
                                      struct base_error *error);
const struct profile_access *profile_accesses_next(struct profile_accesses *accesses);
enum base_code profile_accesses_end(struct profile_accesses *accesses, struct base_error *error);

const struct profile_meta *profile_meta(const struct profile *profile);
const struct profile_program *profile_program(const struct profile *profile);

// --- Queries -------------------------------------------------------------------------------------

enum profile_cell_kind {
    PROFILE_CELL_NULL,
    PROFILE_CELL_INTEGER,
    PROFILE_CELL_REAL,
    PROFILE_CELL_TEXT,
    PROFILE_CELL_BLOB,
};

struct profile_cell {
    enum profile_cell_kind kind;
    int64_t integer;
    double real;
    struct base_str bytes; // of text and blobs; lent until the callback returns
};

// Where the result goes: once the names of its columns, then its rows. Each returns false to stop.
struct profile_sink {
    bool (*columns)(void *user, unsigned count, const char *const *names);
    bool (*row)(void *user, unsigned count, const struct profile_cell *cells);
    void *user;
};

// Runs one SQL statement that only reads; others are refused with BASE_INVALID before they do
// anything, and so is SQL that makes no sense. A sink that stops it makes it return BASE_OK.
enum base_code profile_query(struct profile *profile, const char *sql,
                             const struct profile_sink *sink, struct base_error *error);

// Ends what runs on the profile, which then fails with BASE_IO. From any thread or signal handler.
void profile_interrupt(struct profile *profile);

#endif
