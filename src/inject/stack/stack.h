// SPDX-License-Identifier: Apache-2.0
// Call paths of the watched program, as numbers: equal paths have equal numbers, and a path is told
// to the recorder (EVENT_STACK, after the EVENT_IMAGEs that it leads through) before its number is
// given out.
#ifndef GLINT_INJECT_STACK_STACK_H
#define GLINT_INJECT_STACK_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "unwind.h"

struct stack_table;

// In memory of its own from the system, the least that is of use where address space is scarce;
// NULL where there is none. After fork the child makes a new
// one, because its recorder knows nothing yet.
struct stack_table *stack_table_make(bool scarce);
void stack_table_free(struct stack_table *table);

// The number of the path that leads there; 0: it could not be told because the ring is
// full, or there are too many different ones. Any thread, also in a signal handler; never waits,
// never uses the program's allocator; keeps errno. Two threads that come to a new path at the same
// time may both tell it: the records are equal.
uint32_t stack_from(struct stack_table *table, struct event_ring *ring,
                    struct stack_unwind_registers from);

// The same from a signal handler, for the function that the signal interrupted: see
// stack_unwind_interrupted.
uint32_t stack_interrupted(struct stack_table *table, struct event_ring *ring,
                           struct stack_unwind_registers from, uint64_t link);

// The same of return addresses that were taken before, innermost first: at most UNWIND_MOST. What
// they lead through must be loaded still.
uint32_t stack_of(struct stack_table *table, struct event_ring *ring, const uint64_t *frames,
                  uint32_t depth, bool truncated);

// The path itself, walked anew, and the images that it leads through.
void stack_walk(struct stack_table *table, struct stack_unwind_registers from,
                struct stack_unwind_path *path);
const struct stack_images *stack_images(const struct stack_table *table);

#endif
