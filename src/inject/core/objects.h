// SPDX-License-Identifier: Apache-2.0
// Finds the object that holds an address, exact to the byte at both ends, in O(log n). Objects at
// addresses never overlap. Parts that the program announced lie in a layer above them. Arrays have
// no address and are found by their handle. Any thread may call; every result is a copy.
#ifndef GLINT_INJECT_CORE_OBJECTS_H
#define GLINT_INJECT_CORE_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "event/event.h"
#include "inject/util/lock.h"

struct core_object {
    uint64_t number;
    uint64_t start, bytes; // start of an array: its handle
    uint32_t context, device;
    uint32_t owner;  // of a variable: its module; of a part: the heap it belongs to. Else 0
    uint32_t opened; // of memory of another process: how often it was opened, beyond the first time
    uint8_t kind;    // enum event_object_kind
    bool alias;      // another handle of the object: a level of a mipmapped array
    bool padded;     // its rows have bytes behind them that are not data
    bool unread;     // reading it by the CPU is slow, or has side effects
    bool shared;     // it may be used without a call that shows it: see core_objects_share
    bool addressed;  // its address lies in memory: see core_objects_address
    bool unsearched; // see core_objects_unsearched
    struct core_object *next; // next spare object
};

// Returns whether it lies in the layer of parts.
static inline bool core_object_is_part(const struct core_object *object)
{
    return object->kind == EVENT_OBJECT_PART || object->kind == EVENT_OBJECT_TENSOR;
}

enum core_objects_layer { OBJECTS_MEMORY, OBJECTS_PARTS, OBJECTS_LAYERS };

struct core_objects {
    struct util_lock lock; // protects all below
    struct base_intervals layers[OBJECTS_LAYERS];
    struct base_map arrays; // handle to object
    struct core_object *spare;
    _Atomic size_t parts;          // objects in the layer of parts; read without the lock
    _Atomic uint64_t made;         // numbers that were assigned; read without the lock
    _Atomic uint64_t changes;      // how often objects at addresses were added or removed; the same
    _Atomic uint64_t host_changes; // the same for objects that the host can access
    _Atomic uint64_t low, high;    // all addresses of objects so far; only grow; the same
};

// Memory that belongs to one object throughout: a part, or a piece of an object between its parts.
// An object without parts is one piece.
struct core_objects_piece {
    uint64_t start, bytes;
    struct core_object object;
};

void core_objects_init(struct core_objects *objects);
void core_objects_fini(struct core_objects *objects);

// Returns a number for a new object.
uint64_t core_objects_number(struct core_objects *objects);

// Returns false if out of memory, or if it overlaps another object of the layer.
bool core_objects_add(struct core_objects *objects, enum core_objects_layer layer,
                      const struct core_object *object);
// Does the same; also gives the object a number if it has none, whether or not it is added.
bool core_objects_add_new(struct core_objects *objects, enum core_objects_layer layer,
                          struct core_object *object);
bool core_objects_add_array(struct core_objects *objects, const struct core_object *object);
// Adds a handle for an array. It is dropped with the array, or by the second function.
void core_objects_alias_array(struct core_objects *objects, uint64_t handle, uint64_t of);
void core_objects_forget_aliases(struct core_objects *objects, uint64_t number);

// Finds the object that holds the address. False: there is none, and *found is zeroed.
bool core_objects_find(struct core_objects *objects, enum core_objects_layer layer,
                       uint64_t address, struct core_object *found);
bool core_objects_find_array(struct core_objects *objects, uint64_t handle,
                             struct core_object *found);
// Finds the piece that holds the address. False: there is none, and *found is zeroed.
bool core_objects_find_piece(struct core_objects *objects, uint64_t address,
                             struct core_objects_piece *found);
// What a word may point to, if it is an address: the piece that holds it, the one that ends there,
// and the one whose first element may lie behind it. The start of a tensor is the address of only
// that tensor, although another one nearly always ends there.
struct core_objects_pointed {
    uint64_t numbers[3];
    size_t count;
    bool leads_on; // what lies there may hold addresses that glint does not know
};
struct core_objects_pointed core_objects_pointed(struct core_objects *objects, uint64_t word);
// Searches aligned words that were copied to the GPU, from *at on, for addresses. Marks the next
// object that one of them may point to and that was not marked before. Returns its number and moves
// *at to that word; 0: there is none.
uint64_t core_objects_address(struct core_objects *objects, const char *words, size_t bytes,
                              size_t *at);
// Says that a copy to the object at the address was not searched.
void core_objects_unsearched(struct core_objects *objects, uint64_t address);
// Marks the object that starts at the address as one that the CPU should not read.
void core_objects_unread(struct core_objects *objects, uint64_t start);
// Says that something else may use the object that holds the address: another process or interface,
// another mapping of the same memory, another GPU, a network card. Returns its number, or 0 if that
// was known or there is no object. See core_object_share().
uint64_t core_objects_share(struct core_objects *objects, uint64_t address);
// Lists all objects that the host can access, up to `room`. Returns how many there are.
size_t core_objects_of_host(struct core_objects *objects, struct core_object *found, size_t room,
                            uint64_t *host_changes);
// Lists all pieces in the order of addresses, up to `room`. Returns how many there are, and in
// *changes the value of objects->changes.
size_t core_objects_pieces(struct core_objects *objects, struct core_objects_piece *pieces,
                           size_t room, uint64_t *changes);

// Take an object out of the map: the one that starts exactly there; the one with the handle; any
// that overlaps the range; or the first at or above *from that belongs to the context (0: any) and
// the owner (0: any), with *from moved past it. Return false if there is none.
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
