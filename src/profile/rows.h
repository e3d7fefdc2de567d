// SPDX-License-Identifier: Apache-2.0
// The rows of a profile, in profile.h: the process, its call paths, calls, objects and notes.
#ifndef GLINT_PROFILE_ROWS_H
#define GLINT_PROFILE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "facts/facts.h"

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

#endif
