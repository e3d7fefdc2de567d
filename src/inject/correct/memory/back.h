// SPDX-License-Identifier: Apache-2.0
// Memory that is there only while it is used: an allocation on a call path of the plan is only an
// address, until something is about to use it, and after its last use may be elsewhere.
//
//   back.c    the objects, where their memory is, and what is counted
//   pieces.c  memory, as the virtual memory interface gives it
//   uses.c    which of the objects a call may use
#ifndef GLINT_INJECT_CORRECT_MEMORY_BACK_H
#define GLINT_INJECT_CORRECT_MEMORY_BACK_H

#include "inject/core/call.h"
#include "plan/plan.h"

void correct_back_start(void); // in a new process, alone
void correct_back_context_gone(const struct core_context *context);
// Gives memory to all objects that have none, since nothing is corrected any more. At a call, or
// between calls.
void correct_back_end(void);

// Allocation and free. False: it is another's affair.
bool correct_back_allocates(const struct plan_row *row, CUdeviceptr *address, size_t bytes,
                            CUresult *result);
bool correct_back_frees(CUdeviceptr address, CUresult *result);
// The program is about to be given so much memory otherwise. False: natively there would be none.
bool correct_back_makes_room(size_t bytes);
// The driver found no memory. True: some was given back, try again.
bool correct_back_give_back(void);

// How much more of the device's memory is in use than natively would be; often less.
int64_t correct_back_more_bytes(uint32_t device);
// What the program knows of the memory at the address. False: it is none of ours. It has memory
// from then on.
struct correct_back_view {
    uint64_t address, bytes;
    CUcontext context;
};
bool correct_back_view(uint64_t address, struct correct_back_view *view);

// --- Between the two files -----------------------------------------------------------------------

// Before a call is given to the driver, all that it may use must have memory; where there is none,
// the call is refused (struct core_call). The lock is held from the one to the other.
bool correct_back_lock(void); // false: there is nothing of ours
void correct_back_unlock(void);
bool correct_back_is_wanting(void); // something has no memory, not even elsewhere
bool correct_back_is_away(void);    // something has some of the host's
// Words that point into what has no memory of the device's lie between the two.
void correct_back_bounds(uint64_t *from, uint64_t *to);
// Whether the word may be an address in one of them all the same: it points into no object but to
// somewhere around, as the beginning of an array whose first index is large, or has marks in the
// bits that addresses do not use.
bool correct_back_may_mean(uint64_t word);
void correct_back_use(struct core_call *call, uint64_t address, uint64_t bytes);
void correct_back_use_word(struct core_call *call, uint64_t word); // or near it
void correct_back_use_all(struct core_call *call);
void correct_back_stay(uint64_t address); // others may know of it: it has memory, where it is
void correct_back_stay_all(void);         // and so has all else
void correct_back_seen(const struct plan_row *last_use);
void correct_back_flies(struct core_call *call);

// After every call's driver function.
void correct_back_after(struct core_call *call);

#endif
