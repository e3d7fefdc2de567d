// SPDX-License-Identifier: Apache-2.0
// What the model of the caches found, summed over the launches of each kernel: by object, and by
// site and object. Numbers of sampled lines are scaled to all lines, as the views of the profile
// do. Other parts get this header by analyze.h.
#ifndef GLINT_ANALYZE_CACHES_H
#define GLINT_ANALYZE_CACHES_H

#include "base/base.h"
#include "profile/profile.h"

struct analyze_cache_sum {
    struct profile_cache_hits l1[PROFILE_CACHE_KINDS], l2[PROFILE_CACHE_KINDS];
    uint64_t read, written; // sectors of device memory
    // The 95 % sampling errors of the hit rates of all kinds, in percentage points; negative:
    // unknown. Of a sum they are bounds, because its parts may err in the same direction.
    double l1_error, l2_error;
};

// How often sectors were used for the first time in a launch, and again, by distance as in struct
// profile_cache_reuse.
struct analyze_cache_distances {
    uint64_t first, sectors[PROFILE_CACHE_DISTANCES];
};

// An object at one instruction of a kernel.
struct analyze_cache_place {
    uint32_t kernel, site; // numbers
    uint64_t object;       // number; 0: unknown
    struct analyze_cache_sum sum;
};

struct analyze_cache_object {
    uint32_t kernel; // number
    uint64_t object; // number; 0: unknown
    struct analyze_cache_sum sum;
    struct analyze_cache_distances levels[2]; // of L1 and L2
    bool has_distances[2];
    uint64_t call;                   // the launch in which it needs most sectors of device memory
    size_t first_place, place_count; // in analyze_caches.places, most sectors first
    uint64_t most, here;             // sectors of that launch, and of the one that was added last
    uint64_t last_call, last_node;
};

struct analyze_cache_kernel {
    uint32_t kernel; // number
    uint64_t launches, records, lost;
    // Of the launch with the most records.
    const char *preset;
    uint32_t share; // of PROFILE_CACHE_ALL
    uint64_t l1_bytes, l2_bytes, shared_bytes;
    uint64_t most_records;
    struct analyze_cache_sum sum;
    struct analyze_cache_distances levels[2];
    bool has_distances[2];
    size_t first_object, object_count; // in analyze_caches.objects, most sectors first
    uint64_t gpu_ns;                   // of the launches whose time is known
    uint64_t timed;                    // sectors of device memory in these launches
};

struct analyze_cache_launch {
    uint64_t call;
    uint32_t node, kernel, share;
    bool is_timed;
};

// Initialize with {0}.
struct analyze_caches {
    BASE_ARRAY(struct analyze_cache_kernel) kernels; // by number
    BASE_ARRAY(struct analyze_cache_object) objects;
    BASE_ARRAY(struct analyze_cache_place) places;
    BASE_ARRAY(struct analyze_cache_launch) launches;
    struct base_map index; // hashes of what they are about to index + 1, until the end
};

// Add rows of a profile: launches first, with their GPU time, or 0. Rows of other launches are left
// out. Return false when memory ran out. Texts of the profile are borrowed.
bool analyze_caches_add_launch(struct analyze_caches *caches,
                               const struct profile_cache_launch *row, uint64_t gpu_ns);
bool analyze_caches_add(struct analyze_caches *caches, const struct profile_cache *row);
bool analyze_caches_add_reuse(struct analyze_caches *caches, const struct profile_cache_reuse *row);
// Puts everything in order, after the last row.
void analyze_caches_end(struct analyze_caches *caches);
void analyze_caches_fini(struct analyze_caches *caches);

// Returns the sums of a kernel; NULL if none of its launches was modelled.
const struct analyze_cache_kernel *analyze_find_cache_kernel(const struct analyze_caches *caches,
                                                             uint32_t kernel);
// Returns the launch; NULL if it was not modelled.
const struct analyze_cache_launch *analyze_find_cache_launch(const struct analyze_caches *caches,
                                                             uint64_t call, uint32_t node);

// Adds a sum to another.
void analyze_cache_add_sum(struct analyze_cache_sum *to, const struct analyze_cache_sum *from);
// Returns the sum over all kinds of access.
struct profile_cache_hits analyze_cache_all(const struct profile_cache_hits *kinds);
// Returns the hit rate as a part of 1; negative if there are no sectors.
double analyze_cache_rate(struct profile_cache_hits hits);
uint64_t analyze_cache_dram(const struct analyze_cache_sum *sum);

// Returns how many sectors were used again, and of these, how many a fully associative cache of so
// many lines would have, if the line leaves that was not used for the longest time. Between powers
// of two, distances count as evenly spread.
uint64_t analyze_cache_reused(const struct analyze_cache_distances *distances);
uint64_t analyze_cache_hits(const struct analyze_cache_distances *distances, uint64_t lines);

#endif
