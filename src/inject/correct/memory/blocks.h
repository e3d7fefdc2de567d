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
    CORRECT_BLOCK_MOST_FENCES = 4,
    CORRECT_BLOCK_CLASS_BYTES = 512, // sizes that differ by less are alike: the driver's own unit
    CORRECT_BLOCK_MOST_LOOKS = 8, // kept blocks of one class that are looked at, the oldest first
};

// The end of the work that one stream had when something was freed.
struct correct_fence {
    void *event;     // that the driver has been given behind that work
    uint32_t stream; // its number
    uint64_t work;   // what the stream had been given by then
    uint32_t users;  // blocks, and lists, that have it
    size_t place;    // in the list of all
    bool done;       // seen to have happened
};

struct correct_block {
    uint64_t address;
    uint64_t bytes;       // of the driver's allocation
    uint64_t asked_bytes; // by the program
    bool kept;            // freed
    bool shared;          // others may know of it: it is not kept
    unsigned fence_count; // of a kept one
    struct correct_fence *fences[CORRECT_BLOCK_MOST_FENCES];
    struct correct_block *class_older, *class_newer; // kept ones of its size
    struct correct_block *class_newest;              // of the oldest of them
    struct correct_block *older, *newer;             // all that are kept
};

// Begins as {0}.
struct correct_blocks {
    struct base_intervals at;              // address to block, in use or kept
    struct base_intervals classes;         // class to the oldest kept block of it
    struct correct_block *oldest, *newest; // kept
    uint64_t used_bytes, kept_bytes;
    uint64_t peak_bytes; // the most that the program has had at once
};

// Frees the bookkeeping, not the memory nor the fences.
void correct_blocks_fini(struct correct_blocks *blocks);

// One that the driver has just given, in use. NULL: no memory for it, and it is as if not there.
struct correct_block *correct_blocks_add(struct correct_blocks *blocks, uint64_t address,
                                         uint64_t bytes);
void correct_blocks_remove(struct correct_blocks *blocks, struct correct_block *block);
// That holds the address, in use or kept; NULL: none.
struct correct_block *correct_blocks_find(const struct correct_blocks *blocks, uint64_t address);

// The program has freed it. False: no memory to keep it; nothing has changed.
bool correct_blocks_keep(struct correct_blocks *blocks, struct correct_block *block);
// A kept one is the program's again, which asked for so many bytes.
void correct_blocks_use(struct correct_blocks *blocks, struct correct_block *block, uint64_t bytes);

// A kept block for so many bytes: of the same class, else the smallest that is at most a quarter
// larger. Of those the first for which `rate` says CORRECT_BLOCK_BEST, else CORRECT_BLOCK_GOOD,
// else one that is CORRECT_BLOCK_POOR. NULL: none, or none that is good and `fresh`, which says
// that a new one may be had.
enum correct_block_rating {
    CORRECT_BLOCK_UNFIT,
    CORRECT_BLOCK_POOR,
    CORRECT_BLOCK_GOOD,
    CORRECT_BLOCK_BEST
};
typedef enum correct_block_rating correct_block_rate(struct correct_block *block, void *user);
struct correct_block *correct_blocks_fit(const struct correct_blocks *blocks, uint64_t bytes,
                                         bool fresh, correct_block_rate *rate, void *user);

// Whether more is kept than the program ever had at once, or would be with so many bytes more.
static inline bool correct_blocks_over(const struct correct_blocks *blocks, uint64_t more_bytes)
{
    return blocks->kept_bytes + more_bytes > blocks->peak_bytes;
}

#endif
