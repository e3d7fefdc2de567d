// SPDX-License-Identifier: Apache-2.0
// Start and end of objects, in the ring and in the map of objects (objects.h). An object's record
// is written before the record of the call that made it.
#ifndef GLINT_INJECT_CORE_OBJECT_RECORDS_H
#define GLINT_INJECT_CORE_OBJECT_RECORDS_H

#include <stdint.h>

#include "event/event.h"
#include "objects.h"

struct core_context;

// Announces an object and enters it into the map; objects that still overlap it end. Fills the
// fields number, context, device and call. Returns its number; 0: it has no bytes.
uint64_t core_object_begin(struct event_object *object, struct core_context *context, uint64_t call,
                           uint32_t owner);
// Does the same for an object without a separate record, because the call's record describes it
// (struct event_alloc). Nothing can use the memory before that record is written.
uint64_t core_object_begin_with_call(uint8_t kind, uint64_t address, uint64_t bytes,
                                     const struct core_context *context, uint64_t call);
uint64_t core_object_begin_array(struct event_object *object, uint64_t handle,
                                 struct core_context *context, uint64_t call);
// Records the end of an object that was taken out of the map, and informs layers. stream: 0, or the
// number of the stream in whose order it ends.
void core_object_end(const struct core_object *object, uint64_t call, uint32_t stream);
// Ends all parts that lie in the range.
void core_object_end_parts(uint64_t start, uint64_t bytes, uint64_t call);
// Informs layers that the object has ended, if the call's record has already said so.
void core_object_gone(uint64_t number);
// Records that something else may use the object that holds the address, if there is one:
// core_objects_share() says what.
void core_object_share(uint64_t address);
// Searches words that a program gives to the GPU for addresses, and records the objects that they
// may point to: launches that are known by their arguments may use them.
void core_object_addresses(const char *words, size_t bytes);
// Records an access of which only the kind is known: flags are EVENT_ACCESS_*. node: 1 + index, of
// a graph launch. named: an argument points into the object.
void core_object_accessed(uint64_t call, uint32_t node, uint64_t object, uint32_t flags,
                          bool named);
// Records the name that the program gave the object.
void core_object_name(uint64_t number, const char *name);

#endif
