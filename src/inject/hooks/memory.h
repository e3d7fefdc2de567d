// SPDX-License-Identifier: Apache-2.0
// What hooks of allocation and free have in common.
#ifndef GLINT_INJECT_HOOKS_MEMORY_H
#define GLINT_INJECT_HOOKS_MEMORY_H

#include "inject/core/call.h"

// If the call was good, an object begins: returns its number, and fills the call's detail.
uint64_t hooks_memory_begin(struct core_call *call, uint8_t kind, uint64_t address, uint64_t bytes);
// Fills the detail of a call about memory from the address on (0 bytes: all of the object).
void hooks_memory_about(struct core_call *call, uint64_t address, uint64_t bytes);
// Before the driver frees what starts at the address, and after it has done so or has refused.
struct core_object hooks_memory_leave(struct core_call *call, uint64_t address);
void hooks_memory_left(struct core_call *call, const struct core_object *object);

// Bytes of an array's element; 0: the format has blocks or planes, whose size only the driver
// knows.
uint64_t hooks_array_element_bytes(CUarray_format format, unsigned channels);

#endif
