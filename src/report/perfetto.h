// SPDX-License-Identifier: Apache-2.0
// Shared by the files that write a trace for Perfetto: perfetto.c walks over the profile,
// perfetto_trace.c writes packets, names and tracks, perfetto_lanes.c separates overlapping slices
// of a track, perfetto_flows.c finds dependencies, perfetto_lives.c writes objects and memory in
// use. Inner header of src/report.
//
// Field numbers are those of Perfetto's public schema, with the same names.
#ifndef GLINT_REPORT_PERFETTO_H
#define GLINT_REPORT_PERFETTO_H

#include "data.h"

// --- perfetto_lanes.c ----------------------------------------------------------------------------

// The lanes of a track, each of which is free from some time on. A tree of minima finds the lowest
// free lane in O(log n).
struct perfetto_lanes {
    int64_t *free_from; // node i has the children 2i and 2i + 1; the leaves are the lanes
    uint32_t capacity;  // leaves
};

void perfetto_lanes_fini(struct perfetto_lanes *lanes);
// Takes the lowest lane that is free at `start`, until `end`, and returns it. Returns UINT32_MAX if
// memory runs out.
uint32_t perfetto_lanes_take(struct perfetto_lanes *lanes, int64_t start, int64_t end);
// Frees the lane from this time on.
void perfetto_lanes_leave(struct perfetto_lanes *lanes, uint32_t lane, int64_t end);

// --- perfetto_trace.c ----------------------------------------------------------------------------

// The packets of one sequence share the names that were sent in it.
enum perfetto_sequence {
    PERFETTO_TRACKS = 1,
    PERFETTO_CALLS,
    PERFETTO_WORK,
    PERFETTO_OBJECTS,
    PERFETTO_COUNTERS,
    PERFETTO_SEQUENCES
};

enum perfetto_type { // of an event
    PERFETTO_BEGIN = 1,
    PERFETTO_END = 2,
    PERFETTO_INSTANT = 3,
    PERFETTO_COUNTER = 4,
};

// "gpu" is work of the GPU.
#define PERFETTO_CATEGORIES(X) \
    X(CALL, "call")            \
    X(WAIT, "wait")            \
    X(WORK, "gpu")             \
    X(NODE, "gpu-node")        \
    X(OBJECT, "object")        \
    X(FINDING, "finding")      \
    X(RANGE, "nvtx")

#define PERFETTO_ANNOTATIONS(X)       \
    X(CALL, "call")                   \
    X(FROM, "from")                   \
    X(RESULT, "result")               \
    X(CAPTURED, "captured")           \
    X(WAITED, "waited_ns")            \
    X(OBJECT, "object")               \
    X(BYTES, "bytes")                 \
    X(GRID, "grid")                   \
    X(BLOCK, "block")                 \
    X(READS, "reads")                 \
    X(WRITES, "writes")               \
    X(GRAPH, "graph")                 \
    X(NODE, "node")                   \
    X(ESTIMATED, "start_estimated")   \
    X(KIND, "kind")                   \
    X(ALLOCATED_BY, "allocated_by")   \
    X(FREED_BY, "freed_by")           \
    X(ENDED, "ended")                 \
    X(MESSAGE, "message")             \
    X(SUGGESTION, "suggestion")       \
    X(PEAK_BYTES, "peak_bytes")       \
    X(TRAFFIC_BYTES, "traffic_bytes") \
    X(GPU_NS, "gpu_ns")               \
    X(RANK, "rank")                   \
    X(COUNT, "count")                 \
    X(NAME, "object_name")            \
    X(KERNEL, "kernel")               \
    X(DOMAIN, "domain")

// From 1: these are the numbers of the names in a sequence.
#define PERFETTO_CATEGORY(id, name) PERFETTO_CATEGORY_##id,
enum perfetto_category { PERFETTO_NO_CATEGORY, PERFETTO_CATEGORIES(PERFETTO_CATEGORY) };
#undef PERFETTO_CATEGORY
#define PERFETTO_ANNOTATION(id, name) PERFETTO_##id##_IS,
enum perfetto_annotation { PERFETTO_NO_ANNOTATION, PERFETTO_ANNOTATIONS(PERFETTO_ANNOTATION) };
#undef PERFETTO_ANNOTATION

// Tracks of one name, which Perfetto shows as one. Overlapping slices are on different tracks.
struct perfetto_group {
    uint64_t parent; // track
    const char *name;
    int32_t rank; // among its siblings
    struct perfetto_lanes lanes;
    BASE_ARRAY(uint64_t) tracks; // by lane
};

// A text to be sent with the open packet.
struct perfetto_new_text {
    uint64_t number; // 0: none
    struct base_buf text;
};

struct perfetto_trace {
    struct base_protobuf out;
    const struct report_data *data;
    struct base_arena arena; // owns the names of tracks
    int64_t origin_ns;       // time 0 of the profile, by the clock of the trace
    int32_t pid;
    uint64_t track_count;    // numbers of tracks are 1 to this
    uint64_t process;        // track
    struct base_map devices; // number to track
    struct base_map names[PERFETTO_SEQUENCES], paths[PERFETTO_SEQUENCES]; // to numbers
    bool begun[PERFETTO_SEQUENCES];
    enum perfetto_sequence sequence; // of the open packet
    struct perfetto_new_text new_name, new_place;
    struct base_buf text;
    bool failed; // memory ran out
};

// Writes the header of the trace and the track of the process. Call perfetto_fini also after a
// failure.
void perfetto_init(struct perfetto_trace *trace, const struct report_data *data,
                   report_write *write, void *user);
void perfetto_fini(struct perfetto_trace *trace);
bool perfetto_failed(const struct perfetto_trace *trace);

// Formats a text that the trace owns. Returns "" if memory runs out.
const char *perfetto_format(struct perfetto_trace *trace, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Add tracks; each must be added before its first event. `rank` orders siblings.
uint64_t perfetto_add_track(struct perfetto_trace *trace, uint64_t parent, const char *name,
                            int32_t rank);
uint64_t perfetto_add_counter(struct perfetto_trace *trace, uint64_t parent, const char *name,
                              int32_t rank);
// Returns the track of a device by its number, where 0 is an unknown device.
uint64_t perfetto_device_track(struct perfetto_trace *trace, uint32_t device);
uint64_t perfetto_add_thread(struct perfetto_trace *trace, int32_t tid, const char *name);

void perfetto_group_fini(struct perfetto_group *group);
// Returns a track that is free for a slice from start to end, adding one if needed. Stores its lane
// unless lane is NULL.
uint64_t perfetto_group_take(struct perfetto_trace *trace, struct perfetto_group *group,
                             int64_t start_ns, int64_t end_ns, uint32_t *lane);

// Writes an event: begin it, add its contents, end it. Times are those of the profile.
void perfetto_event(struct perfetto_trace *trace, enum perfetto_sequence sequence,
                    enum perfetto_type type, uint64_t track, int64_t ns);
// The text must stay valid until perfetto_fini.
void perfetto_name(struct perfetto_trace *trace, enum perfetto_category category, const char *name);
void perfetto_name_once(struct perfetto_trace *trace, enum perfetto_category category,
                        const char *name);
void perfetto_flow(struct perfetto_trace *trace, uint64_t flow, bool ends);
void perfetto_correlate(struct perfetto_trace *trace, uint64_t number);
void perfetto_value(struct perfetto_trace *trace, int64_t value); // of a counter
void perfetto_put_u64(struct perfetto_trace *trace, enum perfetto_annotation annotation,
                      uint64_t value);
void perfetto_put_i64(struct perfetto_trace *trace, enum perfetto_annotation annotation,
                      int64_t value);
void perfetto_put_text(struct perfetto_trace *trace, enum perfetto_annotation annotation,
                       const char *text);
// Adds the location of the call, if it is known.
void perfetto_put_place(struct perfetto_trace *trace, uint32_t path);
void perfetto_event_end(struct perfetto_trace *trace);

// Writes the end of a slice, an event without contents.
static inline void perfetto_end(struct perfetto_trace *trace, enum perfetto_sequence sequence,
                                uint64_t track, int64_t ns)
{
    perfetto_event(trace, sequence, PERFETTO_END, track, ns);
    perfetto_event_end(trace);
}

// --- perfetto_work.c: what the GPU does, on streams ----------------------------------------------

struct perfetto_flows;

struct perfetto_touched { // names of objects
    struct base_buf names;
    unsigned count;
};

struct perfetto_graph_launch {
    uint64_t call, graph;
    uint32_t stream, context;
};

struct perfetto_work {
    const struct report_data *data;
    struct base_map streams;  // number to index + 1 in stream_rows
    struct base_map contexts; // number to device
    struct base_map groups;   // to index + 1 in group_rows
    BASE_ARRAY(struct profile_stream) stream_rows;
    BASE_ARRAY(struct perfetto_group) group_rows;
    BASE_ARRAY(struct perfetto_graph_launch) graph_launches;
    struct profile_accesses *accesses;
    const struct profile_access *access; // the next
    struct perfetto_touched reads, writes;
    bool failed; // memory ran out
};

// Return whether the call gave work to the GPU, and when the GPU did it. If GPU times are unknown,
// the times are those of the call.
bool perfetto_is_work(const struct profile_call *call);
void perfetto_work_times(const struct profile_call *call, int64_t *start_ns, int64_t *end_ns);
// Returns whether a flow leads from the call to its work. There is none if the clocks, or a
// simulated clock, say that the work began before the call.
bool perfetto_flows_to_work(const struct profile_call *call);

// Initialize with {0}. Call perfetto_work_fini also after a failure; it returns whether all
// accesses could be read.
enum base_code perfetto_work_load(struct perfetto_work *work, const struct report_data *data,
                                  struct base_error *error);
enum base_code perfetto_work_fini(struct perfetto_work *work, struct base_error *error);
// Writes the work of a call, whose position in the profile is `index`.
void perfetto_put_work(struct perfetto_trace *trace, struct perfetto_work *work,
                       struct perfetto_flows *flows, uint32_t index,
                       const struct profile_call *call);
// Writes the timed nodes of graphs, after all calls.
enum base_code perfetto_put_nodes(struct perfetto_trace *trace, struct perfetto_work *work,
                                  struct base_error *error);

// --- perfetto_flows.c ----------------------------------------------------------------------------

// Dependencies between calls, which are numbered by their position in the profile, from 0.
struct perfetto_flows {
    BASE_ARRAY(uint64_t) by_source; // source << 32 | index of the flow
    BASE_ARRAY(uint32_t) targets;   // of flows, in rising order
    size_t next_source, next_target;
};

struct perfetto_lives;

// Reads all calls once, and announces them to `lives`.
enum base_code perfetto_find_flows(struct perfetto_flows *flows, const struct report_data *data,
                                   struct perfetto_lives *lives, struct base_error *error);
void perfetto_flows_fini(struct perfetto_flows *flows);
// Adds the flows that begin and end at this call to the open event. Calls must come in ascending
// order.
void perfetto_put_flows(struct perfetto_trace *trace, struct perfetto_flows *flows, uint32_t call);

// --- perfetto_lives.c ----------------------------------------------------------------------------

struct perfetto_life {
    uint64_t call, end; // as in struct report_object; 0 and ANALYZE_NEVER if not in the profile
    uint64_t track;
    uint32_t lane;
    uint32_t device;
    bool made_seen, end_seen;
    bool is_part; // contained in another object
};

struct perfetto_memory { // in use
    unsigned __int128 bytes;
    uint64_t track; // 0: none yet
    bool changed;
};

// Memory of one device; for all devices together only the sum is used.
struct perfetto_device_memory {
    uint32_t device;
    struct perfetto_memory sum;
    struct perfetto_memory kinds[PROFILE_OBJECT_KINDS];
};

struct perfetto_lives {
    const struct report_data *data;
    struct perfetto_life *lives; // parallel to data->objects
    uint32_t *made, *ended;      // indices of lives, sorted by call and by end
    size_t next_made, next_ended;
    int64_t now_ns;         // time of the last change of objects; never decreases
    struct base_map groups; // device and kind to index + 1 in group_rows
    BASE_ARRAY(struct perfetto_group) group_rows;
    BASE_ARRAY(struct perfetto_device_memory) devices;
    bool several;               // objects are on several devices
    struct perfetto_memory all; // memory of all devices
};

// Initialize with {0}.
enum base_code perfetto_lives_load(struct perfetto_lives *lives, const struct report_data *data,
                                   struct base_error *error);
void perfetto_lives_fini(struct perfetto_lives *lives);
// Announce a call, in the order of their numbers, and the end of the calls.
void perfetto_lives_see(struct perfetto_lives *lives, uint64_t call);
void perfetto_lives_ready(struct perfetto_lives *lives);
// Writes the objects that the call creates and ends.
void perfetto_lives_call(struct perfetto_trace *trace, struct perfetto_lives *lives, uint64_t call,
                         int64_t ns);
// Ends the objects that are still alive at the end of the program.
void perfetto_lives_end(struct perfetto_trace *trace, struct perfetto_lives *lives, int64_t ns);

#endif
