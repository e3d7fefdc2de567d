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
    bool heap;               // a kernel has allocated it
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
    uint32_t like;  // launches of both stories with the same number may be the same
    bool watched;
    uint64_t from, to;            // when it ran: places in the log; in the profile, its call
    struct base_map given, taken; // in the log: addresses of blocks that its probes saw come and go
    BASE_ARRAY(struct row) rows;
};

// What all launches did to one object in its life.
struct life {
    uint64_t object; // its number
    uint64_t address;
    uint32_t nth; // of the objects at its address, from 0
    uint32_t element_bytes;
    bool heap;              // a kernel has allocated it
    bool mixed;             // of several granularities: nothing is compared
    uint64_t touched, more; // elements: by one launch and more, by two and more
    uint64_t elements;      // of the whole object
    unsigned char *times;   // for each: 0, 1, 2 and more; NULL: no maps
};

// Memory that a kernel allocated.
struct block {
    uint64_t object; // its number
    uint64_t address, bytes;
    bool has_end;
    uint64_t began, ended; // when: places in the log; in the profile, calls
};

struct story {
    BASE_ARRAY(struct launch) launches;
    BASE_ARRAY(struct life) lives; // by object
    BASE_ARRAY(struct block) blocks;
    struct base_map addresses; // of the profile's objects
    // In the log: accesses to memory that kernels allocated, and those of them that are to what the
    // profile does not know; objects of glint's own, and of cooperative launches; what is wrong,
    // which was printed.
    uint64_t heap, untold, own, barriers;
    unsigned wrong;
};

// From the profile; false after a message.
bool told(const char *path, enum level level, struct story *story);
// From the log. What probes and kernels of glint's own touch is left out; that the program touches
// an object that the other story does not know is wrong. How fine elements are is taken from there
// too: as they are in the same launch's row of the same object, else in any.
bool logged(const char *path, enum level level, const struct story *other, struct story *story);

// Sorts launches by order, and numbers launches and lives.
void story_number(struct story *story);
void story_free(struct story *story);

// A row as text, which is compared and shown.
void print_row(struct base_buf *out, enum level level, const struct row *row);

// blocks.c: whether both tell the same blocks, with the same launches that allocated and freed them
// and all that launches did to them, once launches have what they are like. Prints what is not the
// same, and returns how many.
unsigned compare_blocks(enum level level, const struct story *profile, const struct story *log);

#endif
