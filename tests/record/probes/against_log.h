// SPDX-License-Identifier: Apache-2.0
// What a recorded program's kernels did, told twice: by the profile (told.c) and by the simulated
// GPU's log of the same run (logged.c). Both make the same story of it, which against_log.c
// compares.
#ifndef GLINT_TESTS_RECORD_PROBES_AGAINST_LOG_H
#define GLINT_TESTS_RECORD_PROBES_AGAINST_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "profile/profile.h"

// Memory, of which there is enough for tests.
static inline void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}
#define PUSH(type, array) (*(type *)must(base_array_push(array)))

enum level { LEVEL_OBJECTS, LEVEL_ELEMENTS, LEVEL_COUNTS };

// What one launch did to one object. What the level does not ask for is 0.
struct row {
    uint64_t object;         // its number
    uint64_t address, bytes; // of the object
    bool heap;               // in the log: a kernel has allocated it
    bool read, written;
    uint64_t bytes_read, bytes_written, elements;
    uint32_t element_bytes;
    struct profile_counts counts; // but for call, object and node
};

struct launch {
    char *kernel;   // mangled, of the program's own
    uint64_t order; // by which launches are sorted
    uint64_t id;    // the log's number; in the profile, the call's
    uint32_t nth;   // of the launches of its kernel, from 0
    bool watched;
    BASE_ARRAY(struct row) rows; // by address, and of several at one place by what was done
};

// What all launches did to one object in its life.
struct life {
    uint64_t object; // its number
    uint64_t address;
    uint32_t nth; // of the objects at its address, from 0
    uint32_t element_bytes;
    bool mixed;             // of several granularities: nothing is compared
    uint64_t touched, more; // elements: by one launch and more, by two and more
    uint64_t elements;      // of the whole object
    unsigned char *times;   // for each: 0, 1, 2 and more; NULL: no maps
};

// Memory that a kernel allocated.
struct block {
    uint64_t address, bytes;
    uint32_t nth; // of those at its address, from 0
    bool has_end;
    uint64_t began, ended; // ids of launches; 0: not known
};

struct story {
    BASE_ARRAY(struct launch) launches;
    BASE_ARRAY(struct life) lives;
    BASE_ARRAY(struct block) blocks; // in the order in which they were allocated
    struct base_map addresses;       // of the profile's objects
    uint64_t heap, untold; // accesses to memory that kernels allocated; to what nobody tells
};

// From the profile; false after a message.
bool told(const char *path, enum level level, struct story *story);
// From the log. Objects that the other story does not know are glint's own, which its probes write
// to, unless kernels have allocated them. How fine elements are is taken from there too: as they
// are in the same launch's row of the same object, else in any.
bool logged(const char *path, enum level level, const struct story *other, struct story *story);

// Sorts launches by order, and numbers launches and lives.
void story_number(struct story *story);
void story_free(struct story *story);

// blocks.c: whether both tell the same blocks, with the same launches that allocated and freed them
// (of which only the kernels are compared in any order). Prints what is not the same, and returns
// how many.
unsigned compare_blocks(struct story *profile, struct story *log, bool any_order);

#endif
