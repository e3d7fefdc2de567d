// SPDX-License-Identifier: Apache-2.0
// What every report needs of a profile, read once: its objects, and sums of its calls. Calls
// themselves are not kept: a report that shows them reads them again. Inner header of src/report.
#ifndef GLINT_REPORT_DATA_H
#define GLINT_REPORT_DATA_H

#include "analyze/analyze.h"
#include "report.h"

// What kernels did to an object, in the launches that were watched.
struct report_use {
    uint64_t reads, writes;             // launches that did
    uint64_t bytes_read, bytes_written; // moved, where `moved`
    uint64_t touched, shared;           // elements: by some launch, by more than one
    uint32_t element_bytes;             // 0: elements are not told
    bool moved;                         // bytes are told
    bool mixed;                         // elements are told at more than one granularity: not sums
};

struct report_object {
    const char *name; // NULL: none
    uint64_t number, address, bytes;
    uint64_t call;                      // that made it; 0: none
    uint64_t end;                       // the call that ended it; ANALYZE_NEVER: none
    uint64_t first_access, last_access; // calls that read or wrote it, in any way; 0: none
    struct report_use use;
    uint64_t parent; // in which it lies; 0: in none
    uint32_t path;   // of the call that made it
    uint32_t device, stream;
    uint8_t kind;        // enum profile_object_kind
    uint8_t name_source; // enum profile_name_source
    bool counts;         // as device memory in use
};

struct report_sum {
    uint64_t count, bytes;
    uint64_t timed; // how many of them have times
    uint64_t total_ns, longest_ns;
};

struct report_kernel {
    const char *name;
    const char *short_name; // for people (short_names.h)
    struct report_sum sum;
    bool probed;        // the three below are told
    uint32_t facts;     // sum of PROFILE_PROBE_*; those that it has in all modules
    const char *reason; // NULL: none
    uint64_t watched;   // launches
};

struct report_wait { // synchronisations by one function from one place
    uint32_t function, path;
    bool is_explicit;
    struct report_sum sum; // of waited time
};

// A call path that something above needs.
struct report_path {
    struct profile_frame *frames; // innermost first
    uint32_t frame_count;
};

struct report_note {
    enum profile_severity severity;
    const char *text;
};

struct report_correction { // by one remedy
    uint64_t places, calls;
};

struct report_dropped {
    const char *kind;
    uint64_t count;
};

enum { REPORT_DIRECTIONS = PROFILE_PEER_TO_PEER + 1 };

// What one node of a graph does each time that the graph is launched.
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

struct report_data {
    struct profile *profile;
    struct base_arena arena;
    struct base_map functions; // number to const char *
    struct base_map images;    // likewise
    struct base_map kernels;   // number to index + 1 in kernel_rows
    struct base_map kernel_names;
    struct base_map paths; // number to struct report_path *, 0 while it is only wanted
    struct base_map called, plain_functions, path_functions; // called.c's
    struct base_map graphs;
    struct base_map waits;
    BASE_ARRAY(struct profile_device) devices;
    BASE_ARRAY(struct report_kernel) kernel_rows;
    BASE_ARRAY(struct report_object) objects; // by number
    BASE_ARRAY(struct report_graph) graph_rows;
    BASE_ARRAY(struct report_wait) wait_rows;
    BASE_ARRAY(struct report_note) notes; // the profile's, and what this file has to add
    BASE_ARRAY(struct report_dropped) dropped;
    BASE_ARRAY(struct profile_setting) settings;
    struct report_sum copies[REPORT_DIRECTIONS]; // by direction
    struct report_sum sets;
    uint64_t calls, failed_calls, launches, dropped_count;
    uint64_t accesses;            // of kernels to objects
    bool has_moved, has_elements; // some of them tell bytes, and elements
    bool corrected;               // by glint fix: waits and memory are not the program's own
    struct report_correction corrections[PROFILE_REMEDIES];
    uint64_t sample;            // every so many launches were to be watched; 0: all
    const char *kernels_wanted; // only those that match; NULL: all
    int64_t last_ns;            // when the last call returned
    struct analysis *analysis;
    const struct analyze_peak *peaks; // the analysis's
    size_t peak_count;
};

// Begins as {0}, or with more `paths` that are wanted; report_data_fini is needed also where this
// failed.
enum base_code report_data_load(struct report_data *data, struct profile *profile,
                                const struct analyze_thresholds *thresholds,
                                struct base_error *error);
void report_data_fini(struct report_data *data);

// Keeps a path that is wanted; false when memory ran out.
bool report_keep_path(struct report_data *data, const struct profile_path *path);

// use.c: adds what kernels did. Settings and probes come after kernels, accesses after objects.
enum base_code report_load_probes(struct report_data *data, struct base_error *error);
void report_add_access(struct report_data *data, const struct profile_access *access);
// Elements of the object, of the size at which they are told.
uint64_t report_elements(const struct report_object *object);

// The object is in use at the peak.
bool report_is_in_peak(const struct report_object *object, const struct analyze_peak *peak);

// NULL where there is none.
struct report_object *report_find_object(const struct report_data *data, uint64_t number);
// notes.c: adds what has to be known about the rest; false when memory ran out.
bool report_add_notes(struct report_data *data);
// notes.c: how often the program waited for the GPU and, unless the times are the simulated GPU's,
// for how long; and what finds which waits were needed, where that was not recorded. Nothing where
// it never waited.
void report_put_waits(const struct report_data *data, struct base_buf *out);
// The call read or wrote the object.
void report_touch(struct report_object *object, uint64_t call);
const char *report_function_name(const struct report_data *data, uint32_t number);

// called.c: the function that the program called, as people write it: of the CUDA runtime
// ("cudaMemcpy"), else of the driver ("cuMemcpyHtoD"). NULL: not known.
const char *report_called(const struct report_data *data, uint32_t path, uint32_t function);
// The same of whatever is called from the path.
const char *report_called_at(const struct report_data *data, uint32_t path);
// What it is told for that; false when memory ran out.
bool report_add_function(struct report_data *data, uint32_t number, const char *name);
bool report_add_caller(struct report_data *data, uint32_t path, uint32_t function);
bool report_add_called(struct report_data *data, const struct profile_path *path);

const char *report_kernel_name(const struct report_data *data, uint32_t number);
const char *report_image_path(const struct report_data *data, uint32_t number);
const struct report_path *report_path_of(const struct report_data *data, uint32_t number);
const struct report_graph *report_graph_of(const struct report_data *data, uint64_t number);

// place.c: where a call came from, in short: the innermost frame with a source line, else the
// innermost one, but for what the compiler makes of a launch: "file.cu:12", "function",
// "library+0x1234". Adds nothing where nothing is known.
// report_place gives that frame; NULL: none.
const struct profile_frame *report_place(const struct report_data *data, uint32_t path);
void report_put_place(const struct report_data *data, uint32_t path, struct base_buf *out);
// How many of the innermost frames are what the compiler makes of a launch, with what that calls.
uint32_t report_stub_frames(const struct report_path *path);
// Where a call came from as another one sees it: its place, and, where that is in a function that
// both have called, the line of the function that called both: "gemm.cu:20, called at main.cu:49".
// Without folders.
void report_put_place_beside(const struct report_data *data, uint32_t path, uint32_t other,
                             struct base_buf *out);
// The way there: "solve 2mm.cu:31 < main 2mm.cu:60", without what the compiler, the CUDA runtime
// and the start of a program put before and behind it, and without folders.
void report_put_trace(const struct report_data *data, uint32_t path, struct base_buf *out);

#endif
