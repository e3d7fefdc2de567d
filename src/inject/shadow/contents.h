// SPDX-License-Identifier: Apache-2.0
// What is kept about the contents of objects: for each piece of 4096 bytes its hash and whether
// that is current, and the marks that stores set. scan.c fills it. All functions need shadow->lock.
#ifndef GLINT_INJECT_SHADOW_CONTENTS_H
#define GLINT_INJECT_SHADOW_CONTENTS_H

#include "model.h"

struct shadow_contents { // of one object
    uint64_t number, start, bytes;
    uint64_t base; // address of the first piece
    uint32_t pieces, mask;
    struct shadow_block memory;      // hashes, struct device_kept, states, marks
    struct instrument_layout layout; // as which its values are described; no fields: none yet
    uint32_t layouts;                // how often that has changed
    bool known;                      // some piece may be known
    bool padded;                     // it is not described, because not all of it is data
    bool unseen;                     // contents have come that were not described with the layout
    bool undescribed;                // what was known when the layout came is not described with it
    uint64_t epoch;                  // value of shadow->unseen_work up to which `memory` is current
    struct shadow_users streams;     // those that wrote or scanned it, and may not have ended
    uint64_t scans;                  // of it that were made
    _Atomic uint64_t disturbed;      // scans up to this one may have seen another stream's work
    uint32_t users;                  // launches and scans that use the memory
    bool ended;                      // the object has; freed with the last user
};

// Returns what is kept about the object that holds the address, made if there is nothing; NULL: its
// contents are not looked at, because there is no object, parts divide it, something else may write
// it, the GPU's own memory does not hold it, or there is no room.
struct shadow_contents *shadow_contents_holding(struct shadow *shadow, uint64_t address);
// Returns whether bytes up to `to` are in the same part or object as the first one.
bool shadow_contents_is_one(uint64_t from, uint64_t to);
// Says that a kernel of the context writes the object that holds the address. If that belongs to
// another GPU, its contents are no longer looked at.
void shadow_contents_written_from(const struct core_context *context, uint64_t address);
// Returns what is kept about the object with that number, else NULL.
struct shadow_contents *shadow_contents_of(const struct shadow *shadow, uint64_t object);
// Returns how probes see the object's pieces.
struct instrument_pieces shadow_contents_pieces(const struct shadow_contents *contents);
// Returns the same for a piece of the map of objects; zeros if it is not looked at.
struct instrument_pieces shadow_contents_of_piece(struct shadow *shadow,
                                                  const struct core_objects_piece *piece);
// Stores which memory is cleared when the contents are unknown: all but the hashes, which do not
// count until their piece is known again.
void shadow_contents_clearing(const struct shadow_contents *contents, struct shadow_block *block);
// Returns the memory of the marks.
struct shadow_block shadow_contents_marks(const struct shadow_contents *contents);
// Says that a kernel uses the object with this layout, from that address on. Layouts that are known
// replace raw ones, and others replace each other a few times.
void shadow_contents_shape(struct shadow_contents *contents, const struct instrument_layout *layout,
                           uint64_t address);
// Returns whether scans of arrays of words can look at objects with the layout.
bool shadow_contents_is_words(const struct instrument_layout *layout);
// Returns the job of a scan, without its work memory and result.
struct device_values_job shadow_contents_job(const struct shadow_contents *contents,
                                             enum device_which which);
void shadow_contents_hold(struct shadow_contents *contents);
void shadow_contents_drop(struct shadow *shadow, struct shadow_contents *contents);
void shadow_contents_ended(struct shadow *shadow, uint64_t object);
void shadow_contents_forget(struct shadow *shadow); // after the context's end

#endif
