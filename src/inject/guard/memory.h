// SPDX-License-Identifier: Apache-2.0
// Which pages may be closed, and in which programs none may be.
#ifndef GLINT_INJECT_GUARD_MEMORY_H
#define GLINT_INJECT_GUARD_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct guard_range;

void guard_memory_prepare(void); // called when the process starts
void guard_memory_start(void);   // before the first pages are closed

uint64_t guard_page_bytes(void);

// Sets which pages of the range's data may be closed (low, high) and how many bytes of it are then
// not watched. object_kind: enum event_object_kind; 0: none. sp: stack pointer of the calling
// thread.
void guard_find_pages(struct guard_range *range, uint8_t object_kind, uint64_t sp);

// Returns why nothing may be closed in this process; NULL: pages may be closed. The answer may
// change once libraries were loaded and examined (libraries.h).
const char *guard_find_obstacle(void);

#endif
