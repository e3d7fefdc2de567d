// SPDX-License-Identifier: Apache-2.0
// Runs the scan of contents on the simulated GPU, and compares everything that it writes with the
// reference.
#ifndef GLINT_TESTS_VALUES_HARNESS_H
#define GLINT_TESTS_VALUES_HARNESS_H

#include "values_reference.h"

// Set-up and tear-down of a group of tests.
int harness_start(void **unused);
int harness_finish(void **unused);

uint32_t random_next(uint32_t *seed); // 32 bits

// An object in memory that host and device can both access, and what is kept about it. All pointers
// are such memory.
struct object {
    unsigned char *memory; // the first byte
    struct device_values_job job;
    unsigned char *marks, *states;
    uint64_t (*hashes)[2];
    struct device_kept *kept;
    unsigned char *work;
    struct device_values_result *result;
    unsigned char *looked_at; // by the last scan; ordinary memory
    void *allocated;
};

// Makes an object that begins `lead` bytes behind a multiple of 256, with random contents and a
// layout of one raw word.
struct object object_new(uint64_t bytes, unsigned lead);
void object_free(struct object *object);
void object_mark(struct object *object, uint32_t piece);
bool object_is_marked(const struct object *object, uint32_t piece);
// Marks pieces on the GPU, with so many blocks: `count` from `first` on, and those of `other`,
// whose marks are cleared; NULL: none.
void object_mark_many(struct object *object, struct object *other, uint32_t first, uint32_t count,
                      unsigned blocks);
// Sets the layout to one field that fills the structure.
void object_type(struct object *object, uint32_t type);
// The number of structures that lie entirely in the object.
uint64_t object_elements(const struct object *object);
// Writes an element of the first field: its stored bits, or a float.
void object_put(struct object *object, uint64_t index, uint64_t bits);
void object_put_number(struct object *object, uint64_t index, double number);

// Scans objects as their jobs say, with so many blocks, and checks all results, and what is kept.
// Before, does the same in another way, from the same state.
void objects_scan(struct object *const *objects, unsigned count, unsigned blocks);
void object_scan(struct object *object, uint32_t which, bool describes, unsigned blocks);

// Memory that host and device can both access, zeroed; freed by harness_finish.
void *harness_memory(size_t bytes);
// Weighs as the jobs say, with so many blocks, and checks that all is left as it was before.
void harness_weigh(struct device_weigh *about, unsigned blocks);

#endif
