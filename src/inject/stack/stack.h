// SPDX-License-Identifier: Apache-2.0
// Call paths of the program, as numbers. Equal paths have equal numbers. A path is recorded
// (EVENT_STACK, after the EVENT_IMAGEs of its code) before its number is returned. The path of a
// thread that runs Python code has its Python frames, too (EVENT_PYTHON).
#ifndef GLINT_INJECT_STACK_STACK_H
#define GLINT_INJECT_STACK_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "unwind.h"

struct stack_table;

// Makes a table, with memory directly from the system; NULL: out of memory. scarce: takes as little
// as is useful, because address space is limited. After fork the child makes a new table, because
// its recorder knows no paths yet.
struct stack_table *stack_table_make(bool scarce);
void stack_table_free(struct stack_table *table);

// Returns the number of the call path from these registers; 0: it could not be recorded because the
// ring is full, or there are too many different paths. Any thread may call, also in a signal
// handler. Never waits and never uses the program's allocator; keeps errno. Two threads that find a
// new path at the same time may both record it: the records are equal.
uint32_t stack_from(struct stack_table *table, struct event_ring *ring,
                    struct stack_unwind_registers from);

// Does the same from a signal handler, for the function that the signal interrupted: see
// stack_unwind_interrupted.
uint32_t stack_interrupted(struct stack_table *table, struct event_ring *ring,
                           struct stack_unwind_registers from, uint64_t link);

// Does the same for return addresses that were taken earlier, innermost first, at most UNWIND_MOST.
// Their code must still be loaded.
uint32_t stack_of(struct stack_table *table, struct event_ring *ring, const uint64_t *frames,
                  uint32_t depth, bool truncated);

// Walks the path again, and returns the images that paths refer to.
void stack_walk(struct stack_table *table, struct stack_unwind_registers from,
                struct stack_unwind_path *path);
const struct stack_images *stack_images(const struct stack_table *table);

#endif
