// SPDX-License-Identifier: Apache-2.0
// What a profile says about values, and which of its calls are which launches, copies and fills of
// the simulated GPU's log of the same run.
#ifndef GLINT_TESTS_RECORD_VALUES_TOLD_H
#define GLINT_TESTS_RECORD_VALUES_TOLD_H

#include "profile/profile.h"
#include "replay.h"

struct told_kernel {
    char *mangled; // NULL: there is none of this number
};

struct told_call {
    struct profile_call call;
    // It may have changed the contents of any object, and the recorder could not look.
    bool unseen;
};

struct told_site {
    uint32_t kernel, number;
    uint32_t instruction; // index in the function
    char *function;
};

struct told {
    BASE_ARRAY(struct told_kernel) kernels; // by number
    BASE_ARRAY(struct profile_object) objects;
    BASE_ARRAY(bool) writes; // by number of the function: writes values, unseen
    struct base_map doubted; // calls whose work is not all seen
    BASE_ARRAY(struct told_call)
    calls; // launches, copies, sets, launches of graphs, and others
           // that may write
    BASE_ARRAY(struct profile_contents) rows;
    BASE_ARRAY(struct profile_stored) stores;
    BASE_ARRAY(struct profile_weighed) weighed;
    BASE_ARRAY(struct profile_accessed) accessed; // by call
    BASE_ARRAY(struct told_site) sites;
};

// Reads a profile. Returns false after a message.
bool told_read(const char *path, struct told *told);
void told_fini(struct told *told);

const struct profile_object *told_object(const struct told *told, uint64_t number);
// Returns whether the profile has an object of this address and size.
bool told_has_object(const struct told *told, const struct gpusim_object *object);
const struct told_site *told_site(const struct told *told, uint32_t kernel, uint32_t number);
// Returns whether the call launches a graph.
bool told_is_graph(const struct told_call *call);
// Returns whether a launch of the kernel has rows of contents.
bool told_has_rows(const struct told *told, uint32_t kernel);
// Returns how many calls before this one are unseen.
uint64_t told_unseen_before(const struct told *told, uint64_t call);

// Which calls of the profile a log's events belong to: index into told->calls, plus 1.
struct told_pairs {
    struct base_map launches;      // by the log's number; of a graph's nodes: the graph's call
    struct base_map copies, fills; // by their index in the log; without those of graphs
    struct base_map graphs;        // by the log's number of the call
    struct base_map graph_events;  // the same to the number of launches, copies and fills
    uint64_t strangers; // launches of the program, or of graphs, without a call: the comparison
                        // makes no sense
};

// Pairs events and calls: launches by their order, copies and fills by their order, address and
// size, launches of graphs by their order. What has no call is glint's. If the log is that of the
// recorded run, marks calls as unseen that it shows to be launches without probes. Returns false
// after a message.
bool told_pair(struct told *told, const char *log, bool recorded, struct told_pairs *pairs);
void told_pairs_fini(struct told_pairs *pairs);
// Returns the call of a map above, or NULL.
struct told_call *told_call_of(struct told *told, const struct base_map *map, uint64_t key);

// Returns whether a launch of the log, of the kernel or its clone, is one of the kernel of that
// number.
bool told_is_kernel(const struct told *told, uint32_t number, const char *logged);
// Returns whether the kernel of a launch is glint's own, not the program's or a clone of it.
bool told_is_own(const char *kernel);

#endif
