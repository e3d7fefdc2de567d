// SPDX-License-Identifier: Apache-2.0
// A world of objects for tests of shadow memory at element level: random accesses to it by the
// kernel of shadow_kernels.cu, and what a reference on the CPU says that the records of them must
// be.
#ifndef GLINT_TESTS_SHADOW_WORLD_H
#define GLINT_TESTS_SHADOW_WORLD_H

#include "shadow_harness.h"

// --- The kernel that is played -------------------------------------------------------------------

// Only the first roots have sites. Sites: for each root, way and size one with a tally; then one
// that every thread passes, and one whose tally counts from one.
enum { SIZES = 6, WAYS = 3, TALLIES = HARNESS_SLOTS * WAYS * SIZES + 1, SITES = TALLIES + 1 };
extern struct instrument_root world_roots[HARNESS_ROOTS];
extern struct instrument_kernel world_kernel;
void make_sites(void);

// --- The reference -------------------------------------------------------------------------------

struct model { // of one object
    struct core_object object;
    uint32_t shift; // 0: not used yet
    uint64_t elements;
    unsigned char *known; // by element: how many launches touched it, 2 at most
    uint32_t *counts;     // of the launch
    uint64_t read, written;
};

void model_make(struct model *model, const struct core_object *object);
void model_free(struct model *model);
void model_use(struct model *model,
               uint32_t shift); // with elements of this size, if it has none yet

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
void world_replace(struct world *world); // one object by another, somewhere else

// A launch with random roots and accesses, of which the model is told. Returns how many stray.
uint64_t world_launch(struct world *world, struct harness_run *run, struct harness_access *list,
                      uint32_t count);
// The same with roots that are there already; near: of each slot, an object that it mostly means.
uint64_t world_accesses(struct world *world, const struct harness_run *run,
                        struct harness_access *list, uint32_t count, const uint32_t *near);

// What one launch must tell, taken from the model.
struct expected {
    size_t count, counted;
    struct event_access accesses[MODELS];
    struct event_counts counts[MODELS];
};
void world_take(struct world *world, uint64_t call, uint32_t node, struct expected *expected);
// The records that have come are those of these launches, in this order.
void world_check(const struct world *world, const struct expected *expected, size_t launches);

#endif
