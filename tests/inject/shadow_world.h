// SPDX-License-Identifier: Apache-2.0
// A world of objects for tests of shadow memory at element level. The kernel of shadow_kernels.cu
// accesses it at random, and a reference on the CPU computes the records that must follow.
#ifndef GLINT_TESTS_SHADOW_WORLD_H
#define GLINT_TESTS_SHADOW_WORLD_H

#include "shadow_harness.h"

// --- The kernel that the tests simulate ----------------------------------------------------------

// Only the first roots have sites. There is one site with a tally for each root, way and size, then
// one site that every thread executes, and one whose tally starts at one.
enum { SIZES = 6, WAYS = 3, TALLIES = HARNESS_SLOTS * WAYS * SIZES + 1, SITES = TALLIES + 1 };
extern struct instrument_root world_roots[HARNESS_ROOTS];
extern struct instrument_kernel world_kernel;
void make_sites(void);

// --- The reference -------------------------------------------------------------------------------

struct model { // of one object
    struct core_object object;
    uint32_t shift; // 0: not used yet
    uint64_t elements;
    unsigned char *known; // by element: how many launches touched it, at most 2
    uint32_t *counts;     // of the current launch
    uint64_t read, written;
};

void model_make(struct model *model, const struct core_object *object);
void model_free(struct model *model);
void model_use(struct model *model,
               uint32_t shift); // sets the element size, if the object has none yet

// --- A world of objects --------------------------------------------------------------------------

enum { OBJECTS = 40, PARTS = 4, MODELS = OBJECTS + PARTS };
struct world {
    struct model objects[OBJECTS];
    struct model parts[PARTS]; // of the first object
    uint32_t seed;
    uint32_t facts;
};

void world_start(struct world *world, uint32_t seed, uint32_t facts);
void world_finish(struct world *world);
struct model *world_model(struct world *world, int index);        // parts first
struct model *world_owner(struct world *world, uint64_t address); // NULL: none
void world_replace(struct world *world); // replaces one object by another at another address

// Fills in a launch with random roots and accesses and updates the model. Returns how many accesses
// are to no object.
uint64_t world_launch(struct world *world, struct harness_run *run, struct harness_access *list,
                      uint32_t count);
// The same with given roots. near: for each slot, the index of the object that it mostly accesses.
uint64_t world_accesses(struct world *world, const struct harness_run *run,
                        struct harness_access *list, uint32_t count, const uint32_t *near);

// What the records of one launch must contain, taken from the model.
struct expected {
    size_t count, counted;
    struct event_access accesses[MODELS];
    struct event_counts counts[MODELS];
};
void world_take(struct world *world, uint64_t call, uint32_t node, struct expected *expected);
// Checks that the records so far are those of these launches, in this order.
void world_check(const struct world *world, const struct expected *expected, size_t launches);

#endif
