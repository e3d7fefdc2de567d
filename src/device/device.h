// SPDX-License-Identifier: Apache-2.0
// The reduction: GPU code that turns what the probes of one launch wrote into one record. This
// header is also compiled as CUDA C. The code is PTX, so every driver can load it.
//
// The reduction runs after the launch, on the same stream. It reads the launch's words of all
// objects that the launch may have touched, merges them into the accumulated bitmaps of these
// objects, sums them up, and writes the record to host memory. It zeroes everything that it read
// for the next launch.
#ifndef GLINT_DEVICE_DEVICE_H
#define GLINT_DEVICE_DEVICE_H

#include <stdint.h>

#include "small.h"
#include "values.h"
#include "weigh.h"

#ifndef __CUDACC__
extern const char device_ptx[];        // kernels DEVICE_REDUCE, DEVICE_REDUCE_MANY
extern const char device_few_ptx[];    // the same, with blocks of DEVICE_FEW_THREADS
extern const char device_counts_ptx[]; // DEVICE_REDUCE, for jobs and entries that all have counts

// The version of PTX that this code, values.h's and weigh.h's have is that of CUDA 11.7. Writes the
// code for drivers from CUDA 11.4 on, which do the same with more shared memory.
enum { DEVICE_DRIVER = 11070 };
struct base_buf;
void device_for_older(const char *ptx, struct base_buf *out);
#endif
#define DEVICE_REDUCE      "glint_reduce" // (struct device_reduction)
// (struct device_reduction *): an array with one reduction per block in y, without jobs
#define DEVICE_REDUCE_MANY "glint_reduce_many"

enum {
    DEVICE_THREADS = 256,     // of a block; the grid may have any width
    DEVICE_FEW_THREADS = 32,  // of a block, for the simulated GPU
    DEVICE_BLOCKS = 3,        // resident on a multiprocessor, without counts
    DEVICE_COUNTS_BLOCKS = 2, // resident on a multiprocessor, with counts
    DEVICE_FEW_WORDS = 65536, // for each block of few threads
    DEVICE_CHUNK_WORDS = 128, // processed by a warp together
    DEVICE_SPAN = 4,          // chunks that a warp reads at once, without counts
    DEVICE_FEW_SPAN = 8,      // the same, for the simulated GPU
    DEVICE_JOBS = 32,         // the most of a reduction
    DEVICE_BINS = 64,
    DEVICE_PIECES = 1024,
    DEVICE_HOTTEST = 8,
};

// Addresses are uint64_t, so that the layout is the same on host and device.

struct device_sums { // zero between launches
    uint64_t elements, fresh,
        shared; // touched by this launch; among them, by no earlier launch; by exactly one
};

// Follows struct device_sums if there are counts; zero between launches.
struct device_counts {
    uint64_t sum, squares_low, squares_high;
    uint64_t most; // the highest count << 32 | UINT32_MAX - the first element that has it
    uint64_t bins[DEVICE_BINS];
    uint64_t pieces[DEVICE_PIECES]; // sums of counts
};

// One object. A word describes 32 elements: with counts, as struct instrument_slot defines it;
// without, by one bit each.
struct device_job {
    uint64_t bits;       // address of the launch's words
    uint64_t counts;     // address of its counters; 0: words hold bits
    uint64_t any, multi; // addresses of bitmaps: elements touched by a launch; by more than one
    uint64_t full;  // address of one byte per chunk of words: not 0 if all bits of `multi`, and
                    // therefore of `any`, are known to be set; 0: not maintained
    uint64_t sums;  // address of struct device_sums
    uint64_t words; // a multiple of 4
    uint32_t first; // index of the bit of the object's first element
    uint32_t piece; // elements per piece of struct device_counts
};

// An entry of the launch's table. An entry whose `owner` is its own index is an object. An object
// that parts divide has several entries: the first one owns all of them, and they are among the
// `span` entries from it on.
struct device_entry {
    struct device_job job;
    uint32_t owner, span;
};

struct device_reduction {
    uint64_t done; // address of a uint32_t: blocks that have ended; 0 between launches
    struct device_small small;
    uint32_t sequence; // written to the record last, not 0; 0: more reductions follow for this
                       // launch, and only jobs are written
    uint32_t jobs_at, entries_at, job_counts_at, entry_counts_at; // as in struct device_small
    uint32_t table_count, job_count, reserved;
    uint64_t touched, moved, stored, entries;
    struct device_job jobs[DEVICE_JOBS];
};

// --- The record ----------------------------------------------------------------------------------

struct device_touched { // one entry of the table
    uint32_t index;
    uint8_t read, written;
    uint8_t counted; // its counts are in the record
    uint8_t padding;
    uint64_t moved[2], stored[2];
    struct device_sums sums;
};

struct device_counted {
    uint64_t sum, squares_low, squares_high;
    uint64_t most, most_at;
    uint64_t bins[DEVICE_BINS];
    struct {
        uint64_t piece, sum; // sum 0: unused
    } hottest[DEVICE_HOTTEST];
};

#endif
