// SPDX-License-Identifier: Apache-2.0
// Corrections: a program that runs with a plan (plan/plan.h) skips waits, copies and memory that
// its profile has shown to be wasted, without noticing. Functions of this layer stand between the
// hooks and the driver. At call paths that are not in the plan they do what the driver does.
// does.
//
//   correct.c   the plan, the row for a call, what was done
//   wait/       synchronizations and copies that do not wait
//   memory/     memory that is kept for reuse, or backed only while it is used
//
// REAL(symbol) calls the driver's function, here as everywhere, and never this layer's. Hooks call
// what CALLED(symbol) returns, which may be this layer's.
#ifndef GLINT_INJECT_CORRECT_CORRECT_H
#define GLINT_INJECT_CORRECT_CORRECT_H

#include "inject/core/call.h"
#include "plan/plan.h"

extern const struct inject_layer correct_layer;

// Makes the program's calls of the driver function go to `function`. Called at the start.
void correct_stand(enum core_hook hook, void *function);

// Returns the call that this thread is in, for functions of this layer.
static inline struct core_call *correct_call(void)
{
    return core_thread.call;
}

// Returns the plan's row with the remedy for the call path of the current call; NULL: there is
// none, and the driver handles the call. Several rows may have the same path and remedy:
// correct_row_after returns the next of them.
const struct plan_row *correct_row(enum plan_remedy remedy);
const struct plan_row *correct_row_after(const struct plan_row *after);
bool correct_has_row(void);                           // with any remedy
const struct plan_row *correct_row_of(size_t number); // from 1
size_t correct_row_number(const struct plan_row *row);

// Returns whether the kernel is plain according to the plan: it uses only memory whose addresses
// are among its parameters.
bool correct_is_plain(const char *kernel);

// Adds to a count of the row (EVENT_CORRECTION), or of the whole process if row is NULL. For peaks,
// keeps the highest value.
void correct_count(const struct plan_row *row, enum event_correction_count what, uint64_t n);

#endif
