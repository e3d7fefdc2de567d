// SPDX-License-Identifier: Apache-2.0
// What every report needs of a profile, read once: its objects, and sums of its calls. Calls
// themselves are not kept: a report that shows them reads them again. Inner header of src/report.
#ifndef GLINT_REPORT_DATA_H
#define GLINT_REPORT_DATA_H

#include "peaks.h"
#include "report.h"

enum { REPORT_PEAKS = 2 };

struct report_object {
    const char *name; // NULL: none
    uint64_t number, bytes;
    uint64_t call;                      // that made it; 0: none
    uint64_t end;                       // the call that ended it; REPORT_NEVER: none
    uint64_t first_access, last_access; // calls that copied or set it; 0: none
    uint32_t path;                      // of the call that made it
    uint8_t kind;                       // enum profile_object_kind
    bool counts;                        // as device memory in use
};

struct report_sum {
    uint64_t count, bytes;
    uint64_t timed; // how many of them have times
    uint64_t total_ns, longest_ns;
};

struct report_kernel {
    const char *name;
    struct report_sum sum;
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

struct report_dropped {
    const char *kind;
    uint64_t count;
};

enum { REPORT_DIRECTIONS = PROFILE_PEER_TO_PEER + 1 };

struct report_graph;

struct report_data {
    struct profile *profile;
    struct base_arena arena;
    struct base_map functions; // number to const char *
    struct base_map images;    // likewise
    struct base_map kernels;   // number to index + 1 in kernel_rows
    struct base_map kernel_names;
    struct base_map paths; // number to struct report_path *, 0 while it is only wanted
    struct base_map graphs;
    struct base_map waits;
    BASE_ARRAY(struct profile_device) devices;
    BASE_ARRAY(struct report_kernel) kernel_rows;
    BASE_ARRAY(struct report_object) objects; // by number
    BASE_ARRAY(struct report_graph) graph_rows;
    BASE_ARRAY(struct report_wait) wait_rows;
    BASE_ARRAY(struct report_note) notes; // the profile's, and what this file has to add
    BASE_ARRAY(struct report_dropped) dropped;
    struct report_sum copies[REPORT_DIRECTIONS]; // by direction
    struct report_sum sets;
    uint64_t calls, failed_calls, launches, dropped_count;
    int64_t last_ns; // when the last call returned
    struct report_peak peaks[REPORT_PEAKS];
    size_t peak_count;
};

// Begins as {0}; report_data_fini is needed also where this failed.
enum base_code report_data_load(struct report_data *data, struct profile *profile,
                                struct base_error *error);
void report_data_fini(struct report_data *data);

// NULL where there is none.
const char *report_function_name(const struct report_data *data, uint32_t number);
const char *report_kernel_name(const struct report_data *data, uint32_t number);
const char *report_image_path(const struct report_data *data, uint32_t number);
const struct report_path *report_path_of(const struct report_data *data, uint32_t number);

// Where a call came from, in short: the innermost frame with a source line, else the
// innermost one: "file.cu:12", "function", "library+0x1234". Adds nothing where nothing is known.
void report_put_place(const struct report_data *data, uint32_t path, struct base_buf *out);

#endif
