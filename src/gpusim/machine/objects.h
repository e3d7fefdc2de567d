// SPDX-License-Identifier: Apache-2.0
// The map of live objects, as the rest of the machine uses it. sim.h declares the functions with
// which the driver changes it. Any thread.
#ifndef GLINT_GPUSIM_MACHINE_OBJECTS_H
#define GLINT_GPUSIM_MACHINE_OBJECTS_H

#include "machine.h"

// Creates the memory of a machine without devices; NULL when memory runs out.
struct sim_memory *sim_memory_create(void);
void sim_memory_destroy(struct sim_memory *memory);

// Returns a snapshot of the live objects, which the caller releases with sim_objects_put(). NULL
// when memory runs out.
struct sim_objects *sim_objects_get(struct sim_device *device);
void sim_objects_put(struct sim_objects *objects);
// Returns the object of the snapshot that contains the address, or NULL if there is none or the
// device may not access it.
const struct gpusim_object *sim_objects_find(const struct sim_objects *objects,
                                             const struct sim_device *device, uint64_t address);
// The same, but looks in the map of now.
bool sim_objects_find_now(struct sim_device *device, uint64_t address,
                          struct gpusim_object *object);

// Stores in *object the device's live object of that kind with the lowest address above
// object->address.
// Returns false if there is none.
bool sim_objects_next(struct sim_device *device, enum gpusim_object_kind kind,
                      struct gpusim_object *object);
// Returns whether the pointer is a live texture or surface.
bool sim_objects_is_texture(struct sim_device *device, const struct sim_texture *texture);
// Writes a phrase for messages that locates the address relative to the nearest live or recently
// freed object. If the device may not access it, names its device and the access that is missing.
// Returns the distance in bytes.
uint64_t sim_objects_describe(struct sim_device *device, uint64_t address, char *out,
                              size_t out_bytes);

#endif
