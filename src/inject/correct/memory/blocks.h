// SPDX-License-Identifier: Apache-2.0
// The blocks of device memory of one pool: those that the program has, and those that it has freed
// and that are kept to be given out again. Each is one allocation of the driver's. What still may
// use a block that was freed are its fences: whoever takes it sees to them. No calls of the driver;
// not locked.
#ifndef GLINT_INJECT_CORRECT_MEMORY_BLOCKS_H
#define GLINT_INJECT_CORRECT_MEMORY_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

enum {
    BLOCK_MOST_FENCES = 4,
    BLOCK_CLASS_BYTES = 512, // sizes that differ by less are alike: the driver's own unit
    BLOCK_MOST_LOOKS = 8,    // kept blocks of one class that are looked at, the oldest first
};

// The end of the work that one stream had when something was freed.
struct block_fence {
    void *event;     // that the driver has been given behind that work
    uint32_t stream; // its number
    uint64_t work;   // what the stream had been given by then
    uint32_t users;  // blocks, and lists, that have it
    size_t place;    // in the list of all
    bool done;       // seen to have happened
};

struct block {
    uint64_t address;
    uint64_t bytes;       // of the driver's allocation
    uint64_t asked_bytes; // by the program
    bool kept;            // freed
    bool shared;          // others may know of it: it is not kept
    unsigned fence_count; // of a kept one
    struct block_fence *fences[BLOCK_MOST_FENCES];
    struct block *class_older, *class_newer; // kept ones of its size
    struct block *class_newest;              // of the oldest of them
    struct block *older, *newer;             // all that are kept
};

// Begins as {0}.
struct blocks {
    struct base_intervals at;      // address to block, in use or kept
    struct base_intervals classes; // class to the oldest kept block of it
    struct block *oldest, *newest; // kept
    uint64_t used_bytes, kept_bytes;
    uint64_t peak_bytes; // the most that the program has had at once
};

// Frees the bookkeeping, not the memory nor the fences.
void blocks_fini(struct blocks *blocks);

// One that the driver has just given, in use. NULL: no memory for it, and it is as if not there.
struct block *blocks_add(struct blocks *blocks, uint64_t address, uint64_t bytes);
void blocks_remove(struct blocks *blocks, struct block *block);
// That holds the address, in use or kept; NULL: none.
struct block *blocks_find(const struct blocks *blocks, uint64_t address);

// The program has freed it. False: no memory to keep it; nothing has changed.
bool blocks_keep(struct blocks *blocks, struct block *block);
// A kept one is the program's again, which asked for so many bytes.
void blocks_use(struct blocks *blocks, struct block *block, uint64_t bytes);

// A kept block for so many bytes: of the same class, else the smallest that is at most a quarter
// larger. Of those the first for which `rate` says BLOCK_BEST, else BLOCK_GOOD, else one that is
// BLOCK_POOR. NULL: none, or none that is good and `fresh`, which says that a new one may be had.
enum block_rating { BLOCK_UNFIT, BLOCK_POOR, BLOCK_GOOD, BLOCK_BEST };
typedef enum block_rating block_rate(struct block *block, void *user);
struct block *blocks_fit(const struct blocks *blocks, uint64_t bytes, bool fresh, block_rate *rate,
                         void *user);

// Whether more is kept than the program ever had at once, or would be with so many bytes more.
static inline bool blocks_over(const struct blocks *blocks, uint64_t more_bytes)
{
    return blocks->kept_bytes + more_bytes > blocks->peak_bytes;
}

#endif
