// SPDX-License-Identifier: Apache-2.0
// The blocks of device memory of one pool: those that the program uses, and those that it has freed
// and that are kept for reuse. Each is one allocation of the driver. A kept block has fences:
// events behind work that may still use it, which must happen before its reuse. Calls no driver
// function and takes no lock.
#ifndef GLINT_INJECT_CORRECT_MEMORY_BLOCKS_H
#define GLINT_INJECT_CORRECT_MEMORY_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

enum {
    CORRECT_BLOCK_MOST_FENCES = 4,
    CORRECT_BLOCK_CLASS_BYTES = 512, // size classes: the driver's own unit
    CORRECT_BLOCK_MOST_LOOKS = 8,    // kept blocks of one class that are examined, the oldest first
};

// The end of the work that one stream had when a block was freed.
struct correct_fence {
    void *event;     // recorded behind that work
    uint32_t stream; // its number
    uint64_t work;   // pieces of work that the stream had been given by then
    uint32_t users;  // blocks and lists that refer to it
    size_t place;    // index in the list of all fences
    bool done;       // it is known to have happened
};

struct correct_block {
    uint64_t address;
    uint64_t bytes;       // size of the driver's allocation
    uint64_t asked_bytes; // size that the program requested
    bool kept;            // freed
    bool shared;          // others may know its address: it is never kept
    unsigned fence_count; // fences of a kept block
    struct correct_fence *fences[CORRECT_BLOCK_MOST_FENCES];
    struct correct_block *class_older, *class_newer; // kept blocks of its class
    struct correct_block *class_newest;              // set in the oldest of these
    struct correct_block *older, *newer;             // list of all kept blocks
};

// Zeroed at first.
struct correct_blocks {
    struct base_intervals at;              // address to block, in use or kept
    struct base_intervals classes;         // class to the oldest kept block of it
    struct correct_block *oldest, *newest; // kept
    uint64_t used_bytes, kept_bytes;
    uint64_t peak_bytes; // the most bytes that the program had in use at once
};

// Frees the bookkeeping, but neither the device memory nor the fences.
void correct_blocks_fini(struct correct_blocks *blocks);

// Adds a block in use, which the driver has just allocated. NULL: out of memory, and nothing is
// added.
struct correct_block *correct_blocks_add(struct correct_blocks *blocks, uint64_t address,
                                         uint64_t bytes);
void correct_blocks_remove(struct correct_blocks *blocks, struct correct_block *block);
// Returns the block that holds the address, in use or kept; NULL: none.
struct correct_block *correct_blocks_find(const struct correct_blocks *blocks, uint64_t address);

// Keeps a block that the program has freed. Returns false, without a change, if memory runs out.
bool correct_blocks_keep(struct correct_blocks *blocks, struct correct_block *block);
// Gives a kept block to the program, which requested this many bytes.
void correct_blocks_use(struct correct_blocks *blocks, struct correct_block *block, uint64_t bytes);

// Returns a kept block for this many bytes: of the same class, else the smallest that is at most a
// quarter larger. Of those, the first that `rate` calls CORRECT_BLOCK_BEST, else
// CORRECT_BLOCK_GOOD, else CORRECT_BLOCK_POOR. NULL: none; or none that is good, and `fresh` says
// that a new block can be allocated.
enum correct_block_rating {
    CORRECT_BLOCK_UNFIT,
    CORRECT_BLOCK_POOR,
    CORRECT_BLOCK_GOOD,
    CORRECT_BLOCK_BEST
};
typedef enum correct_block_rating correct_block_rate(struct correct_block *block, void *user);
struct correct_block *correct_blocks_fit(const struct correct_blocks *blocks, uint64_t bytes,
                                         bool fresh, correct_block_rate *rate, void *user);

// Returns whether the kept bytes, plus more_bytes, exceed the most bytes that the program ever had
// in use at once.
static inline bool correct_blocks_over(const struct correct_blocks *blocks, uint64_t more_bytes)
{
    return blocks->kept_bytes + more_bytes > blocks->peak_bytes;
}

#endif
