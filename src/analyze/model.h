// SPDX-License-Identifier: Apache-2.0
// The model: the calls, accesses and objects of a profile, in arrays that refer to one another by
// index. load.c reads it once; tests build it in memory. Patterns only read it. Inner header of
// src/analyze.
#ifndef GLINT_ANALYZE_MODEL_H
#define GLINT_ANALYZE_MODEL_H

#include "analyze.h"

#define ANALYZE_NONE UINT32_MAX // an index that refers to nothing

enum {                    // flags of a call
    ANALYZE_WORKS = 1,    // it succeeded and was not captured
    ANALYZE_UNSEEN = 2,   // launches a kernel that may access more than was observed
    ANALYZE_LAUNCHES = 4, // launches kernels, alone or in a graph
    ANALYZE_WAITED = 8,
    ANALYZE_ASYNC = 16,
    ANALYZE_HOST_END = 32,     // a copy that begins or ends in host memory
    ANALYZE_HOST_MEMORY = 64,  // makes or ends host memory
    ANALYZE_BATCH = 128,       // makes several copies that are not recorded one by one
    ANALYZE_SHARES = 256,      // afterwards other processes or APIs may use the GPU's memory
    ANALYZE_TIMES = 512,       // asks for the time between two events
    ANALYZE_ACTS = 1024,       // launches what may do more than its accesses show, such as printing
    ANALYZE_PRINTS = 4096,     // launches kernels that are known to do more, such as printing
    ANALYZE_UNFINISHED = 2048, // had not returned when the program ended; nothing else is known
    // Beside UNSEEN: it may access only the objects of its touches, and those whose addresses lie
    // in
    // memory (analyze_object.is_addressed). How it accesses them is unknown.
    ANALYZE_PASSED = 8192,
};

struct analyze_call {
    uint64_t number;
    uint64_t event;  // of synchronizations, records and waits; 0: none
    uint64_t gpu_ns; // GPU time of its work; 0: unknown
    union {
        uint32_t record; // of a wait: which record of the event
        uint32_t graph;  // of a graph launch: 1 + index; 0: unknown
        uint32_t blocks; // of a launch: in its grid, UINT32_MAX: more; 0: unknown
    };
    uint32_t thread, context, stream;
    uint32_t sync_stream; // the stream that it waits for; 0: none
    uint32_t path, kernel;
    uint32_t order;
    uint32_t touches; // index of its first; they end where those of the next call begin
    uint8_t kind;     // enum profile_call_kind
    uint16_t flags;
};

enum { ANALYZE_READ = 1, ANALYZE_WRITE = 2 };

// What made a touch. The kind of the call says it, except for nodes of graphs.
enum analyze_maker {
    ANALYZE_MADE_BY_CALL,
    ANALYZE_MADE_BY_COPY,
    ANALYZE_MADE_BY_HOST_COPY, // a copy that begins or ends in host memory
    ANALYZE_MADE_BY_SET,
};

// One access of a call, or of a node of the graph that it launches, to one object. A copy or set
// accesses rows of bytes, from an offset in the object and with a pitch between rows.
struct analyze_touch {
    uint32_t call, object; // indices
    uint32_t kernel;       // number; 0: a copy or a set
    uint32_t node;         // index, of the launch of a graph
    uint32_t rows, element_bytes;
    uint8_t how; // ANALYZE_READ and ANALYZE_WRITE
    bool is_kernel;
    bool passed;   // known only by the arguments of the launch, which may have accessed it
    bool sampled;  // although passed, it was seen that it did
    bool beyond;   // a copy or set extends beyond the object
    uint8_t maker; // enum analyze_maker
    // Of a copy from the host: 1 + index of the call before which its source was still the same. 0:
    // unknown.
    uint32_t kept;
    union {
        struct {
            uint64_t offset, row_bytes, pitch;
        };
        struct { // of a kernel; PROFILE_UNKNOWN: not observed
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
    uint8_t kind;    // enum profile_object_kind
    bool counts;     // it counts as device memory in use
    bool has_end;    // it ended before the program did
    bool is_host;    // not memory of the device
    bool has_parts;  // other objects lie in it
    bool is_segment; // PyTorch's allocator hands out its memory as tensors, which count instead
    bool of_library; // cuBLAS or the like got it for itself, so the program cannot change it
    bool elsewhere; // may be accessed without a call: by the host, as a texture, at another address
    bool is_addressed; // kernels may find it without an argument that points to it
    bool free_failed;  // a call that was to free it failed
    bool blurred;      // a copy or set crossed the borders of parts: which it accessed is unknown
    // Set by uses.c: its accesses in the order of calls, and the first and last call that has one.
    uint32_t first_use, use_count;
    uint32_t first, last; // NONE: none
    // Set by initializers.c. Copies and sets at the start of its life may be delayed: then its
    // memory is needed from this call on. NONE: nothing reads it.
    uint32_t needed;
    bool is_unused; // nothing accesses it, or only copies and sets that write to it
    uint32_t first_part, part_count; // its parts, in model->parts
    uint64_t pitch, padding; // of pitched memory, bytes: of a row, and behind its data; else 0
};

struct analyze_stream {
    uint32_t number, context, flags;
};

struct analyze_edge { // between nodes of a graph, by index
    uint32_t from, to;
};

struct analyze_chain { // of nodes, for each node
    uint32_t length;   // the longest that ends with the node, in GPU APIs
    bool is_api;       // the node is one
    bool marked;       // used by graphs.c during a search
};

struct analyze_graph {
    struct analyze_chain *chains; // by node
    uint32_t node_count;
    uint32_t steps; // the longest of the chains
    size_t first_edge, edge_count;
};

// A summary of the map of an object's touched elements, which src/profile keeps.
struct analyze_map {
    uint32_t object, element_bytes;
    uint64_t elements, touched; // touched: by kernels
    // Elements that kernels do not touch and copies do not read, and the largest run of them.
    uint64_t unused;
    uint64_t largest_first, largest_count;
};

// How unevenly one launch touched the elements of one object.
struct analyze_counted {
    uint32_t call, object, kernel; // kernel: number
    double variation;              // its coefficient
    uint64_t sum;                  // of its accesses
};

// What an object held at a border of a call. A launch of a graph is one call.
struct analyze_contents {
    uint32_t call, object; // indices
    // Only the first `field_count` fields exist.
    const struct profile_contents *row;
};

// What the stores of one memory instruction did in one launch, or in one node of a graph.
struct analyze_stored {
    uint32_t call, object; // indices; object NONE: several, or unknown
    uint32_t node;         // index
    uint32_t kernel, site; // numbers
    uint32_t bytes;        // of one store
    uint32_t place;        // index in sites; NONE: unknown
    uint64_t stores, silent;
    uint64_t still; // silent atomic operations in sectors that do not change; UNKNOWN: not counted
};

// What most reads of a launch got from a field of an object.
struct analyze_weighed {
    uint32_t call, object; // indices
    uint32_t offset;       // of the field
    uint64_t accesses, value, count;
};

// Which values the loads, or the stores, of one launch moved in one field of an object.
struct analyze_accessed {
    uint32_t call, object; // indices
    struct profile_accessed row;
};

// A memory instruction of a kernel.
struct analyze_site {
    uint32_t kernel, site;    // numbers
    struct analyze_line line; // in the source
    const char *array;        // of shared memory that it leads to; NULL: unknown, or none
    uint32_t bytes;           // that a thread moves; 0: unknown
    uint8_t access;           // enum profile_site_access
};

static inline bool analyze_is_atomic(const struct analyze_site *site)
{
    return site->access == PROFILE_SITE_ATOMIC;
}

// What requests of warps took at one instruction, in one launch or one node of a graph.
struct analyze_requests {
    uint32_t call, object;  // indices; object NONE: several, unknown, or shared memory
    uint32_t node;          // index
    uint32_t kernel, site;  // numbers
    uint32_t place;         // index in sites; NONE: unknown
    uint64_t requests;      // instructions of warps
    uint64_t taken, needed; // sectors; of shared memory, wavefronts
    int64_t stride;         // bytes from one lane to the next, if has_stride
    bool has_stride, shared;
};

// What decides how many blocks of a launch a multiprocessor holds.
struct analyze_shape {
    uint32_t major, minor;    // the compute capability; 0: unknown
    uint32_t multiprocessors; // of the GPU
    uint32_t threads;         // of a block; 0: unknown
    uint32_t registers;       // of a thread; 0: unknown
    uint64_t shared_bytes;    // of a block
    uint64_t blocks;          // of the launch
};

// An array of shared memory of a kernel, in all launches of the kernel.
struct analyze_shared {
    uint32_t kernel, number; // numbers
    const char *name;        // NULL: unknown
    uint64_t bytes;          // of a block
    uint64_t launches;
    bool is_known; // all launches were counted in full, and have the same size; else nothing below
    uint64_t traced; // launches of these whose live ranges are known; 0: none
    uint32_t call;   // index of the launch with the most blocks; NONE: only graphs launch it
    uint32_t place;  // of the instruction that began most live ranges, in sites; NONE: unknown
    struct analyze_shape shape;          // of that launch
    uint64_t touched_words;              // by some block
    uint64_t unused_first, unused_bytes; // the largest piece that no block touched
    uint64_t loads, stores;              // of words, by all launches
    bool loads_exceed;                   // a word is loaded more often than stored in some launch
    // Sums over the launches whose live ranges are known, as in struct profile_shared_lives.
    struct {
        uint64_t unstored, ranges, loads, again, own;
    } lives;
};

// What blocks of one launch loaded of one object.
struct analyze_reuse {
    uint32_t call, object; // indices
    uint32_t place;        // of the instruction that loaded most, in sites; NONE: unknown
    struct profile_block_reuse row;
};

// When a call started and returned, and how long it waited, on the host's clock.
struct analyze_time {
    int64_t start_ns, end_ns;
    uint64_t waited_ns;
    uint64_t recorder_ns; // that glint kept the thread after the call returned
};

// A copy between host and device.
struct analyze_copy {
    uint32_t call;   // index
    uint32_t object; // index, of the device's end; NONE: unknown
    uint64_t host_address, device_address, bytes;
    uint64_t shape[4]; // width and height, pitch on the device and on the host; 0: one row
    bool to_host;
    uint8_t memory;   // enum profile_memory, of the host's end
    uint8_t host;     // enum profile_host, of that end; 0: unknown
    bool hashed;      // `hash`, of the copied bytes, is known
    bool same_before; // to the host: the destination already held these bytes
    uint64_t hash[2];
    uint64_t block; // number of the block of host memory; 0: unknown
};

// The call paths where host memory used by copies was allocated and freed; 0: unknown.
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
    bool is_partial; // some of the data was not watched, and may have been used earlier
};

// What the host did beside its calls; load_host.c fills it.
struct analyze_host {
    BASE_ARRAY(struct analyze_time) times;           // by call; empty: waits are unknown
    BASE_ARRAY(struct analyze_copy) copies;          // by call
    BASE_ARRAY(struct analyze_first_use) first_uses; // by copy; managed memory's come first
    BASE_ARRAY(struct analyze_host_block) blocks;    // by number
    bool
        *host_graphs; // by graph: it calls host functions, or reads memory that the host may change
    bool tracked;     // first uses were observed during the whole run
    bool given_up;    // they were to be observed, but could not be until the end
    bool knows_timing;   // ANALYZE_TIMES was recorded
    bool has_gpu_times;  // GPU times are known, on the host's clock
    int64_t end_ns;      // end of the program, or of the recording
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
    // For each object and kernel, the full counts of the most uneven launch.
    BASE_ARRAY(struct profile_counts *) counts;
    struct base_map most_uneven;                  // analyze_uneven_key to index + 1 in counts
    BASE_ARRAY(struct analyze_contents) contents; // by call, then as recorded
    BASE_ARRAY(struct analyze_site) sites;        // by kernel, then by site
    BASE_ARRAY(struct analyze_stored) stores;     // by call, then by node and site
    BASE_ARRAY(struct analyze_weighed) weighed;   // by call, then by object and offset
    BASE_ARRAY(struct analyze_accessed) accessed; // by call, then by object
    BASE_ARRAY(struct analyze_requests) requests; // by call, then by node and site
    BASE_ARRAY(struct analyze_reuse) reuse;       // by call, then by node and object
    struct analyze_caches caches;                 // stays when the model is emptied
    BASE_ARRAY(struct analyze_reached) reached;   // by call; stays when the model is emptied
    uint32_t multiprocessors;                     // of the device that has most; 0: unknown
    BASE_ARRAY(struct analyze_shared) shared;     // by kernel, then by number
    uint32_t *uses;                               // indices of touches, by object and then by call
    uint32_t *parts;                              // indices of parts, by their pool
    uint32_t *unseen;   // indices of calls that may access objects in ways that were not observed
    uint32_t *hidden;   // of these, those that may access every object: all but ANALYZE_PASSED
    uint32_t *launches; // indices of calls that launch
    size_t unseen_count, hidden_count, launch_count;
    uint64_t unseen_because[ANALYZE_UNSEEN_REASONS]; // calls
    struct base_map places;       // number of a call path to a hash of its source lines
    struct base_map of_libraries; // numbers of call paths of calls that libraries make themselves
    struct base_map lines;        // number of a call path to a hash of the line that makes the call
    struct base_map result_uses; // number of a call path to enum profile_result_use, if it is known
    struct analyze_host host;
    bool ended;           // the program ended by itself: what was not freed is never freed
    bool dropped;         // calls or objects are missing
    uint64_t unfinished;  // calls that had not returned when the program ended
    bool any_failed;      // a call failed
    uint64_t failed_uses; // failed calls that were to use memory
    uint32_t fatal;       // index of the call that reported the failure of a kernel, + 1; 0: none
    bool simulated;       // times are those of the simulated GPU
};

// load.c: reads the profile into a model that is {0}. The listener may be NULL. The caller calls
// analyze_model_fini, also after a failure.
enum base_code analyze_load(struct analyze_model *model, struct profile *profile,
                            const struct analyze_listener *listener, struct base_error *error);
void analyze_model_fini(struct analyze_model *model);
// Frees everything that findings do not point to, and that reports do not ask for.
void analyze_model_empty(struct analyze_model *model);

// load_unfinished.c: adds calls that did not return, for all numbers between the last call and
// `number`. Too many of them set model->dropped. Returns false when memory ran out.
bool analyze_add_unfinished(struct analyze_model *model, uint64_t number);

// load_values.c: reads contents and stores, after all calls and objects.
enum base_code analyze_load_values(struct analyze_model *model, struct profile *profile,
                                   struct base_error *error);

// load_requests.c: reads what requests of warps took, after analyze_load_values.
enum base_code analyze_load_requests(struct analyze_model *model, struct profile *profile,
                                     struct base_error *error);
// load_shared.c: reads what launches did to shared memory, after analyze_load_values.
enum base_code analyze_load_shared(struct analyze_model *model, struct profile *profile,
                                   struct base_error *error);
// load_reuse.c: reads what blocks loaded, after analyze_load_values.
enum base_code analyze_load_reuse(struct analyze_model *model, struct profile *profile,
                                  struct base_error *error);
// load_caches.c: reads what the model of the caches found, after all calls.
enum base_code analyze_load_caches(struct analyze_model *model, struct profile *profile,
                                   struct base_error *error);
// Returns the index of a memory instruction in model->sites; NONE if there is none.
uint32_t analyze_find_site(const struct analyze_model *model, uint32_t kernel, uint32_t site);

// Counts the objects whose contents were seen. Returns false when memory ran out.
struct analyze_contents_seen;
bool analyze_count_contents(const struct analyze_model *model, struct analyze_contents_seen *seen);

// load_host.c: reads what the host did, while load.c reads the rest. The loading starts as
// {.model = model}; the functions are called in this order.
struct analyze_host_loading {
    struct analyze_model *model;
    uint16_t *functions; // flags of calls, by number of the function
    uint32_t function_count;
    bool failed; // memory ran out
};
// Called before the first call is read.
enum base_code analyze_load_host(struct analyze_host_loading *loading, struct profile *profile,
                                 struct base_error *error);
// Called for each call, which is then the last of the model.
void analyze_load_host_call(struct analyze_host_loading *loading, const struct profile_call *call);
// Called for each graph that was added, with its nodes.
void analyze_load_host_graph(struct analyze_host_loading *loading, uint32_t graph,
                             const struct profile_graph *row);
// Called after all calls and objects.
enum base_code analyze_load_host_end(struct analyze_host_loading *loading, struct profile *profile,
                                     struct base_error *error);
void analyze_host_fini(struct analyze_host *host);
// Returns the block of that number; NULL if there is none.
const struct analyze_host_block *analyze_find_block(const struct analyze_host *host,
                                                    uint64_t number);

static inline uint64_t analyze_uneven_key(uint32_t object, uint32_t kernel)
{
    return (uint64_t)object << 32 | kernel;
}

// uses.c: returns the first access of the call to the object; NULL if there is none.
const struct analyze_touch *analyze_access_of(const struct analyze_model *model, uint32_t call,
                                              uint32_t object);
// Returns whether the call is a copy or set that writes the whole object in one piece.
bool analyze_overwrites(const struct analyze_model *model, uint32_t call, uint32_t object);
// Returns the width in bytes of the narrowest store of the kernel; 0: unknown.
uint32_t analyze_narrowest_store(const struct analyze_model *model, uint32_t kernel);

// Return the index of the call or object with that number; NONE if there is none.
uint32_t analyze_find_call(const struct analyze_model *model, uint64_t number);
uint32_t analyze_find_object(const struct analyze_model *model, uint64_t number);

// Returns a hash of the source lines of a call path, the same for every copy of these lines that
// the compiler made. Where lines are unknown, addresses count.
uint64_t analyze_place_of(const struct analyze_model *model, uint32_t path);

// Returns what the program does with the result of the calls of a path.
static inline enum profile_result_use analyze_result_use(const struct analyze_model *model,
                                                         uint32_t path)
{
    const uint64_t *use = base_map_get(&model->result_uses, path);
    return use ? (enum profile_result_use) * use : PROFILE_RESULT_UNKNOWN;
}

static inline uint32_t analyze_touches_end(const struct analyze_model *model, uint32_t call)
{
    return call + 1 < model->calls.count ? model->calls.items[call + 1].touches
                                         : (uint32_t)model->touches.count;
}

// Returns whether the call is a GPU API call: an allocation or free of device memory, a copy, a set
// or a launch.
static inline bool analyze_is_api(const struct analyze_call *call)
{
    return call->flags & ANALYZE_WORKS && !(call->flags & ANALYZE_HOST_MEMORY) &&
           call->kind >= PROFILE_CALL_ALLOC && call->kind <= PROFILE_CALL_GRAPH_LAUNCH;
}

// initializers.c: finds from which call on each object's memory is needed. analyze_index_uses calls
// it. Returns false when memory ran out.
bool analyze_find_needed(struct analyze_model *model);
// Returns whether copies and sets at the start of the object's life can be delayed.
static inline bool analyze_can_delay(const struct analyze_object *object)
{
    return object->needed != ANALYZE_NONE && object->needed > object->first;
}

// graphs.c: adds a graph of `count` nodes; is_api says which of them are GPU API calls. Returns its
// index; NONE when memory ran out.
uint32_t analyze_add_graph(struct analyze_model *model, const bool *is_api, uint32_t count);
// Adds an edge. The edges of a graph must be added together, ordered by `to`. Nodes are in
// topological order, so an edge to an earlier node is ignored. Returns false when memory ran out.
bool analyze_add_edge(struct analyze_model *model, uint32_t graph, uint32_t from, uint32_t to);
// Returns whether node `one` of the graph ends before node `other` starts, by the edges.
bool analyze_is_node_before(const struct analyze_model *model, uint32_t graph, uint32_t one,
                            uint32_t other);

// Returns how many sequential GPU API calls the call counts as: 0 or 1; for the launch of a graph,
// the length of its longest chain of nodes, but at least 1.
static inline uint32_t analyze_steps(const struct analyze_model *model, uint32_t index)
{
    const struct analyze_call *call = &model->calls.items[index];
    if (call->kind != PROFILE_CALL_GRAPH_LAUNCH || !call->graph)
        return analyze_is_api(call);
    uint32_t steps = model->graphs.items[call->graph - 1].steps;
    return analyze_is_api(call) ? steps + !steps : 0;
}

// Returns the order of the last of them.
static inline uint32_t analyze_last_order(const struct analyze_model *model, uint32_t index)
{
    uint32_t steps = analyze_steps(model, index);
    return model->calls.items[index].order + (steps ? steps - 1 : 0);
}

// uses.c: sets the accesses and parts of each object. Returns false when memory ran out.
bool analyze_index_uses(struct analyze_model *model);
// Returns whether the program uses the object, device memory, only by the parts that it announced.
// Then the parts determine how large it must be.
static inline bool analyze_is_pool(const struct analyze_object *object)
{
    return object->part_count && object->counts && object->use_count == 0 && !object->elsewhere;
}
// Returns the index of the first call in [from, to) that may access the object in a way that was
// not observed; NONE if there is none. For what depends on how objects are accessed.
uint32_t analyze_first_unseen(const struct analyze_model *model,
                              const struct analyze_object *object, uint32_t from, uint32_t to);
// Return the index of the first, and of the last, such call that has no touch of the object. For
// what depends only on whether objects are accessed: touches show what launches were passed.
uint32_t analyze_first_hidden(const struct analyze_model *model,
                              const struct analyze_object *object, uint32_t from, uint32_t to);
uint32_t analyze_last_hidden(const struct analyze_model *model, const struct analyze_object *object,
                             uint32_t from, uint32_t to);
// Returns whether some launch in [from, to) is known only by its arguments.
bool analyze_has_passed(const struct analyze_model *model, uint32_t from, uint32_t to);
// Returns whether what the call did to the object is known only by its arguments.
bool analyze_is_passed(const struct analyze_model *model, const struct analyze_object *object,
                       uint32_t call);
// Return the index of the call that ends the object's life, or the number of calls; and of the call
// that starts it.
static inline uint32_t analyze_end(const struct analyze_model *model,
                                   const struct analyze_object *object)
{
    return object->end == ANALYZE_NONE ? (uint32_t)model->calls.count : object->end;
}
static inline uint32_t analyze_begin(const struct analyze_object *object)
{
    return object->call == ANALYZE_NONE ? 0 : object->call;
}

// flow.c: builds the value flow graph of the model. Returns false when memory ran out. The caller
// calls analyze_flow_fini.
bool analyze_build_flow(const struct analyze_model *model, struct analyze_flow *flow);
void analyze_flow_fini(struct analyze_flow *flow);

// order.c: sets the order of every call, and keeps clocks of the wanted calls; if `wanted` is NULL,
// of each call that is the first to access, or to need, some object. Returns false when memory ran
// out. The caller frees the clocks.
struct analyze_clocks;
bool analyze_set_order(struct analyze_model *model, const bool *wanted,
                       struct analyze_clocks **clocks);
void analyze_clocks_free(struct analyze_clocks *clocks);
// Returns the index below which all calls of the stream surely end before the work of `call`, whose
// clock was kept, starts.
uint32_t analyze_clock_at(const struct analyze_model *model, const struct analyze_clocks *clocks,
                          uint32_t call, uint32_t stream);
// Returns whether the work of call `one` surely ends before that of `other`, whose clock was kept,
// starts.
bool analyze_is_before(const struct analyze_model *model, const struct analyze_clocks *clocks,
                       uint32_t one, uint32_t other);

#endif
