// SPDX-License-Identifier: Apache-2.0
// Which object holds an address, exact to the byte at both ends, in O(log n). Objects at addresses
// never overlap; parts that the program announced lie in a layer of their own above them; arrays
// have no address and are found by their handle. Any thread may call; every answer is a copy.
#ifndef GLINT_INJECT_CORE_OBJECTS_H
#define GLINT_INJECT_CORE_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "inject/util/lock.h"

struct core_object {
    uint64_t number;
    uint64_t start, bytes; // start of an array: its handle
    uint32_t context, device;
    uint32_t owner;  // of a variable: its module; of a part: the heap it was told for. Else 0
    uint32_t opened; // of memory of another process: how often, beside the first time
    uint8_t kind;    // enum event_object_kind
    bool alias;      // another handle of the object: a level of an array with levels
    bool unread;     // it is slow to read for the CPU, or does something then
    struct core_object *next; // of those to be used again
};

enum core_objects_layer { OBJECTS_MEMORY, OBJECTS_PARTS, OBJECTS_LAYERS };

struct core_objects {
    struct util_lock lock; // protects all below
    struct base_intervals layers[OBJECTS_LAYERS];
    struct base_map arrays; // handle to object
    struct core_object *spare;
    _Atomic size_t parts;          // in their layer; anybody may look
    _Atomic uint64_t made;         // numbers that were given out; likewise
    _Atomic uint64_t changes;      // how often objects at addresses came or went; likewise
    _Atomic uint64_t host_changes; // of those that the host can touch, too; likewise
};

// Memory of which every byte is the same object's: a part, or what parts leave of the object that
// they lie in. An object without parts is one piece.
struct core_objects_piece {
    uint64_t start, bytes;
    struct core_object object;
};

void core_objects_init(struct core_objects *objects);
void core_objects_fini(struct core_objects *objects);

// A number for an object to come.
uint64_t core_objects_number(struct core_objects *objects);

// False: out of memory, or it overlaps one that is there (take those away first).
bool core_objects_add(struct core_objects *objects, enum core_objects_layer layer,
                      const struct core_object *object);
// The same; and it is given a number where it has none, added or not.
bool core_objects_add_new(struct core_objects *objects, enum core_objects_layer layer,
                          struct core_object *object);
bool core_objects_add_array(struct core_objects *objects, const struct core_object *object);
// One more handle for an array; forgotten with it, or all at once.
void core_objects_alias_array(struct core_objects *objects, uint64_t handle, uint64_t of);
void core_objects_forget_aliases(struct core_objects *objects, uint64_t number);

// The object that holds the address. False: there is none, and *found is zeroed.
bool core_objects_find(struct core_objects *objects, enum core_objects_layer layer,
                       uint64_t address, struct core_object *found);
bool core_objects_find_array(struct core_objects *objects, uint64_t handle,
                             struct core_object *found);
// The piece that holds the address. False: there is none, and *found is zeroed.
bool core_objects_find_piece(struct core_objects *objects, uint64_t address,
                             struct core_objects_piece *found);
// The object that starts at the address is one that the CPU should not read.
void core_objects_unread(struct core_objects *objects, uint64_t start);
// All objects that the host can touch, likewise in one piece each: up to `room`, and how many there
// are.
size_t core_objects_of_host(struct core_objects *objects, struct core_object *found, size_t room,
                            uint64_t *host_changes);
// All pieces, in the order of addresses: up to `room` of them. Returns how many there are, and in
// *changes the value that objects->changes had then.
size_t core_objects_pieces(struct core_objects *objects, struct core_objects_piece *pieces,
                           size_t room, uint64_t *changes);

// Takes one away: that starts at the address exactly; that has the handle; any that overlaps the
// range; the first at or above *from that is of the context (0: any) and the owner (0: any), with
// *from moved behind it.
bool core_objects_take(struct core_objects *objects, enum core_objects_layer layer, uint64_t start,
                       struct core_object *taken);
bool core_objects_take_array(struct core_objects *objects, uint64_t handle,
                             struct core_object *taken);
bool core_objects_take_overlap(struct core_objects *objects, enum core_objects_layer layer,
                               uint64_t start, uint64_t bytes, struct core_object *taken);
bool core_objects_take_of(struct core_objects *objects, enum core_objects_layer layer,
                          uint32_t context, uint32_t owner, uint64_t *from,
                          struct core_object *taken);
bool core_objects_take_array_of(struct core_objects *objects, uint32_t context,
                                struct core_object *taken);

#endif
