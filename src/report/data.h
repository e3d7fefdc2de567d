// SPDX-License-Identifier: Apache-2.0
// What every report needs of a profile, read once: its objects, findings, and sums over its calls.
// Calls are not kept; a report that shows them reads them again. Inner header of src/report.
#ifndef GLINT_REPORT_DATA_H
#define GLINT_REPORT_DATA_H

#include "analyze/analyze.h"
#include "report.h"

// Accesses of kernels to an object, in the launches that were watched.
struct report_use {
    uint64_t reads, writes;             // launches
    uint64_t passed;                    // launches that may have: it is known by their arguments
    uint64_t bytes_read, bytes_written; // if `moved`
    uint64_t touched, shared;           // elements: by some launch, by more than one
    uint32_t element_bytes;             // 0: elements are unknown
    bool moved;                         // bytes are known
    bool mixed;                         // element sizes differ, so there are no sums
};

struct report_object {
    const char *name;  // NULL: none
    const char *label; // the name for people, by labels.c; NULL: none
    uint64_t number, address, bytes;
    uint64_t call;                      // that allocated it; 0: none
    uint64_t end;                       // the call that ended it; ANALYZE_NEVER: none
    uint64_t first_access, last_access; // calls; 0: none
    struct report_use use;
    uint64_t parent; // the object that it is a part of; 0: none
    uint32_t path;   // of the call that made it
    uint32_t device, stream;
    uint8_t kind;        // enum profile_object_kind
    uint8_t name_source; // enum profile_name_source
    bool counts;         // it counts as device memory in use
    bool holds_tensors;  // some are or were parts of it
};

struct report_amount {
    uint64_t count, bytes;
};

// What is in use at a peak, if the program has tensors: blocks that it uses, the objects in which
// its allocator has blocks, and device memory that has none.
struct report_tensors {
    bool any; // the program has tensors
    struct report_amount blocks, segments, outside;
};

struct report_sum {
    uint64_t count, bytes;
    uint64_t timed; // how many have times
    uint64_t total_ns, longest_ns;
};

struct report_kernel {
    const char *name;
    const char *symbol;     // its mangled name; NULL: unknown
    const char *short_name; // by short_names.h
    struct report_sum sum;
    bool probed;        // the next three are known
    uint32_t facts;     // sum of PROFILE_PROBE_* that it has in all modules
    const char *reason; // NULL: none
    uint64_t watched;   // launches
    uint64_t passed;    // launches that are known by their arguments
};

// How it is known what launches accessed.
enum report_known { REPORT_BY_PROBES, REPORT_BY_ARGUMENTS, REPORT_NOT_KNOWN, REPORT_KNOWN_WAYS };

struct report_coverage {
    uint64_t launches[REPORT_KNOWN_WAYS];
    uint64_t gpu_ns[REPORT_KNOWN_WAYS]; // of a kernel with several, by the numbers of its launches
};

struct report_wait { // waits in one function, called from one place
    uint32_t function, path;
    bool is_explicit;
    struct report_sum sum; // of waited time
};

// A call path that some row refers to.
struct report_path {
    const struct profile_frame *frames; // innermost first
    uint32_t frame_count;
};

struct report_note {
    enum profile_severity severity;
    const char *text;
};

struct report_correction { // by one remedy
    uint64_t places, calls;
};

struct report_collective { // calls of NCCL in one function, communicator and call path
    const char *name;
    uint32_t communicator; // 0: none
    int64_t rank, ranks;   // -1: unknown
    uint32_t path;         // number; 0: unknown
    uint64_t calls, failed;
    bool has_sent, has_received; // the bytes of all of them are known
    uint64_t sent_bytes, received_bytes;
};

struct report_dropped {
    const char *kind;
    uint64_t count;
};

enum { REPORT_DIRECTIONS = PROFILE_PEER_TO_PEER + 1 };

// What one node of a graph does at each launch of the graph.
struct report_node {
    enum profile_node_kind kind;
    uint32_t kernel; // number
    enum profile_direction direction;
    uint64_t bytes;
    uint64_t objects[2]; // of a copy: from and to; of a set: the first
};

struct report_graph {
    struct report_node *nodes;
    uint32_t node_count;
    uint64_t launches;
};

enum { REPORT_MOST_PENDING = 64 };

// Calls that failed: failures.c.
struct report_failures {
    uint64_t count;            // without those that fail by design
    struct profile_call first; // of them, if there are any
    uint64_t modules;          // that could not be loaded; they may count or not
    struct profile_call module;
    const char *fault; // what the simulated GPU says about the kernel that failed; NULL: nothing
    // The launches that were not known to have ended at the first failure.
    struct report_pending {
        uint32_t kernel, path, stream;
    } pending[REPORT_MOST_PENDING];
    uint32_t pending_count;
    uint64_t missed; // more of them
};

struct report_data {
    struct profile *profile;
    struct base_arena arena;
    struct base_map functions; // number to const char *
    struct base_map images;    // likewise
    struct base_map kernels;   // number to index + 1 in kernel_rows
    struct base_map kernel_names;
    struct base_map paths; // number to struct report_path *; 0 until it is read
    struct base_map called, plain_functions, path_functions; // used by called.c
    struct base_map lines_in, callers;                       // used by place.c
    struct base_map graphs;
    struct base_map waits;
    BASE_ARRAY(struct profile_device) devices;
    BASE_ARRAY(struct report_kernel) kernel_rows;
    BASE_ARRAY(struct report_object) objects; // by number
    BASE_ARRAY(struct report_graph) graph_rows;
    BASE_ARRAY(struct report_wait) wait_rows;
    BASE_ARRAY(struct report_note) notes;             // of the profile, and added by notes.c
    BASE_ARRAY(struct report_collective) collectives; // in the order of the first call of each
    BASE_ARRAY(struct report_dropped) dropped;
    BASE_ARRAY(struct profile_setting) settings;
    struct report_sum copies[REPORT_DIRECTIONS]; // by direction
    struct report_sum sets;
    uint64_t calls, launches, dropped_count;
    struct report_failures failures;
    uint64_t accesses;            // of kernels to objects
    bool has_moved, has_elements; // bytes, and elements, of some of them are known
    bool corrected;               // glint fix changed waits and memory of this run
    struct report_correction corrections[PROFILE_REMEDIES];
    uint64_t sample;            // one launch in so many was watched; 0: all
    const char *capture_range;  // only launches in this part of the run were watched; NULL: all
    const char *kernels_wanted; // only matching kernels were watched; NULL: all
    int64_t last_ns;            // when the last call returned
    bool wants_flow;            // the call paths of the value flow graph are wanted
    struct analysis *analysis;
    const struct analyze_peak *peaks; // owned by the analysis
    size_t peak_count;
    uint64_t peak_bytes; // the highest, as a sum over devices
    size_t suppressed;   // findings that a file of rules removed
};

// Reads a profile and analyzes it. The data starts as {0}, or with `paths` that the caller wants,
// too, or with `wants_flow`. The caller calls report_data_fini, also after a failure.
enum base_code report_data_load(struct report_data *data, struct profile *profile,
                                const struct analyze_thresholds *thresholds,
                                struct base_error *error);
void report_data_fini(struct report_data *data);

// Stores a path if it is wanted. Returns false when memory ran out.
bool report_keep_path(struct report_data *data, const struct profile_path *path);

// use.c: add the accesses of kernels. Kernels are read before probes, and objects before accesses.
enum base_code report_load_probes(struct report_data *data, struct base_error *error);
void report_add_access(struct report_data *data, const struct profile_access *access);
// Returns how many elements the object has, of the size for which accesses are known.
uint64_t report_elements(const struct report_object *object);

// Return whether the object exists at the peak; and whether it then counts as memory in use.
bool report_is_alive(const struct report_object *object, const struct analyze_peak *peak);
bool report_is_in_peak(const struct report_object *object, const struct analyze_peak *peak);
// Returns the number of the device in whose memory the object is, from 0; -1: it is in no device's,
// or the program used only one.
int report_device_of(const struct report_data *data, const struct report_object *object);
// Returns whether it counts at the highest peak of its device.
bool report_is_in_highest(const struct report_data *data, const struct report_object *object);

// tensors.c: sets `holds_tensors` of all objects, which then do not count as memory in use; says
// how much tensors use at a peak, and whether an object that is in use then never held any.
void report_mark_holders(const struct report_data *data);
struct report_tensors report_tensors(const struct report_data *data,
                                     const struct analyze_peak *peak);
bool report_is_outside_tensors(const struct report_object *object, const struct analyze_peak *peak);

// Returns the object of that number; NULL if there is none.
struct report_object *report_find_object(const struct report_data *data, uint64_t number);
// labels.c: labels all objects. Returns false when memory ran out.
bool report_label_objects(struct report_data *data);
// coverage.c: how much was observed.
struct report_coverage report_coverage(const struct report_data *data);
struct report_coverage report_kernel_coverage(const struct report_kernel *kernel);
// Lists the kernels of which the most was not observed: GPU time, or launches if times are not
// real. Returns how many.
enum { REPORT_MOST_UNOBSERVED = 3 };
size_t report_unobserved(const struct report_data *data,
                         const struct report_kernel *largest[REPORT_MOST_UNOBSERVED]);
// Adds "largest not observed: gemm<...> (31% of GPU time), scan (2% of GPU time)"; nothing if all
// launches were observed.
void report_put_unobserved(const struct report_data *data, struct base_buf *out);
// Returns whether some launches were observed by their arguments or not at all.
bool report_has_gaps(const struct report_data *data);
// Adds "launches observed by probes: 12 (65% of GPU time), by arguments: 4 (35% of GPU time)".
void report_put_coverage(const struct report_data *data, struct base_buf *out);
// notes.c: adds notes about the limits of the profile. Returns false when memory ran out.
bool report_add_notes(struct report_data *data);
// notes.c: returns whether no place is known by its line.
bool report_lacks_lines(const struct report_data *data);
#define REPORT_NO_LINES "no line numbers: build with -g"
// notes.c: adds a note about suppressed findings, if there are any, in the same way.
bool report_add_suppressed_note(struct report_data *data);
// notes.c: adds how often the program waited for the GPU and, if times are real, for how long; and
// how to find out which waits were needed, if that was not recorded. Adds nothing if it never
// waited.
void report_put_waits(const struct report_data *data, struct base_buf *out);
// waits.c: writes for how many waits it is unknown whether they were needed, and why. Returns false
// if there are none, or the recording was not to track first uses.
bool report_put_unknown_waits(const struct report_data *data, struct base_buf *out);
// Returns whether they are so many, or took so long, that the first screen says it.
bool report_matter_unknown_waits(const struct report_data *data);
// The same for waits that were not needed, but are in no finding, and why; and for those that bound
// a time which the program measures.
bool report_put_unlisted_waits(const struct report_data *data, struct base_buf *out);
bool report_put_timed_waits(const struct report_data *data, struct base_buf *out);
// Notes that the call accessed the object.
void report_touch(struct report_object *object, uint64_t call);
const char *report_function_name(const struct report_data *data, uint32_t number);

// called.c: returns the function that the program called: of the CUDA runtime ("cudaMemcpy"), else
// of the driver ("cuMemcpyHtoD"). NULL: unknown.
const char *report_called(const struct report_data *data, uint32_t path, uint32_t function);
// The same for the function that is called from the path.
const char *report_called_at(const struct report_data *data, uint32_t path);
// Add what called.c needs for that. Return false when memory ran out.
bool report_add_function(struct report_data *data, uint32_t number, const char *name);
bool report_add_caller(struct report_data *data, uint32_t path, uint32_t function);
bool report_add_called(struct report_data *data, const struct profile_path *path);

const char *report_kernel_name(const struct report_data *data, uint32_t number);
const char *report_image_path(const struct report_data *data, uint32_t number);
const struct report_path *report_path_of(const struct report_data *data, uint32_t number);
const struct report_graph *report_graph_of(const struct report_data *data, uint64_t number);

// place.c: adds where a call is, in short: "file.cu:12", "function" or "library+0x1234". That is
// the innermost frame with a source line, else the innermost frame, without the compiler's launch
// stubs, libraries of templates, and wrappers of CUDA functions. Adds nothing if nothing is known.
// report_place returns that frame; NULL if there is none. In a program in Python it is a line of
// Python.
const struct profile_frame *report_place(const struct report_data *data, uint32_t path);
void report_put_place(const struct report_data *data, uint32_t path, struct base_buf *out);
// Returns the call path at which a finding is placed: that of its call, or if nothing in it is the
// user's, as where Python's interpreter frees a tensor at its end, that of another call of the
// finding, or of the object's allocation. 0: none.
uint32_t report_finding_path(const struct report_data *data, const struct analyze_finding *finding);
// Returns whether the frame is one of Python's interpreter, or of ctypes: it says nothing that the
// Python frames around it do not.
bool report_is_interpreter(const struct report_data *data, const struct profile_frame *frame);
bool report_has_python(const struct report_path *path); // some frame is of Python code
// Returns whether the frame is in a file. Python calls code that is in none "<string>" or so.
static inline bool report_has_source(const struct profile_frame *frame)
{
    return frame->file && frame->file[0] && !(frame->python && frame->file[0] == '<');
}
// Takes a call path, to know which functions are wrappers: those with a single line that leads to
// CUDA, and several callers. Images are known. Returns false when memory ran out.
bool report_note_wrappers(struct report_data *data, const struct report_path *path);
// Returns how many of the innermost frames belong to the compiler's launch stub.
uint32_t report_stub_frames(const struct report_path *path);
// Adds the place of a call beside that of another, without folders. If both are in a function that
// both called, adds the line in their common caller: "gemm.cu:20, called at main.cu:49".
void report_put_place_beside(const struct report_data *data, uint32_t path, uint32_t other,
                             struct base_buf *out);
// Adds the call path, "solve 2mm.cu:31 < main 2mm.cu:60", without folders and without the frames of
// launch stubs, the CUDA runtime and the program's start.
void report_put_trace(const struct report_data *data, uint32_t path, struct base_buf *out);
// The same without the function of a library of templates that the user called.
void report_put_user_trace(const struct report_data *data, uint32_t path, struct base_buf *out);

#endif
