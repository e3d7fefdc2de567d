// SPDX-License-Identifier: Apache-2.0
// Maps of objects: which elements were touched, read back and recorded. All with shadow->lock.
#ifndef GLINT_INJECT_SHADOW_MAP_H
#define GLINT_INJECT_SHADOW_MAP_H

#include "model.h"

// The object's maps are to be recorded. ended: the object is freed afterwards.
bool shadow_map_add(struct shadow *shadow, struct shadow_object *object, bool ended);
// Records what has come and enqueues more. Returns true if all is recorded, or never will be.
bool shadow_map_step(struct shadow *shadow);
void shadow_map_forget(struct shadow *shadow); // the context is gone

#endif
