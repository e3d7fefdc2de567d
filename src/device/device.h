// SPDX-License-Identifier: Apache-2.0
// What runs on the GPU beside the program's kernels: the reduction of what the probes of one launch
// wrote to one record. CUDA C reads this header too. The code is PTX, for any driver.
//
// The reduction runs behind the launch on its stream. It reads the launch's words of all objects
// that the launch can have reached, joins them into what is known of those objects, sums up, writes
// the record into memory of the host, and leaves all that it read zeroed for the next launch.
#ifndef GLINT_DEVICE_DEVICE_H
#define GLINT_DEVICE_DEVICE_H

#include <stdint.h>

#ifndef __CUDACC__
extern const char device_ptx[];        // kernels DEVICE_REDUCE, DEVICE_REDUCE_MANY
extern const char device_counts_ptx[]; // DEVICE_REDUCE, where all jobs and entries have counts
#endif
#define DEVICE_REDUCE      "glint_reduce" // (struct device_reduction)
// (struct device_reduction *): one for each of grid.y, a block each; without jobs
#define DEVICE_REDUCE_MANY "glint_reduce_many"

enum {
    DEVICE_THREADS = 256,     // of a block; the grid's width is free
    DEVICE_BLOCKS = 3,        // of a multiprocessor's, at once: without counts
    DEVICE_COUNTS_BLOCKS = 2, // and with
    DEVICE_CHUNK_WORDS = 128, // of a warp
    DEVICE_SPAN = 4,          // chunks of a warp at once, without counts
    DEVICE_JOBS = 32,         // of a reduction
    DEVICE_BINS = 64,
    DEVICE_PIECES = 1024,
    DEVICE_HOTTEST = 8,
};

// Addresses are uint64_t, so that the layout is one for host and device.

struct device_sums {                  // zero between launches
    uint64_t elements, fresh, shared; // touched; by no launch before; by one before
};

// Behind struct device_sums where there are counts; zero between launches.
struct device_counts {
    uint64_t sum, squares_low, squares_high;
    uint64_t most; // the highest count << 32 | UINT32_MAX - its first element
    uint64_t bins[DEVICE_BINS];
    uint64_t pieces[DEVICE_PIECES]; // sums of counts
};

// One object. A word stands for 32 elements: bits, or, where there are counts, what struct
// instrument_slot says of them.
struct device_job {
    uint64_t bits;       // address of the launch's words
    uint64_t counts;     // of its counters; 0: words hold bits
    uint64_t any, multi; // of bits: touched by some launch; by more than one
    uint64_t full;       // of a byte for each chunk of words: not 0 where all bits of multi, and so
                         // of any, are known to be set; 0: nobody keeps that
    uint64_t sums;       // of struct device_sums
    uint64_t words;      // a multiple of 4
    uint32_t first;      // bit of the object's first element
    uint32_t piece;      // elements in each of struct device_counts' pieces
};

// An object of the launch's table, where `owner` is its own index. What parts leave of one object
// are several entries, of which the first is owner of all and the others are within its span.
struct device_entry {
    struct device_job job;
    uint32_t owner, span;
};

struct device_reduction {
    uint64_t done;     // address of a uint32_t: blocks that have ended; 0 between launches
    uint64_t result;   // of the record; offsets in bytes from it follow, multiples of 8
    uint32_t sequence; // that is written to it last, never 0; 0: this is not all, and nothing is
                       // written but of the jobs
    uint32_t tallies_at, strayed_at, flags_at, jobs_at, entries_at, job_counts_at, entry_counts_at;
    uint64_t flags;
    uint64_t tallies;
    uint32_t flag_count, flag_rows, flag_row_bytes;
    uint32_t tally_count, tally_rows, tally_row_bytes;
    uint64_t strayed; // address of uint64_t[strayed_count]
    uint64_t strays;  // of struct instrument_strays; 0: no table
    uint64_t touched, moved, entries;
    uint32_t table_count, strayed_count;
    uint32_t job_count, reserved;
    struct device_job jobs[DEVICE_JOBS];
};

// --- The record ----------------------------------------------------------------------------------

struct device_result {
    volatile uint32_t sequence;
    uint32_t entry_count; // struct device_touched
    uint64_t strays, stray_at;
    // At their offsets: uint64_t tallies[tally_count], the sums over rows; uint64_t
    // strayed[strayed_count]; uint8_t flags[flag_count], set in any row; struct device_sums
    // jobs[job_count]; struct device_touched entries[entry_count]; and with counts struct
    // device_counted for each job and entry.
};

struct device_touched { // one entry of the table
    uint32_t index;
    uint8_t read, written;
    uint8_t counted; // its counts are told
    uint8_t padding;
    uint64_t moved[2];
    struct device_sums sums;
};

struct device_counted {
    uint64_t sum, squares_low, squares_high;
    uint64_t most, most_at;
    uint64_t bins[DEVICE_BINS];
    struct {
        uint64_t piece, sum; // sum 0: none
    } hottest[DEVICE_HOTTEST];
};

#endif
