// SPDX-License-Identifier: Apache-2.0
// Helpers for hooks of allocation and free.
#ifndef GLINT_INJECT_HOOKS_MEMORY_H
#define GLINT_INJECT_HOOKS_MEMORY_H

#include "inject/core/call.h"

// If the call succeeded, begins an object, fills the call's detail and returns the object's number.
uint64_t hooks_memory_begin(struct core_call *call, uint8_t kind, uint64_t address, uint64_t bytes);
// Fills the detail of a call about memory that begins at the address (0 bytes: all of the object).
void hooks_memory_about(struct core_call *call, uint64_t address, uint64_t bytes);
// Called before the driver frees the object at the address, and after it has done so or has
// refused.
struct core_object hooks_memory_leave(struct core_call *call, uint64_t address);
void hooks_memory_left(struct core_call *call, const struct core_object *object);

// Returns the bytes of an array's element; 0: the format has blocks or planes, whose size only the
// driver knows.
uint64_t hooks_array_element_bytes(CUarray_format format, unsigned channels);

#endif
