// SPDX-License-Identifier: Apache-2.0
// What analyses read of a profile, in arrays that refer to one another by index: calls, what they
// touch, objects. Loaded once (load.c), or made by tests. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_MODEL_H
#define GLINT_ANALYZE_MODEL_H

#include "analyze.h"

#define ANALYZE_NONE UINT32_MAX // no index

enum {                    // of a call
    ANALYZE_WORKS = 1,    // it succeeded and was not captured
    ANALYZE_UNSEEN = 2,   // launches a kernel that may touch more than is told
    ANALYZE_LAUNCHES = 4, // launches kernels, alone or in a graph
    ANALYZE_WAITED = 8,
    ANALYZE_ASYNC = 16,
    ANALYZE_HOST_END = 32,    // a copy that begins or ends in host memory
    ANALYZE_HOST_MEMORY = 64, // makes or ends host memory
    ANALYZE_BATCH = 128,      // makes copies that are not told one by one
    ANALYZE_SHARES = 256, // from here on others may use the GPU's memory: other processes or APIs
    ANALYZE_TIMES = 512,  // asks how long it was between two events
};

struct analyze_call {
    uint64_t number;
    uint64_t event;  // of synchronisations, records and waits; 0: none
    uint64_t gpu_ns; // that the GPU worked; 0: not known
    union {
        uint32_t record; // of a wait: which record of the event
        uint32_t graph;  // of a graph launch: 1 + index; 0: not known
    };
    uint32_t thread, context, stream;
    uint32_t sync_stream; // that is waited for; 0: none
    uint32_t path, kernel;
    uint32_t order;
    uint32_t touches; // index of its first; they end where those of the next call begin
    uint8_t kind;     // enum profile_call_kind
    uint16_t flags;
};

enum { ANALYZE_READ = 1, ANALYZE_WRITE = 2 };

// What a call, or a node of the graph that it launches, did to an object. A copy and a set touch
// rows of bytes: offset in the object, and pitch from row to row.
struct analyze_touch {
    uint32_t call, object; // indices
    uint32_t kernel;       // number; 0: a copy or a set
    uint32_t node;         // index, of the launch of a graph
    uint32_t rows, element_bytes;
    uint8_t how; // ANALYZE_READ and ANALYZE_WRITE
    bool is_kernel;
    bool beyond; // a copy or set goes on behind the object
    union {
        struct {
            uint64_t offset, row_bytes, pitch;
        };
        struct { // of a kernel; PROFILE_UNKNOWN: not told
            uint64_t elements, new_elements, shared_elements;
        };
    };
};

struct analyze_object {
    const char *name;
    uint64_t number, address, bytes;
    uint32_t call, end; // indices of the calls that made and ended it; NONE: none
    uint32_t parent;    // index
    uint32_t device;
    uint8_t kind;   // enum profile_object_kind
    bool counts;    // as memory in use
    bool has_end;   // it was ended, by whatever
    bool is_host;   // not memory of the device
    bool has_parts; // other objects lie in it
    bool elsewhere; // may be used in ways that no call tells: by the host, as texture
    bool blurred;   // a copy or set went over the borders of parts: who was touched is not known
    // uses.c: its touches in the order of calls, and the first and last call that touches it.
    uint32_t first_use, use_count;
    uint32_t first, last;            // NONE: none
    uint32_t first_part, part_count; // that lie in it, as model->parts has them
};

struct analyze_stream {
    uint32_t number, context, flags;
};

struct analyze_edge { // between nodes of a graph, by index
    uint32_t from, to;
};

struct analyze_chain { // of nodes
    uint32_t length;   // the longest that ends with the node, in GPU APIs
    bool is_api;       // the node is one
    bool marked;       // graphs.c, for a moment
};

struct analyze_graph {
    struct analyze_chain *chains; // by node
    uint32_t node_count;
    uint32_t steps; // the longest of the chains
    size_t first_edge, edge_count;
};

// Which elements were touched, as src/profile keeps them, and summed up.
struct analyze_map {
    uint32_t object, element_bytes;
    uint64_t elements, touched;
    uint64_t largest_first, largest_count; // the largest run of elements that are not touched
};

// How unevenly one launch touched the elements of one object.
struct analyze_counted {
    uint32_t call, object, kernel; // kernel: number
    double variation;              // its coefficient
};

// When a call was made, and how long of it was waiting, on the host's clock.
struct analyze_time {
    int64_t start_ns, end_ns;
    uint64_t waited_ns;
    uint64_t recorder_ns; // that the recorder had the thread behind the call
};

// A copy between host and device.
struct analyze_copy {
    uint32_t call;   // index
    uint32_t object; // index, of the device's end; NONE: not known
    uint64_t host_address, device_address, bytes;
    uint64_t shape[4]; // width and height, pitch on the device and on the host; 0: one row
    bool to_host;
    uint8_t memory;   // enum profile_memory, of the host's end
    bool hashed;      // `hash` is known: of the bytes that were copied
    bool same_before; // to the host: these very bytes were there before
    uint64_t hash[2];
    uint64_t block; // number of the host's block; 0: none is known
};

// Where host memory that copies use was allocated and freed. Call paths; 0: not known.
struct analyze_host_block {
    uint64_t number, bytes;
    uint32_t allocated, freed;
};

// The CPU's first use of data that a call made safe.
struct analyze_first_use {
    uint32_t sync, copy; // indices of calls; copy NONE: managed memory
    uint8_t kind;        // enum profile_use_kind
    uint32_t thread, path;
    int64_t time_ns;
};

// What is known of the host beside its calls; loaded by load_host.c.
struct analyze_host {
    BASE_ARRAY(struct analyze_time) times;           // by call; empty: nothing is known of waits
    BASE_ARRAY(struct analyze_copy) copies;          // by call
    BASE_ARRAY(struct analyze_first_use) first_uses; // by copy; managed memory's come first
    BASE_ARRAY(struct analyze_host_block) blocks;    // by number
    bool *host_graphs;   // by graph: it calls the host, or reads memory that the host may change
    bool tracked;        // first uses were watched for, all the time
    bool knows_timing;   // ANALYZE_TIMES is told
    bool has_gpu_times;  // which are on the host's clock
    int64_t end_ns;      // of the program, or of what is known of it
    uint32_t end_thread; // number of the thread that ended it; 0: the one that called last
};

struct analyze_model {
    struct base_arena arena;
    BASE_ARRAY(struct analyze_call) calls; // by number
    BASE_ARRAY(struct analyze_touch) touches;
    BASE_ARRAY(struct analyze_object) objects; // by number
    BASE_ARRAY(struct analyze_stream) streams; // by number
    BASE_ARRAY(struct analyze_graph) graphs;
    BASE_ARRAY(struct analyze_edge) edges; // by graph, then by the node that they lead to
    BASE_ARRAY(struct analyze_map) maps;   // by object
    BASE_ARRAY(struct analyze_counted) counted;
    // Of each object and kernel the most uneven of these, in full.
    BASE_ARRAY(struct profile_counts *) counts;
    struct base_map most_uneven; // analyze_uneven_key to index + 1 in counts
    uint32_t *uses;              // indices of touches, by object and then by call
    uint32_t *parts;             // indices of parts, by the object that they lie in
    uint32_t *unseen;            // indices of calls that may touch anything
    uint32_t *launches;          // indices of calls that launch
    size_t unseen_count, launch_count;
    uint64_t unseen_because[ANALYZE_UNSEEN_REASONS]; // calls
    struct analyze_host host;
    bool ended;     // the program came to its end: what is not freed is never freed
    bool dropped;   // calls or objects are missing
    bool simulated; // times are those of the simulated GPU
};

// load.c. The listener may be NULL. The model begins as {0}; analyze_model_fini is needed also
// where this failed.
enum base_code analyze_load(struct analyze_model *model, struct profile *profile,
                            const struct analyze_listener *listener, struct base_error *error);
void analyze_model_fini(struct analyze_model *model);
// Frees all but what findings point to.
void analyze_model_empty(struct analyze_model *model);

// load_host.c: what the host did, beside the rest. The loading begins as {.model = model}.
struct analyze_host_loading {
    struct analyze_model *model;
    uint16_t *functions; // flags of calls, by number of the function
    uint32_t function_count;
    bool failed; // memory ran out
};
// Before any call is read.
enum base_code analyze_load_host(struct analyze_host_loading *loading, struct profile *profile,
                                 struct base_error *error);
// Each call, which is the model's last.
void analyze_load_host_call(struct analyze_host_loading *loading, const struct profile_call *call);
// A graph that was added, with its nodes.
void analyze_load_host_graph(struct analyze_host_loading *loading, uint32_t graph,
                             const struct profile_graph *row);
// After all calls and objects.
enum base_code analyze_load_host_end(struct analyze_host_loading *loading, struct profile *profile,
                                     struct base_error *error);
void analyze_host_fini(struct analyze_host *host);
// NULL: there is none.
const struct analyze_host_block *analyze_find_block(const struct analyze_host *host,
                                                    uint64_t number);

static inline uint64_t analyze_uneven_key(uint32_t object, uint32_t kernel)
{
    return (uint64_t)object << 32 | kernel;
}

// Index of a call or an object by its number; NONE: there is none.
uint32_t analyze_find_call(const struct analyze_model *model, uint64_t number);
uint32_t analyze_find_object(const struct analyze_model *model, uint64_t number);

static inline uint32_t analyze_touches_end(const struct analyze_model *model, uint32_t call)
{
    return call + 1 < model->calls.count ? model->calls.items[call + 1].touches
                                         : (uint32_t)model->touches.count;
}

// A GPU API in the sense of the paper: allocates or frees device memory, copies,
// sets or launches.
static inline bool analyze_is_api(const struct analyze_call *call)
{
    return call->flags & ANALYZE_WORKS && !(call->flags & ANALYZE_HOST_MEMORY) &&
           call->kind >= PROFILE_CALL_ALLOC && call->kind <= PROFILE_CALL_GRAPH_LAUNCH;
}

// graphs.c: a graph of so many nodes, of which some are GPU APIs; its index. NONE when memory ran
// out.
uint32_t analyze_add_graph(struct analyze_model *model, const bool *is_api, uint32_t count);
// An edge. Those of a graph come together, in the order of the nodes that they lead to. Nodes stand
// in an order that holds: an edge against it is left out. False when memory ran out.
bool analyze_add_edge(struct analyze_model *model, uint32_t graph, uint32_t from, uint32_t to);
// One node of the graph is over when the other begins.
bool analyze_is_node_before(const struct analyze_model *model, uint32_t graph, uint32_t one,
                            uint32_t other);

// How many GPU APIs follow one another in the call: one, or none; of the launch of a graph those in
// its longest chain of nodes, and one where there are none.
static inline uint32_t analyze_steps(const struct analyze_model *model, uint32_t index)
{
    const struct analyze_call *call = &model->calls.items[index];
    if (call->kind != PROFILE_CALL_GRAPH_LAUNCH || !call->graph)
        return analyze_is_api(call);
    uint32_t steps = model->graphs.items[call->graph - 1].steps;
    return analyze_is_api(call) ? steps + !steps : 0;
}

// The order of the last of them.
static inline uint32_t analyze_last_order(const struct analyze_model *model, uint32_t index)
{
    uint32_t steps = analyze_steps(model, index);
    return model->calls.items[index].order + (steps ? steps - 1 : 0);
}

// uses.c: which touches an object has, from all touches, and which parts. False when memory ran
// out.
bool analyze_index_uses(struct analyze_model *model);
// Device memory of which the program uses nothing but the parts that it has announced: so the parts
// say how large it must be.
static inline bool analyze_is_pool(const struct analyze_object *object)
{
    return object->part_count && object->counts && object->use_count == 0 && !object->elsewhere;
}
// The first call from `from` to before `to` that may touch the object without telling; NONE.
uint32_t analyze_first_unseen(const struct analyze_model *model,
                              const struct analyze_object *object, uint32_t from, uint32_t to);
// And the last.
uint32_t analyze_last_unseen(const struct analyze_model *model, const struct analyze_object *object,
                             uint32_t from, uint32_t to);
// Index after the last call of the object's life.
static inline uint32_t analyze_end(const struct analyze_model *model,
                                   const struct analyze_object *object)
{
    return object->end == ANALYZE_NONE ? (uint32_t)model->calls.count : object->end;
}
static inline uint32_t analyze_begin(const struct analyze_object *object)
{
    return object->call == ANALYZE_NONE ? 0 : object->call;
}

// order.c: gives every call its order, and keeps the clocks of those calls that are wanted; NULL:
// of those that are the first to touch some object. False when memory ran out.
struct analyze_clocks;
bool analyze_set_order(struct analyze_model *model, const bool *wanted,
                       struct analyze_clocks **clocks);
void analyze_clocks_free(struct analyze_clocks *clocks);
// Calls of the stream with a lower index than this are surely over when the work of `call` begins,
// whose clock was kept.
uint32_t analyze_clock_at(const struct analyze_model *model, const struct analyze_clocks *clocks,
                          uint32_t call, uint32_t stream);
// The work of call `one` is surely over when that of `other` begins, whose clock was kept.
bool analyze_is_before(const struct analyze_model *model, const struct analyze_clocks *clocks,
                       uint32_t one, uint32_t other);

#endif
