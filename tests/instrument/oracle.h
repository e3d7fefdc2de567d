// SPDX-License-Identifier: Apache-2.0
// Compares probes with the simulator's log: a kernel runs on the simulated GPU with and without
// probes, and what the probes report must equal what the log of the same run says. oracle_run.c
// launches kernels, with launch contexts made by hand as instrument.h defines them;
// oracle_compare.c reads the log.
#ifndef GLINT_TESTS_INSTRUMENT_ORACLE_H
#define GLINT_TESTS_INSTRUMENT_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "instrument/instrument.h"

// Memory, of which there is enough for tests.
static inline void *oracle_must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

enum { ORACLE_BUFFERS = 12, ORACLE_VARIABLES = 8, ORACLE_POINTERS = 64, ORACLE_PARAMS = 256 };
enum { ORACLE_OBJECTS = ORACLE_BUFFERS + ORACLE_VARIABLES };

// The address of a buffer's byte, as it stands in the parameters or in another buffer.
struct oracle_pointer {
    int in;      // a buffer, or ORACLE_IN_PARAMS
    uint32_t at; // where in it, in bytes
    unsigned to; // the buffer
    int64_t offset;
};
enum { ORACLE_IN_PARAMS = -1 };

struct oracle_case {
    char name[64]; // for people
    const char *ptx;
    size_t ptx_bytes;
    const char *kernel;
    uint32_t grid[3], block[3], shared_bytes;
    unsigned char params[ORACLE_PARAMS];
    uint32_t buffer_bytes[ORACLE_BUFFERS];
    const unsigned char *buffers[ORACLE_BUFFERS]; // what they hold at first; NULL: zeros
    unsigned buffer_count;
    const char *variables[ORACLE_VARIABLES]; // of the module, that kernels may touch
    unsigned variable_count;
    struct oracle_pointer pointers[ORACLE_POINTERS];
    unsigned pointer_count;
    bool leaves; // accesses leave the objects of their roots: at object level that must be told
};

// Ways to spoil a run, to show that the comparison finds it.
enum oracle_spoil {
    ORACLE_SOUND,
    ORACLE_WITHOUT_OBJECT, // the first buffer is in no slot and not in the table
    ORACLE_WITHOUT_PROBE,  // one store or reduction of the clone does nothing
    ORACLE_OTHER_SLOT,     // the first slot is that of the last buffer
    ORACLE_ONE_BIT,        // in what the probes left, after the run
    ORACLE_ONE_COUNT,
    ORACLE_ONE_TALLY,
    ORACLE_ONE_FLAG,
    ORACLE_ONE_RESULT, // a byte of what the kernel left in its first buffer
};

struct oracle_level {
    uint32_t facts;   // enum instrument_facts
    uint32_t shift;   // of elements
    unsigned workers; // of the simulated GPU, for all levels that run together: the first's
                      // holds; 0: as many as it wants
    uint32_t gpu;     // as in struct instrument_request
    uint32_t parts;   // likewise
    enum oracle_spoil spoil;
    unsigned which; // of the probes, for ORACLE_WITHOUT_PROBE
};

// Runs the kernel and its clone at each level, each level in a module of its own, all in a process
// of their own. True: the clone left the buffers and variables as the kernel did, and the probes
// told what the log says. What is not so goes to `complaints`, at most a few lines a level.
bool oracle_holds(const struct oracle_case *test, const struct oracle_level *levels, unsigned count,
                  FILE *complaints);

// --- Between the two sides -----------------------------------------------------------------------

// A buffer or a variable, and what probes told of it.
struct oracle_object {
    char name[48];
    uint64_t address, bytes;
    struct instrument_slot slot; // as the context and the table had it
    bool read, written;
    uint64_t read_bytes, written_bytes;
    uint32_t *bits;   // words of the bitmap from slot.base; NULL: not asked for
    uint32_t *counts; // elements from slot.base; likewise
};

// How often threads came by a site, as a tally tells.
struct oracle_site {
    uint32_t index;
    char function[64], opcode[128];
    bool counted; // false: the table tells, or nothing is told
    uint64_t times;
};

// Of one level, made by the process that launches, in memory that both have.
struct oracle_told {
    bool done;
    char problem[512]; // what went wrong before there was anything to compare; "": nothing
    char clone[128];
    struct oracle_object objects[ORACLE_OBJECTS];
    unsigned object_count;
    struct oracle_site *sites;
    unsigned site_count;
    uint64_t strays;
    bool unknown;      // objects: the probes told that they do not know what was touched
    char differs[256]; // what the clone left otherwise than the kernel; "": nothing
};

// Memory that both processes have: whole and zeroed, until the end of the parent.
struct oracle_shared {
    char *memory;
    size_t bytes, used;
};
void *oracle_take(struct oracle_shared *shared, size_t bytes);

// In the process that launches: fills told[level]. Ends the process where CUDA fails.
void oracle_launch(const struct oracle_case *test, const struct oracle_level *level,
                   struct oracle_shared *shared, struct oracle_told *told);
// In the other: reads the log and compares.
bool oracle_compare(const struct oracle_case *test, const struct oracle_level *levels,
                    unsigned count, const struct oracle_told *told, const char *log_path,
                    FILE *complaints);

#endif
