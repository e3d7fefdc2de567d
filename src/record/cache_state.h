// SPDX-License-Identifier: Apache-2.0
// The caches of a GPU between launches. Internal.
//
// L2 keeps what earlier launches wrote, so whom accesses are counted for, the *owners*, are
// numbered through all launches: a site of a kernel, and an object that it reached. Kernel 0 are
// copies and sets.
//
// A launch with very many records has those of a smaller share of lines. It goes on with those of
// L2's lines that this share has. Later launches with a larger share fill another L2 again, and use
// the old one until all that the new one missed would have left it.
#ifndef GLINT_RECORD_CACHE_STATE_H
#define GLINT_RECORD_CACHE_STATE_H

#include "base/base.h"
#include "cache/cache.h"

struct record_cache_state_l2 {
    struct record_cache_state_l2 *next;
    uint32_t share;
    uint64_t missed; // lines that it has yet to bring until it counts as complete
    const struct cache_preset *preset;
    struct cache_l2 *l2;
};

struct record_cache_state_owner {
    uint64_t object; // 0: none is known
    uint32_t kernel, site;
};

struct record_cache_state {
    struct record_cache_state_l2 *levels; // one for each share that launches had
    BASE_ARRAY(struct record_cache_state_owner) owners;
    struct base_map owner_of; // hash of an owner to 1 + its index
};

// Rows of memory that a copy of the program read, or that a copy or set wrote. Multiprocessors do
// that if no host takes part, and L2 has the lines as after a launch. Copies between host and
// device leave hardly anything (cache_l2_copy).
enum record_cache_state_mover { RECORD_CACHE_HOST, RECORD_CACHE_LOADS, RECORD_CACHE_STORES };
struct record_cache_state_move {
    uint64_t call, object; // object 0: none is known
    uint64_t address, width, pitch, rows;
    enum record_cache_state_mover mover;
};

struct record_cache_state *record_cache_state_create(void);
void record_cache_state_destroy(struct record_cache_state *state);

// Returns the L2 for a launch with this share of lines; its own share may be smaller. If it is
// `cold`, all are empty. Returns NULL if memory runs out.
struct record_cache_state_l2 *record_cache_state_take(struct record_cache_state *state,
                                                      const struct cache_preset *preset,
                                                      uint32_t share, bool cold);

// Says that a launch, whose requests all L2s of a smaller or the same share must have got, has read
// so many sectors from memory into this one.
void record_cache_state_ran(struct record_cache_state_l2 *level, uint64_t read_sectors);

// Returns the index of the owner, or SIZE_MAX if memory runs out or there are too many.
size_t record_cache_state_own(struct record_cache_state *state, uint32_t kernel, uint32_t site,
                              uint64_t object);

// Runs copies and sets through all L2s. Returns false if memory runs out.
bool record_cache_state_move(struct record_cache_state *state,
                             const struct record_cache_state_move *moves, size_t count);

#endif
