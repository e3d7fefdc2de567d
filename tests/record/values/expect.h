// SPDX-License-Identifier: Apache-2.0
// The numbers that a profile must have about values, computed from a replayed log: which stores of
// a launch changed nothing, and which pieces of objects launches, copies and fills wrote and
// changed. docs/reference/values.md defines the numbers.
//
// Some of them depend on bytes that the log does not show. These are counted as undecided: the
// right number lies between the number and the number plus the undecided.
#ifndef GLINT_TESTS_RECORD_VALUES_EXPECT_H
#define GLINT_TESTS_RECORD_VALUES_EXPECT_H

#include "replay.h"

// --- Stores --------------------------------------------------------------------------------------

// What the lanes of one launch did to one object with one instruction.
struct expect_site {
    const struct gpusim_log_launch *launch;
    const struct gpusim_log_site *site;
    const struct gpusim_object *object;
    bool atomic;     // it is an atomic operation or a reduction
    uint32_t bytes;  // of one store
    uint64_t stores; // by all lanes
    uint64_t silent; // of those: that wrote what was there before the warp's instruction
    uint64_t still;  // of silent atomic operations: the warp changed nothing in the same 32 bytes
    uint64_t undecided;
};

struct expect_sites {
    BASE_ARRAY(struct expect_site) all; // in the order of the first stores
};

// Counts one execution of an instruction, before it is applied; for replay_calls.executed. Only
// global memory counts.
void expect_executed(struct expect_sites *sites, const struct replay *replay,
                     const struct gpusim_log_access *records, size_t count);
// Remove the sites of a launch, and of all launches that a call made.
void expect_sites_end(struct expect_sites *sites, const struct gpusim_log_launch *launch);
void expect_sites_end_call(struct expect_sites *sites, uint64_t call);
void expect_sites_fini(struct expect_sites *sites);

// --- Contents ------------------------------------------------------------------------------------

// What the scan keeps about the pieces of an object: one byte for each.
enum { EXPECT_KNOWN = 1, EXPECT_SEEN = 2 };

// One row of a profile about an object and a launch, copy or fill.
struct expect_row {
    uint64_t pieces, bytes;   // that it describes
    uint64_t fresh;           // pieces that were not known before
    uint64_t moved, same;     // bytes; of those, bytes in pieces that were known and are the same
    uint64_t undecided;       // bytes that are perhaps the same
    uint64_t known;           // pieces of the object that are known afterwards
    unsigned char *looked_at; // for each piece: 1 if it is described
    uint64_t unknown;         // bytes in the described pieces whose contents the log does not show
};

// Returns the states of the object's pieces, zeros at first. They are freed with expect_forget.
unsigned char *expect_states(struct replay_object *object);
void expect_forget(struct replay_object *object);

// Compute the row of pieces that a launch wrote (marked), of those that hold bytes from address
// `from` up to `to` (range), of both (group), or of those whose state has all bits of `with` and
// none of `without` (found). write is what the event wrote to the object; NULL: nothing. All but
// the last set EXPECT_KNOWN. The caller frees row->looked_at.
void expect_marked(struct replay_object *object, const struct replay_write *write,
                   struct expect_row *row);
void expect_range(struct replay_object *object, const struct replay_write *write, uint64_t from,
                  uint64_t to, struct expect_row *row);
void expect_group(struct replay_object *object, const struct replay_write *write,
                  const struct replay_range *ranges, size_t range_count, struct expect_row *row);
void expect_found(struct replay_object *object, unsigned with, unsigned without,
                  struct expect_row *row);

#endif
