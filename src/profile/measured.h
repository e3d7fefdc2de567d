// SPDX-License-Identifier: Apache-2.0
// The rows of a profile, in profile.h: what was measured about calls and objects, and by `glint
// fix`.
#ifndef GLINT_PROFILE_MEASURED_H
#define GLINT_PROFILE_MEASURED_H

#include "rows.h"

// --- What probes in kernels measured -------------------------------------------------------------

enum { FACTS_PROBE_FACTS(FACTS_VALUE, PROFILE_PROBE_) };

struct profile_probe {
    FACTS_PROBE(PROFILE_AS)
    const char *reason; // why there are no probes, or what they cannot see; NULL: nothing
};

enum profile_site_access { FACTS_SITE_ACCESSES(FACTS_VALUE, PROFILE_SITE_) };

struct profile_kernel_site { // a memory instruction of a kernel
    FACTS_SITE(PROFILE_AS)
    const char *function;         // that contains it
    const char *opcode;           // "ld.global.v4.f32"
    const char *type;             // of the values that the bytes are used as, "f32"
    const char *file;             // in the source; NULL: unknown
    const char *inlined_function; // NULL: not inlined
    const char *at_file;          // where it was inlined
};

#define PROFILE_UNKNOWN FACTS_UNKNOWN

struct profile_access {
    FACTS_ACCESS(PROFILE_AS)
    bool read, written;
    // Known only by the arguments of the launch: it may have been read and written. With call 0:
    // launches that are known by their arguments may also find the object's address in memory.
    bool passed;
    // With `passed`: it was read or written as `read` and `written` say, in a launch that ran
    // patched code. Whether the launch did more to it is unknown.
    bool sampled;
};

enum { FACTS_COUNT_SIZES(FACTS_VALUE, PROFILE_) };

struct profile_counts {
    FACTS_COUNTS(PROFILE_AS)
    uint64_t bins[PROFILE_COUNT_BINS]; // elements; profile_bin_least gives the least count of a bin
    struct profile_hot_range {
        FACTS_HOT_RANGE(PROFILE_AS)
    } hottest[PROFILE_HOT_RANGES]; // hottest first
};

// Returns the least count that the bin holds.
uint64_t profile_bin_least(unsigned bin);
// Returns the number of elements in all bins.
uint64_t profile_counts_elements(const struct profile_counts *counts);
// Return the mean of the counts and their coefficient of variation, computed from the exact sums;
// 0 if nothing was touched.
double profile_counts_mean(const struct profile_counts *counts);
double profile_counts_variation(const struct profile_counts *counts);

enum profile_map_kind { PROFILE_MAP_NONE = 0, FACTS_MAP_KINDS(FACTS_VALUE, PROFILE_MAP_) };

// A piece of the map of an object. Elements that no piece covers are 0.
struct profile_map {
    FACTS_MAP(PROFILE_AS)
    const unsigned char *bits;
    size_t bit_bytes;
};

// --- Values --------------------------------------------------------------------------------------

enum profile_value_type { FACTS_VALUE_TYPES(FACTS_VALUE, PROFILE_TYPE_) PROFILE_TYPES };
enum profile_contents_kind {
    PROFILE_CONTENTS_OTHER = 0, // written by a newer version
    FACTS_CONTENTS_KINDS(FACTS_VALUE, PROFILE_CONTENTS_) PROFILE_CONTENTS_KINDS
};
enum { FACTS_CONTENTS_FLAGS(FACTS_VALUE, PROFILE_CONTENTS_) };
enum { FACTS_VALUE_SIZES(FACTS_VALUE, PROFILE_) };

// What an object held at a border of a call.
struct profile_contents {
    FACTS_CONTENTS(PROFILE_AS)
    uint32_t field_count; // 0: only hashes were compared
    struct profile_value_field {
        FACTS_VALUE_FIELD(PROFILE_AS)
        struct profile_candidate {
            FACTS_CANDIDATE(PROFILE_AS)
        } candidates[PROFILE_CANDIDATES]; // the most frequent first
        struct profile_rounding {
            FACTS_ROUNDING(PROFILE_AS)
        } roundings[PROFILE_ROUNDINGS]; // 10 bits first; all 0 unless the field is a float
    } fields[PROFILE_FIELDS];
};

struct profile_stored {
    FACTS_STORED(PROFILE_AS)
};

struct profile_weighed {
    FACTS_WEIGHED(PROFILE_AS)
};

enum profile_accessed_way {
    PROFILE_ACCESSED_OTHER = 0, // written by a newer version
    FACTS_ACCESSED_WAYS(FACTS_VALUE, PROFILE_ACCESSED_) PROFILE_ACCESSED_WAYS
};
enum { FACTS_ACCESSED_FLAGS(FACTS_VALUE, PROFILE_ACCESSED_) };

struct profile_requests {
    FACTS_REQUESTS(PROFILE_AS)
};

struct profile_accessed {
    FACTS_ACCESSED(PROFILE_AS)
};

// --- Shared memory -------------------------------------------------------------------------------

struct profile_shared_array {
    FACTS_SHARED_ARRAY(PROFILE_AS)
    const char *name; // as the source has it; NULL: unknown
};

// The array of shared memory that an instruction leads to.
struct profile_site_array {
    uint32_t kernel, site; // site: number of a kernel_site
    const char *name;      // as the source has it
};

enum { FACTS_SHARED_FLAGS(FACTS_VALUE, PROFILE_SHARED_) };
enum { PROFILE_SHARED_WORD_BYTES = 4 };

struct profile_shared_run {
    FACTS_SHARED_RUN(PROFILE_AS)
};

// Of an array with very many runs there are several rows, each of which begins where the previous
// one ends.
struct profile_shared_words {
    FACTS_SHARED_WORDS(PROFILE_AS)
    const struct profile_shared_run *runs; // from `first` on
    uint32_t run_count;
};

// What follows from the runs. The minimum and the maximum are those of a word.
struct profile_shared_sums {
    uint64_t words, touched, untouched_bytes;
    uint64_t loads, loads_min, loads_max, stores, stores_min, stores_max;
};
struct profile_shared_sums profile_shared_sum(const struct profile_shared_words *words);

// What stores of a site to an array began, and the live ranges of the array.
struct profile_shared_ranges {
    FACTS_SHARED_RANGES(PROFILE_AS)
};

struct profile_shared_lives {
    FACTS_SHARED_LIVES(PROFILE_AS)
};

// --- What blocks load ----------------------------------------------------------------------------

enum { FACTS_REUSE_FLAGS(FACTS_VALUE, PROFILE_REUSE_) };

struct profile_block_reuse {
    FACTS_BLOCK_REUSE(PROFILE_AS)
};

// --- Caches --------------------------------------------------------------------------------------

enum {
    PROFILE_CACHE_ALL = 1 << 16,  // the share of a model that looks at all lines
    PROFILE_CACHE_KINDS = 3,      // of accesses, in the order of enum profile_site_access
    PROFILE_CACHE_DISTANCES = 65, // 0, and those of each power of two
    PROFILE_CACHE_LINE_BYTES = 128,
    PROFILE_CACHE_SECTOR_BYTES = 32,
};

// A launch whose accesses went through the model of the caches.
struct profile_cache_launch {
    uint64_t call;
    uint32_t node; // of a graph launch: from 1
    uint32_t kernel;
    const char *preset;    // of the model: "h200"
    uint32_t share;        // of PROFILE_CACHE_ALL lines that the model looked at; at least 1
    uint32_t resident;     // blocks of a multiprocessor; 0: unknown
    uint64_t shared_bytes; // of L1 that are shared memory
    uint64_t l1_bytes;     // of a multiprocessor, without shared memory
    uint64_t l2_bytes;     // of all partitions
    uint64_t records;      // of accesses that the model was given
    uint64_t lost;         // records that found no room
};

// Of the sampled lines; so are all numbers below.
struct profile_cache_hits {
    uint64_t sectors, hits;
};

// What a launch did at a site to an object.
struct profile_cache {
    uint64_t call, object; // object 0: none is known
    uint32_t node;         // of a graph launch: from 1
    uint32_t kernel, site; // site: number of a kernel_site
    struct profile_cache_hits l1[PROFILE_CACHE_KINDS], l2[PROFILE_CACHE_KINDS];
    uint64_t read, written; // sectors that memory delivered and received
    // The 95 % sampling error of the hit rate of all kinds, in hundredths of a percentage point.
    int32_t l1_error, l2_error; // -1: unknown
};

// How often sectors of an object were used again in a launch, by how many other lines were used
// meanwhile: 0 in the first place, and at least 2^(n-1), but less than 2^n, in place n. What
// earlier launches used is used for the first time: no order of blocks brings it nearer.
struct profile_cache_reuse {
    uint64_t call, object; // object 0: none is known
    uint32_t node;         // of a graph launch: from 1
    uint32_t kernel;
    uint32_t level; // 1: what reaches L1, by multiprocessor; 2: what reaches L2
    uint64_t first; // sectors that were used for the first time
    uint64_t sectors[PROFILE_CACHE_DISTANCES];
};

// --- Doubts --------------------------------------------------------------------------------------

enum profile_doubt_kind {
    PROFILE_DOUBT_OTHER = 0, // written by a newer version
    FACTS_DOUBTS(FACTS_VALUE, PROFILE_DOUBT_) PROFILE_DOUBT_KINDS
};

struct profile_doubt {
    uint64_t call;
    uint32_t node; // of a graph launch: from 1
    enum profile_doubt_kind kind;
};

// --- First uses ----------------------------------------------------------------------------------

enum profile_use_kind {
    PROFILE_USE_OTHER = 0, // written by a newer version
    FACTS_USE_KINDS(FACTS_VALUE, PROFILE_USE_) PROFILE_USE_KINDS
};

// The program's first use of data that a synchronization made safe. Data without a row was not used
// before it was overwritten or freed, or before the program ended. Or glint did not look, because
// enough uses had shown that the synchronizations on its call path are needed.
struct profile_use {
    FACTS_USE(PROFILE_AS)
};

// --- Transfers -----------------------------------------------------------------------------------

enum profile_same { FACTS_SAMES(FACTS_VALUE, PROFILE_SAME_) };

// A copy without a row was not hashed.
struct profile_hash {
    FACTS_HASH(PROFILE_AS)
};

// A copy without a row: it is unknown whether its source changed.
struct profile_copy_source {
    FACTS_COPY_SOURCE(PROFILE_AS)
};

struct profile_block {
    FACTS_BLOCK(PROFILE_AS)
};

struct profile_block_end {
    FACTS_BLOCK_END(PROFILE_AS)
};

// --- Collectives ---------------------------------------------------------------------------------

enum profile_collective_type {
    PROFILE_COLLECTIVE_NONE = 0, // or unknown
    FACTS_COLLECTIVE_TYPES(FACTS_VALUE, PROFILE_COLLECTIVE_) PROFILE_COLLECTIVE_TYPES
};

struct profile_collective {
    FACTS_COLLECTIVE(PROFILE_AS)
};

// --- Corrections ---------------------------------------------------------------------------------

enum profile_remedy {
    PROFILE_REMEDY_NONE = 0,
    FACTS_REMEDIES(FACTS_VALUE, PROFILE_REMEDY_) PROFILE_REMEDIES
};

// What a row of the plan that the program ran with has done. Row 0: the plan as a whole.
#define PROFILE_CORRECTION_COUNT(name, field) uint64_t field;
struct profile_correction {
    uint32_t row;
    enum profile_remedy remedy;
    uint32_t path; // at which it applies; 0: the program did not reach it
    FACTS_CORRECTION_COUNTS(PROFILE_CORRECTION_COUNT)
};

#endif
