// SPDX-License-Identifier: Apache-2.0
// Corrections: a program that runs by a plan (plan/plan.h) does without waits, copies and memory
// that its profile has shown to be wasted, and does not notice. Functions of this layer stand
// between the hooks and the driver; at call paths that are not in the plan they do what the driver
// does.
//
//   correct.c   the plan, the row for a call, what was done
//   wait/       synchronizations and copies that do not wait
//   memory/     memory that is kept for reuse, or backed only while it is used
//
// A function of the driver is called by REAL(symbol), as everywhere, which never leads to this
// layer. Hooks call what CALLED(symbol) gives.
#ifndef GLINT_INJECT_CORRECT_CORRECT_H
#define GLINT_INJECT_CORRECT_CORRECT_H

#include "inject/core/call.h"
#include "plan/plan.h"

extern const struct inject_layer correct_layer;

// Lets the function stand before the driver's, for calls of the program alone. At the start.
void correct_stand(enum core_hook hook, void *function);

// The call that this thread is in, in a function that stands before the driver's.
static inline struct core_call *correct_call(void)
{
    return core_thread.call;
}

// The plan's row with the remedy for the call path of the call that this thread is in; NULL: none,
// and the driver does it. Several rows may have the same path and remedy: correct_row_after returns
// the next of them.
const struct plan_row *correct_row(enum plan_remedy remedy);
const struct plan_row *correct_row_after(const struct plan_row *after);
bool correct_has_row(void);                           // with any remedy
const struct plan_row *correct_row_of(size_t number); // from 1
size_t correct_row_number(const struct plan_row *row);

// Whether the plan calls the kernel plain: it uses only memory that it is given the address of.
bool correct_is_plain(const char *kernel);

// Adds to what is recorded of the row (EVENT_CORRECTION); of peaks, keeps the highest. NULL: of the
// process as a whole.
void correct_count(const struct plan_row *row, enum event_correction_count what, uint64_t n);

#endif
