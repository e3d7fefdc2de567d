// SPDX-License-Identifier: Apache-2.0
// Finds the objects that a copy or set reaches behind the one in which it begins.
#ifndef GLINT_ANALYZE_BEYOND_H
#define GLINT_ANALYZE_BEYOND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "profile/profile.h"

struct analyze_beyond {
    BASE_ARRAY(struct analyze_placed) objects; // by address, once `sorted`
    bool sorted;
};

// Adds an object with its index in the model. Returns false when memory runs out.
bool analyze_beyond_add(struct analyze_beyond *beyond, const struct profile_object *object,
                        uint32_t index);
// Returns the index of the first object that begins at or after *first, before `end`, and exists in
// the call with that number. Sets *first to its end. Returns ANALYZE_NONE if there is none.
uint32_t analyze_beyond_next(struct analyze_beyond *beyond, uint64_t call, uint64_t *first,
                             uint64_t end);
void analyze_beyond_fini(struct analyze_beyond *beyond);

#endif
