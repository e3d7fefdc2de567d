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
#include <string.h>

#include "instrument/instrument.h"

// Aborts if an allocation failed.
static inline void *oracle_must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

enum { ORACLE_BUFFERS = 12, ORACLE_VARIABLES = 8, ORACLE_POINTERS = 64, ORACLE_PARAMS = 320 };
enum { ORACLE_OBJECTS = ORACLE_BUFFERS + ORACLE_VARIABLES };

// What is stored of an address. DISTANCE: how far it is from that in an earlier pointer, `from`.
enum oracle_form {
    ORACLE_PLAIN,
    ORACLE_TAGGED, // with ORACLE_TAG in the highest byte
    ORACLE_KEYED,  // XOR ORACLE_KEY
    ORACLE_SCALED, // divided by 16
    ORACLE_DISTANCE,
    ORACLE_WORDS, // DISTANCE, divided by 4
};
#define ORACLE_TAG UINT64_C(0xa5)
#define ORACLE_KEY UINT64_C(0x5a5a0f0f33335555)

// An address within a buffer, stored in the parameters or in another buffer.
struct oracle_pointer {
    int in;      // the buffer that holds the address, or ORACLE_IN_PARAMS
    uint32_t at; // byte offset in it
    unsigned to; // the buffer that the address points to
    int64_t offset;
};
struct oracle_hidden {
    enum oracle_form form;
    unsigned from; // index of a pointer
};
enum { ORACLE_IN_PARAMS = -1 };

struct oracle_case {
    char name[64]; // for messages
    const char *ptx;
    size_t ptx_bytes;
    const char *kernel;
    uint32_t grid[3], block[3], shared_bytes;
    unsigned char params[ORACLE_PARAMS];
    uint32_t buffer_bytes[ORACLE_BUFFERS];
    const unsigned char *buffers[ORACLE_BUFFERS]; // initial contents; NULL: zeros
    unsigned buffer_count;
    const char *variables[ORACLE_VARIABLES]; // variables of the module that kernels may touch
    unsigned variable_count;
    struct oracle_pointer pointers[ORACLE_POINTERS];
    unsigned pointer_count;
    struct oracle_hidden hidden[ORACLE_POINTERS]; // by pointer: what is stored of it
    // Accesses leave the objects of their roots, which probes must report at object level.
    bool leaves;
    // Roots are compared with the bounds of the objects that their accesses are expected in.
    bool aims;
    // Whether accesses leave those objects is not known in advance. If probes do not report it,
    // what they report must be exact.
    bool may_leave;
    // Accesses of different lanes to one word of shared memory are ordered. Otherwise, clones may
    // have another order than the kernel.
    bool ordered;
    // The lanes of a warp never diverge, so that the order of its records of lines is certain.
    bool together;
    uint32_t steps; // basic blocks that the longest thread of each block executes; 0: any number
};

// What is stored of a pointer, if the buffers have these addresses.
static inline uint64_t oracle_pointer_value(const struct oracle_case *test,
                                            const unsigned long long *buffers, unsigned index)
{
    const struct oracle_pointer *pointer = &test->pointers[index];
    const struct oracle_hidden *hidden = &test->hidden[index];
    const struct oracle_pointer *from = &test->pointers[hidden->from];
    const uint64_t address = buffers[pointer->to] + (uint64_t)pointer->offset;
    const uint64_t distance = address - buffers[from->to] - (uint64_t)from->offset;
    switch (hidden->form) {
    case ORACLE_TAGGED: return address | ORACLE_TAG << 56;
    case ORACLE_KEYED: return address ^ ORACLE_KEY;
    case ORACLE_SCALED: return address / 16;
    case ORACLE_DISTANCE: return distance;
    case ORACLE_WORDS: return (uint64_t)((int64_t)distance / 4);
    default: return address;
    }
}

// What probes measure at each level, without values.
static const uint32_t oracle_facts[] = {
    INSTRUMENT_OBJECTS, INSTRUMENT_ELEMENTS, INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS,
    INSTRUMENT_OBJECTS | INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS};

// A kernel `k` whose parameters are two buffers of so many bytes, and a number. NULL: zeros.
static inline struct oracle_case oracle_case_of(const char *ptx, uint32_t blocks, uint32_t threads,
                                                uint32_t n, const unsigned char *first,
                                                const unsigned char *second, uint32_t bytes)
{
    struct oracle_case test = {
        .ptx = ptx,
        .ptx_bytes = strlen(ptx),
        .kernel = "k",
        .grid = {blocks, 1, 1},
        .block = {threads, 1, 1},
        .buffer_bytes = {bytes, bytes},
        .buffers = {first, second},
        .buffer_count = 2,
        .pointers = {{ORACLE_IN_PARAMS, 0, 0, 0}, {ORACLE_IN_PARAMS, 8, 1, 0}},
        .pointer_count = 2};
    memcpy(test.params + 16, &n, sizeof(n));
    return test;
}

// Ways to corrupt a run, to show that the comparison detects them.
enum oracle_spoil {
    ORACLE_SOUND,
    ORACLE_WITHOUT_OBJECT, // the first buffer is in no slot and not in the table
    ORACLE_WITHOUT_PROBE,  // one store or reduction of the clone does nothing
    ORACLE_OTHER_SLOT,     // the first slot describes the last buffer
    ORACLE_ONE_BIT,        // in the marks of the probes, after the run
    ORACLE_ONE_COUNT,
    ORACLE_ONE_TALLY,
    ORACLE_ONE_FLAG,
    ORACLE_ONE_RESULT,       // a byte of the kernel's result in its first buffer
    ORACLE_ONE_MARK,         // of the first buffer's first piece
    ORACLE_ONE_SILENT,       // in the sums of silent stores
    ORACLE_ONE_STILL,        // in the sums of atomic operations on sectors that do not change
    ORACLE_ONE_BIT_ACCESSED, // of the first accessed value
    ORACLE_ONE_REQUEST,      // in the sums of requests
    ORACLE_ONE_WORD,         // the stores of the last word of shared memory
    ORACLE_ALL_COUNTS,       // counts of words that may be too low are said to be exact
    ORACLE_ONE_RANGE,        // the live ranges that the last site begins in its last word
    ORACLE_ONE_REUSE,        // of the counters of what a block loads: number `which` of the last
    ORACLE_ONE_TRACED,       // of what the last record of a line or the last block has: `which`
};

// Values: what the launch allows for every other object.
enum oracle_watch { ORACLE_LOADS, ORACLE_WITHOUT_LOADS, ORACLE_UNWATCHED };

struct oracle_level {
    uint32_t facts;          // enum instrument_facts
    uint32_t shift;          // log2 of the element size
    enum oracle_watch watch; // values
    unsigned workers;        // of the simulated GPU; levels that run together use the first level's
                             // number; 0: the simulator's default
    uint32_t gpu;            // as in struct instrument_request
    uint32_t parts;          // likewise
    enum instrument_counted counted; // how requests of whole warps are counted at best
    bool light;                      // the second clone runs if there is one: that for regular
                                     // launches if this one is, or that which does not trace
    bool must_be_regular;            // it must run
    bool all_words;                  // of shared memory must be counted
    uint32_t word_ways;              // as in struct instrument_request
    uint32_t spare_word;             // bytes of spare memory for each word: none unless that is the
                                     // kernel's spare_word or spare_small
    bool all_ranges;                 // live ranges must be traced
    bool without_tags;               // there is no spare memory for those of live ranges
    // No block is looked at. With requests, none should be: lanes that wait at a join for long
    // continue without those that count, and so make more requests than in the kernel.
    bool no_reuse;
    bool all_reuse;      // what blocks load of global memory must be counted
    uint32_t reuse_bits; // of the largest tables of words; 0: 15
    bool must_trace;     // lines of global memory must be traced
    // Of struct instrument_trace; 0: all lines, room for them, one shelf.
    uint32_t trace_limit, trace_room, trace_shelves;
    enum oracle_spoil spoil;
    unsigned which; // which probe, for ORACLE_WITHOUT_PROBE; which counter, for ORACLE_ONE_REUSE;
                    // see oracle_trace.c for ORACLE_ONE_TRACED
};

// Runs the kernel and its clone at each level. Each level has its own module, and all run in one
// child process. Returns true if the clone left buffers and variables as the kernel did, and the
// probes reported what the log says. Differences go to `complaints`, at most a few lines per level.
bool oracle_holds(const struct oracle_case *test, const struct oracle_level *levels, unsigned count,
                  FILE *complaints);

// --- Between oracle_run.c and oracle_compare.c ---------------------------------------------------

// A buffer or a variable, and what the probes reported about it.
struct oracle_object {
    char name[48];
    uint64_t address, bytes;
    struct instrument_slot slot; // as in the context and the table
    bool read, written;
    uint64_t read_bytes, written_bytes;
    uint32_t *bits;   // words of the bitmap from slot.base on; NULL: not requested
    uint32_t *counts; // counters of elements from slot.base on; NULL: not requested
    // Values.
    struct instrument_pieces pieces; // as in the context and the table
    uint8_t *marks;                  // as probes left them; NULL: not requested
    uint64_t stored, silent;         // bytes of stores that were looked up, and of silent ones
    const unsigned char *initial;    // contents before the launch
};

// How often threads executed a site, according to its tally.
struct oracle_site {
    uint32_t index;
    char function[64], opcode[128];
    bool counted; // false: the table has it, or it is unknown
    uint64_t times;
    bool rooted;
    uint32_t root;
    uint8_t access;
    unsigned object; // of its root; ORACLE_OBJECTS: none
    bool observed;   // accessed values
    bool examined;   // values: `silent` is valid
    uint64_t silent; // how many executions changed nothing
    bool stilled;    // values: `still` is valid
    uint64_t still;  // of those, in whose sector the warp changed nothing
    bool requested;  // requests: the sums are valid
    bool local;      // requests: on local memory
    uint64_t requests[INSTRUMENT_REQUEST_TALLIES];
};

// Accessed values.
struct oracle_root {
    uint64_t address;
    struct instrument_layout layout;
    bool unobserved[2];
};
struct oracle_accessed_told {
    struct instrument_accessed about;
    struct instrument_accessed_words words;
};

// Shared memory.
struct oracle_array {
    char name[64];
    uint64_t bytes, first; // first: index of its first word
    bool dynamic;
};

// A site that stores to words [first, end); the counters of word w have the index row + w.
struct oracle_range_site {
    uint32_t index; // of the instruction
    uint32_t bytes; // 0: an operand says how many
    uint64_t row, first, end;
};

// What blocks load of global memory.
struct oracle_reuse {
    uint64_t address; // of the counters; 0: nothing is counted
    bool complete;    // all accesses are counted
    uint64_t counts_at, sites_at;
    uint32_t looked, set_count, site_count;
    struct instrument_reuse_set sets[ORACLE_OBJECTS];
    unsigned objects[ORACLE_OBJECTS];
    struct instrument_reused *counts;
    uint64_t *sites;
};

// Which lines of global memory warps reach.
struct oracle_trace {
    bool complete;    // the kernel can be traced, and the clone that traces runs
    uint64_t address; // of the struct instrument_trace; 0: nothing is traced
    uint64_t records_at, blocks_at;
    uint32_t limit, room, shelves, multiprocessors; // room: of a shelf
    uint32_t before_ns, after_ns;                   // around the launch, modulo 2^32
    uint32_t next[INSTRUMENT_TRACE_LEVELS];         // of all shelves together
    bool full[INSTRUMENT_TRACE_LEVELS];             // one of them had no room
    uint32_t kept[INSTRUMENT_TRACE_LEVELS];         // records, in the order of shelves
    struct instrument_traced *records[INSTRUMENT_TRACE_LEVELS];
    uint32_t *places[INSTRUMENT_TRACE_LEVELS]; // where each is in the memory of all of them
    struct instrument_traced_block *blocks;
};

// Results of one level, written by the process that launches, in shared memory.
struct oracle_told {
    bool done;
    char problem[512]; // an error before there was anything to compare; "": none
    char clone[128];
    bool regular; // that for regular launches
    struct oracle_object objects[ORACLE_OBJECTS];
    unsigned object_count;
    struct oracle_site *sites;
    unsigned site_count;
    struct oracle_site *shared; // requests: sites of shared and local memory
    unsigned shared_count;
    struct oracle_root *roots;
    unsigned root_count;
    struct oracle_accessed_told *accessed;
    unsigned accessed_count;
    bool counts_words; // shared memory: all accesses are counted
    bool knows_words;  // shared memory: the launch knows some of the counts
    struct oracle_array *arrays;
    unsigned array_count;
    struct instrument_word *words;
    uint64_t word_count;
    bool racy;            // shared memory: any count may be lost
    bool *limited;        // shared memory, by array: some counts are at their limit
    uint64_t lost_counts; // shared memory: that many were
    bool traces;          // shared memory: live ranges are known
    struct oracle_range_site *range_sites;
    uint32_t range_site_count;
    struct instrument_range *ranges;
    uint64_t range_count;
    struct oracle_reuse reuse;
    struct oracle_trace trace;
    uint64_t strays;
    bool unknown;      // objects: the probes reported that the touched objects are unknown
    char differs[256]; // difference between the results of clone and kernel; "": none
};

// Memory shared by both processes; zeroed at first, and kept until the parent ends.
struct oracle_shared {
    char *memory;
    size_t bytes, used;
};
void *oracle_take(struct oracle_shared *shared, size_t bytes);

// Called in the child: fills told[level]. Exits if CUDA fails.
void oracle_launch(const struct oracle_case *test, const struct oracle_level *level,
                   struct oracle_shared *shared, struct oracle_told *told);
// Values, called in the parent: sees the accesses to global memory of both launches of a level, and
// adds a line for each difference from what the probes told. The clone may race with itself, so a
// level with values runs with one worker.
struct oracle_values;
struct gpusim_log_access;
struct oracle_values *oracle_values_create(const struct oracle_case *test,
                                           const struct oracle_told *told);
void oracle_values_destroy(struct oracle_values *values);
void oracle_values_see(struct oracle_values *values, const struct gpusim_log_access *access,
                       bool clone);
void oracle_values_judge(const struct oracle_values *values, struct base_buf *complaints);

// The same for accessed values.
struct oracle_accessed;
struct oracle_accessed *oracle_accessed_create(const struct oracle_case *test,
                                               const struct oracle_told *told);
void oracle_accessed_destroy(struct oracle_accessed *accessed);
void oracle_accessed_see(struct oracle_accessed *accessed, const struct gpusim_log_access *access,
                         bool clone);
void oracle_accessed_judge(const struct oracle_accessed *accessed, struct base_buf *complaints);

// The same for words of shared memory, of which it sees what the kernel accesses without probes.
struct oracle_words;
struct oracle_words *oracle_words_create(const struct oracle_case *test,
                                         const struct oracle_told *told);
void oracle_words_destroy(struct oracle_words *words);
void oracle_words_see(struct oracle_words *words, const struct gpusim_log_access *access);
void oracle_words_judge(const struct oracle_words *words, struct base_buf *complaints);
// Finds the words of an access. False: it is in no array.
bool oracle_words_find(const struct oracle_words *words, uint64_t address, uint32_t bytes,
                       uint64_t *first, uint64_t *last);

// Bulk copies are counted by chunks.
enum { ORACLE_CHUNK = 16 };
static inline uint32_t oracle_chunk(uint32_t bytes)
{
    return bytes < ORACLE_CHUNK ? bytes : ORACLE_CHUNK;
}

// The same for live ranges of these words.
struct oracle_ranges;
struct oracle_ranges *oracle_ranges_create(const struct oracle_case *test,
                                           const struct oracle_told *told,
                                           const struct oracle_words *words);
void oracle_ranges_destroy(struct oracle_ranges *ranges);
void oracle_ranges_see(struct oracle_ranges *ranges, const struct gpusim_log_access *access);
void oracle_ranges_judge(const struct oracle_ranges *ranges, struct base_buf *complaints);

// The same for what blocks load of global memory. Called in the child: makes the counters, for the
// objects of roots, and reads them. Returns their address for the context.
uint64_t oracle_reuse_make(const struct oracle_case *test, const struct oracle_level *level,
                           const struct instrument_kernel *kernel, const unsigned *roots,
                           struct oracle_told *told);
void oracle_reuse_read(const struct oracle_level *level, struct oracle_shared *shared,
                       struct oracle_told *told);
// In the parent: sees what the kernel accesses without probes.
struct oracle_reuse_log;
struct oracle_reuse_log *oracle_reuse_create(const struct oracle_case *test,
                                             const struct oracle_told *told);
void oracle_reuse_destroy(struct oracle_reuse_log *log);
void oracle_reuse_see(struct oracle_reuse_log *log, const struct gpusim_log_access *access);
void oracle_reuse_judge(const struct oracle_reuse_log *log, struct base_buf *complaints);

// The same for lines that warps reach. Called in the child.
void oracle_trace_make(const struct oracle_case *test, const struct oracle_level *level,
                       const struct instrument_kernel *kernel, struct oracle_told *told,
                       struct instrument_context *context);
void oracle_trace_read(const struct oracle_case *test, const struct oracle_level *level,
                       struct oracle_shared *shared, struct oracle_told *told);
// In the parent: sees all accesses of both launches.
struct oracle_trace_log;
struct oracle_trace_log *oracle_trace_create(const struct oracle_case *test,
                                             const struct oracle_told *told);
void oracle_trace_destroy(struct oracle_trace_log *log);
void oracle_trace_see(struct oracle_trace_log *log, const struct gpusim_log_access *access,
                      bool clone);
void oracle_trace_judge(struct oracle_trace_log *log, struct base_buf *complaints);

// Called in the parent: reads the log and compares.
bool oracle_compare(const struct oracle_case *test, const struct oracle_level *levels,
                    unsigned count, const struct oracle_told *told, const char *log_path,
                    FILE *complaints);

#endif
