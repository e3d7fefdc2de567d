// SPDX-License-Identifier: Apache-2.0
// What the steps of reading a model share (load.c calls them): objects, then calls, then elements.
// They return the profile's errors, and set `failed` if memory runs out.
#ifndef GLINT_ANALYZE_LOADING_H
#define GLINT_ANALYZE_LOADING_H

#include "beyond.h"
#include "model.h"

struct analyze_loading_graph {
    struct profile_node *nodes;
    uint32_t count;
    uint32_t index; // in the model
};

struct analyze_loading_numbers {
    uint64_t call, end, parent;
};

enum analyze_loading_image {
    ANALYZE_IMAGE_VENDOR = 1, // of NVIDIA: cuBLAS and the like
    ANALYZE_IMAGE_ALLOCATOR,  // PyTorch's allocator, which gets memory for its callers
};

// Bytes of an object that a copy reads.
struct analyze_loading_read {
    uint32_t object;
    uint64_t start, end;
};

struct analyze_loading {
    struct analyze_model *model;
    bool failed;            // memory ran out
    bool cut_off;           // a record was being written when the program ended
    uint64_t last_call;     // the highest number of a call that made or ended an object
    struct base_map graphs; // number to struct analyze_loading_graph *
    struct base_map blind;  // numbers of kernels whose probes miss some accesses, or that have none
    struct base_map calm;   // numbers of kernels that do nothing but access memory
    struct base_map loud;   // of kernels that are known to do more
    BASE_ARRAY(struct profile_doubt) doubts; // by call, then by node
    size_t doubt;                            // index of the next doubt to merge
    uint32_t unseen; // reasons of the current call: sum of 1 << enum analyze_unseen
    bool hidden;     // not all that it may access is known by arguments
    uint32_t whole;  // those that hold for all nodes of a graph's launch
    uint32_t node;   // index of the node to which new touches belong
    uint8_t maker;   // enum analyze_maker, of new touches
    struct profile_accesses *accesses;
    const struct profile_access *access; // the next access to merge; NULL at the end
    const struct analyze_listener *listener;
    bool ended;                                    // the listener asked to stop
    uint64_t run_first, run_count;                 // the current run of untouched elements
    uint64_t map_next;                             // the element after the last piece of the map
    BASE_ARRAY(struct analyze_loading_read) reads; // by object and start, without overlaps
    struct analyze_host_loading host;
    struct analyze_beyond beyond;
    struct base_map images; // number to enum analyze_loading_image, of those that matter
    // Of each object. They stay numbers until all objects and calls are read.
    BASE_ARRAY(struct analyze_loading_numbers) numbers;
};

// Returns NULL if there is no such graph.
static inline const struct analyze_loading_graph *
analyze_loading_find_graph(const struct analyze_loading *loading, uint64_t number)
{
    const uint64_t *slot = base_map_get(&loading->graphs, number);
    return slot ? (const struct analyze_loading_graph *)(uintptr_t)*slot : NULL;
}

// Returns whether the next step may begin.
static inline bool analyze_loading_goes_on(const struct analyze_loading *loading,
                                           enum base_code code)
{
    return code == BASE_OK && !loading->failed && !loading->ended;
}

enum base_code analyze_load_objects(struct analyze_loading *loading, struct profile *profile,
                                    struct base_error *error);
// Resolves what refers to calls and other objects, when both are read.
void analyze_load_objects_end(struct analyze_loading *loading);
// Reads calls, and the accesses of each.
enum base_code analyze_load_calls(struct analyze_loading *loading, struct profile *profile,
                                  struct base_error *error);
// Reads how often elements were accessed, and which were not.
enum base_code analyze_load_elements(struct analyze_loading *loading, struct profile *profile,
                                     struct base_error *error);

#endif
