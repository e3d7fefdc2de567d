// SPDX-License-Identifier: Apache-2.0
// What is known of the elements of objects, and the memory in which launches mark them. All
// functions need shadow->lock, and return NULL or false if there is no room.
#ifndef GLINT_INJECT_SHADOW_ELEMENT_H
#define GLINT_INJECT_SHADOW_ELEMENT_H

#include "model.h"

struct shadow_small shadow_small_of(const struct instrument_kernel *kernel);

struct shadow_object *shadow_object_at(struct shadow *shadow, struct shadow_pad *pad,
                                       const struct core_object *object, uint32_t element_bytes,
                                       bool counts);
struct shadow_marks *shadow_marks_at(struct shadow *shadow, struct shadow_pad *pad,
                                     const struct shadow_object *object, bool counts);
// Says that a launch moved this many bytes of the object and touched this many elements.
void shadow_element_seen(struct shadow *shadow, uint64_t number, uint64_t bytes, uint64_t elements);
// Returns the slot of a piece of the object.
struct instrument_slot shadow_slot_of(const struct core_objects_piece *piece,
                                      const struct shadow_object *object,
                                      const struct shadow_marks *marks, bool counts);
// Points the job at what is known of the object, into which it joins its marks.
void shadow_job_know(struct device_job *job, const struct shadow_object *object);
struct device_job shadow_job_of(const struct shadow_object *object,
                                const struct shadow_marks *marks, bool counts);
// Gives the pad a table for launches that measure these facts (enum instrument_facts). The caller
// gives back old[2], the blocks that the pad had before.
bool shadow_pad_table(struct shadow *shadow, struct shadow_pad *pad, struct shadow_table *table,
                      uint32_t facts, struct shadow_block old[2]);
void shadow_pad_fini(struct shadow *shadow, struct shadow_pad *pad);
// A launch is in flight between these two calls.
void shadow_element_begun(struct shadow *shadow, struct shadow_ticket *ticket);
void shadow_element_told(struct shadow *shadow, struct shadow_ticket *ticket);
// Says that the object has ended. shadow_element_trim frees the memory of ended objects once no
// launch in flight uses it.
void shadow_element_ended(struct shadow *shadow, uint64_t object);
void shadow_element_trim(struct shadow *shadow);
void shadow_element_free(struct shadow *shadow, struct shadow_object *object);
void shadow_element_forget(struct shadow *shadow); // after the context's end

#endif
