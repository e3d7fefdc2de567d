// SPDX-License-Identifier: Apache-2.0
// Describes what a recorded program's kernels did, in the same form from two sources: the profile
// (told.c) and the simulated GPU's log of the same run (logged.c). against_log.c compares both
// stories.
#ifndef GLINT_TESTS_RECORD_PROBES_AGAINST_LOG_H
#define GLINT_TESTS_RECORD_PROBES_AGAINST_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "gpusim/gpusim.h"
#include "instrument/instrument.h"
#include "profile/profile.h"

// Aborts if an allocation failed.
static inline void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}
#define PUSH(type, array) (*(type *)must(base_array_push(array)))

enum level { LEVEL_OBJECTS, LEVEL_ELEMENTS, LEVEL_COUNTS };

// What one launch did to one object. Fields that the level does not collect are 0.
struct row {
    uint64_t object;         // its number
    uint64_t address, bytes; // of the object
    bool heap;               // a kernel allocated it
    bool read, written;
    uint64_t bytes_read, bytes_written, elements;
    uint32_t element_bytes;
    struct profile_counts counts; // except call, object and node
};

// What the requests of warps took at one instruction, in one launch.
struct requested {
    uint32_t index; // of the instruction in the kernel; in the log, at first that in the clone
    char *text;     // its opcode
    enum gpusim_log_space space;
    bool may_lack; // the profile need not have it
    bool renamed;  // in the log: `index` is that in the kernel
    uint64_t sums[INSTRUMENT_REQUEST_TALLIES];
};
struct requests {
    struct requested *items;
    size_t count, capacity;
};

struct launch {
    char *kernel;   // mangled name of the original kernel
    uint64_t order; // sort key of launches
    uint64_t id;    // the log's number; in the profile, the call's
    uint32_t nth;   // index among the launches of its kernel, from 0
    uint32_t like;  // launches with the same number are interchangeable, in both stories
    bool watched;
    uint64_t from, to; // when it ran: positions in the log; in the profile, its call
    // Log: addresses of blocks that its probes saw allocated and freed.
    struct base_map given, taken;
    BASE_ARRAY(struct row) rows;
    struct requests requests;
};

// What all launches did to one object during its lifetime.
struct life {
    uint64_t object; // its number
    uint64_t address;
    uint32_t nth; // index among the objects at its address, from 0
    uint32_t element_bytes;
    bool heap;  // a kernel allocated it
    bool mixed; // several granularities: not compared
    // Launches of several devices used it. The profile must not say what all of them touched.
    bool foreign;
    uint64_t touched, more; // elements touched by at least one launch, by at least two
    uint64_t elements;      // of the whole object
    unsigned char *times;   // for each element: 0, 1, or 2 for more; NULL: no maps
};

// Memory that a kernel allocated.
struct block {
    uint64_t object; // its number
    uint64_t address, bytes;
    bool has_end;
    uint64_t began, ended; // when: positions in the log; in the profile, calls
};

struct story {
    BASE_ARRAY(struct launch) launches;
    BASE_ARRAY(struct life) lives; // by object
    BASE_ARRAY(struct block) blocks;
    struct base_map addresses; // of the profile's objects
    // In the log: accesses to memory that kernels allocated, and those to memory that the profile
    // does not know; glint's objects, and objects of cooperative launches; errors, which were
    // printed.
    uint64_t heap, untold, own, barriers;
    // In the log: instructions whose requests are compared, and requests of those that are not
    // counted.
    uint64_t compared, uncounted;
    unsigned wrong;
};

// What of a profile is compared.
struct scope {
    enum level level;
    bool requests;
};

// Reads the profile. Returns false after a message.
bool told(const char *path, const struct scope *scope, struct story *story);
// Reads the log, without accesses of probes and of glint's kernels. It is an error if the program
// touches an object that the other story does not know. Element sizes are those of the other story:
// of the same launch and object, else of any launch.
bool logged(const char *path, const struct scope *scope, const struct story *other,
            struct story *story);

// Sorts launches by order, and numbers launches and lives.
void story_number(struct story *story);
void story_free(struct story *story);

// Prints a row as text, which is compared and shown.
void print_row(struct base_buf *out, enum level level, const struct row *row);

// blocks.c: compares the blocks of both stories, the launches that allocated and freed them, and
// the accesses of launches to them. Needs `like` of all launches. Prints the differences and
// returns their number.
unsigned compare_blocks(enum level level, const struct story *profile, const struct story *log);

#endif
