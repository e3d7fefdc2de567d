// SPDX-License-Identifier: Apache-2.0
// The scan: GPU code that looks at the contents of memory at the border of a call, and writes one
// record for each object. This header is also compiled as CUDA C; device.h includes it.
//
// An object is divided into pieces of 4096 bytes. The scan hashes each piece that it looks at and
// compares the hash with the one that it kept, and sums up the values of each field of the object's
// layout. docs/reference/values.md defines all numbers.
//
// One kernel runs on the program's stream. Its first blocks choose candidates (frequent values, a
// line a*i + b) from a sample of the contents of each job that describes values; the others look
// at everything. Grids may have any width; blocks have DEVICE_VALUES_THREADS threads.
//
// What is not in the sample is not counted:
// - Candidates are values with at least a 32nd of the sample. The most frequent of all values with
// at
//   least 10 % of the elements, if there are at least 64, are reported; others may be missing.
// - A line is counted if it fits at least 45 % of the sample. Any line that fits 99 % of at least
//   64 elements is found, unless a float line changes by less than 2^-15 of its greatest value:
//   every constant has such lines. Raw words have none. Otherwise, slope, intercept and linear are
//   0.
// - A rounding is counted if its most frequent value has 40 % of the sample; otherwise, its value
//   and count are 0. If a value has 60 % of at least 64 elements, it is reported; if 50 %, it or
//   one that is about as frequent.
// - How many elements are on the line after rounding is counted if 40 % of the sample are, and if
//   less than 98 % of the sample are without rounding. Otherwise, that is 0.
#ifndef GLINT_DEVICE_VALUES_H
#define GLINT_DEVICE_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "small.h"

#ifndef __CUDACC__
extern const char device_values_ptx[]; // DEVICE_VALUES_SCAN of arrays of words, DEVICE_VALUES_MARK
extern const char device_values_others_ptx[]; // DEVICE_VALUES_SCAN of everything
#endif
#define DEVICE_VALUES_SCAN "glint_values_scan" // (struct device_values)
#define DEVICE_VALUES_MARK "glint_values_mark" // (struct device_marking)

enum {
    DEVICE_PIECE_SHIFT = 12,
    DEVICE_SMALL_PIECES = 8,
    DEVICE_PIECE_STEP = 0x1e3779b1, // that of instrument.h
    DEVICE_FIELDS = 8,
    DEVICE_CANDIDATES = 8,
    DEVICE_ROUNDINGS = 7,
    DEVICE_DISTINCT = 256,
    DEVICE_VALUES_JOBS = 16,   // the most of one scan
    DEVICE_VALUES_CHOICES = 3, // about a field, which blocks can make at the same time
    DEVICE_VALUES_THREADS = 512,
    DEVICE_VALUES_BLOCKS = 1,     // of the scan, resident on a multiprocessor
    DEVICE_VALUES_SHARED = 65536, // bytes of shared memory that a block needs, none of them static
    DEVICE_VALUES_WORK = 40960,   // bytes of memory that a job needs
};

// Types of fields; those of FACTS_VALUE_TYPES.
enum device_type {
    DEVICE_RAW,
    DEVICE_U8,
    DEVICE_S8,
    DEVICE_U16,
    DEVICE_S16,
    DEVICE_U32,
    DEVICE_S32,
    DEVICE_U64,
    DEVICE_S64,
    DEVICE_F16,
    DEVICE_BF16,
    DEVICE_F32,
    DEVICE_F64,
};

// What is kept about a piece, in one byte.
enum {
    DEVICE_PIECE_KNOWN = 1, // its hash is that of its contents
    DEVICE_PIECE_SEEN = 2,  // its values were described with the object's current layout
};

// Kept about an object between scans; zeroed when it begins, and, together with the states of its
// pieces, when its contents have become unknown.
struct device_kept {
    uint64_t hash[2]; // the sum over all known pieces of a mix of the piece's hash and number
    uint64_t known;   // pieces that are known
    uint64_t wants;   // not 0: the last scan that described values had something to look for.
                      // Only there if the object has more than DEVICE_SMALL_PIECES
};

// Which pieces a job looks at.
enum device_which {
    DEVICE_MARKED, // those that are marked; clears the marks
    DEVICE_RANGE,  // those that hold bytes `from` to `to` of the object
    DEVICE_UNSEEN, // those that are known, but not seen
    DEVICE_KNOWN,  // those that are known
};

struct device_values_job {
    uint64_t base;       // address of piece 0: `first`, rounded down to a multiple of 16
    uint64_t first, end; // addresses: the object's first byte, and behind its last
    uint64_t marks;      // address of the bytes that probes set, as instrument.h has them; or 0;
                         // a multiple of 16 if there are so many
    uint64_t states;     // address of one byte per piece; a multiple of 16 if there are so many
    uint64_t hashes;     // address of uint64_t[2] per piece; a multiple of 16
    uint64_t kept;       // address of struct device_kept
    uint64_t work;       // address of DEVICE_VALUES_WORK bytes: zero before and after the scan;
                         // different for each job
    uint64_t result;     // address of struct device_values_result, in host memory
    uint64_t from, to;   // DEVICE_RANGE: byte addresses
    uint32_t mask;       // of the marks
    uint32_t pieces;     // number of pieces
    uint32_t which;      // enum device_which
    uint32_t describes;  // not 0: values are summed up; 0: only hashes are compared
    uint32_t filled;     // DEVICE_RANGE without `describes`: not 0: each aligned word of the range
    uint32_t word;       // is that one, so that pieces in it need not be read
    uint32_t stride;     // of the layout
    uint32_t field_count;
    struct {
        uint32_t offset; // of the field; a multiple of its size if `first` is aligned
        uint32_t type;   // enum device_type
    } fields[DEVICE_FIELDS];
};

struct device_values {
    uint64_t done; // address of uint32_t[2]: blocks that have ended, and that have begun; 0
                   // between scans
    uint64_t
        sequence; // address of a uint32_t in host memory; set to 1 when all results are written
    uint32_t job_count;
    uint32_t describing; // those that describe values are among so many of the first jobs
    uint32_t samplers;   // how many of the first blocks take samples; 0 if no job describes values
    uint32_t reserved;
    struct device_small small; // that a block writes, as the reduction does; `result` 0: none
    struct device_values_job jobs[DEVICE_VALUES_JOBS];
};

#ifndef __CUDACC__
// Returns whether the scan of arrays of words can look at the job, which is faster then: elements
// are of four or eight bytes, aligned, and fill the object; or only hashes are compared.
bool device_values_is_words(const struct device_values_job *job);
// Sets `describing` and `samplers` of a scan whose jobs are complete. Returns how many blocks it
// should have on a GPU with so many multiprocessors.
uint32_t device_values_grid(struct device_values *about, uint32_t processors);
#endif

// Marks pieces in place of probes: `count` pieces from `first` on, and those that are marked at
// `other`, where the marks are cleared.
struct device_marking {
    uint64_t marks; // address, as in struct device_values_job
    uint64_t other; // address of marks of an object of the same size; 0: none
    uint32_t mask;  // of both
    uint32_t first, count;
    uint32_t reserved;
};

// --- The record ----------------------------------------------------------------------------------

// Values are 64 bits: integers sign- or zero-extended, floats converted to double, raw words
// zero-extended.
struct device_field_result {
    uint64_t elements, zeros, nans;
    uint64_t least, greatest;
    uint64_t any_bits, all_bits;
    uint64_t integral, narrow, brief; // `elements` if all are, otherwise 0
    uint64_t slope, intercept, linear;
    uint64_t distinct; // DEVICE_DISTINCT + 1: more
    struct {
        uint64_t value, count;
    } candidates[DEVICE_CANDIDATES]; // the most frequent first; count 0: unused
    struct {
        uint64_t value, count, linear;
    } roundings[DEVICE_ROUNDINGS];
};

struct device_values_result {
    uint64_t pieces;  // looked at
    uint64_t bytes;   // of the object, in them
    uint64_t fresh;   // pieces that were not known before
    uint64_t moved;   // DEVICE_RANGE: bytes of the range; else `bytes`
    uint64_t same;    // of those, bytes in pieces that were known and did not change
    uint64_t known;   // pieces of the object that are known, afterwards
    uint64_t hash[2]; // of the object, afterwards
    struct device_field_result fields[DEVICE_FIELDS]; // field_count, if values were described
};

#endif
