// SPDX-License-Identifier: Apache-2.0
// The first targets of patched functions: machine code that calls C. Patched functions jump to both
// entries with the slot's address in r11 (x86_64) or x17 (aarch64), as redirect_patch_slot() makes
// them, and with all other registers as their caller left them.
#ifndef GLINT_GPUSIM_REDIRECT_ENTRY_H
#define GLINT_GPUSIM_REDIRECT_ENTRY_H

struct redirect_slot;

#pragma GCC visibility push(hidden) // called by name from assembly, without a linkage table

// Calls redirect_bind() for the slot, then jumps to the slot's new target.
void redirect_bind_entry(void);
// Returns the result of redirect_missing() to the caller.
void redirect_missing_entry(void);

// Both in redirect.c.
void redirect_bind(struct redirect_slot *slot);
long redirect_missing(struct redirect_slot *slot);

#pragma GCC visibility pop

#endif
