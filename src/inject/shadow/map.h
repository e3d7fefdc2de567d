// SPDX-License-Identifier: Apache-2.0
// Maps of objects: which elements were touched, read back and recorded. All with shadow->lock.
#ifndef GLINT_INJECT_SHADOW_MAP_H
#define GLINT_INJECT_SHADOW_MAP_H

#include "model.h"

// Enqueues the object's maps to be recorded. ended: the object is freed afterwards.
bool shadow_map_add(struct shadow *shadow, struct shadow_object *object, bool ended);
// Records what has arrived and enqueues the next reads. Returns true if everything is recorded, or
// never will be.
bool shadow_map_step(struct shadow *shadow);
void shadow_map_forget(struct shadow *shadow); // after the context's end

#endif
