// SPDX-License-Identifier: Apache-2.0
// The profile: what one process did with CUDA, in one SQLite file. This header declares the rows of
// a profile, its writer and its reader; docs/reference/profile.md describes the file. Nothing here
// depends on how the rows were obtained.
//
// Numbers (of calls, objects, streams, ...) start at 1; 0 means none. Times are nanoseconds since
// recording began. The writer copies the texts it is given; NULL means no text. The values of the
// enumerations are written into files, so values are only ever added. A reader that finds a value
// it does not know returns OTHER, NONE or UNKNOWN for it.
//
// Enumerations and fields that records of src/event have too come from src/facts, which explains
// them.
#ifndef GLINT_PROFILE_PROFILE_H
#define GLINT_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "facts/facts.h"

// A reader accepts every file of its major version.
enum { PROFILE_MAJOR = 1, PROFILE_MINOR = 18 };

// --- Rows ----------------------------------------------------------------------------------------

// Fields of src/facts/fields.def as a row has them.
#define PROFILE_AS_SAME(type, name)                     type name;
#define PROFILE_AS_TRIPLE(type, name)                   type name[3];
#define PROFILE_AS_KIND(list, name)                     enum profile_##list name;
#define PROFILE_AS_WIDER(record_type, row_type, name)   row_type name;
#define PROFILE_AS_RENAMED(type, record_name, row_name) type row_name;
#define PROFILE_AS_TIME(record_name, row_name)          int64_t row_name;
#define PROFILE_AS_RECORD_ONLY(type, name)

enum profile_ending { FACTS_ENDINGS(FACTS_VALUE, PROFILE_) PROFILE_ENDINGS };

struct profile_meta {
    uint32_t major, minor;
    const char *glint; // version of glint that wrote the file
    bool complete;     // profile_finish succeeded
    enum profile_ending ending;
    int32_t code; // exit status or signal number; 0 for other endings
};

// The program's place in a job of many processes (MPI, srun, torchrun).
struct profile_rank {
    const char *host;                      // name of the machine; NULL: unknown
    const char *launcher;                  // what gave the rank: "openmpi", "slurm"; NULL: none did
    const char *job;                       // name of the job, by its launcher; NULL: unknown
    bool has_number, has_count, has_local; // the three fields below are known
    uint32_t number;                       // the rank: below count, if that is known
    uint32_t count;                        // ranks in the job
    uint32_t local;                        // the rank among those on this host
};

struct profile_program {
    const char *executable, *folder; // folder: the working directory at the start
    const char *const *arguments;    // the first is the program's name
    uint32_t argument_count;
    int32_t pid, parent;
    uint32_t driver_version;    // 13000
    int64_t start_monotonic_ns; // CLOCK_MONOTONIC when recording began: time 0 of the profile
    int64_t start_unix_ns;      // the same moment by CLOCK_REALTIME
    bool simulated, timestamps; // timestamps: GPU times were recorded
    struct profile_rank rank;   // of files older than version 1.18: nothing is known
    bool has_end;               // the three fields below are known
    int64_t end_ns;             // when the program called exit or returned from main
    uint64_t calls_made, objects_made;
};

struct profile_image { // a mapped executable or library
    uint32_t number;
    const char *path, *build_id; // build_id: in hexadecimal
    FACTS_IMAGE(PROFILE_AS)
};

struct profile_function { // of the CUDA API
    uint32_t number;
    const char *name;
};

// Returns the length of the part of a function's name that programs write, without the suffixes of
// versions and of per-thread streams: that of "cuMemcpyHtoD" for "cuMemcpyHtoD_v2_ptds".
size_t profile_plain_length(const char *name);

struct profile_thread {
    FACTS_THREAD(PROFILE_AS)
    const char *name;
};

struct profile_device {
    FACTS_DEVICE(PROFILE_AS)
    const char *name, *uuid;
};

struct profile_context {
    FACTS_CONTEXT(PROFILE_AS)
};

enum { FACTS_STREAM_FLAGS(FACTS_VALUE, PROFILE_STREAM_) };
struct profile_stream {
    FACTS_STREAM(PROFILE_AS)
};

struct profile_module {
    FACTS_MODULE(PROFILE_AS)
    const char *name;
};

struct profile_kernel {
    FACTS_KERNEL(PROFILE_AS)
    const char *name, *mangled; // name: demangled
};

struct profile_frame {
    const char *function, *file; // NULL: unknown
    uint32_t line;               // 0: unknown
    uint32_t image;
    uint64_t offset; // in the image: the virtual address in its file
    bool inlined;    // into the next frame, which has the same offset
    uint64_t start;  // of the function that is not inlined, in the image; 0: unknown
    bool python;     // of Python code: no image; offset is that of the instruction in the code
};

// Return whether the function, by its demangled name, or the frame belongs to a library of
// templates that is compiled into the program: the C++ standard library, Thrust, CUB or libcu++. A
// Python frame does if its file is of Python's standard library or of an installed package.
bool profile_is_library_function(const char *function);
bool profile_is_library_frame(const struct profile_frame *frame);

// Return whether the image is one of PyTorch's libraries, and which of them has its allocator;
// whether the function, by its demangled name, is one by which PyTorch gets memory for cuBLAS; and
// the name of the operation whose gradient the function computes, "BmmBackward0::apply(...)": NULL
// if it is no such function.
bool profile_is_torch(const char *image);
bool profile_is_torch_allocator(const char *image);
bool profile_is_torch_workspace(const char *function);
const char *profile_torch_gradient(const char *function);

enum profile_result_use { // of what a call returns
    PROFILE_RESULT_UNKNOWN = 0,
    PROFILE_RESULT_IGNORED,   // the program does not look at it
    PROFILE_RESULT_LOOKED_AT, // it does, or asks for the last error next
};

struct profile_path {
    uint32_t number;
    const struct profile_frame *frames; // innermost first
    uint32_t frame_count;
    bool truncated; // the call path had more frames
    // The CUDA runtime function that the first frame called, as programs spell it: "cudaMalloc".
    // NULL: unknown, or the program called the driver directly.
    const char *called;
    enum profile_result_use result_use; // of the call; known only of synchronizations
};

struct profile_source { // a source file as it was when the program ended
    uint32_t number;    // from 1
    const char *name;   // as in frames and sites
    const char *path;   // where it was found
    const char *text;
    bool changed; // modified after the program was started, so its lines may have moved
};

struct profile_stack { // a path with all of its return addresses
    uint32_t number;   // of the path
    // Innermost first, separated by blanks: the image's number, ':', and the offset in hexadecimal.
    // Image 0 means that the image is unknown; the offset is then an address. " ..." at the end
    // means that the path had more frames.
    const char *addresses;
};

enum { FACTS_LAUNCH_FLAGS(FACTS_VALUE, PROFILE_LAUNCH_) };
struct profile_launch {
    FACTS_LAUNCH(PROFILE_AS)
};

enum profile_memory { PROFILE_MEMORY_NONE = 0, FACTS_MEMORIES(FACTS_VALUE, PROFILE_MEMORY_) };
enum profile_direction { PROFILE_DIRECTION_NONE = 0, FACTS_DIRECTIONS(FACTS_VALUE, PROFILE_) };
enum profile_host {
    PROFILE_HOST_NONE = 0, // neither end is the host's, or glint did not look
    FACTS_HOSTS(FACTS_VALUE, PROFILE_HOST_) PROFILE_HOST_KINDS
};

// The host field of graph nodes, and in files older than version 1.4, is NONE.
struct profile_copy {
    FACTS_COPY(PROFILE_AS)
};

struct profile_set {
    FACTS_SET(PROFILE_AS)
};

struct profile_range {
    FACTS_RANGE(PROFILE_AS)
};

struct profile_sync {
    FACTS_SYNC(PROFILE_AS)
};

enum profile_node_kind { FACTS_NODE_KINDS(FACTS_VALUE, PROFILE_NODE_) };

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

struct profile_graph { // an executable graph: what a launch of it does
    uint64_t number;
    const struct profile_node *nodes; // in an order that respects the edges
    uint32_t node_count;
};

struct profile_edge {
    uint64_t graph;
    FACTS_EDGE(PROFILE_AS)
};

enum profile_call_kind { FACTS_CALL_KINDS(FACTS_VALUE, PROFILE_CALL_) PROFILE_CALL_KINDS };

enum { FACTS_CALL_FLAGS(FACTS_VALUE, PROFILE_CALL_) };

struct profile_call {
    FACTS_CALL(PROFILE_AS)
    bool has_gpu_time;
    bool gpu_start_estimated;
    int64_t gpu_start_ns, gpu_end_ns;
    union { // selected by kind; zero for kinds without a member
        struct profile_launch launch;
        struct profile_copy copy;
        struct profile_set set;
        struct profile_range range; // alloc, free, memory
        struct profile_sync sync;   // sync, event-record, event-wait
        uint64_t graph;             // graph-launch
    };
};

struct profile_time { // when the GPU did the work of a call
    FACTS_TIME(PROFILE_AS)
    int64_t start_ns, end_ns;
    bool start_estimated; // of a call: no event measured the start
};

enum profile_object_kind {
    PROFILE_OBJECT_OTHER = 0, // written by a newer version
    FACTS_OBJECT_KINDS(FACTS_VALUE, PROFILE_OBJECT_) PROFILE_OBJECT_KINDS
};

enum profile_name_source { PROFILE_NAME_NONE = 0, FACTS_NAME_SOURCES(FACTS_VALUE, PROFILE_NAME_) };

struct profile_object {
    FACTS_OBJECT(PROFILE_AS)
    // profile_add_object ignores the fields below. profile_end_object and profile_name_object set
    // them later.
    bool has_end;
    uint64_t end_call;   // 0: the end of the process
    uint32_t end_stream; // of pool memory: the stream in whose order its life ends
    const char *name;    // NULL: none
    enum profile_name_source name_source;
};

enum profile_severity { FACTS_SEVERITIES(FACTS_VALUE, PROFILE_) };

struct profile_note {
    enum profile_severity severity;
    const char *text;
};

// A range of NVTX. Ranges that had begun before the first call of CUDA are not known.
struct profile_nvtx_range {
    uint64_t number;
    const char *name, *domain; // domain NULL: the default one
    uint32_t thread;           // that began it
    int64_t start_ns, end_ns;
    bool has_end;        // the program ended it; else end_ns is 0
    bool pushed;         // it is one of the thread; else of the process
    uint32_t end_thread; // of the process: that ended it
};

// All ranges of one name in one domain.
struct profile_nvtx_sum {
    const char *name, *domain;
    uint64_t count, ended;         // ended: those whose times are known
    uint64_t total_ns, longest_ns; // of these
};

// Of any kind: records that were being written when the program ended.
#define PROFILE_UNFINISHED "unfinished"

struct profile_dropped { // records that were lost on their way to the recorder
    const char *kind;    // of record: "call", or PROFILE_UNFINISHED; never NULL
    uint64_t count;
};

struct profile_setting {      // an option of the recording: "sample", "10"
    const char *name, *value; // never NULL
};

// --- Rows: what probes in kernels measured -------------------------------------------------------

enum { FACTS_PROBE_FACTS(FACTS_VALUE, PROFILE_PROBE_) };

struct profile_probe {
    FACTS_PROBE(PROFILE_AS)
    const char *reason; // why there are no probes, or what they cannot see; NULL: nothing
};

enum profile_site_access { FACTS_SITE_ACCESSES(FACTS_VALUE, PROFILE_SITE_) };

struct profile_kernel_site { // a memory instruction of a kernel
    FACTS_SITE(PROFILE_AS)
    const char *function;         // that contains it
    const char *opcode;           // "ld.global.v4.f32"
    const char *type;             // of the values that the bytes are used as, "f32"
    const char *file;             // in the source; NULL: unknown
    const char *inlined_function; // NULL: not inlined
    const char *at_file;          // where it was inlined
};

#define PROFILE_UNKNOWN FACTS_UNKNOWN

struct profile_access {
    FACTS_ACCESS(PROFILE_AS)
    bool read, written;
    // Known only by the arguments of the launch: it may have been read and written. With call 0:
    // launches that are known by their arguments may also find the object's address in memory.
    bool passed;
};

enum { FACTS_COUNT_SIZES(FACTS_VALUE, PROFILE_) };

struct profile_counts {
    FACTS_COUNTS(PROFILE_AS)
    uint64_t bins[PROFILE_COUNT_BINS]; // elements; profile_bin_least gives the least count of a bin
    struct profile_hot_range {
        FACTS_HOT_RANGE(PROFILE_AS)
    } hottest[PROFILE_HOT_RANGES]; // hottest first
};

// Returns the least count that the bin holds.
uint64_t profile_bin_least(unsigned bin);
// Returns the number of elements in all bins.
uint64_t profile_counts_elements(const struct profile_counts *counts);
// Return the mean of the counts and their coefficient of variation, computed from the exact sums;
// 0 if nothing was touched.
double profile_counts_mean(const struct profile_counts *counts);
double profile_counts_variation(const struct profile_counts *counts);

enum profile_map_kind { PROFILE_MAP_NONE = 0, FACTS_MAP_KINDS(FACTS_VALUE, PROFILE_MAP_) };

// A piece of the map of an object. Elements that no piece covers are 0.
struct profile_map {
    FACTS_MAP(PROFILE_AS)
    const unsigned char *bits;
    size_t bit_bytes;
};

// --- Rows: values --------------------------------------------------------------------------------

enum profile_value_type { FACTS_VALUE_TYPES(FACTS_VALUE, PROFILE_TYPE_) PROFILE_TYPES };
enum profile_contents_kind {
    PROFILE_CONTENTS_OTHER = 0, // written by a newer version
    FACTS_CONTENTS_KINDS(FACTS_VALUE, PROFILE_CONTENTS_) PROFILE_CONTENTS_KINDS
};
enum { FACTS_CONTENTS_FLAGS(FACTS_VALUE, PROFILE_CONTENTS_) };
enum { FACTS_VALUE_SIZES(FACTS_VALUE, PROFILE_) };

// What an object held at a border of a call.
struct profile_contents {
    FACTS_CONTENTS(PROFILE_AS)
    uint32_t field_count; // 0: only hashes were compared
    struct profile_value_field {
        FACTS_VALUE_FIELD(PROFILE_AS)
        struct profile_candidate {
            FACTS_CANDIDATE(PROFILE_AS)
        } candidates[PROFILE_CANDIDATES]; // the most frequent first
        struct profile_rounding {
            FACTS_ROUNDING(PROFILE_AS)
        } roundings[PROFILE_ROUNDINGS]; // 10 bits first; all 0 unless the field is a float
    } fields[PROFILE_FIELDS];
};

struct profile_stored {
    FACTS_STORED(PROFILE_AS)
};

struct profile_weighed {
    FACTS_WEIGHED(PROFILE_AS)
};

enum profile_accessed_way {
    PROFILE_ACCESSED_OTHER = 0, // written by a newer version
    FACTS_ACCESSED_WAYS(FACTS_VALUE, PROFILE_ACCESSED_) PROFILE_ACCESSED_WAYS
};
enum { FACTS_ACCESSED_FLAGS(FACTS_VALUE, PROFILE_ACCESSED_) };

struct profile_requests {
    FACTS_REQUESTS(PROFILE_AS)
};

struct profile_accessed {
    FACTS_ACCESSED(PROFILE_AS)
};

// --- Rows: shared memory ------------------------------------------------------------------------

struct profile_shared_array {
    FACTS_SHARED_ARRAY(PROFILE_AS)
    const char *name; // as the source has it; NULL: unknown
};

// The array of shared memory that an instruction leads to.
struct profile_site_array {
    uint32_t kernel, site; // site: number of a kernel_site
    const char *name;      // as the source has it
};

enum { FACTS_SHARED_FLAGS(FACTS_VALUE, PROFILE_SHARED_) };
enum { PROFILE_SHARED_WORD_BYTES = 4 };

struct profile_shared_run {
    FACTS_SHARED_RUN(PROFILE_AS)
};

// Of an array with very many runs there are several rows, each of which begins where the previous
// one ends.
struct profile_shared_words {
    FACTS_SHARED_WORDS(PROFILE_AS)
    const struct profile_shared_run *runs; // from `first` on
    uint32_t run_count;
};

// What follows from the runs. The minimum and the maximum are those of a word.
struct profile_shared_sums {
    uint64_t words, touched, untouched_bytes;
    uint64_t loads, loads_min, loads_max, stores, stores_min, stores_max;
};
struct profile_shared_sums profile_shared_sum(const struct profile_shared_words *words);

// What stores of a site to an array began, and the live ranges of the array.
struct profile_shared_ranges {
    FACTS_SHARED_RANGES(PROFILE_AS)
};

struct profile_shared_lives {
    FACTS_SHARED_LIVES(PROFILE_AS)
};

// --- Rows: what blocks load ----------------------------------------------------------------------

enum { FACTS_REUSE_FLAGS(FACTS_VALUE, PROFILE_REUSE_) };

struct profile_block_reuse {
    FACTS_BLOCK_REUSE(PROFILE_AS)
};

// --- Rows: caches --------------------------------------------------------------------------------

enum {
    PROFILE_CACHE_ALL = 1 << 16,  // the share of a model that looks at all lines
    PROFILE_CACHE_KINDS = 3,      // of accesses, in the order of enum profile_site_access
    PROFILE_CACHE_DISTANCES = 65, // 0, and those of each power of two
    PROFILE_CACHE_LINE_BYTES = 128,
    PROFILE_CACHE_SECTOR_BYTES = 32,
};

// A launch whose accesses went through the model of the caches.
struct profile_cache_launch {
    uint64_t call;
    uint32_t node; // of a graph launch: from 1
    uint32_t kernel;
    const char *preset;    // of the model: "h200"
    uint32_t share;        // of PROFILE_CACHE_ALL lines that the model looked at; at least 1
    uint32_t resident;     // blocks of a multiprocessor; 0: unknown
    uint64_t shared_bytes; // of L1 that are shared memory
    uint64_t l1_bytes;     // of a multiprocessor, without shared memory
    uint64_t l2_bytes;     // of all partitions
    uint64_t records;      // of accesses that the model was given
    uint64_t lost;         // records that found no room
};

// Of the sampled lines; so are all numbers below.
struct profile_cache_hits {
    uint64_t sectors, hits;
};

// What a launch did at a site to an object.
struct profile_cache {
    uint64_t call, object; // object 0: none is known
    uint32_t node;         // of a graph launch: from 1
    uint32_t kernel, site; // site: number of a kernel_site
    struct profile_cache_hits l1[PROFILE_CACHE_KINDS], l2[PROFILE_CACHE_KINDS];
    uint64_t read, written; // sectors that memory delivered and received
    // The 95 % sampling error of the hit rate of all kinds, in hundredths of a percentage point.
    int32_t l1_error, l2_error; // -1: unknown
};

// How often sectors of an object were used again in a launch, by how many other lines were used
// meanwhile: 0 in the first place, and at least 2^(n-1), but less than 2^n, in place n. What
// earlier launches used is used for the first time: no order of blocks brings it nearer.
struct profile_cache_reuse {
    uint64_t call, object; // object 0: none is known
    uint32_t node;         // of a graph launch: from 1
    uint32_t kernel;
    uint32_t level; // 1: what reaches L1, by multiprocessor; 2: what reaches L2
    uint64_t first; // sectors that were used for the first time
    uint64_t sectors[PROFILE_CACHE_DISTANCES];
};

// --- Rows: doubts --------------------------------------------------------------------------------

enum profile_doubt_kind {
    PROFILE_DOUBT_OTHER = 0, // written by a newer version
    FACTS_DOUBTS(FACTS_VALUE, PROFILE_DOUBT_) PROFILE_DOUBT_KINDS
};

struct profile_doubt {
    uint64_t call;
    uint32_t node; // of a graph launch: from 1
    enum profile_doubt_kind kind;
};

// --- Rows: first uses ----------------------------------------------------------------------------

enum profile_use_kind {
    PROFILE_USE_OTHER = 0, // written by a newer version
    FACTS_USE_KINDS(FACTS_VALUE, PROFILE_USE_) PROFILE_USE_KINDS
};

// The program's first use of data that a synchronization made safe. Data without a row was not used
// before it was overwritten or freed, or before the program ended. Or glint did not look, because
// enough uses had shown that the synchronizations on its call path are needed.
struct profile_use {
    FACTS_USE(PROFILE_AS)
};

// --- Rows: transfers -----------------------------------------------------------------------------

enum profile_same { FACTS_SAMES(FACTS_VALUE, PROFILE_SAME_) };

// A copy without a row was not hashed.
struct profile_hash {
    FACTS_HASH(PROFILE_AS)
};

// A copy without a row: it is unknown whether its source changed.
struct profile_copy_source {
    FACTS_COPY_SOURCE(PROFILE_AS)
};

struct profile_block {
    FACTS_BLOCK(PROFILE_AS)
};

struct profile_block_end {
    FACTS_BLOCK_END(PROFILE_AS)
};

// --- Rows: collectives ---------------------------------------------------------------------------

enum profile_collective_type {
    PROFILE_COLLECTIVE_NONE = 0, // or unknown
    FACTS_COLLECTIVE_TYPES(FACTS_VALUE, PROFILE_COLLECTIVE_) PROFILE_COLLECTIVE_TYPES
};

struct profile_collective {
    FACTS_COLLECTIVE(PROFILE_AS)
};

// --- Rows: corrections ---------------------------------------------------------------------------

enum profile_remedy {
    PROFILE_REMEDY_NONE = 0,
    FACTS_REMEDIES(FACTS_VALUE, PROFILE_REMEDY_) PROFILE_REMEDIES
};

// What a row of the plan that the program ran with has done. Row 0: the plan as a whole.
#define PROFILE_CORRECTION_COUNT(name, field) uint64_t field;
struct profile_correction {
    uint32_t row;
    enum profile_remedy remedy;
    uint32_t path; // at which it applies; 0: the program did not reach it
    FACTS_CORRECTION_COUNTS(PROFILE_CORRECTION_COUNT)
};

// Return the word of a value, as the views and JSON have it: "graph-launch". "?" if the value is
// not one of the enumeration.
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
const char *profile_value_type_word(enum profile_value_type type);
const char *profile_contents_kind_word(enum profile_contents_kind kind);

// --- Writing -------------------------------------------------------------------------------------

// A writer belongs to one thread. What it has been given survives a SIGKILL of this process after
// at most 50 ms, as long as the writer keeps being called: call profile_tick when there is nothing
// to write.
struct profile_writer;

// A file name that is reserved for a profile, for as long as this process lives.
struct profile_place;

// Reserves a file name, so that errors appear before there is anything to write. A new name becomes
// an empty profile; an existing file stays until profile_create_at. Follows links; never replaces
// anything but a regular file. An empty profile that a killed process reserved does not count as
// existing. Returns BASE_CONFLICT if the file exists and may not be replaced. Sets *taken if that
// is because another process has reserved or is writing it, in which case `overwrite` does not
// help. Returns BASE_IO if the system refused.
enum base_code profile_reserve(const char *path, bool overwrite, struct profile_place **place,
                               bool *taken, struct base_error *error);
// Gives up the name and removes what reserving it created. NULL is allowed.
void profile_release(struct profile_place *place);
// Removes what killed processes left beside the path when they had reserved it, and nothing that a
// living process uses. Reserving a name does this too.
void profile_sweep(const char *path);
// Creates the profile. Consumes the place, also on failure.
enum base_code profile_create_at(struct profile_place *place, struct profile_writer **writer,
                                 struct base_error *error);

// Reserves and creates in one step. Returns BASE_CONFLICT if the file exists and `overwrite` is
// false, BASE_IO if the system refused; then nothing was created. The caller ends the writer with
// profile_finish or profile_abandon.
enum base_code profile_create(const char *path, bool overwrite, struct profile_writer **writer,
                              struct base_error *error);

// All of these may fail with BASE_IO or BASE_NO_MEMORY, at once or in a later call. The writer then
// accepts nothing more and keeps returning the same error; what was committed before stays
// readable, for instance when the disk is full. Definitions (program to graph), ends, names, times
// and what probes measured may be written again: the last row of a number wins. Of calls and
// objects the first row wins.
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
enum base_code profile_add_source(struct profile_writer *writer,
                                  const struct profile_source *source, struct base_error *error);
enum base_code profile_add_graph(struct profile_writer *writer, const struct profile_graph *graph,
                                 struct base_error *error);
enum base_code profile_add_edge(struct profile_writer *writer, const struct profile_edge *edge,
                                struct base_error *error);
enum base_code profile_add_call(struct profile_writer *writer, const struct profile_call *call,
                                struct base_error *error);
enum base_code profile_add_time(struct profile_writer *writer, const struct profile_time *time,
                                struct base_error *error);
// Sets how long a call waited, if that was unknown when the call was added.
enum base_code profile_set_waited(struct profile_writer *writer, uint64_t call, uint64_t waited_ns,
                                  struct base_error *error);
enum base_code profile_add_object(struct profile_writer *writer,
                                  const struct profile_object *object, struct base_error *error);
enum base_code profile_end_object(struct profile_writer *writer, uint64_t number, uint64_t call,
                                  uint32_t stream, struct base_error *error);
enum base_code profile_name_object(struct profile_writer *writer, uint64_t number, const char *name,
                                   enum profile_name_source source, struct base_error *error);
// Of a range only what is known when it begins is written; the end follows apart.
enum base_code profile_add_nvtx_range(struct profile_writer *writer,
                                      const struct profile_nvtx_range *range,
                                      struct base_error *error);
enum base_code profile_end_nvtx_range(struct profile_writer *writer, uint64_t number,
                                      int64_t end_ns, uint32_t thread, struct base_error *error);
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
// Adds a piece to its map; where pieces overlap, the last one wins. If the size or the number of
// elements changes, the map starts over. Returns BASE_INVALID if the piece does not fit the map
// that it describes.
enum base_code profile_add_map(struct profile_writer *writer, const struct profile_map *piece,
                               struct base_error *error);
// Contents are kept in the order in which they are added. Of the stores of the same call, node,
// site and object the last row wins.
enum base_code profile_add_contents(struct profile_writer *writer,
                                    const struct profile_contents *contents,
                                    struct base_error *error);
enum base_code profile_add_stored(struct profile_writer *writer,
                                  const struct profile_stored *stored, struct base_error *error);
// Of the same call, node, object and offset the last row wins.
enum base_code profile_add_weighed(struct profile_writer *writer,
                                   const struct profile_weighed *weighed, struct base_error *error);
// Of the same call, node, object, way, stride, offset and type the last row wins.
enum base_code profile_add_requests(struct profile_writer *writer,
                                    const struct profile_requests *requests,
                                    struct base_error *error);
enum base_code profile_add_shared_array(struct profile_writer *writer,
                                        const struct profile_shared_array *array,
                                        struct base_error *error);
enum base_code profile_add_site_array(struct profile_writer *writer,
                                      const struct profile_site_array *array,
                                      struct base_error *error);
// Of the same call, node, array and first word the last row wins.
enum base_code profile_add_shared_words(struct profile_writer *writer,
                                        const struct profile_shared_words *words,
                                        struct base_error *error);
// Of the same call, node, array and site the last row wins.
enum base_code profile_add_shared_ranges(struct profile_writer *writer,
                                         const struct profile_shared_ranges *row,
                                         struct base_error *error);
enum base_code profile_add_shared_lives(struct profile_writer *writer,
                                        const struct profile_shared_lives *row,
                                        struct base_error *error);
// Of the same call, node and object the last row wins.
enum base_code profile_add_block_reuse(struct profile_writer *writer,
                                       const struct profile_block_reuse *reuse,
                                       struct base_error *error);
// Of the same call and node the last row wins.
enum base_code profile_add_cache_launch(struct profile_writer *writer,
                                        const struct profile_cache_launch *launch,
                                        struct base_error *error);
// Of the same call, node, object and site the last row wins.
enum base_code profile_add_cache(struct profile_writer *writer, const struct profile_cache *cache,
                                 struct base_error *error);
// Of the same call, node, object and level the last row wins.
enum base_code profile_add_cache_reuse(struct profile_writer *writer,
                                       const struct profile_cache_reuse *reuse,
                                       struct base_error *error);
enum base_code profile_add_accessed(struct profile_writer *writer,
                                    const struct profile_accessed *accessed,
                                    struct base_error *error);
enum base_code profile_add_doubt(struct profile_writer *writer, const struct profile_doubt *doubt,
                                 struct base_error *error);
// Of the same sync, copy, node and object the last row wins.
enum base_code profile_add_use(struct profile_writer *writer, const struct profile_use *use,
                               struct base_error *error);
// Of the same copy or block the first row wins.
enum base_code profile_add_hash(struct profile_writer *writer, const struct profile_hash *hash,
                                struct base_error *error);
enum base_code profile_add_copy_source(struct profile_writer *writer,
                                       const struct profile_copy_source *source,
                                       struct base_error *error);
enum base_code profile_add_block(struct profile_writer *writer, const struct profile_block *block,
                                 struct base_error *error);
enum base_code profile_add_block_end(struct profile_writer *writer,
                                     const struct profile_block_end *end, struct base_error *error);
// Of the same call the last row wins.
enum base_code profile_add_collective(struct profile_writer *writer,
                                      const struct profile_collective *collective,
                                      struct base_error *error);
enum base_code profile_add_correction(struct profile_writer *writer,
                                      const struct profile_correction *correction,
                                      struct base_error *error);

// Commits what is 50 ms old. Call it while there is nothing else to write.
enum base_code profile_tick(struct profile_writer *writer, struct base_error *error);
// Commits everything that the writer was given.
enum base_code profile_commit(struct profile_writer *writer, struct base_error *error);

// Writes how the program ended, marks the profile complete and makes it one self-contained file.
// Frees the writer, also on failure. If a reader holds the file open or the disk is full, the
// profile is complete but its "-wal" file stays beside it, which SQLite reads with it.
enum base_code profile_finish(struct profile_writer *writer, enum profile_ending ending,
                              int32_t code, struct base_error *error);

// Frees the writer and leaves the profile as if the recorder had been killed. NULL is allowed.
void profile_abandon(struct profile_writer *writer);

// --- Reading -------------------------------------------------------------------------------------

// An open profile, used by one thread. It shows the file as it was when it was opened, also while a
// recorder is writing it.
struct profile;

// Opens a profile. Returns BASE_NOT_FOUND if there is no such file, BASE_INVALID if it is not a
// profile, BASE_UNSUPPORTED if its major version is newer, BASE_CORRUPT if it is damaged, BASE_IO
// if the system refused. The caller closes it with profile_close.
enum base_code profile_open(const char *path, struct profile **profile, struct base_error *error);
void profile_close(struct profile *profile);

// A job profile is another kind of file: sums over the profiles of many processes (src/job). Its
// application_id and user_version distinguish it from a profile.
enum { PROFILE_JOB_APPLICATION_ID = 0x676c6a62 }; // "gljb"
enum { PROFILE_JOB_MAJOR = 1, PROFILE_JOB_MINOR = 0 };
// Returns whether the file is a job profile; false if it cannot be read.
bool profile_is_job(const char *path);
// Opens a job profile, for profile_query alone. Fails as profile_open does.
enum base_code profile_open_job(const char *path, struct profile **profile,
                                struct base_error *error);

// Call `each` for every row, in the order of their numbers; calls have their details and GPU times.
// The callback returns false to stop. The row is valid until the callback returns, its texts until
// profile_close. Return BASE_CORRUPT if damage shows only now.
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
PROFILE_EACH(source, source); // in the order of their numbers
PROFILE_EACH(graph, graph);
PROFILE_EACH(edge, edge); // in the order of graphs, then of the nodes that they lead to
PROFILE_EACH(call, call);
PROFILE_EACH(node_time, time); // of the nodes of graph launches
PROFILE_EACH(object, object);
PROFILE_EACH(nvtx_range, nvtx_range); // in the order of their numbers
PROFILE_EACH(nvtx_sum, nvtx_sum);     // the longest in all first, then the most frequent
PROFILE_EACH(note, note);
PROFILE_EACH(dropped, dropped);
PROFILE_EACH(setting, setting);
PROFILE_EACH(probe, probe);
PROFILE_EACH(kernel_site, kernel_site);
PROFILE_EACH(access, access); // in the order of calls, then nodes, then objects; likewise counts
PROFILE_EACH(counts, counts);
PROFILE_EACH(map, map); // in the order of objects; the bits are valid until the callback returns
PROFILE_EACH(contents, contents); // in the order of calls, then nodes, then as they were added
PROFILE_EACH(stored, stored);     // in the order of calls, then nodes, sites and objects
PROFILE_EACH(weighed, weighed);   // in the order of calls, then nodes, objects and offsets
PROFILE_EACH(requests, requests); // in the order of calls, then nodes and sites
PROFILE_EACH(shared_array, shared_array);
PROFILE_EACH(site_array, site_array);
PROFILE_EACH(shared_words, shared_words);   // in the order of calls, then nodes, arrays and words;
                                            // the runs are valid until the callback returns
PROFILE_EACH(shared_ranges, shared_ranges); // in the order of calls, then nodes, arrays and sites
PROFILE_EACH(shared_lives, shared_lives);   // in the order of calls, then nodes and arrays
PROFILE_EACH(block_reuse, block_reuse);     // in the order of calls, then nodes and objects
PROFILE_EACH(cache_launch, cache_launch);   // in the order of calls, then nodes
PROFILE_EACH(cache, cache);                 // in the order of calls, then nodes, objects and sites
PROFILE_EACH(cache_reuse, cache_reuse);     // in the order of calls, then nodes, objects and levels
PROFILE_EACH(accessed, accessed);           // in the order of calls, then nodes and objects
PROFILE_EACH(doubt, doubt);                 // in the order of calls, then nodes
PROFILE_EACH(use, use);   // in the order of copies, then nodes, objects and synchronizations
PROFILE_EACH(hash, hash); // in the order of copies
PROFILE_EACH(copy_source, copy_source); // the same
PROFILE_EACH(block, block);
PROFILE_EACH(block_end, block_end);   // of those that were freed
PROFILE_EACH(collective, collective); // in the order of calls
PROFILE_EACH(correction, correction);
PROFILE_EACH(stack, stack);

// An iterator over the same accesses, to read them in step with something else. The row that
// profile_accesses_next returns is valid until its next call. It returns NULL at the end and on
// failure; profile_accesses_end frees the iterator and returns the failure. Both accept NULL.
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
    struct base_str bytes; // of text and blobs; valid until the callback returns
};

// Receives the result of a query: once the names of its columns, then each row. A callback returns
// false to stop the query.
struct profile_sink {
    bool (*columns)(void *user, unsigned count, const char *const *names);
    bool (*row)(void *user, unsigned count, const struct profile_cell *cells);
    void *user;
};

// Runs one SQL statement. Returns BASE_INVALID, without running it, if it is not valid SQL or does
// more than read. Returns BASE_OK if the sink stopped it.
enum base_code profile_query(struct profile *profile, const char *sql,
                             const struct profile_sink *sink, struct base_error *error);

// Rows in memory that queries can read as a table.
struct profile_rows {
    const char *name;
    const char *declaration; // CREATE TABLE NAME(COLUMN, ...)
    unsigned column_count;
    size_t row_count;
    const struct profile_cell *cells; // row by row; integers, reals, texts and NULL
};
// Lets queries read the table, which must live until the profile is closed.
enum base_code profile_offer_rows(struct profile *profile, const struct profile_rows *table,
                                  struct base_error *error);

// Makes the query that runs on the profile fail with BASE_IO. May be called by any thread and by
// signal handlers.
void profile_interrupt(struct profile *profile);

#endif
