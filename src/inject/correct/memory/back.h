// SPDX-License-Identifier: Apache-2.0
// Memory that exists only while it is used. An allocation at a call path of the plan is only a
// range of addresses until a call is about to use it. After its last use, its contents may be moved
// to host memory.
//
//   back.c    the objects, their backing, and what is counted
//   pieces.c  physical memory, from the virtual memory interface
//   uses.c    which of the objects a call may use
#ifndef GLINT_INJECT_CORRECT_MEMORY_BACK_H
#define GLINT_INJECT_CORRECT_MEMORY_BACK_H

#include "inject/core/call.h"
#include "plan/plan.h"

void correct_back_start(void); // in a new process, while other threads wait
void correct_back_context_gone(const struct core_context *context);
// Backs all objects that have no memory, because corrections have been turned off. Called in a
// hook, or between calls.
void correct_back_end(void);

// Allocate and free an object. Return false if this file does not handle it, and the caller must.
bool correct_back_allocates(const struct plan_row *row, CUdeviceptr *address, size_t bytes,
                            CUresult *result);
bool correct_back_frees(CUdeviceptr address, CUresult *result);
// Called before the program allocates so many bytes in another way. Returns false if there would be
// no memory for them without glint.
bool correct_back_makes_room(size_t bytes);
// Called when the driver has found no memory. Returns true if some was freed, so that the call
// should be tried again.
bool correct_back_give_back(void);

// Returns how many more bytes of the device are in use than without glint; negative if fewer.
int64_t correct_back_more_bytes(uint32_t device);
// Describes the object at the address as the program knows it. Returns false if glint does not back
// this address; otherwise forces backing.
struct correct_back_view {
    uint64_t address, bytes;
    CUcontext context;
};
bool correct_back_view(uint64_t address, struct correct_back_view *view);

// --- For back.c and uses.c -----------------------------------------------------------------------

// Before a call is given to the driver, everything that it may use must be backed. If that is not
// possible, the call is refused (struct core_call). correct_back_lock returns false if there are no
// such objects; the lock is held between the two.
bool correct_back_lock(void);
void correct_back_unlock(void);
bool correct_back_is_wanting(void); // some object has no memory at all
bool correct_back_is_away(void);    // some object has its contents in host memory
// Returns bounds of the addresses of all objects that are not backed by the device.
void correct_back_bounds(uint64_t *from, uint64_t *to);
// Returns whether the word may be an address of such an object although it lies in none: it points
// nearby, as the origin of an array with a large first index does, or it has tags in bits that
// addresses do not use.
bool correct_back_may_mean(uint64_t word);
void correct_back_use(struct core_call *call, uint64_t address, uint64_t bytes);
// Uses the object that the word points into, or near to.
void correct_back_use_word(struct core_call *call, uint64_t word);
void correct_back_use_all(struct core_call *call);
// Others may learn of the address, so the object stays backed, at its place.
void correct_back_stay(uint64_t address);
void correct_back_stay_all(void); // the same for all objects
void correct_back_seen(const struct plan_row *last_use);
void correct_back_flies(struct core_call *call);

// Called after every call's driver function.
void correct_back_after(struct core_call *call);

#endif
