// SPDX-License-Identifier: Apache-2.0
// The public header of src/cache: a model of the caches of a GPU. Configuration and accesses in,
// hits out; it reads no files and knows no program. docs/internals/cache.md describes the model.
//
// A *request* is what one warp instruction takes of one line. Each multiprocessor has a cache_l1,
// which is empty when a launch begins. What it does not serve goes to the cache_l2 of the GPU,
// which keeps its contents between launches. Requests arrive in the order that the caller chooses:
// for one multiprocessor in that of its L1, and for all of them together in that of the L2. Or
// cache_launch_run runs a whole launch, in an order that it makes up of what is known of its warps.
//
// A model may look at a *share* of all lines, chosen by a hash of their address. It then has as
// small a part of the capacity, so that hit rates stay the same, and the caller leaves out all
// other requests (cache_is_sampled). Different models can be used by different threads at the same
// time.
#ifndef GLINT_CACHE_CACHE_H
#define GLINT_CACHE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CACHE_LINE_BYTES = 128,
    CACHE_SECTOR_BYTES = 32,
    CACHE_SECTORS = CACHE_LINE_BYTES / CACHE_SECTOR_BYTES, // of a line
    CACHE_ALL = 1 << 16, // the share of a model that looks at all lines
};

enum { CACHE_CARVE_OUTS = 10 }; // at most

enum cache_kind { CACHE_LOAD, CACHE_STORE, CACHE_ATOMIC, CACHE_KINDS };

struct cache_request {
    uint64_t line;   // address / CACHE_LINE_BYTES; less than 2^48
    uint32_t owner;  // whom it is counted for: an index into counts
    uint8_t kind;    // enum cache_kind
    uint8_t sectors; // set of the line's sectors; if it is empty, the request is left out
    uint8_t whole;   // those that a store writes completely; a subset of `sectors`
    uint8_t reserved;
    uint16_t multiprocessor; // L2: whose partition is asked
};

// --- Configuration -------------------------------------------------------------------------------

// Which line of a set makes room: the one that was not used for the longest time; one that a binary
// tree of the last directions points to; or any.
enum cache_policy { CACHE_LRU, CACHE_TREE, CACHE_RANDOM };

struct cache_shape {
    uint64_t bytes;
    uint32_t ways; // a power of two up to 64
    enum cache_policy policy;
};

struct cache_preset {
    const char *name;
    uint32_t multiprocessors;
    struct cache_shape l1; // of a multiprocessor; `bytes` includes shared memory
    struct cache_shape l2; // of a partition
    uint32_t partitions;   // of L2; multiprocessors belong to the nearest
    uint32_t fill_sectors; // that L2 reads at once from memory: 1, 2 or 4, aligned
    // L2 counts so many percent of stores to a part of a sector, and of atomic operations, as hits
    // although the sector is not there: it need not be read for the instruction to end.
    uint32_t part_stores_hit, atomics_hit;
    bool stores_allocate; // in L1
    uint32_t most_dirty;  // percent of the lines of L2 that need not be written to memory at once
    // What the shared memory of a multiprocessor can be, in KiB, ascending; ends with 0 or the
    // array.
    uint16_t shared_kib[CACHE_CARVE_OUTS];
};

// The presets; ends with one without a name.
extern const struct cache_preset cache_presets[];

// Returns NULL if there is no preset of that name.
const struct cache_preset *cache_preset_find(const char *name);

// Returns how much of L1 a launch uses as shared memory: as much as `resident` blocks with so many
// bytes each need, or so many percent of the most, if the program has asked for that; -1: it has
// not. See carveout.c.
uint64_t cache_shared_bytes(const struct cache_preset *preset, uint32_t resident,
                            uint64_t block_bytes, int percent);

// Returns whether a model with this share looks at the line. Share s has s of 65536 lines, and
// those of a smaller share are among those of a larger one.
bool cache_is_sampled(uint64_t line, uint32_t share);

// --- Models --------------------------------------------------------------------------------------

struct cache_count {
    uint64_t sectors, hits;
};

struct cache_l1_counts {
    struct cache_count kinds[CACHE_KINDS];
};

// Sectors that memory delivers, and that it receives, are counted for the owner of the request that
// needed them, or that wrote them last.
struct cache_l2_counts {
    struct cache_count kinds[CACHE_KINDS];
    uint64_t read, written;
};

struct cache_l1;
struct cache_l2;

// `shared_bytes` is the part of L1 that the launch uses as shared memory. An L2 borrows the preset.
// Return NULL if memory runs out, or if the configuration has no room for a line.
struct cache_l1 *cache_l1_create(const struct cache_preset *preset, uint64_t shared_bytes,
                                 uint32_t share);
struct cache_l2 *cache_l2_create(const struct cache_preset *preset, uint32_t share);
void cache_l1_destroy(struct cache_l1 *l1);
void cache_l2_destroy(struct cache_l2 *l2);

// Empties the cache: a launch begins.
void cache_l1_flush(struct cache_l1 *l1);

// Counts requests for their owners, and leaves in each those sectors that go to L2: of a load
// those that are not here, of a store or an atomic operation all of them.
void cache_l1_run(struct cache_l1 *l1, struct cache_request *requests, size_t count,
                  struct cache_l1_counts *counts);

// The same for all multiprocessors, but the requests stay as they are. What is written to memory is
// counted for the owners of earlier requests: `counts` has room for all owners since the model was
// created.
void cache_l2_run(struct cache_l2 *l2, const struct cache_request *requests, size_t count,
                  struct cache_l2_counts *counts);

// Leaves a line as a copy between the host and the device does: at its home, clean, and in LRU sets
// of 16 ways as the first that leaves: such lines take up to half of a set as long as it is free,
// then the room of each other, and of other lines at most one in a set. One that is there stays as
// it is. `counts` are
// those of what leaves.
void cache_l2_copy(struct cache_l2 *l2, uint64_t line, struct cache_l2_counts *counts);

// Returns an L2 with those of the lines that a smaller share has, or NULL if memory runs out.
struct cache_l2 *cache_l2_thin(const struct cache_l2 *l2, uint32_t share);

// Counts what is still to be written to memory, and keeps it, clean.
void cache_l2_clean(struct cache_l2 *l2, struct cache_l2_counts *counts);

// --- Reuse ---------------------------------------------------------------------------------------

enum { CACHE_DISTANCES = 65 };

// How often sectors were used again, by how many other lines were used meanwhile: 0 in the first
// place, and at least 2^(n-1), but less than 2^n, in place n. `first` is how often for the first
// time.
struct cache_distances {
    uint64_t first, sectors[CACHE_DISTANCES];
};

struct cache_reuse;

// Returns NULL if memory runs out, or if the share is not one.
struct cache_reuse *cache_reuse_create(uint32_t share);
void cache_reuse_destroy(struct cache_reuse *reuse);

// Counts requests of all kinds for their owners; a smaller share has greater distances in the same
// measure. Returns false if memory runs out: the requests before were counted.
bool cache_reuse_run(struct cache_reuse *reuse, const struct cache_request *requests, size_t count,
                     struct cache_distances *counts);

// Returns how many of these a fully associative cache of 2^lines_log2 lines would serve, if the
// line leaves that was not used for the longest time.
uint64_t cache_reuse_hits(const struct cache_distances *distances, unsigned lines_log2);

// --- Launches ------------------------------------------------------------------------------------

// What one warp instruction took of one line. Those for which an index is too large, or without a
// sector, are left out.
struct cache_record {
    uint64_t line;    // as in a request
    uint32_t warp;    // block * warps of a block + its number in the block
    uint32_t counter; // basic blocks that its thread had executed
    uint32_t owner;
    uint8_t kind, sectors, whole, reserved; // as in a request
};

struct cache_block {
    uint64_t began; // ns; only compared with others
    uint32_t multiprocessor;
    uint32_t length; // basic blocks that its longest thread executed; 0 if that is unknown
};

struct cache_launch {
    const struct cache_record *records; // of one warp in their order, of different warps in any
    size_t record_count;                // less than 2^30
    const struct cache_block *blocks;
    uint64_t block_count;     // less than 2^32
    uint32_t warps_per_block; // at least 1
    uint32_t resident;        // blocks that a multiprocessor runs at once; 0 if that is unknown
    uint64_t shared_bytes;    // of L1 that the launch uses as shared memory
    uint32_t owner_count;     // including those of earlier launches, for which L2 writes lines back
};

// How warps of a multiprocessor take turns. Each multiprocessor takes its blocks in the order in
// which they began, `resident` at a time. All warps of a block begin when it does, and take the
// same time for a basic block. Warps that are equally far take turns.
struct cache_order {
    // The time that blocks take for a basic block differs by so many percent of the mean between
    // the slowest and the fastest. At most 100.
    uint32_t drift_percent;
    // A turn is all that a warp took for one owner in a row in the same basic block: about a whole
    // instruction. Otherwise it is one record.
    bool whole_instructions;
};

extern const struct cache_order cache_order_default;

enum { CACHE_GROUPS = 16 };

// What was counted for an owner. The last two have the same for groups of lines, all kinds
// together: see cache_error. They stay 0 if the model looks at all lines.
struct cache_result {
    struct cache_l1_counts l1;
    struct cache_l2_counts l2;
    struct cache_count l1_groups[CACHE_GROUPS], l2_groups[CACHE_GROUPS];
};

// Returns the standard error that a hit rate, from 0 to 1, has because only a share of all lines
// was looked at: how much it changes if one group after the other is left out (jackknife). 0 if all
// were looked at, and negative if it is unknown, because too few groups have lines.
double cache_error(const struct cache_count groups[CACHE_GROUPS], uint32_t share);

// Reuse distances of a launch, summed for groups of owners.
struct cache_launch_reuse {
    const uint32_t *group_of; // of each owner: an index into both counts
    uint32_t group_count;
    struct cache_distances *l1;   // within the stream of a multiprocessor, which begins anew
    struct cache_distances *l2;   // within the stream of what all L1s let through
    struct cache_reuse *l2_reuse; // kept between launches; of the share of the L2
};

// Runs a launch with up to so many threads, including the calling one, and adds to the results,
// which have a place for each owner, and, unless `reuse` is NULL, to its counts. The results do not
// depend on the number of threads. `order` is the default if it is NULL. Returns false if memory
// runs out, or if L1 has no room for a line: then results and `l2` are as before, but reuse may not
// be.
bool cache_launch_run(struct cache_l2 *l2, const struct cache_launch *launch,
                      const struct cache_order *order, unsigned threads,
                      struct cache_result *results, const struct cache_launch_reuse *reuse);

#endif
